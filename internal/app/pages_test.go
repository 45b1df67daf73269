package app

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"tenon/internal/core/authz"
)

// visit asks for an address of this server, signed in by the token of a user, or as an anonymous caller.
func (s *server) visit(as, url string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.tb.Context(), http.MethodGet, strings.TrimPrefix(url, s.baseURL), nil)
	if as != "" {
		r.Header.Set("Private-Token", s.keys[as])
	}
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	return w
}

// TestPages follows the addresses that the API gives, as a user who may see the thing,
// as a user who may not, and with a token that may not read the API: a page must not
// tell more than the API does.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	for _, name := range []string{"mona", "stan"} {
		s.user(name, nil)
		s.token(name, name, authz.ScopeAPI)
	}
	s.token("git only", "mona", authz.ScopeReadRepository)
	group := s.do("mona", "POST", "/groups", obj{"name": "Workshop", "path": "work"})
	inner := s.do("mona", "POST", "/groups", obj{"name": "Inner", "path": "inner", "parent_id": group["id"]})
	project := s.do("mona", "POST", "/projects", obj{"name": "Tools", "namespace_id": inner["id"], "initialize_with_readme": true})
	path := "/projects/" + number(project, "id")
	issue := s.do("mona", "POST", path+"/issues", obj{"title": "Broken <hammer>"})
	s.do("mona", "POST", path+"/repository/branches", obj{"branch": "side", "ref": "main"})
	request := s.do("mona", "POST", path+"/merge_requests", obj{"title": "Mend it", "source_branch": "side", "target_branch": "main"})
	branch := s.do("mona", "GET", path+"/repository/branches/side", nil)
	for _, tt := range []struct {
		name, url, want string
	}{
		{"group", group["web_url"].(string), "Workshop"},
		{"subgroup", inner["web_url"].(string), "Workshop / Inner"},
		{"group by its plain path", s.baseURL + "/work/inner", "Workshop / Inner"},
		{"members of a group", s.baseURL + "/groups/work/inner/-/group_members", "Workshop / Inner"},
		{"members of a project", project["web_url"].(string) + "/-/project_members", "Tools"},
		{"project", project["web_url"].(string), "Tools"},
		{"issue", issue["web_url"].(string), "Broken &lt;hammer&gt;"},
		{"merge request", request["web_url"].(string), "Mend it"},
		{"branch", branch["web_url"].(string), "side"},
		{"commit", branch["commit"].(obj)["web_url"].(string), "Initial commit"},
		{"hint after a push", project["web_url"].(string) + "/-/merge_requests/new?merge_request%5Bsource_branch%5D=side", "New merge request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := s.visit("mona", tt.url)
			if text := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(text, tt.want) || !strings.Contains(text, s.baseURL+"/api/v4/") {
				t.Errorf("%s: got %d %s", tt.url, got.Code, text)
			}
			if cached := got.Header().Get("Cache-Control"); cached != "private, no-store" {
				t.Errorf("%s: got Cache-Control %q, want one that keeps it out of shared caches", tt.url, cached)
			}
			for _, as := range []string{"", "stan", "git only"} {
				got := s.visit(as, tt.url)
				// What leads to the sign-on has the address that was asked for.
				text := regexp.MustCompile(`href="/users/sign_in[^"]*"`).ReplaceAllString(got.Body.String(), "")
				if got.Code != http.StatusNotFound || strings.Contains(text, tt.want) {
					t.Errorf("%s as %q: got %d %s, want 404", tt.url, as, got.Code, got.Body)
				}
			}
		})
	}
	if got := s.visit("mona", s.baseURL+"/groups/mona"); got.Code != http.StatusNotFound {
		t.Errorf("a user under /groups: got %d, want 404", got.Code)
	}
}

// Metrics are for those who watch the server; to anybody else the page is not there.
func TestMetrics_nearby(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	for _, tt := range []struct {
		ranges, from string
		want         int
	}{
		{"127.0.0.0/8,::1/128", "127.0.0.1:4711", http.StatusOK},
		{"127.0.0.0/8,::1/128", "[::1]:4711", http.StatusOK},
		{"127.0.0.0/8", "[::ffff:127.0.0.1]:4711", http.StatusOK},
		{"127.0.0.0/8,::1/128", "192.0.2.7:4711", http.StatusNotFound},
		{"192.0.2.0/24", "192.0.2.7:4711", http.StatusOK},
		{"192.0.2.0/24", "127.0.0.1:4711", http.StatusNotFound},
		{"", "127.0.0.1:4711", http.StatusNotFound},
	} {
		s.config.MetricsFrom = nil
		for word := range strings.SplitSeq(tt.ranges, ",") {
			if word != "" {
				s.config.MetricsFrom = append(s.config.MetricsFrom, netip.MustParsePrefix(word))
			}
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/-/metrics", nil)
		r.RemoteAddr = tt.from
		for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "True-Client-Ip", "Forwarded"} { // what a caller says of itself counts for nothing
			r.Header.Set(name, "127.0.0.1")
		}
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s for %q: got %d, want %d", tt.from, tt.ranges, w.Code, tt.want)
		}
	}
}
