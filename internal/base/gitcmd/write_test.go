package gitcmd_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

func TestRepo_BuildTree(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	blob := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(ctx, []byte("hello\n")))
	put := func(p string) gitstore.TreeChange {
		return gitstore.TreeChange{Path: p, Mode: gitstore.ModeFile, ID: blob}
	}
	base := gittest.Must[gitstore.ObjectID](t)(r.BuildTree(ctx, gitstore.ObjectID{}, []gitstore.TreeChange{
		put("a"), put("a.b"), put("a-b"), put("dir/x"), put("dir/sub/y"), put("dir.x"), put("bytes-\xff\n\t\""),
		{Path: "link", Mode: gitstore.ModeSymlink, ID: blob},
		{Path: "run", Mode: gitstore.ModeExecutable, ID: blob},
	}))
	tests := []struct {
		name    string
		changes []gitstore.TreeChange
		want    string // paths after the change
		err     error
	}{
		{name: "nothing", want: "a a-b a.b bytes dir.x dir/sub/y dir/x link run"},
		{name: "delete file", changes: []gitstore.TreeChange{{Path: "a"}}, want: "a-b a.b bytes dir.x dir/sub/y dir/x link run"},
		{name: "delete last of folder", changes: []gitstore.TreeChange{{Path: "dir/sub/y"}, {Path: "dir/x"}}, want: "a a-b a.b bytes dir.x link run"},
		{name: "delete folder", changes: []gitstore.TreeChange{{Path: "dir"}}, want: "a a-b a.b bytes dir.x link run"},
		{name: "file for folder", changes: []gitstore.TreeChange{put("dir"), {Path: "dir/x"}, {Path: "dir/sub/y"}}, want: "a a-b a.b bytes dir dir.x link run"},
		{name: "folder for file", changes: []gitstore.TreeChange{put("a/b/c"), {Path: "a"}}, want: "a-b a.b a/b/c bytes dir.x dir/sub/y dir/x link run"},
		{name: "file over folder", changes: []gitstore.TreeChange{put("dir")}, err: gitstore.ErrPathConflict},
		{name: "file over opened folder", changes: []gitstore.TreeChange{put("dir/z"), put("dir")}, err: gitstore.ErrPathConflict},
		{name: "through a file", changes: []gitstore.TreeChange{put("a/b")}, err: gitstore.ErrPathConflict},
		{name: "delete nothing", changes: []gitstore.TreeChange{{Path: "nope"}}, err: gitstore.ErrNotFound},
		{name: "delete through file", changes: []gitstore.TreeChange{{Path: "a/b"}}, err: gitstore.ErrNotFound},
		{name: "dot git", changes: []gitstore.TreeChange{put("dir/.GIT/config")}, err: gitstore.ErrBadName},
		{name: "climbing", changes: []gitstore.TreeChange{put("../x")}, err: gitstore.ErrBadName},
		{name: "delete all", changes: []gitstore.TreeChange{{Path: "a"}, {Path: "a-b"}, {Path: "a.b"}, {Path: "bytes-\xff\n\t\""}, {Path: "dir"}, {Path: "dir.x"}, {Path: "link"}, {Path: "run"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := r.BuildTree(ctx, base, tt.changes)
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			out := gittest.Run(t, r.Path(), "ls-tree", "-r", "--name-only", "-z", tree.String())
			out = strings.ReplaceAll(out, "bytes-\xff\n\t\"", "bytes")
			got := strings.Join(strings.FieldsFunc(out, func(c rune) bool { return c == 0 }), " ")
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if n := g.Started(); n > 3 { // version, one cat-file, fsck below not yet
		t.Errorf("writing started %d processes", n)
	}
	gittest.Fsck(t, r)
}

func TestRepo_CommitTree(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	in := gitstore.CommitInput{Tree: gitstore.EmptyTree(), Message: "Título\n\nbody", Author: gittest.Signature("  Ann <x>\nLee, ", 1700000000), Committer: gittest.Signature("Bob", 1700000100)}
	if _, err := r.BuildTree(ctx, gitstore.ObjectID{}, nil); err != nil {
		t.Fatal(err)
	}
	one := gittest.Must[gitstore.ObjectID](t)(r.CommitTree(ctx, in))
	in.Parents = []gitstore.ObjectID{one}
	in.Message = ""
	two := gittest.Must[gitstore.ObjectID](t)(r.CommitTree(ctx, in))
	gittest.Point(t, r, "refs/heads/main", two)
	got := gittest.Run(t, r.Path(), "log", "--format=%an|%ae|%ad|%cn|%cd|%B", "--date=iso", two.String())
	want := "Ann xLee|  Ann x\nLee"
	if !strings.HasPrefix(got, "Ann xLee|") || !strings.Contains(got, "2023-11-15 03:43:20 +0530") || !strings.Contains(got, "Título\n\nbody") {
		t.Errorf("got %q, want something like %q", got, want)
	}
	c := gittest.Must[*gitstore.Commit](t)(r.Commit(ctx, one))
	if c.Author.Name != "Ann xLee" || !c.Author.When.Equal(in.Author.When) || c.Message != "Título\n\nbody" || c.Title() != "Título" {
		t.Errorf("read back %+v", c)
	}
	if _, off := c.Author.When.Zone(); off != 19800 {
		t.Errorf("offset %d, want 19800", off)
	}
	in.Message = "a\x00b"
	if _, err := r.CommitTree(ctx, in); !errors.Is(err, gitstore.ErrBadName) {
		t.Errorf("NUL in message: got %v", err)
	}
	gittest.Fsck(t, r)
}

func TestRepo_CreateTag(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	c := gittest.Commit(t, r, 1700000000, map[string]string{"f": "x"})
	gittest.Point(t, r, "refs/heads/main", c)
	id := gittest.Must[gitstore.ObjectID](t)(r.CreateTag(ctx, gitstore.TagInput{Name: "v1", Target: c, Tagger: gittest.Signature("Ann", 1700000001), Message: "release"}))
	gittest.Point(t, r, "refs/tags/v1", id)
	tag := gittest.Must[*gitstore.Tag](t)(r.Tag(ctx, id))
	if tag.Target != c || tag.Name != "v1" || tag.Message != "release\n" || tag.Kind != gitstore.KindCommit {
		t.Errorf("got %+v", tag)
	}
	rev := gittest.Must[gitcmd.Revision](t)(r.Resolve(ctx, "v1"))
	if rev.Commit != c || rev.ID != id {
		t.Errorf("resolve: got %+v", rev)
	}
	if _, err := r.CreateTag(ctx, gitstore.TagInput{Name: "--x", Target: c}); !errors.Is(err, gitstore.ErrBadName) {
		t.Errorf("bad name: got %v", err)
	}
	gittest.Fsck(t, r)
}

func TestRepo_UpdateRefs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	var zero gitstore.ObjectID
	missing := gittest.Must[gitstore.ObjectID](t)(gitstore.ParseObjectID("deadbeefdeadbeefdeadbeefdeadbeefdeadbeef"))
	tests := []struct {
		name    string
		updates []gitstore.RefUpdate
		want    error
	}{
		{"create two", []gitstore.RefUpdate{{Ref: "refs/heads/main", New: a}, {Ref: "refs/heads/x", New: a}}, nil},
		{"create again", []gitstore.RefUpdate{{Ref: "refs/heads/main", New: b}}, gitstore.ErrRefMoved},
		{"move", []gitstore.RefUpdate{{Ref: "refs/heads/main", Old: a, New: b}}, nil},
		{"move from old", []gitstore.RefUpdate{{Ref: "refs/heads/main", Old: a, New: b}}, gitstore.ErrRefMoved},
		{"one stale stops all", []gitstore.RefUpdate{{Ref: "refs/heads/new", New: b}, {Ref: "refs/heads/x", Old: b, New: a}}, gitstore.ErrRefMoved},
		{"folder conflict", []gitstore.RefUpdate{{Ref: "refs/heads/main/sub", New: b}}, gitstore.ErrRefConflict},
		{"folder conflict in one", []gitstore.RefUpdate{{Ref: "refs/heads/q/r", New: b}, {Ref: "refs/heads/q", New: b}}, gitstore.ErrRefConflict},
		{"missing ref", []gitstore.RefUpdate{{Ref: "refs/heads/none", Old: a, New: b}}, gitstore.ErrRefMoved},
		{"missing object", []gitstore.RefUpdate{{Ref: "refs/heads/y", New: missing}}, gitstore.ErrNotFound},
		{"bad name", []gitstore.RefUpdate{{Ref: "refs/heads/a\ndelete refs/heads/main", New: b}}, gitstore.ErrBadName},
		{"option", []gitstore.RefUpdate{{Ref: "--stdin", New: b}}, gitstore.ErrBadName},
		{"delete stale", []gitstore.RefUpdate{{Ref: "refs/heads/x", Old: b}}, gitstore.ErrRefMoved},
		{"delete", []gitstore.RefUpdate{{Ref: "refs/heads/x", Old: a, New: zero}}, nil},
	}
	for _, tt := range tests {
		if err := r.UpdateRefs(ctx, tt.updates); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	refs := gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, gitstore.Branches))
	if len(refs) != 1 || refs[0].Name != "refs/heads/main" || refs[0].ID != b {
		t.Errorf("left: %+v", refs)
	}
}

func TestRepo_UpdateRefs_concurrently(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	at := gittest.Commit(t, r, 1700000000, map[string]string{"f": "0"})
	gittest.Point(t, r, "refs/heads/main", at)
	var won sync.Map
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			next := gittest.Commit(t, r, 1700000001, map[string]string{"f": fmt.Sprint(i)}, at)
			err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/main", Old: at, New: next}})
			if err == nil {
				won.Store(i, next)
			} else if !errors.Is(err, gitstore.ErrRefMoved) {
				t.Errorf("push %d: %v", i, err)
			}
		})
	}
	group.Wait()
	n := 0
	won.Range(func(_, next any) bool {
		n++
		if got := gittest.Must[gitstore.ObjectID](t)(r.Ref(ctx, "refs/heads/main")); got != next {
			t.Errorf("main is at %s, the winner says %s", got, next)
		}
		return true
	})
	if n != 1 {
		t.Errorf("%d pushes won, want 1", n)
	}
	gittest.Fsck(t, r)
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	base := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1", "g": "1\n2\n3\n"})
	gittest.Point(t, r, "refs/heads/main", base)

	q := gittest.Must[*gitcmd.Quarantine](t)(r.Quarantine(ctx))
	in := gittest.Commit(t, q.Repo, 1700000001, map[string]string{"dir/new": "2"}, base)
	other := gittest.Commit(t, q.Repo, 1700000002, map[string]string{"f": "3"}, base)
	res := gittest.Must[gitcmd.MergeResult](t)(q.MergeTree(ctx, in, other))
	if !res.Clean {
		t.Errorf("merge in quarantine: %+v", res)
	}
	if c := gittest.Must[*gitstore.Commit](t)(q.Repo.Commit(ctx, in)); len(c.Parents) != 1 {
		t.Errorf("read in quarantine: %+v", c)
	}
	e := gittest.Must[gitstore.TreeEntry](t)(q.Entry(ctx, res.Tree, "dir/new"))
	if b := gittest.Must[[]byte](t)(q.Blob(ctx, e.ID, 10)); string(b) != "2" {
		t.Errorf("blob in quarantine: %q", b)
	}
	if log := gittest.Must[[]gitstore.ObjectID](t)(q.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{in}, Not: []gitstore.ObjectID{base}})); len(log) != 1 {
		t.Errorf("log in quarantine: %v", log)
	}
	for _, id := range []gitstore.ObjectID{in, other, res.Tree, e.ID} {
		if _, err := r.Info(ctx, id); !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("%s is visible before commit: %v", id, err)
		}
	}
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/main", Old: base, New: in}}); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("reference to a quarantined commit: got %v", err)
	}
	if err := q.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := q.Discard(); err != nil {
		t.Error(err)
	}
	gittest.Point(t, r, "refs/heads/main", in)
	if _, err := r.Commit(ctx, in); err != nil {
		t.Errorf("after commit: %v", err)
	}
	gittest.Fsck(t, r)

	q = gittest.Must[*gitcmd.Quarantine](t)(r.Quarantine(ctx))
	gone := gittest.Commit(t, q.Repo, 1700000003, map[string]string{"h": "gone"}, in)
	if err := q.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(ctx, gone); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("after discard: %v", err)
	}
}
