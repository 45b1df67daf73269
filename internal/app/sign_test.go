package app

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
)

// browser is a client that keeps cookies and follows no redirect by itself.
type browser struct {
	t    testing.TB
	base string
	http *http.Client
}

// browse opens a browser on a server.
func (s *server) browse(t testing.TB) *browser {
	t.Helper()
	web := httptest.NewServer(s.http.Handler)
	t.Cleanup(web.Close)
	return newBrowser(t, web.URL)
}

func newBrowser(t testing.TB, base string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, base: base, http: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// page is one answer.
type webPage struct {
	status int
	header http.Header
	text   string
}

// send makes a request with headers, in pairs.
func (b *browser) send(method, path string, form url.Values, headers ...string) webPage {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return webPage{res.StatusCode, res.Header, string(text)}
}

func (b *browser) get(path string) webPage { b.t.Helper(); return b.send("GET", path, nil) }

var tokenInPage = regexp.MustCompile(`name="authenticity_token" value="([^"]+)"`)

// post sends a form with the token of the page that has it.
func (b *browser) post(from, path string, form url.Values) webPage {
	b.t.Helper()
	p := b.get(from)
	m := tokenInPage.FindStringSubmatch(p.text)
	if m == nil {
		b.t.Fatalf("%s: no form in %d %s", from, p.status, p.text)
	}
	form.Set("authenticity_token", m[1])
	return b.send("POST", path, form)
}

// signIn signs on as a user.
func (b *browser) signIn(name, password string) webPage {
	b.t.Helper()
	return b.post("/users/sign_in", "/users/sign_in", url.Values{"user[login]": {name}, "user[password]": {password}})
}

// cookie returns the value of a cookie, "" for none.
func (b *browser) cookie(name string) string {
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.http.Jar.Cookies(u) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

const annPassword = "a passphrase of ann's own"

// person makes a user who has a password.
func (s *server) person(name, password string) {
	s.tb.Helper()
	s.user(name, func(in *account.Input) { in.ForceRandomPassword, in.Password = false, password })
}

// A person signs on, sees the own pages, and signs off; what the browser had before the
// sign-on is good for nothing afterwards.
func TestSignIn(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.person("ann", annPassword)
		b := s.browse(t)
		if p := b.get("/-/profile"); p.status != http.StatusSeeOther || p.header.Get("Location") != "/users/sign_in?return_to=%2F-%2Fprofile" {
			t.Errorf("settings of nobody: got %d %q, want the sign-on", p.status, p.header.Get("Location"))
		}
		p := b.post("/users/sign_in?return_to=/-/profile", "/users/sign_in", url.Values{
			"user[login]": {"Ann@Example.com"}, "user[password]": {annPassword}, "return_to": {"/-/profile"},
		})
		if p.status != http.StatusSeeOther || p.header.Get("Location") != "/-/profile" {
			t.Fatalf("got %d to %q, %s", p.status, p.header.Get("Location"), p.text)
		}
		set := p.header.Values("Set-Cookie")
		if len(set) != 2 || !strings.Contains(set[0], "; Path=/; HttpOnly; SameSite=Lax") || strings.Contains(set[0], "Secure") || !strings.HasPrefix(set[1], "tenon_visit=; ") {
			t.Errorf("got the cookies %q, want a session for http and no visit", set)
		}
		key := b.cookie("tenon_session")
		for path, want := range map[string]string{
			"/-/profile": "ann@example.com", "/-/profile/personal_access_tokens": "Active tokens", "/-/profile/keys": "New SSH key",
			"/-/profile/active_sessions": "this one", "/-/profile/password": "Current password",
		} {
			p := b.get(path)
			if p.status != http.StatusOK || !strings.Contains(p.text, want) || !strings.Contains(p.text, "Sign out") || strings.Contains(p.text, key) {
				t.Errorf("%s: got %d %s, want %q", path, p.status, p.text, want)
			}
		}
		if p := b.get("/users/sign_in?return_to=/-/profile/keys"); p.status != http.StatusSeeOther || p.header.Get("Location") != "/-/profile/keys" {
			t.Errorf("sign-on page of who is signed on: got %d to %q", p.status, p.header.Get("Location"))
		}
		if p := b.post("/-/profile", "/users/sign_out", url.Values{}); p.status != http.StatusSeeOther || b.cookie("tenon_session") != "" {
			t.Errorf("sign out: got %d, cookie %q", p.status, b.cookie("tenon_session"))
		}
		if p := b.send("GET", "/-/profile", nil, "Cookie", "tenon_session="+key); p.status != http.StatusSeeOther {
			t.Errorf("the old cookie: got %d, want the sign-on", p.status)
		}
		if log := s.logs.String(); strings.Contains(log, key) || strings.Contains(log, annPassword) {
			t.Error("a secret is in the log")
		}
	})
}

