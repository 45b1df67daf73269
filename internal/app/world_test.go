package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/config"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

const (
	rootToken    = "glpat-root-of-the-tests-0"
	rootPassword = "a-root-password-of-tests"
)

// server is a whole server in a folder of its own, asked through its handler.
type server struct {
	*App
	tb   testing.TB
	logs *logbook
	data string
	refs map[string]string // of the furnished world, as undone keeps them
	keys map[string]string // secrets of tokens by the name that a test asks under
	ids  map[string]authz.UserID
}

// logbook keeps what was logged.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// last gives the last error that was logged.
func (l *logbook) last() string {
	text := l.String()
	from := strings.LastIndex(text, `"level":"ERROR"`)
	if from < 0 {
		return ""
	}
	line, _, _ := strings.Cut(text[from:], "\n")
	return line
}

// newServer starts one on a database address, "" for SQLite.
func newServer(tb testing.TB, database string) *server {
	tb.Helper()
	s := &server{
		tb: tb, logs: &logbook{}, data: tb.TempDir(), keys: map[string]string{"admin": rootToken}, ids: map[string]authz.UserID{"admin": 1},
	}
	if database == "" {
		database = "sqlite:" + filepath.Join(s.data, "tenon.db")
	}
	ctx := context.WithoutCancel(tb.Context()) // closing comes after its end
	log := slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a, err := New(ctx, &config.Config{
		Data: s.data, HTTP: "127.0.0.1:0", Database: database,
		Root: config.Root{Password: rootPassword, Token: rootToken},
	}, log, Build{Version: "test", Revision: "unknown"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := a.Close(ctx); err != nil {
			tb.Errorf("close the server: %v", err)
		}
	})
	s.App = a
	return s
}

// eachEngine runs fn on SQLite and on PostgreSQL.
func eachEngine(t *testing.T, fn func(t *testing.T, s *server)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, newServer(t, ""))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, newServer(t, dbtest.PostgresURL(t)))
	})
}

// request is what a test asks.
type request struct {
	as     string // name of a token, "" for nobody
	sudo   string
	method string
	path   string // below /api/v4
	body   map[string]any
}

// send asks the handler; a nil ctx is the test's.
func (s *server) send(ctx context.Context, q request) *httptest.ResponseRecorder {
	var in io.Reader
	if q.body != nil {
		b, err := json.Marshal(q.body)
		if err != nil {
			panic(err)
		}
		in = bytes.NewReader(b)
	}
	r := httptest.NewRequestWithContext(ctx, q.method, api.Prefix+q.path, in)
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.as != "" {
		r.Header.Set("Private-Token", s.keys[q.as])
	}
	if q.sudo != "" {
		r.Header.Set("Sudo", q.sudo)
	}
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	return w
}

