package graphql

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/config"
)

// refused is the answer of a mutation that the caller may not do.
func refused(field string) string {
	return `{"data":{"` + field + `":null},"errors":[{"message":"The resource that you are attempting to access does not exist or you don't have permission to perform this action"`
}

// TestIssueMutations makes an issue, changes it in all ways and looks at it through REST.
func TestIssueMutations(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(2)
		bug := id(s.rest("owner", "POST", "/groups/team/labels", `{"name":"big","color":"#00ff00"}`))
		milestone := id(s.rest("owner", "POST", "/groups/team/milestones", `{"title":"one"}`))
		epic := id(s.rest("owner", "POST", "/groups/team/epics", `{"title":"Plan"}`))
		const create = `mutation($input: CreateIssueInput!) { createIssue(input: $input) { errors issue { iid title description confidential weight type dueDate discussionLocked
			labels { nodes { title } } milestone { title } assignees { nodes { username } } epic { title } healthStatus author { username } } } }`
		s.want("dev", create, variables{"input": variables{
			"projectPath": "team/app", "title": " New ", "description": "text\n/estimate 1h", "confidential": true, "weight": 3, "type": "INCIDENT", "dueDate": "2030-01-02", "locked": true,
			"labelIds": []string{fmt.Sprintf("gid://gitlab/GroupLabel/%d", bug)}, "milestoneId": fmt.Sprintf("gid://gitlab/Milestone/%d", milestone), "epicId": fmt.Sprintf("gid://gitlab/Epic/%d", epic),
			"assigneeIds": []string{fmt.Sprintf("gid://gitlab/User/%d", s.ids["owner"])}, "healthStatus": "atRisk",
		}}, `{"data":{"createIssue":{"errors":[],"issue":{"iid":"3","title":"New","description":"text","confidential":true,"weight":3,"type":"INCIDENT","dueDate":"2030-01-02T00:00:00Z","discussionLocked":true,`+
			`"labels":{"nodes":[{"title":"big"}]},"milestone":{"title":"one"},"assignees":{"nodes":[{"username":"owner"}]},"epic":{"title":"Plan"},"healthStatus":"atRisk","author":{"username":"dev"}}}}}`)
		s.want("dev", create, variables{"input": variables{"projectPath": "team/app", "title": ""}}, `{"data":{"createIssue":{"errors":["Title can't be blank"],"issue":null}}}`)
		for who, in := range map[string]variables{
			"stranger": {"projectPath": "team/app", "title": "x"},
			"dev":      {"projectPath": "team/app", "title": "x", "moveBeforeId": "gid://gitlab/Issue/999999"},
		} {
			if got := s.ask(who, create, variables{"input": in}); !strings.HasPrefix(got, refused("createIssue")) {
				t.Errorf("%s: got %s", who, got)
			}
		}
		if got := s.ask("dev", create, variables{"input": variables{"projectPath": "team/app", "title": "x", "labels": []string{"a"}, "labelIds": []string{}}}); !strings.Contains(got, "Only one of [labelIds, labels] arguments is allowed at the same time.") {
			t.Errorf("labels in two ways: got %s", got)
		}

		// What is left out of a change stays; null takes away.
		const update = `mutation($input: UpdateIssueInput!) { updateIssue(input: $input) { errors issue { title weight dueDate milestone { title } epic { title } state labels { nodes { title } } humanTimeEstimate healthStatus } } }`
		s.want("dev", update, variables{"input": variables{"projectPath": "team/app", "iid": "3", "title": "Newer", "stateEvent": "CLOSE", "removeLabelIds": []string{fmt.Sprintf("gid://gitlab/GroupLabel/%d", bug)}}},
			`{"data":{"updateIssue":{"errors":[],"issue":{"title":"Newer","weight":3,"dueDate":"2030-01-02T00:00:00Z","milestone":{"title":"one"},"epic":{"title":"Plan"},"state":"closed","labels":{"nodes":[]},"humanTimeEstimate":"1h","healthStatus":"atRisk"}}}}`)
		s.want("dev", update, variables{"input": variables{
			"projectPath": "team/app", "iid": "3", "stateEvent": "REOPEN", "weight": nil, "dueDate": nil, "milestoneId": nil, "epicId": nil, "healthStatus": nil, "timeEstimate": "2h",
			"labelIds": []string{fmt.Sprintf("gid://gitlab/GroupLabel/%d", bug)},
		}}, `{"data":{"updateIssue":{"errors":[],"issue":{"title":"Newer","weight":null,"dueDate":null,"milestone":null,"epic":null,"state":"opened","labels":{"nodes":[{"title":"big"}]},"humanTimeEstimate":"2h","healthStatus":null}}}}`)
		s.want("dev", update, variables{"input": variables{"projectPath": "team/app", "iid": "3", "timeEstimate": "soon"}},
			`{"data":{"updateIssue":{"errors":["Time estimate must have a valid format and be greater than or equal to zero."],"issue":null}}}`)
		if got := s.ask("guest", update, variables{"input": variables{"projectPath": "team/app", "iid": "1", "title": "x"}}); !strings.HasPrefix(got, refused("updateIssue")) {
			t.Errorf("a guest: got %s", got)
		}

		cadence := at(s.data("owner", `mutation { iterationCadenceCreate(input: {groupPath: "team", title: "c", active: true, automatic: false}) { iterationCadence { id } } }`, nil), "iterationCadenceCreate", "iterationCadence", "id")
		iteration := at(s.data("owner", `mutation($c: IterationsCadenceID!) { iterationCreate(input: {groupPath: "team", iterationsCadenceId: $c, title: "i", startDate: "2020-01-01", dueDate: "2020-01-14"}) { iteration { id } } }`,
			variables{"c": cadence}), "iterationCreate", "iteration", "id")
		for _, c := range []struct{ field, args, part, want string }{
			{"issueSetConfidential", `confidential: true`, `confidential`, `true`},
			{"issueSetConfidential", `confidential: false`, `confidential`, `false`},
			{"issueSetLocked", `locked: true`, `discussionLocked`, `true`},
			{"issueSetSeverity", `severity: HIGH`, `severity`, `"HIGH"`},
			{"issueSetDueDate", `dueDate: "2031-02-03"`, `dueDate`, `"2031-02-03T00:00:00Z"`},
			{"issueSetDueDate", `dueDate: null`, `dueDate`, `null`},
			{"issueSetWeight", `weight: 8`, `weight`, `8`},
			{"issueSetWeight", `weight: null`, `weight`, `null`},
			{"issueSetEpic", fmt.Sprintf(`epicId: "gid://gitlab/Epic/%d"`, epic), `epic { title }`, `{"title":"Plan"}`},
			{"issueSetEpic", `epicId: null`, `epic { title }`, `null`},
			{"issueSetIteration", fmt.Sprintf("iterationId: %q", iteration), `iteration { title }`, `{"title":"i"}`},
			{"issueSetIteration", `iterationId: null`, `iteration { title }`, `null`},
			{"issueSetAssignees", `assigneeUsernames: ["dev", "nobody"], operationMode: APPEND`, `assignees { nodes { username } }`, `{"nodes":[{"username":"dev"},{"username":"owner"}]}`},
			{"issueSetAssignees", `assigneeUsernames: ["owner"], operationMode: REMOVE`, `assignees { nodes { username } }`, `{"nodes":[{"username":"dev"}]}`},
			{"issueSetAssignees", `assigneeUsernames: ["owner"]`, `assignees { nodes { username } }`, `{"nodes":[{"username":"owner"}]}`},
			{"issueSetSubscription", `subscribedState: false`, `subscribed`, `false`},
			{"issueSetSubscription", `subscribedState: false`, `subscribed`, `false`},
			{"issueSetSubscription", `subscribedState: true`, `subscribed`, `true`},
		} {
			name, _, _ := strings.Cut(c.part, " ")
			query := fmt.Sprintf(`mutation { %s(input: {projectPath: "team/app", iid: "3", %s}) { errors issue { %s } } }`, c.field, c.args, c.part)
			s.want("dev", query, nil, fmt.Sprintf(`{"data":{"%s":{"errors":[],"issue":{"%s":%s}}}}`, c.field, name, c.want))
			if got := s.ask("stranger", query, nil); !strings.HasPrefix(got, refused(c.field)) {
				t.Errorf("a stranger: %s: got %s", query, got)
			}
			if c.field == "issueSetSubscription" {
				continue
			}
			if got := s.ask("guest", query, nil); !strings.HasPrefix(got, refused(c.field)) {
				t.Errorf("a guest: %s: got %s", query, got)
			}
		}
		s.want("dev", `mutation { issueSetWeight(input: {projectPath: "team/app", iid: "3", weight: -1}) { errors issue { iid } } }`, nil,
			`{"data":{"issueSetWeight":{"errors":["Weight must be greater than or equal to 0"],"issue":null}}}`)
		if got := s.ask("dev", `mutation { issueSetDueDate(input: {projectPath: "team/app", iid: "3"}) { errors } }`, nil); !strings.Contains(got, "Argument dueDate must be provided (`null` accepted)") {
			t.Errorf("no date: got %s", got)
		}
		// An author below planner may change the text alone: REST leaves the rest, here it is refused.
		s.rest("guest", "POST", "/projects/team%2Fapp/issues", `{"title":"mine"}`)
		if got := s.ask("guest", `mutation { issueSetWeight(input: {projectPath: "team/app", iid: "4", weight: 1}) { errors } }`, nil); !strings.HasPrefix(got, refused("issueSetWeight")) {
			t.Errorf("the author: got %s", got)
		}
		s.want("guest", update, variables{"input": variables{"projectPath": "team/app", "iid": "4", "title": "ours", "weight": 1}},
			`{"data":{"updateIssue":{"errors":[],"issue":{"title":"ours","weight":null,"dueDate":null,"milestone":null,"epic":null,"state":"opened","labels":{"nodes":[]},"humanTimeEstimate":null,"healthStatus":null}}}}`)
	})
}

