package gitcmd_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// judge plays the judge of a push.
type judge struct {
	check func(ctx context.Context, view *gitcmd.Repo, changes []gitstore.RefUpdate, options []string) string
	apply func(ctx context.Context, changes []gitstore.RefUpdate) ([]string, string)

	mu     sync.Mutex
	failed []error
}

func (j *judge) Check(ctx context.Context, view *gitcmd.Repo, changes []gitstore.RefUpdate, options []string) (string, []string) {
	if j.check == nil {
		return "", nil
	}
	return j.check(ctx, view, changes, options), nil
}

func (j *judge) Apply(ctx context.Context, changes []gitstore.RefUpdate) ([]string, string) {
	return j.apply(ctx, changes)
}

func (j *judge) Failed(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = append(j.failed, err)
}

// lenient lets everything pass and moves what is asked for.
func lenient(r *gitcmd.Repo) *judge {
	return &judge{apply: func(ctx context.Context, changes []gitstore.RefUpdate) ([]string, string) {
		reasons := make([]string, len(changes))
		if err := r.UpdateRefs(ctx, changes); err != nil {
			for i := range reasons {
				reasons[i] = "it did not move"
			}
		}
		return reasons, ""
	}}
}

// work makes a clone in which one may commit.
func work(t *testing.T, r *gitcmd.Repo) (dir string, change func(name, content string)) {
	t.Helper()
	dir = gittest.Clone(t, r)
	return dir, func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		gittest.Run(t, dir, "add", ".")
		gittest.Run(t, dir, "commit", "-qm", "change "+name)
	}
}

