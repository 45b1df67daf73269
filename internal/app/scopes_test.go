package app

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/authz"
)

// TestScopes lists what narrow tokens may read: read_user what stands under /user and
// /users and events, but for runners, read_repository files. Those who write there are told read_user as well.
func TestScopes(t *testing.T) {
	t.Parallel()
	for _, r := range routesAlone().Routes() {
		users := r.Path == "/user" || r.Path == "/users" || strings.HasPrefix(r.Path, "/user/") || strings.HasPrefix(r.Path, "/users/")
		for scope, want := range map[authz.Scope]bool{
			authz.ScopeReadUser: users && r.Path != "/user/runners" || slices.Contains([]string{"/version", "/metadata", "/user_counts", "/events", "/projects/:id/events"}, r.Path),
			authz.ScopeReadRepository: r.Method == http.MethodGet && slices.Contains([]string{"", "/raw", "/blame"},
				strings.TrimPrefix(r.Path, "/projects/:id/repository/files/:file_path")),
		} {
			if got := slices.Contains(r.Scopes, scope); got != want {
				t.Errorf("%s names %s: %t, want %t", key(r), scope, got, want)
			}
		}
	}
}

// TestScopes_refused compares what a token with too narrow a scope is told.
func TestScopes_refused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	for _, scope := range []authz.Scope{authz.ScopeReadUser, authz.ScopeReadRepository, authz.ScopeReadAPI} {
		s.token(string(scope), "ann", scope)
	}
	s.do("ann", "POST", "/projects", obj{"name": "app", "path": "app", "initialize_with_readme": true})
	const in = "/projects/ann%2Fapp/repository"
	for _, tt := range []struct {
		as, method, path string
		status           int
		scopes           string // that the refusal names
	}{
		{"read_repository", "GET", "/user", 403, "read_user api read_api"},
		{"read_repository", "GET", "/users/1/custom_attributes", 403, "read_user api read_api"},
		{"read_user", "POST", "/users", 403, "read_user api read_api"},
		{"read_user", "PUT", "/user/status", 403, "read_user api read_api"},
		{"read_user", "POST", "/user/keys", 403, "read_user api read_api"},
		{"read_api", "DELETE", "/user/keys/1", 403, "read_user api read_api"},
		{"read_user", "GET", "/users/1/projects", 200, ""},
		{"read_user", "GET", "/projects", 403, "api read_api"},
		{"read_repository", "GET", in + "/files/README.md?ref=main", 200, ""},
		{"read_repository", "HEAD", in + "/files/README.md?ref=main", 200, ""},
		{"read_repository", "GET", in + "/files/README.md/raw", 200, ""},
		{"read_repository", "GET", in + "/files/README.md/blame?ref=main", 200, ""},
		{"read_repository", "GET", in + "/tree", 403, "api read_api"},
		{"read_repository", "GET", in + "/archive", 403, "api read_api"},
		{"read_repository", "GET", in + "/compare?from=main&to=main", 403, "api read_api"},
		{"read_repository", "GET", in + "/contributors", 403, "api read_api"},
		{"read_repository", "GET", in + "/branches", 403, "api read_api"},
		{"read_repository", "POST", in + "/files/new.md", 403, "api read_api"},
		{"read_api", "GET", in + "/tree", 200, ""},
	} {
		got := s.send(t.Context(), request{as: tt.as, method: tt.method, path: tt.path})
		if got.Code != tt.status || tt.scopes != "" && !strings.HasSuffix(got.Body.String(), `"scope":"`+tt.scopes+`"}`) {
			t.Errorf("%s %s with %s: got %d %.300s, want %d with the scopes %q", tt.method, tt.path, tt.as, got.Code, got.Body, tt.status, tt.scopes)
		}
	}
}