// The attack: give a victim's browser a session of one's own choice before the sign-on, and
// use it afterwards.
func TestSignIn_fixation(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.person("ann", annPassword)
	s.person("eve", "eavesdropping is my hobby")
	b := s.browse(t)
	u, _ := url.Parse(b.base)
	eve := newBrowser(t, b.base)
	if p := eve.signIn("eve", "eavesdropping is my hobby"); p.status != http.StatusSeeOther {
		t.Fatalf("eve: got %d", p.status)
	}
	for _, planted := range []string{"chosen-by-the-attacker", eve.cookie("tenon_session")} {
		b.http.Jar.SetCookies(u, []*http.Cookie{{Name: "tenon_session", Value: planted, Path: "/"}, {Name: "tenon_visit", Value: "chosen", Path: "/"}})
		from := "/users/sign_in"
		if planted != "chosen-by-the-attacker" {
			from = "/-/profile" // where the form of eve's session is
		}
		if p := b.post(from, "/users/sign_in", url.Values{"user[login]": {"ann"}, "user[password]": {annPassword}}); p.status != http.StatusSeeOther {
			t.Fatalf("got %d %s", p.status, p.text)
		}
		if got := b.cookie("tenon_session"); got == planted || got == "" {
			t.Errorf("got the session %q after %q, want a new one", got, planted)
		}
		if p := eve.send("GET", "/-/profile", nil, "Cookie", "tenon_session="+planted); strings.Contains(p.text, "ann@example.com") {
			t.Error("the attacker is signed on as the victim")
		}
	}
}

// Whatever is wrong with a sign-on, the answer is the same, and a blocked account shows
// only to who has its password.
func TestSignIn_failed(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	for _, name := range []string{"ann", "bob"} {
		s.person(name, "a passphrase of "+name+" himself")
	}
	s.do("admin", "POST", "/users/"+itoa(s.ids["bob"])+"/block", nil)
	b := s.browse(t)
	body := func(p webPage) string {
		return tokenInPage.ReplaceAllString(regexp.MustCompile(`name="user\[login\]" value="[^"]*"`).ReplaceAllString(p.text, ""), "")
	}
	want := b.signIn("ann", "wrong")
	if want.status != http.StatusUnprocessableEntity || !strings.Contains(want.text, "Invalid login or password.") {
		t.Fatalf("got %d %s", want.status, want.text)
	}
	for _, tt := range [][2]string{{"nobody", "wrong"}, {"bob", "wrong"}, {"", ""}, {"ann", ""}, {"ann\x00", "x"}, {strings.Repeat("x", 5000), strings.Repeat("y", 5000)}} {
		if p := b.signIn(tt[0], tt[1]); p.status != want.status || body(p) != body(want) {
			t.Errorf("%.20q: got %d %s\nwant %d %s", tt[0], p.status, body(p), want.status, body(want))
		}
	}
	if p := b.signIn("bob", "a passphrase of bob himself"); p.status != http.StatusForbidden || !strings.Contains(p.text, "Your account has been blocked.") {
		t.Errorf("blocked: got %d %s", p.status, p.text)
	}
	if b.cookie("tenon_session") != "" {
		t.Error("a failed sign-on gave a session")
	}
}

