package gitcmd_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

func TestRepo_Refs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	c := gittest.Commit(t, r, 1700000000, map[string]string{"f": "x"})
	d := gittest.Commit(t, r, 1700000001, map[string]string{"f": "y"}, c)
	tag := gittest.Must[gitstore.ObjectID](t)(r.CreateTag(ctx, gitstore.TagInput{Name: "v1", Target: c, Tagger: gittest.Signature("Ann", 1), Message: "m"}))
	nested := gittest.Must[gitstore.ObjectID](t)(r.CreateTag(ctx, gitstore.TagInput{Name: "v2", Target: tag, Tagger: gittest.Signature("Ann", 1), Message: "m"}))
	for ref, id := range map[gitstore.RefName]gitstore.ObjectID{
		"refs/heads/main": c, "refs/heads/feature/x": d, "refs/heads/feature-y": c, "refs/tags/v1": tag, "refs/tags/v2": nested,
		"refs/tags/light": d, "refs/merge-requests/1/head": d, "refs/heads/ünï": c,
	} {
		gittest.Point(t, r, ref, id)
	}
	check := func(when string) {
		t.Helper()
		want := gittest.Run(t, r.Path(), "for-each-ref", "--format=%(refname) %(objectname) %(*objectname)")
		want = strings.ReplaceAll(want, " \n", "\n")
		var got strings.Builder
		for _, ref := range gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, "refs/")) {
			fmt.Fprintf(&got, "%s %s", ref.Name, ref.ID)
			if ref.Annotated() {
				if ref.Name == "refs/tags/v2" { // git peels once in this format, we to the end
					ref.Peeled = tag
				}
				fmt.Fprintf(&got, " %s", ref.Peeled)
			}
			got.WriteString("\n")
		}
		if got.String() != want {
			t.Errorf("%s: got\n%swant\n%s", when, got.String(), want)
		}
	}
	check("loose")
	if err := r.Maintain(ctx, gitcmd.Maintenance{}); err != nil {
		t.Fatal(err)
	}
	check("packed")
	gittest.Point(t, r, "refs/heads/main", d)
	if err := r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: "refs/heads/feature/x", Old: d}}); err != nil {
		t.Fatal(err)
	}
	gittest.Point(t, r, "refs/heads/feature", d)
	check("mixed")
	if n := gittest.Started(g, func() { gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, gitstore.Tags)) }); n > 1 {
		t.Errorf("list started %d processes", n)
	}
	if _, err := r.Refs(ctx, "refs/../"); !errors.Is(err, gitstore.ErrBadName) {
		t.Errorf("climbing prefix: %v", err)
	}
	if err := r.Maintain(ctx, gitcmd.Maintenance{Full: true}); err != nil {
		t.Fatal(err)
	}
	check("full maintenance")
	gittest.Fsck(t, r)
}

func TestRepo_Resolve(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	tree := gittest.Must[*gitstore.Commit](t)(r.Commit(ctx, a)).Tree
	for ref, id := range map[gitstore.RefName]gitstore.ObjectID{
		"refs/heads/main": a, "refs/heads/both": a, "refs/tags/both": b, "refs/heads/deadbeef": b, "refs/heads/tags/x": a, "refs/tags/x": b,
		"refs/merge-requests/1/head": b, "refs/heads/release/1": a, "refs/release/1": b, "refs/tags/v/1": a, "refs/v/1": b,
	} {
		gittest.Point(t, r, ref, id)
	}
	tests := []struct {
		name string
		want gitstore.ObjectID
	}{
		{"main", a},
		{"HEAD", a},
		{"refs/heads/main", a},
		{"heads/main", a},
		{"both", b},
		{"heads/both", a},
		{"refs/heads/both", a},
		{"deadbeef", b},
		{"refs/merge-requests/1/head", b},
		{"merge-requests/1/head", b},
		{a.String(), a},
		{strings.ToUpper(b.String()), b},
		{a.String()[:7], a},
		{b.String()[:12], b},
		{"tags/x", b},
		{"release/1", a}, // a reference of no kind is behind branches and tags
		{"refs/release/1", b},
		{"v/1", a},
	}
	for _, tt := range tests {
		rev, err := r.Resolve(ctx, tt.name)
		if err != nil || rev.Commit != tt.want {
			t.Errorf("%q: got %s, %v, want %s", tt.name, rev.Commit, err, tt.want)
		}
	}
	for _, name := range []string{
		"", "nope", "main^", "main~1", "main@{0}", "@", ":/at", "main:f", "main..both", "--all", "-x", "^main", "main ", "a\nb", "HEAD\ncontents HEAD",
		"../HEAD", "refs/heads/../heads/main", "config", "objects", tree.String(), tree.String()[:10], a.String()[:3], "refs/heads/", "refs/heads", strings.Repeat("x", 5000),
	} {
		if rev, err := r.Resolve(ctx, name); !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("%q: got %+v, %v, want ErrNotFound", name, rev, err)
		}
	}
}

