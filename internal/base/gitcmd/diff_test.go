package gitcmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

func TestRepo_Diff(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	long := strings.Repeat("some line of text\n", 30)
	write := func(files map[string]string, modes map[string]gitstore.Mode) gitstore.ObjectID {
		var changes []gitstore.TreeChange
		for path, content := range files {
			c := gitstore.TreeChange{Path: path, Mode: gitstore.ModeFile, ID: gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(ctx, []byte(content)))}
			if m, ok := modes[path]; ok {
				c.Mode = m
			}
			if c.Mode == gitstore.ModeSubmodule {
				c.ID = gittest.Must[gitstore.ObjectID](t)(gitstore.ParseObjectID(content))
			}
			changes = append(changes, c)
		}
		return gittest.Must[gitstore.ObjectID](t)(r.BuildTree(ctx, gitstore.ObjectID{}, changes))
	}
	sub := strings.Repeat("1", 40)
	a := write(map[string]string{
		"same": "x", "mod": "a\nb\nc\n", "gone": "1\n2\n", "old name": long, "exec": "e\n", "bin": "\x00\x01", "type": "target", "noeol": "x",
		"white": "a b\n", "sub": sub, "latin": "caf\xe9\n",
	}, map[string]gitstore.Mode{"type": gitstore.ModeSymlink, "sub": gitstore.ModeSubmodule})
	b := write(map[string]string{
		"same": "x", "mod": "a\nB\nc\n=end\n", "dir/new \xff name": long + "more\n", "exec": "e\n", "bin": "\x00\x02", "type": "now a file\n", "noeol": "y",
		"white": "a  b\n", "sub": strings.Repeat("2", 40), "latin": "caf\xe9s\n", "--- a": "+++ b\ndiff --git a/x b/x\n",
	}, map[string]gitstore.Mode{"exec": gitstore.ModeExecutable, "sub": gitstore.ModeSubmodule})

	d := gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, a, b, gitcmd.DiffOptions{}))
	files := map[string]*gitcmd.FileDiff{}
	for i := range d.Files {
		files[d.Files[i].NewPath+map[bool]string{true: "-"}[d.Files[i].Deleted() && d.Files[i].NewPath == "type"]] = &d.Files[i]
	}
	tests := []struct {
		path     string
		status   byte
		patch    string
		add, del int
	}{
		{"mod", 'M', "@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+=end\n", 2, 1},
		{"gone", 'D', "@@ -1,2 +0,0 @@\n-1\n-2\n", 0, 2},
		{"dir/new \xff name", 'R', "@@ -28,3 +28,4 @@ some line of text\n some line of text\n some line of text\n some line of text\n+more\n", 1, 0},
		{"exec", 'M', "", 0, 0},
		{"bin", 'M', "", 0, 0},
		{"type-", 'D', "@@ -1 +0,0 @@\n-target\n\\ No newline at end of file\n", 0, 1},
		{"type", 'A', "@@ -0,0 +1 @@\n+now a file\n", 1, 0},
		{"noeol", 'M', "@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n", 1, 1},
		{"white", 'M', "@@ -1 +1 @@\n-a b\n+a  b\n", 1, 1},
		{"sub", 'M', "@@ -1 +1 @@\n-Subproject commit " + sub + "\n+Subproject commit " + strings.Repeat("2", 40) + "\n", 1, 1},
		{"latin", 'M', "@@ -1 +1 @@\n-caf\xe9\n+caf\xe9s\n", 1, 1},
		{"--- a", 'A', "@@ -0,0 +1,2 @@\n++++ b\n+diff --git a/x b/x\n", 2, 0},
	}
	if len(d.Files) != len(tests) || d.Overflow {
		t.Errorf("%d files, overflow %t", len(d.Files), d.Overflow)
	}
	for _, tt := range tests {
		f := files[tt.path]
		if f == nil {
			t.Errorf("%q is missing", tt.path)
			continue
		}
		if f.Status != tt.status || string(f.Patch) != tt.patch || f.Additions != tt.add || f.Deletions != tt.del || f.Binary != (tt.path == "bin") {
			t.Errorf("%q: got %c +%d -%d binary %t\n%s", tt.path, f.Status, f.Additions, f.Deletions, f.Binary, f.Patch)
		}
	}
	if f := files["dir/new \xff name"]; f != nil && (f.OldPath != "old name" || f.Score < 90 || !f.Renamed()) {
		t.Errorf("rename: %+v", f)
	}
	if f := files["exec"]; f != nil && (f.OldMode != gitstore.ModeFile || f.NewMode != gitstore.ModeExecutable) {
		t.Errorf("mode: %+v", f)
	}
	if n := gittest.Started(g, func() { gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, a, b, gitcmd.DiffOptions{})) }); n != 0 {
		t.Errorf("warm diff started %d processes", n)
	}
	if n := gittest.Started(g, func() { gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, b, a, gitcmd.DiffOptions{})) }); n != 0 {
		t.Errorf("another diff through the open process started %d", n)
	}
	d = gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, a, b, gitcmd.DiffOptions{IgnoreWhitespace: true, NoRenames: true}))
	for _, f := range d.Files {
		if f.Renamed() || f.NewPath == "white" && len(f.Patch) > 0 || f.NewPath == "mod" && f.Additions != 2 {
			t.Errorf("without white space and renames: %+v", f)
		}
	}
	d = gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, a, b, gitcmd.DiffOptions{NoPatch: true}))
	if len(d.Files) != len(tests) || len(d.Files[0].Patch) > 0 {
		t.Errorf("names only: %+v", d.Files)
	}
	var raw bytes.Buffer
	if err := r.RawDiff(ctx, a, b, &raw); err != nil || raw.String() != gittest.Run(t, r.Path(), "diff-tree", "-r", "-p", "-M", "--full-index", a.String(), b.String()) {
		t.Errorf("raw diff: %v\n%s", err, raw.String())
	}
	missing := gittest.Must[gitstore.ObjectID](t)(gitstore.ParseObjectID(strings.Repeat("de", 20)))
	if _, err := r.Diff(ctx, a, missing, gitcmd.DiffOptions{}); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
}

