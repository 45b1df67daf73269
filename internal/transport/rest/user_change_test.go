package rest

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestUsers_update(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		_, mona := p.signUp("mona")
		p.signUp("vincent")
		for _, c := range []struct {
			token, path, form string
			status            int
			want              string
		}{
			{"", "/users/2", "name=x", 401, `{"message":"401 Unauthorized"}`},
			{mona, "/users/2", "name=x", 403, `{"message":"403 Forbidden"}`},
			{adminToken, "/users/99", "name=x", 404, `{"message":"404 User Not Found"}`},
			{adminToken, "/users/2", "email=VINCENT@example.com", 404, `{"message":"Email has already been taken"}`},
			{adminToken, "/users/2", "username=Vincent", 404, `{"message":"Username has already been taken"}`},
			{adminToken, "/users/2", "username=-x", 400, `{"message":{"username":["can contain only letters, digits, '_', '-' and '.'. ` +
				`Cannot start with '-' or end in '.', '.git' or '.atom'."]}}`},
			{adminToken, "/users/2", "email=", 400, `{"message":{"email":["can't be blank"]}}`},
			{adminToken, "/users/2", "name=", 400, `{"message":{"name":["can't be blank"]}}`},
			{adminToken, "/users/2", "public_email=a@example.com", 400, `{"message":{"public_email":["must be an email you have verified"]}}`},
			{adminToken, "/users/2", "commit_email=a@example.com", 400, `{"message":{"commit_email":["must be an email you have verified"]}}`},
			{adminToken, "/users/2", "password=short", 400, `{"message":{"password":["is too short (minimum is 8 characters)"]}}`},
		} {
			p.want(c.token, "PUT", c.path, c.form, c.status, c.want)
		}
		_, before := p.call(adminToken, "GET", "/users/2", "")
		p.call(adminToken, "PUT", "/users/2", "")
		if _, after := p.call(adminToken, "GET", "/users/2", ""); after != before {
			t.Errorf("got  %s\nwant %s", after, before)
		}

		has := func(form string, parts ...string) {
			t.Helper()
			w, body := p.call(adminToken, "PUT", "/users/2", form)
			for _, part := range parts {
				if w.Code != 200 || !strings.Contains(body, part) {
					t.Errorf("%s: got %d %s\nwant %s in it", form, w.Code, body, part)
				}
			}
		}
		has("name=Lisa&username=Lisa&bio=smiles&admin=true&can_create_group=no&shared_runners_minutes_limit=5",
			`"name":"Lisa"`, `"username":"Lisa"`, `"web_url":"https://tenon.example/Lisa"`, `"bio":"smiles"`, `"is_admin":true`,
			`"can_create_group":false`, `"shared_runners_minutes_limit":5`)
		has("shared_runners_minutes_limit=&admin=false", `"shared_runners_minutes_limit":null`, `"is_admin":false`, `"bio":"smiles"`)
		has("commit_email=_private", `"commit_email":"2-Lisa@users.noreply.tenon.example"`)
		has("public_email=mona@example.com", `"public_email":"mona@example.com"`)
		has("email=other@example.com", `"email":"mona@example.com"`)
		has("email=new@example.com&skip_reconfirmation=true", `"email":"new@example.com"`)
		has("email=mona@example.com", `"email":"mona@example.com"`) // still hers and confirmed
		has("provider=github&extern_uid=9", `"identities":[{"provider":"github","extern_uid":"9","saml_provider_id":null}]`)
		has("provider=github&extern_uid=10", `"identities":[{"provider":"github","extern_uid":"10","saml_provider_id":null}]`)
		path, err := db.Get[string](t.Context(), d, "SELECT r.path FROM routes r JOIN users u ON u.namespace_id = r.namespace_id WHERE u.id = 2")
		if err != nil || path != "Lisa" {
			t.Errorf("got route %q, %v, want Lisa", path, err)
		}
		redirects, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM redirect_routes WHERE path_fold = 'mona'")
		if err != nil || redirects != 1 {
			t.Errorf("got %d redirects, %v, want the old path kept", redirects, err)
		}

		has("password=zebra-crossing-42", `"id":2`)
		p.want(mona, "GET", "/user", "", 403,
			`{"message":"403 Forbidden - Your password expired. Please access GitLab from a web browser to update your password."}`)
	})
}

func TestUsers_moderation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d)
		_, mona := p.signUp("mona")
		p.signUp("sleepy")
		p.signUp("ldap")
		p.signUp("robot")
		for _, change := range []string{
			"UPDATE users SET state = 'ldap_blocked' WHERE username = 'ldap'",
			"UPDATE users SET user_type = 'internal' WHERE username = 'robot'",
		} {
			if _, err := d.Exec(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		p.call(mona, "GET", "/users/1", "") // leaves a trace of activity
		if err := p.Accounts.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			token, path string
			status      int
			want        string
		}{
			{"", "/users/2/block", 401, `{"message":"401 Unauthorized"}`},
			{mona, "/users/3/block", 403, `{"message":"403 Forbidden"}`},
			{adminToken, "/users/99/block", 404, `{"message":"404 User Not Found"}`},
			{adminToken, "/users/1/block", 403, `{"message":"403 Forbidden - The API initiating user cannot be blocked by the API"}`},
			{adminToken, "/users/4/block", 403, `{"message":"403 Forbidden - LDAP blocked users cannot be modified by the API"}`},
			{adminToken, "/users/4/unblock", 403, `{"message":"403 Forbidden - LDAP blocked users cannot be unblocked by the API"}`},
			{adminToken, "/users/5/block", 403, `{"message":"An internal user cannot be blocked"}`},
			{adminToken, "/users/5/deactivate", 403, `{"message":"Internal users cannot be deactivated"}`},
			{adminToken, "/users/2/unblock", 201, `false`},
			{adminToken, "/users/2/activate", 201, `true`},
			{adminToken, "/users/2/unban", 403, `{"message":"You cannot unban active users."}`},
			{adminToken, "/users/2/deactivate", 403, `{"message":"The user you are trying to deactivate has been active in the past 90 days and cannot be deactivated"}`},
			{adminToken, "/users/3/deactivate", 201, `true`},
			{adminToken, "/users/3/deactivate", 201, `null`},
			{adminToken, "/users/3/unblock", 403, `{"message":"403 Forbidden - Deactivated users cannot be unblocked by the API"}`},
			{adminToken, "/users/3/activate", 201, `true`},
			{adminToken, "/users/2/block", 201, `true`},
			{adminToken, "/users/2/block", 201, `null`},
			{mona, "/users/3/block", 403, `{"message":"403 Forbidden - Your account has been blocked."}`},
			{adminToken, "/users/2/activate", 403, `{"message":"Error occurred. A blocked user must be unblocked to be activated"}`},
			{adminToken, "/users/2/deactivate", 403, `{"message":"Error occurred. A blocked user cannot be deactivated"}`},
			{adminToken, "/users/2/ban", 403, `{"message":"You cannot ban blocked users."}`},
			{adminToken, "/users/2/unblock", 201, `true`},
			{mona, "/users/3/block", 403, `{"message":"403 Forbidden"}`},
			{adminToken, "/users/2/ban", 201, `true`},
			{mona, "/users/3/block", 403, `{"message":"403 Forbidden - Your account has been blocked."}`},
			{adminToken, "/users/2/unban", 201, `true`},
		} {
			p.want(c.token, "POST", c.path, "", c.status, c.want)
		}
	})
}
