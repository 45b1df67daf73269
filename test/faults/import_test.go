package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenon/test/servertest"
)

// origin is a git server elsewhere, which can be told to say nothing.
type origin struct {
	*httptest.Server
	silent atomic.Bool
	asked  chan struct{} // one for each fetch that is not answered
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "-b", "trunk", "work"},
		{"-C", "work", "-c", "user.name=Sam", "-c", "user.email=sam@example.com", "commit", "-q", "--allow-empty", "-m", "First"},
		{"clone", "-q", "--mirror", "work", "shop.git"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	path, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), InheritEnv: []string{"PATH"},
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"},
	}
	o := &origin{asked: make(chan struct{}, 100)}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && o.silent.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection goes unnoticed
			o.asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(o.Close)
	return o
}

// TestKill_import kills the server while it fetches from elsewhere: the next start goes on
// with the import, to its end or to a failure that says why.
func TestKill_import(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		w := newWorld(t, database)
		if _, err := w.open().Exec(context.Background(), "INSERT INTO settings (name, value, updated_at) VALUES (?, ?, ?)",
			"allow_local_requests_from_web_hooks_and_services", "true", time.Now()); err != nil {
			t.Fatal(err)
		}
		w.s.Stop()
		w.s.Restart()
		w.moved()
		stays, goes := newOrigin(t), newOrigin(t)
		projects := map[*origin]int64{}
		for o, name := range map[*origin]string{stays: "stays", goes: "goes"} {
			o.silent.Store(true)
			projects[o] = w.want(201, w.ann, "POST", "/projects", fmt.Sprintf(`{"name":%q,"namespace_id":%d,"import_url":"%s/shop.git"}`, name, w.group, o.URL)).number("id")
			select {
			case <-o.asked:
			case <-time.After(2 * time.Minute):
				t.Fatalf("the import of %s does not begin:\n%s", name, w.s.Log())
			}
		}
		for _, id := range projects {
			if status := w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d/import", id), "").text("import_status"); status != "started" {
				t.Errorf("before: %s", status)
			}
		}
		w.s.Kill()
		stays.silent.Store(false)
		goes.Close()
		w.s.Restart()
		w.moved()
		for o, want := range map[*origin][2]string{stays: {"finished", ""}, goes: {"failed", "The repository could not be fetched."}} {
			at := fmt.Sprintf("/projects/%d/import", projects[o])
			got := w.want(200, w.ann, "GET", at, "")
			for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); got = w.want(200, w.ann, "GET", at, "") {
				if status := got.text("import_status"); status == "finished" || status == "failed" {
					break
				}
				select {
				case <-time.After(100 * time.Millisecond):
				case <-t.Context().Done():
				}
			}
			if got.text("import_status") != want[0] || got.text("import_error") != want[1] {
				t.Errorf("got %s, want %v", got.body, want)
			}
		}
		branches := w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d/repository/branches", projects[stays]), "")
		if !strings.Contains(string(branches.body), `"name":"trunk"`) {
			t.Errorf("branches of what was imported: %s", branches.body)
		}
	})
}
