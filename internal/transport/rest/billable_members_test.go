package rest

import (
	"fmt"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestBillableMembers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		_, eve := p.signUp("eve")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		in := get[gitlab.Group](p, ann, "POST", "/groups", fmt.Sprintf("name=In&path=in&parent_id=%d", g.ID), 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=App&namespace_id=%d", in.ID), 201)
		bobsID := get[gitlab.User](p, bob, "GET", "/user", "", 200).ID
		get[gitlab.ProjectMember](p, ann, "POST", fmt.Sprintf("/projects/%d/members", app.ID),
			fmt.Sprintf("user_id=%d&access_level=30&expires_at=2026-12-24", bobsID), 201)
		const path = "/groups/team/billable_members"
		p.want("", "GET", path, "", 401, `{"message":"401 Unauthorized"}`)
		p.want(eve, "GET", path, "", 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "GET", path+"?sort=odd", "", 400, `{"error":"sort does not have a valid value"}`)
		p.want(ann, "GET", fmt.Sprintf("/groups/%d/billable_members", in.ID), "", 400, `{"message":"400 Bad request"}`)
		one := func(name string, id int64, email, day, means string, removable, last bool) string {
			return fmt.Sprintf(`{"id":%d,"username":%q,"name":"The %s","state":"active","avatar_url":%s,`+
				`"web_url":"https://tenon.example/%s","email":%s,"last_activity_on":%s,"membership_type":%q,"removable":%v,`+
				`"created_at":"2026-05-04T15:38:00.000Z","is_last_owner":%v,"last_login_at":null}`,
				id, name, name, quotedAvatar(p, ann, id), name, email, day, means, removable, last)
		}
		annsID := get[gitlab.User](p, ann, "GET", "/user", "", 200).ID
		if err := p.Accounts.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.want(ann, "GET", path, "", 200, "["+one("ann", annsID, "null", `"2026-05-04"`, "group_member", true, true)+","+
			one("bob", bobsID, "null", `"2026-05-04"`, "project_member", true, false)+"]")
		p.want(adminToken, "GET", path+"?search=BO", "", 200, "["+one("bob", bobsID, `"bob@example.com"`, `"2026-05-04"`, "project_member", true, false)+"]")

		of := fmt.Sprintf("%s/%d", path, bobsID)
		seats := get[[]gitlab.BillableUserMembership](p, ann, "GET", of+"/memberships", "", 200)
		if len(seats) != 1 || seats[0].SourceID != app.ID || seats[0].SourceFullName != "Team / In / App" || seats[0].ExpiresAt.String() != "2026-12-24" ||
			seats[0].SourceMembersURL != "https://tenon.example/team/in/app/-/project_members" || *seats[0].AccessLevel != (gitlab.AccessLevelDetails{IntegerValue: 30, StringValue: "Developer"}) {
			t.Errorf("memberships: got %+v", seats)
		}
		p.want(ann, "GET", of+"/indirect", "", 200, "[]")
		p.want(ann, "GET", path+"/9999/memberships", "", 404, `{"message":"404 User Not Found"}`)
		p.want(eve, "DELETE", of, "", 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "DELETE", of, "", 204, "")
		p.want(ann, "DELETE", of, "", 404, `{"message":"404 User Not Found"}`)
		p.want(ann, "DELETE", fmt.Sprintf("%s/%d", path, annsID), "", 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "GET", fmt.Sprintf("/projects/%d/members/all?state=awaiting", app.ID), "", 200, "[]")
		if list := get[[]gitlab.ProjectMember](p, ann, "GET", fmt.Sprintf("/projects/%d/members/all?state=active", app.ID), "", 200); len(list) != 1 {
			t.Errorf("active members: got %+v", list)
		}
	})
}

func quotedAvatar(p *people, token string, id int64) string {
	u := get[gitlab.User](p, token, "GET", fmt.Sprintf("/users/%d", id), "", 200)
	if u.AvatarURL == "" {
		return "null"
	}
	return fmt.Sprintf("%q", u.AvatarURL)
}
