package repo_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
)

func ref(t *testing.T, name string) gitstore.RefName {
	t.Helper()
	r, err := gitstore.ParseRefName(name)
	check(t, err)
	return r
}

// notTaken is what people read who push a reference to where none are taken.
func notTaken(ref string) string {
	return "You can only push branches, tags and notes (refs/notes/), not " + ref + ". " +
		"With --mirror git pushes every reference: name those to push instead, such as refs/heads/* and refs/tags/*."
}

// Every reference of a push is judged by itself, through whichever door it comes.
func TestService_Judge(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		first := w.put("main", "a", "a\n").ID
		second := w.put("main", "b", "b\n").ID
		side := w.put("side", "c", "c\n").ID
		zero := gitstore.ObjectID{}
		for _, tt := range []struct {
			name     string
			who      authz.Actor
			source   repo.Source
			ref      string
			old, new gitstore.ObjectID
			want     string // "" is allowed
		}{
			{"developer pushes a branch", w.developer, repo.ByPush, "refs/heads/side", first, side, ""},
			{"developer forces a branch", w.developer, repo.ByPush, "refs/heads/side", side, second, ""},
			{"developer deletes a branch", w.developer, repo.ByPush, "refs/heads/side", side, zero, ""},
			{"developer pushes main", w.developer, repo.ByPush, "refs/heads/main", first, second, "You are not allowed to push code to protected branches on this project."},
			{"developer pushes main by API", w.developer, repo.ByAPI, "refs/heads/main", first, second, "You are not allowed to push code to protected branches on this project."},
			{"developer merges into main", w.developer, repo.ByMerge, "refs/heads/main", first, second, "You are not allowed to merge code into protected branches on this project."},
			{"maintainer pushes main", w.maintainer, repo.ByPush, "refs/heads/main", first, second, ""},
			{"maintainer merges into main", w.maintainer, repo.ByMerge, "refs/heads/main", first, second, ""},
			{"maintainer forces main", w.maintainer, repo.ByPush, "refs/heads/main", second, first, "You are not allowed to force push code to a protected branch on this project."},
			{"owner deletes main", w.owner, repo.ByPush, "refs/heads/main", second, zero, "The default branch of a project cannot be deleted."},
			{"reporter pushes", w.reporter, repo.ByPush, "refs/heads/side", first, side, "You are not allowed to push code to this project."},
			{"guest pushes", w.guest, repo.ByPush, "refs/heads/side", first, side, "You are not allowed to push code to this project."},
			{"a branch like a commit", w.developer, repo.ByPush, "refs/heads/" + first.String(), zero, side, "You cannot create a branch with a SHA-1 or SHA-256 branch name."},
			{"developer makes a tag", w.developer, repo.ByPush, "refs/tags/v1", zero, side, ""},
			{"developer moves a tag", w.developer, repo.ByPush, "refs/tags/v1", first, side, "You are not allowed to change existing tags on this project."},
			{"a tag like the default branch", w.developer, repo.ByPush, "refs/tags/main", zero, side, "You cannot use default branch name to create a tag"},
			{"a merge request's reference", w.owner, repo.ByPush, "refs/merge-requests/1/head", zero, side, "You are not allowed to change references under refs/merge-requests/"},
			{"notes of git", w.developer, repo.ByPush, "refs/notes/commits", zero, side, ""},
			{"a replacement", w.owner, repo.ByPush, "refs/replace/" + first.String(), zero, side, notTaken("refs/replace/" + first.String())},
			{"a bisection", w.owner, repo.ByPush, "refs/bisect/bad", zero, side, notTaken("refs/bisect/bad")},
			{"what another clone saw", w.owner, repo.ByPush, "refs/remotes/origin/main", zero, side, notTaken("refs/remotes/origin/main")},
			{"something else", w.owner, repo.ByPush, "refs/tmp/x", first, side, notTaken("refs/tmp/x")},
			{"the stash", w.owner, repo.ByPush, "refs/stash", zero, side, notTaken("refs/stash")},
			{"notes in name only", w.owner, repo.ByPush, "refs/notesx/y", zero, side, notTaken("refs/notesx/y")},
			{"what an old repository has is deleted", w.developer, repo.ByPush, "refs/tmp/x", first, zero, ""},
			{"what the server keeps is not", w.owner, repo.ByPush, "refs/keep-around/" + first.String(), first, zero, "You are not allowed to change references under refs/keep-around/"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				changes := []repo.RefChange{
					{Ref: ref(t, "refs/heads/harmless"), New: side},
					{Ref: ref(t, tt.ref), Old: tt.old, New: tt.new},
				}
				err := w.repos.Judge(t.Context(), tt.who, w.as(tt.who), tt.source, w.open(), changes)
				if tt.want == "" {
					check(t, err)
					return
				}
				wants(t, err, errs.Forbidden, tt.want)
			})
		}
	})
}

