package graphql

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var authenticityToken = regexp.MustCompile(`name="authenticity_token" value="([^"]+)"`)

// signIn signs a user on in a browser, and returns its cookies and the token of its pages.
func (s *server) signIn(name, password string) (cookies []*http.Cookie, token string) {
	s.t.Helper()
	page := s.send("", "GET", "/users/sign_in", "")
	form := url.Values{"user[login]": {name}, "user[password]": {password}, "authenticity_token": {tokenOf(s.t, page.Body.String())}}
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "/users/sign_in", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range page.Result().Cookies() {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusSeeOther {
		s.t.Fatalf("sign on: got %d %s", w.Code, w.Body)
	}
	cookies = w.Result().Cookies()
	r = httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/-/profile", http.NoBody)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w = httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return cookies, tokenOf(s.t, w.Body.String())
}

func tokenOf(t testing.TB, page string) string {
	t.Helper()
	found := authenticityToken.FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no token in %s", page)
	}
	return found[1]
}

// TestSession: a browser with a session reads by GET, and changes something with the token of a page
// alone, as JSON, and from this server. Nothing else that a foreign page could send is taken for the
// user.
func TestSession(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		const password = "a passphrase for the browser"
		s.rest("root", "POST", "/users", fmt.Sprintf(`{"username":"ann","name":"Ann","email":"ann@example.com","password":%q,"skip_confirmation":true}`, password))
		s.rest("root", "POST", "/projects", `{"name":"app","visibility":"public"}`)
		s.rest("root", "POST", "/projects/root%2Fapp/members", `{"user_id":2,"access_level":40}`)
		cookies, token := s.signIn("ann", password)
		const me, known, anonymous = `{ currentUser { username } }`, `{"data":{"currentUser":{"username":"ann"}}`, `{"data":{"currentUser":null}`
		change := `mutation { labelCreate(input: {projectPath: "root/app", title: "l", color: "#ff0000"}) { label { title } errors } }`
		asJSON := func(query string) string { return fmt.Sprintf(`{"query":%q}`, query) }
		asForm := func(query string) string { return url.Values{"query": {query}}.Encode() }
		for _, c := range []struct {
			name, method, kind, body string
			headers                  map[string]string
			want                     string
		}{
			{"GET", "GET", "", me, nil, known},
			{"GET of a mutation", "GET", "", change, nil, "Mutations are forbidden in GET requests"},
			{"JSON without a token", "POST", "application/json", asJSON(me), nil, anonymous},
			{"JSON with a wrong token", "POST", "application/json", asJSON(change), map[string]string{"X-CSRF-Token": "wrong"}, `"labelCreate":null`},
			{"JSON from elsewhere", "POST", "application/json", asJSON(change), map[string]string{"X-CSRF-Token": token, "Sec-Fetch-Site": "cross-site", "Origin": "http://elsewhere.example"}, `"labelCreate":null`},
			{"plain text", "POST", "text/plain", asJSON(change), map[string]string{"X-CSRF-Token": token}, ""},
			{"form", "POST", "application/x-www-form-urlencoded", asForm(change), map[string]string{"X-CSRF-Token": token}, `"labelCreate":null`},
			{"form with the token of a form", "POST", "application/x-www-form-urlencoded", asForm(change) + "&authenticity_token=" + url.QueryEscape(token), nil, `"labelCreate":null`},
			{"multipart", "POST", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"operations\"\r\n\r\n" + asJSON(change) + "\r\n--x--\r\n", map[string]string{"X-CSRF-Token": token}, `"labelCreate":null`},
			{"GraphQL", "POST", "application/graphql", change, map[string]string{"X-CSRF-Token": token}, `"labelCreate":null`},
			{"no type", "POST", "", asJSON(change), map[string]string{"X-CSRF-Token": token}, ""},
			{"JSON with the token", "POST", "application/json", asJSON(me), map[string]string{"X-CSRF-Token": token}, known},
		} {
			target, body := "/api/graphql", c.body
			if c.method == http.MethodGet {
				target, body = target+"?"+asForm(c.body), ""
			}
			r := httptest.NewRequestWithContext(t.Context(), c.method, target, strings.NewReader(body))
			r.Header.Set("Content-Type", c.kind)
			for name, value := range c.headers {
				r.Header.Set(name, value)
			}
			for _, cookie := range cookies {
				r.AddCookie(cookie)
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if !strings.Contains(w.Body.String(), c.want) || strings.Contains(w.Body.String(), `"title":"l"`) {
				t.Errorf("%s: got %d %s\nwant %s", c.name, w.Code, w.Body, c.want)
			}
		}
		if got := s.send("root", "GET", "/api/v4/projects/root%2Fapp/labels", "").Body.String(); got != "[]" {
			t.Errorf("a label was made: %s", got)
		}
	})
}
