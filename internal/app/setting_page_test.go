package app

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestSettings_pages turns what pages look like and where they lead.
func TestSettings_pages(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.person("ann", annPassword)
	b := s.browse(t)
	signOut := func() webPage {
		t.Helper()
		b.signIn("ann", annPassword)
		return b.post("/-/profile", "/users/sign_out", url.Values{})
	}
	if got := signOut(); got.status != 303 || !strings.HasPrefix(got.header.Get("Location"), "/users/sign_in") {
		t.Errorf("signed out: %d %s", got.status, got.header.Get("Location"))
	}
	s.want("admin", "PUT", "/application/settings", obj{"after_sign_out_path": "javascript:alert(1)"}, 400, "after_sign_out_path")
	s.set(obj{"after_sign_out_path": "https://bye.example/?a=1&b=2"})
	got := signOut()
	if got.status != 200 || got.header.Get("Refresh") != "0; url=https://bye.example/?a=1&b=2" || !strings.Contains(got.text, `href="https://bye.example/?a=1&amp;b=2"`) ||
		!strings.Contains(got.header.Get("Content-Security-Policy"), "form-action 'self'") {
		t.Errorf("signed out to another site: %d %v %s", got.status, got.header, got.text)
	}
	if got := b.get("/-/profile"); got.status != 303 {
		t.Errorf("a page of the user afterwards: %d", got.status)
	}

	s.set(obj{"home_page_url": "https://home.example/"})
	for permanent, status := range map[bool]int{false: 303, true: 301} {
		s.set(obj{"root_moved_permanently_redirection": permanent})
		if got := b.get("/"); got.status != status || got.header.Get("Location") != "https://home.example/" {
			t.Errorf("first page, moved permanently %v: %d %s", permanent, got.status, got.header.Get("Location"))
		}
	}

	s.set(obj{"help_text": "Call **Ben**", "help_page_documentation_base_url": "https://docs.example"})
	if got := b.get("/help"); !strings.Contains(got.text, "Call <strong>Ben</strong>") || !strings.Contains(got.text, `href="https://docs.example"`) {
		t.Errorf("help: %s", got.text)
	}
	for _, theme := range []int{6, 2} {
		s.set(obj{"default_dark_syntax_highlighting_theme": theme})
		if got := b.get("/help"); !strings.Contains(got.text, fmt.Sprintf(`<html lang="en" class="dark-code-%d">`, theme)) {
			t.Errorf("language and colours of code: %.100s", got.text)
		}
	}
	s.want("admin", "PUT", "/application/settings", obj{"default_preferred_language": "de"}, 400, "is not included in the list")
}

// TestSettings_assets puts a picture of another site into texts: where there is an asset proxy, readers are sent there over each transport.
func TestSettings_assets(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	path := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public"}), "id")
	const picture = "https://far.example/a.png"
	s.do("ann", "POST", path+"/issues", obj{"title": "x", "description": "![a](" + picture + ") <img src=\"https://near.example/b.png\">"})
	b := s.browse(t)
	shown := func() map[string]string {
		t.Helper()
		query := obj{"query": `{ project(fullPath: "ann/crane") { issue(iid: "1") { descriptionHtml } } }`}
		page := b.get("/ann/crane/-/issues/1")
		return map[string]string{
			"REST":    s.send(t.Context(), request{as: "ann", method: "POST", path: "/markdown", body: obj{"text": "![a](" + picture + ")", "gfm": true}}).Body.String(),
			"plain":   s.send(t.Context(), request{as: "ann", method: "POST", path: "/markdown", body: obj{"text": "![a](" + picture + ")"}}).Body.String(),
			"GraphQL": s.send(t.Context(), request{as: "ann", method: "POST", path: "/api/graphql", whole: true, body: query}).Body.String(),
			"page":    page.text, "policy": page.header.Get("Content-Security-Policy"),
		}
	}
	proxied := "/" + hex.EncodeToString([]byte(picture))
	for transport, text := range shown() {
		if strings.Contains(text, proxied) {
			t.Errorf("%s, without a proxy: %s", transport, text)
		}
	}
	s.set(obj{"asset_proxy_enabled": true, "asset_proxy_url": "https://assets.example/x", "asset_proxy_secret_key": "shared", "asset_proxy_allowlist": "near.example"})
	on := shown()
	for _, transport := range []string{"REST", "plain", "GraphQL", "page"} {
		if text := on[transport]; !strings.Contains(text, "https://assets.example/x/") || !strings.Contains(text, proxied) {
			t.Errorf("%s: not proxied: %s", transport, text)
		}
	}
	if !strings.Contains(on["GraphQL"], `src=\"https://near.example/b.png\"`) || !strings.Contains(on["policy"], "img-src 'self' https://assets.example;") || strings.Contains(on["page"], `src="https://near`) {
		t.Errorf("an allowed site, or the policy of the page: %v", on)
	}
	s.set(obj{"asset_proxy_enabled": false})
	for transport, text := range shown() {
		if strings.Contains(text, "assets.example") {
			t.Errorf("%s, off again: %s", transport, text)
		}
	}
}

