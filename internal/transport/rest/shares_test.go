package rest

import (
	"fmt"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestShares(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		team := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team", 201)
		guests := get[gitlab.Group](p, ann, "POST", "/groups", "name=Guests&path=guests", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=App&namespace_id=%d", team.ID), 201)
		project, group := fmt.Sprintf("/projects/%d", app.ID), fmt.Sprintf("/groups/%d", team.ID)
		form := fmt.Sprintf("group_id=%d&group_access=30&expires_at=2026-12-31", guests.ID)

		p.want(ann, "POST", project+"/share", "group_access=30", 400, `{"error":"group_id is missing"}`)
		p.want(ann, "POST", project+"/share", "group_id=1&group_access=7", 400, `{"error":"group_access does not have a valid value"}`)
		p.want(bob, "POST", project+"/share", form, 404, `{"message":"404 Project Not Found"}`)
		p.want(ann, "POST", project+"/share", "group_id=999&group_access=30", 404, `{"message":"Not Found"}`)
		p.want(ann, "POST", project+"/share", form, 201,
			fmt.Sprintf(`{"id":1,"project_id":%d,"group_id":%d,"group_access":30,"expires_at":"2026-12-31"}`, app.ID, guests.ID))
		p.want(ann, "POST", project+"/share", form, 409, `{"message":"Project already shared with this group"}`)
		shared := get[gitlab.Project](p, ann, "GET", project, "", 200)
		if len(shared.SharedWithGroups) != 1 || shared.SharedWithGroups[0].GroupFullPath != "guests" || shared.SharedWithGroups[0].GroupAccessLevel != 30 {
			t.Errorf("shared with: got %+v", shared.SharedWithGroups)
		}
		if list := get[[]gitlab.Project](p, ann, "GET", "/groups/guests/projects/shared", "", 200); len(list) != 1 || list[0].ID != app.ID {
			t.Errorf("projects it is invited into: got %+v", list)
		}
		if list := get[[]gitlab.Group](p, ann, "GET", project+"/invited_groups?relation[]=direct", "", 200); len(list) != 1 || list[0].ID != guests.ID {
			t.Errorf("invited groups: got %+v", list)
		}
		for _, place := range []string{project, group} {
			p.want(ann, "GET", place+"/invited_groups?relation[]=near", "", 400, `{"error":"relation does not have a valid value"}`)
		}
		p.want(ann, "DELETE", project+fmt.Sprintf("/share/%d", team.ID), "", 404, `{"message":"404 Group Link Not Found"}`)
		p.want(ann, "DELETE", project+fmt.Sprintf("/share/%d", guests.ID), "", 204, "")

		with := get[gitlab.Group](p, ann, "POST", group+"/share", form, 201)
		if len(with.SharedWithGroups) != 1 || with.SharedWithGroups[0].GroupID != guests.ID {
			t.Errorf("group: got %+v", with.SharedWithGroups)
		}
		p.want(ann, "POST", group+"/share", form, 409, `{"message":"Shared group The group has already been shared with this group"}`)
		p.want(bob, "POST", group+"/share", form, 404, `{"message":"404 Group Not Found"}`)
		for path, want := range map[string]int64{
			"/groups/guests/groups/shared": team.ID, group + "/invited_groups": guests.ID, project + "/invited_groups?relation[]=inherited": guests.ID,
		} {
			if list := get[[]gitlab.Group](p, ann, "GET", path, "", 200); len(list) != 1 || list[0].ID != want {
				t.Errorf("%s: got %+v", path, list)
			}
		}
		p.want(ann, "DELETE", group+fmt.Sprintf("/share/%d", guests.ID), "", 204, "")
		p.want(ann, "DELETE", group+fmt.Sprintf("/share/%d", guests.ID), "", 404, `{"message":"404 Group Link Not Found"}`)
	})
}
