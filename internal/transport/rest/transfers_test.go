package rest

import (
	"fmt"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestStars(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=App&namespace_id=%d&visibility=public", g.ID), 201)
		path := fmt.Sprintf("/projects/%d", app.ID)
		p.want("", "POST", path+"/star", "", 401, `{"message":"401 Unauthorized"}`)
		if starred := get[gitlab.Project](p, bob, "POST", path+"/star", "", 201); starred.StarCount != 1 {
			t.Errorf("star: got %d", starred.StarCount)
		}
		p.want(bob, "POST", path+"/star", "", 304, "")
		if list := get[[]gitlab.Project](p, bob, "GET", "/projects?starred=true", "", 200); len(list) != 1 {
			t.Errorf("starred: got %d", len(list))
		}
		if list := get[[]gitlab.Project](p, "", "GET", "/users/bob/starred_projects", "", 200); len(list) != 1 {
			t.Errorf("starred by: got %d", len(list))
		}
		p.want(ann, "GET", "/users/nobody/starred_projects", "", 404, `{"message":"404 User Not Found"}`)
		p.want(ann, "GET", "/users/bob/contributed_projects", "", 200, `[]`)
		type starrer struct {
			Since string `json:"starred_since"`
			User  struct{ Username string }
		}
		if list := get[[]starrer](p, "", "GET", path+"/starrers", "", 200); len(list) != 1 || list[0].User.Username != "bob" || list[0].Since == "" {
			t.Errorf("starrers: got %+v", list)
		}
		get[gitlab.Project](p, bob, "POST", path+"/unstar", "", 201)
		p.want(bob, "POST", path+"/unstar", "", 304, "")
		if list := get[[]gitlab.ProjectUser](p, bob, "GET", path+"/users", "", 200); len(list) != 1 || list[0].Username != "ann" {
			t.Errorf("users: got %+v", list)
		}
		p.want("", "GET", path+"/groups", "", 200, fmt.Sprintf(`[{"id":%d,"web_url":"https://tenon.example/groups/team","name":"Team",`+
			`"avatar_url":null,"full_name":"Team","full_path":"team"}]`, g.ID))
	})
}

func TestTransfers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		one := get[gitlab.Group](p, ann, "POST", "/groups", "name=One&path=one&visibility=public", 201)
		two := get[gitlab.Group](p, ann, "POST", "/groups", "name=Two&path=two&visibility=public", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=App&namespace_id=%d&visibility=public", one.ID), 201)
		path := fmt.Sprintf("/projects/%d", app.ID)
		p.want(ann, "PUT", path+"/transfer", "", 400, `{"error":"namespace is missing"}`)
		p.want(bob, "PUT", path+"/transfer", "namespace=two", 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "PUT", path+"/transfer", "namespace=bob", 404, `{"message":"404 Namespace Not Found"}`)
		p.want(ann, "PUT", path+"/transfer", "namespace=one", 400,
			`{"message":"Failed to transfer project {:new_namespace=>[\"Project is already in this namespace.\"]}"}`)
		if list := get[[]gitlab.Group](p, ann, "GET", path+"/transfer_locations", "", 200); len(list) != 1 || list[0].ID != two.ID {
			t.Errorf("locations: got %+v", list)
		}
		moved := get[gitlab.Project](p, ann, "PUT", path+"/transfer", "namespace=two", 200)
		if moved.PathWithNamespace != "two/app" || moved.Namespace.ID != two.ID {
			t.Errorf("moved: got %+v", moved)
		}
		if w, _ := p.call(ann, "GET", "/projects/one%2Fapp", ""); w.Code != 301 || w.Header().Get("Location") != "https://tenon.example/api/v4"+path {
			t.Errorf("old path: got %d %s", w.Code, w.Header().Get("Location"))
		}
		get[gitlab.Group](p, ann, "POST", "/groups/one/projects/two%2Fapp", "", 201)

		p.want(ann, "POST", "/groups/two/transfer", "", 400, `{"message":"Transfer failed: Group is already a root group."}`)
		p.want(bob, "POST", "/groups/two/transfer", fmt.Sprintf("group_id=%d", one.ID), 403, `{"message":"403 Forbidden"}`)
		if list := get[[]gitlab.Group](p, ann, "GET", "/groups/two/transfer_locations", "", 200); len(list) != 1 || list[0].ID != one.ID {
			t.Errorf("locations: got %+v", list)
		}
		if g := get[gitlab.Group](p, ann, "POST", "/groups/two/transfer", fmt.Sprintf("group_id=%d", one.ID), 201); g.FullPath != "one/two" {
			t.Errorf("group: got %+v", g)
		}
	})
}
