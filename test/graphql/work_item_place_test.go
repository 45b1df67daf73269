package graphql

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestWorkItems_places(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		group, project := s.plan()
		s.rest("root", "POST", fmt.Sprintf("/groups/%d/members", group), fmt.Sprintf(`{"user_id":%d,"access_level":10}`, s.ids["other"]))
		list := func(as, path, arguments string) string {
			t.Helper()
			return titles(at(s.data(as, `{ namespace(fullPath: "`+path+`") { workItems`+arguments+` { nodes { title } } } }`, nil), "namespace", "workItems", "nodes"))
		}
		for _, tt := range []struct{ path, arguments, want, other string }{
			{"team/sub/app", ``, "Work :tea: Secret", "Work :tea:"},
			{"team/sub/app", `(includeAncestors: true)`, "Plan Part Work :tea: Secret", "Plan Part Work :tea:"},
			{"team/sub/app", `(includeDescendants: true)`, "Work :tea: Secret", "Work :tea:"},
			{"team", ``, "Plan Part", "Plan Part"},
			{"team/sub", ``, "", ""},
			{"team", `(includeDescendants: true)`, "Plan Part Work :tea: Secret", "Plan Part Work :tea:"},
			{"team", `(includeDescendants: true, types: [ISSUE, TASK])`, "Work :tea: Secret", "Work :tea:"},
			{"team", `(includeDescendants: true, types: [EPIC, TASK])`, "Plan Part Secret", "Plan Part"},
			{"team", `(includeDescendants: true, sort: TITLE_DESC)`, "Work :tea: Secret Plan Part", "Work :tea: Plan Part"},
			{"team", `(includeDescendants: true, sort: TITLE_ASC, first: 2)`, "Part Plan", "Part Plan"},
			{"team", `(includeDescendants: true, sort: TITLE_ASC, last: 1)`, "Work :tea:", "Work :tea:"},
			{"team", `(includeDescendants: true, parentIds: ["gid://gitlab/Epic/1"])`, "Part Work :tea: Secret", "Part Work :tea:"},
			{"team", `(includeDescendants: true, parentIds: ["gid://gitlab/WorkItem/1"])`, "", ""},
			{"team", `(includeDescendants: true, ids: ["gid://gitlab/Epic/2", "gid://gitlab/WorkItem/2"])`, "Part Secret", "Part"},
			{"team", `(includeDescendants: true, labelName: ["big"])`, "Plan", "Plan"},
			{"team", `(includeDescendants: true, weight: "3")`, "Work :tea:", "Work :tea:"},
			{"team", `(includeDescendants: true, assigneeUsernames: ["owner"])`, "Work :tea:", "Work :tea:"},
			{"team", `(includeDescendants: true, assigneeWildcardId: NONE)`, "Plan Part Secret", "Plan Part"},
			{"team", `(includeDescendants: true, healthStatusFilter: atRisk)`, "Work :tea:", "Work :tea:"},
			{"team", `(includeDescendants: true, confidential: true)`, "Secret", ""},
			{"team", `(includeDescendants: true, search: "SOON", in: [DESCRIPTION])`, "Plan", "Plan"},
			{"team", `(includeDescendants: true, search: "SOON", in: [TITLE])`, "", ""},
			{"team", `(includeDescendants: true, state: closed)`, "", ""},
			{"team", `(includeDescendants: true, createdAfter: "2999-01-01")`, "", ""},
			{"team", `(includeDescendants: true, iids: ["1"])`, "Plan Work :tea:", "Plan Work :tea:"},
			{"team", `(includeDescendants: true, authorUsername: "other")`, "", ""},
		} {
			if got := list("owner", tt.path, tt.arguments); got != tt.want {
				t.Errorf("%s%s: got %q, want %q", tt.path, tt.arguments, got, tt.want)
			}
			if got := list("other", tt.path, tt.arguments); got != tt.other {
				t.Errorf("%s%s: a guest gets %q, want %q", tt.path, tt.arguments, got, tt.other)
			}
		}
		s.want("", `{ namespace(fullPath: "team") { workItems { nodes { id } } } }`, nil, `{"data":{"namespace":null}}`)

		// A list of both is read page by page.
		got, after := "", ""
		for range 4 {
			data := at(s.data("owner", `{ namespace(fullPath: "team") { workItems(includeDescendants: true, sort: CREATED_DESC, first: 1, after: "`+after+`") { nodes { title } pageInfo { endCursor } } } }`, nil), "namespace", "workItems")
			got += titles(at(data, "nodes")) + ","
			after, _ = at(data, "pageInfo", "endCursor").(string)
		}
		if want := "Secret,Work :tea:,Part,Plan,"; got != want {
			t.Errorf("page by page: got %q, want %q", got, want)
		}
		s.want("owner", `{ p: namespace(fullPath: "team/sub/app") { workItem(iid: "2") { title namespace { fullPath } } types: workItemTypes { nodes { name } } } g: namespace(fullPath: "team") { workItem(iid: "2") { title namespace { fullPath } } types: workItemTypes(name: EPIC, onlyAvailable: true) { nodes { name } } } }`, nil,
			`{"data":{"p":{"workItem":{"title":"Secret","namespace":{"fullPath":"team/sub/app"}},"types":{"nodes":[{"name":"Incident"},{"name":"Issue"},{"name":"Task"},{"name":"Test Case"}]}},`+
				`"g":{"workItem":{"title":"Part","namespace":{"fullPath":"team"}},"types":{"nodes":[{"name":"Epic"}]}}}}`)

		// Types are available where the caller may create work items of them.
		for _, c := range []struct{ issues, want string }{{"disabled", `[]`}, {"enabled", `[{"name":"Task"}]`}} {
			s.rest("root", "PUT", "/projects/team%2Fsub%2Fapp", fmt.Sprintf(`{"issues_access_level":%q}`, c.issues))
			s.want("owner", `{ namespace(fullPath: "team/sub/app") { all: workItemTypes(name: TASK) { nodes { name } } some: workItemTypes(name: TASK, onlyAvailable: true) { nodes { name } } } }`, nil,
				`{"data":{"namespace":{"all":{"nodes":[{"name":"Task"}]},"some":{"nodes":`+c.want+`}}}}`)
		}

		// What the Go client sends is answered with a number of statements that does not depend on the list.
		raw, err := os.ReadFile("../../internal/transport/graphql/testdata/documents/work_items.graphql")
		if err != nil {
			t.Fatal(err)
		}
		document, _, _ := strings.Cut(string(raw), "mutation Create")
		parts := strings.Split(document, "\nquery ")
		one, many := parts[0]+"\nquery "+parts[1], parts[0]+"\nquery "+parts[2]
		if got := at(s.data("owner", one, variables{"fullPath": "team/sub/app", "iid": "1"}), "namespace", "workItem", "title"); got != "Work :tea:" {
			t.Errorf("the client's query of one: got %v", got)
		}
		v := variables{"fullPath": "team", "includeDescendants": true, "first": 20}
		if got := titles(at(s.data("owner", many, v), "namespace", "workItems", "nodes")); got != "Plan Part Work :tea: Secret" {
			t.Errorf("the client's query of many: got %v", got)
		}
		more := func(n int) {
			for i := range n {
				s.rest("owner", "POST", fmt.Sprintf("/projects/%d/issues", project), fmt.Sprintf(`{"title":"w %d","description":"x","epic_id":2,"assignee_ids":[%d]}`, i, s.ids["owner"]))
				s.rest("owner", "POST", "/groups/team/epics", fmt.Sprintf(`{"title":"e %d","parent_id":1}`, i))
			}
		}
		more(1)
		few := s.statements("owner", many, v)
		more(7)
		// Reads of different fields may share a statement or not; their number does not grow with the rows.
		if got := s.statements("owner", many, v); got > few+3 {
			t.Errorf("%d statements for 20 work items, %d for six", got, few)
		}
	})
}
