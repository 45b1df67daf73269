package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/core/authz"
)

// TestGate asks for a page, a file and a git service: pages and files take a token in every
// form that the API takes, and each request has a line in the log with its number, its route
// and who asked.
func TestGate(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("mona", nil)
	s.token("mona", "mona", authz.ScopeAPI)
	s.token("git only", "mona", authz.ScopeReadRepository)
	s.do("mona", "POST", "/projects", obj{"name": "Tools", "visibility": "private"})
	for _, tt := range []struct {
		name, path, header, value string
		status                    int
		route, user               string
	}{
		{"page, nobody", "/mona/tools", "", "", 404, "page /{place...}", ""},
		{"page, private token", "/mona/tools", "Private-Token", s.keys["mona"], 200, "page /{place...}", "mona"},
		{"page, bearer", "/mona/tools", "Authorization", "Bearer " + s.keys["mona"], 200, "page /{place...}", "mona"},
		{"page, parameter", "/mona/tools?private_token=" + s.keys["mona"], "", "", 200, "page /{place...}", "mona"},
		{"page, access token", "/mona/tools?access_token=" + s.keys["mona"], "", "", 200, "page /{place...}", "mona"},
		{"page, unknown token", "/mona/tools", "Private-Token", "glpat-unknown", 404, "page /{place...}", ""},
		{"page, token without the scope", "/mona/tools", "Private-Token", s.keys["git only"], 404, "page /{place...}", ""},
		{"file that is not there", "/mona/tools/uploads/0123456789abcdef0123456789abcdef/a.txt", "Private-Token", s.keys["mona"], 404, "file", "mona"},
		{"file through the API", "/api/v4/projects/mona%2Ftools/uploads/0123456789abcdef0123456789abcdef/a.txt", "Private-Token", s.keys["mona"], 404, "/projects/:id/uploads/:secret/:filename", "mona"},
		{"git, nobody", "/mona/tools.git/info/refs?service=git-upload-pack", "", "", 401, "git/info/refs", ""},
		{"large files, nobody", "/mona/tools.git/info/lfs/locks", "", "", 401, "git-lfs/locks", ""},
	} {
		id := strings.ReplaceAll(strings.ReplaceAll(tt.name, " ", "-"), ",", "")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, nil)
		r.Header.Set("X-Request-Id", id)
		if tt.header != "" {
			r.Header.Set(tt.header, tt.value)
		}
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if w.Code != tt.status || w.Header().Get("X-Request-Id") != id {
			t.Errorf("%s: got %d with the id %q, want %d", tt.name, w.Code, w.Header().Get("X-Request-Id"), tt.status)
		}
		line := ""
		for text := range strings.SplitSeq(s.logs.String(), "\n") {
			if strings.Contains(text, `"request_id":"`+id+`"`) {
				line = text
			}
		}
		user := strings.Contains(line, `"user":"mona"`)
		if !strings.Contains(line, `"route":"`+tt.route+`"`) || user != (tt.user != "") || strings.Contains(line, "glpat") || strings.Contains(line, "0123456789abcdef") {
			t.Errorf("%s: logged %q, want the route %s, the user %q and no secret", tt.name, line, tt.route, tt.user)
		}
	}
}
