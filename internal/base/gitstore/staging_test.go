package gitstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// folders counts the quarantines that are on disk.
func folders(t *testing.T, r *gitcmd.Repo) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(r.Path(), "objects", "tmp_*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestQuarantine_inMemory(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	base := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	gittest.Point(t, r, "refs/heads/main", base)

	q := gittest.Must[*gitcmd.Quarantine](t)(r.Quarantine(ctx))
	next := gittest.Commit(t, q.Repo, 1700000001, map[string]string{"f": "2", "dir/g": "3"}, base)
	if c := gittest.Must[*gitstore.Commit](t)(q.Repo.Commit(ctx, next)); len(c.Parents) != 1 {
		t.Errorf("read in quarantine: %+v", c)
	}
	if n := folders(t, r); n != 0 {
		t.Errorf("%d folders for a small commit, want none", n)
	}
	if _, err := r.Commit(ctx, next); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("visible before commit: %v", err)
	}
	if err := q.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if n := folders(t, r); n != 0 {
		t.Errorf("%d files or folders are left", n)
	}
	gittest.Point(t, r, "refs/heads/main", next)
	gittest.Fsck(t, r)
	info, err := os.Stat(filepath.Join(r.Path(), "objects", next.String()[:2], next.String()[2:]))
	if err != nil || info.Mode().Perm() != 0o440 {
		t.Errorf("object: %v, %v, want one that nobody may write", info, err)
	}

	q = gittest.Must[*gitcmd.Quarantine](t)(r.Quarantine(ctx))
	seen := gittest.Must[gitstore.ObjectID](t)(q.WriteBlob(ctx, []byte("seen by git")))
	if b := gittest.Must[[]byte](t)(q.Blob(ctx, seen, 20)); string(b) != "seen by git" {
		t.Errorf("from memory: %q", b)
	}
	large := gittest.Must[gitstore.ObjectID](t)(q.WriteBlob(ctx, []byte(strings.Repeat("0123456789abcdef", 1<<17))))
	after := gittest.Must[gitstore.ObjectID](t)(q.WriteBlob(ctx, []byte("written after")))
	if n := folders(t, r); n != 1 {
		t.Errorf("%d folders for a large file, want one", n)
	}
	for id, size := range map[gitstore.ObjectID]int64{seen: 11, large: 2 << 20, after: 13} {
		if info := gittest.Must[gitstore.Info](t)(q.Info(ctx, id)); info.Size != size {
			t.Errorf("%s has %d bytes, want %d", id, info.Size, size)
		}
	}
	if err := q.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range []gitstore.ObjectID{seen, large, after} {
		if _, err := r.Info(ctx, id); err != nil {
			t.Error(err)
		}
	}
	if n := folders(t, r); n != 0 {
		t.Errorf("%d folders are left", n)
	}

	q = gittest.Must[*gitcmd.Quarantine](t)(r.Quarantine(ctx))
	gone := gittest.Must[gitstore.ObjectID](t)(q.WriteBlob(ctx, []byte("gone")))
	if err := q.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Info(ctx, gone); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("after discard: %v", err)
	}
	gittest.Fsck(t, r)
}
