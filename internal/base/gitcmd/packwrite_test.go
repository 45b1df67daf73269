package gitcmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/gitcmd"
)

// Many references in one transaction: made, moved and deleted, packed before or not, some
// of them annotated tags. They take one process however many there are.
func TestRepo_UpdateRefs_many(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := newGit(t)
	r := newRepo(t, g)
	a := commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	tag := must[gitcmd.ObjectID](t)(r.CreateTag(ctx, gitcmd.TagInput{Name: "v1", Target: a, Tagger: who("Ann", 1), Message: "m"}))
	point(t, r, "refs/heads/main", a)
	for _, n := range []int{100, 1000} {
		want := map[string]gitcmd.ObjectID{"refs/heads/main": a}
		var create, change []gitcmd.RefUpdate
		for i := range n {
			name := fmt.Sprintf("refs/heads/%d/b%d", n, i)
			create = append(create, gitcmd.RefUpdate{Ref: gitcmd.RefName(name), New: a})
			if i%3 == 0 {
				change = append(change, gitcmd.RefUpdate{Ref: gitcmd.RefName(name), Old: a, New: b})
				want[name] = b
			} else {
				change = append(change, gitcmd.RefUpdate{Ref: gitcmd.RefName(name), Old: a})
			}
			name = fmt.Sprintf("refs/tags/%d/t%d", n, i)
			change = append(change, gitcmd.RefUpdate{Ref: gitcmd.RefName(name), New: tag})
			want[name] = tag
		}
		g.Trim()
		if n := starts(g, func() {
			if err := r.UpdateRefs(ctx, create); err != nil {
				t.Fatal(err)
			}
		}); n > 1 {
			t.Errorf("%d new references: %d processes, want 1", len(create), n)
		}
		// Some of them get files of their own, which stand before packed-refs.
		for _, c := range create[:20] {
			point(t, r, c.Ref, b)
			point(t, r, c.Ref, a)
		}
		if n := starts(g, func() {
			if err := r.UpdateRefs(ctx, change); err != nil {
				t.Fatal(err)
			}
		}); n > 1 {
			t.Errorf("%d changed references: %d processes, want 1", len(change), n)
		}
		got := map[string]gitcmd.ObjectID{}
		for _, ref := range must[[]gitcmd.Ref](t)(r.Refs(ctx, "refs/")) {
			got[string(ref.Name)] = ref.ID
			if ref.Name.IsTag() && ref.Peeled != a {
				t.Errorf("%s peels to %s, want %s", ref.Name, ref.Peeled, a)
			}
		}
		for line := range strings.Lines(runGit(t, r.Path(), "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)")) {
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
		var all []gitcmd.RefUpdate
		for name, id := range want {
			if name != "refs/heads/main" {
				all = append(all, gitcmd.RefUpdate{Ref: gitcmd.RefName(name), Old: id})
			}
		}
		if n := starts(g, func() {
			if err := r.UpdateRefs(ctx, all); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%d deleted references: %d processes, want none", len(all), n)
		}
		if left := runGit(t, r.Path(), "for-each-ref", "--format=%(refname)"); left != "refs/heads/main\n" {
			t.Errorf("after deleting the others: %q", left)
		}
	}
	entries := must[[]os.DirEntry](t)(os.ReadDir(filepath.Join(r.Path(), "refs", "heads")))
	if len(entries) != 1 || entries[0].Name() != "main" {
		t.Errorf("folders are left: %v", entries)
	}
	fsck(t, r)
}

// One of many that cannot be moved keeps all of them where they are, and leaves no lock.
func TestRepo_UpdateRefs_manyRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRepo(t, newGit(t))
	a := commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	blob := must[gitcmd.ObjectID](t)(r.WriteBlob(ctx, []byte("no commit")))
	missing := must[gitcmd.ObjectID](t)(gitcmd.ParseObjectID(strings.Repeat("ab", 20)))
	point(t, r, "refs/heads/packed/deep", a)
	runGit(t, r.Path(), "pack-refs", "--all", "--prune")
	point(t, r, "refs/heads/loose", a)
	many := func(more ...gitcmd.RefUpdate) []gitcmd.RefUpdate {
		for i := range 40 {
			more = append(more, gitcmd.RefUpdate{Ref: gitcmd.RefName(fmt.Sprint("refs/heads/new/b", i)), New: a})
		}
		return more
	}
	for _, tt := range []struct {
		name string
		bad  gitcmd.RefUpdate
		err  error
	}{
		{"not where it was thought", gitcmd.RefUpdate{Ref: "refs/heads/loose", Old: b, New: a}, gitcmd.ErrRefMoved},
		{"packed elsewhere", gitcmd.RefUpdate{Ref: "refs/heads/packed/deep", Old: b, New: a}, gitcmd.ErrRefMoved},
		{"there already", gitcmd.RefUpdate{Ref: "refs/heads/loose", New: b}, gitcmd.ErrRefMoved},
		{"not there", gitcmd.RefUpdate{Ref: "refs/heads/none", Old: a, New: b}, gitcmd.ErrRefMoved},
		{"nothing to delete", gitcmd.RefUpdate{Ref: "refs/heads/none", Old: a}, gitcmd.ErrRefMoved},
		{"below a file", gitcmd.RefUpdate{Ref: "refs/heads/loose/x", New: b}, gitcmd.ErrRefConflict},
		{"below what is packed", gitcmd.RefUpdate{Ref: "refs/heads/packed/deep/x", New: b}, gitcmd.ErrRefConflict},
		{"where a folder is", gitcmd.RefUpdate{Ref: "refs/heads/packed", New: b}, gitcmd.ErrRefConflict},
		{"above another new one", gitcmd.RefUpdate{Ref: "refs/heads/new", New: b}, gitcmd.ErrRefConflict},
		{"twice", gitcmd.RefUpdate{Ref: "refs/heads/new/b7", New: a}, gitcmd.ErrBadName},
		{"a branch of no commit", gitcmd.RefUpdate{Ref: "refs/heads/blob", New: blob}, gitcmd.ErrWrongKind},
		{"what is not there", gitcmd.RefUpdate{Ref: "refs/heads/missing", New: missing}, gitcmd.ErrNotFound},
	} {
		before := runGit(t, r.Path(), "for-each-ref")
		if err := r.UpdateRefs(ctx, many(tt.bad)); !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.err)
		}
		if after := runGit(t, r.Path(), "for-each-ref"); after != before {
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
	r := newRepo(t, newGit(t))
	a := commit(t, r, 1700000000, map[string]string{"f": "1"})
	var updates []gitcmd.RefUpdate
	for i := range 40 {
		updates = append(updates, gitcmd.RefUpdate{Ref: gitcmd.RefName(fmt.Sprint("refs/heads/x/b", i)), New: a})
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
	if n := len(must[[]gitcmd.Ref](t)(r.Refs(ctx, "refs/"))); n != len(updates) {
		t.Errorf("%d references, want %d", n, len(updates))
	}
}

// Transactions of many references, of one, and git packing them, all at once: each
// reference takes each value once, and none is lost.
func TestRepo_UpdateRefs_manyContended(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRepo(t, newGit(t))
	const refs, steps = 20, 8
	chain := []gitcmd.ObjectID{commit(t, r, 1700000000, map[string]string{"f": "0"})}
	for i := range steps {
		chain = append(chain, commit(t, r, 1700000001+int64(i), map[string]string{"f": fmt.Sprint(i + 1)}, chain[i]))
	}
	var names []gitcmd.RefName
	for i := range refs {
		names = append(names, gitcmd.RefName(fmt.Sprint("refs/heads/dir/b", i)))
		point(t, r, names[i], chain[0])
	}
	stop := make(chan struct{})
	var packing, moving sync.WaitGroup
	packing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = try(r.Path(), "pack-refs", "--all", "--prune") // it gives way to those who hold locks
			}
		}
	})
	// One moves each reference alone a step at a time, two all of those that stand together.
	moving.Go(func() {
		for step := range steps / 2 {
			for _, name := range names {
				if err := r.UpdateRefs(ctx, []gitcmd.RefUpdate{{Ref: name, Old: chain[step], New: chain[step+1]}}); err != nil {
					t.Errorf("%s to %d: %v", name, step+1, err)
					return
				}
			}
		}
		for step := steps / 2; step < steps; step++ {
			var all []gitcmd.RefUpdate
			for _, name := range names {
				all = append(all, gitcmd.RefUpdate{Ref: name, Old: chain[step], New: chain[step+1]})
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
				var add, del []gitcmd.RefUpdate
				for i := range refs {
					name := gitcmd.RefName(fmt.Sprintf("refs/heads/dir/w%d-%d", worker, i))
					add, del = append(add, gitcmd.RefUpdate{Ref: name, New: chain[1]}), append(del, gitcmd.RefUpdate{Ref: name, Old: chain[1]})
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
	got := must[[]gitcmd.Ref](t)(r.Refs(ctx, "refs/"))
	if len(got) != refs || slices.ContainsFunc(got, func(ref gitcmd.Ref) bool { return ref.ID != chain[steps] }) {
		t.Errorf("%d references: %v, want %d at %s", len(got), got, refs, chain[steps])
	}
}

// A push of thousands of references starts as few processes as one of twenty, whether it
// makes, moves or deletes them.
func TestRepo_ReceivePack_many(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	r := newRepo(t, g)
	first := commit(t, r, 1700000000, map[string]string{"f": "1"})
	second := commit(t, r, 1700000001, map[string]string{"f": "2"}, first)
	point(t, r, "refs/heads/main", second)
	empty := runGitIn(t, r.Path(), "", "pack-objects", "--stdout")
	zero := strings.Repeat("0", 40)
	push := func(n int, was, is, pack string) int64 {
		t.Helper()
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprintf("%s %s refs/heads/n%d/%d", was, is, n, i)
		}
		var out bytes.Buffer
		started := starts(g, func() {
			if err := r.ReceivePack(t.Context(), gitcmd.Receive{
				Stateless: true, Judge: lenient(r), Stdin: bytes.NewReader(pushed([]byte(pack), lines...)), Stdout: &out,
			}); err != nil {
				t.Error(err)
			}
		})
		refs := must[[]gitcmd.Ref](t)(r.Refs(t.Context(), fmt.Sprintf("refs/heads/n%d/", n)))
		refs = slices.DeleteFunc(refs, func(f gitcmd.Ref) bool { return f.ID.String() != is })
		if left := map[bool]int{true: 0, false: n}[is == zero]; len(refs) != left {
			t.Errorf("%d references are there, want %d: %.300q", len(refs), left, out.String())
		}
		return started
	}
	for _, tt := range []struct{ name, was, is, pack string }{
		{"made", zero, first.String(), empty},
		{"moved", first.String(), second.String(), empty},
		{"deleted", second.String(), zero, ""},
	} {
		few := push(20, tt.was, tt.is, tt.pack)
		for _, n := range []int{1000, 10_000} {
			if many := push(n, tt.was, tt.is, tt.pack); many > few || many > 2 {
				t.Errorf("%d references %s: %d processes, want the %d of 20 references", n, tt.name, many, few)
			}
		}
	}
}
