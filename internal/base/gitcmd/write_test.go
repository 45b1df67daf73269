package gitcmd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/gitcmd"
)

func TestRepo_BuildTree(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := newGit(t)
	r := newRepo(t, g)
	blob := must[gitcmd.ObjectID](t)(r.WriteBlob(ctx, []byte("hello\n")))
	put := func(p string) gitcmd.TreeChange { return gitcmd.TreeChange{Path: p, Mode: gitcmd.ModeFile, ID: blob} }
	base := must[gitcmd.ObjectID](t)(r.BuildTree(ctx, gitcmd.ObjectID{}, []gitcmd.TreeChange{
		put("a"), put("a.b"), put("a-b"), put("dir/x"), put("dir/sub/y"), put("dir.x"), put("bytes-\xff\n\t\""),
		{Path: "link", Mode: gitcmd.ModeSymlink, ID: blob},
		{Path: "run", Mode: gitcmd.ModeExecutable, ID: blob},
	}))
	tests := []struct {
		name    string
		changes []gitcmd.TreeChange
		want    string // paths after the change
		err     error
	}{
		{name: "nothing", want: "a a-b a.b bytes dir.x dir/sub/y dir/x link run"},
		{name: "delete file", changes: []gitcmd.TreeChange{{Path: "a"}}, want: "a-b a.b bytes dir.x dir/sub/y dir/x link run"},
		{name: "delete last of folder", changes: []gitcmd.TreeChange{{Path: "dir/sub/y"}, {Path: "dir/x"}}, want: "a a-b a.b bytes dir.x link run"},
		{name: "delete folder", changes: []gitcmd.TreeChange{{Path: "dir"}}, want: "a a-b a.b bytes dir.x link run"},
		{name: "file for folder", changes: []gitcmd.TreeChange{put("dir"), {Path: "dir/x"}, {Path: "dir/sub/y"}}, want: "a a-b a.b bytes dir dir.x link run"},
		{name: "folder for file", changes: []gitcmd.TreeChange{put("a/b/c"), {Path: "a"}}, want: "a-b a.b a/b/c bytes dir.x dir/sub/y dir/x link run"},
		{name: "file over folder", changes: []gitcmd.TreeChange{put("dir")}, err: gitcmd.ErrPathConflict},
		{name: "file over opened folder", changes: []gitcmd.TreeChange{put("dir/z"), put("dir")}, err: gitcmd.ErrPathConflict},
		{name: "through a file", changes: []gitcmd.TreeChange{put("a/b")}, err: gitcmd.ErrPathConflict},
		{name: "delete nothing", changes: []gitcmd.TreeChange{{Path: "nope"}}, err: gitcmd.ErrNotFound},
		{name: "delete through file", changes: []gitcmd.TreeChange{{Path: "a/b"}}, err: gitcmd.ErrNotFound},
		{name: "dot git", changes: []gitcmd.TreeChange{put("dir/.GIT/config")}, err: gitcmd.ErrBadName},
		{name: "climbing", changes: []gitcmd.TreeChange{put("../x")}, err: gitcmd.ErrBadName},
		{name: "delete all", changes: []gitcmd.TreeChange{{Path: "a"}, {Path: "a-b"}, {Path: "a.b"}, {Path: "bytes-\xff\n\t\""}, {Path: "dir"}, {Path: "dir.x"}, {Path: "link"}, {Path: "run"}}},
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
			out := runGit(t, r.Path(), "ls-tree", "-r", "--name-only", "-z", tree.String())
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
	fsck(t, r)
}

func TestRepo_CommitTree(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRepo(t, newGit(t))
	in := gitcmd.CommitInput{Tree: gitcmd.EmptyTree(), Message: "Título\n\nbody", Author: who("  Ann <x>\nLee, ", 1700000000), Committer: who("Bob", 1700000100)}
	if _, err := r.BuildTree(ctx, gitcmd.ObjectID{}, nil); err != nil {
		t.Fatal(err)
	}
	one := must[gitcmd.ObjectID](t)(r.CommitTree(ctx, in))
	in.Parents = []gitcmd.ObjectID{one}
	in.Message = ""
	two := must[gitcmd.ObjectID](t)(r.CommitTree(ctx, in))
	point(t, r, "refs/heads/main", two)
	got := runGit(t, r.Path(), "log", "--format=%an|%ae|%ad|%cn|%cd|%B", "--date=iso", two.String())
	want := "Ann xLee|  Ann x\nLee"
	if !strings.HasPrefix(got, "Ann xLee|") || !strings.Contains(got, "2023-11-15 03:43:20 +0530") || !strings.Contains(got, "Título\n\nbody") {
		t.Errorf("got %q, want something like %q", got, want)
	}
	c := must[*gitcmd.Commit](t)(r.Commit(ctx, one))
	if c.Author.Name != "Ann xLee" || !c.Author.When.Equal(in.Author.When) || c.Message != "Título\n\nbody" || c.Title() != "Título" {
		t.Errorf("read back %+v", c)
	}
	if _, off := c.Author.When.Zone(); off != 19800 {
		t.Errorf("offset %d, want 19800", off)
	}
	in.Message = "a\x00b"
	if _, err := r.CommitTree(ctx, in); !errors.Is(err, gitcmd.ErrBadName) {
		t.Errorf("NUL in message: got %v", err)
	}
	fsck(t, r)
}

func TestRepo_CreateTag(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRepo(t, newGit(t))
	c := commit(t, r, 1700000000, map[string]string{"f": "x"})
	point(t, r, "refs/heads/main", c)
	id := must[gitcmd.ObjectID](t)(r.CreateTag(ctx, gitcmd.TagInput{Name: "v1", Target: c, Tagger: who("Ann", 1700000001), Message: "release"}))
	point(t, r, "refs/tags/v1", id)
	tag := must[*gitcmd.Tag](t)(r.Tag(ctx, id))
	if tag.Target != c || tag.Name != "v1" || tag.Message != "release\n" || tag.Kind != gitcmd.KindCommit {
		t.Errorf("got %+v", tag)
	}
	rev := must[gitcmd.Revision](t)(r.Resolve(ctx, "v1"))
	if rev.Commit != c || rev.ID != id {
		t.Errorf("resolve: got %+v", rev)
	}
	if _, err := r.CreateTag(ctx, gitcmd.TagInput{Name: "--x", Target: c}); !errors.Is(err, gitcmd.ErrBadName) {
		t.Errorf("bad name: got %v", err)
	}
	fsck(t, r)
}

func TestRepo_UpdateRefs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRepo(t, newGit(t))
	a := commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	var zero gitcmd.ObjectID
	missing := must[gitcmd.ObjectID](t)(gitcmd.ParseObjectID("deadbeefdeadbeefdeadbeefdeadbeefdeadbeef"))
	tests := []struct {
		name    string
		updates []gitcmd.RefUpdate
		want    error
	}{
		{"create two", []gitcmd.RefUpdate{{Ref: "refs/heads/main", New: a}, {Ref: "refs/heads/x", New: a}}, nil},
		{"create again", []gitcmd.RefUpdate{{Ref: "refs/heads/main", New: b}}, gitcmd.ErrRefMoved},
		{"move", []gitcmd.RefUpdate{{Ref: "refs/heads/main", Old: a, New: b}}, nil},
		{"move from old", []gitcmd.RefUpdate{{Ref: "refs/heads/main", Old: a, New: b}}, gitcmd.ErrRefMoved},
		{"one stale stops all", []gitcmd.RefUpdate{{Ref: "refs/heads/new", New: b}, {Ref: "refs/heads/x", Old: b, New: a}}, gitcmd.ErrRefMoved},
		{"folder conflict", []gitcmd.RefUpdate{{Ref: "refs/heads/main/sub", New: b}}, gitcmd.ErrRefConflict},
		{"folder conflict in one", []gitcmd.RefUpdate{{Ref: "refs/heads/q/r", New: b}, {Ref: "refs/heads/q", New: b}}, gitcmd.ErrRefConflict},
		{"missing ref", []gitcmd.RefUpdate{{Ref: "refs/heads/none", Old: a, New: b}}, gitcmd.ErrRefMoved},
		{"missing object", []gitcmd.RefUpdate{{Ref: "refs/heads/y", New: missing}}, gitcmd.ErrNotFound},
		{"bad name", []gitcmd.RefUpdate{{Ref: "refs/heads/a\ndelete refs/heads/main", New: b}}, gitcmd.ErrBadName},
		{"option", []gitcmd.RefUpdate{{Ref: "--stdin", New: b}}, gitcmd.ErrBadName},
		{"delete stale", []gitcmd.RefUpdate{{Ref: "refs/heads/x", Old: b}}, gitcmd.ErrRefMoved},
		{"delete", []gitcmd.RefUpdate{{Ref: "refs/heads/x", Old: a, New: zero}}, nil},
	}
	for _, tt := range tests {
		if err := r.UpdateRefs(ctx, tt.updates); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	refs := must[[]gitcmd.Ref](t)(r.Refs(ctx, gitcmd.Branches))
	if len(refs) != 1 || refs[0].Name != "refs/heads/main" || refs[0].ID != b {
		t.Errorf("left: %+v", refs)
	}
}

func TestRepo_UpdateRefs_concurrently(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRepo(t, newGit(t))
	at := commit(t, r, 1700000000, map[string]string{"f": "0"})
	point(t, r, "refs/heads/main", at)
	var won sync.Map
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			next := commit(t, r, 1700000001, map[string]string{"f": fmt.Sprint(i)}, at)
			err := r.UpdateRefs(ctx, []gitcmd.RefUpdate{{Ref: "refs/heads/main", Old: at, New: next}})
			if err == nil {
				won.Store(i, next)
			} else if !errors.Is(err, gitcmd.ErrRefMoved) {
				t.Errorf("push %d: %v", i, err)
			}
		})
	}
	group.Wait()
	n := 0
	won.Range(func(_, next any) bool {
		n++
		if got := must[gitcmd.ObjectID](t)(r.Ref(ctx, "refs/heads/main")); got != next {
			t.Errorf("main is at %s, the winner says %s", got, next)
		}
		return true
	})
	if n != 1 {
		t.Errorf("%d pushes won, want 1", n)
	}
	fsck(t, r)
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRepo(t, newGit(t))
	base := commit(t, r, 1700000000, map[string]string{"f": "1", "g": "1\n2\n3\n"})
	point(t, r, "refs/heads/main", base)

	q := must[*gitcmd.Quarantine](t)(r.Quarantine(ctx))
	in := commit(t, q.Repo, 1700000001, map[string]string{"dir/new": "2"}, base)
	other := commit(t, q.Repo, 1700000002, map[string]string{"f": "3"}, base)
	res := must[gitcmd.MergeResult](t)(q.MergeTree(ctx, in, other))
	if !res.Clean {
		t.Errorf("merge in quarantine: %+v", res)
	}
	if c := must[*gitcmd.Commit](t)(q.Repo.Commit(ctx, in)); len(c.Parents) != 1 {
		t.Errorf("read in quarantine: %+v", c)
	}
	e := must[gitcmd.TreeEntry](t)(q.Entry(ctx, res.Tree, "dir/new"))
	if b := must[[]byte](t)(q.Blob(ctx, e.ID, 10)); string(b) != "2" {
		t.Errorf("blob in quarantine: %q", b)
	}
	if log := must[[]gitcmd.ObjectID](t)(q.Log(ctx, gitcmd.LogOptions{From: []gitcmd.ObjectID{in}, Not: []gitcmd.ObjectID{base}})); len(log) != 1 {
		t.Errorf("log in quarantine: %v", log)
	}
	for _, id := range []gitcmd.ObjectID{in, other, res.Tree, e.ID} {
		if _, err := r.Info(ctx, id); !errors.Is(err, gitcmd.ErrNotFound) {
			t.Errorf("%s is visible before commit: %v", id, err)
		}
	}
	if err := r.UpdateRefs(ctx, []gitcmd.RefUpdate{{Ref: "refs/heads/main", Old: base, New: in}}); !errors.Is(err, gitcmd.ErrNotFound) {
		t.Errorf("reference to a quarantined commit: got %v", err)
	}
	if err := q.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := q.Discard(); err != nil {
		t.Error(err)
	}
	point(t, r, "refs/heads/main", in)
	if _, err := r.Commit(ctx, in); err != nil {
		t.Errorf("after commit: %v", err)
	}
	fsck(t, r)

	q = must[*gitcmd.Quarantine](t)(r.Quarantine(ctx))
	gone := commit(t, q.Repo, 1700000003, map[string]string{"h": "gone"}, in)
	if err := q.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(ctx, gone); !errors.Is(err, gitcmd.ErrNotFound) {
		t.Errorf("after discard: %v", err)
	}
}

func TestRepo_WriteBlobFrom(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepo(t, newGit(t))
	text := strings.Repeat("0123456789abcdef", 200_000)
	id := must[gitcmd.ObjectID](t)(r.WriteBlobFrom(ctx, strings.NewReader(text), int64(len(text))))
	if got := strings.TrimSpace(runGitIn(t, r.Path(), text, "hash-object", "--stdin")); got != id.String() {
		t.Errorf("got %s, git says %s", id, got)
	}
	for _, size := range []int64{int64(len(text)) - 1, int64(len(text)) + 1} {
		if _, err := r.WriteBlobFrom(ctx, strings.NewReader(text), size); err == nil {
			t.Errorf("size %d is accepted", size)
		}
	}
	fsck(t, r)
}
