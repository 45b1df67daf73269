package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// team makes a private group with two projects, members of all roles and a label; the second
// project has one issue, the first as many as said.
func (s *server) team(issues int) {
	s.t.Helper()
	group := id(s.rest("root", "POST", "/groups", `{"name":"team","path":"team","visibility":"private"}`))
	for i, name := range []string{"guest", "dev", "owner"} { // users are listed by their ids
		s.user(name)
		s.rest("root", "POST", fmt.Sprintf("/groups/%d/members", group), fmt.Sprintf(`{"user_id":%d,"access_level":%d}`, s.ids[name], []int{10, 30, 50}[i]))
	}
	s.user("stranger")
	for _, name := range []string{"app", "lib"} {
		s.rest("root", "POST", "/projects", fmt.Sprintf(`{"name":%q,"namespace_id":%d,"visibility":"private"}`, name, group))
	}
	s.rest("owner", "POST", "/groups/team/labels", `{"name":"bug","color":"#ff0000"}`)
	for i := range issues {
		s.rest("dev", "POST", "/projects/team%2Fapp/issues", fmt.Sprintf(`{"title":"issue %d","labels":"bug","assignee_ids":[%d]}`, i+1, s.ids["dev"]))
	}
	s.rest("dev", "POST", "/projects/team%2Flib/issues", `{"title":"of the library","description":"- [x] one\n- [ ] two, see team/app#1"}`)
}

// TestIssues reads issues in the ways of clients.
func TestIssues(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(3)
		s.rest("owner", "POST", "/projects/team%2Fapp/issues", `{"title":"hidden","confidential":true,"weight":5}`)
		s.rest("dev", "PUT", "/projects/team%2Fapp/issues/2", `{"state_event":"close"}`)
		const list = `query($p: ID!, $state: IssuableState) { project(fullPath: $p) { issues(state: $state, sort: CREATED_ASC) { count nodes { iid title } } } }`
		s.want("owner", list, variables{"p": "team/app"}, `{"data":{"project":{"issues":{"count":4,"nodes":[{"iid":"1","title":"issue 1"},{"iid":"2","title":"issue 2"},{"iid":"3","title":"issue 3"},{"iid":"4","title":"hidden"}]}}}}`)
		s.want("guest", list, variables{"p": "TEAM/app", "state": "opened"}, `{"data":{"project":{"issues":{"count":2,"nodes":[{"iid":"1","title":"issue 1"},{"iid":"3","title":"issue 3"}]}}}}`)
		s.want("stranger", list, variables{"p": "team/app"}, `{"data":{"project":null}}`)
		s.want("", list, variables{"p": "team/app"}, `{"data":{"project":null}}`)
		s.want("guest", `{ project(fullPath: "team/app") { issue(iid: "4") { title } other: issue(iid: "1") { state reference(full: true) assignees { nodes { username } } labels { nodes { title } } } } }`, nil,
			`{"data":{"project":{"issue":null,"other":{"state":"opened","reference":"team/app#1","assignees":{"nodes":[{"username":"dev"}]},"labels":{"nodes":[{"title":"bug"}]}}}}}`)
		got := s.ask("dev", `{ project(fullPath: "team/lib") { issue(iid: "1") { descriptionHtml taskCompletionStatus { count completedCount } author { username name } type severity confidential userNotesCount webPath } } }`, nil)
		for _, want := range []string{`"taskCompletionStatus":{"count":2,"completedCount":1}`, `team/app/-/issues/1`, `"author":{"username":"dev","name":"dev"},"type":"ISSUE","severity":"UNKNOWN","confidential":false,"userNotesCount":0,"webPath":"/team/lib/-/issues/1"`} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s\nwant %s in it", got, want)
			}
		}
		for _, c := range []struct{ args, want string }{
			{`labelName: ["bug"], not: {assigneeUsernames: ["dev"]}`, ``},
			{`assigneeWildcardId: NONE`, `4`},
			{`assigneeUsernames: ["dev"], state: closed`, `2`},
			{`search: "issue", in: [TITLE], sort: TITLE_DESC`, `3 2 1`},
			{`iids: ["1", "3"]`, `3 1`},
			{`weight: "5"`, `4`},
			{`authorUsername: "owner"`, `4`},
			{`not: {types: [ISSUE]}`, ``},
			{`confidential: true`, `4`},
		} {
			var iids []string
			for _, n := range at(s.data("owner", `{ project(fullPath: "team/app") { issues(`+c.args+`) { nodes { iid } } } }`, nil), "project", "issues", "nodes").([]any) {
				iids = append(iids, at(n, "iid").(string))
			}
			if got := strings.Join(iids, " "); got != c.want {
				t.Errorf("%s: got %q, want %q", c.args, got, c.want)
			}
		}
		for query, message := range map[string]string{
			`{ issues { nodes { iid } } }`:                                                                             "You must provide at least one filter argument for this query",
			`{ project(fullPath: "team/app") { issues(state: locked) { count } } }`:                                    "locked is not a valid state filter for issues.",
			`{ project(fullPath: "team/app") { issues(in: [TITLE]) { count } } }`:                                      "`search` should be present when including the `in` argument",
			`{ project(fullPath: "team/app") { issues(first: 1, last: 1) { count } } }`:                                "Can only provide either `first` or `last`, not both",
			`{ project(fullPath: "team/app") { issues(after: "x") { count } } }`:                                       "Please provide a valid cursor",
			`{ project(fullPath: "team/app") { issues(milestoneTitle: ["x"], milestoneWildcardId: NONE) { count } } }`: "Only one of [milestoneTitle, milestoneWildcardId] arguments is allowed at the same time.",
		} {
			if got := s.ask("dev", query, nil); !strings.Contains(got, `"message":`+fmt.Sprintf("%q", message)) {
				t.Errorf("%s: got %s, want %s", query, got, message)
			}
		}
	})
}

