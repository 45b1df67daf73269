package gitcmd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// Of many who make one repository at a time, one does, and the others hear that it is there.
func TestRepo_Init_atOnce(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	for round := range 20 {
		r := g.Repo(fmt.Sprint(round, ".git"))
		var made atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				err := r.Init(t.Context(), "main")
				if err == nil {
					made.Add(1)
				} else if !errors.Is(err, gitstore.ErrExists) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := made.Load(); n != 1 {
			t.Errorf("made %d times", n)
		}
	}
}

func TestRepo_Init(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	if err := r.Init(ctx, "main"); !errors.Is(err, gitstore.ErrExists) {
		t.Errorf("second init: %v", err)
	}
	if head := gittest.Must[gitstore.RefName](t)(r.Head(ctx)); head != "refs/heads/main" {
		t.Errorf("head: %q", head)
	}
	for _, name := range []string{"HEAD", "main", "refs/heads/main", "deadbeef", strings.Repeat("a", 40), "", "-x", ":/text", "HEAD^", "main@{0}", "a\nb"} {
		if _, err := r.Resolve(ctx, name); !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("resolve %q in empty repository: %v", name, err)
		}
	}
	if refs := gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, "refs/")); len(refs) != 0 {
		t.Errorf("refs: %v", refs)
	}
	gittest.Fsck(t, r)
	if out := gittest.Run(t, t.TempDir(), "clone", "-q", r.Path(), "x"); out != "" {
		t.Errorf("clone said %q", out)
	}
	outside := g.Repo("../../../etc")
	if !strings.HasPrefix(outside.Path(), filepath.Dir(filepath.Dir(filepath.Dir(r.Path())))) {
		t.Errorf("a path escaped: %s", outside.Path())
	}
	if err := r.Remove(ctx); err != nil || r.Exists() {
		t.Errorf("remove: %v, exists %t", err, r.Exists())
	}
	if err := r.Remove(ctx); err != nil {
		t.Errorf("second remove: %v", err)
	}
}

func TestRepo_reads_warm(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	a := gittest.Commit(t, r, 1700000000, map[string]string{"README.md": "hello", "dir/x": "x", "dir/sub/y": "y"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"README.md": "hello 2"}, a)
	gittest.Point(t, r, "refs/heads/main", b)
	read := func() {
		rev := gittest.Must[gitcmd.Revision](t)(r.Resolve(ctx, "main"))
		gittest.Must[*gitstore.Commit](t)(r.Commit(ctx, rev.Commit))
		e := gittest.Must[gitstore.TreeEntry](t)(r.Entry(ctx, rev.Commit, "README.md"))
		gittest.Must[[]byte](t)(r.Blob(ctx, e.ID, 1<<20))
		gittest.Must[[]gitcmd.PathEntry](t)(r.List(ctx, rev.Commit, "dir"))
		gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, gitstore.Branches))
		gittest.Must[[]gitstore.ObjectID](t)(r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{b}, Limit: 20}))
		gittest.Must[[]gitstore.ObjectID](t)(r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{b}, Path: "dir"}))
		gittest.Must[gitstore.ObjectID](t)(r.MergeBase(ctx, a, b))
		gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, a, b, gitcmd.DiffOptions{}))
		gittest.Must[bool](t)(r.IsAncestor(ctx, a, b))
	}
	read()
	if n := gittest.Started(g, read); n != 0 {
		t.Errorf("warm reads started %d processes", n)
	}
	g.Trim()
	if g.Running() != 0 {
		t.Errorf("%d processes after Trim", g.Running())
	}
	read()
	c := gittest.Commit(t, r, 1700000002, map[string]string{"README.md": "3"}, b)
	gittest.Point(t, r, "refs/heads/main", c)
	n := gittest.Started(g, func() {
		rev := gittest.Must[gitcmd.Revision](t)(r.Resolve(ctx, "main"))
		if rev.Commit != c {
			t.Errorf("main: got %s, want %s", rev.Commit, c)
		}
		gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, b, c, gitcmd.DiffOptions{}))
		gittest.Must[*gitstore.Tree](t)(r.Tree(ctx, c))
	})
	if n != 0 {
		t.Errorf("reads of a new commit through open processes started %d", n)
	}
}

