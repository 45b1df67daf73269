package gitcmd_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tenon/internal/base/gitcmd"
)

// serve is git over HTTP in its smallest form, in front of one repository.
func serve(t *testing.T, r *gitcmd.Repo, hooks string, config ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := strings.TrimPrefix(req.URL.Query().Get("service"), "git-")
		s := gitcmd.Service{Stateless: true, Protocol: req.Header.Get("Git-Protocol"), Stdin: req.Body, Stdout: w, HooksDir: hooks, Config: config}
		if name != "" {
			s.Advertise = true
			w.Header().Set("Content-Type", "application/x-git-"+name+"-advertisement")
			if s.Protocol != "version=2" || name != "upload-pack" {
				line := "# service=git-" + name + "\n"
				fmt.Fprintf(w, "%04x%s0000", len(line)+4, line)
			}
		} else {
			name = strings.TrimPrefix(filepath.Base(req.URL.Path), "git-")
			w.Header().Set("Content-Type", "application/x-git-"+name+"-result")
		}
		if req.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(req.Body)
			if err != nil {
				t.Error(err)
				return
			}
			s.Stdin = z
		}
		run := r.UploadPack
		if name == "receive-pack" {
			run = r.ReceivePack
		}
		_ = run(req.Context(), s) // the client shows what went wrong
	}))
	t.Cleanup(server.Close)
	return server.URL + "/x.git"
}

