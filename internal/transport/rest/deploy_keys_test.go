package rest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestDeployKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		ann, annKey := p.signUp("ann")
		bobID, bob := p.signUp("bob")
		app := get[gitlab.Project](p, annKey, "POST", "/projects", "name=App", 201)
		lib := get[gitlab.Project](p, annKey, "POST", "/projects", "name=Lib", 201)
		his := get[gitlab.Project](p, bob, "POST", "/projects", "name=His&visibility=public", 201)
		of := func(project *gitlab.Project) string { return fmt.Sprintf("/projects/%d/deploy_keys", project.ID) }
		form := func(line string, more ...string) string {
			return strings.Join(append([]string{url.Values{"title": {"ci"}, "key": {line}}.Encode()}, more...), "&")
		}

		p.want("", "GET", of(&app), "", 401, `{"message":"401 Unauthorized"}`)
		p.want(bob, "GET", of(&app), "", 404, `{"message":"404 Project Not Found"}`)
		p.want(annKey, "GET", of(&his), "", 403, `{"message":"403 Forbidden"}`)
		p.want(annKey, "POST", of(&his), form(keyLine), 403, `{"message":"403 Forbidden"}`)
		p.want(annKey, "POST", of(&app), "title=ci", 400, `{"error":"key is missing"}`)
		p.want(annKey, "POST", of(&app), form("x"), 400,
			`{"message":{"deploy_key.key":["is invalid"],"deploy_key.fingerprint_sha256":["cannot be generated"]}}`)

		const tail = `,"title":"ci","created_at":"2026-05-04T15:38:00.000Z","expires_at":null,"last_used_at":null,"key":"` + keyLine +
			` ci@box","usage_type":"auth_and_signing","fingerprint":"`
		made := get[gitlab.ProjectDeployKey](p, annKey, "POST", of(&app), form(keyLine+" ci@box"), 201)
		if made.CanPush || made.FingerprintSHA256 != keyPrint || made.Fingerprint == "" {
			t.Errorf("made: got %+v", made)
		}
		shown := fmt.Sprintf(`{"id":%d%s%s","fingerprint_sha256":"%s","can_push":false}`, made.ID, tail, made.Fingerprint, keyPrint)
		one := fmt.Sprintf("%s/%d", of(&app), made.ID)
		p.want(annKey, "GET", one, "", 200, shown)
		p.want(annKey, "GET", of(&app), "", 200, "["+shown+"]")
		p.want(annKey, "GET", of(&app)+"/9999", "", 404, `{"message":"404 Not found"}`)

		// The same key again is the same key; another project of hers shares it; bob's may not have it.
		p.want(annKey, "POST", of(&app), form(keyLine, "can_push=true"), 201, shown)
		shared := get[gitlab.ProjectDeployKey](p, annKey, "POST", of(&lib), form(keyLine, "can_push=true"), 201)
		if shared.ID != made.ID || !shared.CanPush {
			t.Errorf("shared: got %+v", shared)
		}
		p.want(bob, "POST", of(&his), form(keyLine), 400, `{"message":{"deploy_key.fingerprint_sha256":["has already been taken"]}}`)
		p.want(bob, "POST", fmt.Sprintf("%s/%d/enable", of(&his), made.ID), "", 404, `{"message":"404 Deploy Key Not Found"}`)
		p.want(bob, "POST", of(&his)+"/9999/enable", "", 404, `{"message":"404 Deploy Key Not Found"}`)
		p.want(bob, "POST", "/user/keys", form(keyLine), 400, `{"message":{"fingerprint_sha256":["has already been taken"]}}`)

		// What it may do is each project's; what it is called belongs to its maker once it is shared.
		changed := get[gitlab.ProjectDeployKey](p, annKey, "PUT", one, "can_push=true&title=robot", 200)
		if !changed.CanPush || changed.Title != "robot" {
			t.Errorf("changed: got %+v", changed)
		}
		get[gitlab.ProjectMember](p, annKey, "POST", fmt.Sprintf("/projects/%d/members", app.ID), fmt.Sprintf("user_id=%d&access_level=40", bobID), 201)
		p.want(bob, "PUT", one, "title=stolen", 403, `{"message":"403 Forbidden"}`)
		p.want(bob, "PUT", one, "title=", 403, `{"message":"403 Forbidden"}`)
		p.want(annKey, "PUT", one, "", 400, `{"error":"title, can_push are missing, at least one parameter must be provided"}`)
		p.want(annKey, "PUT", one, "title=", 400, `{"message":{"deploy_key.title":["can't be blank"]}}`)
		p.want(annKey, "PUT", of(&his)+"/9999", "title=x", 403, `{"message":"403 Forbidden"}`)
		if lower := get[gitlab.ProjectDeployKey](p, bob, "PUT", one, "can_push=false", 200); lower.CanPush || lower.Title != "robot" {
			t.Errorf("lowered: got %+v", lower)
		}

		// Now bob maintains a project that has it, so that his own may have it too.
		enabled := get[gitlab.ProjectDeployKey](p, bob, "POST", fmt.Sprintf("%s/%d/enable", of(&his), made.ID), "", 201)
		if enabled.ID != made.ID || enabled.CanPush {
			t.Errorf("enabled: got %+v", enabled)
		}
		path := fmt.Sprintf("/users/%d/project_deploy_keys", ann)
		if list := get[[]gitlab.ProjectDeployKey](p, bob, "GET", path, "", 200); len(list) != 1 || list[0].ID != made.ID {
			t.Errorf("of projects in common: got %+v", list)
		}
		_, cal := p.signUp("cal")
		p.want(cal, "GET", "/users/ann/project_deploy_keys", "", 403, `{"message":"403 Forbidden - No common authorized project found"}`)
		p.want(cal, "GET", "/users/nobody/project_deploy_keys", "", 404, `{"message":"404 User Not Found"}`)

		// Administrators see where it is enabled, and make keys for everybody.
		p.want(bob, "GET", "/deploy_keys", "", 403, `{"message":"403 Forbidden"}`)
		all := get[[]gitlab.InstanceDeployKey](p, adminToken, "GET", "/deploy_keys", "", 200)
		if len(all) != 1 || len(all[0].ProjectsWithWriteAccess) != 1 || len(all[0].ProjectsWithReadonlyAccess) != 2 ||
			all[0].ProjectsWithWriteAccess[0].PathWithNamespace != "ann/lib" {
			t.Errorf("all: got %+v", all)
		}
		p.want(bob, "POST", "/deploy_keys", form(secondLine), 403, `{"message":"403 Forbidden"}`)
		public := get[gitlab.InstanceDeployKey](p, adminToken, "POST", "/deploy_keys", form(secondLine), 201)
		p.want(adminToken, "POST", "/deploy_keys", form(secondLine), 400, `{"message":{"fingerprint_sha256":["has already been taken"]}}`)
		if list := get[[]gitlab.InstanceDeployKey](p, adminToken, "GET", "/deploy_keys?public=true", "", 200); len(list) != 1 || list[0].ID != public.ID {
			t.Errorf("public: got %+v", list)
		}
		get[gitlab.ProjectDeployKey](p, bob, "POST", fmt.Sprintf("%s/%d/enable", of(&his), public.ID), "", 201)
		p.want(bob, "PUT", fmt.Sprintf("%s/%d", of(&his), public.ID), "title=mine", 403, `{"message":"403 Forbidden"}`)

		// The look-up names its maker and its projects.
		_, body := p.call(adminToken, "GET", fmt.Sprintf("/keys/%d", made.ID), "")
		for _, want := range []string{`"username":"ann"`, `"fingerprint_sha256":"` + keyPrint, fmt.Sprintf(`"deploy_key_id":%d,"project_id":%d,`, made.ID, lib.ID)} {
			if !strings.Contains(body, want) {
				t.Errorf("look-up: got %s, want %s", body, want)
			}
		}

		// It goes from one project after the other, and is gone with the last; a public one stays.
		for _, project := range []*gitlab.Project{&app, &lib, &his} {
			token := annKey
			if project == &his {
				token = bob
			}
			p.want(token, "DELETE", fmt.Sprintf("%s/%d", of(project), made.ID), "", 204, "")
			p.want(token, "DELETE", fmt.Sprintf("%s/%d", of(project), made.ID), "", 404, `{"message":"404 Deploy Key Not Found"}`)
		}
		p.want(adminToken, "GET", fmt.Sprintf("/keys/%d", made.ID), "", 404, `{"message":"404 Not found"}`)
		p.want(bob, "DELETE", fmt.Sprintf("%s/%d", of(&his), public.ID), "", 204, "")
		if list := get[[]gitlab.InstanceDeployKey](p, adminToken, "GET", "/deploy_keys", "", 200); len(list) != 1 || list[0].ID != public.ID {
			t.Errorf("in the end: got %+v", list)
		}
	})
}
