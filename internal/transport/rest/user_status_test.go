package rest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

const noStatus = `{"emoji":null,"message":null,"availability":null,"message_html":"","clear_status_at":null}`

func TestUserStatus(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		ann, key := p.signUp("ann")
		p.want(key, "GET", "/user/status", "", 200, noStatus)
		p.want("", "GET", "/users/ann/status", "", 200, noStatus)
		p.want("", "GET", "/users/nobody/status", "", 404, `{"message":"404 User Not Found"}`)
		p.want("", "GET", "/user/status", "", 401, `{"message":"401 Unauthorized"}`)

		const lunch = `{"emoji":"speech_balloon","message":"At <b>lunch","availability":"not_set",` +
			`"message_html":"At &lt;b&gt;lunch","clear_status_at":"2026-05-04T18:38:00.000Z"}`
		p.want(key, "PUT", "/user/status", "message=At+<b>lunch&clear_status_after=3_hours", 200, lunch)
		p.want("", "GET", fmt.Sprintf("/users/%d/status", ann), "", 200, lunch)
		p.want(key, "PATCH", "/user/status", "", 200, "")
		p.want(key, "GET", "/user/status", "", 200, lunch)
		p.want(key, "PATCH", "/user/status", "availability=busy&emoji=coffee", 200, strings.NewReplacer("speech_balloon", "coffee", "not_set", "busy").Replace(lunch))
		p.now = p.now.Add(3 * time.Hour)
		p.want(key, "GET", "/user/status", "", 200, noStatus)
		p.want(key, "PUT", "/user/status", "availability=busy", 200,
			`{"emoji":"speech_balloon","message":null,"availability":"busy","message_html":"","clear_status_at":null}`)
		p.want(key, "PUT", "/user/status", "", 200, noStatus)
		p.want(key, "GET", "/user/status", "", 200, noStatus)

		p.want(key, "PUT", "/user/status", "emoji=nothing_like_it", 400, `{"message":{"emoji":["is not a valid emoji name"]}}`)
		p.want(key, "PUT", "/user/status", "message="+strings.Repeat("x", 101), 400, `{"message":{"message":["is too long (maximum is 100 characters)"]}}`)
		p.want(key, "PUT", "/user/status", "clear_status_after=never", 400, `{"error":"clear_status_after does not have a valid value"}`)
		p.want(key, "PUT", "/user/status", "availability=asleep", 400, `{"error":"availability does not have a valid value"}`)
	})
}

func TestUserEmails(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		ann, key := p.signUp("ann")
		_, other := p.signUp("ben")
		p.want(key, "GET", "/user/emails", "", 200, "[]")
		const more = `{"id":4,"email":"more@example.com","confirmed_at":null}` // naming an address does not prove it
		p.want(key, "POST", "/user/emails", "email=More@example.com", 201, more)
		p.want(key, "GET", "/user/emails", "", 200, "["+more+"]")
		p.want(key, "GET", "/user/emails/4", "", 200, more)
		p.want(other, "GET", "/user/emails/4", "", 404, `{"message":"404 Email Not Found"}`)
		p.want(other, "DELETE", "/user/emails/4", "", 404, `{"message":"404 Email Not Found"}`)
		p.want(key, "GET", "/user/emails/2", "", 404, `{"message":"404 Email Not Found"}`) // the primary one
		p.want(key, "DELETE", "/user/emails/2", "", 404, `{"message":"404 Email Not Found"}`)
		for _, taken := range []string{"more@example.com", "ann@example.com", "BEN@example.com"} {
			p.want(key, "POST", "/user/emails", "email="+taken, 400, `{"message":{"email":["has already been taken"]}}`)
		}
		p.want(key, "POST", "/user/emails", "email=nonsense", 400, `{"message":{"email":["is invalid"]}}`)

		at := fmt.Sprintf("/users/%d/emails", ann)
		p.want(key, "GET", at, "", 403, `{"message":"403 Forbidden"}`)
		p.want(adminToken, "GET", at, "", 200, "["+more+"]")
		p.want(adminToken, "GET", "/users/999/emails", "", 404, `{"message":"404 User Not Found"}`)
		w, body := p.call(adminToken, "POST", at, "email=given@example.com&skip_confirmation=true")
		if w.Code != 201 || !strings.Contains(body, `"email":"given@example.com"`) {
			t.Errorf("got %d %s, want another address", w.Code, body)
		}
		p.want(adminToken, "GET", at+"?per_page=1&page=2", "", 200, "["+body+"]")

		// An address that is shown is shown no more once it is gone.
		if w, body := p.call(adminToken, "PUT", fmt.Sprintf("/users/%d", ann), "public_email=given@example.com"); w.Code != 200 {
			t.Fatalf("got %d %s", w.Code, body)
		}
		p.want(adminToken, "DELETE", at+"/5", "", 204, "")
		p.want(adminToken, "DELETE", at+"/5", "", 404, `{"message":"404 Email Not Found"}`)
		if _, body := p.call(other, "GET", fmt.Sprintf("/users/%d", ann), ""); !strings.Contains(body, `"public_email":null`) {
			t.Errorf("got %s, want no public address", body)
		}
	})
}

