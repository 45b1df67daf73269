package rest

import (
	"fmt"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/project"
)

func TestTopics(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		app := get[gitlab.Project](p, ann, "POST", "/projects", "name=app&visibility=private&topics=Go,SQL", 201)
		get[gitlab.Project](p, ann, "POST", "/projects", "name=tool&visibility=public&topics=go", 201)
		list := get[[]gitlab.Topic](p, ann, "GET", "/topics", "", 200)
		if len(list) != 2 || list[0].Name != "Go" || list[0].Title != "Go" || list[0].TotalProjectsCount != 2 || list[1].TotalProjectsCount != 1 {
			t.Fatalf("topics: %+v", list)
		}
		golang, sql := list[0].ID, list[1].ID
		if seen := get[[]gitlab.Topic](p, "", "GET", "/topics?search=go", "", 200); len(seen) != 1 || seen[0].TotalProjectsCount != 1 {
			t.Errorf("for anybody, who sees one of the projects: %+v", seen)
		}
		tool := get[gitlab.Project](p, ann, "GET", "/projects/ann%2Ftool", "", 200)
		if strings.Join(tool.Topics, ",") != "Go" {
			t.Errorf("topics are spelled as they were first: %v", tool.Topics)
		}
		for query, want := range map[string]int{
			"topic=GO": 2, "topic=go,sql": 1, "topic=none": 0, fmt.Sprintf("topic_id=%d", sql): 1, "topic_id=999": 0,
		} {
			if got := get[[]gitlab.Project](p, ann, "GET", "/projects?"+query, "", 200); len(got) != want {
				t.Errorf("%s: %d projects, want %d", query, len(got), want)
			}
		}

		p.want(bob, "POST", "/topics", "name=x&title=x", 403, `{"message":"403 Forbidden"}`)
		p.want("", "POST", "/topics", "name=x&title=x", 401, `{"message":"401 Unauthorized"}`)
		p.want(adminToken, "POST", "/topics", "name=x", 400, `{"error":"title is missing"}`)
		p.want(adminToken, "POST", "/topics", "name=GO&title=x", 400, `{"message":{"name":["has already been taken"]}}`)
		p.want(adminToken, "POST", "/topics", "name=+&title=", 400, `{"message":{"name":["can't be blank"],"title":["can't be blank"]}}`)
		rust := get[gitlab.Topic](p, adminToken, "POST", "/topics", "name=rust&title=Rust&description=crabs", 201)
		if empty := get[[]gitlab.Topic](p, ann, "GET", "/topics?without_projects=true", "", 200); len(empty) != 1 || empty[0].ID != rust.ID {
			t.Errorf("without projects: %+v", empty)
		}
		p.want(adminToken, "PUT", fmt.Sprintf("/topics/%d", rust.ID), "name=go", 400, `{"message":{"name":["has already been taken"]}}`)
		changed := get[gitlab.Topic](p, adminToken, "PUT", fmt.Sprintf("/topics/%d", golang), "name=golang&title=The+Go+language", 200)
		if changed.Name != "golang" || changed.Title != "The Go language" || changed.TotalProjectsCount != 2 {
			t.Errorf("changed: %+v", changed)
		}
		same := fmt.Sprintf("source_topic_id=%d&target_topic_id=%d", sql, sql)
		p.want(adminToken, "POST", "/topics/merge", same, 400, `{"message":"400 Bad request - The source topic and the target topic are identical."}`)
		merged := get[gitlab.Topic](p, adminToken, "POST", "/topics/merge", fmt.Sprintf("source_topic_id=%d&target_topic_id=%d", sql, golang), 201)
		if merged.ID != golang || merged.TotalProjectsCount != 2 {
			t.Errorf("merged: %+v", merged)
		}
		if now := get[gitlab.Project](p, ann, "GET", fmt.Sprintf("/projects/%d", app.ID), "", 200); strings.Join(now.Topics, ",") != "golang" {
			t.Errorf("topics of the project: %v", now.Topics)
		}
		p.want(ann, "GET", fmt.Sprintf("/topics/%d", sql), "", 404, `{"message":"404 Topic Not Found"}`)
		p.want(bob, "DELETE", fmt.Sprintf("/topics/%d", golang), "", 403, `{"message":"403 Forbidden"}`)
		p.want(adminToken, "DELETE", fmt.Sprintf("/topics/%d", golang), "", 204, "")
		if now := get[gitlab.Project](p, ann, "GET", fmt.Sprintf("/projects/%d", app.ID), "", 200); len(now.Topics) != 0 {
			t.Errorf("topics after the deletion: %v", now.Topics)
		}
	})
}