func TestRepo_Diff_limits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	files := map[string]string{}
	for _, n := range []string{"a", "b", "c", "d"} {
		files[n] = strings.Repeat(n+"\n", 1000)
	}
	files["long"] = strings.Repeat("x", 100_000) + "\n"
	c := gittest.Commit(t, r, 1700000000, files)
	d := gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, gitstore.ObjectID{}, c, gitcmd.DiffOptions{}))
	if len(d.Files) != 5 || d.Overflow || len(d.Files[4].Patch) < 100_000 || d.Files[4].Additions != 1 {
		t.Errorf("no limit: %d files, overflow %t, %+v", len(d.Files), d.Overflow, d.Files[4].Additions)
	}
	d = gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, gitstore.ObjectID{}, c, gitcmd.DiffOptions{MaxFileBytes: 50_000}))
	if !d.Overflow || !d.Files[4].TooLarge || d.Files[4].Patch != nil || d.Files[0].TooLarge || d.Files[4].Additions != 1 {
		t.Errorf("file limit: overflow %t, %+v", d.Overflow, d.Files[0].TooLarge)
	}
	d = gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, gitstore.ObjectID{}, c, gitcmd.DiffOptions{MaxFiles: 2}))
	if !d.Overflow || len(d.Files) != 2 {
		t.Errorf("files: overflow %t, %d files", d.Overflow, len(d.Files))
	}
	d = gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, gitstore.ObjectID{}, c, gitcmd.DiffOptions{MaxBytes: 7000}))
	if !d.Overflow || d.Files[0].TooLarge || !d.Files[3].TooLarge || d.Files[3].Additions != 1000 {
		t.Errorf("bytes: overflow %t, %+v", d.Overflow, d.Files[3].Additions)
	}
	if d.Files[0].Additions != 1000 || len(d.Files[0].Patch) == 0 {
		t.Errorf("files: the first has %d additions in %d bytes", d.Files[0].Additions, len(d.Files[0].Patch))
	}
	d = gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, gitstore.ObjectID{}, c, gitcmd.DiffOptions{MaxLines: 2500}))
	kept := ""
	for _, f := range d.Files {
		kept += fmt.Sprint(f.Additions, len(f.Patch) > 0, f.Collapsed, f.TooLarge, " ")
	}
	if want := "1000 true false false 1000 true false false 1000 false true true 1000 false true true 1 true false false "; !d.Overflow || kept != want {
		t.Errorf("lines: overflow %t, got %q, want %q", d.Overflow, kept, want)
	}
	d = gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, gitstore.ObjectID{}, c, gitcmd.DiffOptions{}))
	if len(d.Files) != 5 {
		t.Errorf("after a flood: %d files", len(d.Files))
	}
}

// The attack: a commit that changes very many files makes every reader of its diff cost memory
// (CVE-2024-8233). What is allocated depends on the limits, not on how many files there are. The
// test is not parallel, so that nothing else allocates meanwhile.
func TestRepo_Diff_memory(t *testing.T) {
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	tree := func(files int) gitstore.ObjectID {
		blob := gittest.Must[gitstore.ObjectID](t)(r.WriteBlob(ctx, bytes.Repeat([]byte("a line of a file\n"), 20)))
		changes := make([]gitstore.TreeChange, files)
		for i := range changes {
			changes[i] = gitstore.TreeChange{Path: fmt.Sprintf("dir-%03d/file-%05d", i/100, i), Mode: gitstore.ModeFile, ID: blob}
		}
		return gittest.Must[gitstore.ObjectID](t)(r.BuildTree(ctx, gitstore.ObjectID{}, changes))
	}
	few, many := tree(1_000), tree(10_000)
	measure := func(of gitstore.ObjectID, o gitcmd.DiffOptions) uint64 {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := r.Diff(ctx, gitstore.ObjectID{}, of, o)
		runtime.ReadMemStats(&after)
		if err != nil || len(d.Files) == 0 {
			t.Fatalf("%v, %v", d, err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, o := range []gitcmd.DiffOptions{{MaxFiles: 500}, {MaxFiles: 500, MaxLines: 400}, {MaxFiles: 500, MaxBytes: 8 << 10}, {MaxFiles: 500, NoPatch: true}} {
		measure(few, gitcmd.DiffOptions{MaxFiles: 499}) // the process runs
		small, large := measure(few, o), measure(many, o)
		if large > 2*small+1<<20 {
			t.Errorf("%+v: %d bytes for 10,000 files, %d for 1,000", o, large, small)
		}
	}
	d := gittest.Must[*gitcmd.Diff](t)(r.Diff(ctx, gitstore.ObjectID{}, many, gitcmd.DiffOptions{MaxFiles: 500}))
	if n := len(d.Files); n != 500 || !d.Overflow || d.Files[0].Additions != 20 || d.Files[n-1].Additions != 20 {
		t.Errorf("10,000 files: %d, overflow %t, additions %d", n, d.Overflow, d.Files[0].Additions)
	}
	size := 0
	if err := r.RawDiff(ctx, gitstore.ObjectID{}, many, counter(func(n int) { size += n })); err != nil || size < 10_000*300 {
		t.Errorf("raw diff: %d bytes, %v", size, err)
	}
}

// counter counts what is written to it.
type counter func(n int)

// Write counts the bytes.
func (c counter) Write(p []byte) (int, error) {
	c(len(p))
	return len(p), nil
}
