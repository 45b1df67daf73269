package faults

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// metric reads a counter of the server.
func (w *world) metric(name string) int {
	w.t.Helper()
	res, err := w.http.Get(*w.url.Load() + "/-/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				w.t.Fatal(err)
			}
			return int(n)
		}
	}
	w.t.Fatalf("no metric %s", name)
	return 0
}

// worked returns how many requests of clones git worked on while fn ran.
func (w *world) worked(fn func()) int {
	w.t.Helper()
	before := w.metric("tenon_git_fetch_runs_total")
	fn()
	return w.metric("tenon_git_fetch_runs_total") - before
}

// storm is a public project with some history, and who clones it.
type storm struct {
	*world
	public string // address without credentials
	source string // a work tree of it
}

func newStorm(t *testing.T, args ...string) *storm {
	t.Helper()
	s := &storm{world: newWorld(t, "", args...)}
	s.want(200, s.ann, "PUT", fmt.Sprintf("/groups/%d", s.group), `{"visibility":"public"}`)
	s.want(200, s.ann, "PUT", fmt.Sprintf("/projects/%d", s.project), `{"visibility":"public"}`)
	s.public = *s.url.Load() + "/team/app.git"
	s.source = t.TempDir()
	s.git(s.source, "clone", "-q", s.remote(), ".")
	for i := range 30 {
		if err := os.WriteFile(filepath.Join(s.source, fmt.Sprintf("file%d", i%7)), fmt.Appendf(nil, "%d %s\n", i, strings.Repeat("text ", i*100)), 0o600); err != nil {
			t.Fatal(err)
		}
		s.git(s.source, "add", ".")
		s.git(s.source, "commit", "-q", "-m", fmt.Sprintf("Change %d", i))
	}
	s.git(s.source, "tag", "-a", "-m", "one", "v1", "HEAD~10")
	s.git(s.source, "push", "-q", "origin", "HEAD", "HEAD~5:refs/heads/old", "v1")
	return s
}

// cloned makes a clone, whose every object git checks, and returns its references.
func (s *storm) cloned(version string, args ...string) (string, error) {
	dir, err := os.MkdirTemp(s.source, ".clone-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args = append([]string{"-c", "protocol.version=" + version, "-c", "fetch.fsckObjects=true", "clone", "-q", "--bare"}, append(args, "copy")...)
	if _, err := git(context.Background(), dir, args...); err != nil {
		return "", err
	}
	refs, err := os.ReadFile(filepath.Join(dir, "copy", "packed-refs"))
	return string(refs), err
}

// TestStorm has a hundred clients clone the same at once: git works on each of their
// requests once, and all get all of it.
func TestStorm(t *testing.T) {
	t.Parallel()
	s := newStorm(t)
	const n = 100
	refs, failures := make([]string, n), make([]error, n)
	made := s.worked(func() {
		var group sync.WaitGroup
		for i := range n {
			group.Go(func() { refs[i], failures[i] = s.cloned("2", s.public) })
		}
		group.Wait()
	})
	if made != 2 {
		t.Errorf("git worked on %d requests, want 2: what there is, and the pack; what the server can do was asked before", made)
	}
	for i := range n {
		if failures[i] != nil || refs[i] != refs[0] {
			t.Fatalf("clone %d: %v, got\n%s\nwant\n%s", i, failures[i], refs[i], refs[0])
		}
	}
	if want := s.git(s.source, "rev-parse", "HEAD"); !strings.Contains(refs[0], want) {
		t.Errorf("the clones have\n%s\nwithout %s", refs[0], want)
	}
}

// TestStorm_kinds clones in every way twice: the second time git has nothing to do. A
// push makes it work again, and what it pushed is there.
func TestStorm_kinds(t *testing.T) {
	t.Parallel()
	s := newStorm(t, "--ssh", "127.0.0.1:0")
	kinds := map[string][]string{
		"whole": nil, "shallow": {"--depth=1"}, "deeper": {"--depth=3", "--no-single-branch"},
		"partial": {"--filter=blob:none"}, "single branch": {"--single-branch", "--branch=old"}, "since": {"--shallow-since=2001-01-01T00:00:00Z"},
	}
	for name, args := range kinds {
		for _, version := range []string{"0", "1", "2"} {
			args := append(append([]string(nil), args...), "file://"+s.repository())
			want, err := s.cloned(version, args...)
			if err != nil {
				t.Fatal(err)
			}
			args[len(args)-1] = s.public
			for again := range 2 {
				made := s.worked(func() {
					got, err := s.cloned(version, args...)
					if err != nil {
						t.Errorf("%s, version %s: %v", name, version, err)
					}
					if got != want {
						t.Errorf("%s, version %s: got\n%s\nwant\n%s", name, version, got, want)
					}
				})
				if again == 1 && made != 0 {
					t.Errorf("%s, version %s: git worked on %d requests of the second clone", name, version, made)
				}
			}
		}
	}
	s.git(s.source, "commit", "-q", "--allow-empty", "-m", "new")
	s.git(s.source, "push", "-q", "origin", "HEAD")
	made := s.worked(func() {
		refs, err := s.cloned("2", s.public)
		if tip := s.git(s.source, "rev-parse", "HEAD"); err != nil || !strings.Contains(refs, tip) {
			t.Errorf("after a push: %v, got\n%s\nwithout %s", err, refs, tip)
		}
	})
	if made != 2 {
		t.Errorf("git worked on %d requests after a push, want 2: what there is, and the pack", made)
	}
	s.overSSH(t)
}

// overSSH clones over SSH what was cloned over HTTP: they share the answers.
func (s *storm) overSSH(t *testing.T) {
	t.Helper()
	for _, program := range []string{"ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SSH: skipped (no %s)", program)
		}
	}
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	s.want(201, s.ann, "POST", "/user/keys", fmt.Sprintf(`{"title":"key","key":%q}`, strings.TrimSpace(string(public))))
	ssh := "core.sshCommand=ssh -i " + key + " -o IdentitiesOnly=yes -o IdentityAgent=none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
	for version, want := range map[string]int{"2": 0, "0": 1} {
		var refs string
		made := s.worked(func() {
			if refs, err = s.cloned(version, "-c", ssh, "ssh://git@"+s.s.SSH+"/team/app.git"); err != nil {
				t.Error(err)
			}
		})
		if tip := s.git(s.source, "rev-parse", "HEAD"); made != want || !strings.Contains(refs, tip) {
			t.Errorf("over SSH, version %s: git worked on %d requests, want %d; got\n%s\nwant %s among them", version, made, want, refs, tip)
		}
	}
}

