package graphql

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// plan makes an epic with a child and two issues, one of them confidential, and returns the id of the project.
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

// titles returns those of the nodes of a list.
func titles(nodes any) string {
	list, _ := nodes.([]any)
	var out []string
	for i := range list {
		title, _ := at(list, i, "title").(string)
		out = append(out, title)
	}
	return strings.Join(out, " ")
}

// made returns the id of the work item that a mutation gave, which has to have no errors.
func (s *server) made(as, mutation string, input variables) string {
	s.t.Helper()
	typ := strings.ToUpper(mutation[:1]) + mutation[1:] + "Input!"
	data := s.data(as, "mutation($input: "+typ+") { "+mutation+"(input: $input) { errors workItem { id } } }", variables{"input": input})
	if problems, _ := at(data, mutation, "errors").([]any); len(problems) > 0 {
		s.t.Fatalf("%s %v: %v", mutation, input, problems)
	}
	made, _ := at(data, mutation, "workItem", "id").(string)
	return made
}

func TestWorkItems_changes(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		group, project := s.plan()
		s.rest("root", "POST", fmt.Sprintf("/groups/%d/members", group), fmt.Sprintf(`{"user_id":%d,"access_level":10}`, s.ids["other"]))
		label := id(s.rest("owner", "POST", fmt.Sprintf("/groups/%d/labels", group), `{"name":"chosen","color":"#ff0000"}`))
		milestone := id(s.rest("owner", "POST", fmt.Sprintf("/groups/%d/milestones", group), `{"title":"M"}`))
		user, chosen := fmt.Sprintf("gid://gitlab/User/%d", s.ids["owner"]), fmt.Sprintf("gid://gitlab/GroupLabel/%d", label)

		item := s.made("owner", "workItemCreate", variables{
			"namespacePath": "team/sub/app", "workItemTypeId": "gid://gitlab/WorkItems::Type/5", "title": "Task", "descriptionWidget": variables{"description": "do *it*"}, "confidential": true,
			"assigneesWidget": variables{"assigneeIds": []string{user}}, "labelsWidget": variables{"labelIds": []string{chosen}}, "weightWidget": variables{"weight": 5},
			"milestoneWidget": variables{"milestoneId": fmt.Sprintf("gid://gitlab/Milestone/%d", milestone)}, "healthStatusWidget": variables{"healthStatus": "onTrack"},
			"startAndDueDateWidget": variables{"dueDate": "2030-01-02"}, "hierarchyWidget": variables{"parentId": "gid://gitlab/Epic/2"},
			"linkedItemsWidget": variables{"linkType": "BLOCKS", "workItemsIds": []string{"gid://gitlab/WorkItem/1"}},
		})
		row := func() map[string]any {
			return s.rest("owner", "GET", fmt.Sprintf("/projects/%d/issues/3", project), "")
		}
		want := func(what string, got, want map[string]any) {
			t.Helper()
			for key, value := range want {
				if g, w := fmt.Sprint(got[key]), fmt.Sprint(value); g != w {
					t.Errorf("%s: %s is %s, want %s", what, key, g, w)
				}
			}
		}
		want("created", row(), map[string]any{
			"title": "Task", "type": "TASK", "description": "do *it*", "confidential": true, "labels": "[chosen]", "weight": 5, "health_status": "on_track", "due_date": "2030-01-02", "epic_iid": 2,
		})
		const links = `{ workItem(id: "gid://gitlab/WorkItem/%d") { features { linkedItems { blocked blockedByCount blockingCount linkedItems { nodes { linkType workItem { title } } } related: linkedItems(filter: RELATED) { nodes { linkType } } } } } }`
		s.want("owner", fmt.Sprintf(links, 1), nil, `{"data":{"workItem":{"features":{"linkedItems":{"blocked":true,"blockedByCount":1,"blockingCount":0,"linkedItems":{"nodes":[{"linkType":"is_blocked_by","workItem":{"title":"Task"}}]},"related":{"nodes":[]}}}}}}`)
		s.want("other", fmt.Sprintf(links, 1), nil, `{"data":{"workItem":{"features":{"linkedItems":{"blocked":false,"blockedByCount":0,"blockingCount":0,"linkedItems":{"nodes":[]},"related":{"nodes":[]}}}}}}`)

		refuse := func(field, mutation string) {
			t.Helper()
			if got := s.ask("other", mutation, nil); !strings.HasPrefix(got, refused(field)) {
				t.Errorf("%s: got %s", mutation, got)
			}
		}

		// Nothing happens for those who may not, and what breaks a rule is said.
		refuse("workItemDelete", `mutation { workItemDelete(input: {id: "gid://gitlab/WorkItem/1"}) { errors } }`)
		refuse("workItemUpdate", `mutation { workItemUpdate(input: {id: "gid://gitlab/WorkItem/1", title: "x"}) { errors } }`)
		refuse("workItemUpdate", `mutation { workItemUpdate(input: {id: "`+item+`", title: "x"}) { errors } }`)
		s.want("owner", `mutation { workItemUpdate(input: {id: "`+item+`", title: ""}) { errors } }`, nil, `{"data":{"workItemUpdate":{"errors":["Title can't be blank"]}}}`)
		s.want("owner", `mutation { workItemUpdate(input: {id: "`+item+`", colorWidget: {color: "#ff0000"}, startAndDueDateWidget: {startDate: "2020-01-01"}}) { errors } }`, nil,
			`{"data":{"workItemUpdate":{"errors":["Color cannot be set for the type Task","Start date cannot be set for the type Task"]}}}`)
		s.want("owner", `mutation { workItemUpdate(input: {id: "`+item+`", hierarchyWidget: {parentId: "gid://gitlab/WorkItem/1"}}) { errors } }`, nil, `{"data":{"workItemUpdate":{"errors":["Parent must be an epic"]}}}`)
		s.want("owner", `mutation { workItemConvert(input: {id: "`+item+`", workItemTypeId: "gid://gitlab/WorkItems::Type/8"}) { errors workItem { id } } }`, nil,
			`{"data":{"workItemConvert":{"errors":["Work item type cannot be changed from Task to Epic"],"workItem":null}}}`)
		s.want("owner", `mutation { workItemConvert(input: {id: "`+item+`", workItemTypeId: "gid://gitlab/WorkItems::Type/2"}) { errors workItem { workItemType { name } } } }`, nil,
			`{"data":{"workItemConvert":{"errors":[],"workItem":{"workItemType":{"name":"Incident"}}}}}`)

		s.made("owner", "workItemUpdate", variables{
			"id": item, "title": "Done", "stateEvent": "CLOSE", "confidential": false, "assigneesWidget": variables{"assigneeIds": []string{}}, "labelsWidget": variables{"removeLabelIds": []string{chosen}},
			"weightWidget": variables{"weight": nil}, "milestoneWidget": variables{"milestoneId": nil}, "healthStatusWidget": variables{"healthStatus": nil}, "startAndDueDateWidget": variables{"dueDate": nil},
			"descriptionWidget": variables{"description": ""}, "hierarchyWidget": variables{"parentId": nil}, "notificationsWidget": variables{"subscribed": false}, "currentUserTodosWidget": variables{"action": "ADD"},
		})
		want("updated", row(), map[string]any{
			"title": "Done", "state": "closed", "confidential": false, "assignees": "[]", "labels": "[]", "weight": nil, "milestone": nil, "health_status": nil, "due_date": nil, "epic_iid": nil, "subscribed": false,
		})
		const todos = `{ workItem(id: "%s") { features { currentUserTodos { currentUserTodos(state: pending) { nodes { targetType } } } } } }`
		s.want("owner", fmt.Sprintf(todos, item), nil, `{"data":{"workItem":{"features":{"currentUserTodos":{"currentUserTodos":{"nodes":[{"targetType":"ISSUE"}]}}}}}}`)
		s.made("owner", "workItemUpdate", variables{"id": item, "currentUserTodosWidget": variables{"action": "MARK_AS_DONE"}})
		s.want("owner", fmt.Sprintf(todos, item), nil, `{"data":{"workItem":{"features":{"currentUserTodos":{"currentUserTodos":{"nodes":[]}}}}}}`)

		// What people say of a work item, and their awards.
		s.rest("owner", "POST", fmt.Sprintf("/projects/%d/issues/1/notes", project), `{"body":"said"}`)
		s.rest("owner", "POST", "/groups/team/epics/1/notes", `{"body":"of the epic"}`)
		for typ, body := range map[string]string{"WorkItem": "said", "Epic": "of the epic"} {
			s.made("owner", "workItemUpdate", variables{"id": "gid://gitlab/" + typ + "/1", "awardEmojiWidget": variables{"action": "ADD", "name": "tea"}})
			query := `{ workItem(id: "gid://gitlab/` + typ + `/1") { features { notes { discussions(filter: ONLY_COMMENTS) { nodes { notes { nodes { body } } } } } awardEmoji { upvotes awardEmoji { nodes { name user { username } } } } } } }`
			want := `{"data":{"workItem":{"features":{"notes":{"discussions":{"nodes":[{"notes":{"nodes":[{"body":"` + body + `"}]}}]}},"awardEmoji":{"upvotes":0,"awardEmoji":{"nodes":[{"name":"tea","user":{"username":"owner"}}]}}}}}}`
			s.want("owner", query, nil, want)
			s.want("other", query, nil, want)
			s.made("owner", "workItemUpdate", variables{"id": "gid://gitlab/" + typ + "/1", "awardEmojiWidget": variables{"action": "REMOVE", "name": "tea"}})
			s.want("owner", `mutation { workItemUpdate(input: {id: "gid://gitlab/`+typ+`/1", awardEmojiWidget: {action: REMOVE, name: "tea"}}) { errors } }`, nil,
				`{"data":{"workItemUpdate":{"errors":["User has not awarded emoji of type tea on the awardable"]}}}`)
		}
		const invite = `{ workItem(id: "gid://gitlab/WorkItem/1") { features { assignees { canInviteMembers allowsMultipleAssignees } } } }`
		s.want("owner", invite, nil, `{"data":{"workItem":{"features":{"assignees":{"canInviteMembers":true,"allowsMultipleAssignees":true}}}}}`)
		s.want("other", invite, nil, `{"data":{"workItem":{"features":{"assignees":{"canInviteMembers":false,"allowsMultipleAssignees":true}}}}}`)

		// Epics of groups, with children in the order that is asked for.
		epic := s.made("owner", "workItemCreate", variables{
			"namespacePath": "team", "workItemTypeId": "gid://gitlab/WorkItems::Type/8", "title": "Whole", "description": "x", "colorWidget": variables{"color": "#00ff00"},
			"startAndDueDateWidget": variables{"startDate": "2031-01-02"}, "labelsWidget": variables{"labelIds": []string{chosen}},
		})
		want("epic", s.rest("owner", "GET", "/groups/team/epics/3", ""), map[string]any{"title": "Whole", "description": "x", "color": "#00ff00", "start_date": "2031-01-02", "start_date_is_fixed": true, "labels": "[chosen]"})
		s.want("owner", `mutation { workItemCreate(input: {namespacePath: "team", workItemTypeId: "gid://gitlab/WorkItems::Type/8", title: "x", weightWidget: {weight: 1}}) { errors workItem { id } } }`, nil,
			`{"data":{"workItemCreate":{"errors":["Weight cannot be set for the type Epic"],"workItem":null}}}`)
		refuse("workItemCreate", `mutation { workItemCreate(input: {namespacePath: "team", workItemTypeId: "gid://gitlab/WorkItems::Type/8", title: "x"}) { errors } }`)
		children := func() string {
			return titles(at(s.data("owner", `{ workItem(id: "`+epic+`") { features { hierarchy { children { nodes { title } } } } } }`, nil), "workItem", "features", "hierarchy", "children", "nodes"))
		}
		s.made("owner", "workItemUpdate", variables{"id": epic, "hierarchyWidget": variables{"childrenIds": []string{item, "gid://gitlab/WorkItem/1", "gid://gitlab/Epic/2"}}})
		if got := children(); got != "Part Work :tea: Done" {
			t.Errorf("children: got %q", got)
		}
		s.made("owner", "workItemUpdate", variables{"id": item, "hierarchyWidget": variables{"adjacentWorkItemId": "gid://gitlab/WorkItem/1", "relativePosition": "BEFORE"}})
		if got := children(); got != "Part Done Work :tea:" {
			t.Errorf("children in another order: got %q", got)
		}
		s.want("owner", `mutation { workItemUpdate(input: {id: "`+item+`", hierarchyWidget: {adjacentWorkItemId: "gid://gitlab/Epic/2"}}) { errors } }`, nil,
			`{"data":{"workItemUpdate":{"errors":["The adjacent work item must be of the same kind and have the same parent"]}}}`)
		s.made("owner", "workItemUpdate", variables{"id": "gid://gitlab/Epic/2", "stateEvent": "CLOSE", "colorWidget": variables{"color": "#0000ff"}, "hierarchyWidget": variables{"parentId": nil}})
		want("epic that changed", s.rest("owner", "GET", "/groups/team/epics/2", ""), map[string]any{"state": "closed", "color": "#0000ff", "parent_iid": nil})
		const page = `{ workItem(id: "%s") { features { hierarchy { children(first: 1%s) { nodes { title } pageInfo { hasNextPage endCursor } } } } } }`
		first := at(s.data("owner", fmt.Sprintf(page, epic, ""), nil), "workItem", "features", "hierarchy", "children")
		cursor, _ := at(first, "pageInfo", "endCursor").(string)
		s.want("owner", fmt.Sprintf(page, epic, `, after: "`+cursor+`"`), nil, strings.ReplaceAll(`{"data":{"workItem":{"features":{"hierarchy":{"children":{"nodes":[{"title":"Work :tea:"}],"pageInfo":{"hasNextPage":false,"endCursor":"CURSOR"}}}}}}}`, "CURSOR", "Mg"))

		const may = `{ workItem(id: "gid://gitlab/WorkItem/1") { userPermissions { adminParentLink adminWorkItem createNote deleteWorkItem readWorkItem setWorkItemMetadata updateWorkItem } } }`
		s.want("owner", may, nil, `{"data":{"workItem":{"userPermissions":{"adminParentLink":true,"adminWorkItem":true,"createNote":true,"deleteWorkItem":true,"readWorkItem":true,"setWorkItemMetadata":true,"updateWorkItem":true}}}}`)
		s.want("other", may, nil, `{"data":{"workItem":{"userPermissions":{"adminParentLink":true,"adminWorkItem":false,"createNote":true,"deleteWorkItem":false,"readWorkItem":true,"setWorkItemMetadata":false,"updateWorkItem":false}}}}`)
		s.want("other", strings.Replace(may, "WorkItem/1", "Epic/1", 1), nil, `{"data":{"workItem":{"userPermissions":{"adminParentLink":true,"adminWorkItem":false,"createNote":true,"deleteWorkItem":false,"readWorkItem":true,"setWorkItemMetadata":false,"updateWorkItem":false}}}}`)

		s.want("owner", `mutation { workItemDelete(input: {id: "`+item+`"}) { errors project { fullPath } } }`, nil, `{"data":{"workItemDelete":{"errors":[],"project":{"fullPath":"team/sub/app"}}}}`)
		s.want("owner", `mutation { workItemDelete(input: {id: "`+epic+`"}) { errors project { fullPath } } }`, nil, `{"data":{"workItemDelete":{"errors":[],"project":null}}}`)
		s.want("owner", `{ i: workItem(id: "`+item+`") { id } e: workItem(id: "`+epic+`") { id } }`, nil, `{"data":{"i":null,"e":null}}`)
	})
}