// The attack: a link to the sign-on that leads to another server afterwards.
func TestSignIn_openRedirect(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.person("ann", annPassword)
	b := s.browse(t)
	hostile := []string{
		"//evil.example", "///evil.example", `/\evil.example`, `\/evil.example`, `\\evil.example`, "https://evil.example", "https:evil.example",
		"javascript:alert(1)", "evil.example", "/%2Fevil.example", "/%5Cevil.example", "/\tevil.example", "/\n/evil.example", "/x\r\nSet-Cookie: a=b",
		"/%0d%0aSet-Cookie:a=b", " //evil.example", "/ /evil.example", "/a//evil.example", "", "@evil.example", "?x", "/" + strings.Repeat("x", 3000),
	}
	for _, to := range hostile {
		c := newBrowser(t, b.base)
		p := c.post("/users/sign_in?return_to="+url.QueryEscape(to), "/users/sign_in", url.Values{"user[login]": {"ann"}, "user[password]": {annPassword}, "return_to": {to}})
		if got := p.header.Get("Location"); p.status != http.StatusSeeOther || got != "/" || p.header.Get("A") != "" {
			t.Errorf("%.40q: got %d to %q, want the first page", to, p.status, got)
		}
		if p := c.get("/users/sign_in?return_to=" + url.QueryEscape(to)); p.header.Get("Location") != "/" {
			t.Errorf("%.40q when signed on: got %q, want the first page", to, p.header.Get("Location"))
		}
	}
	for _, to := range []string{"/-/profile", "/team/app/-/issues?state=closed&x=https://a.example/", "/a%20b", "/caf%C3%A9"} {
		p := newBrowser(t, b.base).post("/users/sign_in", "/users/sign_in", url.Values{"user[login]": {"ann"}, "user[password]": {annPassword}, "return_to": {to}})
		if got := p.header.Get("Location"); got != to {
			t.Errorf("%q: got %q", to, got)
		}
	}
}

// The attack: another site has the browser of a victim send a form, or a request to the API.
func TestSession_forgery(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.person("ann", annPassword)
	b := s.browse(t)
	if p := b.signIn("ann", annPassword); p.status != http.StatusSeeOther {
		t.Fatalf("got %d", p.status)
	}
	page := b.get("/-/profile/personal_access_tokens")
	token := tokenInPage.FindStringSubmatch(page.text)[1]
	other := newBrowser(t, b.base)
	foreign := tokenInPage.FindStringSubmatch(other.get("/users/sign_in").text)[1]
	form := func(token string) url.Values {
		return url.Values{"name": {"stolen"}, "scopes": {"api"}, "authenticity_token": {token}}
	}
	const path = "/-/profile/personal_access_tokens"
	for _, tt := range []struct {
		name, token string
		headers     []string
	}{
		{"no token", "", nil},
		{"a token of another browser", foreign, nil},
		{"a guess", strings.Repeat("A", len(token)), nil},
		{"from another site", token, []string{"Sec-Fetch-Site", "cross-site"}},
		{"from a neighbour", token, []string{"Sec-Fetch-Site", "same-site"}},
		{"from another origin", token, []string{"Origin", "https://evil.example"}},
		{"from no origin", token, []string{"Origin", "null"}},
	} {
		if p := b.send("POST", path, form(tt.token), tt.headers...); p.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d, want 422", tt.name, p.status)
		}
		if p := b.send("POST", "/users/sign_out", form(tt.token), tt.headers...); p.status != http.StatusUnprocessableEntity || b.cookie("tenon_session") == "" {
			t.Errorf("%s: sign out: got %d", tt.name, p.status)
		}
	}
	for _, tt := range []struct {
		name, method, path string
		headers            []string
		want               int
	}{
		{"reading", "GET", "/api/v4/user", nil, http.StatusOK},
		{"writing without the token", "POST", "/api/v4/groups", nil, http.StatusUnauthorized},
		{"writing with a foreign one", "POST", "/api/v4/groups", []string{"X-CSRF-Token", foreign}, http.StatusUnauthorized},
		{"writing from another site", "POST", "/api/v4/groups", []string{"X-CSRF-Token", token, "Sec-Fetch-Site", "cross-site"}, http.StatusUnauthorized},
		{"deleting without the token", "DELETE", "/api/v4/projects/1", nil, http.StatusUnauthorized},
		{"writing with the token", "POST", "/api/v4/groups", []string{"X-CSRF-Token", token}, http.StatusCreated},
		{"sudo", "GET", "/api/v4/user?sudo=1", nil, http.StatusForbidden},
		{"an unknown token beside the cookie", "GET", "/api/v4/user", []string{"Private-Token", "glpat-00000000000000000000"}, http.StatusUnauthorized},
	} {
		form := url.Values(nil)
		if tt.method == "POST" {
			form = url.Values{"name": {"made"}, "path": {"made"}}
		}
		if p := b.send(tt.method, tt.path, form, tt.headers...); p.status != tt.want {
			t.Errorf("%s: got %d %s, want %d", tt.name, p.status, p.text, tt.want)
		}
	}
	if p := b.send("GET", "/made/x.git/info/refs?service=git-upload-pack", nil); p.status != http.StatusUnauthorized {
		t.Errorf("git with the cookie: got %d, want 401", p.status)
	}
}