// TestStorm_busy fills the server with work: anonymous clones are refused with a text that
// git shows; a clone that sends its credentials at once waits. Git by itself sends them only
// after a 401, which a public project never answers.
func TestStorm_busy(t *testing.T) {
	t.Parallel()
	s := newStorm(t, "--git-fetches", "1", "--git-fetches-per-address", "1")
	release := s.occupy(t)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	busy := make(chan struct{})
	tell := sync.OnceFunc(func() { close(busy) })
	for range 2 { // one waits for a turn, the other is one too many of its address
		group.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.public+"/info/refs?service=git-upload-pack", nil)
				if err != nil {
					t.Error(err)
					return
				}
				a, err := s.send(req)
				if err == nil && a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "5" && strings.HasPrefix(string(a.body), "The server is busy") {
					tell()
				}
			}
		})
	}
	<-busy
	if _, err := s.cloned("0", s.public); err == nil || !strings.Contains(err.Error(), "remote: The server is busy") || !strings.Contains(err.Error(), "503") {
		t.Errorf("a clone by nobody: %v", err)
	}
	waited := make(chan error, 1)
	group.Go(func() {
		_, err := s.cloned("2", "-c", "http.extraHeader=Authorization: Basic "+basic("ann", s.ann), s.public)
		waited <- err
	})
	release()
	if err := <-waited; err != nil {
		t.Errorf("a clone by ann: %v", err)
	}
}

// occupy begins a fetch that does not end until it is released.
func (s *storm) occupy(t *testing.T) (release func()) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(*s.url.Load(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	have := "0032have " + strings.Repeat("1", 40) + "\n"
	body := "0032want " + s.git(s.source, "rev-parse", "HEAD") + "\n0000" + strings.Repeat(have, 1<<20/len(have)+2)
	made := s.metric("tenon_git_fetch_runs_total")
	_, err = fmt.Fprintf(c, "POST /team/app.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nAuthorization: Basic %s\r\n"+
		"Content-Type: application/x-git-upload-pack-request\r\nContent-Length: %d\r\n\r\n%s", basic("ann", s.ann), len(body)+1000, body)
	if err != nil {
		t.Fatal(err)
	}
	s.await("git to work on a long request", func() bool { return s.metric("tenon_git_fetch_runs_total") > made })
	return func() { _ = c.Close() }
}

// TestStorm_refused asks for what there is not: the refusal is not remembered.
func TestStorm_refused(t *testing.T) {
	t.Parallel()
	s := newStorm(t)
	dir := t.TempDir()
	s.git(dir, "init", "-q", ".")
	for range 2 {
		made := s.worked(func() {
			out, err := git(t.Context(), dir, "fetch", s.public, strings.Repeat("1", 40))
			if err == nil || !strings.Contains(err.Error(), "not our ref") {
				t.Errorf("got %s, %v", out, err)
			}
		})
		if made == 0 {
			t.Error("git did not look again")
		}
	}
}