// The order of the list follows what projects say, and what becomes of them.
func TestTopics_order(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		order := func(want string) {
			t.Helper()
			var names []string
			for _, topic := range get[[]gitlab.Topic](p, ann, "GET", "/topics", "", 200) {
				names = append(names, fmt.Sprintf("%s %d", topic.Name, topic.TotalProjectsCount))
			}
			if got := strings.Join(names, ", "); got != want {
				t.Errorf("topics: %s, want %s", got, want)
			}
		}
		one := get[gitlab.Project](p, ann, "POST", "/projects", "name=one&topics=a,b", 201)
		two := get[gitlab.Project](p, ann, "POST", "/projects", "name=two&topics=b,c", 201)
		order("b 2, a 1, c 1")
		get[gitlab.Project](p, ann, "PUT", fmt.Sprintf("/projects/%d", one.ID), "topics=a,C", 200)
		order("c 2, a 1, b 1")
		get[gitlab.Project](p, ann, "PUT", fmt.Sprintf("/projects/%d", two.ID), "topics=", 200)
		order("a 1, c 1, b 0")
		p.want(ann, "DELETE", fmt.Sprintf("/projects/%d", one.ID), "", 202, `{"message":"202 Accepted"}`)
		if err := p.Projects.Purge(t.Context(), project.Purge{ProjectID: project.ID(one.ID)}); err != nil {
			t.Fatal(err)
		}
		if empty := get[[]gitlab.Topic](p, ann, "GET", "/topics?without_projects=true", "", 200); len(empty) != 3 {
			t.Errorf("without projects: %+v", empty)
		}
	})
}

func TestCustomAttributes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		id, ann := p.signUp("ann")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", "name=app&visibility=public", 201)
		for place, list := range map[string]string{
			fmt.Sprintf("/users/%d", id): "/users", fmt.Sprintf("/groups/%d", g.ID): "/groups", fmt.Sprintf("/projects/%d", app.ID): "/projects",
		} {
			at := place + "/custom_attributes"
			p.want(ann, "GET", at, "", 403, `{"message":"403 Forbidden"}`)
			p.want(ann, "PUT", at+"/room", "value=1", 403, `{"message":"403 Forbidden"}`)
			p.want(adminToken, "GET", at, "", 200, `[]`)
			p.want(adminToken, "PUT", at+"/room", "", 400, `{"error":"value is missing"}`)
			p.want(adminToken, "PUT", at+"/room", "value=", 400, `{"message":{"value":["can't be blank"]}}`)
			p.want(adminToken, "PUT", at+"/room", "value=1", 200, `{"key":"room","value":"1"}`)
			p.want(adminToken, "PUT", at+"/room", "value=2", 200, `{"key":"room","value":"2"}`)
			p.want(adminToken, "PUT", at+"/floor", "value=b", 200, `{"key":"floor","value":"b"}`)
			p.want(adminToken, "GET", at, "", 200, `[{"key":"floor","value":"b"},{"key":"room","value":"2"}]`)
			p.want(adminToken, "GET", at+"/room", "", 200, `{"key":"room","value":"2"}`)
			p.want(adminToken, "GET", at+"/none", "", 404, `{"message":"404 CustomAttribute Not Found"}`)
			const shown = `"custom_attributes":[{"key":"floor","value":"b"},{"key":"room","value":"2"}]`
			if _, one := p.call(adminToken, "GET", place+"?with_custom_attributes=true", ""); !strings.Contains(one, shown) {
				t.Errorf("%s: %s", place, one)
			}
			if _, one := p.call(ann, "GET", place+"?with_custom_attributes=true", ""); strings.Contains(one, "custom_attributes") {
				t.Errorf("%s as its owner: %s", place, one)
			}
			if _, found := p.call(adminToken, "GET", list+"?custom_attributes[room]=2&custom_attributes[floor]=b&with_custom_attributes=true", ""); !strings.Contains(found, shown) {
				t.Errorf("%s by attribute: %s", list, found)
			}
			p.want(adminToken, "GET", list+"?custom_attributes[room]=1", "", 200, `[]`)
			p.want(adminToken, "GET", list+"?custom_attributes[room]=2&custom_attributes[floor]=2", "", 200, `[]`)
			p.want(adminToken, "GET", list+"?custom_attributes[room]=2&custom_attributes[floor]=b&custom_attributes[none]=x", "", 200, `[]`)
			if list == "/users" {
				const keyset = "/users?pagination=keyset&with_custom_attributes=true&custom_attributes[room]="
				if _, found := p.call(adminToken, "GET", keyset+"2", ""); !strings.Contains(found, shown) {
					t.Errorf("users by attribute and cursor: %s", found)
				}
				p.want(adminToken, "GET", keyset+"1", "", 200, `[]`)
			}
			if _, all := p.call(ann, "GET", list+"?custom_attributes[room]=1", ""); all == `[]` {
				t.Errorf("%s: those who may not see attributes filter by them", list)
			}
			p.want(ann, "DELETE", at+"/room", "", 403, `{"message":"403 Forbidden"}`)
			p.want(adminToken, "DELETE", at+"/room", "", 204, "")
			p.want(adminToken, "DELETE", at+"/room", "", 404, `{"message":"404 CustomAttribute Not Found"}`)
		}
	})
}

