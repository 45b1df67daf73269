package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
)

type tokenAnswer struct {
	ID        int
	Token     string
	ExpiresAt string `json:"expires_at"`
	Active    bool
	Revoked   bool
	UserID    int `json:"user_id"`
}

func (p *people) token(credential, method, path, form string, status int) tokenAnswer {
	p.t.Helper()
	w, body := p.call(credential, method, path, form)
	if w.Code != status {
		p.t.Fatalf("%s %s: got %d %s, want %d", method, path, w.Code, body, status)
	}
	var a tokenAnswer
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		p.t.Fatal(err)
	}
	return a
}

func TestTokens_create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		_, mona := p.signUp("mona")
		const path = "/users/2/personal_access_tokens"
		for _, c := range []struct {
			token, path, form string
			status            int
			want              string
		}{
			{"", path, "name=x&scopes[]=api", 401, `{"message":"401 Unauthorized"}`},
			{mona, path, "name=x&scopes[]=api", 403, `{"message":"403 Forbidden"}`},
			{adminToken, path, "scopes[]=api", 400, `{"error":"name is missing"}`},
			{adminToken, path, "name=x", 400, `{"error":"scopes is missing"}`},
			{adminToken, path, "name=x&scopes[]=everything", 400, `{"error":"scopes does not have a valid value"}`},
			{adminToken, path, "name=x&scopes=", 422, `{"message":"Scopes can't be blank"}`},
			{adminToken, path, "name=&scopes[]=api", 422, `{"message":"Name can't be blank"}`},
			{adminToken, path, "name=x&scopes[]=api&expires_at=2028-01-01", 422, `{"message":"Expires at must be before 2027-05-04"}`},
			{adminToken, path, "name=x&scopes[]=api&expires_at=tomorrow-ish", 400, `{"error":"expires_at is invalid"}`},
			{adminToken, "/users/99/personal_access_tokens", "name=x&scopes[]=api", 404, `{"message":"404 User Not Found"}`},
		} {
			p.want(c.token, "POST", c.path, c.form, c.status, c.want)
		}
		w, body := p.call(adminToken, "POST", path, "name=ci&scopes=read_api, read_user&description=for+builds&expires_at=2026-06-01")
		var a tokenAnswer
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Fatal(err)
		}
		want := `{"id":3,"name":"ci","revoked":false,"created_at":"2026-05-04T15:38:00.000Z","description":"for builds",` +
			`"scopes":["read_api","read_user"],"user_id":2,"last_used_at":null,"active":true,"expires_at":"2026-06-01","token":"` + a.Token + `"}`
		if w.Code != http.StatusCreated || body != want {
			t.Errorf("got  %d %s\nwant 201 %s", w.Code, body, want)
		}
		if _, body = p.call(a.Token, "GET", "/personal_access_tokens/self", ""); strings.Contains(body, a.Token) ||
			!strings.Contains(body, `"last_used_at":"2026-05-04T15:38:00.000Z"`) {
			t.Errorf("got %s, want the token without its secret, used", body)
		}
		p.want(a.Token, "POST", "/users", "email=x", 403, `{"error":"insufficient_scope","error_description":"The request requires `+
			`higher privileges than provided by the access token.","scope":"read_user api read_api"}`)
	})
}

func TestTokens_self(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, key := p.signUp("mona", authz.ScopeReadRepository)
	if a := p.token(key, "GET", "/personal_access_tokens/self", "", 200); a.ID != 2 || a.UserID != 2 {
		t.Errorf("got %+v, want any scope to see its own token", a)
	}
	p.want(key, "GET", "/personal_access_tokens", "", 403, `{"error":"insufficient_scope","error_description":"The request requires `+
		`higher privileges than provided by the access token.","scope":"api read_api"}`)
	p.want("", "GET", "/personal_access_tokens/self", "", 401, `{"message":"401 Unauthorized"}`)
	p.want(key, "DELETE", "/personal_access_tokens/self", "", 204, "")
	p.want(key, "GET", "/personal_access_tokens/self", "", 401,
		`{"error":"invalid_token","error_description":"Token was revoked. You have to re-authorize from the user."}`)
	if a := p.token(adminToken, "GET", "/personal_access_tokens/self?sudo=mona", "", 200); a.ID != 1 {
		t.Errorf("got %+v, want the administrator's own token under sudo", a)
	}
}

