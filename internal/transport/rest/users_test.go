package rest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/base/secret"
	"tenon/internal/core"
	"tenon/internal/core/account"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/issue"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/setting"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/todo"
	"tenon/internal/core/token"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/httpkit"
	"tenon/internal/transport/rest/api"
)

const adminToken = "a-token-for-root-of-tests"

// people is a server with users and tokens alone.
type people struct {
	*Server
	t   *testing.T
	d   *db.DB
	kit *api.Kit
	now time.Time

	enqueued []job.Args
}

func newPeople(t *testing.T, d *db.DB) *people {
	t.Helper()
	p := &people{t: t, d: d, now: time.Date(2026, 5, 4, 15, 38, 0, 0, time.UTC)}
	clock := func() time.Time { return p.now }
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	bus, policy, settings := &event.Bus{}, authz.New(d, clock), setting.New(d, clock).Sealed(box)
	attributes := attribute.New(attribute.Deps{DB: d, Policy: policy, Now: clock})
	places := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, Settings: settings, Attributes: attributes, Now: clock})
	accounts := account.New(account.Deps{
		Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, Settings: settings, Hasher: secret.NewWeakHasher(), Now: clock,
		Places: places, Attributes: attributes,
		URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, "tenon.example"),
		Jobs: job.EnqueuerFunc(func(_ context.Context, args job.Args, _ ...job.Option) error {
			p.enqueued = append(p.enqueued, args)
			return nil
		}),
	})
	tokens := token.New(token.Deps{DB: d, Policy: policy, Bus: bus, Settings: settings, Accounts: accounts, Now: clock})
	if _, err := tokens.EnsureRoot(t.Context(), token.RootInput{Password: "root's own password", Token: adminToken}); err != nil {
		t.Fatal(err)
	}
	p.Server = &Server{
		Services: &core.Services{Accounts: accounts, Tokens: tokens, Namespaces: places, Policy: policy, Settings: settings, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, "tenon.example")}, Now: clock,
	}
	p.Attributes = attributes
	p.Instance = setting.NewService(setting.Deps{Store: settings, Policy: policy, Bus: bus, Integrations: kind.Slugs()})
	p.Keys = sshkey.New(sshkey.Deps{DB: d, Policy: policy, Bus: bus, Settings: settings, Accounts: accounts, Now: clock})
	p.Todos = todo.New(todo.Deps{
		DB: d, Policy: policy, Now: clock, Kinds: noteable.Collect(
			issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, URLs: p.URLs, Now: clock}),
			mergerequest.New(mergerequest.Deps{Limits: &limit.Service{}, DB: d, Policy: policy, Bus: bus, URLs: p.URLs, Now: clock}),
			epic.New(epic.Deps{Limits: &limit.Service{}, DB: d, Policy: policy}),
		),
	})
	p.GPGKeys = gpgkey.New(gpgkey.Deps{DB: d, Policy: policy, Bus: bus, Accounts: accounts, Now: clock})
	p.kit = api.New(api.Config{
		ExternalURL: "https://tenon.example", Authenticate: (&httpkit.SignOn{Accounts: p.Accounts, Tokens: p.Tokens}).Authenticate, FindUser: (&httpkit.SignOn{Accounts: p.Accounts}).FindUser,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Limits: &limit.Service{},
	}, slices.Concat(p.settingRoutes(), p.userRoutes(), p.tokenRoutes(), p.keyRoutes(), p.gpgKeyRoutes()))
	return p
}

// call sends a request with a token, "" for none, and returns the answer's status and body.
func (p *people) call(token, method, path, form string) (*httptest.ResponseRecorder, string) {
	p.t.Helper()
	r := httptest.NewRequestWithContext(p.t.Context(), method, api.Prefix+path, strings.NewReader(form))
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if token != "" {
		r.Header.Set("Private-Token", token)
	}
	w := httptest.NewRecorder()
	p.kit.ServeHTTP(w, r)
	return w, w.Body.String()
}

