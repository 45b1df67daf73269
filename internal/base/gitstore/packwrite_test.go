package gitstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// Many references in one transaction: made, moved and deleted, packed before or not, some
// of them annotated tags. They take one process however many there are.
func TestRepo_UpdateRefs_many(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	tag := gittest.Must[gitstore.ObjectID](t)(r.CreateTag(ctx, gitstore.TagInput{Name: "v1", Target: a, Tagger: gittest.Signature("Ann", 1), Message: "m"}))
	gittest.Point(t, r, "refs/heads/main", a)
	for _, n := range []int{100, 1000} {
		want := map[string]gitstore.ObjectID{"refs/heads/main": a}
		var create, change []gitstore.RefUpdate
		for i := range n {
			name := fmt.Sprintf("refs/heads/%d/b%d", n, i)
			create = append(create, gitstore.RefUpdate{Ref: gitstore.RefName(name), New: a})
			if i%3 == 0 {
				change = append(change, gitstore.RefUpdate{Ref: gitstore.RefName(name), Old: a, New: b})
				want[name] = b
			} else {
				change = append(change, gitstore.RefUpdate{Ref: gitstore.RefName(name), Old: a})
			}
			name = fmt.Sprintf("refs/tags/%d/t%d", n, i)
			change = append(change, gitstore.RefUpdate{Ref: gitstore.RefName(name), New: tag})
			want[name] = tag
		}
		g.Trim()
		if n := gittest.Started(g, func() {
			if err := r.UpdateRefs(ctx, create); err != nil {
				t.Fatal(err)
			}
		}); n > 1 {
			t.Errorf("%d new references: %d processes, want 1", len(create), n)
		}
		// Some of them get files of their own, which stand before packed-refs.
		for _, c := range create[:20] {
			gittest.Point(t, r, c.Ref, b)
			gittest.Point(t, r, c.Ref, a)
		}
		if n := gittest.Started(g, func() {
			if err := r.UpdateRefs(ctx, change); err != nil {
				t.Fatal(err)
			}
		}); n > 1 {
			t.Errorf("%d changed references: %d processes, want 1", len(change), n)
		}
		got := map[string]gitstore.ObjectID{}
		for _, ref := range gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, "refs/")) {
			got[string(ref.Name)] = ref.ID
			if ref.Name.IsTag() && ref.Peeled != a {
				t.Errorf("%s peels to %s, want %s", ref.Name, ref.Peeled, a)
			}
		}
		for line := range strings.Lines(gittest.Run(t, r.Path(), "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)")) {
			fields := strings.Fields(line)
			if got[fields[0]].String() != fields[1] || len(fields) == 3 && fields[2] != a.String() {
				t.Errorf("git has %q, we have %s", line, got[fields[0]])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d references, want %d", len(got), len(want))
		}
		for name, id := range want {
			if got[name] != id {
				t.Errorf("%s stands at %s, want %s", name, got[name], id)
			}
		}
		var all []gitstore.RefUpdate
		for name, id := range want {
			if name != "refs/heads/main" {
				all = append(all, gitstore.RefUpdate{Ref: gitstore.RefName(name), Old: id})
			}
		}
		if n := gittest.Started(g, func() {
			if err := r.UpdateRefs(ctx, all); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%d deleted references: %d processes, want none", len(all), n)
		}
		if left := gittest.Run(t, r.Path(), "for-each-ref", "--format=%(refname)"); left != "refs/heads/main\n" {
			t.Errorf("after deleting the others: %q", left)
		}
	}
	entries := gittest.Must[[]os.DirEntry](t)(os.ReadDir(filepath.Join(r.Path(), "refs", "heads")))
	if len(entries) != 1 || entries[0].Name() != "main" {
		t.Errorf("folders are left: %v", entries)
	}
	gittest.Fsck(t, r)
}