// A path has the longest name of a reference, and an abbreviated id only where there is none.
func TestRepo_Split(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	tree := gittest.Must[*gitstore.Commit](t)(r.Commit(ctx, a)).Tree
	short, deep := b.String()[:7], strings.Repeat("d/", 20)+"e"
	for ref, id := range map[gitstore.RefName]gitstore.ObjectID{
		"refs/heads/main": a, "refs/tags/main": b, "refs/heads/release/1.0": a, "refs/tags/release": b, "refs/release/1.0/docs": b,
		gitstore.RefName("refs/heads/" + short + "/x"): a, gitstore.RefName("refs/heads/" + deep): a, "refs/tags/only/this": b,
		"refs/merge-requests/1/head": b, "refs/tags/tree/of": tree, "refs/heads/tree": a,
	} {
		gittest.Point(t, r, ref, id)
	}
	tests := []struct {
		path, name, file string
		want             gitstore.ObjectID
	}{
		{"main", "main", "", a},
		{"main/docs/x.md", "main", "docs/x.md", a},
		{"tags/main/docs", "tags/main", "docs", b},
		{"refs/heads/main/docs", "refs/heads/main", "docs", a},
		{"release/1.0/docs/x", "release/1.0", "docs/x", a},
		{"release/2.0", "release", "2.0", b},
		{short + "/x/f", short + "/x", "f", a},
		{short + "/f", short, "f", b},
		{b.String() + "/f", b.String(), "f", b},
		{deep + "/f", deep, "f", a},
		{"only/this/f", "only/this", "f", b},
		{"merge-requests/1/head/f", "merge-requests/1/head", "f", b},
		{"tree/of/f", "tree", "of/f", a}, // the tag names no commit
		{"HEAD/f", "HEAD", "f", a},
	}
	for _, tt := range tests {
		name, file, rev, err := r.Split(ctx, tt.path)
		if err != nil || name != tt.name || file != tt.file || rev.Commit != tt.want {
			t.Errorf("%q: got %q, %q, %s, %v, want %q, %q, %s", tt.path, name, file, rev.Commit, err, tt.name, tt.file, tt.want)
		}
	}
	long := strings.Repeat("no/", 5000)
	started := gittest.Started(g, func() {
		for _, path := range []string{"", "no", "no/main", "no/" + deep, long, "main^/f", "../HEAD", "-x/f", strings.Repeat("a", 40) + "/f"} {
			if name, file, rev, err := r.Split(ctx, path); !errors.Is(err, gitstore.ErrNotFound) {
				t.Errorf("%.50q: got %q, %q, %+v, %v, want ErrNotFound", path, name, file, rev, err)
			}
		}
	})
	if started > 1 {
		t.Errorf("paths without a commit started %d processes", started)
	}
}