// want sends a request and compares status and body.
func (p *people) want(token, method, path, form string, status int, body string) {
	p.t.Helper()
	w, got := p.call(token, method, path, form)
	if w.Code != status || got != body {
		p.t.Errorf("%s %s %s\n got %d %s\nwant %d %s", method, path, form, w.Code, got, status, body)
	}
}

// signUp makes a user with a token of these scopes.
func (p *people) signUp(name string, scopes ...authz.Scope) (authz.UserID, string) {
	p.t.Helper()
	root, _, err := p.Tokens.Authenticate(p.t.Context(), adminToken)
	if err != nil {
		p.t.Fatal(err)
	}
	u, err := p.Accounts.Create(p.t.Context(), root, account.Input{
		Email: name + "@example.com", Username: name, Name: "The " + name, ForceRandomPassword: true,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if scopes == nil {
		scopes = []authz.Scope{authz.ScopeAPI}
	}
	_, key, err := p.Tokens.Create(p.t.Context(), root, u.ID, token.Input{Name: "ci", Scopes: scopes})
	if err != nil {
		p.t.Fatal(err)
	}
	return u.ID, key
}

// keys returns the keys of a JSON object in their order.
func keys(t *testing.T, body string) []string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(body))
	var out []string
	depth := 0
	key := true
	for {
		tok, err := dec.Token()
		if err != nil {
			return out
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			key = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			key = depth == 1
			continue
		}
		if depth == 1 {
			if key {
				out = append(out, tok.(string))
			}
			key = !key
		}
	}
}

const (
	blockA = "id username name state avatar_url web_url"
	blockB = blockA + " created_at bio location public_email skype linkedin twitter discord website_url job_title pronouns" +
		" organization bot work_information followers following is_followed local_time"
	blockC = blockB + " last_sign_in_at confirmed_at last_activity_on email theme_id color_scheme_id projects_limit" +
		" current_sign_in_at identities can_create_group can_create_project two_factor_enabled external private_profile" +
		" commit_email shared_runners_minutes_limit extra_shared_runners_minutes_limit"
	blockD = blockC + " is_admin note namespace_id created_by is_auditor using_license_seat provisioned_by_group_id"
	blockE = blockD + " current_sign_in_ip last_sign_in_ip sign_in_count plan trial"
)