// TestIssueMutations_places moves issues between projects, into epics and among others.
func TestIssueMutations_places(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(3)
		s.rest("dev", "POST", "/projects", `{"name":"own","path":"own"}`)
		const move = `mutation($input: IssueMoveInput!) { issueMove(input: $input) { errors issue { reference(full: true) } } }`
		s.want("dev", move, variables{"input": variables{"projectPath": "team/app", "iid": "1", "targetProjectPath": "team/lib"}}, `{"data":{"issueMove":{"errors":[],"issue":{"reference":"team/lib#2"}}}}`)
		s.want("dev", move, variables{"input": variables{"projectPath": "team/app", "iid": "2", "targetProjectPath": "team/app"}},
			`{"data":{"issueMove":{"errors":["Cannot move issue to project it originates from!"],"issue":null}}}`)
		for _, in := range []variables{
			{"projectPath": "team/app", "iid": "2", "targetProjectPath": "dev/own"},
			{"projectPath": "team/app", "iid": "9", "targetProjectPath": "team/lib"},
		} {
			if got := s.ask("owner", move, variables{"input": in}); !strings.HasPrefix(got, refused("issueMove")) {
				t.Errorf("%v: got %s", in, got)
			}
		}
		s.want("dev", `{ project(fullPath: "team/app") { issue(iid: "1") { moved state movedTo { reference(full: true) } } } }`, nil,
			`{"data":{"project":{"issue":{"moved":true,"state":"closed","movedTo":{"reference":"team/lib#2"}}}}}`)

		const promote = `mutation($input: PromoteToEpicInput!) { promoteToEpic(input: $input) { errors epic { title reference(full: true) } issue { state } } }`
		s.want("dev", promote, variables{"input": variables{"projectPath": "team/app", "iid": "2"}},
			`{"data":{"promoteToEpic":{"errors":[],"epic":{"title":"issue 2","reference":"team&1"},"issue":{"state":"closed"}}}}`)
		if got := s.ask("guest", promote, variables{"input": variables{"projectPath": "team/app", "iid": "3"}}); !strings.HasPrefix(got, refused("promoteToEpic")) {
			t.Errorf("a guest: got %s", got)
		}
		if got := s.ask("dev", promote, variables{"input": variables{"projectPath": "team/app", "iid": "3", "groupPath": "other"}}); !strings.Contains(got, "an issue becomes an epic of the group of its project") {
			t.Errorf("another group: got %s", got)
		}

		third := at(s.data("dev", `{ project(fullPath: "team/app") { issue(iid: "3") { id } } }`, nil), "project", "issue", "id")
		s.data("dev", `mutation($id: IssueID!) { createIssue(input: {projectPath: "team/app", title: "first", moveAfterId: $id}) { errors issue { iid } } }`, variables{"id": third})
		s.want("dev", `{ project(fullPath: "team/app") { issues(state: opened, sort: RELATIVE_POSITION_ASC) { nodes { title } } } }`, nil,
			`{"data":{"project":{"issues":{"nodes":[{"title":"first"},{"title":"issue 3"}]}}}}`)
	})
}

// TestIssueMutations_limit makes issues until the limit that REST counts against too.
func TestIssueMutations_limit(t *testing.T) {
	t.Parallel()
	s := newServer(t, "", func(c *config.Config) { c.RateLimits = true })
	s.team(0)
	s.rest("root", "PUT", "/application/settings", `{"issues_create_limit":2}`)
	s.rest("guest", "POST", "/projects/team%2Fapp/issues", `{"title":"one"}`)
	const create = `mutation { createIssue(input: {projectPath: "team/app", title: "more"}) { errors issue { iid } } }`
	s.want("guest", create, nil, `{"data":{"createIssue":{"errors":[],"issue":{"iid":"2"}}}}`)
	got := ""
	for range 4 { // the limit is per minute, and the next minute may begin in between
		if got = s.ask("guest", create, nil); strings.Contains(got, `{"createIssue":null}`) {
			break
		}
	}
	if !strings.Contains(got, `{"createIssue":null}`) || !strings.Contains(got, "This endpoint has been requested too many times. Try again later.") {
		t.Errorf("over the limit: got %s", got)
	}
}