func TestRepo_Entry(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	odd := []string{"a b", "-dash", "tab\there", "new\nline", "\xff\xfe", "ü", "quote\"", "back\\slash", "dir/-x", "info deadbeef", "*", ":(glob)x", "=end"}
	files := map[string]string{}
	for _, n := range odd {
		files[n] = "content of " + n
	}
	c := gittest.Commit(t, r, 1700000000, files)
	gittest.Point(t, r, "refs/heads/main", c)
	for _, n := range odd {
		e := gittest.Must[gitstore.TreeEntry](t)(r.Entry(ctx, c, n))
		if got := gittest.Must[[]byte](t)(r.Blob(ctx, e.ID, 100)); string(got) != files[n] {
			t.Errorf("%q: got %q", n, got)
		}
		ids := gittest.Must[[]gitstore.ObjectID](t)(r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{c}, Path: n}))
		if len(ids) != 1 {
			t.Errorf("log of %q: %d commits", n, len(ids))
		}
	}
	for _, n := range []string{"nope", "a b/c", "dir/-x/y", "..", "dir/../a b", "a b\x00"} {
		if _, err := r.Entry(ctx, c, n); !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("%q: got %v, want ErrNotFound", n, err)
		}
	}
	d := gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, gitstore.ObjectID{}, c, gitcmd.DiffOptions{}))
	if len(d.Files) != len(odd) {
		t.Errorf("diff has %d files, want %d", len(d.Files), len(odd))
	}
	for _, f := range d.Files {
		want := "@@ -0,0 +1"
		if files[f.NewPath] == "" || !strings.HasPrefix(string(f.Patch), want) || !f.New() || f.Additions != 1+strings.Count(f.NewPath, "\n") && f.Additions != 1 {
			t.Errorf("diff of %q: %+v", f.NewPath, f)
		}
	}
}

func TestRepo_Blob(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	big := bytes.Repeat([]byte("0123456789\x00abcde"), 300_000)
	id := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(ctx, big))
	small := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(ctx, []byte("missing\n")))
	empty := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(ctx, nil))
	if _, err := r.Blob(ctx, id, 1000); !errors.Is(err, gitstore.ErrTooLarge) {
		t.Errorf("limit: got %v", err)
	}
	if _, err := r.Commit(ctx, id); !errors.Is(err, gitstore.ErrWrongKind) {
		t.Errorf("kind: got %v", err)
	}
	if _, err := r.Tree(ctx, small); !errors.Is(err, gitstore.ErrWrongKind) {
		t.Errorf("kind: got %v", err)
	}
	if got := gittest.Must[[]byte](t)(r.Blob(ctx, small, 100)); string(got) != "missing\n" {
		t.Errorf("small: %q", got)
	}
	if got := gittest.Must[[]byte](t)(r.Blob(ctx, empty, 100)); len(got) != 0 {
		t.Errorf("empty: %q", got)
	}
	b := gittest.Must[*gitcmd.BlobReader](t)(r.OpenBlob(ctx, id))
	got := gittest.Must[[]byte](t)(io.ReadAll(b))
	if err := b.Close(); err != nil || !bytes.Equal(got, big) || b.Size != int64(len(big)) {
		t.Errorf("stream: %d bytes, %v", len(got), err)
	}
	b = gittest.Must[*gitcmd.BlobReader](t)(r.OpenBlob(ctx, id))
	if _, err := io.ReadFull(b, make([]byte, 10)); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("early close: %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	b = gittest.Must[*gitcmd.BlobReader](t)(r.OpenBlob(stopped, id))
	cancel()
	if _, err := io.Copy(io.Discard, b); err == nil {
		t.Log("the whole blob was in the pipe already")
	}
	_ = b.Close()
}