func TestUsers_audiences(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	for _, c := range []struct{ name, token, path, want string }{
		{"self", mona, "/user", blockC},
		{"administrator's self", adminToken, "/user", blockD},
		{"another", mona, "/users/1", blockB},
		{"another for administrators", adminToken, "/users/2", blockE},
	} {
		w, body := p.call(c.token, "GET", c.path, "")
		if got := strings.Join(keys(t, body), " "); w.Code != http.StatusOK || got != c.want {
			t.Errorf("%s:\n got %d %s\nwant 200 %s", c.name, w.Code, got, c.want)
		}
	}
	for _, c := range []struct{ name, token, want string }{
		{"list", mona, blockA},
		{"list for administrators", adminToken, blockD},
	} {
		_, body := p.call(c.token, "GET", "/users?username=mona", "")
		if got := strings.Join(keys(t, strings.Trim(body, "[]")), " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestUsers_get(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	if _, err := p.d.Exec(t.Context(), "UPDATE users SET time_zone = 'America/New_York' WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	p.want(mona, "GET", "/users/1", "", 200, `{"id":1,"username":"root","name":"Administrator","state":"active",`+
		`"avatar_url":"https://www.gravatar.com/avatar/258d8dc916db8cea2cafb6c3cd0cb0246efe061421dbd83ec3a350428cabda4f?s=80&d=identicon",`+
		`"web_url":"https://tenon.example/root","created_at":"2026-05-04T15:38:00.000Z","bio":"","location":null,"public_email":null,`+
		`"skype":"","linkedin":"","twitter":"","discord":"","website_url":"","job_title":"","pronouns":null,"organization":"","bot":false,`+
		`"work_information":null,"followers":0,"following":0,"is_followed":false,"local_time":"11:38 AM"}`)
	p.want("", "GET", "/users/1", "", 403, `{"message":"403 Forbidden - Not authorized!"}`)
	p.want(mona, "GET", "/users/99", "", 404, `{"message":"404 User Not Found"}`)
	p.want(mona, "GET", "/users/root", "", 404, `{"error":"404 Not Found"}`)
	p.want(mona, "GET", "/users/99999999999999999999", "", 404, `{"message":"404 User Not Found"}`)
	p.want("", "GET", "/user", "", 401, `{"message":"401 Unauthorized"}`)
	p.want("wrong", "GET", "/users?username=root", "", 401, `{"message":"401 Unauthorized"}`)

	if _, err := p.d.Exec(t.Context(), "UPDATE users SET private_profile = true WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	_, body := p.call(mona, "GET", "/users/1", "")
	for _, hidden := range []string{"created_at", "followers", "following", "is_followed"} {
		if strings.Contains(body, `"`+hidden+`"`) {
			t.Errorf("got %s of a private profile", hidden)
		}
	}
	if err := p.Settings.Set(t.Context(), "gravatar_enabled", false); err != nil {
		t.Fatal(err)
	}
	if _, body = p.call(mona, "GET", "/users/1", ""); !strings.Contains(body, `"avatar_url":null`) {
		t.Errorf("got %s, want no avatar", body)
	}
}

func TestUsers_list(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	gone, _ := p.signUp("gone")
	if _, err := p.d.Exec(t.Context(), "UPDATE users SET state = 'blocked' WHERE id = ?", gone); err != nil {
		t.Fatal(err)
	}
	names := func(token, query string) string {
		t.Helper()
		w, body := p.call(token, "GET", "/users"+query, "")
		if w.Code != http.StatusOK {
			t.Fatalf("%s: got %d %s", query, w.Code, body)
		}
		var list []struct{ Username string }
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatal(err)
		}
		out := make([]string, len(list))
		for i, u := range list {
			out[i] = u.Username
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ token, query, want string }{
		{adminToken, "", "gone mona root"},
		{mona, "", "mona root"},
		{mona, "?blocked=true", ""},
		{mona, "?active=false", "mona root"},
		{mona, "?order_by=username&sort=asc&admins=true", "mona root"},
		{adminToken, "?order_by=username&sort=asc", "gone mona root"},
		{adminToken, "?created_after=2026-05-05", ""},
		{adminToken, "?search=MON", "mona"},
		{adminToken, "?search=", ""},
		{"", "?username=ROOT", "root"},
		{"", "?username=gone", ""},
	} {
		if got := names(c.token, c.query); got != c.want {
			t.Errorf("%s: got %q, want %q", c.query, got, c.want)
		}
	}
	p.want("", "GET", "/users", "", 403, `{"message":"403 Forbidden - Not authorized to access /api/v4/users"}`)
	p.want(mona, "GET", "/users?extern_uid=1&provider=github", "", 403, `{"message":"403 Forbidden"}`)
	p.want(mona, "GET", "/users?extern_uid=1", "", 400, `{"error":"extern_uid, provider provide all or none of parameters"}`)
	p.want(mona, "GET", "/users?order_by=password_hash", "", 400, `{"error":"order_by does not have a valid value"}`)
	p.want(mona, "GET", "/users?two_factor=maybe", "", 400, `{"error":"two_factor does not have a valid value"}`)
	p.want(mona, "GET", "/users?page=501&per_page=100", "", 405, `{"error":"Offset pagination has a maximum allowed offset of 50000 `+
		`for requests that return objects of type User. Remaining records can be retrieved using keyset pagination."}`)

	w, _ := p.call(adminToken, "GET", "/users?per_page=2", "")
	for name, want := range map[string]string{"X-Total": "3", "X-Total-Pages": "2", "X-Next-Page": "2", "X-Per-Page": "2"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if n := dbtest.Count(t, p.d, func() { p.call(adminToken, "GET", "/users", "") }); n > 4 {
		t.Errorf("got %d statements, want at most 4", n)
	}
}

func TestUsers_create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		_, mona := p.signUp("mona")
		form := func(pairs ...string) string {
			v := url.Values{"email": {"new@example.com"}, "username": {"newcomer"}, "name": {"Nova"}, "password": {"zebra-crossing-42"}}
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i+1] == "-" {
					v.Del(pairs[i])
					continue
				}
				v.Set(pairs[i], pairs[i+1])
			}
			return v.Encode()
		}
		for _, c := range []struct {
			token, form string
			status      int
			want        string
		}{
			{"", form(), 401, `{"message":"401 Unauthorized"}`},
			{mona, form(), 403, `{"message":"403 Forbidden"}`},
			{mona, form("email", "-"), 400, `{"error":"email is missing"}`},
			{adminToken, form("name", "-", "username", "-"), 400, `{"error":"name is missing, username is missing"}`},
			{adminToken, form("password", "-"), 400, `{"error":"password, reset_password, force_random_password are missing, at least one parameter must be provided"}`},
			{adminToken, form("password", "-", "reset_password", "false"), 400, `{"message":{"password":["can't be blank"]}}`},
			{adminToken, form("provider", "github"), 400, `{"error":"extern_uid, provider provide all or none of parameters"}`},
			{adminToken, form("email", "MONA@example.com"), 409, `{"message":"Email has already been taken"}`},
			{adminToken, form("username", "Mona"), 409, `{"message":"Username has already been taken"}`},
			{adminToken, form("email", "x"), 400, `{"message":{"email":["is invalid"]}}`},
			{adminToken, form("password", "short"), 400, `{"message":{"password":["is too short (minimum is 8 characters)"]}}`},
			{adminToken, form("username", "-x"), 400, `{"message":{"username":["can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'."]}}`},
			{adminToken, form("username", "api"), 400, `{"message":{"username":["api is a reserved name"]}}`},
			{adminToken, form("projects_limit", "-1"), 400, `{"message":{"projects_limit":["must be greater than or equal to 0"]}}`},
			{adminToken, form("theme_id", "99"), 400, `{"message":{"theme_id":["99 is not a valid theme"]}}`},
			{adminToken, form("projects_limit", "many"), 400, `{"error":"projects_limit is invalid"}`},
		} {
			p.want(c.token, "POST", "/users", c.form, c.status, c.want)
		}
		w, body := p.call(adminToken, "POST", "/users", form("admin", "true", "bio", "hello", "note", "trusted", "provider", "github", "extern_uid", "7"))
		if w.Code != http.StatusCreated {
			t.Fatalf("got %d %s", w.Code, body)
		}
		if got := strings.Join(keys(t, body), " "); got != blockD {
			t.Errorf("got  %s\nwant %s", got, blockD)
		}
		for _, part := range []string{
			`"username":"newcomer"`, `"email":"new@example.com"`, `"is_admin":true`, `"bio":"hello"`, `"note":"trusted"`, `"can_create_project":true`,
			`"identities":[{"provider":"github","extern_uid":"7","saml_provider_id":null}]`, `"created_by":{"id":1,"username":"root"`,
			`"confirmed_at":"2026-05-04T15:38:00.000Z"`, `"commit_email":"new@example.com"`, `"projects_limit":100000`,
		} {
			if !strings.Contains(body, part) {
				t.Errorf("got %s\nwant %s in it", body, part)
			}
		}
		if strings.Contains(body, "argon2") || strings.Contains(body, "zebra") {
			t.Error("the answer gives the password away")
		}
	})
}