// try runs the git command and gives what it said and whether it worked.
func try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "HOME=/nonexistent")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestRepo_services(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := newGit(t)
	r := newRepo(t, g)
	a := commit(t, r, 1700000000, map[string]string{"f": "1", "dir/g": "2"})
	b := commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	point(t, r, "refs/heads/main", b)
	url := serve(t, r, "")
	for _, how := range [][]string{{"-c", "protocol.version=2", "clone", "-q"}, {"-c", "protocol.version=0", "clone", "-q"}, {"clone", "-q", "--depth=1"}, {"clone", "-q", "--filter=blob:none"}} {
		dir := filepath.Join(t.TempDir(), "w")
		if out, err := try(t.TempDir(), append(how, url, dir)...); err != nil {
			t.Fatalf("%q: %v: %s", how, err, out)
		}
		if content, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(content) != "2" {
			t.Errorf("%q: f is %q, %v", how, content, err)
		}
	}
	// Several pushes at a time, each to a branch of its own and all of them to one.
	var group sync.WaitGroup
	var mu sync.Mutex
	won := 0
	dirs := make([]string, 4)
	for i := range dirs {
		dir := filepath.Join(t.TempDir(), "w")
		dirs[i] = dir
		runGit(t, t.TempDir(), "clone", "-q", url, dir)
		if err := os.WriteFile(filepath.Join(dir, "f"), fmt.Append(nil, "change ", i), 0o600); err != nil {
			t.Fatal(err)
		}
		runGit(t, dir, "-c", "user.name=x", "-c", "user.email=y", "commit", "-qam", fmt.Sprint("change ", i))
	}
	for i, dir := range dirs {
		group.Go(func() {
			if out, err := try(dir, "push", "-q", "origin", fmt.Sprintf("HEAD:refs/heads/b%d", i)); err != nil {
				t.Errorf("push %d: %s", i, out)
			}
			if _, err := try(dir, "push", "-q", "origin", "HEAD:main"); err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if won != 1 {
		t.Errorf("%d pushes of diverged commits to main were taken, want 1", won)
	}
	if refs := must[[]gitcmd.Ref](t)(r.Refs(ctx, gitcmd.Branches)); len(refs) != 5 {
		t.Errorf("%d branches, want 5", len(refs))
	}
	fsck(t, r)
	if err := g.Repo("none.git").UploadPack(ctx, gitcmd.Service{}); !errors.Is(err, gitcmd.ErrNotFound) {
		t.Errorf("missing repository: %v", err)
	}
}

// A pre-receive hook holds a push while the test looks into its quarantine.
func TestRepo_View(t *testing.T) {
	t.Parallel()
	for _, unpack := range []string{"receive.unpackLimit=100", "receive.unpackLimit=1"} {
		t.Run(unpack, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			r := newRepo(t, newGit(t))
			a := commit(t, r, 1700000000, map[string]string{"f": "1"})
			point(t, r, "refs/heads/main", a)
			hooks := t.TempDir()
			asked, answer := filepath.Join(hooks, "asked"), filepath.Join(hooks, "answer")
			for _, name := range []string{asked, answer} {
				if err := syscall.Mkfifo(name, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			script := fmt.Sprintf("#!/bin/sh\n{ echo $GIT_QUARANTINE_PATH; cat; } > %s\nexit $(cat %s)\n", asked, answer)
			if err := os.WriteFile(filepath.Join(hooks, "pre-receive"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			url := serve(t, r, hooks, unpack)
			dir := clone(t, r)
			if err := os.WriteFile(filepath.Join(dir, "new"), []byte("pushed"), 0o600); err != nil {
				t.Fatal(err)
			}
			runGit(t, dir, "add", ".")
			runGit(t, dir, "-c", "user.name=x", "-c", "user.email=y", "commit", "-qm", "new")
			for _, verdict := range []string{"1", "0"} {
				done := make(chan error, 1)
				go func() {
					_, err := try(dir, "push", url, "HEAD:main")
					done <- err
					// Should the hook never have run, this ends the wait for it.
					if f, err := os.OpenFile(asked, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
						_ = f.Close()
					}
				}()
				said, err := os.ReadFile(asked)
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.Split(string(said), "\n")
				if len(lines) < 2 {
					t.Fatalf("the push never reached its hook: %v", <-done)
				}
				fields := strings.Fields(lines[1])
				id := must[gitcmd.ObjectID](t)(gitcmd.ParseObjectID(fields[1]))
				v := must[*gitcmd.Repo](t)(r.View(lines[0]))
				e := must[gitcmd.TreeEntry](t)(v.Entry(ctx, id, "new"))
				if got := must[[]byte](t)(v.Blob(ctx, e.ID, 100)); string(got) != "pushed" {
					t.Errorf("in quarantine: %q", got)
				}
				var arrived []string
				if err := v.ArrivedBlobs(ctx, 6, 6, func(content []byte) error {
					arrived = append(arrived, string(content))
					return nil
				}); err != nil || !slices.Equal(arrived, []string{"pushed"}) {
					t.Errorf("new blobs of six bytes: %q, %v", arrived, err)
				}
				must[*gitcmd.Diff](t)(v.Diff(ctx, a, id, gitcmd.DiffOptions{}))
				if n := must[int](t)(v.Count(ctx, gitcmd.LogOptions{From: []gitcmd.ObjectID{id}, Not: []gitcmd.ObjectID{a}})); n != 1 {
					t.Errorf("%d new commits, want 1", n)
				}
				if _, err := r.Commit(ctx, id); !errors.Is(err, gitcmd.ErrNotFound) {
					t.Errorf("visible outside: %v", err)
				}
				if err := os.WriteFile(answer, []byte(verdict), 0o600); err != nil {
					t.Fatal(err)
				}
				v.CloseView()
				if err := <-done; (err == nil) != (verdict == "0") {
					t.Errorf("push with verdict %s: %v", verdict, err)
				}
				if _, err := r.Commit(ctx, id); (err == nil) != (verdict == "0") {
					t.Errorf("after verdict %s: %v", verdict, err)
				}
			}
			fsck(t, r)
		})
	}
}

// A service ends with its context, although its client neither sends nor goes away.
func TestRepo_ReceivePack_cancelled(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	r := newRepo(t, g)
	ctx, cancel := context.WithCancel(t.Context())
	in, hold := io.Pipe()
	defer func() { _ = hold.Close() }()
	out, first := io.Pipe()
	go func() {
		_, _ = out.Read(make([]byte, 4)) // it has started
		cancel()
		_, _ = io.Copy(io.Discard, out)
	}()
	err := r.ReceivePack(ctx, gitcmd.Service{Stdin: in, Stdout: first})
	_ = first.Close()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if n := g.Running(); n != 0 {
		t.Errorf("%d processes left", n)
	}
}

// The attack: clients take every place there is for pushes, or for large files, and say or
// read nothing. Whoever fetches, and what a push waits for itself, goes on.
func TestGit_held_up(t *testing.T) {
	t.Parallel()
	g := newGit(t, func(c *gitcmd.Config) { c.MaxServices, c.MaxProcesses = 1, 1 })
	r := newRepo(t, g)
	id := commit(t, r, 1700000000, map[string]string{"large": strings.Repeat("x", 2<<20)})
	point(t, r, "refs/heads/main", id)
	ctx, cancel := context.WithCancel(t.Context())
	in, hold := io.Pipe()
	out, first := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- r.ReceivePack(ctx, gitcmd.Service{Stdin: in, Stdout: first}) }()
	if _, err := io.ReadFull(out, make([]byte, 4)); err != nil { // it waits for commands
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	entry := must[gitcmd.TreeEntry](t)(r.Entry(ctx, id, "large"))
	file := must[*gitcmd.BlobReader](t)(r.OpenBlob(ctx, entry.ID))

	if err := r.UploadPack(ctx, gitcmd.Service{Advertise: true, Stdout: io.Discard}); err != nil {
		t.Errorf("fetch: %v", err)
	}
	if err := r.Archive(ctx, gitcmd.ArchiveInput{Commit: id, Format: gitcmd.ArchiveTar, Prefix: "a"}, io.Discard); err != nil {
		t.Errorf("archive: %v", err)
	}
	objects := filepath.Join(r.Path(), "objects", "tmp_objdir-incoming-1")
	if err := os.MkdirAll(filepath.Join(objects, "pack"), 0o750); err != nil {
		t.Fatal(err)
	}
	runGitIn(t, r.Path(), "", "pack-objects", "--all", filepath.Join(objects, "pack", "pack"))
	v := must[*gitcmd.Repo](t)(r.View(objects))
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
	_ = first.Close()
}

func TestRepo_Archive(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newRepo(t, newGit(t))
	c := commit(t, r, 1700000000, map[string]string{"f": "1", "dir/g": "2", "-x": "3", "dir/sub/h": "4", "s*": "5"})
	list := func(prefix, path string, exclude ...string) (string, error) {
		var buf bytes.Buffer
		in := gitcmd.ArchiveInput{Commit: c, Format: gitcmd.ArchiveTar, Prefix: prefix, Path: path, Exclude: exclude}
		if err := r.Archive(ctx, in, &buf); err != nil {
			return "", err
		}
		cmd := exec.Command("tar", "tf", "-")
		cmd.Stdin = &buf
		out, err := cmd.Output()
		return strings.Join(strings.Fields(string(out)), " "), err
	}
	for _, tt := range []struct {
		name, path string
		exclude    []string
		want       string
	}{
		{"everything", "", nil, "p/ p/-x p/dir/ p/dir/g p/dir/sub/ p/dir/sub/h p/f p/s*"},
		{"a folder", "/dir/", nil, "p/ p/dir/ p/dir/g p/dir/sub/ p/dir/sub/h"},
		{"without a file", "", []string{"f"}, "p/ p/-x p/dir/ p/dir/g p/dir/sub/ p/dir/sub/h p/s*"},
		{"without a folder and a file", "", []string{"/dir/", "-x"}, "p/ p/f p/s*"},
		{"a folder without what is in it", "dir", []string{"dir/sub"}, "p/ p/dir/ p/dir/g"},
		{"a folder without itself", "dir", []string{"dir"}, "p/"},
		{"without what is not there", "", []string{"none", ""}, "p/ p/-x p/dir/ p/dir/g p/dir/sub/ p/dir/sub/h p/f p/s*"},
		{"names are no patterns", "", []string{"*", "d*", ":(glob)**", ":!f", "s*"}, "p/ p/-x p/dir/ p/dir/g p/dir/sub/ p/dir/sub/h p/f"},
	} {
		if got, err := list("p", tt.path, tt.exclude...); err != nil || got != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	if _, err := list("p", "nope"); !errors.Is(err, gitcmd.ErrNotFound) {
		t.Errorf("missing path: %v", err)
	}
	if _, err := list("../p", ""); !errors.Is(err, gitcmd.ErrBadName) {
		t.Errorf("climbing prefix: %v", err)
	}
	if err := r.Archive(ctx, gitcmd.ArchiveInput{Commit: c, Format: "--exec=x", Prefix: "p"}, io.Discard); !errors.Is(err, gitcmd.ErrBadName) {
		t.Errorf("format: %v", err)
	}
	var zip bytes.Buffer
	if err := r.Archive(ctx, gitcmd.ArchiveInput{Commit: c, Format: gitcmd.ArchiveZip, Prefix: "p"}, &zip); err != nil || zip.Len() == 0 {
		t.Errorf("zip: %d bytes, %v", zip.Len(), err)
	}
}
