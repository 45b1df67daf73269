package faults

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/test/servertest"
)

// world is a server with a project, its maintainer ann and its developer ben.
type world struct {
	t    *testing.T
	s    *servertest.Server
	http *http.Client
	url  *atomic.Pointer[string] // of the server, another one after each restart

	ann, ben string // tokens
	annID    int64
	group    int64
	project  int64
}

func newWorld(t *testing.T, database string, args ...string) *world {
	t.Helper()
	w := &world{t: t, s: servertest.Start(t, database, args...), url: new(atomic.Pointer[string])}
	w.moved()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	w.http = &http.Client{Transport: transport, Timeout: time.Minute}
	w.annID, w.ann = w.user("ann")
	benID, ben := w.user("ben")
	w.ben = ben
	w.group = w.want(201, w.ann, "POST", "/groups", `{"name":"team","path":"team"}`).number("id")
	w.want(201, w.ann, "POST", fmt.Sprintf("/groups/%d/members", w.group), fmt.Sprintf(`{"user_id":%d,"access_level":30}`, benID))
	w.project = w.want(201, w.ann, "POST", "/projects", fmt.Sprintf(`{"name":"app","namespace_id":%d,"initialize_with_readme":true}`, w.group)).number("id")
	return w
}

// in is the world for a subtest, so that it fails where it is.
func (w *world) in(t *testing.T) *world {
	inner := *w
	inner.t = t
	return &inner
}

// moved notes the address that the server has now.
func (w *world) moved() {
	url := w.s.URL
	w.url.Store(&url)
}

func (w *world) user(name string) (int64, string) {
	w.t.Helper()
	id := w.want(201, servertest.RootToken, "POST", "/users", fmt.Sprintf(
		`{"username":%q,"name":%q,"email":"%s@example.com","password":"correct horse %s","skip_confirmation":true}`, name, name, name, name)).number("id")
	token := w.want(201, servertest.RootToken, "POST", fmt.Sprintf("/users/%d/personal_access_tokens", id), `{"name":"fault","scopes":["api"]}`).text("token")
	return id, token
}

// answer is what a request got.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a *answer) field(name string) any {
	var fields map[string]any
	dec := json.NewDecoder(bytes.NewReader(a.body))
	dec.UseNumber()
	if err := dec.Decode(&fields); err != nil {
		return nil
	}
	return fields[name]
}

func (a *answer) text(name string) string { s, _ := a.field(name).(string); return s }

func (a *answer) number(name string) int64 {
	n, _ := a.field(name).(json.Number)
	i, _ := n.Int64()
	return i
}

// call sends a request with a JSON body; an error means that no whole answer came back.
func (w *world) call(ctx context.Context, token, method, path, body string) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, *w.url.Load()+"/api/v4"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Private-Token", token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return w.send(req)
}

func (w *world) send(req *http.Request) (*answer, error) {
	res, err := w.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return &answer{res.StatusCode, res.Header, out}, nil
}

// want calls and fails the test unless the status is the expected one.
func (w *world) want(status int, token, method, path, body string) *answer {
	w.t.Helper()
	a, err := w.call(w.t.Context(), token, method, path, body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.status != status {
		w.t.Fatalf("%s %s: got %d, want %d: %.300s", method, path, a.status, status, a.body)
	}
	return a
}

// all reads every page of a list of the project.
func all[T any](w *world, path string) []T {
	w.t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	var out []T
	for page := 1; ; page++ {
		a := w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d%s%sper_page=100&page=%d", w.project, path, sep, page), "")
		var rows []T
		if err := json.Unmarshal(a.body, &rows); err != nil {
			w.t.Fatalf("%s: %v: %.300s", path, err, a.body)
		}
		out = append(out, rows...)
		if a.header.Get("X-Next-Page") == "" {
			return out
		}
	}
}

// open returns the server's database.
func (w *world) open() *db.DB {
	w.t.Helper()
	address := w.s.Database()
	if address == "" {
		address = "sqlite:" + filepath.Join(w.s.Data, "tenon.db")
	}
	d, err := db.Open(w.t.Context(), db.Config{URL: address, Readers: 2})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = d.Close() })
	return d
}

// count runs a query that counts.
func count(t *testing.T, d *db.DB, query string) int64 {
	t.Helper()
	n, err := db.Get[int64](t.Context(), d, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// repository is the folder of the project's repository.
func (w *world) repository() string {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(strconv.FormatInt(w.project, 10))))
	return filepath.Join(w.s.Data, "repositories", "@hashed", sum[:2], sum[2:4], sum+".git")
}

// git runs git in a folder, with nothing of the machine's configuration.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := git(w.t.Context(), dir, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// remote is the project's address for git, with ann's token.
func (w *world) remote() string {
	return strings.Replace(*w.url.Load(), "http://", "http://ann:"+w.ann+"@", 1) + "/team/app.git"
}