func TestTokens_byID(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, mona := p.signUp("mona")
	_, vincent := p.signUp("vincent")
	p.want(vincent, "GET", "/personal_access_tokens/2", "", 401, `{"message":"401 Unauthorized"}`)
	p.want(vincent, "GET", "/personal_access_tokens/99", "", 401, `{"message":"401 Unauthorized"}`)
	p.want(adminToken, "GET", "/personal_access_tokens/99", "", 404, `{"message":"404 Not Found"}`)
	p.want(vincent, "DELETE", "/personal_access_tokens/2", "", 400, `{"message":"400 Bad request"}`)
	p.want(vincent, "GET", "/personal_access_tokens?user_id=2", "", 401, `{"message":"401 Unauthorized"}`)
	p.want(mona, "GET", "/personal_access_tokens?state=odd", "", 400, `{"error":"state does not have a valid value"}`)
	w, body := p.call(mona, "GET", "/personal_access_tokens?user_id=2&state=active", "")
	if w.Header().Get("X-Total") != "1" || !strings.HasPrefix(body, `[{"id":2,`) {
		t.Errorf("got %s %s, want mona's token", w.Header().Get("X-Total"), body)
	}
	p.want(adminToken, "DELETE", "/personal_access_tokens/2", "", 204, "")
	p.want(adminToken, "DELETE", "/personal_access_tokens/2", "", 400, `{"message":"400 Bad request"}`)
	if a := p.token(adminToken, "GET", "/personal_access_tokens/2", "", 200); !a.Revoked || a.Active {
		t.Errorf("got %+v, want it revoked and readable", a)
	}
}

func TestTokens_expired(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	a := p.token(adminToken, "POST", "/users/1/personal_access_tokens", "name=x&scopes[]=api&expires_at=2026-05-05", 201)
	p.token(a.Token, "GET", "/personal_access_tokens/self", "", 200)
	p.now = p.now.Add(24 * time.Hour)
	w, body := p.call(a.Token, "GET", "/user", "")
	if want := `{"error":"invalid_token","error_description":"Token is expired. You can either do re-authorization or token refresh."}`; w.Code != 401 || body != want {
		t.Errorf("got %d %s, want 401 %s", w.Code, body, want)
	}
	if got := w.Header().Get("WWW-Authenticate"); !strings.HasPrefix(got, `Bearer realm="Protected by OAuth 2.0", error="invalid_token"`) {
		t.Errorf("got header %q", got)
	}
}

func TestTokens_rotate(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.Open(t, false))
	_, first := p.signUp("mona", authz.ScopeSelfRotate)
	const revoked = `{"error":"invalid_token","error_description":"Token was revoked. You have to re-authorize from the user."}`

	second := p.token(first, "POST", "/personal_access_tokens/self/rotate", "", 200)
	if second.ID == 2 || second.ExpiresAt != "2026-05-11" || !second.Active || second.Token == first {
		t.Errorf("got %+v, want a new token for a week", second)
	}
	third := p.token(adminToken, "POST", "/personal_access_tokens/3/rotate", "expires_at=2026-07-01", 200)
	if third.ExpiresAt != "2026-07-01" || third.UserID != 2 {
		t.Errorf("got %+v, want mona's until July", third)
	}
	p.want(adminToken, "POST", "/personal_access_tokens/99/rotate", "", 404, `{"message":"404 Not Found"}`)
	p.want(third.Token, "POST", "/personal_access_tokens/3/rotate", "", 403, `{"error":"insufficient_scope","error_description":"The request requires `+
		`higher privileges than provided by the access token.","scope":"api read_api"}`)

	// The thief of the first secret tries to rotate it: the successors fall with it.
	p.want(first, "GET", "/personal_access_tokens/self", "", 401, revoked)
	p.token(third.Token, "GET", "/personal_access_tokens/self", "", 200)
	p.want(first, "POST", "/personal_access_tokens/self/rotate", "", 401, revoked)
	p.want(third.Token, "GET", "/personal_access_tokens/self", "", 401, revoked)
	p.want(adminToken, "POST", "/personal_access_tokens/2/rotate", "", 400, `{"message":"400 Bad request - Token already revoked"}`)
}
