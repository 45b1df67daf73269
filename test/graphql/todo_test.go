package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// TestTodos makes to-do items through REST and works through them.
func TestTodos(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(0)
		s.rest("owner", "POST", "/groups/team/epics", `{"title":"Plan","description":"for @dev"}`)
		s.rest("owner", "POST", "/projects/team%2Fapp/issues", `{"title":"talk"}`)
		s.rest("owner", "POST", "/projects/team%2Fapp/issues/1/notes", `{"body":"@guest and @dev, *look*"}`)
		const list = `{ currentUser { todos(state: [pending]) { count nodes { action state body targetType author { username } project { fullPath } group { fullPath } note { body url author { username } }
			target { webUrl ... on Issue { reference } ... on Epic { reference } } } } } }`
		got := s.data("dev", list, nil)
		if n := at(got, "currentUser", "todos", "count"); n != 2.0 {
			t.Errorf("%v to-do items of dev, want 2: %v", n, got)
		}
		url := at(got, "currentUser", "todos", "nodes", 0, "note", "url")
		want := `map[action:directly_addressed author:map[username:owner] body:@guest and @dev, *look* group:<nil> note:map[author:map[username:owner] body:@guest and @dev, *look* url:` + fmt.Sprint(url) +
			`] project:map[fullPath:team/app] state:pending target:map[reference:#1 webUrl:` + strings.Split(fmt.Sprint(url), "#")[0] + `] targetType:ISSUE]`
		if got := fmt.Sprint(at(got, "currentUser", "todos", "nodes", 0)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := fmt.Sprint(at(got, "currentUser", "todos", "nodes", 1)); !strings.Contains(got, "group:map[fullPath:team]") || !strings.Contains(got, "target:map[reference:&1") || !strings.Contains(got, "targetType:EPIC") {
			t.Errorf("about an epic: got %s", got)
		}
		ids := map[string]any{}
		for _, name := range []string{"guest", "dev"} {
			ids[name] = at(s.data(name, `{ currentUser { todos { nodes { id } } } }`, nil), "currentUser", "todos", "nodes", 0, "id")
		}

		// To-do items of others are not there, in whatever way they are asked for.
		s.want("dev", `query($id: TodoID!) { todo(id: $id) { id } }`, variables{"id": ids["guest"]}, `{"data":{"todo":null}}`)
		s.want("", `query($id: TodoID!) { todo(id: $id) { id } }`, variables{"id": ids["guest"]}, `{"data":{"todo":null}}`)
		s.want("dev", `{ user(username: "guest") { todos { count nodes { id } } } project(fullPath: "team/app") { issue(iid: "1") { currentUserTodos { count nodes { body } } } } }`, nil,
			`{"data":{"user":{"todos":{"count":0,"nodes":[]}},"project":{"issue":{"currentUserTodos":{"count":1,"nodes":[{"body":"@guest and @dev, *look*"}]}}}}}`)
		for args, want := range map[string]float64{
			`action: [assigned]`: 0, `action: [directly_addressed, mentioned]`: 2, `type: [EPIC]`: 1, `type: [EPIC, ISSUE]`: 2, `state: [done]`: 0, `state: [done, pending]`: 2,
			fmt.Sprintf(`authorId: ["gid://gitlab/User/%d"]`, s.ids["owner"]): 2, fmt.Sprintf(`authorId: ["gid://gitlab/User/%d"]`, s.ids["guest"]): 0,
			`projectId: ["gid://gitlab/Project/1"]`: 1, `projectId: ["gid://gitlab/Project/2"]`: 0, `type: [WORKITEM]`: 0,
		} {
			if got := at(s.data("dev", `{ currentUser { todos(`+args+`) { count } } }`, nil), "currentUser", "todos", "count"); got != want {
				t.Errorf("%s: got %v, want %v", args, got, want)
			}
		}

		const done, restore = `mutation($id: TodoID!) { todoMarkDone(input: {id: $id}) { errors todo { state } } }`, `mutation($id: TodoID!) { todoRestore(input: {id: $id}) { errors todo { state } } }`
		for _, query := range []string{done, restore} {
			field := strings.Split(strings.Split(query, "{ ")[1], "(")[0]
			for _, who := range []string{"guest", "stranger", ""} {
				if got := s.ask(who, query, variables{"id": ids["dev"]}); !strings.HasPrefix(got, refused(field)) {
					t.Errorf("%s: got %s", who, got)
				}
			}
		}
		s.want("dev", done, variables{"id": ids["dev"]}, `{"data":{"todoMarkDone":{"errors":[],"todo":{"state":"done"}}}}`)
		s.want("dev", restore, variables{"id": ids["dev"]}, `{"data":{"todoRestore":{"errors":[],"todo":{"state":"pending"}}}}`)
		s.want("dev", done, variables{"id": ids["dev"]}, `{"data":{"todoMarkDone":{"errors":[],"todo":{"state":"done"}}}}`)

		issue := at(s.data("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { id } } }`, nil), "project", "issue", "id")
		const create = `mutation($id: TodoableID!) { todoCreate(input: {targetId: $id}) { errors todo { id action state } } }`
		made := at(s.data("dev", create, variables{"id": issue}), "todoCreate", "todo")
		if at(made, "action") != "marked" || at(made, "state") != "pending" {
			t.Errorf("made %v", made)
		}
		if again := at(s.data("dev", create, variables{"id": issue}), "todoCreate", "todo", "id"); again != at(made, "id") {
			t.Errorf("added twice: got %v, want %v", again, at(made, "id"))
		}
		if got := s.ask("stranger", create, variables{"id": issue}); !strings.HasPrefix(got, refused("todoCreate")) {
			t.Errorf("a stranger: got %s", got)
		}
		s.want("dev", restore, variables{"id": ids["dev"]}, `{"data":{"todoRestore":{"errors":["Another to-do item about the same target is pending"],"todo":{"state":"done"}}}}`)
		const all = `mutation($id: TodoableID) { todosMarkAllDone(input: {targetId: $id}) { errors todos { action } } }`
		s.want("dev", all, variables{"id": issue}, `{"data":{"todosMarkAllDone":{"errors":[],"todos":[{"action":"marked"}]}}}`)
		s.want("dev", all, nil, `{"data":{"todosMarkAllDone":{"errors":[],"todos":[{"action":"mentioned"}]}}}`)
		if got := s.ask("stranger", all, variables{"id": issue}); !strings.HasPrefix(got, refused("todosMarkAllDone")) {
			t.Errorf("a stranger: got %s", got)
		}
		const many = `mutation($ids: [TodoID!]!) { todoRestoreMany(input: {ids: $ids}) { errors todos { state } } }`
		s.want("dev", many, variables{"ids": []any{ids["dev"]}}, `{"data":{"todoRestoreMany":{"errors":[],"todos":[{"state":"pending"}]}}}`)
		if got := s.ask("dev", many, variables{"ids": []any{ids["dev"], ids["guest"]}}); !strings.HasPrefix(got, refused("todoRestoreMany")) {
			t.Errorf("with one of another user: got %s", got)
		}
	})
}

// A commit whose comment mentions a user is what its to-do item is about.
func TestTodos_commits(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.user("owner")
		s.user("dev")
		p := s.rest("owner", "POST", "/projects", `{"name":"Code","initialize_with_readme":true}`)
		path := fmt.Sprintf("/projects/%v", p["id"])
		s.rest("owner", "POST", path+"/members", fmt.Sprintf(`{"user_id":%d,"access_level":30}`, s.ids["dev"]))
		s.rest("owner", "POST", path+"/repository/files/a", `{"branch":"main","content":"a","commit_message":"Add a"}`)
		sha := fmt.Sprint(at(s.data("owner", `{ project(fullPath: "owner/code") { repository { tree { lastCommit { sha } } } } }`, nil), "project", "repository", "tree", "lastCommit", "sha"))
		s.rest("owner", "POST", path+"/repository/commits/"+sha+"/comments", `{"note":"@dev, look"}`)
		s.want("dev", `{ currentUser { todos { nodes { targetType body target { ... on Commit { sha title } } } } } }`, nil,
			`{"data":{"currentUser":{"todos":{"nodes":[{"targetType":"COMMIT","body":"@dev, look","target":{"sha":"`+sha+`","title":"Add a"}}]}}}}`)
		s.rest("owner", "PUT", path, `{"repository_access_level":"disabled","builds_access_level":"disabled","merge_requests_access_level":"disabled"}`)
		s.want("dev", `{ currentUser { todos { nodes { targetType } } } }`, nil, `{"data":{"currentUser":{"todos":{"nodes":[]}}}}`)
	})
}