// A push is looked at while no other process sees what it brings, be it a few objects or a pack.
func TestRepo_ReceivePack_quarantine(t *testing.T) {
	t.Parallel()
	for _, files := range []int{1, 150} {
		t.Run(fmt.Sprint(files, " files"), func(t *testing.T) {
			t.Parallel()
			r := gittest.NewRepo(t, gittest.New(t))
			a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
			gittest.Point(t, r, "refs/heads/main", a)
			var refuse atomic.Bool
			refuse.Store(true)
			j := lenient(r)
			j.check = func(ctx context.Context, v *gitcmd.Repo, changes []gitstore.RefUpdate, _ []string) string {
				if len(changes) != 1 || changes[0].Old != a {
					t.Errorf("asked about %v", changes)
					return "odd"
				}
				id := changes[0].New
				e := gittest.Must[gitstore.TreeEntry](t)(v.Entry(ctx, id, "new"))
				if got := gittest.Must[[]byte](t)(v.Blob(ctx, e.ID, 100)); string(got) != "pushed" {
					t.Errorf("in quarantine: %q", got)
				}
				var arrived []string
				if err := v.ArrivedBlobs(ctx, 6, 6, func(content []byte) error {
					arrived = append(arrived, string(content))
					return nil
				}); err != nil || !slices.Equal(arrived, []string{"pushed"}) {
					t.Errorf("new blobs of six bytes: %q, %v", arrived, err)
				}
				gittest.Must[*gitcmd.Diff](t)(v.Diff(ctx, a, id, gitcmd.DiffOptions{}))
				if n := gittest.Must[int](t)(v.Count(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{id}, Not: []gitstore.ObjectID{a}})); n != 1 {
					t.Errorf("%d new commits, want 1", n)
				}
				if _, err := r.Commit(ctx, id); !errors.Is(err, gitstore.ErrNotFound) {
					t.Errorf("visible outside: %v", err)
				}
				if refuse.Load() {
					return "Not today."
				}
				return ""
			}
			url := serve(t, r, j)
			dir, change := work(t, r)
			for i := 1; i < files; i++ {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("more", i)), fmt.Append(nil, "more content ", i), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			change("new", "pushed")
			out, err := gittest.Try(dir, "push", url, "HEAD:main")
			if err == nil || !strings.Contains(out, "remote: Not today.") || !strings.Contains(out, "(pre-receive hook declined)") {
				t.Errorf("refused push: %v: %s", err, out)
			}
			if left, _ := filepath.Glob(filepath.Join(r.Path(), "objects", "tmp_*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			refuse.Store(false)
			if out, err := gittest.Try(dir, "push", url, "HEAD:main"); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			head := strings.TrimSpace(gittest.Run(t, dir, "rev-parse", "HEAD"))
			if at := gittest.Must[gitstore.ObjectID](t)(r.Branch(t.Context(), "main")); at.String() != head {
				t.Errorf("main stands at %s, want %s", at, head)
			}
			if len(j.failed) > 0 {
				t.Errorf("failures of the server: %v", j.failed)
			}
			gittest.Fsck(t, r)
		})
	}
}

// A push of one commit starts two processes: one unpacks, one sees that nothing is missing.
// What is there already needs neither.
func TestRepo_ReceivePack_processes(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	gittest.Point(t, r, "refs/heads/main", gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"}))
	url := serve(t, r, lenient(r))
	dir, change := work(t, r)
	change("new", "pushed")
	for _, tt := range []struct {
		name string
		args []string
		most int64
	}{
		{"one commit", []string{"HEAD:main"}, 2},
		{"a branch of what is there", []string{"HEAD:refs/heads/other"}, 0},
		{"a deleted branch", []string{":other"}, 0},
	} {
		n := gittest.Started(g, func() {
			if out, err := gittest.Try(dir, append([]string{"push", "-q", url}, tt.args...)...); err != nil {
				t.Errorf("%s: %v: %s", tt.name, err, out)
			}
		})
		if n > tt.most {
			t.Errorf("%s: %d processes, want at most %d", tt.name, n, tt.most)
		}
	}
}

// What clients can ask for besides: options, new and deleted references, no references
// that are hidden, and a word at the end.
func TestRepo_ReceivePack_client(t *testing.T) {
	t.Parallel()
	r := gittest.NewRepo(t, gittest.New(t))
	j := lenient(r)
	asked := make(chan []string, 1)
	j.check = func(_ context.Context, _ *gitcmd.Repo, _ []gitstore.RefUpdate, options []string) string {
		if len(options) > 0 {
			asked <- options
		}
		return ""
	}
	apply := j.apply
	j.apply = func(ctx context.Context, changes []gitstore.RefUpdate) ([]string, string) {
		reasons, _ := apply(ctx, changes)
		return reasons, "Well done.\nIndeed."
	}
	url := serve(t, r, j)
	dir := t.TempDir()
	gittest.Run(t, dir, "init", "-q", ".")
	gittest.Run(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	for _, version := range []string{"0", "1", "2"} {
		branch := "HEAD:refs/heads/v" + version
		out, err := gittest.Try(dir, "-c", "protocol.version="+version, "push", "-o", "one", "-o", "two words", url, branch, "HEAD:refs/tags/t"+version)
		if err != nil || !strings.Contains(out, "remote: Well done.") || !strings.Contains(out, "remote: Indeed.") {
			t.Errorf("version %s: %v: %s", version, err, out)
		}
		select {
		case options := <-asked:
			if !slices.Equal(options, []string{"one", "two words"}) {
				t.Errorf("version %s: options %q", version, options)
			}
		default:
			t.Errorf("version %s: no options", version)
		}
	}
	if out, err := gittest.Try(dir, "push", "--atomic", url, ":refs/heads/v0", ":refs/tags/t0"); err != nil {
		t.Errorf("delete: %v: %s", err, out)
	}
	gittest.Point(t, r, "refs/secret/x", gittest.Must[gitstore.ObjectID](t)(r.Branch(t.Context(), "v1")))
	var listed bytes.Buffer
	if err := r.ReceivePack(t.Context(), gitcmd.Receive{Advertise: true, Hidden: []string{"refs/secret/"}, Stdout: &listed}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" refs/heads/v1\x00report-status ", " refs/tags/t2\n", " push-options "} {
		if !strings.Contains(listed.String(), want) {
			t.Errorf("%q is missing in %q", want, listed.String())
		}
	}
	for _, not := range []string{"secret", "refs/heads/v0"} {
		if strings.Contains(listed.String(), not) {
			t.Errorf("%q is in %q", not, listed.String())
		}
	}
}

// A clone without the older history pushes on top of what the server has whole, and
// nothing that the server would have in part.
func TestRepo_ReceivePack_shallow(t *testing.T) {
	t.Parallel()
	r, other := gittest.NewRepo(t, gittest.New(t)), gittest.NewRepo(t, gittest.New(t))
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	gittest.Point(t, r, "refs/heads/main", b)
	gittest.Point(t, other, "refs/heads/main", gittest.Commit(t, other, 1700000002, map[string]string{"g": "1"}))
	url := serve(t, r, lenient(r))
	dir := filepath.Join(t.TempDir(), "w")
	gittest.Run(t, t.TempDir(), "clone", "-q", "--depth=1", url, dir)
	gittest.Run(t, dir, "commit", "-q", "--allow-empty", "-m", "on top")
	if out, err := gittest.Try(dir, "push", url, "HEAD:main"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	out, err := gittest.Try(dir, "push", serve(t, other, lenient(other)), "HEAD:refs/heads/half")
	if err == nil || !strings.Contains(out, "shallow update not allowed") {
		t.Errorf("half a history: %v: %s", err, out)
	}
	if _, err := other.Branch(t.Context(), "half"); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("half a history has a branch: %v", err)
	}
	gittest.Fsck(t, r)
	gittest.Fsck(t, other)
}

// pushed is what a client sends that wants these commands, with a pack.
func pushed(pack []byte, lines ...string) []byte {
	var out bytes.Buffer
	for i, line := range lines {
		if i == 0 {
			line += "\x00report-status side-band-64k"
		}
		fmt.Fprintf(&out, "%04x%s", len(line)+4, line)
	}
	out.WriteString("0000")
	out.Write(pack)
	return out.Bytes()
}

// The attack: a client that writes the protocol itself names commits that are not there,
// or that lack what they need, and sends no pack or a broken one.
func TestRepo_ReceivePack_lies(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	gittest.Point(t, r, "refs/heads/main", gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"}))
	missing := strings.Repeat("ab", 20)
	halfTree := gittest.Must[gitstore.ObjectID](t)(gitstore.ParseObjectID(strings.Repeat("cd", 20)))
	half := gittest.Must[gitstore.ObjectID](t)(r.CommitTree(ctx, gitstore.CommitInput{Tree: halfTree, Author: gittest.Signature("Ann", 1)}))
	empty := gittest.RunIn(t, r.Path(), "", "pack-objects", "--stdout")
	zero := strings.Repeat("0", 40)
	for _, tt := range []struct{ name, id, pack, want string }{
		{"a commit that is not there", missing, empty, "missing necessary objects"},
		{"a commit without its tree", half.String(), empty, "missing necessary objects"},
		{"no pack", missing, "", "unpacker error"},
		{"no pack but words", missing, "these are only words", "unpacker error"},
		{"half an empty pack", missing, empty[:20], "unpacker error"},
		{"half a pack", missing, "PACK\x00\x00\x00\x02\x00\x00\x00\x03abc", "unpacker error"},
	} {
		var out bytes.Buffer
		j := lenient(r)
		err := r.ReceivePack(ctx, gitcmd.Receive{
			Stateless: true, Judge: j, Stdin: bytes.NewReader(pushed([]byte(tt.pack), zero+" "+tt.id+" refs/heads/x")), Stdout: &out,
		})
		if err != nil || !strings.Contains(out.String(), "ng refs/heads/x "+tt.want) || len(j.failed) > 0 {
			t.Errorf("%s: %v, %v: %q", tt.name, err, j.failed, out.String())
		}
		if _, err := r.Branch(ctx, "x"); !errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("%s: the branch is there: %v", tt.name, err)
		}
	}
	for _, words := range []string{"", "zzzz", "0003", "0010", "fffe", "0009hello0000", "000ashallow0000", "00ff" + strings.Repeat("x", 251)} {
		err := r.ReceivePack(ctx, gitcmd.Receive{Stateless: true, Stdin: strings.NewReader(words), Stdout: io.Discard})
		if !errors.Is(err, gitcmd.ErrProtocol) {
			t.Errorf("%q: %v", words, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(r.Path(), "objects", "tmp_*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// The attack: a push names more references, or says more, than anybody would read.
func TestRepo_ReceivePack_tooMuch(t *testing.T) {
	t.Parallel()
	r := gittest.NewRepo(t, gittest.New(t))
	line := strings.Repeat("0", 40) + " " + strings.Repeat("ab", 20) + " refs/heads/" + strings.Repeat("x", 3000)
	packet := fmt.Sprintf("%04x%s", len(line)+4, line)
	endless := io.MultiReader(strings.NewReader(strings.Repeat(packet, 6000)))
	err := r.ReceivePack(t.Context(), gitcmd.Receive{Stateless: true, Stdin: endless, Stdout: io.Discard})
	if !errors.Is(err, gitstore.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

// A failure of the server is told as such, and nothing of it.
func TestRepo_ReceivePack_fails(t *testing.T) {
	t.Parallel()
	r := gittest.NewRepo(t, gittest.New(t))
	gittest.Point(t, r, "refs/heads/main", gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"}))
	j := lenient(r)
	j.check = func(_ context.Context, v *gitcmd.Repo, _ []gitstore.RefUpdate, _ []string) string {
		// Where the objects of the push are to go there is a file now.
		folders, err := filepath.Glob(filepath.Join(r.Path(), "objects", "tmp_objdir-*", "??"))
		if err != nil || len(folders) == 0 {
			t.Errorf("no quarantine: %v", err)
		}
		for _, folder := range folders {
			if err := os.WriteFile(filepath.Join(r.Path(), "objects", filepath.Base(folder)), nil, 0o600); err != nil && !os.IsExist(err) {
				t.Logf("%v", err) // some folders are there
			}
		}
		return ""
	}
	dir, change := work(t, r)
	change("new", "pushed")
	out, err := gittest.Try(dir, "push", serve(t, r, j), "HEAD:main")
	if err == nil || !strings.Contains(out, "(internal server error)") || strings.Contains(out, r.Path()) {
		t.Errorf("%v: %s", err, out)
	}
	if len(j.failed) != 1 {
		t.Errorf("failures %v, want one", j.failed)
	}
}

// A push ends with its context, although its client neither sends nor goes away.
func TestRepo_ReceivePack_cancelled(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	head := pushed([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x03"), strings.Repeat("0", 40)+" "+strings.Repeat("ab", 20)+" refs/heads/x")
	for _, sent := range []string{"", "00", string(head)} {
		ctx, cancel := context.WithCancel(t.Context())
		in, hold := io.Pipe()
		out, first := io.Pipe()
		go func() {
			_, _ = out.Read(make([]byte, 4)) // it has started
			go func() { _, _ = io.Copy(io.Discard, out) }()
			if sent != "" {
				_, _ = io.WriteString(hold, sent)
			}
			cancel()
		}()
		err := r.ReceivePack(ctx, gitcmd.Receive{Judge: lenient(r), Stdin: in, Stdout: first})
		_, _ = first.Close(), hold.Close()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after %q: got %v, want context.Canceled", sent, err)
		}
		if n := g.Running(); n != 0 {
			t.Errorf("%d processes left", n)
		}
	}
}

// The attack: clients take every place there is for packs that come in, or for large
// files, and say or read nothing. A client that fetches, and what a push waits for itself, goes on.
func TestGit_held_up(t *testing.T) {
	t.Parallel()
	g := gittest.New(t, func(c *gitcmd.Config) { c.MaxServices, c.MaxProcesses = 1, 1 })
	r := gittest.NewRepo(t, g)
	id := gittest.Commit(t, r, 1700000000, map[string]string{"large": strings.Repeat("x", 2<<20)})
	gittest.Point(t, r, "refs/heads/main", id)
	ctx, cancel := context.WithCancel(t.Context())
	in, hold := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- r.ReceivePack(ctx, gitcmd.Receive{Stateless: true, Judge: lenient(r), Stdin: in, Stdout: io.Discard})
	}()
	head := pushed([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x03"), strings.Repeat("0", 40)+" "+strings.Repeat("ab", 20)+" refs/heads/x")
	for _, part := range [][]byte{head, {0x95}} { // git reads when the second is taken: a commit, of a length that is still to come
		if _, err := hold.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	entry := gittest.Must[gitstore.TreeEntry](t)(r.Entry(ctx, id, "large"))
	file := gittest.Must[*gitcmd.BlobReader](t)(r.OpenBlob(ctx, entry.ID))

	if err := r.UploadPack(ctx, gitcmd.Service{Advertise: true, Stdout: io.Discard}); err != nil {
		t.Errorf("fetch: %v", err)
	}
	if err := r.Archive(ctx, gitcmd.ArchiveInput{Commit: id, Format: gitcmd.ArchiveTar, Prefix: "a"}, io.Discard); err != nil {
		t.Errorf("archive: %v", err)
	}
	beside := g.Repo("beside.git")
	if err := beside.Init(ctx, "main"); err != nil {
		t.Fatal(err)
	}
	gittest.RunIn(t, r.Path(), "", "pack-objects", "--all", filepath.Join(beside.Path(), "objects", "pack", "pack"))
	v := r.With(beside)
	found := 0
	if err := v.ArrivedBlobs(ctx, 0, 4<<20, func([]byte) error { found++; return nil }); err != nil || found != 1 {
		t.Errorf("look at what is pushed: %d, %v", found, err)
	}
	v.CloseView()
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	_ = hold.Close()
	<-ended
}

// A client that writes whatever it likes gets an answer or a refusal, never a panic.
func FuzzReceivePack(f *testing.F) {
	f.Add(pushed(nil, strings.Repeat("0", 40)+" "+strings.Repeat("ab", 20)+" refs/heads/x"))
	f.Add([]byte("0034shallow " + strings.Repeat("ab", 20) + "0000"))
	f.Add([]byte("fff0"))
	r := gittest.NewRepo(f, gittest.New(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		j := lenient(r)
		j.check = func(context.Context, *gitcmd.Repo, []gitstore.RefUpdate, []string) string { return "no" }
		var out bytes.Buffer
		err := r.ReceivePack(t.Context(), gitcmd.Receive{Stateless: true, Judge: j, Stdin: bufio.NewReader(bytes.NewReader(data)), Stdout: &out})
		if err == nil && strings.Contains(out.String(), "ok refs/") {
			t.Errorf("a refused push answers %q", out.String())
		}
	})
}

// A push of thousands of references starts as few processes as one of twenty, whether it
// makes, moves or deletes them.
func TestRepo_ReceivePack_many(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	first := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1"})
	second := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, first)
	gittest.Point(t, r, "refs/heads/main", second)
	empty := gittest.RunIn(t, r.Path(), "", "pack-objects", "--stdout")
	zero := strings.Repeat("0", 40)
	push := func(n int, was, is, pack string) int64 {
		t.Helper()
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprintf("%s %s refs/heads/n%d/%d", was, is, n, i)
		}
		var out bytes.Buffer
		started := gittest.Started(g, func() {
			if err := r.ReceivePack(t.Context(), gitcmd.Receive{
				Stateless: true, Judge: lenient(r), Stdin: bytes.NewReader(pushed([]byte(pack), lines...)), Stdout: &out,
			}); err != nil {
				t.Error(err)
			}
		})
		refs := gittest.Must[[]gitstore.Ref](t)(r.Refs(t.Context(), fmt.Sprintf("refs/heads/n%d/", n)))
		refs = slices.DeleteFunc(refs, func(f gitstore.Ref) bool { return f.ID.String() != is })
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