func TestRepo_SetHead(t *testing.T) {
	t.Parallel()
	r := gittest.NewRepo(t, gittest.New(t))
	if err := r.SetHead(t.Context(), "refs/heads/trunk"); err != nil {
		t.Fatal(err)
	}
	if got := gittest.Must[gitstore.RefName](t)(r.Head(t.Context())); got != "refs/heads/trunk" {
		t.Errorf("got %q", got)
	}
	if err := r.SetHead(t.Context(), "refs/tags/x"); !errors.Is(err, gitstore.ErrBadName) {
		t.Errorf("tag: %v", err)
	}
}

// Readers see every reference at all times, whatever packing, moving and deleting goes on.
func TestRepo_Refs_underPacking(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	for i := range 20 {
		gittest.Point(t, r, gitstore.RefName(fmt.Sprintf("refs/heads/b%d", i)), a)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if refs, err := r.Refs(ctx, gitstore.Branches); err != nil || len(refs) < 20 {
					t.Errorf("list: %d branches, %v", len(refs), err)
					return
				}
				if id, err := r.Branch(ctx, "b7"); err != nil || id != a && id != b {
					t.Errorf("b7: %s, %v", id, err)
					return
				}
			}
		})
	}
	for i := range 15 {
		id := []gitstore.ObjectID{a, b}[i%2]
		gittest.Point(t, r, "refs/heads/b7", id)
		if got := gittest.Must[gitstore.ObjectID](t)(r.Branch(ctx, "b7")); got != id {
			t.Errorf("own write: got %s, want %s", got, id)
		}
		gittest.Run(t, r.Path(), "pack-refs", "--all", "--prune")
		if got := gittest.Must[gitstore.ObjectID](t)(r.Branch(ctx, "b7")); got != id {
			t.Errorf("own write after packing: got %s, want %s", got, id)
		}
	}
	close(stop)
	readers.Wait()
}

func TestRepo_Ref_broken(t *testing.T) {
	t.Parallel()
	r := gittest.NewRepo(t, gittest.New(t))
	for name, content := range map[string]string{"short": "abc\n", "loop": "ref: refs/heads/loop\n", "evil": "ref: ../../config\n", "empty": ""} {
		if err := os.WriteFile(filepath.Join(r.Path(), "refs/heads", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if id, err := r.Branch(t.Context(), name); err == nil {
			t.Errorf("%s: got %s", name, id)
		}
	}
	if refs := gittest.Must[[]gitstore.Ref](t)(r.Refs(t.Context(), gitstore.Branches)); len(refs) != 0 {
		t.Errorf("list: %v", refs)
	}
}

// A process that packs references removes the folders that it leaves empty, also while another makes one.
func TestRepo_UpdateRefs_noFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *update-ref*)\n\techo tried >> " + root + "/tried\n\tif [ $(wc -l < " + root + "/tried) -lt 3 ]; then\n" +
		"\t\techo \"fatal: prepare: cannot lock ref 'refs/heads/x': unable to create directory for refs/heads/x\" >&2\n\t\texit 128\n\tfi\nesac\nexec git \"$@\"\n"
	if err := os.WriteFile(filepath.Join(root, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := gitcmd.New(t.Context(), gitcmd.Config{Root: root, Binary: filepath.Join(root, "git")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	r := gittest.NewRepo(t, g)
	c := gittest.Commit(t, r, 1700000000, map[string]string{"f": "0"})
	if err := os.MkdirAll(filepath.Join(r.Path(), "refs/heads/x"), 0o750); err != nil { // which leaves the reference to git
		t.Fatal(err)
	}
	if err := r.UpdateRefs(t.Context(), []gitstore.RefUpdate{{Ref: "refs/heads/x", New: c}}); err != nil {
		t.Fatal(err)
	}
	if at, err := r.Ref(t.Context(), "refs/heads/x"); err != nil || at != c {
		t.Errorf("stands at %s, %v, want %s", at, err, c)
	}
	if tried, err := os.ReadFile(filepath.Join(root, "tried")); err != nil || strings.Count(string(tried), "\n") != 3 {
		t.Errorf("tried %q, %v, want three times", tried, err)
	}
}
