package repo_test

import (
	"errors"
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/repo"
)

func TestService_CherryPick(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "a", "a\n")
		picked := w.put("side", "b", "b\n")
		w.put("other", "a2", "x\n")
		p := w.as(w.maintainer)
		c, err := w.repos.CherryPick(ctx, w.maintainer, p, picked.ID.String(), repo.PickInput{Branch: "main", DryRun: true})
		if err != nil || c != nil {
			t.Errorf("dry run: %v, %v", c, err)
		}
		c, err = w.repos.CherryPick(ctx, w.maintainer, p, "side", repo.PickInput{Branch: "main"})
		check(t, err)
		if want := "Put b\n\n(cherry picked from commit " + picked.ID.String() + ")"; c.Message != want || c.Author.Name != "Olga" || c.Committer.Name != "Mary" {
			t.Errorf("got %q by %v and %v, want %q", c.Message, c.Author, c.Committer, want)
		}
		if tip, err := w.open().Branch(ctx, "main"); err != nil || tip != c.ID {
			t.Errorf("main at %v, %v", tip, err)
		}
		_, err = w.repos.CherryPick(ctx, w.maintainer, p, "side", repo.PickInput{Branch: "main"})
		pickFailure(t, err, "empty", "Commit cherry-pick failed: Can't")
		c, err = w.repos.Revert(ctx, w.maintainer, p, c.ID.String(), repo.PickInput{Branch: "main"})
		check(t, err)
		if !strings.HasPrefix(c.Message, "Revert \"Put b\"\n\nThis reverts commit ") || c.Author.Name != "Mary" {
			t.Errorf("revert: %q by %v", c.Message, c.Author)
		}
		if _, err := w.repos.File(ctx, w.maintainer, p, "b", "main", repo.WithoutHistory); !errs.Is(err, errs.NotFound) {
			t.Errorf("the file is still there: %v", err)
		}
		change := "other\n"
		_, err = w.repos.Commit(ctx, w.owner, w.as(w.owner), repo.CommitInput{
			Branch: "main", Message: "Change a", Actions: []repo.Action{{Kind: repo.ActionUpdate, Path: "a", Content: &change}},
		})
		check(t, err)
		first := "main~0"
		_, err = w.repos.Revert(ctx, w.maintainer, p, first, repo.PickInput{Branch: "main"})
		wants(t, err, errs.NotFound, "Commit not found")
		root, err := w.repos.Commits(ctx, w.owner, w.as(w.owner), repo.CommitFilter{Ref: "main", Range: page.Range{Limit: 100}})
		check(t, err)
		_, err = w.repos.Revert(ctx, w.maintainer, p, root.Items[len(root.Items)-1].ID.String(), repo.PickInput{Branch: "main"})
		pickFailure(t, err, "conflict", "Commit revert failed: Can't")
		c, err = w.repos.Revert(ctx, w.maintainer, p, root.Items[len(root.Items)-1].ID.String(), repo.PickInput{Branch: "side", Message: "Mine"})
		check(t, err)
		if c.Message != "Mine" {
			t.Errorf("message %q", c.Message)
		}
		_, err = w.repos.CherryPick(ctx, w.maintainer, p, "side", repo.PickInput{Branch: "none"})
		wants(t, err, errs.NotFound, "Branch not found")
		_, err = w.repos.CherryPick(ctx, w.developer, w.as(w.developer), "side", repo.PickInput{Branch: "main"})
		wants(t, err, errs.Forbidden, "You are not allowed to push into this branch")
		_, err = w.repos.CherryPick(ctx, w.reporter, w.as(w.reporter), "side", repo.PickInput{Branch: "other"})
		wants(t, err, errs.Forbidden, "You are not allowed to push into this branch")
	})
}

func pickFailure(t *testing.T, err error, code, text string) {
	t.Helper()
	failure, ok := errors.AsType[*repo.PickError](err)
	if !ok || failure.Code != code || !strings.HasPrefix(err.Error(), text) || !errs.Is(err, errs.Invalid) {
		t.Errorf("got %v, want %s: %s", err, code, text)
	}
}

func TestService_Contributors(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p := w.as(w.reporter)
		_, err := w.repos.Contributors(ctx, w.reporter, p, repo.ContributorFilter{By: "commits"})
		wants(t, err, errs.NotFound, "")
		for i, who := range []string{"zoe", "Adam", "zoe", "mia", "zoe", "mia"} {
			content := itoa(int64(i))
			_, err := w.repos.Commit(ctx, w.owner, w.as(w.owner), repo.CommitInput{
				Branch: "main", Message: content, AuthorName: who + content, AuthorEmail: who + "@x",
				Actions: []repo.Action{{Kind: repo.ActionCreate, Path: "f" + content, Content: &content}},
			})
			check(t, err)
		}
		p = w.as(w.reporter)
		for _, tt := range []struct {
			by        string
			direction repo.Direction
			want      string
		}{
			{"commits", repo.Ascending, "Adam1 1, mia5 2, zoe4 3"},
			{"commits", repo.Descending, "zoe4 3, mia5 2, Adam1 1"},
			{"name", repo.Ascending, "Adam1 1, mia5 2, zoe4 3"},
			{"email", repo.Descending, "zoe4 3, mia5 2, Adam1 1"},
		} {
			list, err := w.repos.Contributors(ctx, w.reporter, p, repo.ContributorFilter{By: tt.by, Direction: tt.direction})
			check(t, err)
			var got []string
			for _, c := range list.Items {
				got = append(got, c.Name+" "+itoa(int64(c.Commits)))
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("%s: got %q, want %q", tt.by, got, tt.want)
			}
		}
		_, err = w.repos.Contributors(ctx, w.guest, w.as(w.guest), repo.ContributorFilter{By: "name"})
		wants(t, err, errs.Forbidden, "")
	})
}

// A fork may be compared with what it was made from, which reads the objects of both and
// keeps them apart.
func TestService_Compare_fork(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		base := w.put("main", "a", "a\n")
		parent := w.id
		group := w.as(w.owner).ParentID
		fork := w.Project("group/fork", 0, group)
		stranger := w.Project("group/apart", 0, group)
		hidden := w.Project("hidden", 0, w.Group("hidden-group", 0, 0))
		w.Join(fork, w.owner, 50)
		w.Join(stranger, w.owner, 50)
		w.id = fork
		other := w.put("main", "b", "b\n")
		_, err := w.DB.Exec(ctx, "UPDATE projects SET forked_from_id = ?, fork_root_id = ? WHERE id = ?", parent, parent, fork)
		check(t, err)
		p := w.as(w.owner)
		c, err := w.repos.Compare(ctx, w.owner, p, repo.CompareInput{From: "main", To: "main", FromProject: parent, Straight: true})
		check(t, err)
		if c.From != base.ID || c.To != other.ID || c.SameRef || len(c.Diff.Files) != 2 {
			t.Errorf("got %+v", c)
		}
		if _, err := w.repos.FindCommit(ctx, w.owner, p, base.ID.String()); !errs.Is(err, errs.NotFound) {
			t.Errorf("a commit of the parent is known in the fork: %v", err)
		}
		_, err = w.repos.Compare(ctx, w.owner, p, repo.CompareInput{From: "main", To: "main", FromProject: stranger})
		wants(t, err, errs.Invalid, "Target project id:"+itoa(int64(stranger))+" is not a fork of project id:"+itoa(int64(fork)))
		_, err = w.repos.Compare(ctx, w.owner, p, repo.CompareInput{From: "main", To: "main", FromProject: hidden})
		wants(t, err, errs.Forbidden, "You don't have access to this fork's parent project")
	})
}
