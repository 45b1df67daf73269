package rest

import (
	"fmt"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestForks(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=App&namespace_id=%d&visibility=public", g.ID), 201)
		secret := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=Secret&namespace_id=%d&visibility=private", g.ID), 201)
		path := fmt.Sprintf("/projects/%d", app.ID)
		p.want("", "POST", path+"/fork", "", 401, `{"message":"401 Unauthorized"}`)
		p.want(bob, "POST", fmt.Sprintf("/projects/%d/fork", secret.ID), "", 404, `{"message":"404 Project Not Found"}`)
		p.want(bob, "POST", path+"/fork", "namespace_path=team", 404, `{"message":"404 Target Namespace Not Found"}`)
		p.want(bob, "POST", path+"/fork", "namespace=nobody", 404, `{"message":"404 Target Namespace Not Found"}`)
		p.want(bob, "POST", path+"/fork", "visibility=open", 400, `{"error":"visibility does not have a valid value"}`)
		p.want(ann, "POST", path+"/fork", fmt.Sprintf("namespace_id=%d", g.ID), 409,
			`{"message":["Project namespace name has already been taken","Name has already been taken","Path has already been taken"]}`)

		fork := get[gitlab.Project](p, bob, "POST", path+"/fork", "description=Mine&visibility=internal&mr_default_target_self=true", 201)
		if fork.PathWithNamespace != "bob/app" || fork.ImportStatus != "scheduled" || fork.Visibility != gitlab.InternalVisibility ||
			fork.Description != "Mine" || !fork.MergeRequestDefaultTargetSelf || fork.ForkedFromProject == nil ||
			fork.ForkedFromProject.ID != app.ID || fork.ForkedFromProject.PathWithNamespace != "team/app" {
			t.Errorf("fork: got %+v", fork)
		}
		for who, want := range map[string]int{ann: 1, bob: 1, "": 0} { // the fork is internal
			if list := get[[]gitlab.Project](p, who, "GET", path+"/forks", "", 200); len(list) != want {
				t.Errorf("forks: got %d, want %d", len(list), want)
			}
		}
		if list := get[[]gitlab.Project](p, ann, "GET", path+"/forks?search=nothing", "", 200); len(list) != 0 {
			t.Errorf("forks by name: got %d", len(list))
		}
		if again := get[gitlab.Project](p, ann, "GET", path, "", 200); again.ForksCount != 1 {
			t.Errorf("forks_count: got %d", again.ForksCount)
		}
		// A source that is hidden is not named.
		get[gitlab.Project](p, ann, "PUT", path, "visibility=private", 200)
		mine := fmt.Sprintf("/projects/%d", fork.ID)
		if w, body := p.call(bob, "GET", mine, ""); w.Code != 200 || strings.Contains(body, "forked_from_project") || !strings.Contains(body, `"visibility":"private"`) {
			t.Errorf("fork of a hidden source: got %d %s", w.Code, body)
		}
		p.want(ann, "DELETE", mine+"/fork", "", 404, `{"message":"404 Project Not Found"}`)
		p.want(bob, "DELETE", mine+"/fork", "", 204, "")
		p.want(bob, "DELETE", mine+"/fork", "", 304, "")
		p.want(bob, "POST", mine+"/fork/"+fmt.Sprint(app.ID), "", 404, `{"message":"404 Source Project Not Found"}`)
		get[gitlab.Project](p, ann, "PUT", path, "visibility=public", 200)
		if back := get[gitlab.Project](p, bob, "POST", mine+"/fork/"+fmt.Sprint(app.ID), "", 201); back.ForkedFromProject == nil {
			t.Errorf("made a fork: got %+v", back)
		}
		p.want(bob, "POST", mine+"/fork/"+fmt.Sprint(app.ID), "", 409, `{"message":"Project already forked"}`)
		get[gitlab.Project](p, ann, "PUT", path, "forking_access_level=disabled", 200)
		p.want(bob, "POST", path+"/fork", "name=Other&path=other", 404, `{"message":"404 Not found"}`)
	})
}