// TestSettings_outbound has a pipeline include files of another server whose answers are within the limits and beyond them.
func TestSettings_outbound(t *testing.T) {
	t.Parallel()
	kind, body := "", ""
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(other.Close)
	s := newServer(t, "")
	s.user("ann", nil)
	path := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "crane"}), "id")
	s.set(obj{"outbound_local_requests_whitelist": []string{"127.0.0.1"}})
	const job = `{"press":{"script":["make"]}}`
	for _, tt := range []struct {
		name       string
		value      int
		kind, body string
		text       string
	}{
		{"max_http_response_size_limit", 1, "text/yaml", job + strings.Repeat(" ", 1<<20), "too big"},
		{"max_http_decompressed_size", 1, "text/yaml", job + strings.Repeat(" ", 1<<20), "too big"},
		{"max_http_response_json_depth", 2, "application/json", job, "too complex"},
		{"max_http_response_json_structural_chars", 7, "application/json", job, "too complex"},
		{"max_http_response_xml_structural_chars", 1, "text/xml", "#<a>\n#<b>\n" + job, "too complex"},
		{"max_http_response_csv_structural_chars", 1, "text/csv", "#,,\n" + job, "too complex"},
	} {
		kind, body = tt.kind, tt.body
		lint := obj{"content": "include: {remote: '" + other.URL + "/ci.yml'}"}
		before := s.do("admin", "GET", "/application/settings", nil)[tt.name]
		s.want("ann", "POST", path+"/ci/lint", lint, 200, `"valid":true`)
		s.set(obj{tt.name: tt.value})
		s.want("ann", "POST", path+"/ci/lint", lint, 200, tt.text)
		s.set(obj{tt.name: before})
	}
}

// TestSettings_tokens makes a token of each type with and without a prefix of the instance, and uses those that are recognized by it.
func TestSettings_tokens(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	path := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "crane", "initialize_with_readme": true}), "id")
	made := func() map[string]string {
		t.Helper()
		day := s.now().AddDate(0, 0, 7).Format("2006-01-02")
		deploy := s.do("ann", "POST", path+"/deploy_tokens", obj{"name": "x", "scopes": []string{"read_repository"}})
		s.keys["deploy"] = deploy["token"].(string)
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/ann/crane.git/info/refs?service=git-upload-pack", http.NoBody)
		r.SetBasicAuth(deploy["username"].(string), s.keys["deploy"])
		w := httptest.NewRecorder()
		if s.http.Handler.ServeHTTP(w, r); w.Code != 200 {
			t.Errorf("git with a deploy token: %d %s", w.Code, w.Body)
		}
		text := func(answer obj) string { return answer["token"].(string) }
		return map[string]string{
			"glpat-":         text(s.do("admin", "POST", "/users/"+number(s.do("ann", "GET", "/user", nil), "id")+"/personal_access_tokens", obj{"name": "x", "scopes": []string{"api"}})),
			"glpat-:project": text(s.do("ann", "POST", path+"/access_tokens", obj{"name": "x", "scopes": []string{"api"}, "expires_at": day})),
			"gldt-":          s.keys["deploy"],
			"glrt-":          text(s.do("ann", "POST", "/user/runners", obj{"runner_type": "project_type", "project_id": strings.TrimPrefix(path, "/projects/")})),
			"glptt-":         text(s.do("ann", "POST", path+"/triggers", obj{"description": "x"})),
		}
	}
	check := func(prefix string) {
		t.Helper()
		for kind, token := range made() {
			kind, _, _ = strings.Cut(kind, ":")
			if !strings.HasPrefix(token, prefix+kind) || len(token) < len(prefix+kind)+20 {
				t.Errorf("a token is %s, want it to begin with %s", token, prefix+kind)
			}
		}
	}
	check("")
	s.set(obj{"instance_token_prefix": "acme", "personal_access_token_prefix": "own-"})
	check("acme-")
	old := s.keys["deploy"]
	s.set(obj{"instance_token_prefix": ""})
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/ann/crane.git/info/refs?service=git-upload-pack", http.NoBody)
	r.SetBasicAuth("nobody", old)
	w := httptest.NewRecorder()
	if s.http.Handler.ServeHTTP(w, r); w.Code != 401 {
		t.Errorf("git with a deploy token and another name: %d %s", w.Code, w.Body)
	}
}