func TestUsers_sudo(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	for _, who := range []string{"2", "MONA"} {
		if _, body := p.call(adminToken, "GET", "/user?sudo="+who, ""); !strings.Contains(body, `"username":"mona"`) {
			t.Errorf("sudo=%s: got %s, want mona", who, body)
		}
	}
	p.want(adminToken, "GET", "/user?sudo=123", "", 404, `{"message":"404 User with ID or username '123' Not Found"}`)
	p.want(mona, "GET", "/user?sudo=root", "", 403, `{"message":"403 Forbidden - Must be admin to use sudo"}`)
}

func TestUsers_blocked(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	if _, err := p.d.Exec(context.WithoutCancel(t.Context()), "UPDATE users SET state = 'blocked' WHERE id = 2"); err != nil {
		t.Fatal(err)
	}
	p.want(mona, "GET", "/user", "", 403, `{"message":"403 Forbidden - Your account has been blocked."}`)
	p.want(mona, "GET", "/users?username=root", "", 403, `{"message":"403 Forbidden - Your account has been blocked."}`)
}

func TestUsers_counts(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	p.want(mona, "GET", "/user_counts", "", 200, `{"merge_requests":0,"assigned_issues":0,"assigned_merge_requests":0,`+
		`"review_requested_merge_requests":0,"todos":0}`)
	p.want("", "GET", "/user_counts", "", 401, `{"message":"401 Unauthorized"}`)
}