// TestIssues_pages reads a list page by page, to both ends, in orders with and without cursors.
func TestIssues_pages(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(7)
		const query = `query($first: Int, $last: Int, $after: String, $before: String, $sort: IssueSort) { project(fullPath: "team/app") {
			issues(first: $first, last: $last, after: $after, before: $before, sort: $sort) { nodes { iid } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
		read := func(v variables) (iids string, page any) {
			page = at(s.data("dev", query, v), "project", "issues")
			for _, n := range at(page, "nodes").([]any) {
				iids += at(n, "iid").(string)
			}
			return iids, page
		}
		for _, sort := range []string{"CREATED_ASC", "POPULARITY_DESC", "PRIORITY_ASC"} {
			all, _ := read(variables{"sort": sort})
			if len(all) != 7 {
				t.Fatalf("%s: got %s", sort, all)
			}
			var forward, backward string
			v := variables{"sort": sort, "first": 3}
			for {
				iids, page := read(v)
				forward += iids
				if at(page, "pageInfo", "hasPreviousPage") != (v["after"] != nil) {
					t.Errorf("%s after %v: hasPreviousPage is %v", sort, v["after"], at(page, "pageInfo", "hasPreviousPage"))
				}
				if at(page, "pageInfo", "hasNextPage") == false {
					break
				}
				v["after"] = at(page, "pageInfo", "endCursor")
			}
			v = variables{"sort": sort, "last": 3}
			for {
				iids, page := read(v)
				backward = iids + backward
				if at(page, "pageInfo", "hasPreviousPage") == false {
					break
				}
				v["before"] = at(page, "pageInfo", "startCursor")
			}
			if forward != all || backward != all {
				t.Errorf("%s: forward %s, backward %s, want %s", sort, forward, backward, all)
			}
			_, page := read(variables{"sort": sort})
			cursor := func(i int) any { return at(page, "edges", i, "cursor") }
			if got, _ := read(variables{"sort": sort, "after": cursor(1), "before": cursor(5)}); got != all[2:5] {
				t.Errorf("%s: between two cursors: got %s, want %s", sort, got, all[2:5])
			}
			if got, _ := read(variables{"sort": sort, "after": cursor(1), "last": 2}); got != all[5:] {
				t.Errorf("%s: the last after a cursor: got %s, want %s", sort, got, all[5:])
			}
			if got, _ := read(variables{"sort": sort, "first": 0}); got != "" {
				t.Errorf("%s: no rows: got %s", sort, got)
			}
		}
	})
}

// Statements are the same for many rows and for one, also where lists stand in lists.
func TestIssues_statements(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(2) // the labels of a single one take a statement less
		const query = `{ projects(membership: true, sort: "id_asc") { count nodes { fullPath issues(sort: CREATED_ASC) { count nodes { iid titleHtml author { username bio } assignees { nodes { username } } } } } } }`
		before := s.statements("dev", query, nil)
		for i := range 20 {
			s.rest("dev", "POST", "/projects/team%2Fapp/issues", fmt.Sprintf(`{"title":"more %d","labels":"bug,l%d","assignee_ids":[%d]}`, i, i, s.ids["owner"]))
		}
		for i := range 5 {
			p := id(s.rest("dev", "POST", "/projects", fmt.Sprintf(`{"name":"own %d"}`, i)))
			s.rest("dev", "POST", fmt.Sprintf("/projects/%d/issues", p), `{"title":"mine"}`)
		}
		if after := s.statements("dev", query, nil); after > before {
			t.Errorf("%d statements for many, %d for few", after, before)
		}
		if n := len(at(s.data("dev", query, nil), "projects", "nodes").([]any)); n != 7 {
			t.Errorf("%d projects, want 7", n)
		}
	})
}