// The attack: guess passwords at the page. Who guesses is shut out there and for git.
func TestSignIn_throttled(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.person("ann", annPassword)
	now := time.Now()
	s.core.Limits = limit.New(limit.Deps{Settings: s.core.Settings, Now: func() time.Time { return now }}) // all tries are within one window
	if err := s.transports(); err != nil {
		t.Fatal(err)
	}
	const from = "203.0.113.7:4711"
	b := s.browse(t)
	ask := func(password string) *httptest.ResponseRecorder {
		p := b.get("/users/sign_in")
		form := url.Values{"user[login]": {"ann"}, "user[password]": {password}, "authenticity_token": {tokenInPage.FindStringSubmatch(p.text)[1]}}
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/users/sign_in", strings.NewReader(form.Encode()))
		r.RemoteAddr = from
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", "tenon_visit="+b.cookie("tenon_visit"))
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w
	}
	s.exec("UPDATE users SET failed_attempts = ? WHERE username = ?", -100, "ann") // the lock of the account is another thing
	for i := range 30 {
		if w := ask("wrong"); w.Code != http.StatusUnprocessableEntity {
			t.Fatalf("try %d: got %d %s", i, w.Code, w.Body)
		}
	}
	if w := ask(annPassword); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "Too many failed sign-ons") {
		t.Errorf("after 30 tries: got %d %s, want 403", w.Code, w.Body)
	}
	if p := b.signIn("ann", annPassword); p.status != http.StatusSeeOther {
		t.Errorf("from elsewhere: got %d %s", p.status, p.text)
	}
}

// A link sets a password once; the page of one that does not work says nothing of users.
func TestChoosePassword(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("ann", nil)
		key, _, err := s.core.Accounts.PasswordLink(t.Context(), authz.System(), s.ids["ann"])
		if err != nil {
			t.Fatal(err)
		}
		b := s.browse(t)
		path := strings.TrimPrefix(s.core.URLs.ChoosePassword(key), s.baseURL)
		if p := b.get(path); p.status != http.StatusOK || !strings.Contains(p.text, "@ann") || p.header.Get("Referrer-Policy") != "strict-origin" {
			t.Fatalf("got %d %s", p.status, p.text)
		}
		set := func(one, two string) webPage {
			return b.post(path, "/users/password/edit", url.Values{"reset_password_token": {key}, "password": {one}, "confirmation": {two}})
		}
		for _, tt := range [][3]string{{"short", "short", "Password is too short"}, {annPassword, "other", "Password is not the same twice"}} {
			if p := set(tt[0], tt[1]); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, tt[2]) {
				t.Errorf("%q: got %d %s, want %q", tt[0], p.status, p.text, tt[2])
			}
		}
		if p := set("chosen by herself today", "chosen by herself today"); p.status != http.StatusSeeOther {
			t.Fatalf("got %d %s", p.status, p.text)
		}
		if p := b.signIn("ann", "chosen by herself today"); p.status != http.StatusSeeOther {
			t.Errorf("sign on: got %d %s", p.status, p.text)
		}
		used := b.get(path)
		if unknown := b.get("/users/password/edit?reset_password_token=tnlk-x"); used.status != http.StatusNotFound || unknown.status != http.StatusNotFound ||
			strings.Contains(used.text, "Choose") || len(used.text) != len(unknown.text) {
			t.Errorf("used: %d %s\nunknown: %d %s", used.status, used.text, unknown.status, unknown.text)
		}
		if strings.Contains(s.logs.String(), key) {
			t.Error("the secret of the link is in the log")
		}
	})
}

