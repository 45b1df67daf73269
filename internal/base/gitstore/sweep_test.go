package gitstore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// The locks of processes before this one go, wherever git makes them: they would keep it
// from packing and from writing the commit graph for ever. Those of this server stay.
func TestRepo_staleLocks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, heal := range map[string]func(r *gitcmd.Repo) error{
		"sweep":        func(r *gitcmd.Repo) error { _, err := r.Sweep(ctx, time.Now()); return err },
		"housekeeping": func(r *gitcmd.Repo) error { return r.Maintain(ctx, gitcmd.Maintenance{Full: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.NewRepo(t, gittest.New(t))
			gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
			put := func(path string, at time.Time) string {
				t.Helper()
				file := filepath.Join(r.Path(), filepath.FromSlash(path))
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, nil, 0o600), os.Chtimes(file, at, at)); err != nil {
					t.Fatal(err)
				}
				return file
			}
			before := time.Now().Add(-time.Minute)
			for _, path := range []string{
				"HEAD.lock", "packed-refs.lock", "packed-refs.new", "objects/info/commit-graph.lock", "objects/pack/multi-pack-index.lock", "refs/heads/deep/topic.lock",
			} {
				put(path, before)
			}
			own := put("refs/heads/deep/other.lock", time.Now().Add(time.Minute))
			if err := heal(r); err != nil {
				t.Fatal(err)
			}
			var left []string
			if err := filepath.WalkDir(r.Path(), func(path string, _ fs.DirEntry, err error) error {
				if strings.HasSuffix(path, ".lock") || strings.HasSuffix(path, ".new") {
					left = append(left, path)
				}
				return err
			}); err != nil || !slices.Equal(left, []string{own}) {
				t.Errorf("left %q, %v, want %q", left, err, own)
			}
		})
	}
}

// git locks HEAD too where the branch moves that it names, along with another that goes.
func TestRepo_UpdateRefs_staleHead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	old := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	next := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"})
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/main", New: old, AnyOld: true}, {Ref: "refs/heads/topic", New: next}}); err != nil {
		t.Fatal(err)
	}
	if err := r.SetHead(ctx, "refs/heads/main"); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(r.Path(), "HEAD.lock")
	before := time.Now().Add(-time.Minute)
	if err := errors.Join(os.WriteFile(lock, nil, 0o600), os.Chtimes(lock, before, before)); err != nil {
		t.Fatal(err)
	}
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/main", Old: old, New: next}, {Ref: "refs/heads/topic", Old: next}}); err != nil {
		t.Errorf("a lock of HEAD that a crash left is in the way: %v", err)
	}
}

// The packed references that git was writing when it was killed are harmless: a
// deletion has to rewrite them.
func TestRepo_UpdateRefs_stalePackedRefs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	old := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/topic", New: old, AnyOld: true}}); err != nil {
		t.Fatal(err)
	}
	if err := r.Maintain(ctx, gitcmd.Maintenance{}); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(r.Path(), "packed-refs.new")
	before := time.Now().Add(-time.Minute)
	if err := errors.Join(os.WriteFile(left, []byte("# pack"), 0o600), os.Chtimes(left, before, before)); err != nil {
		t.Fatal(err)
	}
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/topic", Old: old}}); err != nil {
		t.Errorf("what a crash left is in the way: %v", err)
	}
}

// Objects that a crash kept from coming in go once no process can be at work on them; what is
// being written, and what is whole, stays.
func TestRepo_Sweep(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	id := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
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
	if freed := gittest.Must[int64](t)(r.Sweep(ctx, now)); freed != 16 {
		t.Errorf("freed %d bytes", freed)
	}
	left := gittest.Must[[]string](t)(filepath.Glob(filepath.Join(objects, "tmp_*")))
	more := gittest.Must[[]string](t)(filepath.Glob(filepath.Join(objects, "pack", "*")))
	var names []string
	for _, name := range append(left, more...) {
		names = append(names, filepath.Base(name))
	}
	if want := []string{"tmp_objdir-incoming-busy", "tmp_objdir-incoming-young", "pack-1.keep"}; !slices.Equal(names, want) {
		t.Errorf("left %q, want %q", names, want)
	}
	// A day later they go as well, although this server was there before them.
	if freed := gittest.Must[int64](t)(r.Sweep(ctx, now.Add(25*time.Hour))); freed != 8 {
		t.Errorf("freed %d bytes", freed)
	}
	if _, err := r.Commit(ctx, id); err != nil {
		t.Errorf("the commit is gone: %v", err)
	}
}

// What is wrong with references is told, also when the server has read them before.
func TestRepo_Inspect_damage(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, tt := range map[string]struct {
		path, content string // "" takes the file away
		want          string
	}{
		"nothing":          {"description", "x", ""},
		"an empty file":    {"refs/heads/empty", "", "refs/heads/empty holds no object id"},
		"no id":            {"refs/heads/junk", "junk\n", "refs/heads/junk holds no object id"},
		"half an id":       {"refs/tags/half", strings.Repeat("1", 20) + "\n", "refs/tags/half holds no object id"},
		"a tag of nothing": {"refs/tags/ghost", strings.Repeat("1", 40) + "\n", "refs/tags/ghost names " + strings.Repeat("1", 40) + ", which is not there"},
		"a lost reference": {"refs/heads/link", "ref: refs/heads/none\n", "refs/heads/link names refs/heads/none, which is not there"},
		"no name":          {"refs/heads/a~b", "x", `the file "refs/heads/a~b" is no reference`},
		"a lost commit":    {"-", "", "which is not there"},
		"a broken config":  {"config", "[core\njunk", "git cannot read the repository"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.NewRepo(t, gittest.New(t))
			tip := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
			gittest.Point(t, r, "refs/heads/main", tip)
			if _, err := r.Info(ctx, tip); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(r.Path(), filepath.FromSlash(tt.path))
			err := os.WriteFile(file, []byte(tt.content), 0o600)
			if tt.path == "-" {
				err = errors.Join(os.Remove(file), os.Remove(filepath.Join(r.Path(), "objects", tip.String()[:2], tip.String()[2:])))
			} else if dir := filepath.Dir(file); err != nil {
				err = errors.Join(os.MkdirAll(dir, 0o750), os.WriteFile(file, []byte(tt.content), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			found, err := r.Inspect(ctx, time.Now())
			if err != nil || len(found) > 1 || !strings.Contains(strings.Join(found, "\n"), tt.want) || tt.want != "" && len(found) == 0 {
				t.Errorf("found %q, %v, want %q", found, err, tt.want)
			}
		})
	}
}