// TestSettings_cloneURL turns where repositories are cloned from over HTTP.
func TestSettings_cloneURL(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	path := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "crane", "visibility": "public"}), "id")
	b := s.browse(t)
	check := func(root string) {
		t.Helper()
		want := root + "/ann/crane.git"
		if got := s.do("ann", "GET", path, nil)["http_url_to_repo"]; got != want {
			t.Errorf("REST: %v, want %s", got, want)
		}
		query := obj{"query": `{ project(fullPath: "ann/crane") { httpUrlToRepo } }`}
		s.wantOf(request{as: "ann", method: "POST", path: "/api/graphql", whole: true, body: query}, 200, `"`+want+`"`)
		if got := b.get("/ann/crane"); !strings.Contains(got.text, "git clone "+want) {
			t.Errorf("page: %s", got.text)
		}
		if got := b.get("/ann/crane?go-get=1"); !strings.Contains(got.text, want) {
			t.Errorf("go get: %s", got.text)
		}
	}
	check(s.core.URLs.Root())
	s.set(obj{"custom_http_clone_url_root": "https://clone.example/git/"})
	check("https://clone.example/git")
	s.set(obj{"custom_http_clone_url_root": ""})
	check(s.core.URLs.Root())
}

// TestSettings_timeTracking shows tracked time with and without a limit to hours over each transport.
func TestSettings_timeTracking(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	path := "/projects/" + number(s.do("ann", "POST", "/projects", obj{"name": "crane"}), "id")
	for i, tt := range []struct {
		hours bool
		want  string
	}{{false, "1d 2h"}, {true, "10h"}} {
		s.set(obj{"time_tracking_limit_to_hours": tt.hours})
		at := path + "/issues/" + number(s.do("ann", "POST", path+"/issues", obj{"title": "x"}), "iid")
		s.want("ann", "POST", at+"/time_estimate", obj{"duration": "10h"}, 200, `"human_time_estimate":"`+tt.want+`"`)
		s.want("ann", "GET", at, nil, 200, `"human_time_estimate":"`+tt.want+`"`)
		s.want("ann", "GET", at+"/notes", nil, 200, "added time estimate of "+tt.want)
		query := obj{"query": `{ project(fullPath: "ann/crane") { issue(iid: "` + strings.TrimPrefix(at, path+"/issues/") + `") { humanTimeEstimate } } }`}
		s.wantOf(request{as: "ann", method: "POST", path: "/api/graphql", whole: true, body: query}, 200, `"`+tt.want+`"`)
		s.want("ann", "POST", at+"/notes", obj{"body": "/spend 10h"}, 202, "Added "+tt.want+" spent time.")
		if i == 1 {
			s.want("ann", "GET", at+"/time_stats", nil, 200, `"human_total_time_spent":"10h"`)
		}
	}
}
