package graphql

import (
	"fmt"
	"testing"
)

func TestEpics(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		group, project := s.place()
		const create = `mutation($input: CreateEpicInput!) { createEpic(input: $input) { errors epic { iid title color textColor confidential state startDate startDateFixed startDateIsFixed dueDate
			labels { nodes { title } } author { username } group { fullPath } webPath reference full: reference(full: true) descriptionHtml titleHtml subscribed hasParent hasChildren hasIssues upvotes downvotes } } }`
		s.want("owner", create, variables{"input": variables{"groupPath": "team", "title": "Plan", "description": "*soon*", "startDateFixed": "2020-01-01", "startDateIsFixed": true, "dueDateFixed": "2020-02-01", "addLabels": []string{"big"}}},
			`{"data":{"createEpic":{"errors":[],"epic":{"iid":"1","title":"Plan","color":"#1068bf","textColor":"#FFFFFF","confidential":false,"state":"opened","startDate":"2020-01-01","startDateFixed":"2020-01-01","startDateIsFixed":true,"dueDate":null,`+
				`"labels":{"nodes":[{"title":"big"}]},"author":{"username":"owner"},"group":{"fullPath":"team"},"webPath":"/groups/team/-/epics/1","reference":"&1","full":"team&1","descriptionHtml":"<p dir=\"auto\"><em>soon</em></p>\n","titleHtml":"Plan",`+
				`"subscribed":true,"hasParent":false,"hasChildren":false,"hasIssues":false,"upvotes":0,"downvotes":0}}}}`)
		s.want("owner", `mutation { createEpic(input: {groupPath: "team", title: ""}) { errors epic { iid } } }`, nil, `{"data":{"createEpic":{"errors":["Title can't be blank"],"epic":null}}}`)
		s.want("other", `mutation { createEpic(input: {groupPath: "team", title: "x"}) { errors } }`, nil,
			`{"data":{"createEpic":null},"errors":[{"message":"The resource that you are attempting to access does not exist or you don't have permission to perform this action","locations":[{"line":1,"column":12}],"path":["createEpic"]}]}`)

		first := s.rest("owner", "GET", "/groups/team/epics/1", "")
		for i, title := range []string{"Alpha", "Beta"} {
			s.rest("owner", "POST", "/groups/team/epics", fmt.Sprintf(`{"title":%q,"parent_id":%v,"confidential":%t}`, title, first["id"], i == 1))
		}
		s.rest("owner", "POST", fmt.Sprintf("/projects/%d/issues", project), `{"title":"work"}`)
		s.want("owner", `mutation { epicAddIssue(input: {groupPath: "team", iid: "1", projectPath: "team/sub/app", issueIid: "1"}) { errors epic { iid hasIssues hasChildren } } }`, nil,
			`{"data":{"epicAddIssue":{"errors":[],"epic":{"iid":"1","hasIssues":true,"hasChildren":true}}}}`)
		s.want("owner", `mutation { epicAddIssue(input: {groupPath: "team", iid: "1", projectPath: "team/sub/app", issueIid: "9"}) { errors } }`, nil,
			`{"data":{"epicAddIssue":null},"errors":[{"message":"The resource that you are attempting to access does not exist or you don't have permission to perform this action","locations":[{"line":1,"column":12}],"path":["epicAddIssue"]}]}`)
		s.want("owner", `mutation { updateEpic(input: {groupPath: "team", iid: "1", title: "Plan B", stateEvent: CLOSE, removeLabels: ["big"], addLabels: ["small"]}) { errors epic { title state labels { nodes { title } } } } }`, nil,
			`{"data":{"updateEpic":{"errors":[],"epic":{"title":"Plan B","state":"closed","labels":{"nodes":[{"title":"small"}]}}}}}`)
		events := func(as, more string) any {
			t.Helper()
			return at(s.data(as, `{ group(fullPath: "team") { epic(iid: "1") { events`+more+` } } }`, nil), "group", "epic", "events", "nodes")
		}
		if got := fmt.Sprint(events("owner", ` { nodes { action author { username } } }`)); got != "[map[action:CLOSED author:map[username:owner]] map[action:CREATED author:map[username:owner]]]" {
			t.Errorf("events: got %s", got)
		}
		if got := fmt.Sprint(events("owner", `(last: 1) { nodes { action } }`)); got != "[map[action:CREATED]]" {
			t.Errorf("the first event: got %s", got)
		}
		for _, want := range []string{"false", "false", "true"} {
			s.want("owner", `mutation { epicSetSubscription(input: {groupPath: "team", iid: "1", subscribedState: `+want+`}) { errors epic { subscribed } } }`, nil,
				`{"data":{"epicSetSubscription":{"errors":[],"epic":{"subscribed":`+want+`}}}}`)
		}

		// A reader of the group sees nothing of the confidential child: not in lists, counts or looks by number.
		s.rest("root", "POST", fmt.Sprintf("/groups/%d/members", group), fmt.Sprintf(`{"user_id":%d,"access_level":10}`, s.ids["other"]))
		const query = `{ group(fullPath: "team") { epics { nodes { title parent { title } } } epic(iid: "3") { title } children: epic(iid: "1") { children { nodes { title } } } } }`
		s.want("owner", query, nil, `{"data":{"group":{"epics":{"nodes":[{"title":"Beta","parent":{"title":"Plan B"}},{"title":"Alpha","parent":{"title":"Plan B"}},{"title":"Plan B","parent":null}]},`+
			`"epic":{"title":"Beta"},"children":{"children":{"nodes":[{"title":"Beta"},{"title":"Alpha"}]}}}}}`)
		s.want("other", query, nil, `{"data":{"group":{"epics":{"nodes":[{"title":"Alpha","parent":{"title":"Plan B"}},{"title":"Plan B","parent":null}]},"epic":null,"children":{"children":{"nodes":[{"title":"Alpha"}]}}}}}`)
		for arguments, want := range map[string]string{
			`(state: closed)`:                    "Plan B ",
			`(topLevelHierarchyOnly: true)`:      "Plan B ",
			`(sort: TITLE_ASC)`:                  "Alpha Beta Plan B ",
			`(labelName: ["small"])`:             "Plan B ",
			`(not: {labelName: ["small"]})`:      "Beta Alpha ",
			`(confidential: true)`:               "Beta ",
			`(search: "ALPH")`:                   "Alpha ",
			`(authorUsername: "other")`:          "",
			`(iids: ["1", "2"])`:                 "Alpha Plan B ",
			`(first: 1)`:                         "Beta ",
			`(last: 1)`:                          "Plan B ",
			`(createdAfter: "2999-01-01")`:       "",
			`(includeDescendantGroups: false)`:   "Beta Alpha Plan B ",
			`(updatedBefore: "2999-01-01")`:      "Beta Alpha Plan B ",
			`(myReactionEmoji: "tea")`:           "",
			`(sort: CREATED_AT_ASC, state: all)`: "Plan B Alpha Beta ",
		} {
			list, _ := at(s.data("owner", `{ group(fullPath: "team") { epics`+arguments+` { nodes { title } } } }`, nil), "group", "epics", "nodes").([]any)
			got := ""
			for i := range list {
				got += fmt.Sprint(at(list, i, "title"), " ")
			}
			if got != want {
				t.Errorf("epics%s: got %q, want %q", arguments, got, want)
			}
		}

		const wide = `{ group(fullPath: "team") { epics { nodes { id title descriptionHtml author { username } labels { nodes { title } } hasIssues upvotes subscribed parent { id } group { id } dueDate } } } }`
		few := s.statements("owner", wide, nil)
		for i := range 12 {
			s.rest("owner", "POST", "/groups/team/epics", fmt.Sprintf(`{"title":"e %d","description":"x","parent_id":%v}`, i, first["id"]))
		}
		if many := s.statements("owner", wide, nil); many != few {
			t.Errorf("%d statements for 15 epics, %d for three", many, few)
		}
	})
}
