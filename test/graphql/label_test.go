package graphql

import (
	"fmt"
	"testing"
)

// place makes a group with a subgroup and a project in it, all private; owner is a maintainer of the
// group, and other is no member.
func (s *server) place() (group, project int64) {
	s.t.Helper()
	group = id(s.rest("root", "POST", "/groups", `{"name":"Team","path":"team"}`))
	sub := id(s.rest("root", "POST", "/groups", fmt.Sprintf(`{"name":"Sub","path":"sub","parent_id":%d}`, group)))
	project = id(s.rest("root", "POST", "/projects", fmt.Sprintf(`{"name":"App","path":"app","namespace_id":%d}`, sub)))
	s.user("owner")
	s.user("other")
	s.rest("root", "POST", fmt.Sprintf("/groups/%d/members", group), fmt.Sprintf(`{"user_id":%d,"access_level":50}`, s.ids["owner"]))
	return group, project
}

const inApp = `{ project(fullPath: "team/sub/app") { `

func TestLabels(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		group, _ := s.place()
		const create = `mutation($input: LabelCreateInput!) { labelCreate(input: $input) { clientMutationId errors label { title color textColor description descriptionHtml archived } } }`
		s.want("owner", create, variables{"input": variables{"clientMutationId": "a", "projectPath": "team/sub/app", "title": "bug", "color": "red", "description": "a <b>"}},
			`{"data":{"labelCreate":{"clientMutationId":"a","errors":[],"label":{"title":"bug","color":"#FF0000","textColor":"#FFFFFF","description":"a <b>","descriptionHtml":"a &lt;b&gt;","archived":false}}}}`)
		s.want("owner", create, variables{"input": variables{"groupPath": "team", "title": "plan"}},
			`{"data":{"labelCreate":{"clientMutationId":null,"errors":[],"label":{"title":"plan","color":"#6699cc","textColor":"#FFFFFF","description":null,"descriptionHtml":null,"archived":false}}}}`)
		s.rest("owner", "POST", "/groups/team%2Fsub/labels", `{"name":"near","color":"#112233"}`)

		// What is wrong with a label is in the payload, what is wrong with the request at the top.
		for _, c := range []struct {
			as    string
			input variables
			want  string
		}{
			{"owner", variables{"projectPath": "team/sub/app", "title": "bug"}, `{"data":{"labelCreate":{"clientMutationId":null,"errors":["Title has already been taken"],"label":null}}}`},
			{"owner", variables{"projectPath": "team/sub/app", "title": " "}, `{"data":{"labelCreate":{"clientMutationId":null,"errors":["Title can't be blank"],"label":null}}}`},
			{"owner", variables{"title": "x"}, `{"data":{"labelCreate":null},"errors":[{"message":"Exactly one of group_path or project_path arguments is required","locations":[{"line":1,"column":39}],"path":["labelCreate"]}]}`},
			{"other", variables{"projectPath": "team/sub/app", "title": "x"}, `{"data":{"labelCreate":null},"errors":[{"message":"The resource that you are attempting to access does not exist or you don't have permission to perform this action","locations":[{"line":1,"column":39}],"path":["labelCreate"]}]}`},
		} {
			s.want(c.as, create, variables{"input": c.input}, c.want)
		}

		s.want("owner", inApp+`label(title: "plan") { title } labels { count nodes { title } } all: labels(includeAncestorGroups: true) { count nodes { title } }
			found: labels(searchTerm: "<B>") { nodes { title } } } }`, nil,
			`{"data":{"project":{"label":{"title":"plan"},"labels":{"count":2,"nodes":[{"title":"bug"},{"title":"near"}]},`+
				`"all":{"count":3,"nodes":[{"title":"bug"},{"title":"near"},{"title":"plan"}]},"found":{"nodes":[{"title":"bug"}]}}}}`)
		s.want("owner", `{ group(fullPath: "team") { own: labels(onlyGroupLabels: true) { nodes { title } }
			below: labels(includeDescendantGroups: true) { nodes { title } } label(title: "bug") { title } } }`, nil,
			`{"data":{"group":{"own":{"nodes":[{"title":"plan"}]},"below":{"nodes":[{"title":"bug"},{"title":"near"},{"title":"plan"}]},"label":null}}}`)
		s.want("other", inApp+`labels { count } } }`, nil, `{"data":{"project":null}}`)

		list := s.data("owner", inApp+`labels(first: 1, includeAncestorGroups: true) { edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage endCursor } } } }`, nil)
		if got, want := fmt.Sprint(at(list, "project", "labels", "pageInfo", "hasNextPage"), at(list, "project", "labels", "pageInfo", "hasPreviousPage")), "true false"; got != want {
			t.Errorf("the first page has a next and a previous one: got %s, want %s", got, want)
		}
		cursor := at(list, "project", "labels", "pageInfo", "endCursor")
		rest := s.data("owner", `query($after: String) `+inApp+`labels(includeAncestorGroups: true, after: $after) { nodes { id title } } } }`, variables{"after": cursor})
		if got, want := fmt.Sprint(at(rest, "project", "labels", "nodes", 0, "title"), " ", at(rest, "project", "labels", "nodes", 1, "title")), "near plan"; got != want {
			t.Errorf("after the first page: got %s, want %s", got, want)
		}
		for path, want := range map[any]string{at(list, "project", "labels", "edges", 0, "node", "id"): "gid://gitlab/ProjectLabel/", at(rest, "project", "labels", "nodes", 1, "id"): "gid://gitlab/GroupLabel/"} {
			if got := fmt.Sprint(path); len(got) <= len(want) || got[:len(want)] != want {
				t.Errorf("id of a label: got %s, want %s…", got, want)
			}
		}

		const query = `{ group(fullPath: "team") { labels(onlyGroupLabels: true) { count nodes { id title textColor } } } }`
		few := s.statements("owner", query, nil)
		for i := range 20 {
			s.rest("owner", "POST", fmt.Sprintf("/groups/%d/labels", group), fmt.Sprintf(`{"name":"label %02d","color":"#112233"}`, i))
		}
		if many := s.statements("owner", query, nil); many != few {
			t.Errorf("%d statements for 21 labels, %d for one", many, few)
		}

		// Lists of many projects take the statements of one.
		const lists = `{ projects { nodes { labels(first: 2) { count nodes { title } } milestones { nodes { title } } iterations { nodes { id } } } } }`
		few = s.statements("owner", lists, nil)
		for i := range 5 {
			s.rest("root", "POST", "/projects", fmt.Sprintf(`{"name":"p %d","path":"p%d","namespace_id":%d}`, i, i, group))
		}
		if many := s.statements("owner", lists, nil); many != few {
			t.Errorf("%d statements for the lists of 6 projects, %d for those of one", many, few)
		}
	})
}