// A caller who may not act cannot be acted for either: sudo is no way around a block.
func TestUsers_sudoBarred(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	p.signUp("mona")
	_, sudo := p.signUp("boss", authz.ScopeAPI, authz.ScopeSudo)
	if _, err := p.d.Exec(t.Context(), "UPDATE users SET admin = true WHERE username = 'boss'"); err != nil {
		t.Fatal(err)
	}
	p.now = p.now.Add(time.Minute) // what is remembered of the token is old
	if w, body := p.call(sudo, "GET", "/user?sudo=MONA", ""); w.Code != http.StatusOK || !strings.Contains(body, `"username":"mona"`) {
		t.Fatalf("sudo: got %d %s", w.Code, body)
	}
	for state, want := range map[account.State]string{
		account.Blocked:         "403 Forbidden - Your account has been blocked.",
		account.Banned:          "403 Forbidden - Your account has been blocked.",
		account.PendingApproval: "403 Forbidden - Your account is pending approval from your administrator and hence blocked.",
		account.Deactivated: "403 Forbidden - Your account has been deactivated by your administrator. " +
			"Please log back in from a web browser to reactivate your account at https://tenon.example",
	} {
		if _, err := p.d.Exec(t.Context(), "UPDATE users SET state = ? WHERE username = 'mona'", state); err != nil {
			t.Fatal(err)
		}
		p.want(sudo, "GET", "/user?sudo=mona", "", 403, `{"message":"`+want+`"}`)
		p.want(sudo, "POST", "/user/emails?sudo=2", "email=x@example.com", 403, `{"message":"`+want+`"}`)
	}
	p.want(sudo, "GET", "/user?sudo=nobody", "", 404, `{"message":"404 User with ID or username 'nobody' Not Found"}`)
}

// Where nothing public is allowed, who is not signed in cannot find out who there is
// (CVE-2021-4191).
func TestUsers_enumeration(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	paths := []string{"/users/mona/keys", "/users/2/gpg_keys", "/users/mona/status"}
	for _, path := range append(paths, "/users?username=mona") {
		if w, body := p.call("", "GET", path, ""); w.Code != http.StatusOK {
			t.Errorf("%s, public things allowed: got %d %s", path, w.Code, body)
		}
	}
	if err := p.Settings.Set(t.Context(), "restricted_visibility_levels", []string{"public"}); err != nil {
		t.Fatal(err)
	}
	for _, username := range []string{"mona", "nobody"} {
		p.want("", "GET", "/users?username="+username, "", 403, `{"message":"403 Forbidden - Not authorized to access /api/v4/users"}`)
	}
	for _, path := range append(paths, "/users/nobody/keys", "/users/9/gpg_keys", "/users/2/keys/1", "/users/9/status") {
		p.want("", "GET", path, "", 404, `{"message":"404 User Not Found"}`)
	}
	for _, path := range append(paths, "/users?username=mona") {
		if w, body := p.call(mona, "GET", path, ""); w.Code != http.StatusOK {
			t.Errorf("%s, signed in: got %d %s", path, w.Code, body)
		}
	}
}
