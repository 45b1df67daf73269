package gitcmd_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// serve is git over HTTP in its smallest form, in front of one repository.
func serve(t *testing.T, r *gitcmd.Repo, judge gitcmd.Judge) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := strings.TrimPrefix(req.URL.Query().Get("service"), "git-")
		s := gitcmd.Service{Stateless: true, Protocol: req.Header.Get("Git-Protocol"), Stdin: req.Body, Stdout: w}
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
		var err error
		if name == "receive-pack" {
			_ = http.NewResponseController(w).EnableFullDuplex()
			err = r.ReceivePack(req.Context(), gitcmd.Receive{
				Advertise: s.Advertise, Stateless: true, Protocol: s.Protocol, Hidden: []string{"refs/secret/"}, Judge: judge, Stdin: s.Stdin, Stdout: w,
			})
		} else {
			err = r.UploadPack(req.Context(), s)
		}
		if err != nil {
			t.Logf("%s: %v", name, err) // the client shows what went wrong
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/x.git"
}

func TestRepo_services(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	a := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1", "dir/g": "2"})
	b := gittest.Commit(t, r, 1700000001, map[string]string{"f": "2"}, a)
	gittest.Point(t, r, "refs/heads/main", b)
	url := serve(t, r, lenient(r))
	for _, how := range [][]string{{"-c", "protocol.version=2", "clone", "-q"}, {"-c", "protocol.version=0", "clone", "-q"}, {"clone", "-q", "--depth=1"}, {"clone", "-q", "--filter=blob:none"}} {
		dir := filepath.Join(t.TempDir(), "w")
		if out, err := gittest.Try(t.TempDir(), append(how, url, dir)...); err != nil {
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
		gittest.Run(t, t.TempDir(), "clone", "-q", url, dir)
		if err := os.WriteFile(filepath.Join(dir, "f"), fmt.Append(nil, "change ", i), 0o600); err != nil {
			t.Fatal(err)
		}
		gittest.Run(t, dir, "-c", "user.name=x", "-c", "user.email=y", "commit", "-qam", fmt.Sprint("change ", i))
	}
	for i, dir := range dirs {
		group.Go(func() {
			if out, err := gittest.Try(dir, "push", "-q", "origin", fmt.Sprintf("HEAD:refs/heads/b%d", i)); err != nil {
				t.Errorf("push %d: %s", i, out)
			}
			if _, err := gittest.Try(dir, "push", "-q", "origin", "HEAD:main"); err == nil {
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
	if refs := gittest.Must[[]gitstore.Ref](t)(r.Refs(ctx, gitstore.Branches)); len(refs) != 5 {
		t.Errorf("%d branches, want 5", len(refs))
	}
	gittest.Fsck(t, r)
	if err := g.Repo("none.git").UploadPack(ctx, gitcmd.Service{}); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("missing repository: %v", err)
	}
}

func TestRepo_Archive(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	c := gittest.Commit(t, r, 1700000000, map[string]string{"f": "1", "dir/g": "2", "-x": "3", "dir/sub/h": "4", "s*": "5"})
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
	if _, err := list("p", "nope"); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("missing path: %v", err)
	}
	if _, err := list("../p", ""); !errors.Is(err, gitstore.ErrBadName) {
		t.Errorf("climbing prefix: %v", err)
	}
	if err := r.Archive(ctx, gitcmd.ArchiveInput{Commit: c, Format: "--exec=x", Prefix: "p"}, io.Discard); !errors.Is(err, gitstore.ErrBadName) {
		t.Errorf("format: %v", err)
	}
	var zip bytes.Buffer
	if err := r.Archive(ctx, gitcmd.ArchiveInput{Commit: c, Format: gitcmd.ArchiveZip, Prefix: "p"}, &zip); err != nil || zip.Len() == 0 {
		t.Errorf("zip: %d bytes, %v", zip.Len(), err)
	}
}

// slow is a client that takes nothing for longer than a process that was ended may last.
type slow struct {
	took bytes.Buffer
	once sync.Once
}

func (s *slow) Write(p []byte) (int, error) {
	s.once.Do(func() { <-time.After(3 * time.Second) })
	return s.took.Write(p)
}

// A client that reads slowly gets the end as well: by then the process is long over, which
// has put it into the pipe.
func TestRepo_slowReader(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := gittest.NewRepo(t, gittest.New(t))
	tip := gittest.Commit(t, r, 1700000000, map[string]string{"f": strings.Repeat("content\n", 1000)})
	gittest.Point(t, r, "refs/heads/main", tip)
	input := gitcmd.ArchiveInput{Commit: tip, Format: gitcmd.ArchiveTar, Prefix: "x"}
	var want bytes.Buffer
	if err := r.Archive(ctx, input, &want); err != nil {
		t.Fatal(err)
	}
	var got slow
	if err := r.Archive(ctx, input, &got); err != nil || !bytes.Equal(got.took.Bytes(), want.Bytes()) {
		t.Errorf("got %d bytes of %d, %v", got.took.Len(), want.Len(), err)
	}
}