// Browsers send the origin of the page with its form, and over http nothing else that says
// where the form comes from. A policy without any referrer would make them send "null".
func TestChoosePassword_http(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	key, _, err := s.core.Accounts.PasswordLink(t.Context(), authz.System(), s.ids["ann"])
	if err != nil {
		t.Fatal(err)
	}
	b := s.browse(t)
	p := b.get(strings.TrimPrefix(s.core.URLs.ChoosePassword(key), s.baseURL))
	origin := b.base
	if policy := p.header.Get("Referrer-Policy"); policy == "no-referrer" {
		origin = "null" // as browsers do
	}
	form := url.Values{"authenticity_token": {tokenInPage.FindStringSubmatch(p.text)[1]}, "reset_password_token": {key}, "password": {annPassword}, "confirmation": {annPassword}}
	if p := b.send("POST", "/users/password/edit", form, "Origin", origin); p.status != http.StatusSeeOther || p.header.Get("Referrer-Policy") != "strict-origin" {
		t.Errorf("form from %s: got %d, Referrer-Policy %q, %s; want 303 and strict-origin", origin, p.status, p.header.Get("Referrer-Policy"), p.text)
	}
	if p := b.signIn("ann", annPassword); p.status != http.StatusSeeOther {
		t.Errorf("sign on: got %d %s", p.status, p.text)
	}
}

// An expired password is replaced before there is a session; changing one ends them all.
func TestChangePassword(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.user("ann", nil)
	given := "given by an administrator"
	s.do("admin", "PUT", "/users/"+itoa(s.ids["ann"]), obj{"password": given})
	b := s.browse(t)
	p := b.signIn("ann", given)
	if p.status != http.StatusOK || !strings.Contains(p.text, "Your password expired") || b.cookie("tenon_session") != "" {
		t.Fatalf("got %d %s", p.status, p.text)
	}
	change := func(from, path, current, next string) webPage {
		return b.post(from, path, url.Values{"login": {"ann"}, "current": {current}, "password": {next}, "confirmation": {next}})
	}
	const expired = "/users/password/expired"
	if p := change(expired, expired, "wrong", annPassword+"x"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, "Invalid login or password.") {
		t.Errorf("wrong password: got %d %s", p.status, p.text)
	}
	if p := change(expired, expired, given, "passphrase of my own"); p.status != http.StatusSeeOther {
		t.Errorf("got %d %s", p.status, p.text)
	}
	if p := b.signIn("ann", "passphrase of my own"); p.status != http.StatusSeeOther {
		t.Fatalf("got %d %s", p.status, p.text)
	}
	second := newBrowser(t, b.base)
	second.signIn("ann", "passphrase of my own")
	const own = "/-/profile/password"
	if p := change(own, own, "passphrase of my own", "passphrase of my own two"); p.status != http.StatusSeeOther {
		t.Errorf("got %d %s", p.status, p.text)
	}
	for _, c := range []*browser{b, second} {
		if p := c.get("/-/profile"); p.status != http.StatusSeeOther {
			t.Errorf("after the change: got %d, want the sign-on", p.status)
		}
	}
}

