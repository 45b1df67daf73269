package rest

import (
	"fmt"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestDeployTokens(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=App&namespace_id=%d&visibility=public", g.ID), 201)
		path := fmt.Sprintf("/projects/%d/deploy_tokens", app.ID)
		const scopes = "&scopes[]=read_repository&scopes[]=read_registry"
		const form = "name=ci" + scopes
		p.want("", "GET", path, "", 401, `{"message":"401 Unauthorized"}`)
		p.want(bob, "GET", path, "", 403, `{"message":"403 Forbidden"}`)
		p.want(bob, "POST", path, form, 403, `{"message":"403 Forbidden"}`)
		p.want(bob, "POST", "/groups/team/deploy_tokens", form, 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "POST", path, "name=ci", 400, `{"error":"scopes is missing"}`)
		p.want(ann, "POST", path, "scopes[]=read_repository", 400, `{"error":"name is missing"}`)
		p.want(ann, "POST", path, "name=ci&scopes[]=api", 400, `{"error":"scopes does not have a valid value"}`)
		p.want(ann, "POST", path, "name=+"+scopes, 400, `{"message":"Name can't be blank"}`)
		p.want(ann, "POST", path, form+"&username=a/b", 400,
			`{"message":"Username can contain only letters, digits, '_', '-', '+', and '.'"}`)

		made := get[gitlab.DeployToken](p, ann, "POST", path, form+"&expires_at=2026-06-01T15:00:00Z", 201)
		if !strings.HasPrefix(made.Token, "gldt-") || made.Username != fmt.Sprintf("gitlab+deploy-token-%d", made.ID) {
			t.Errorf("made: got %+v", made)
		}
		shown := fmt.Sprintf(`{"id":%d,"name":"ci","username":"gitlab+deploy-token-%d","expires_at":"2026-06-01T15:00:00.000Z",`+
			`"scopes":["read_repository","read_registry"],"revoked":false,"expired":false}`, made.ID, made.ID)
		one := fmt.Sprintf("%s/%d", path, made.ID)
		p.want(ann, "GET", one, "", 200, shown)
		p.want(ann, "GET", path, "", 200, "["+shown+"]")
		p.want(ann, "GET", path+"?active=false", "", 200, "[]")
		p.want(ann, "GET", path+"/99999", "", 404, `{"message":"404 Not found"}`)
		old := get[gitlab.DeployToken](p, ann, "POST", "/groups/team/deploy_tokens", "name=old&scopes[]=read_repository&username=old.one&expires_at=2026-05-04", 201)
		if !old.Expired || old.Username != "old.one" {
			t.Errorf("expired: got %+v", old)
		}
		p.want(ann, "GET", "/groups/team/deploy_tokens?active=true", "", 200, "[]")
		// The time of day counts, on the day itself as well.
		for expires, dead := range map[string]bool{"2026-05-04T15:38:00Z": true, "2026-05-04T15:39:00Z": false, "2026-05-04T17:39:00%2B02:00": false} {
			today := get[gitlab.DeployToken](p, ann, "POST", "/groups/team/deploy_tokens", "name=today&scopes[]=read_repository&expires_at="+expires, 201)
			_, access, err := p.Tokens.AuthenticateGit(t.Context(), today.Username, today.Token, "")
			if today.Expired != dead || (err != nil) != dead || access.Read == dead {
				t.Errorf("until %s: got %+v, %+v, %v", expires, today, access, err)
			}
			active := get[[]gitlab.DeployToken](p, ann, "GET", "/groups/team/deploy_tokens?active=true", "", 200)
			if (len(active) == 0) != dead {
				t.Errorf("until %s: listed as active: %+v", expires, active)
			}
			p.want(ann, "DELETE", fmt.Sprintf("/groups/team/deploy_tokens/%d", today.ID), "", 204, "")
		}
		p.want(ann, "GET", fmt.Sprintf("%s/%d", path, old.ID), "", 404, `{"message":"404 Not found"}`)
		p.want(ann, "DELETE", fmt.Sprintf("%s/%d", path, old.ID), "", 404, `{"message":"404 Not found"}`)

		// It is no token of anybody: the interface takes it in no form, and no list of tokens has it.
		p.want(made.Token, "GET", "/user", "", 401, `{"message":"401 Unauthorized"}`)
		p.want(adminToken, "GET", fmt.Sprintf("/personal_access_tokens/%d", made.ID), "", 404, `{"message":"404 Not Found"}`)
		for _, token := range get[[]gitlab.PersonalAccessToken](p, adminToken, "GET", "/personal_access_tokens?per_page=100", "", 200) {
			if token.ID == made.ID || token.ID == old.ID {
				t.Errorf("the list of access tokens has %+v", token)
			}
		}

		p.want(bob, "GET", "/deploy_tokens", "", 403, `{"message":"403 Forbidden"}`)
		if all := get[[]gitlab.DeployToken](p, adminToken, "GET", "/deploy_tokens", "", 200); len(all) != 2 || all[0].Token != "" {
			t.Errorf("all: got %+v", all)
		}
		if all := get[[]gitlab.DeployToken](p, adminToken, "GET", "/deploy_tokens?active=true", "", 200); len(all) != 1 || all[0].ID != made.ID {
			t.Errorf("all of use: got %+v", all)
		}

		// git takes it with its name, and what it permits is reading.
		if _, access, err := p.Tokens.AuthenticateGit(t.Context(), made.Username, made.Token, ""); err != nil || !access.Read || access.Write {
			t.Errorf("sign on: got %+v, %v", access, err)
		}
		other := get[gitlab.DeployToken](p, ann, "POST", path, "name=packages&scopes[]=read_package_registry", 201)
		for name, c := range map[string][2]string{
			"another name": {"ann", made.Token}, "no name": {"", made.Token}, "expired": {"old.one", old.Token},
			"another scope": {other.Username, other.Token}, "another secret": {made.Username, "gldt-aaaaaaaaaaaaaaaaaaaa"},
		} {
			if as, access, err := p.Tokens.AuthenticateGit(t.Context(), c[0], c[1], ""); err == nil || access.Read {
				t.Errorf("%s: got %+v %+v", name, as, access)
			}
		}
		p.want(ann, "DELETE", one, "", 204, "")
		p.want(ann, "DELETE", one, "", 404, `{"message":"404 Not found"}`)
		if _, _, err := p.Tokens.AuthenticateGit(t.Context(), made.Username, made.Token, ""); err == nil {
			t.Error("a deleted token signs on")
		}
	})
}

