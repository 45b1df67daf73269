package rest

import (
	"fmt"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestAccessRequests(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		bobID, bob := p.signUp("bob")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=App&namespace_id=%d&visibility=public", g.ID), 201)
		for _, prefix := range []string{fmt.Sprintf("/projects/%d", app.ID), "/groups/team"} {
			path := prefix + "/access_requests"
			p.want("", "POST", path, "", 401, `{"message":"401 Unauthorized"}`)
			p.want(ann, "POST", path, "", 403, `{"message":"403 Forbidden"}`)
			p.want(bob, "POST", path, "", 201, fmt.Sprintf(`{"id":%d,"username":"bob","name":"The bob","state":"active","avatar_url":`+
				`"https://www.gravatar.com/avatar/5ff860bf1190596c7188ab851db691f0f3169c453936e9e1eba2f9a47f7a0018?s=80&d=identicon",`+
				`"web_url":"https://tenon.example/bob","requested_at":"2026-05-04T15:38:00.000Z"}`, bobID))
			p.want(bob, "POST", path, "", 400, `{"message":{"user_id":["already exists in source"]}}`)
			if list := get[[]gitlab.AccessRequest](p, ann, "GET", path, "", 200); len(list) != 1 || list[0].Username != "bob" || list[0].RequestedAt == nil {
				t.Errorf("%s: got %+v", path, list)
			}
			p.want(bob, "GET", path, "", 403, `{"message":"403 Forbidden"}`)
			p.want(ann, "PUT", path+"/999/approve", "", 404, `{"message":"404 Not found"}`)
			m := get[gitlab.ProjectMember](p, ann, "PUT", fmt.Sprintf("%s/%d/approve", path, bobID), "", 201)
			if m.Username != "bob" || m.AccessLevel != gitlab.DeveloperPermissions {
				t.Errorf("%s: got %+v", path, m)
			}
			p.want(ann, "DELETE", fmt.Sprintf("%s/%d", path, bobID), "", 404, `{"message":"404 Not found"}`)
			p.want(ann, "DELETE", fmt.Sprintf("%s/members/%d", prefix, bobID), "", 204, "")
		}
	})
}

// A caller who says that another's address is theirs gets none of the other's invitations.
func TestInvitations_claimedAddress(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, eve := p.signUp("eve")
		app := get[gitlab.Project](p, ann, "POST", "/projects", "name=App&visibility=private", 201)
		path := fmt.Sprintf("/projects/%d", app.ID)
		p.want(ann, "POST", path+"/invitations", "email=early@corp.example&access_level=40", 201, `{"status":"success"}`)
		for _, claimed := range []string{"early@corp.example", "late@corp.example"} {
			if got := get[gitlab.Email](p, eve, "POST", "/user/emails", "email="+claimed, 201); got.ConfirmedAt != nil {
				t.Errorf("%s: got %+v, want it unproved", claimed, got)
			}
		}
		p.want(ann, "POST", path+"/invitations", "email=late@corp.example&access_level=40", 201, `{"status":"success"}`)
		p.want(eve, "GET", path, "", 404, `{"message":"404 Project Not Found"}`)
		if list := get[[]gitlab.PendingInvite](p, ann, "GET", path+"/invitations", "", 200); len(list) != 2 {
			t.Errorf("got %d invitations, want both still waiting", len(list))
		}
	})
}

// Who belongs to an open project through a private group concerns only
// those who see the group or belong to the project.
func TestMembers_throughHiddenGroup(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		bobID, bob := p.signUp("bob")
		catID, cat := p.signUp("cat")
		_, eve := p.signUp("eve")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Den&path=den&visibility=private", 201)
		get[gitlab.GroupMember](p, ann, "POST", "/groups/den/members", fmt.Sprintf("user_id=%d&access_level=30", bobID), 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", "name=App&visibility=public", 201)
		path := fmt.Sprintf("/projects/%d", app.ID)
		get[gitlab.ProjectMember](p, ann, "POST", path+"/members", fmt.Sprintf("user_id=%d&access_level=10", catID), 201)
		if w, body := p.call(ann, "POST", path+"/share", fmt.Sprintf("group_id=%d&group_access=20", g.ID)); w.Code != 201 {
			t.Fatalf("share: %d %s", w.Code, body)
		}
		for name, row := range map[string]struct {
			key  string
			want int
		}{"owner": {ann, 3}, "in the group": {bob, 3}, "in the project": {cat, 3}, "stranger": {eve, 2}, "nobody": {"", 2}, "administrator": {adminToken, 3}} {
			if w, body := p.call(row.key, "GET", path+"/members/all", ""); w.Header().Get("X-Total") != fmt.Sprint(row.want) {
				t.Errorf("%s: %s members, want %d: %s", name, w.Header().Get("X-Total"), row.want, body)
			}
		}
		p.want(eve, "GET", fmt.Sprintf("%s/members/all/%d", path, bobID), "", 404, `{"message":"404 Not found"}`)
	})
}

func TestInvitations(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		bobID, bob := p.signUp("bob")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=App&namespace_id=%d&visibility=public", g.ID), 201)
		path := fmt.Sprintf("/projects/%d/invitations", app.ID)
		p.want(bob, "POST", path, "email=new@example.com&access_level=30", 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "POST", path, "access_level=30", 400, `{"error":"email, user_id are missing, at least one parameter must be provided"}`)
		p.want(ann, "POST", path, "email=new@example.com&access_level=30&expires_at=2026-12-31", 201, `{"status":"success"}`)
		p.want(ann, "POST", path, "email=new@example.com,nobody&access_level=30", 201,
			`{"status":"error","message":{"new@example.com":"Invite email has already been taken","nobody":"Invite email is invalid"}}`)
		p.want(ann, "POST", path, "email=other@example.com&access_level=33", 201,
			`{"status":"error","message":{"other@example.com":"Access level is not included in the list"}}`)
		p.want(ann, "POST", path, fmt.Sprintf("user_id=%d&access_level=20", bobID), 201, `{"status":"success"}`)
		p.want(ann, "POST", path, fmt.Sprintf("user_id=%d&access_level=20", bobID), 201,
			fmt.Sprintf(`{"status":"error","message":{"%d":"User already exists in source"}}`, bobID))
		p.want(ann, "GET", path, "", 200, `[{"access_level":30,"created_at":"2026-05-04T15:38:00.000Z","expires_at":"2026-12-31",`+
			`"invite_email":"new@example.com","user_name":null,"created_by_name":"The ann"}]`)
		p.want(ann, "PUT", path+"/new@example.com", "access_level=20&expires_at=", 200, `{"access_level":20,"created_at":"2026-05-04T15:38:00.000Z",`+
			`"expires_at":null,"invite_email":"new@example.com","user_name":null,"created_by_name":"The ann"}`)
		p.want(ann, "DELETE", path+"/new%40example.com", "", 204, "")
		p.want(ann, "DELETE", path+"/new%40example.com", "", 404, `{"message":"404 Not found"}`)

		other := get[gitlab.Project](p, ann, "POST", "/projects", "name=Other&visibility=public", 201)
		p.want(bob, "POST", fmt.Sprintf("/projects/%d/import_project_members/%d", other.ID, app.ID), "", 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "POST", fmt.Sprintf("/projects/%d/import_project_members/%d", other.ID, app.ID), "", 200, `{"status":"success"}`)
		if m := get[gitlab.ProjectMember](p, ann, "GET", fmt.Sprintf("/projects/%d/members/%d", other.ID, bobID), "", 200); m.AccessLevel != 20 {
			t.Errorf("imported: got %+v", m)
		}
	})
}