// People make tokens and keys that work, and take them back; no user reaches those of others.
func TestProfile(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.person("ann", annPassword)
		s.user("bob", nil)
		others := s.token("bob's", "bob", authz.ScopeAPI)
		b := s.browse(t)
		b.signIn("ann", annPassword)
		const tokens, keys = "/-/profile/personal_access_tokens", "/-/profile/keys"
		for _, tt := range []struct {
			form url.Values
			want string
		}{
			{url.Values{"name": {""}, "scopes": {"api"}}, "Name can&#39;t be blank"},
			{url.Values{"name": {"x"}}, "Scopes can&#39;t be blank"},
			{url.Values{"name": {"x"}, "scopes": {"sudo"}}, "Scopes can only contain available scopes"},
			{url.Values{"name": {"x"}, "scopes": {"api"}, "expires_at": {"soon"}}, "Expires at is invalid"},
		} {
			if p := b.post(tokens, tokens, tt.form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, tt.want) {
				t.Errorf("%v: got %d %s, want %q", tt.form, p.status, p.text, tt.want)
			}
		}
		day := time.Now().AddDate(0, 1, 0).Format(time.DateOnly)
		p := b.post(tokens, tokens, url.Values{"name": {`<laptop "1">`}, "scopes": {"api", "write_repository"}, "expires_at": {day}})
		m := regexp.MustCompile(`value="(glpat-[^"]+)"`).FindStringSubmatch(p.text)
		if p.status != http.StatusOK || m == nil || !strings.Contains(p.text, "&lt;laptop &#34;1&#34;&gt;") || !strings.Contains(p.text, "expires "+day) {
			t.Fatalf("got %d %s", p.status, p.text)
		}
		s.keys["laptop"] = m[1]
		if who := s.do("laptop", "GET", "/user", nil); who["username"] != "ann" {
			t.Errorf("the token is of %v", who)
		}
		if p := b.get(tokens); strings.Contains(p.text, m[1]) {
			t.Error("the secret of the token is shown again")
		}
		revoke := regexp.MustCompile(tokens+`/(\d+)/revoke`).FindAllStringSubmatch(p.text, -1)
		if p := b.post(tokens, tokens+"/"+itoa(int64(others.ID))+"/revoke", url.Values{}); p.status != http.StatusNotFound {
			t.Errorf("revoke the token of another user: got %d, want 404", p.status)
		}
		for _, m := range revoke {
			if p := b.post(tokens, m[0], url.Values{}); p.status != http.StatusSeeOther {
				t.Errorf("revoke: got %d %s", p.status, p.text)
			}
		}
		if w := s.send(t.Context(), request{as: "laptop", method: "GET", path: "/user"}); w.Code != http.StatusUnauthorized {
			t.Errorf("a revoked token: got %d", w.Code)
		}
		const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAWcZSmzuAKZQ1jd1wEaUJZGcmX+dKtGmNzpy5nYtRIE ann@laptop"
		if p := b.post(keys, keys, url.Values{"key": {"nonsense"}, "usage_type": {"auth"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text, "Key is invalid") {
			t.Errorf("got %d %s", p.status, p.text)
		}
		if p := b.post(keys, keys, url.Values{"key": {key}, "usage_type": {"auth"}}); p.status != http.StatusSeeOther {
			t.Errorf("got %d %s", p.status, p.text)
		}
		p = b.get(keys)
		if !strings.Contains(p.text, "ann@laptop") {
			t.Errorf("got %s", p.text)
		}
		gone := regexp.MustCompile(keys + `/\d+/delete`).FindString(p.text)
		if p := b.post(keys, gone, url.Values{}); p.status != http.StatusSeeOther {
			t.Errorf("delete: got %d", p.status)
		}
		if p := b.post(keys, gone, url.Values{}); p.status != http.StatusNotFound {
			t.Errorf("delete again: got %d, want 404", p.status)
		}
	})
}

// itoa is a number as a path has it.
func itoa[N ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }
