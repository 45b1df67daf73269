package repo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/ci"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/repo"
)

func TestService_KeepAround(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put("main", "a", "1")
		c := w.put("side", "b", "2")
		for range 2 { // the second time it is kept already
			check(t, w.repos.KeepAround(t.Context(), w.as(w.owner), c.ID))
		}
		r := w.open()
		if id, err := r.Ref(t.Context(), gitstore.RefName("refs/keep-around/"+c.ID.String())); err != nil || id != c.ID {
			t.Errorf("kept %v, %v", id, err)
		}
		before := w.git.Started()
		check(t, w.repos.KeepAround(t.Context(), w.as(w.owner), c.ID))
		if n := w.git.Started() - before; n != 0 {
			t.Errorf("%d processes for a commit that is kept already", n)
		}
		// It is no branch, it is in no list, and no user names it.
		refs, err := w.repos.Holding(t.Context(), w.owner, w.as(w.owner), c, "all", page.Range{})
		if err != nil || len(refs.Items) != 1 {
			t.Errorf("held by %v, %v", refs.Items, err)
		}
		check(t, w.repos.DeleteBranch(t.Context(), w.owner, w.as(w.owner), "side"))
		all, err := w.repos.Commits(t.Context(), w.owner, w.as(w.owner), repo.CommitFilter{All: true, Range: page.Range{Limit: 10}})
		if err != nil || len(all.Items) != 1 {
			t.Errorf("all commits: %d, %v; the kept one is in no branch", len(all.Items), err)
		}
		if _, err := r.Commit(t.Context(), c.ID); err != nil {
			t.Errorf("the kept commit: %v", err)
		}
		unknown, err := gitstore.ParseObjectID("0123456789012345678901234567890123456789")
		check(t, err)
		if err := w.repos.KeepAround(t.Context(), w.as(w.owner), unknown); err == nil || errors.Is(err, gitstore.ErrRefMoved) {
			t.Errorf("a commit that is not there: %v", err)
		}
	})
}

// The check of repositories looks for the commits that comments and statuses name.
func TestService_Check_namedCommits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put("main", "a", "1")
		c := w.put("side", "b", "2")
		checks := ci.New(ci.Deps{Plans: &planlimit.Service{}, DB: w.DB, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Repos: w.repos, Protections: w.protections, Now: w.Now})
		_, _, err := checks.Report(t.Context(), w.owner, w.as(w.owner), c.ID.String(), ci.Input{State: ci.Success, Name: "lint", Ref: "side"})
		check(t, err)
		wrong := func() []string {
			problems, err := w.repos.Check(t.Context(), repo.CheckOptions{Project: w.id}, func(int, int, string) {})
			check(t, err)
			var out []string
			for _, p := range problems {
				out = append(out, p.Text)
			}
			return out
		}
		if got := wrong(); len(got) != 0 {
			t.Errorf("all is well: %q", got)
		}
		r := w.open()
		check(t, r.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Ref: gitstore.RefName("refs/keep-around/" + c.ID.String()), Old: c.ID}}))
		if got := wrong(); len(got) != 1 || got[0] != "nothing keeps the commit "+c.ID.String()+", which a comment or status names" {
			t.Errorf("not kept: %q", got)
		}
		gone := "0123456789012345678901234567890123456789"
		w.exec("UPDATE pipelines SET sha = ?", gone)
		if got := wrong(); len(got) != 1 || got[0] != "a comment or status names the commit "+gone+", which is not there" {
			t.Errorf("not there: %q", got)
		}
	})
}

// A project that lost its default branch gets the one back that HEAD names, or else the
// first one there is.
func TestService_Check_defaultBranch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "a", "1")
		w.put("alpha", "b", "1")
		look := func(repair bool) []repo.Problem {
			problems, err := w.repos.Check(ctx, repo.CheckOptions{Project: w.id, Repair: repair}, func(int, int, string) {})
			check(t, err)
			return problems
		}
		for _, tt := range []struct{ head, want string }{{"refs/heads/main", "main"}, {"refs/heads/gone", "alpha"}} {
			if got := look(true); len(got) != 0 {
				t.Errorf("all is well: %v", got)
			}
			w.exec("UPDATE projects SET default_branch = NULL")
			check(t, w.open().SetHead(ctx, gitstore.RefName(tt.head)))
			got := look(false)
			if len(got) != 1 || got[0].Repaired || got[0].Text != "the project has no default branch, and its repository 2 branches" {
				t.Errorf("without a default branch: %v", got)
			}
			w.exec("UPDATE projects SET import_status = 'started'")
			if got := look(true); len(got) != 0 {
				t.Errorf("just being filled: %v", got)
			}
			w.exec("UPDATE projects SET import_status = 'none'")
			if got := look(true); len(got) != 1 || !got[0].Repaired {
				t.Errorf("repaired: %v", got)
			}
			head, err := w.open().Head(ctx)
			check(t, err)
			if p := w.as(w.owner); p.DefaultBranch == nil || *p.DefaultBranch != tt.want || head.Short() != tt.want {
				t.Errorf("HEAD at %s: the project has %v and HEAD is %s, want %s", tt.head, p.DefaultBranch, head, tt.want)
			}
		}
	})
}

// A branch whose commit is lost hides no other, and is not there itself.
func TestService_Branches_lost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.put("main", "a", "1")
		w.put("topic", "b", "1")
		ghost := filepath.Join(w.open().Path(), "refs", "heads", "ghost")
		check(t, os.WriteFile(ghost, []byte(strings.Repeat("1", 40)+"\n"), 0o600))
		for _, sort := range []string{repo.ByNameAsc, repo.ByUpdatedAsc, repo.ByUpdatedDesc} {
			found, err := w.repos.Branches(ctx, w.reporter, w.as(w.reporter), repo.BranchFilter{Sort: sort})
			list, total := found.Items, found.Total
			if err != nil || len(list) != 2 || total != 2 {
				t.Errorf("%s: %v of %d, %v", sort, list, total, err)
			}
		}
		_, err := w.repos.FindBranch(ctx, w.reporter, w.as(w.reporter), "ghost")
		wants(t, err, errs.NotFound, "Branch not found")
		problems, err := w.repos.Check(ctx, repo.CheckOptions{Project: w.id}, func(int, int, string) {})
		if err != nil || len(problems) != 1 || !strings.HasPrefix(problems[0].Text, "refs/heads/ghost names 1111") {
			t.Errorf("check: %v, %v", problems, err)
		}
	})
}