// Requests for access to projects and groups are to-do items about them.
func TestTodos_accessRequests(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.user("owner")
		s.user("stranger")
		group := s.rest("owner", "POST", "/groups", `{"name":"Open","path":"open","visibility":"public"}`)
		s.rest("owner", "POST", "/projects", fmt.Sprintf(`{"name":"Yard","visibility":"public","namespace_id":%v}`, group["id"]))
		s.rest("stranger", "POST", "/groups/open/access_requests", ``)
		s.rest("stranger", "POST", "/projects/open%2Fyard/access_requests", ``)
		const query = `query($types: [TodoTargetEnum!]) { currentUser { todos(action: [member_access_requested], state: [pending], type: $types) { count nodes { action targetType body author { username }
			project { fullPath } group { fullPath } target { webUrl ... on Project { fullPath } ... on Group { fullPath name } } } } } }`
		first := at(s.data("owner", query, variables{"types": []any{"PROJECT"}}), "currentUser", "todos")
		url := fmt.Sprint(at(first, "nodes", 0, "target", "webUrl"))
		want := `map[count:1 nodes:[map[action:member_access_requested author:map[username:stranger] body:open/yard group:map[fullPath:open] project:map[fullPath:open/yard] ` +
			`target:map[fullPath:open/yard webUrl:` + url + `] targetType:PROJECT]]]`
		if got := fmt.Sprint(first); got != want || !strings.HasSuffix(url, "/open/yard") {
			t.Errorf("project: got  %s\nwant %s", got, want)
		}
		second := at(s.data("owner", query, variables{"types": []any{"NAMESPACE"}}), "currentUser", "todos")
		want = `map[count:1 nodes:[map[action:member_access_requested author:map[username:stranger] body:open group:map[fullPath:open] project:<nil> ` +
			`target:map[fullPath:open name:Open webUrl:` + strings.TrimSuffix(url, "/open/yard") + `/groups/open] targetType:NAMESPACE]]]`
		if got := fmt.Sprint(second); got != want {
			t.Errorf("group: got  %s\nwant %s", got, want)
		}
		few := s.statements("owner", query, nil)
		for i := range 6 {
			in := fmt.Sprint("other", i)
			s.rest("owner", "POST", "/groups", fmt.Sprintf(`{"name":%q,"path":%q,"visibility":"public"}`, in, in))
			s.rest("owner", "POST", "/projects", fmt.Sprintf(`{"name":%q,"visibility":"public"}`, in))
			s.rest("stranger", "POST", "/groups/"+in+"/access_requests", ``)
			s.rest("stranger", "POST", "/projects/owner%2F"+in+"/access_requests", ``)
		}
		if got := at(s.data("owner", query, nil), "currentUser", "todos", "count"); got != 14.0 {
			t.Errorf("%v to-do items, want 14", got)
		}
		if many := s.statements("owner", query, nil); many > few {
			t.Errorf("%d statements for 14 to-do items, %d for two", many, few)
		}
		s.rest("owner", "DELETE", fmt.Sprint("/groups/open/access_requests/", s.ids["stranger"]), ``)
		if got := at(s.data("owner", query, variables{"types": []any{"NAMESPACE"}}), "currentUser", "todos", "count"); got != 6.0 {
			t.Errorf("%v to-do items once one was denied, want 6", got)
		}
	})
}

// Statements are the same for many to-do items and for a few.
func TestTodos_statements(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(0)
		add := func(n int) {
			s.rest("owner", "POST", "/groups/team/epics", fmt.Sprintf(`{"title":"Plan %d","description":"for @dev"}`, n))
			i := s.rest("owner", "POST", "/projects/team%2Fapp/issues", fmt.Sprintf(`{"title":"talk %d"}`, n))
			s.rest("owner", "POST", fmt.Sprintf("/projects/team%%2Fapp/issues/%v/notes", i["iid"]), `{"body":"@dev, look"}`)
		}
		add(0)
		const query = `{ currentUser { todos { count nodes { author { username } project { fullPath } group { fullPath } note { body } target { webUrl ... on Issue { title currentUserTodos { count nodes { id } } } } } } } }`
		few := s.statements("dev", query, nil)
		for n := range 8 {
			add(n)
		}
		if many := s.statements("dev", query, nil); many > few {
			t.Errorf("%d statements for 18 to-do items, %d for two", many, few)
		}
	})
}
