package gitcmd_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Objects that a crash kept from coming in go once nobody can be at work on them; what is
// being written, and what is whole, stays.
func TestRepo_Sweep(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRepo(t, newGit(t))
	id := commit(t, r, 1700000000, map[string]string{"f": "1"})
	objects := filepath.Join(r.Path(), "objects")
	now := time.Now()
	put := func(age time.Duration, path ...string) {
		t.Helper()
		name := filepath.Join(append([]string{objects}, path...)...)
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("1234"), 0o600); err != nil {
			t.Fatal(err)
		}
		for dir := name; dir != objects && filepath.Base(dir) != "pack"; dir = filepath.Dir(dir) {
			if err := os.Chtimes(dir, now.Add(-age), now.Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(2*time.Hour, "tmp_objdir-incoming-old", "ab", "cdef")
	put(2*time.Hour, "tmp_objdir-tenon-old", "x")
	put(2*time.Hour, "tmp_obj_old")
	put(2*time.Hour, "pack", "tmp_pack_old")
	put(30*time.Minute, "tmp_objdir-incoming-young", "x")
	put(2*time.Hour, "tmp_objdir-incoming-busy", "x")
	if err := os.Chtimes(filepath.Join(objects, "tmp_objdir-incoming-busy", "x"), now, now); err != nil {
		t.Fatal(err)
	}
	put(48*time.Hour, "pack", "pack-1.keep")
	if freed := must[int64](t)(r.Sweep(ctx, now)); freed != 16 {
		t.Errorf("freed %d bytes", freed)
	}
	left := must[[]string](t)(filepath.Glob(filepath.Join(objects, "tmp_*")))
	more := must[[]string](t)(filepath.Glob(filepath.Join(objects, "pack", "*")))
	var names []string
	for _, name := range append(left, more...) {
		names = append(names, filepath.Base(name))
	}
	if want := []string{"tmp_objdir-incoming-busy", "tmp_objdir-incoming-young", "pack-1.keep"}; !slices.Equal(names, want) {
		t.Errorf("left %q, want %q", names, want)
	}
	// A day later they go as well, although this server was there before them.
	if freed := must[int64](t)(r.Sweep(ctx, now.Add(25*time.Hour))); freed != 8 {
		t.Errorf("freed %d bytes", freed)
	}
	if _, err := r.Commit(ctx, id); err != nil {
		t.Errorf("the commit is gone: %v", err)
	}
}
