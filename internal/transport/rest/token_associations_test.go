package rest

import (
	"fmt"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
)

type associations struct {
	Groups []struct {
		ID    int64
		Level int `json:"access_levels"`
	}
	Projects []struct {
		ID     int64
		Levels struct {
			Project *int `json:"project_access_level"`
			Group   *int `json:"group_access_level"`
		} `json:"access_levels"`
	}
}

func (a associations) String() string {
	var b strings.Builder
	for _, g := range a.Groups {
		fmt.Fprintf(&b, "g%d:%d ", g.ID, g.Level)
	}
	show := func(level *int) string {
		if level == nil {
			return "-"
		}
		return fmt.Sprint(*level)
	}
	for _, p := range a.Projects {
		fmt.Fprintf(&b, "p%d:%s/%s ", p.ID, show(p.Levels.Project), show(p.Levels.Group))
	}
	return strings.TrimSpace(b.String())
}

func TestTokens_associations(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		_, narrow := p.signUp("narrow", authz.ScopeReadRepository)
		const path = "/personal_access_tokens/self/associations"
		p.want(bob, "GET", path, "", 200, `{"groups":[],"projects":[]}`)
		p.want("", "GET", path, "", 401, `{"message":"401 Unauthorized"}`)
		p.want(bob, "GET", path+"?min_access_level=11", "", 400, `{"error":"min_access_level does not have a valid value"}`)
		p.want(narrow, "GET", path, "", 403, `{"error":"insufficient_scope","error_description":"The request requires `+
			`higher privileges than provided by the access token.","scope":"api read_api"}`)

		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=private", 201)
		in := get[gitlab.Group](p, ann, "POST", "/groups", fmt.Sprintf("name=In&path=in&parent_id=%d&visibility=private", g.ID), 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=App&namespace_id=%d&visibility=private", in.ID), 201)
		own := get[gitlab.Project](p, ann, "POST", "/projects", "name=Own&visibility=public", 201)
		bobsID := get[gitlab.User](p, bob, "GET", "/user", "", 200).ID
		get[gitlab.GroupMember](p, ann, "POST", fmt.Sprintf("/groups/%d/members", in.ID), fmt.Sprintf("user_id=%d&access_level=20", bobsID), 201)
		get[gitlab.ProjectMember](p, ann, "POST", fmt.Sprintf("/projects/%d/members", app.ID), fmt.Sprintf("user_id=%d&access_level=30", bobsID), 201)
		for _, tt := range []struct{ token, query, want string }{
			{ann, "", fmt.Sprintf("g%d:50 g%d:50 p%d:-/50 p%d:50/-", g.ID, in.ID, app.ID, own.ID)},
			{bob, "", fmt.Sprintf("g%d:20 p%d:30/20", in.ID, app.ID)},
			{bob, "?min_access_level=30", fmt.Sprintf("p%d:30/20", app.ID)},
			{bob, "?min_access_level=40", ""},
			{ann, "?per_page=1&page=2", fmt.Sprintf("g%d:50 p%d:50/-", in.ID, own.ID)},
		} {
			if got := get[associations](p, tt.token, "GET", path+tt.query, "", 200).String(); got != tt.want {
				t.Errorf("%s: got %s, want %s", tt.query, got, tt.want)
			}
		}
		bot := get[gitlab.GroupAccessToken](p, ann, "POST", fmt.Sprintf("/groups/%d/access_tokens", in.ID),
			"name=ci&scopes[]=read_api&expires_at=2026-06-01&access_level=10", 201)
		if got, want := get[associations](p, bot.Token, "GET", path, "", 200).String(), fmt.Sprintf("g%d:10 p%d:-/10", in.ID, app.ID); got != want {
			t.Errorf("the bot of a group: got %s, want %s", got, want)
		}
		_, body := p.call(bob, "GET", path, "")
		want := fmt.Sprintf(`{"groups":[{"id":%d,"web_url":"https://tenon.example/groups/team/in","name":"In","parent_id":%d,"organization_id":1,`+
			`"access_levels":20,"visibility":"private"}],"projects":[{"id":%d,"description":null,"name":"App","name_with_namespace":"Team / In / App",`+
			`"path":"app","path_with_namespace":"team/in/app","created_at":"2026-05-04T15:38:00.000Z",`+
			`"access_levels":{"project_access_level":30,"group_access_level":20},"visibility":"private","web_url":"https://tenon.example/team/in/app",`+
			`"namespace":{"id":%d,"name":"In","path":"in","kind":"group","full_path":"team/in","parent_id":%d,"avatar_url":null,`+
			`"web_url":"https://tenon.example/groups/team/in"}}]}`, in.ID, g.ID, app.ID, in.ID, g.ID)
		if body != want {
			t.Errorf("got  %s\nwant %s", body, want)
		}
	})
}