func TestImpersonationTokens(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		id, ann := p.signUp("ann")
		path := fmt.Sprintf("/users/%d/impersonation_tokens", id)
		p.want(ann, "GET", path, "", 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "POST", path, "name=x&scopes[]=api", 403, `{"message":"403 Forbidden"}`)
		p.want(adminToken, "GET", "/users/9999/impersonation_tokens", "", 404, `{"message":"404 User Not Found"}`)
		p.want(adminToken, "POST", path, "name=x", 400, `{"error":"scopes is missing"}`)
		p.want(adminToken, "POST", path, "name=x&scopes[]=all", 400, `{"message":{"scopes":["can only contain available scopes"]}}`)
		p.want(adminToken, "POST", path, "name=+&scopes[]=api", 400, `{"message":{"name":["can't be blank"]}}`)
		made := get[gitlab.ImpersonationToken](p, adminToken, "POST", path, "name=ci&scopes[]=api&expires_at=2026-06-01", 201)
		if !strings.HasPrefix(made.Token, "glpat-") || !made.Active {
			t.Errorf("made: got %+v", made)
		}
		if me := get[gitlab.User](p, made.Token, "GET", "/user", "", 200); me.Username != "ann" {
			t.Errorf("acts as %+v", me)
		}
		one := fmt.Sprintf("%s/%d", path, made.ID)
		active := fmt.Sprintf(`{"id":%d,"name":"ci","revoked":false,"created_at":"2026-05-04T15:38:00.000Z","description":null,"scopes":["api"],`+
			`"user_id":%d,"last_used_at":"2026-05-04T15:38:00.000Z","active":true,"expires_at":"2026-06-01","impersonation":true}`, made.ID, id)
		p.want(adminToken, "GET", one, "", 200, active)
		p.want(adminToken, "GET", path, "", 200, "["+active+"]")
		p.want(adminToken, "GET", path+"?state=inactive", "", 200, "[]")
		p.want(adminToken, "GET", path+"?state=none", "", 400, `{"error":"state does not have a valid value"}`)
		p.want(adminToken, "GET", path+"/9999", "", 404, `{"message":"404 Impersonation Token Not Found"}`)
		p.want(adminToken, "GET", fmt.Sprintf("/users/1/impersonation_tokens/%d", made.ID), "", 404, `{"message":"404 Impersonation Token Not Found"}`)
		for _, token := range get[[]gitlab.PersonalAccessToken](p, ann, "GET", "/personal_access_tokens", "", 200) {
			if token.ID == made.ID {
				t.Error("its user sees it")
			}
		}
		p.want(adminToken, "DELETE", one, "", 204, "")
		p.want(adminToken, "DELETE", one, "", 204, "")
		p.want(made.Token, "GET", "/user", "", 401, `{"error":"invalid_token","error_description":"Token was revoked. You have to re-authorize from the user."}`)
		if list := get[[]gitlab.ImpersonationToken](p, adminToken, "GET", path+"?state=inactive", "", 200); len(list) != 1 || !list[0].Revoked {
			t.Errorf("revoked: got %+v", list)
		}
	})
}

func TestTokens_own(t *testing.T) {
	t.Parallel()
	p := newPlaces(t, dbtest.Open(t, false))
	_, ann := p.signUp("ann")
	const path = "/user/personal_access_tokens"
	p.want("", "POST", path, "name=x&scopes[]=self_rotate", 401, `{"message":"401 Unauthorized"}`)
	p.want(ann, "POST", path, "name=x&scopes[]=api", 400, `{"error":"scopes does not have a valid value"}`)
	p.want(ann, "POST", path, "name=+&scopes[]=self_rotate", 422, `{"message":"Name can't be blank"}`)
	made := get[gitlab.PersonalAccessToken](p, ann, "POST", path, "name=x&scopes[]=self_rotate&description=rotates", 201)
	if made.Token == "" || made.Description != "rotates" || made.ExpiresAt == nil {
		t.Errorf("got %+v", made)
	}
	get[gitlab.PersonalAccessToken](p, made.Token, "POST", "/personal_access_tokens/self/rotate", "", 200)
}
