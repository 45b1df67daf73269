package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/config"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/token"
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
	seen *folders          // of those references, nil until they were restored
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

// last returns the last error that was logged.
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
func newServer(tb testing.TB, database string, changes ...func(*config.Config)) *server {
	tb.Helper()
	return newServerOf(tb, database, Build{Version: "test", Revision: "unknown"}, changes...)
}

// newServerOf is newServer for another program.
func newServerOf(tb testing.TB, database string, build Build, changes ...func(*config.Config)) *server {
	tb.Helper()
	s := &server{
		tb: tb, logs: &logbook{}, data: tb.TempDir(), keys: map[string]string{"admin": rootToken}, ids: map[string]authz.UserID{"admin": 1},
	}
	if database == "" {
		file := filepath.Join(s.data, "tenon.db")
		dbtest.SQLiteFile(tb, file)
		database = "sqlite:" + file
	}
	ctx := context.WithoutCancel(tb.Context()) // closing comes after its end
	log := slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := &config.Config{
		Data: s.data, HTTP: "127.0.0.1:0", Database: database,
		Root: config.Root{Password: rootPassword, Token: rootToken},
	}
	for _, change := range changes {
		change(c)
	}
	a, err := New(ctx, c, log, build)
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
	as     string // name of a token, "" for no user
	sudo   string
	way    string // how the token is presented: a header of its own where empty, else bearer, deployToken, jobToken or a parameter
	method string
	path   string // below /api/v4
	since  string // If-Unmodified-Since, "" for none
	body   map[string]any
	whole  bool   // path is whole, not below /api/v4
	kind   string // Content-Type of a request without a body, "" for none
}

// attached is a value in the body of a request that is sent as a file.
type attached struct{ name, content string }

// encode returns the body and its type: a form where a file is among the values.
func (q request) encode() (io.Reader, string) {
	if q.body == nil {
		return nil, q.kind
	}
	var form bytes.Buffer
	parts, files := multipart.NewWriter(&form), 0
	for key, value := range q.body {
		switch value := value.(type) {
		case attached:
			part, err := parts.CreateFormFile(key, value.name)
			if err != nil {
				panic(err)
			}
			_, _ = part.Write([]byte(value.content))
			files++
		case string:
			_ = parts.WriteField(key, value)
		}
	}
	if files > 0 {
		_ = parts.Close()
		return &form, parts.FormDataContentType()
	}
	b, err := json.Marshal(q.body)
	if err != nil {
		panic(err)
	}
	return bytes.NewReader(b), "application/json"
}

// bearer, deployToken and jobToken are ways to present a token; the others are names of parameters.
const (
	bearer      = "bearer"
	deployToken = "deploy token"
	jobToken    = "job token"
)

// address returns the path, with the token where it is presented as a parameter.
func (q request) address(token string) string {
	if q.way == "" || q.way == bearer || q.way == deployToken || q.way == jobToken {
		return q.path
	}
	mark := "?"
	if strings.Contains(q.path, mark) {
		mark = "&"
	}
	return q.path + mark + q.way + "=" + url.QueryEscape(token)
}

// send asks the handler; a nil ctx is the test's.
func (s *server) send(ctx context.Context, q request) *httptest.ResponseRecorder {
	in, kind := q.encode()
	prefix := api.Prefix
	if q.whole {
		prefix = ""
	}
	r := httptest.NewRequestWithContext(ctx, q.method, prefix+q.address(s.keys[q.as]), in)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	switch {
	case q.as == "":
	case q.way == "":
		r.Header.Set("Private-Token", s.keys[q.as])
	case q.way == bearer:
		r.Header.Set("Authorization", "Bearer "+s.keys[q.as])
	case q.way == deployToken:
		r.Header.Set("Deploy-Token", s.keys[q.as])
	case q.way == jobToken:
		r.Header.Set("Job-Token", s.keys[q.as])
	}
	if q.sudo != "" {
		r.Header.Set("Sudo", q.sudo)
	}
	if q.since != "" {
		r.Header.Set("If-Unmodified-Since", q.since)
	}
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	s.notPlanted(q, w)
	return w
}

// do makes a request that has to succeed, and returns its answer.
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

// publish has users show their addresses, as transfers and archives know people by them.
func (s *server) publish() {
	s.tb.Helper()
	type row struct {
		ID    authz.UserID `db:"id"`
		Email string       `db:"email"`
	}
	users, err := db.Select[row](s.tb.Context(), s.db, "SELECT u.id, MIN(e.email) AS email FROM users u JOIN emails e ON e.user_id = u.id AND e.confirmed_at IS NOT NULL GROUP BY u.id")
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, u := range users {
		if _, err := s.core.Accounts.Update(s.tb.Context(), authz.System(), u.ID, account.Changes{PublicEmail: &u.Email}); err != nil {
			s.tb.Fatalf("show the address of user %d: %v", u.ID, err)
		}
	}
}

// number returns a numeric field of an answer as a path has it.
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
	u, err := s.core.Accounts.Create(s.tb.Context(), authz.System(), in)
	if err != nil {
		s.tb.Fatalf("make user %s: %v", name, err)
	}
	s.ids[name] = u.ID
	s.token(name, name, authz.ScopeAPI)
	return u.ID
}

// token makes a token for a user under a name of its own.
func (s *server) token(name, user string, scopes ...authz.Scope) *token.Token {
	s.tb.Helper()
	t, key, err := s.core.Tokens.Create(s.tb.Context(), authz.System(), s.ids[user], token.Input{Name: name, Scopes: scopes})
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
		s.refs = s.references(filepath.Join(s.data, "repositories"))
	}
	var w *httptest.ResponseRecorder
	s.undo(q, func(ctx context.Context) {
		if first != nil {
			if w = s.send(ctx, *first); w.Code >= 300 {
				s.tb.Errorf("%s %s: got %d %s", first.method, first.path, w.Code, w.Body)
			}
		}
		w = s.send(ctx, q)
	})
	if w.Code < 300 {
		s.restore(s.refs)
	}
	return w
}

// undo runs fn in a transaction, which may do more than those of the server, and rolls it back.
func (s *server) undo(q request, fn func(ctx context.Context)) {
	s.tb.Helper()
	err := s.db.InTx(s.tb.Context(), func(ctx context.Context) error {
		fn(db.Around(ctx))
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		s.tb.Errorf("%s %s: got %v in the end", q.method, q.path, err)
	}
}

// references reads the files that hold the references of all repositories below the roots.
func (s *server) references(roots ...string) map[string]string {
	out := map[string]string{}
	for _, root := range roots {
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
	}
	return out
}

// watchReferences has the folders of references of repositories watched, with those that are new.
func (s *server) watchReferences(repositories []string) {
	for _, root := range repositories {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || !d.IsDir():
				return err
			case d.Name() == "objects" || d.Name() == "logs":
				return fs.SkipDir
			}
			return s.seen.watch(path)
		})
		if err != nil {
			s.tb.Fatal(err)
		}
	}
	s.seen.untouched() // what was changed here is no change
}

// restore brings the references of the repositories of before back. Those that were made
// since stay: the next project with the same number takes them over.
func (s *server) restore(before map[string]string) {
	if s.seen == nil {
		s.seen = newFolders(s.tb)
	} else if s.seen.untouched() {
		return
	}
	var known []string
	for path := range before {
		if filepath.Base(path) == "HEAD" {
			known = append(known, filepath.Dir(path))
		}
	}
	defer s.watchReferences(known)
	now := s.references(known...)
	for path := range now {
		if _, kept := before[path]; kept {
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