func TestService_MoveRefs_stale(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		first := w.put("main", "a", "a\n").ID
		second := w.put("main", "b", "b\n").ID
		n := len(w.pushed)
		err := w.repos.MoveRefs(t.Context(), w.owner, w.as(w.owner), repo.ByAPI, []repo.RefChange{
			{Ref: ref(t, "refs/heads/new"), New: first},
			{Ref: ref(t, "refs/heads/main"), Old: first, New: second},
		})
		wants(t, err, errs.Conflict, "")
		if len(w.pushed) != n {
			t.Error("a push that did not happen was published")
		}
		if _, err := w.open().Branch(t.Context(), "new"); err == nil {
			t.Error("one reference of a refused transaction moved")
		}
		if left, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM ref_intents"); err != nil || left != 0 {
			t.Errorf("%d intentions left, %v", left, err)
		}
	})
}

// A crash may come after the intention is recorded, between two references, or before
// the database says done. Start-up completes what has begun and drops what has not.
func TestService_Reconcile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		first := w.put("main", "a", "a\n").ID
		second := w.put("side", "b", "b\n").ID
		intend := func(changes string) {
			w.Insert("ref_intents", map[string]any{
				"project_id": w.id, "user_id": w.owner.UserID, "source": "push",
				"changes": `{"event":{"ProjectID":` + itoa(int64(w.id)) + `,"FullPath":"group/shop","Source":"push","Changes":[` + changes + `]},"branch":""}`,
			})
		}
		change := func(name string, old, now gitstore.ObjectID) string {
			return `{"ref":"refs/heads/` + name + `","old":"` + old.String() + `","new":"` + now.String() + `"}`
		}
		intend(change("untouched", gitstore.ObjectID{}, first))
		intend(change("half", gitstore.ObjectID{}, first) + "," + change("other", gitstore.ObjectID{}, second))
		intend(change("done", gitstore.ObjectID{}, first))
		check(t, w.open().UpdateRefs(ctx, []gitstore.RefUpdate{
			{Ref: ref(t, "refs/heads/half"), New: first}, {Ref: ref(t, "refs/heads/done"), New: first},
		}))
		w.pushed = nil
		check(t, w.repos.Settle(ctx, db.At(time.Now())))
		for name, want := range map[string]gitstore.ObjectID{"half": first, "other": second, "done": first, "untouched": {}} {
			got, _ := w.open().Branch(ctx, name)
			if got != want {
				t.Errorf("branch %s at %v, want %v", name, got, want)
			}
		}
		if len(w.pushed) != 2 {
			t.Errorf("%d pushes published, want the two that had begun", len(w.pushed))
		}
		if left, err := db.Get[int](ctx, w.DB, "SELECT COUNT(*) FROM ref_intents"); err != nil || left != 0 {
			t.Errorf("%d intentions left, %v", left, err)
		}
	})
}

func TestService_branches(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "a", "a\n")
		p := w.as(w.developer)
		b, err := w.repos.CreateBranch(ctx, w.developer, p, "feature/x", "main")
		check(t, err)
		if b.Merged || b.Protected || !b.CanPush || b.Default {
			t.Errorf("new branch %+v", b)
		}
		w.put("main", "b", "b\n")
		if b, err = w.repos.FindBranch(ctx, w.developer, p, "feature/x"); err != nil || !b.Merged {
			t.Errorf("a branch that main has left behind: %+v, %v", b, err)
		}
		for _, tt := range []struct{ name, from, want string }{
			{"feature/x", "main", "Branch already exists"},
			{"a b", "main", "Branch name is invalid"},
			{"--force", "main", "Branch name is invalid"},
			{"y", "nope", "Failed to create branch 'y': invalid reference name 'nope'"},
			{"feature", "main", "Failed to create branch 'feature': it conflicts with another branch"},
		} {
			_, err := w.repos.CreateBranch(ctx, w.developer, p, tt.name, tt.from)
			wants(t, err, errs.Invalid, tt.want)
		}
		_, err = w.repos.CreateBranch(ctx, w.reporter, w.as(w.reporter), "z", "main")
		wants(t, err, errs.Forbidden, "")

		main, err := w.repos.FindBranch(ctx, w.developer, p, "main")
		check(t, err)
		if !main.Protected || main.CanPush || !main.Default || main.Merged || main.DevelopersCanPush {
			t.Errorf("main %+v", main)
		}
		names := func(f repo.BranchFilter) (out string) {
			t.Helper()
			list, err := w.repos.Branches(ctx, w.developer, p, f)
			check(t, err)
			for _, b := range list.Items {
				out += b.Name + " "
			}
			return out
		}
		for _, tt := range []struct {
			f    repo.BranchFilter
			want string
		}{
			{repo.BranchFilter{}, "feature/x main "},
			{repo.BranchFilter{Search: "EAT"}, "feature/x "},
			{repo.BranchFilter{Search: "^ma"}, "main "},
			{repo.BranchFilter{Search: "x$"}, "feature/x "},
			{repo.BranchFilter{Search: "^f*x$"}, "feature/x "},
			{repo.BranchFilter{Regex: "^(main|x)$"}, "main "},
			{repo.BranchFilter{After: "feature/x", Range: page.Range{Keyset: true}}, "main "},
			{repo.BranchFilter{Range: page.Range{Offset: 1, Limit: 1}}, "main "},
			{repo.BranchFilter{Range: page.Range{Offset: 9, Limit: 1}}, ""},
		} {
			if got := names(tt.f); got != tt.want {
				t.Errorf("%+v: %q, want %q", tt.f, got, tt.want)
			}
		}
		_, err = w.repos.Branches(ctx, w.developer, p, repo.BranchFilter{Regex: "("})
		wants(t, err, errs.Invalid, "Regex is invalid")

		wants(t, w.repos.DeleteBranch(ctx, w.owner, w.as(w.owner), "main"), errs.Invalid, "The default branch of a project cannot be deleted.")
		wants(t, w.repos.DeleteBranch(ctx, w.owner, w.as(w.owner), "nope"), errs.NotFound, "Branch not found")
		check(t, w.repos.DeleteBranch(ctx, w.developer, p, "feature/x"))
		_, err = w.repos.FindBranch(ctx, w.developer, p, "feature/x")
		wants(t, err, errs.NotFound, "Branch not found")
	})
}

