// Package graphql tests the GraphQL interface of a whole server: what REST made is asked for, and
// what is changed here is looked at through both.
package graphql

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/app"
	"tenon/internal/base/config"
	"tenon/internal/base/db/dbtest"
)

const rootToken = "glpat-root-of-the-tests-0"

// server is a whole server in the process of the test. Tokens stand under the names of users;
// "root" is the administrator.
type server struct {
	*app.App
	t      testing.TB
	tokens map[string]string
	ids    map[string]int64
}

// each runs a test on both engines.
func each(t *testing.T, fn func(t *testing.T, s *server)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, newServer(t, ""))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, newServer(t, dbtest.PostgresURL(t)))
	})
}

func newServer(t testing.TB, database string, options ...func(c *config.Config)) *server {
	t.Helper()
	data := t.TempDir()
	if database == "" {
		file := filepath.Join(data, "tenon.db")
		dbtest.SQLiteFile(t, file)
		database = "sqlite:" + file
	}
	ctx := context.WithoutCancel(t.Context()) // closing comes after its end
	c := &config.Config{Data: data, HTTP: "127.0.0.1:0", Database: database, Root: config.Root{Token: rootToken}}
	for _, o := range options {
		o(c)
	}
	a, err := app.New(ctx, c, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})), app.Build{Version: "test", Revision: "unknown"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(ctx); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	return &server{App: a, t: t, tokens: map[string]string{"root": rootToken}, ids: map[string]int64{"root": 1}}
}

// send sends a request with the token of a user, "" for none.
func (s *server) send(as, method, path, body string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if as != "" {
		token, ok := s.tokens[as]
		if !ok {
			s.t.Fatalf("there is no token %s", as)
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// rest sends a request to REST that has to succeed; path is below /api/v4.
func (s *server) rest(as, method, path, body string) map[string]any {
	s.t.Helper()
	w := s.send(as, method, "/api/v4"+path, body)
	if w.Code >= http.StatusMultipleChoices {
		s.t.Fatalf("%s: %s %s %s: got %d %s", as, method, path, body, w.Code, w.Body)
	}
	out := map[string]any{}
	if b := w.Body.Bytes(); len(b) > 0 && b[0] == '{' {
		if err := json.Unmarshal(b, &out); err != nil {
			s.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return out
}

// id returns the number of what REST has made.
func id(made map[string]any) int64 {
	n, ok := made["id"].(float64)
	if !ok {
		panic(fmt.Sprintf("no id in %v", made))
	}
	return int64(n)
}

// user makes a user with a token.
func (s *server) user(name string) int64 {
	s.t.Helper()
	n := id(s.rest("root", "POST", "/users", fmt.Sprintf(`{"username":%q,"name":%q,"email":%q,"force_random_password":true,"skip_confirmation":true}`, name, name, name+"@example.com")))
	s.ids[name] = n
	s.token(name, name, "api")
	return n
}

// token makes a token of a user under a name of its own.
func (s *server) token(name, user, scope string) {
	s.t.Helper()
	made := s.rest("root", "POST", fmt.Sprintf("/users/%d/personal_access_tokens", s.ids[user]), fmt.Sprintf(`{"name":%q,"scopes":[%q]}`, name, scope))
	s.tokens[name] = made["token"].(string)
}

// variables are those of a query.
type variables map[string]any

// ask sends a query, and returns the answer as it was written, without the extensions.
func (s *server) ask(as, query string, v variables) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": v})
	if err != nil {
		s.t.Fatal(err)
	}
	w := s.send(as, "POST", "/api/graphql", string(body))
	if w.Code != http.StatusOK {
		s.t.Fatalf("%s: %s: got %d %s", as, query, w.Code, w.Body)
	}
	answer, _, _ := strings.Cut(w.Body.String(), `,"extensions":{"cost"`)
	if !strings.HasSuffix(answer, "}") || strings.Count(answer, "{") > strings.Count(answer, "}") {
		answer += "}"
	}
	return answer
}

// want sends a query and compares the answer.
func (s *server) want(as, query string, v variables, want string) {
	s.t.Helper()
	if got := s.ask(as, query, v); got != want {
		s.t.Errorf("%s: %s\ngot  %s\nwant %s", as, query, got, want)
	}
}

// data sends a query that has to succeed, and returns its data.
func (s *server) data(as, query string, v variables) map[string]any {
	s.t.Helper()
	var answer struct {
		Data   map[string]any
		Errors []any
	}
	text := s.ask(as, query, v)
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	if len(answer.Errors) > 0 {
		s.t.Fatalf("%s: %s: got %s", as, query, text)
	}
	return answer.Data
}

// at returns what is in an answer under names and numbers of list elements.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				return nil
			}
			v = m[p]
		case int:
			l, ok := v.([]any)
			if !ok || p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// statements counts those of one query, without what is remembered between requests. It asks several times and returns the fewest: what goes on
// in the background only adds to them.
func (s *server) statements(as, query string, v variables) uint64 {
	s.t.Helper()
	s.data(as, query, v)
	fewest := uint64(math.MaxUint64)
	for range 3 {
		before := s.Statements()
		s.ask(as, query, v)
		fewest = min(fewest, s.Statements()-before)
	}
	return fewest
}

// list returns a list of REST.
func (s *server) list(as, path string) (out []map[string]any) {
	s.t.Helper()
	w := s.send(as, "GET", "/api/v4"+path, "")
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		s.t.Fatalf("%s: GET %s: got %d %s, %v", as, path, w.Code, w.Body, err)
	}
	return out
}
