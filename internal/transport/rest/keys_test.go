package rest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/sshkey"
)

const (
	keyLine    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICHGD8qKFgbP42oiLQ/X5Syah+qxI1XmUfRQ7i2zxpEZ"
	keyPrint   = "SHA256:cmFUXO0NTK28xcpIfSj441aNcnvuu5jYr7cwqJnlgWs"
	secondLine = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILg+cq35n0EnxL4mdNo41d304zhzyHx0W11LhL5MBtpS"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		ann, key := p.signUp("ann")
		_, other := p.signUp("ben")
		form := url.Values{"title": {"laptop"}, "key": {keyLine + " ann@home"}, "expires_at": {"2027-01-02"}}.Encode()
		const shown = `{"id":1,"title":"laptop","created_at":"2026-05-04T15:38:00.000Z","expires_at":"2027-01-02T00:00:00.000Z",` +
			`"last_used_at":null,"key":"` + keyLine + ` The ann (tenon.example)","usage_type":"auth_and_signing"}`
		p.want(key, "POST", "/user/keys", form, 201, shown)
		p.want(key, "GET", "/user/keys", "", 200, "["+shown+"]")
		p.want(key, "GET", "/user/keys/1", "", 200, shown)
		p.want(other, "GET", "/user/keys/1", "", 404, `{"message":"404 Key Not Found"}`)
		p.want(other, "GET", "/user/keys", "", 200, "[]")
		p.want("", "GET", "/user/keys", "", 401, `{"message":"401 Unauthorized"}`)

		p.want("", "GET", "/users/ann/keys", "", 200, "["+shown+"]")
		p.want("", "GET", fmt.Sprintf("/users/%d/keys", ann), "", 200, "["+shown+"]")
		p.want("", "GET", "/users/nobody/keys", "", 404, `{"message":"404 User Not Found"}`)
		p.want("", "GET", "/users/ann/keys/1", "", 200, shown)
		p.want("", "GET", "/users/ann/keys/9", "", 404, `{"message":"404 Key Not Found"}`)
		p.want("", "GET", "/users/ben/keys/1", "", 404, `{"message":"404 Key Not Found"}`)

		second := url.Values{"title": {"desk"}, "key": {secondLine}, "usage_type": {"signing"}}.Encode()
		p.want(key, "POST", fmt.Sprintf("/users/%d/keys", ann), second, 403, `{"message":"403 Forbidden"}`)
		w, body := p.call(adminToken, "POST", fmt.Sprintf("/users/%d/keys", ann), second)
		if w.Code != 201 || !strings.Contains(body, `"usage_type":"signing"`) {
			t.Errorf("got %d %s, want a key for signing", w.Code, body)
		}
		p.want(adminToken, "POST", "/users/999/keys", second, 404, `{"message":"404 User Not Found"}`)
		p.want(key, "DELETE", fmt.Sprintf("/users/%d/keys/2", ann), "", 403, `{"message":"403 Forbidden"}`)
		p.want(adminToken, "DELETE", fmt.Sprintf("/users/%d/keys/2", ann), "", 204, "")
		p.want(adminToken, "DELETE", fmt.Sprintf("/users/%d/keys/2", ann), "", 404, `{"message":"404 Key Not Found"}`)
		p.want(other, "DELETE", "/user/keys/1", "", 404, `{"message":"404 Key Not Found"}`)
		p.want(key, "DELETE", "/user/keys/1", "", 204, "")
	})
}