// One of many that cannot be moved keeps all of them where they are, and leaves no lock.
func TestRepo_UpdateRefs_manyRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	blob := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(ctx, []byte("no commit")))
	missing := gittest.Must[gitstore.ObjectID](t)(gitstore.ParseObjectID(strings.Repeat("ab", 20)))
	gittest.Point(t, r, "refs/heads/packed/deep", a)
	gittest.Run(t, r.Path(), "pack-refs", "--all", "--prune")
	gittest.Point(t, r, "refs/heads/loose", a)
	many := func(more ...gitstore.RefUpdate) []gitstore.RefUpdate {
		for i := range 40 {
			more = append(more, gitstore.RefUpdate{Ref: gitstore.RefName(fmt.Sprint("refs/heads/new/b", i)), New: a})
		}
		return more
	}
	for _, tt := range []struct {
		name string
		bad  gitstore.RefUpdate
		err  error
	}{
		{"not where it was thought", gitstore.RefUpdate{Ref: "refs/heads/loose", Old: b, New: a}, gitstore.ErrRefMoved},
		{"packed elsewhere", gitstore.RefUpdate{Ref: "refs/heads/packed/deep", Old: b, New: a}, gitstore.ErrRefMoved},
		{"there already", gitstore.RefUpdate{Ref: "refs/heads/loose", New: b}, gitstore.ErrRefMoved},
		{"not there", gitstore.RefUpdate{Ref: "refs/heads/none", Old: a, New: b}, gitstore.ErrRefMoved},
		{"nothing to delete", gitstore.RefUpdate{Ref: "refs/heads/none", Old: a}, gitstore.ErrRefMoved},
		{"below a file", gitstore.RefUpdate{Ref: "refs/heads/loose/x", New: b}, gitstore.ErrRefConflict},
		{"below what is packed", gitstore.RefUpdate{Ref: "refs/heads/packed/deep/x", New: b}, gitstore.ErrRefConflict},
		{"where a folder is", gitstore.RefUpdate{Ref: "refs/heads/packed", New: b}, gitstore.ErrRefConflict},
		{"above another new one", gitstore.RefUpdate{Ref: "refs/heads/new", New: b}, gitstore.ErrRefConflict},
		{"twice", gitstore.RefUpdate{Ref: "refs/heads/new/b7", New: a}, gitstore.ErrBadName},
		{"a branch of no commit", gitstore.RefUpdate{Ref: "refs/heads/blob", New: blob}, gitstore.ErrWrongKind},
		{"what is not there", gitstore.RefUpdate{Ref: "refs/heads/missing", New: missing}, gitstore.ErrNotFound},
	} {
		before := gittest.Run(t, r.Path(), "for-each-ref")
		if err := r.UpdateRefs(ctx, many(tt.bad)); !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.err)
		}
		if after := gittest.Run(t, r.Path(), "for-each-ref"); after != before {
			t.Errorf("%s: refused, and yet:\n%swas\n%s", tt.name, after, before)
		}
	}
	locks := 0
	if err := filepath.WalkDir(r.Path(), func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") || strings.HasSuffix(path, ".new") {
			locks++
			t.Errorf("left behind: %s", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if err := r.UpdateRefs(ctx, many()); err != nil {
		t.Errorf("the good ones alone: %v", err)
	}
}

// What a crash in the middle leaves is in the way of nothing: locks of references and of
// packed-refs, and half of a new file.
func TestRepo_UpdateRefs_manyAfterCrash(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	var updates []gitstore.RefUpdate
	for i := range 40 {
		updates = append(updates, gitstore.RefUpdate{Ref: gitstore.RefName(fmt.Sprint("refs/heads/x/b", i)), New: a})
	}
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{"refs/heads/x/b3.lock", "refs/heads/x/b4.lock", "packed-refs.lock", "packed-refs.new"} {
		path := filepath.Join(r.Path(), filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte("half"), 0o640), os.Chtimes(path, long, long)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.UpdateRefs(ctx, updates); err != nil {
		t.Fatal(err)
	}
	if n := len(gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, "refs/"))); n != len(updates) {
		t.Errorf("%d references, want %d", n, len(updates))
	}
}

// Transactions of many references, of one, and git packing them, all at once: each
// reference takes each value once, and none is lost.
func TestRepo_UpdateRefs_manyContended(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	const refs, steps = 20, 8
	chain := []gitstore.ObjectID{gittest.Commit(t, r, 1700000000, map[string]string{"f": "0"})}
	for i := range steps {
		chain = append(chain, gittest.Commit(t, r, 1700000001+int64(i), map[string]string{"f": fmt.Sprint(i + 1)}, chain[i]))
	}
	var names []gitstore.RefName
	for i := range refs {
		names = append(names, gitstore.RefName(fmt.Sprint("refs/heads/dir/b", i)))
		gittest.Point(t, r, names[i], chain[0])
	}
	stop := make(chan struct{})
	var packing, moving sync.WaitGroup
	packing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = gittest.Try(r.Path(), "pack-refs", "--all", "--prune") // it gives way to those who hold locks
			}
		}
	})
	// One moves each reference alone a step at a time, two all of those that stand together.
	moving.Go(func() {
		for step := range steps / 2 {
			for _, name := range names {
				if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: name, Old: chain[step], New: chain[step+1]}}); err != nil {
					t.Errorf("%s to %d: %v", name, step+1, err)
					return
				}
			}
		}
		for step := steps / 2; step < steps; step++ {
			var all []gitstore.RefUpdate
			for _, name := range names {
				all = append(all, gitstore.RefUpdate{Ref: name, Old: chain[step], New: chain[step+1]})
			}
			if err := r.UpdateRefs(ctx, all); err != nil {
				t.Errorf("all to %d: %v", step+1, err)
				return
			}
		}
	})
	for worker := range 2 {
		moving.Go(func() { // others of their own, in the same folder
			for range steps {
				var add, del []gitstore.RefUpdate
				for i := range refs {
					name := gitstore.RefName(fmt.Sprintf("refs/heads/dir/w%d-%d", worker, i))
					add, del = append(add, gitstore.RefUpdate{Ref: name, New: chain[1]}), append(del, gitstore.RefUpdate{Ref: name, Old: chain[1]})
				}
				if err := r.UpdateRefs(ctx, add); err != nil {
					t.Errorf("add: %v", err)
				}
				if err := r.UpdateRefs(ctx, del); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
		})
	}
	moving.Wait()
	close(stop)
	packing.Wait()
	got := gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, "refs/"))
	if len(got) != refs || slices.ContainsFunc(got, func(ref gitstore.Ref) bool { return ref.ID != chain[steps] }) {
		t.Errorf("%d references: %v, want %d at %s", len(got), got, refs, chain[steps])
	}
}
