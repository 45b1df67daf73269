package repo_test

import (
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/repo"
)

func TestService_UpdateSubmodule(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		update := func(path, commit, branch, message string) (*gitstore.Commit, error) {
			return w.repos.UpdateSubmodule(ctx, w.developer, w.as(w.developer), repo.SubmoduleInput{Path: path, Commit: commit, Branch: branch, Message: message})
		}
		one, two := strings.Repeat("1a", 20), strings.Repeat("2b", 20)
		_, err := update("libs/one", two, "main", "")
		wants(t, err, errs.Invalid, "The repository is empty")
		base := w.put("main", "a", "a\n")
		r := w.open()
		id, err := gitstore.ParseObjectID(one)
		check(t, err)
		tree, err := r.BuildTree(ctx, base.ID, []gitstore.TreeChange{{Path: "libs/one", Mode: gitstore.ModeSubmodule, ID: id}})
		check(t, err)
		by := gitstore.Signature{Name: "A", Email: "a@x", When: w.Now()}
		with, err := r.CommitTree(ctx, gitstore.CommitInput{Tree: tree, Parents: []gitstore.ObjectID{base.ID}, Author: by, Message: "Add a submodule"})
		check(t, err)
		check(t, w.repos.MoveRefs(ctx, w.developer, w.as(w.developer), repo.ByPush, []repo.RefChange{{Ref: "refs/heads/topic", New: with}}))

		c, err := update("libs/one", two, "topic", "")
		check(t, err)
		if c.Message != "Update submodule libs/one with oid "+two || len(c.Parents) != 1 || c.Parents[0] != with {
			t.Errorf("commit: %+v", c)
		}
		e, err := r.Entry(ctx, c.ID, "libs/one")
		if check(t, err); e.Mode != gitstore.ModeSubmodule || e.ID.String() != two {
			t.Errorf("entry: %+v", e)
		}
		if c, err = update("libs/one", one, "topic", "Go back"); err != nil || c.Message != "Go back" {
			t.Errorf("with a message: %+v, %v", c, err)
		}
		for _, tt := range []struct {
			name, path, commit, branch string
			kind                       errs.Kind
			text                       string
		}{
			{"the same commit", "libs/one", one, "topic", errs.Invalid, "The submodule libs/one is already at " + one},
			{"a file", "a", two, "topic", errs.Invalid, "Invalid submodule path"},
			{"a folder", "libs", two, "topic", errs.Invalid, "Invalid submodule path"},
			{"nothing", "none", two, "topic", errs.Invalid, "Invalid submodule path"},
			{"outside", "../one", two, "topic", errs.Invalid, "Path cannot include directory traversal"},
			{"half an id", "libs/one", two[:10], "topic", errs.Invalid, "Invalid parameters"},
			{"revision syntax", "libs/one", "HEAD~1", "topic", errs.Invalid, "Invalid parameters"},
			{"no such branch", "libs/one", two, "none", errs.Invalid, "You can only create or edit files when you are on a branch"},
			{"a protected branch", "libs/one", two, "main", errs.Forbidden, "You are not allowed to push into this branch"},
		} {
			_, err := update(tt.path, tt.commit, tt.branch, "")
			if t.Log(tt.name); err == nil {
				t.Error("no error")
			}
			wants(t, err, tt.kind, tt.text)
		}
		_, err = w.repos.UpdateSubmodule(ctx, w.reporter, w.as(w.reporter), repo.SubmoduleInput{Path: "libs/one", Commit: two, Branch: "topic"})
		wants(t, err, errs.Forbidden, "You are not allowed to push into this branch")
		check(t, r.Fsck(ctx))
	})
}