func TestBadges(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlaces(t, d)
		_, ann := p.signUp("ann")
		_, bob := p.signUp("bob")
		g := get[gitlab.Group](p, ann, "POST", "/groups", "name=Team&path=team&visibility=public", 201)
		app := get[gitlab.Project](p, ann, "POST", "/projects", fmt.Sprintf("name=app&visibility=public&namespace_id=%d", g.ID), 201)
		at, above := fmt.Sprintf("/projects/%d/badges", app.ID), fmt.Sprintf("/groups/%d/badges", g.ID)
		const urls = "link_url=https://ci.example/%25{project_path}/%25{default_branch}&image_url=https://ci.example/%25{project_id}.svg"

		p.want(bob, "POST", at, urls, 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "POST", at, "link_url=https://a.example", 400, `{"error":"image_url is missing"}`)
		p.want(ann, "POST", at, "link_url=javascript:alert(1)&image_url=ftp://a.example/x", 400,
			`{"message":{"link_url":["is blocked: Only allowed schemes are http, https"],"image_url":["is blocked: Only allowed schemes are http, https"]}}`)
		p.want(ann, "POST", at, "link_url=https://a.example/?q=%25{secret}&image_url=https://a.example/%25{secret}", 400,
			`{"message":{"link_url":["is blocked: URI is invalid"],"image_url":["is blocked: URI is invalid"]}}`)
		own := get[gitlab.ProjectBadge](p, ann, "POST", at, urls+"&name=build", 201)
		if own.Kind != "project" || own.RenderedLinkURL != "https://ci.example/team/app/" || own.RenderedImageURL != fmt.Sprintf("https://ci.example/%d.svg", app.ID) {
			t.Errorf("badge: %+v", own)
		}
		group := get[gitlab.GroupBadge](p, ann, "POST", above, urls, 201)
		if group.Kind != "group" || group.RenderedLinkURL != group.LinkURL {
			t.Errorf("badge of the group: %+v", group)
		}
		if list := get[[]gitlab.ProjectBadge](p, "", "GET", at, "", 200); len(list) != 2 || list[1].Kind != "group" || list[1].RenderedLinkURL != own.RenderedLinkURL {
			t.Errorf("badges of the project: %+v", list)
		}
		if list := get[[]gitlab.ProjectBadge](p, "", "GET", at+"?name=build", "", 200); len(list) != 1 {
			t.Errorf("badges by name: %+v", list)
		}
		if list := get[[]gitlab.GroupBadge](p, "", "GET", above, "", 200); len(list) != 1 {
			t.Errorf("badges of the group: %+v", list)
		}
		p.want(bob, "GET", at+"/render?"+urls, "", 403, `{"message":"403 Forbidden"}`)
		preview := get[gitlab.ProjectBadge](p, ann, "GET", at+"/render?"+urls, "", 200)
		if preview.RenderedLinkURL != own.RenderedLinkURL || preview.Kind != "" {
			t.Errorf("preview: %+v", preview)
		}
		changed := get[gitlab.ProjectBadge](p, ann, "PUT", fmt.Sprintf("%s/%d", at, own.ID), "link_url=http://b.example/%25{commit_sha}", 200)
		if changed.RenderedLinkURL != "http://b.example/" || changed.Name != "build" {
			t.Errorf("changed: %+v", changed)
		}
		p.want(ann, "PUT", fmt.Sprintf("%s/%d", at, group.ID), "name=x", 404, `{"message":"404 Badge Not Found"}`)
		p.want(ann, "DELETE", fmt.Sprintf("%s/%d", at, group.ID), "", 400, `{"message":"400 Bad request - To delete a Group badge please use the Group endpoint"}`)
		p.want(ann, "GET", fmt.Sprintf("%s/%d", above, own.ID), "", 404, `{"message":"404 Badge Not Found"}`)
		p.want(bob, "DELETE", fmt.Sprintf("%s/%d", at, own.ID), "", 403, `{"message":"403 Forbidden"}`)
		p.want(ann, "DELETE", fmt.Sprintf("%s/%d", at, own.ID), "", 204, "")
		p.want(ann, "DELETE", fmt.Sprintf("%s/%d", above, group.ID), "", 204, "")
	})
}