// TestLabels_byID adds labels by their ids: those of other projects are not taken over, and no label
// is made of a number.
func TestLabels_byID(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		s.rest("owner", "POST", "/projects/team%2Flib/labels", `{"name":"other","color":"#00ff00"}`)
		var ids []string
		for _, path := range []string{"app", "lib"} {
			for _, l := range s.list("owner", "/projects/team%2F"+path+"/labels") {
				ids = append(ids, fmt.Sprintf("gid://gitlab/Label/%d", id(l)))
			}
		}
		item := fmt.Sprintf("gid://gitlab/WorkItem/%d", id(s.rest("dev", "GET", "/projects/team%2Fapp/issues/1", "")))
		s.rest("dev", "PUT", "/projects/team%2Fapp/issues/1", `{"labels":""}`)
		s.want("dev", `mutation($l: [ID!]) { updateIssue(input: {projectPath: "team/app", iid: "1", addLabelIds: $l}) { errors issue { labels { nodes { title } } } } }`, variables{"l": ids},
			`{"data":{"updateIssue":{"errors":[],"issue":{"labels":{"nodes":[{"title":"bug"}]}}}}}`)
		s.rest("dev", "PUT", "/projects/team%2Fapp/issues/1", `{"labels":""}`)
		s.data("dev", `mutation($i: WorkItemID!, $l: [LabelID!]) { workItemUpdate(input: {id: $i, labelsWidget: {addLabelIds: $l}}) { errors } }`, variables{"i": item, "l": ids})
		s.want("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { labels { nodes { title } } } labels(includeAncestorGroups: true) { nodes { title } } } }`, nil,
			`{"data":{"project":{"issue":{"labels":{"nodes":[{"title":"bug"}]}},"labels":{"nodes":[{"title":"bug"}]}}}}`)
	})
}
