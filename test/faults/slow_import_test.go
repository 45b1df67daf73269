package faults

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/test/servertest"
)

// dripping is a git server elsewhere that lists its references well and then sends just as
// much as it must, without end.
func dripping(t *testing.T) *httptest.Server {
	t.Helper()
	good := newOrigin(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if r.Method != http.MethodPost || strings.Contains(string(body), "command=ls-refs") {
			good.Config.Handler.ServeHTTP(w, r)
			return
		}
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		// The pack is announced, and then nothing comes but progress.
		for text := "000dpackfile\n"; ; text = fmt.Sprintf("%04x\x02%s", 4+1+1000, strings.Repeat(" ", 1000)) {
			_, err := io.WriteString(w, text)
			if err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// until waits for a field of what is at a path.
func (w *world) until(token, path, field, want string) {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		got := w.want(200, token, "GET", path, "")
		if fmt.Sprint(got.field(field)) == want {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: %s is %v, want %s\n%s", path, field, got.field(field), want, w.s.Log())
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-w.t.Context().Done():
		}
	}
}

// gits counts the git processes that have to do with an address.
func gits(t *testing.T, address string) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), address) {
			n++
		}
	}
	return n
}

// TestSlowImports fills the server with imports from servers that send slowly:
// all other work in the background goes on, an import of another user among it.
func TestSlowImports(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		w := newWorld(t, database, "--rate-limits=off")
		w.want(200, servertest.RootToken, "PUT", "/application/settings", `{"allow_local_requests_from_web_hooks_and_services":true}`)
		slow, good := dripping(t), newOrigin(t)
		const imports = 100
		var ids []int64
		for i := range imports {
			token := []string{w.ann, w.ben}[i%2]
			ids = append(ids, w.want(201, token, "POST", "/projects", fmt.Sprintf(`{"name":"slow %d","import_url":"%s/shop.git"}`, i, slow.URL)).number("id"))
		}
		for _, id := range ids[:4] { // two of each
			w.until(servertest.RootToken, fmt.Sprintf("/projects/%d/import", id), "import_status", "started")
		}
		for _, id := range ids[4:] {
			w.until(servertest.RootToken, fmt.Sprintf("/projects/%d/import", id), "import_status", "scheduled")
		}
		w.await("a git process of an import", func() bool { return gits(t, slow.URL) > 0 })

		root := servertest.RootToken
		other := w.want(201, root, "POST", "/projects", fmt.Sprintf(`{"name":"other","import_url":"%s/shop.git"}`, good.URL)).number("id")
		w.until(root, fmt.Sprintf("/projects/%d/import", other), "import_status", "finished")

		at := fmt.Sprintf("/projects/%d", w.project)
		fork := w.want(201, w.ben, "POST", at+"/fork", `{}`).number("id")
		w.until(w.ben, fmt.Sprintf("/projects/%d", fork), "import_status", "finished")
		for _, branch := range []string{"topic", "main"} {
			w.want(201, w.ann, "POST", at+"/repository/commits", commit(branch))
		}
		mr := w.want(201, w.ann, "POST", at+"/merge_requests", `{"source_branch":"topic","target_branch":"main","title":"Topic"}`).number("iid")
		request := fmt.Sprintf("%s/merge_requests/%d", at, mr)
		w.want(202, w.ann, "PUT", request+"/rebase", "")
		w.until(w.ann, request+"?include_rebase_in_progress=true", "rebase_in_progress", "false")
		w.until(w.ann, request, "detailed_merge_status", "mergeable")
		w.want(200, w.ann, "PUT", request+"/merge", "")

		gone := w.want(201, w.ann, "POST", "/projects", `{"name":"gone","initialize_with_readme":true}`)
		w.delete(w.ann, gone.number("id"))

		d := w.open()
		w.await("the project to be gone", func() bool {
			return count(t, d, fmt.Sprintf("SELECT COUNT(*) FROM projects WHERE id = %d", gone.number("id"))) == 0
		})

		// Those that wait are deleted first, or they would begin.
		for i := len(ids) - 1; i >= 0; i-- {
			w.want(202, root, "DELETE", fmt.Sprintf("/projects/%d", ids[i]), "")
		}
		w.await("the git processes of imports to end", func() bool { return gits(t, slow.URL) == 0 })
		w.await("no import to wait or run", func() bool { return count(t, d, "SELECT COUNT(*) FROM project_imports") == 0 })
	})
}

// commit is the body of a commit that adds a file to a branch.
func commit(branch string) string {
	start := ""
	if branch != "main" {
		start = `"start_branch":"main",`
	}
	return fmt.Sprintf(`{"branch":%q,%s"commit_message":"Work","actions":[{"action":"create","file_path":"%s.txt","content":"x"}]}`, branch, start, branch)
}

// delete deletes a project for good.
func (w *world) delete(token string, id int64) {
	w.t.Helper()
	at := fmt.Sprintf("/projects/%d", id)
	w.want(202, token, "DELETE", at, "")
	a, err := w.call(w.t.Context(), token, "GET", at, "")
	if err != nil {
		w.t.Fatal(err)
	}
	if a.status == http.StatusNotFound {
		return
	}
	w.want(202, token, "DELETE", at, fmt.Sprintf(`{"permanently_remove":true,"full_path":%q}`, a.text("path_with_namespace")))
}
