package graphql

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// plan makes an epic with a child and two issues, one of them confidential, and gives the id of the project.
func (s *server) plan() (group, project int64) {
	s.t.Helper()
	group, project = s.place()
	parent := s.rest("owner", "POST", "/groups/team/epics", `{"title":"Plan","description":"*soon*","start_date_is_fixed":true,"start_date_fixed":"2020-01-01","labels":"big"}`)
	s.rest("owner", "POST", "/groups/team/epics", fmt.Sprintf(`{"title":"Part","parent_id":%d}`, id(parent)))
	s.rest("owner", "POST", fmt.Sprintf("/projects/%d/issues", project), fmt.Sprintf(
		`{"title":"Work :tea:","description":"*now*","labels":"small","weight":3,"due_date":"2020-02-01","health_status":"at_risk","assignee_ids":[%d],"epic_id":%d}`, s.ids["owner"], id(parent)))
	s.rest("owner", "POST", fmt.Sprintf("/projects/%d/issues", project), fmt.Sprintf(`{"title":"Secret","confidential":true,"issue_type":"task","epic_id":%d}`, id(parent)))
	return group, project
}

func TestWorkItems(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		group, project := s.plan()
		issue := s.rest("owner", "GET", fmt.Sprintf("/projects/%d/issues/1", project), "")
		epic := s.rest("owner", "GET", "/groups/team/epics/1", "")
		const whole = `query($id: WorkItemID!) { workItem(id: $id) { id iid title titleHtml description descriptionHtml state confidential createdAt updatedAt closedAt webUrl author { username } project { fullPath }
			reference full: reference(full: true) workItemType { id name iconName enabled } widgets { type } features { assignees { assignees { nodes { username } } } color { color textColor }
			description { description descriptionHtml } healthStatus { healthStatus } hierarchy { hasParent hasChildren parent { title } children { nodes { title } } } labels { labels { nodes { title } } }
			milestone { milestone { title } } iteration { iteration { id } } notifications { subscribed } awardEmoji { upvotes downvotes } startAndDueDate { startDate dueDate } status { status { name } } weight { weight } } } }`
		issueID, epicID := fmt.Sprintf("gid://gitlab/WorkItem/%d", id(issue)), fmt.Sprintf("gid://gitlab/Epic/%d", id(epic))
		get := func(as, id string) any { return at(s.data(as, whole, variables{"id": id}), "workItem") }
		same := func(item any, want map[string]any) {
			t.Helper()
			for field, value := range want {
				var path []any
				for _, p := range strings.Fields(field) {
					path = append(path, p)
				}
				got, _ := json.Marshal(at(item, path...))
				if wanted, _ := json.Marshal(value); string(got) != string(wanted) {
					t.Errorf("%s: got %s, want %s", field, got, wanted)
				}
			}
		}
		list := func(key string, values ...string) map[string]any {
			nodes := []any{}
			for _, v := range values {
				nodes = append(nodes, map[string]any{key: v})
			}
			return map[string]any{"nodes": nodes}
		}
		same(get("owner", issueID), map[string]any{
			"id": issueID, "iid": "1", "title": issue["title"], "description": issue["description"], "state": "OPEN", "confidential": false, "closedAt": nil, "webUrl": issue["web_url"],
			"author username": "owner", "project fullPath": "team/sub/app", "reference": "#1", "full": "team/sub/app#1", "descriptionHtml": "<p dir=\"auto\"><em>now</em></p>\n",
			"workItemType":                 map[string]any{"id": "gid://gitlab/WorkItems::Type/1", "name": "Issue", "iconName": "issue-type-issue", "enabled": true},
			"features assignees assignees": list("username", "owner"), "features color": nil, "features description description": "*now*",
			"features healthStatus healthStatus": "atRisk", "features hierarchy": map[string]any{"hasParent": true, "hasChildren": false, "parent": map[string]any{"title": "Plan"}, "children": list("title")},
			"features labels labels": list("title", "small"), "features startAndDueDate": map[string]any{"startDate": nil, "dueDate": issue["due_date"]}, "features weight weight": issue["weight"],
			"features notifications subscribed": issue["subscribed"], "features status": nil,
		})
		same(get("owner", epicID), map[string]any{
			"id": epicID, "iid": "1", "title": epic["title"], "description": epic["description"], "state": "OPEN", "webUrl": epic["web_url"], "author username": "owner", "project": nil, "reference": "&1", "full": "team&1",
			"workItemType":       map[string]any{"id": "gid://gitlab/WorkItems::Type/8", "name": "Epic", "iconName": "issue-type-epic", "enabled": true},
			"features assignees": nil, "features weight": nil, "features milestone": nil, "features color": map[string]any{"color": epic["color"], "textColor": epic["text_color"]},
			"features hierarchy":       map[string]any{"hasParent": false, "hasChildren": true, "parent": nil, "children": list("title", "Part", "Secret", "Work :tea:")},
			"features startAndDueDate": map[string]any{"startDate": epic["start_date"], "dueDate": epic["due_date"]}, "features labels labels": list("title", "big"),
		})

		// A guest of the group sees nothing of the confidential task: not as a child, by its id or in a list.
		s.rest("root", "POST", fmt.Sprintf("/groups/%d/members", group), fmt.Sprintf(`{"user_id":%d,"access_level":10}`, s.ids["other"]))
		same(get("other", epicID), map[string]any{"features hierarchy children": list("title", "Part", "Work :tea:")})
		s.want("other", `{ workItem(id: "gid://gitlab/WorkItem/2") { id } }`, nil, `{"data":{"workItem":null}}`)
		s.want("", `{ workItem(id: "`+epicID+`") { id } }`, nil, `{"data":{"workItem":null}}`)
		for arguments, want := range map[string]string{
			``: "Secret Work :tea:", `(types: [TASK])`: "Secret", `(types: [EPIC])`: "", `(iid: "1")`: "Work :tea:", `(iids: ["2", "9"])`: "Secret", `(search: "WORK", in: [TITLE])`: "Work :tea:",
			`(sort: TITLE_DESC)`: "Work :tea: Secret", `(state: closed)`: "", `(authorUsername: "other")`: "", `(first: 1)`: "Secret", `(last: 1)`: "Work :tea:",
		} {
			query := `{ project(fullPath: "team/sub/app") { workItems` + arguments + ` { nodes { title } } } }`
			if got := titles(at(s.data("owner", query, nil), "project", "workItems", "nodes")); got != want {
				t.Errorf("workItems%s: got %q, want %q", arguments, got, want)
			}
			if got := titles(at(s.data("other", query, nil), "project", "workItems", "nodes")); strings.Contains(got, "Secret") {
				t.Errorf("workItems%s: a guest sees %q", arguments, got)
			}
		}
		s.want("owner", `{ project(fullPath: "team/sub/app") { workItemTypes { nodes { name } } task: workItemTypes(taskable: true) { nodes { id } } } group(fullPath: "team") { workItemTypes { nodes { name } } } }`, nil,
			`{"data":{"project":{"workItemTypes":{"nodes":[{"name":"Incident"},{"name":"Issue"},{"name":"Task"},{"name":"Test Case"}]},"task":{"nodes":[{"id":"gid://gitlab/WorkItems::Type/5"}]}},"group":{"workItemTypes":{"nodes":[{"name":"Epic"}]}}}}`)
		s.want("owner", `{ workItem(id: "`+epicID+`") { widgets { type ... on WorkItemWidgetColor { color } ... on WorkItemWidgetHierarchy { hasChildren } } } }`, nil,
			`{"data":{"workItem":{"widgets":[{"type":"AWARD_EMOJI"},{"type":"COLOR","color":"#1068bf"},{"type":"CURRENT_USER_TODOS"},{"type":"DESCRIPTION"},{"type":"HIERARCHY","hasChildren":true},{"type":"LABELS"},{"type":"LINKED_ITEMS"},`+
				`{"type":"NOTES"},{"type":"NOTIFICATIONS"},{"type":"START_AND_DUE_DATE"}]}}}`)

		// A list takes as many statements for many work items as for two.
		wide := `{ project(fullPath: "team/sub/app") { workItems { nodes ` + strings.TrimSuffix(strings.TrimPrefix(whole[strings.Index(whole, ") { id"):], ")"), " }") + ` } } }`
		few := s.statements("owner", wide, nil)
		for i := range 10 {
			s.rest("owner", "POST", fmt.Sprintf("/projects/%d/issues", project), fmt.Sprintf(`{"title":"w %d","description":"x","epic_id":%d,"assignee_ids":[%d]}`, i, id(epic), s.ids["owner"]))
		}
		if many := s.statements("owner", wide, nil); many != few {
			t.Errorf("%d statements for 12 work items, %d for two", many, few)
		}
	})
}

// titles gives those of the nodes of a list.
func titles(nodes any) string {
	list, _ := nodes.([]any)
	var out []string
	for i := range list {
		title, _ := at(list, i, "title").(string)
		out = append(out, title)
	}
	return strings.Join(out, " ")
}
