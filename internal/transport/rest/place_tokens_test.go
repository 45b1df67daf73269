package rest

import (
	"fmt"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestPlaceTokens(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=App&namespace_id=%d&visibility=public", g.ID), 201)
		path := fmt.Sprintf("/projects/%d/access_tokens", app.ID)
		form := "name=ci&scopes[]=api&expires_at=2026-06-01"
		p.want(bob, "GET", path, "", 401, `{"message":"401 Unauthorized"}`)
		p.want(bob, "POST", path, form, 400, `{"message":"400 Bad request - User does not have permission to create project access token"}`)
		p.want(ann, "POST", path, "name=ci", 400, `{"error":"scopes is missing"}`)
		p.want(ann, "POST", path, "name=ci&scopes[]=sudo", 400, `{"error":"scopes does not have a valid value"}`)
		p.want(ann, "POST", path, "name=ci&scopes[]=api", 400, `{"message":"400 Bad request - expires_at is missing"}`)
		made := get[gitlab.ProjectAccessToken](p, ann, "POST", path, form, 201)
		if made.Token == "" || made.AccessLevel != gitlab.MaintainerPermissions || made.Name != "ci" || !made.Active || made.ExpiresAt.String() != "2026-06-01" {
			t.Errorf("made: got %+v", made)
		}
		me := get[gitlab.User](p, made.Token, "GET", "/user", "", 200)
		if !me.Bot || !strings.HasPrefix(me.Username, fmt.Sprintf("project_%d_bot_", app.ID)) || me.Email != me.Username+"@noreply.tenon.example" || me.Name != "ci" {
			t.Errorf("bot: got %+v", me)
		}
		p.want(made.Token, "GET", "/projects?membership=true&owned=true", "", 200, "[]")
		if bot := get[gitlab.User](p, adminToken, "GET", fmt.Sprintf("/users/%d", me.ID), "", 200); bot.NamespaceID == 0 {
			t.Error("the bot has no namespace")
		}
		p.want(made.Token, "POST", "/projects", "name=own", 403, `{"error":["You cannot create projects in your personal namespace. Contact your GitLab administrator."]}`)
		p.want(ann, "GET", fmt.Sprintf("%s/%d", path, made.ID), "", 200, fmt.Sprintf(`{"id":%d,"name":"ci","revoked":false,`+
			`"created_at":"2026-05-04T15:38:00.000Z","description":null,"scopes":["api"],"user_id":%d,"last_used_at":"2026-05-04T15:38:00.000Z",`+
			`"active":true,"expires_at":"2026-06-01","access_level":40,"resource_type":"project","resource_id":%d}`, made.ID, me.ID, app.ID))
		p.want(ann, "GET", path+"/9999", "", 404, `{"message":"404 project Access Token Not Found"}`)
		if list := get[[]gitlab.ProjectAccessToken](p, ann, "GET", path+"?state=active", "", 200); len(list) != 1 || list[0].Token != "" {
			t.Errorf("list: got %+v", list)
		}
		if list := get[[]gitlab.ProjectAccessToken](p, ann, "GET", path+"?search=c&sort=created_at_desc&created_after=2026-05-04&expires_before=2026-06-02", "", 200); len(list) != 1 {
			t.Errorf("filtered list: got %+v", list)
		}
		p.want(ann, "GET", path+"?search=nothing", "", 200, "[]")
		next := get[gitlab.ProjectAccessToken](p, ann, "POST", fmt.Sprintf("%s/%d/rotate", path, made.ID), "", 200)
		self := get[gitlab.ProjectAccessToken](p, next.Token, "POST", path+"/self/rotate", "expires_at=2026-05-10", 200)
		p.want(ann, "DELETE", fmt.Sprintf("%s/%d", path, self.ID), "", 204, "")
		p.want(self.Token, "GET", "/user", "", 401, `{"error":"invalid_token","error_description":"Token was revoked. You have to re-authorize from the user."}`)
		p.want(ann, "DELETE", fmt.Sprintf("%s/%d", path, self.ID), "", 404, `{"message":"404 project Access Token Not Found"}`)

		group := get[gitlab.GroupAccessToken](p, ann, "POST", "/groups/team/access_tokens", form+"&access_level=20", 201)
		if group.AccessLevel != gitlab.ReporterPermissions || group.Token == "" {
			t.Errorf("of a group: got %+v", group)
		}
		// A token may expire today, and is of no use then.
		for _, place := range []string{path, "/groups/team/access_tokens"} {
			today := get[gitlab.ProjectAccessToken](p, ann, "POST", place, "name=today&scopes[]=api&expires_at=2026-05-04", 201)
			if today.Active || today.ExpiresAt.String() != "2026-05-04" {
				t.Errorf("%s until today: got %+v", place, today)
			}
			p.want(ann, "POST", place, "name=x&scopes[]=api&expires_at=2026-05-03", 400, `{"message":"400 Bad request - Expires at cannot be a date in the past"}`)
		}
		if project := get[gitlab.Project](p, group.Token, "GET", fmt.Sprintf("/projects/%d", app.ID), "", 200); project.Permissions.GroupAccess == nil {
			t.Errorf("as the group's bot: got %+v", project.Permissions)
		}
	})
}
