package graphql

import (
	"fmt"
	"testing"
)

func TestIterations(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.place()
		const create = `mutation($input: IterationCadenceCreateInput!) { iterationCadenceCreate(input: $input) { errors iterationCadence { id title active automatic durationInWeeks iterationsInAdvance startDate } } }`
		s.want("owner", create, variables{"input": variables{"groupPath": "team", "title": "", "active": true, "automatic": false}},
			`{"data":{"iterationCadenceCreate":{"errors":["Title can't be blank"],"iterationCadence":null}}}`)
		made := s.data("owner", create, variables{"input": variables{"groupPath": "team", "title": "By hand", "active": false, "automatic": false}})
		cadence := at(made, "iterationCadenceCreate", "iterationCadence", "id")
		if got, want := fmt.Sprint(at(made, "iterationCadenceCreate", "iterationCadence")), fmt.Sprintf("map[active:false automatic:false durationInWeeks:<nil> id:%s iterationsInAdvance:<nil> startDate:<nil> title:By hand]", cadence); got != want {
			t.Errorf("a cadence by hand: got %s, want %s", got, want)
		}
		regular := at(s.data("owner", create, variables{"input": variables{
			"groupPath": "team", "title": "Regular", "active": true, "automatic": true, "startDate": "2999-01-01", "durationInWeeks": 2, "iterationsInAdvance": 2,
		}}), "iterationCadenceCreate", "iterationCadence", "id")

		const add = `mutation($input: iterationCreateInput!) { iterationCreate(input: $input) { errors iteration { id iid sequence title state startDate dueDate webPath iterationCadence { title } } } }`
		in := func(title, start, due string) variables {
			return variables{"input": variables{"groupPath": "team", "iterationsCadenceId": cadence, "title": title, "startDate": start, "dueDate": due}}
		}
		one := at(s.data("owner", add, in("one", "2020-01-01", "2020-01-14")), "iterationCreate", "iteration")
		if got, want := fmt.Sprint(one), fmt.Sprintf("map[dueDate:2020-01-14 id:%s iid:3 iterationCadence:map[title:By hand] sequence:1 startDate:2020-01-01 state:closed title:one webPath:/groups/team/-/iterations/%s]",
			at(one, "id"), fmt.Sprint(at(one, "id"))[len("gid://gitlab/Iteration/"):]); got != want {
			t.Errorf("an iteration: got %s, want %s", got, want)
		}
		two := at(s.data("owner", add, in("two", "2020-01-15", "2020-01-28")), "iterationCreate", "iteration", "id")
		s.want("owner", add, in("three", "2020-01-20", "2020-02-01"),
			`{"data":{"iterationCreate":{"errors":["Dates cannot overlap with other existing Iterations within this iterations cadence"],"iteration":null}}}`)
		s.want("other", add, in("three", "2021-01-20", "2021-02-01"),
			`{"data":{"iterationCreate":null},"errors":[{"message":"The resource that you are attempting to access does not exist or you don't have permission to perform this action","locations":[{"line":1,"column":43}],"path":["iterationCreate"]}]}`)

		// A change of dates renumbers; those of an automatic cadence follow from it.
		const change = `mutation($input: UpdateIterationInput!) { updateIteration(input: $input) { errors iteration { title sequence startDate } } }`
		s.want("owner", change, variables{"input": variables{"groupPath": "team", "id": two, "title": "first", "startDate": "2019-01-01", "dueDate": "2019-01-14"}},
			`{"data":{"updateIteration":{"errors":[],"iteration":{"title":"first","sequence":1,"startDate":"2019-01-01"}}}}`)
		s.want("owner", change, variables{"input": variables{"groupPath": "team", "id": two, "dueDate": "2020-01-02"}},
			`{"data":{"updateIteration":{"errors":["Dates cannot overlap with other existing Iterations within this iterations cadence"],"iteration":null}}}`)

		titles := func(as, place, arguments string) string {
			list, _ := at(s.data(as, `{ place: `+place+` { iterations`+arguments+` { nodes { title sequence startDate } } } }`, nil), "place", "iterations", "nodes").([]any)
			got := ""
			for i := range list {
				got += fmt.Sprintf("%v%v ", at(list, i, "title"), at(list, i, "sequence"))
			}
			return got
		}
		const group, project = `group(fullPath: "team")`, `project(fullPath: "team/sub/app")`
		for _, c := range []struct{ place, arguments, want string }{
			{group, "", "first1 one2 <nil>1 <nil>2 "},
			{project, "", "first1 one2 <nil>1 <nil>2 "},
			{project, "(includeAncestors: false)", ""},
			{group, "(state: upcoming)", "<nil>1 <nil>2 "},
			{group, "(state: all, search: \"ONE\")", "one2 "},
			{group, "(search: \"regular\", in: [CADENCE_TITLE])", "<nil>1 <nil>2 "},
			{group, fmt.Sprintf("(iterationCadenceIds: [%q])", cadence), "first1 one2 "},
			{group, "(sort: CADENCE_AND_DUE_DATE_DESC)", "<nil>2 <nil>1 one2 first1 "},
			{group, "(timeframe: {start: \"2020-01-01\", end: \"2020-12-31\"})", "one2 "},
			{group, fmt.Sprintf("(id: %q)", two), "first1 "},
			{group, "(iid: \"3\")", "one2 "},
			{group, "(first: 1)", "first1 "},
		} {
			if got := titles("owner", c.place, c.arguments); got != c.want {
				t.Errorf("%s.iterations%s: got %q, want %q", c.place, c.arguments, got, c.want)
			}
		}

		// One more in advance, and then all of them away.
		s.want("owner", `mutation($id: IterationsCadenceID!) { iterationCadenceUpdate(input: {id: $id, iterationsInAdvance: 3, title: "Steady"}) { errors iterationCadence { title iterationsInAdvance } } }`, variables{"id": regular},
			`{"data":{"iterationCadenceUpdate":{"errors":[],"iterationCadence":{"title":"Steady","iterationsInAdvance":3}}}}`)
		if got, want := titles("owner", group, "(state: upcoming)"), "<nil>1 <nil>2 <nil>3 "; got != want {
			t.Errorf("after three in advance: got %q, want %q", got, want)
		}
		s.want("owner", `{ group(fullPath: "team") { iterationCadences(automatic: true) { nodes { title } } all: iterationCadences { nodes { title } } none: iterationCadences(title: "x") { nodes { title } } } }`, nil,
			`{"data":{"group":{"iterationCadences":{"nodes":[{"title":"Steady"}]},"all":{"nodes":[{"title":"By hand"},{"title":"Steady"}]},"none":{"nodes":[]}}}}`)
		const destroy = `mutation($id: IterationsCadenceID!) { iterationCadenceDestroy(input: {id: $id}) { errors group { fullPath } } }`
		s.want("other", destroy, variables{"id": regular},
			`{"data":{"iterationCadenceDestroy":null},"errors":[{"message":"The resource that you are attempting to access does not exist or you don't have permission to perform this action","locations":[{"line":1,"column":39}],"path":["iterationCadenceDestroy"]}]}`)
		s.want("owner", destroy, variables{"id": regular}, `{"data":{"iterationCadenceDestroy":{"errors":[],"group":{"fullPath":"team"}}}}`)
		s.want("owner", `mutation($id: IterationID!) { iterationDelete(input: {id: $id}) { errors group { fullPath } } }`, variables{"id": two}, `{"data":{"iterationDelete":{"errors":[],"group":{"fullPath":"team"}}}}`)
		if got, want := titles("owner", group, ""), "one1 "; got != want {
			t.Errorf("what is left: got %q, want %q", got, want)
		}

		// Several ids select what is in any of them, and leave out what is in any of them.
		third := at(s.data("owner", add, in("third", "2021-01-01", "2021-01-14")), "iterationCreate", "iteration", "id")
		for title, id := range map[string]any{"of one": at(one, "id"), "of third": third} {
			made := s.data("owner", `mutation($in: CreateIssueInput!) { createIssue(input: $in) { issue { iid } } }`, variables{"in": variables{"projectPath": "team/sub/app", "title": title}})
			s.data("owner", `mutation($in: IssueSetIterationInput!) { issueSetIteration(input: $in) { errors } }`, variables{"in": variables{"projectPath": "team/sub/app", "iid": at(made, "createIssue", "issue", "iid"), "iterationId": id}})
		}
		for _, c := range []struct{ arguments, want string }{
			{fmt.Sprintf("iterationId: [%q, %q]", at(one, "id"), third), "of one of third "},
			{fmt.Sprintf("iterationId: [%q]", at(one, "id")), "of one "},
			{fmt.Sprintf(`search: "of", not: {iterationId: [%q, %q]}`, at(one, "id"), third), ""},
			{fmt.Sprintf(`search: "of", not: {iterationId: [%q]}`, third), "of one "},
		} {
			list, _ := at(s.data("owner", `{ project(fullPath: "team/sub/app") { issues(`+c.arguments+`, sort: TITLE_ASC) { nodes { title } } } }`, nil), "project", "issues", "nodes").([]any)
			got := ""
			for i := range list {
				got += fmt.Sprint(at(list, i, "title"), " ")
			}
			if got != c.want {
				t.Errorf("issues(%s): got %q, want %q", c.arguments, got, c.want)
			}
		}
	})
}