func TestService_tags(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		first := w.put("main", "a", "a\n")
		p := w.as(w.developer)
		light, err := w.repos.CreateTag(ctx, w.developer, p, "v1.10", "main", "")
		check(t, err)
		if light.Message != nil || light.Target != first.ID || light.CreatedAt != nil {
			t.Errorf("lightweight %+v", light)
		}
		heavy, err := w.repos.CreateTag(ctx, w.developer, p, "v1.9", "main", "Release\n")
		check(t, err)
		if heavy.Message == nil || *heavy.Message != "Release" || heavy.Target == first.ID || heavy.Commit.ID != first.ID || heavy.CreatedAt == nil {
			t.Errorf("annotated %+v", heavy)
		}
		found, err := w.repos.Tags(ctx, w.developer, p, repo.TagFilter{OrderBy: repo.TagsByVersion})
		list, total := found.Items, found.Total
		check(t, err)
		if total != 2 || list[0].Name != "v1.10" {
			t.Errorf("by version: %d tags, first %q", total, list[0].Name)
		}
		_, err = w.repos.CreateTag(ctx, w.developer, p, "v1.9", "main", "")
		wants(t, err, errs.Invalid, "Tag v1.9 already exists")
		_, err = w.repos.CreateTag(ctx, w.developer, p, "v2", "nope", "")
		wants(t, err, errs.Invalid, "Target nope is invalid")
		_, err = w.repos.CreateTag(ctx, w.developer, p, "v 2", "main", "")
		wants(t, err, errs.Invalid, "Tag name invalid")
		check(t, w.repos.DeleteTag(ctx, w.maintainer, w.as(w.maintainer), "v1.9"))
		wants(t, w.repos.DeleteTag(ctx, w.maintainer, w.as(w.maintainer), "v1.9"), errs.NotFound, "Tag not found")
		check(t, w.open().Fsck(ctx))
	})
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// A power cut leaves lock files behind. Those older than the server block no process; a
// fresh one belongs to a process that is at work.
func TestService_MoveRefs_staleLock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		first := w.put("main", "a", "a\n").ID
		lock := filepath.Join(w.open().Path(), "refs", "heads", "topic.lock")
		for _, tt := range []struct {
			name string
			age  time.Duration
			want errs.Kind
		}{{"fresh", 0, errs.Conflict}, {"old", time.Hour, errs.Internal}} {
			check(t, os.WriteFile(lock, nil, 0o600))
			made := time.Now().Add(-tt.age)
			check(t, os.Chtimes(lock, made, made))
			err := w.repos.MoveRefs(t.Context(), w.owner, w.as(w.owner), repo.ByAPI, []repo.RefChange{{Ref: ref(t, "refs/heads/topic"), New: first}})
			if tt.want == errs.Conflict {
				wants(t, err, errs.Conflict, "")
				continue
			}
			check(t, err)
		}
		if tip, err := w.open().Branch(t.Context(), "topic"); err != nil || tip != first {
			t.Errorf("topic at %v, %v", tip, err)
		}
	})
}