func TestUsers_approveAndIdentity(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		ann, key := p.signUp("ann")
		at := fmt.Sprintf("/users/%d", ann)
		p.want(adminToken, "POST", at+"/approve", "", 409, `{"message":"The user you are trying to approve is not pending approval"}`)
		if _, err := d.Exec(t.Context(), "UPDATE users SET state = 'blocked_pending_approval' WHERE id = ?", ann); err != nil {
			t.Fatal(err)
		}
		p.want(adminToken, "POST", at+"/approve", "", 201, `{"message":"Success"}`)
		p.want(key, "POST", at+"/approve", "", 403, `{"message":"403 Forbidden"}`)
		p.want(adminToken, "POST", "/users/999/approve", "", 404, `{"message":"404 User Not Found"}`)

		if w, body := p.call(adminToken, "PUT", at, "provider=saml&extern_uid=x"); w.Code != 200 {
			t.Fatalf("got %d %s", w.Code, body)
		}
		p.want(key, "DELETE", at+"/identities/saml", "", 403, `{"message":"403 Forbidden"}`)
		p.want(adminToken, "DELETE", at+"/identities/saml", "", 204, "")
		p.want(adminToken, "DELETE", at+"/identities/saml", "", 404, `{"message":"404 Identity Not Found"}`)
		p.want(adminToken, "DELETE", "/users/999/identities/saml", "", 404, `{"message":"404 User Not Found"}`)
	})
}

func TestUsers_lastAdministrator(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		const refusal = `{"message":"The last administrator cannot be removed from office, blocked or deactivated"}`
		p.want(adminToken, "PUT", "/users/1", "admin=false", 403, refusal)
		ann, _ := p.signUp("ann")
		if w, body := p.call(adminToken, "PUT", fmt.Sprintf("/users/%d", ann), "admin=true"); w.Code != 200 {
			t.Fatalf("got %d %s", w.Code, body)
		}
		if w, body := p.call(adminToken, "POST", fmt.Sprintf("/users/%d/block", ann), ""); w.Code != 201 {
			t.Fatalf("got %d %s", w.Code, body)
		}
		p.want(adminToken, "PUT", "/users/1", "admin=false", 403, refusal) // a blocked one does not count
		if w, body := p.call(adminToken, "POST", fmt.Sprintf("/users/%d/unblock", ann), ""); w.Code != 201 {
			t.Fatalf("got %d %s", w.Code, body)
		}
		if w, body := p.call(adminToken, "PUT", "/users/1", "admin=false"); w.Code != 200 {
			t.Errorf("got %d %s, want it done: another one is there", w.Code, body)
		}
	})
}