// TestWorkItemUpdate_atomic changes a title together with something that is refused: nothing changes.
func TestWorkItemUpdate_atomic(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		item := fmt.Sprintf("gid://gitlab/WorkItem/%d", id(s.rest("dev", "GET", "/projects/team%2Fapp/issues/1", "")))
		got := s.ask("dev", `mutation($i: WorkItemID!) { workItemUpdate(input: {id: $i, title: "changed", awardEmojiWidget: {action: ADD, name: "no such emoji"}}) { errors workItem { title } } }`, variables{"i": item})
		if strings.Contains(got, `"errors":[]`) {
			t.Errorf("an unknown emoji: got %s", got)
		}
		s.want("dev", `query($i: WorkItemID!) { workItem(id: $i) { title } }`, variables{"i": item}, `{"data":{"workItem":{"title":"issue 1"}}}`)
	})
}

// TestWorkItemUpdate_branch has a description make a merge request in an update that is refused for its emoji: there
// is no branch afterwards, and the update without the emoji makes both.
func TestWorkItemUpdate_branch(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		s.rest("owner", "POST", "/projects/team%2Fapp/repository/commits",
			`{"branch":"main","commit_message":"Begin","actions":[{"action":"create","file_path":"a","content":"a"}]}`)
		item := fmt.Sprintf("gid://gitlab/WorkItem/%d", id(s.rest("dev", "GET", "/projects/team%2Fapp/issues/1", "")))
		const update = `mutation($i: WorkItemID!, $e: WorkItemWidgetAwardEmojiUpdateInput) {
			workItemUpdate(input: {id: $i, descriptionWidget: {description: "Text\n/create_merge_request fix"}, awardEmojiWidget: $e}) { errors } }`
		branches := func() (names string) {
			t.Helper()
			var list []struct{ Name string }
			if err := json.Unmarshal(s.send("dev", "GET", "/api/v4/projects/team%2Fapp/repository/branches", "").Body.Bytes(), &list); err != nil {
				t.Fatal(err)
			}
			for _, b := range list {
				names += b.Name + " "
			}
			return names
		}
		if got := s.ask("dev", update, variables{"i": item, "e": variables{"action": "ADD", "name": "no such emoji"}}); strings.Contains(got, `"errors":[]`) {
			t.Errorf("an unknown emoji: got %s", got)
		}
		if got := branches(); got != "main " {
			t.Errorf("branches after the refusal: got %q", got)
		}
		s.want("dev", update, variables{"i": item, "e": variables{"action": "ADD", "name": "tada"}}, `{"data":{"workItemUpdate":{"errors":[]}}}`)
		if got := branches(); got != "fix main " {
			t.Errorf("branches: got %q", got)
		}
		if m := s.rest("dev", "GET", "/projects/team%2Fapp/merge_requests/1", ""); m["source_branch"] != "fix" || m["description"] != "Closes #1" {
			t.Errorf("merge request: got %v", m)
		}
		s.want("dev", `query($i: WorkItemID!) { workItem(id: $i) { description } }`, variables{"i": item}, `{"data":{"workItem":{"description":"Text"}}}`)
	})
}
