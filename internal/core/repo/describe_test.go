package repo_test

import (
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/repo"
)

func TestService_MoveRefs_counts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		first := w.put("main", "a", "a\n")
		w.put("main", "b", "b\n")
		last := func() repo.PushedRef {
			t.Helper()
			return w.pushed[len(w.pushed)-1].Changes[0]
		}
		if _, err := w.repos.CreateBranch(ctx, w.owner, w.as(w.owner), "same", "main"); err != nil {
			t.Fatal(err)
		}
		if got := last(); got.CommitCount != 0 || got.CommitTitle != "Put b" {
			t.Errorf("a branch where the default one is: %+v, want nothing new", got)
		}
		w.put("side", "c", "c\n")
		if got := last(); got.CommitCount != 1 {
			t.Errorf("a branch with a commit of its own: %+v, want 1", got)
		}
		side := w.put("side", "d", "d\n")
		check(t, w.repos.MoveRefs(ctx, w.owner, w.as(w.owner), repo.ByAPI, []repo.RefChange{{Ref: "refs/heads/copy", New: side.ID}}))
		if got := last(); got.CommitCount != 2 {
			t.Errorf("a branch with two commits that the default one lacks: %+v, want 2", got)
		}
		check(t, w.repos.MoveRefs(ctx, w.owner, w.as(w.owner), repo.ByAPI, []repo.RefChange{{Ref: "refs/heads/copy", Old: side.ID, New: first.ID}}))
		check(t, w.repos.MoveRefs(ctx, w.owner, w.as(w.owner), repo.ByAPI, []repo.RefChange{{Ref: "refs/heads/copy", Old: first.ID, New: side.ID}}))
		if got := last(); got.CommitCount != 3 {
			t.Errorf("a branch moved on by three commits: %+v, want 3", got)
		}
	})
}

func TestService_Tree_defaultBranch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		old := w.put("main", "a", "a\n")
		w.put("main", "b", "b\n")
		// A tag called like the default branch, made past our rules as a mirror might.
		check(t, w.open().UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/tags/main", New: old.ID}}))
		tree, err := w.repos.Tree(ctx, w.reporter, w.as(w.reporter), repo.TreeFilter{Range: page.Range{Limit: 10}})
		check(t, err)
		if len(tree.Items) != 2 {
			t.Errorf("without a ref: %+v, want the branch's two files", tree.Items)
		}
		tree, err = w.repos.Tree(ctx, w.reporter, w.as(w.reporter), repo.TreeFilter{Ref: "main", Range: page.Range{Limit: 10}})
		check(t, err)
		if len(tree.Items) != 1 {
			t.Errorf("by name: %+v, want the tag's one file, as git has it", tree.Items)
		}
	})
}