func TestKeys_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		_, key := p.signUp("ann")
		_, other := p.signUp("ben")
		_, reads := p.signUp("cal", authz.ScopeReadUser)
		p.want(reads, "GET", "/user/keys", "", 200, "[]")
		for _, tt := range []struct {
			form url.Values
			want string
		}{
			{url.Values{"title": {"t"}}, `{"error":"key is missing"}`},
			{url.Values{"key": {keyLine}}, `{"error":"title is missing"}`},
			{url.Values{"title": {"t"}, "key": {keyLine}, "usage_type": {"all"}}, `{"error":"usage_type does not have a valid value"}`},
			{url.Values{"title": {"t"}, "key": {"x"}}, `{"message":{"key":["is invalid"],"fingerprint_sha256":["cannot be generated"]}}`},
			{url.Values{"title": {"t"}, "key": {keyLine}, "expires_at": {"2026-05-04"}}, `{"message":{"key":["has expired"]}}`},
		} {
			p.want(key, "POST", "/user/keys", tt.form.Encode(), 400, tt.want)
		}
		form := url.Values{"title": {"t"}, "key": {keyLine}}.Encode()
		if w, body := p.call(key, "POST", "/user/keys", form); w.Code != 201 {
			t.Fatalf("got %d %s", w.Code, body)
		}
		p.want(other, "POST", "/user/keys", form, 400, `{"message":{"fingerprint_sha256":["has already been taken"]}}`)
		if w, body := p.call(reads, "POST", "/user/keys", form); w.Code != 403 || !strings.Contains(body, "insufficient_scope") {
			t.Errorf("got %d %s, want a refusal of a token that reads", w.Code, body)
		}
	})
}

func TestKeys_lookUp(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		ann, key := p.signUp("ann")
		if w, body := p.call(key, "POST", "/user/keys", url.Values{"title": {"t"}, "key": {keyLine}}.Encode()); w.Code != 201 {
			t.Fatalf("got %d %s", w.Code, body)
		}
		k, err := p.Keys.ByFingerprint(t.Context(), authz.System(), keyPrint)
		if err != nil {
			t.Fatal(err)
		}
		_, byID := p.call(adminToken, "GET", "/keys/1", "")
		for _, mark := range []string{keyPrint, k.MD5} {
			w, body := p.call(adminToken, "GET", "/keys?fingerprint="+url.QueryEscape(mark), "")
			if w.Code != 200 || body != byID {
				t.Errorf("%s: got %d %s, want %s", mark, w.Code, body, byID)
			}
		}
		if got := keys(t, byID); !slices.Equal(got, []string{"id", "title", "created_at", "expires_at", "last_used_at", "key", "usage_type", "user"}) {
			t.Errorf("got keys %q", got)
		}
		for _, part := range []string{`"user":{"id":` + fmt.Sprint(ann), `"email":"ann@example.com"`, `"is_admin":false`, `"namespace_id":`} {
			if !strings.Contains(byID, part) {
				t.Errorf("%s lacks %s", byID, part)
			}
		}
		p.want("", "GET", "/keys/1", "", 401, `{"message":"401 Unauthorized"}`)
		p.want(key, "GET", "/keys/1", "", 403, `{"message":"403 Forbidden"}`)
		p.want(key, "GET", "/keys?fingerprint=x", "", 403, `{"message":"403 Forbidden"}`)
		p.want(adminToken, "GET", "/keys/99", "", 404, `{"message":"404 Not found"}`)
		p.want(adminToken, "GET", "/keys", "", 400, `{"error":"fingerprint is missing"}`)
		p.want(adminToken, "GET", "/keys?fingerprint=", "", 400, `{"message":"Failed to return the key"}`)
		p.want(adminToken, "GET", "/keys?fingerprint=11:22", "", 400, `{"message":"Failed to return the key"}`)
		p.want(adminToken, "GET", "/keys?fingerprint=SHA256:"+strings.Repeat("A", 43), "", 404, `{"message":"404 Key Not Found"}`)
	})
}

func TestKeys_lastUsed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		_, key := p.signUp("ann")
		p.call(key, "POST", "/user/keys", url.Values{"title": {"t"}, "key": {keyLine}}.Encode())
		p.now = p.now.Add(time.Hour)
		if _, err := p.Keys.SignOn(t.Context(), sshkey.ID(1)); err != nil {
			t.Fatal(err)
		}
		if _, body := p.call(key, "GET", "/user/keys/1", ""); !strings.Contains(body, `"last_used_at":"2026-05-04T16:38:00.000Z"`) {
			t.Errorf("got %s, want the time of its use", body)
		}
	})
}