// do makes a request that has to succeed, and gives its answer.
func (s *server) do(as, method, path string, body map[string]any) map[string]any {
	s.tb.Helper()
	w := s.send(s.tb.Context(), request{as: as, method: method, path: path, body: body})
	if w.Code >= 300 {
		s.tb.Fatalf("%s: %s %s %v: got %d %s", as, method, path, body, w.Code, w.Body)
	}
	var out map[string]any
	if w.Body.Len() > 0 && w.Body.Bytes()[0] == '{' {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			s.tb.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return out
}

// number gives a numeric field of an answer as a path has it.
func number(answer map[string]any, key string) string {
	n, ok := answer[key].(float64)
	if !ok {
		panic("no number " + key)
	}
	return strconv.FormatInt(int64(n), 10)
}

// user makes a user with a token that may do everything an ordinary one may.
func (s *server) user(name string, change func(in *account.Input)) authz.UserID {
	s.tb.Helper()
	in := account.Input{
		Username: name, Name: name, Email: name + "@example.com", ForceRandomPassword: true, SkipConfirmation: true,
	}
	if change != nil {
		change(&in)
	}
	u, err := s.accounts.Create(s.tb.Context(), authz.System(), in)
	if err != nil {
		s.tb.Fatalf("make user %s: %v", name, err)
	}
	s.ids[name] = u.ID
	s.token(name, name, authz.ScopeAPI)
	return u.ID
}

// token makes a token for a user under a name of its own.
func (s *server) token(name, user string, scopes ...authz.Scope) *account.Token {
	s.tb.Helper()
	t, key, err := s.accounts.CreateToken(s.tb.Context(), authz.System(), s.ids[user], account.TokenInput{Name: name, Scopes: scopes})
	if err != nil {
		s.tb.Fatalf("make token %s: %v", name, err)
	}
	s.keys[name] = key
	return t
}

// exec changes the database behind the server's back.
func (s *server) exec(query string, args ...any) {
	s.tb.Helper()
	if _, err := s.db.Exec(s.tb.Context(), query, args...); err != nil {
		s.tb.Fatal(err)
	}
}

var errUndo = errors.New("undo")

// undone makes a request whose rows and references are as before when it returns: it
// runs in a transaction that is rolled back, after first where there is one.
func (s *server) undone(q request, first *request) *httptest.ResponseRecorder {
	if q.method == http.MethodGet {
		return s.send(s.tb.Context(), q)
	}
	if s.refs == nil {
		s.refs = s.references()
	}
	var w *httptest.ResponseRecorder
	err := s.db.InTx(s.tb.Context(), func(ctx context.Context) error {
		if first != nil {
			if w = s.send(ctx, *first); w.Code >= 300 {
				s.tb.Errorf("%s %s: got %d %s", first.method, first.path, w.Code, w.Body)
			}
		}
		w = s.send(ctx, q)
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		s.tb.Errorf("%s %s: got %v in the end", q.method, q.path, err)
	}
	if w.Code < 300 {
		s.restore(s.refs)
	}
	return w
}

// references reads the files that hold the references of all repositories.
func (s *server) references() map[string]string {
	out := map[string]string{}
	root := filepath.Join(s.data, "repositories")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "objects" || d.Name() == "logs"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		content, err := os.ReadFile(path)
		out[path] = string(content)
		return err
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	return out
}

// restore brings the references back. Repositories that were made since stay: the next
// project with the same number takes them over.
func (s *server) restore(before map[string]string) {
	now := s.references()
	for path := range now {
		repo, _, _ := strings.Cut(path, ".git"+string(filepath.Separator))
		_, kept := before[path]
		_, known := before[filepath.Join(repo+".git", "HEAD")]
		if kept || !known {
			continue
		}
		if err := os.Remove(path); err != nil {
			s.tb.Fatal(err)
		}
	}
	for path, content := range before {
		if now[path] == content {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			s.tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// place is a group or project with one of everything in it.
type place struct {
	name    string
	values  map[string]string // of the names in paths: "projects/:id", ":issue_iid"
	project bool
}

// levels are the roles that the world has people for.
func levels() map[string]authz.Level {
	return map[string]authz.Level{
		"minimal": authz.Minimal, "guest": authz.Guest, "planner": authz.Planner, "reporter": authz.Reporter,
		"developer": authz.Developer, "maintainer": authz.Maintainer, "owner": authz.Owner, "mate": authz.Developer, "blocked": authz.Owner,
	}
}

// world is a server with people, groups and projects.
type world struct {
	*server
	instance, groups, projects []*place
}

// newWorld furnishes a server: everybody in levels has that role in every place but
// the personal project, which is owner's.
func newWorld(s *server) *world {
	s.tb.Helper()
	w := &world{server: s}
	for name := range levels() {
		s.user(name, nil)
	}
	yes := true
	s.user("stranger", nil)
	s.user("newcomer", nil)
	s.user("requester", nil)
	s.user("external", func(in *account.Input) { in.External = &yes })
	s.user("auditor", func(in *account.Input) { in.Auditor = true })
	s.token("admin without sudo", "admin", authz.ScopeAPI)
	s.token("read_api", "owner", authz.ScopeReadAPI)
	s.token("read_user", "owner", authz.ScopeReadUser)
	s.token("read_repository", "owner", authz.ScopeReadRepository)
	s.token("write_repository", "owner", authz.ScopeWriteRepository)
	s.token("self_rotate", "owner", authz.ScopeSelfRotate)
	impersonation := s.token("impersonation", "owner", authz.ScopeAPI)
	expired := s.token("expired", "owner", authz.ScopeAPI)
	revoked := s.token("revoked", "owner", authz.ScopeAPI)
	s.keys["unknown"] = "glpat-00000000000000000000"
	s.exec("UPDATE access_tokens SET kind = ? WHERE id = ?", account.ImpersonationToken, impersonation.ID)
	s.exec("UPDATE access_tokens SET expires_on = ? WHERE id = ?", time.Now().UTC().Format(time.DateOnly), expired.ID)
	s.exec("UPDATE access_tokens SET revoked = ? WHERE id = ?", true, revoked.ID)
	mates := s.token("mate's", "mate", authz.ScopeAPI)

	common := map[string]string{
		"users/:id": strconv.FormatInt(int64(s.ids["mate"]), 10), ":user_id": strconv.FormatInt(int64(s.ids["mate"]), 10),
		"personal_access_tokens/:id": strconv.FormatInt(int64(mates.ID), 10), "reporter": strconv.FormatInt(int64(s.ids["reporter"]), 10),
		"newcomer":  strconv.FormatInt(int64(s.ids["newcomer"]), 10),
		"requester": strconv.FormatInt(int64(s.ids["requester"]), 10), ":email": "guest@example.org",
		"own":       number(s.do("owner", "POST", "/projects", map[string]any{"name": "Own", "visibility": "public"}), "id"),
		":group_id": number(s.do("owner", "POST", "/groups", map[string]any{"name": "Invited", "path": "invited"}), "id"),
		"guests":    number(s.do("owner", "POST", "/groups", map[string]any{"name": "Guests", "path": "guests"}), "id"),
	}
	for _, k := range []struct{ as, name, key string }{
		{"admin", "own key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICHGD8qKFgbP42oiLQ/X5Syah+qxI1XmUfRQ7i2zxpEZ"},
		{"mate", "keys/:id", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILg+cq35n0EnxL4mdNo41d304zhzyHx0W11LhL5MBtpS"},
	} {
		common[k.name] = number(s.do(k.as, "POST", "/user/keys", map[string]any{"title": "laptop", "key": k.key}), "id")
	}
	common["keys/:key_id"] = common["keys/:id"]
	w.instance = []*place{{name: "instance", values: common}}
	for _, visibility := range []string{"private", "internal", "public"} {
		group := w.group(visibility, common)
		w.groups = append(w.groups, group)
		w.projects = append(w.projects, w.project(visibility, group, map[string]any{"visibility": visibility}))
	}
	private, public := w.groups[0], w.groups[2]
	personal := w.project("personal", nil, map[string]any{"visibility": "private"})
	archived := w.project("archived", public, map[string]any{"visibility": "public"})
	s.do("owner", "POST", "/projects/"+archived.values["projects/:id"]+"/archive", nil)
	closed := w.project("members", public, map[string]any{"visibility": "public"})
	s.do("owner", "PUT", "/projects/"+closed.values["projects/:id"], map[string]any{
		"issues_access_level": "private", "merge_requests_access_level": "private", "repository_access_level": "private",
	})
	off := w.project("off", private, map[string]any{"visibility": "private"})
	s.do("owner", "PUT", "/projects/"+off.values["projects/:id"], map[string]any{
		"issues_access_level": "disabled", "merge_requests_access_level": "disabled", "repository_access_level": "disabled",
	})
	w.projects = append(w.projects, personal, archived, closed, off)
	s.exec(`INSERT INTO access_requests (namespace_id, user_id, created_at)
		SELECT id, CAST(? AS BIGINT), created_at FROM namespaces WHERE kind <> 'user'`, s.ids["requester"])
	s.do("admin", "POST", "/users/"+strconv.FormatInt(int64(s.ids["blocked"]), 10)+"/block", nil)
	return w
}

// group makes a group with everybody in it, and a label.
func (w *world) group(visibility string, common map[string]string) *place {
	g := w.do("admin", "POST", "/groups", map[string]any{"name": visibility, "path": "in-" + visibility, "visibility": visibility})
	path := "/groups/" + number(g, "id")
	w.populate(path, authz.Owner)
	w.do("owner", "POST", path+"/labels", map[string]any{"name": "bug", "color": "#ff0000"})
	w.do("owner", "POST", path+"/invitations", map[string]any{"email": common[":email"], "access_level": authz.Guest})
	w.do("owner", "POST", path+"/share", map[string]any{"group_id": common[":group_id"], "group_access": authz.Guest})
	p := &place{name: visibility, values: maps.Clone(common)}
	maps.Copy(p.values, map[string]string{
		"groups/:id": number(g, "id"), "namespaces/:id": number(g, "id"), ":name": "bug", "full_path": "in-" + visibility,
	})
	return p
}

// populate adds everybody up to a level to a group or project.
func (w *world) populate(path string, upTo authz.Level) {
	for name, level := range levels() {
		if level > upTo || level == authz.Minimal && !strings.HasPrefix(path, "/groups") {
			continue
		}
		w.do("admin", "POST", path+"/members", map[string]any{"user_id": w.ids[name], "access_level": level})
	}
}

// project makes a project in a group, or in owner's namespace, with one of everything.
func (w *world) project(name string, group *place, more map[string]any) *place {
	body := map[string]any{"name": name, "path": "the-" + name, "initialize_with_readme": true}
	p := &place{name: name, values: map[string]string{}, project: true}
	if group != nil {
		body["namespace_id"] = group.values["groups/:id"]
		maps.Copy(p.values, group.values)
	} else {
		maps.Copy(p.values, w.instance[0].values)
	}
	maps.Copy(body, more)
	made := w.do("owner", "POST", "/projects", body)
	id := number(made, "id")
	path := "/projects/" + id
	if group == nil {
		w.populate(path, authz.Maintainer)
	} else {
		// The mate is a direct member of the project, so that there is one to change and remove.
		w.do("admin", "POST", path+"/members", map[string]any{"user_id": w.ids["mate"], "access_level": authz.Maintainer})
		w.do("admin", "POST", path+"/members", map[string]any{"user_id": w.ids["reporter"], "access_level": authz.Reporter})
	}
	w.do("owner", "POST", path+"/labels", map[string]any{"name": "bug of " + name, "color": "#ff0000"})
	w.do("owner", "POST", path+"/invitations", map[string]any{"email": p.values[":email"], "access_level": authz.Guest})
	w.do("owner", "POST", path+"/share", map[string]any{"group_id": p.values[":group_id"], "group_access": authz.Guest})
	for _, branch := range []string{"feature", "spare", "merged"} {
		w.do("owner", "POST", path+"/repository/branches", map[string]any{"branch": branch, "ref": "main"})
	}
	for _, branch := range []string{"feature", "spare"} {
		w.do("developer", "POST", path+"/repository/files/"+branch+".md", map[string]any{
			"branch": branch, "content": "text", "commit_message": "Add " + branch,
		})
	}
	w.do("owner", "POST", path+"/repository/tags", map[string]any{"tag_name": "v1", "ref": "main"})
	w.do("owner", "POST", path+"/protected_tags", map[string]any{"name": "v*"})
	head := w.do("owner", "GET", path+"/repository/commits/feature", nil)
	file := w.do("owner", "GET", path+"/repository/files/README.md?ref=main", nil)

	issue := w.do("guest", "POST", path+"/issues", map[string]any{"title": "Of a guest"})
	secret := w.do("owner", "POST", path+"/issues", map[string]any{"title": "Secret", "confidential": true})
	request := w.do("developer", "POST", path+"/merge_requests", map[string]any{
		"title": "Feature", "source_branch": "feature", "target_branch": "main",
	})
	onIssue := path + "/issues/" + number(issue, "iid") + "/notes"
	onRequest := path + "/merge_requests/" + number(request, "iid") + "/notes"
	note := w.do("guest", "POST", onIssue, map[string]any{"body": "A word"})
	internal := w.do("owner", "POST", onIssue, map[string]any{"body": "Between us", "internal": true})
	review := w.do("developer", "POST", onRequest, map[string]any{"body": "A review"})
	versions := w.send(w.tb.Context(), get("owner", path+"/merge_requests/"+number(request, "iid")+"/versions"))
	var list []map[string]any
	if err := json.Unmarshal(versions.Body.Bytes(), &list); err != nil || len(list) == 0 {
		w.tb.Fatalf("versions: %d %s", versions.Code, versions.Body)
	}
	maps.Copy(p.values, map[string]string{
		"projects/:id": id, ":issue_iid": number(issue, "iid"), ":merge_request_iid": number(request, "iid"),
		"issues/:noteable_id": number(issue, "iid"), "merge_requests/:noteable_id": number(request, "iid"),
		"issues/:note_id": number(note, "id"), "merge_requests/:note_id": number(review, "id"),
		"issues/:id": number(issue, "id"), "confidential": number(secret, "iid"), "internal": number(internal, "id"),
		":branch": "feature", ":tag_name": "v1", ":sha": head["id"].(string), "blobs/:sha": file["blob_id"].(string),
		":file_path": "README.md", "protected_branches/:name": "main", "protected_tags/:name": "v*", ":name": "bug of " + name, ":version_id": number(list[0], "id"), "version": number(list[0], "id"),
		"full_path": made["path_with_namespace"].(string),
	})
	return p
}

func get(as, path string) request { return request{as: as, method: http.MethodGet, path: path} }

// kit gives the REST interface behind the handler.
func (s *server) kit() *api.Kit {
	h := s.http.Handler
	if i, ok := h.(interface{ Unwrap() http.Handler }); ok {
		h = i.Unwrap()
	}
	return h.(*router).api.(*api.Kit)
}