func TestRepo_cancelled(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	text := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 900_000+i) }
	var ids []gitstore.ObjectID
	for i := range 20 {
		ids = append(ids, gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(t.Context(), text(i))))
	}
	var group sync.WaitGroup
	for worker := range 6 {
		group.Go(func() {
			for i, id := range ids {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+worker)%3 == 0 {
					go cancel() // in mid-body, before it, or after it
				}
				got, err := r.Blob(ctx, id, 1<<20)
				if err == nil && !bytes.Equal(got, text(i)) {
					t.Errorf("blob %d: answer out of step", i)
				}
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("blob %d: %v", i, err)
				}
				cancel()
			}
		})
	}
	group.Wait()
}

func TestRepo_pool_full(t *testing.T) {
	t.Parallel()
	g := gittest.New(t, func(c *gitcmd.Config) { c.KeptOpen = 3 })
	var group sync.WaitGroup
	for i := range 12 {
		r := g.Repo(fmt.Sprintf("r%d.git", i))
		if err := r.Init(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for k := range 5 {
				id := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(t.Context(), []byte(fmt.Sprint(i, k))))
				if got, err := r.Blob(t.Context(), id, 100); err != nil || string(got) != fmt.Sprint(i, k) {
					t.Errorf("repository %d: %q, %v", i, got, err)
				}
			}
		})
	}
	group.Wait()
	if n := g.Running(); n > 3 {
		t.Errorf("%d processes kept open, want 3 at most", n)
	}
}

func TestRepo_killed_process(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	for i := range 3 {
		id := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(t.Context(), []byte(fmt.Sprint(i))))
		gittest.Must[[]byte](t)(r.Blob(t.Context(), id, 100))
		// The repository goes and comes back under the open process.
		if err := os.Rename(r.Path(), r.Path()+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(r.Path()+".away", r.Path()); err != nil {
			t.Fatal(err)
		}
		r.Recycle()
	}
}

func TestGit_Close(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	id := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(t.Context(), []byte("x")))
	gittest.Must[gitstore.Info](t)(r.Info(t.Context(), id))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	other := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(t.Context(), []byte("y")))
	if _, err := r.Info(t.Context(), other); !errors.Is(err, gitcmd.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

func TestGit_separate_repositories(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	a, b := gittest.NewRepo(t, g), g.Repo("other.git")
	if err := b.Init(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	id := gittest.Must[gitstore.ObjectID](t)(a.WriteBlob(t.Context(), []byte("secret")))
	gittest.Must[[]byte](t)(a.Blob(t.Context(), id, 100))
	if _, err := b.Blob(t.Context(), id, 100); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("knowing an id gave access to another repository: %v", err)
	}
}

// A replacement of a commit, as old repositories may have one, changes nothing that is
// read: neither by us nor by git.
func TestRepo_replaced(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	evil := gittest.Commit(t, r, 1700000002, map[string]string{"f": "evil", "g": "evil"})
	gittest.Point(t, r, "refs/heads/main", b)
	gittest.Run(t, r.Path(), "update-ref", "refs/replace/"+b.String(), evil.String())
	g.Trim()
	if c := gittest.Must[*gitstore.Commit](t)(r.Commit(ctx, b)); len(c.Parents) != 1 || c.Parents[0] != a {
		t.Errorf("parents %v, want %s", c.Parents, a)
	}
	if yes := gittest.Must[bool](t)(r.IsAncestor(ctx, a, b)); !yes {
		t.Error("the history is that of the replacement")
	}
	if n := gittest.Must[int](t)(r.Count(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{b}, Path: "f"})); n != 2 {
		t.Errorf("%d commits, want 2", n)
	}
	if d := gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, a, b, gitcmd.DiffOptions{})); len(d.Files) != 1 {
		t.Errorf("%d changed files, want 1", len(d.Files))
	}
	var out bytes.Buffer
	if err := r.Archive(ctx, gitcmd.ArchiveInput{Commit: b, Format: gitcmd.ArchiveTar}, &out); err != nil || bytes.Contains(out.Bytes(), []byte("evil")) {
		t.Errorf("archive: %v, or that of the replacement", err)
	}
}
