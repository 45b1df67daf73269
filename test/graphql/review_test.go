package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// TestReview compares with REST how the approvals of a merge request stand, and says what users may do
// with it.
func TestReview(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.requests(3)
		s.rest("root", "PUT", "/projects/root%2Fopen/merge_requests/1", fmt.Sprintf(`{"reviewer_ids":[%d],"assignee_ids":[%d]}`, s.ids["dev"], s.ids["root"]))
		s.rest("root", "POST", "/projects/root%2Fopen/approvals", `{"merge_requests_author_approval":true}`)
		for i := range 3 {
			one := fmt.Sprintf("/projects/root%%2Fopen/merge_requests/%d", i+1)
			s.rest("root", "POST", one+"/approval_rules", fmt.Sprintf(`{"name":"both","approvals_required":2,"user_ids":[1,%d]}`, s.ids["dev"]))
			s.rest("root", "POST", one+"/approve", "")
			s.rest("dev", "POST", one+"/notes", `{"body":"a comment"}`)
		}
		const read = `{ project(fullPath: "root/open") { mergeRequest(iid: "1") { approved approvalsRequired approvalsLeft approvedBy { nodes { username } } approvalState { approvalRulesOverwritten suggestedApprovers { nodes { username } } rules { id name type section approvalsRequired approved overridden containsHiddenGroups sourceRule { name } approvedBy { nodes { username } } commentedBy { nodes { username } } users { nodes { username } } eligibleApprovers { username } } } } } }`
		rest := s.rest("dev", "GET", "/projects/root%2Fopen/merge_requests/1/approval_state", "")
		rule := at(rest["rules"], 0).(map[string]any)
		want := fmt.Sprintf(`{"approved":false,"approvalsRequired":2,"approvalsLeft":1,"approvedBy":{"nodes":[{"username":"root"}]},"approvalState":{"approvalRulesOverwritten":%v,"suggestedApprovers":{"nodes":[{"username":"dev"}]},"rules":[{"id":"gid://gitlab/ApprovalMergeRequestRule/%v","name":"both","type":"REGULAR","section":null,"approvalsRequired":2,"approved":%v,"overridden":false,"containsHiddenGroups":false,"sourceRule":null,"approvedBy":{"nodes":[{"username":"root"}]},"commentedBy":{"nodes":[{"username":"dev"}]}`,
			rest["approval_rules_overwritten"], rule["id"], rule["approved"])
		if got := s.ask("stranger", read, nil); !strings.Contains(got, want) {
			t.Errorf("got  %s\nwant %s in it", got, want)
		}
		change := func(input string) string {
			return fmt.Sprintf(`mutation { mergeRequestUpdateApprovalRule(input: {projectPath: "root/open", iid: "1", approvalRuleId: %v, %s}) { mergeRequest { approved approvalsRequired } errors } }`, rule["id"], input)
		}
		for _, as := range []string{"", "stranger"} {
			s.refused(as, change(`name: "mine", approvalsRequired: 0`), nil)
		}
		s.want("root", change(`name: "", approvalsRequired: 1, userIds: ["1"]`), nil, `{"data":{"mergeRequestUpdateApprovalRule":{"mergeRequest":null,"errors":["Name can't be blank"]}}}`)
		s.want("root", change(`name: "one", approvalsRequired: 1, userIds: ["1"]`), nil, `{"data":{"mergeRequestUpdateApprovalRule":{"mergeRequest":{"approved":true,"approvalsRequired":1},"errors":[]}}}`)

		const interaction = `mergeRequestInteraction { canMerge canUpdate approved reviewed reviewState applicableApprovalRules { name } }`
		s.want("stranger", `{ project(fullPath: "root/open") { mergeRequest(iid: "1") { author { username bot `+interaction+` } assignees { nodes { username `+interaction+` } } reviewers { nodes { name `+interaction+` } } participants { nodes { username } } commenters { nodes { username } } } } }`, nil,
			`{"data":{"project":{"mergeRequest":{"author":{"username":"dev","bot":false,"mergeRequestInteraction":{"canMerge":false,"canUpdate":true,"approved":false,"reviewed":false,"reviewState":"UNREVIEWED","applicableApprovalRules":[]}},`+
				`"assignees":{"nodes":[{"username":"root","mergeRequestInteraction":{"canMerge":true,"canUpdate":true,"approved":true,"reviewed":false,"reviewState":null,"applicableApprovalRules":[{"name":"one"}]}}]},`+
				`"reviewers":{"nodes":[{"name":"dev","mergeRequestInteraction":{"canMerge":false,"canUpdate":true,"approved":false,"reviewed":false,"reviewState":"UNREVIEWED","applicableApprovalRules":[]}}]},`+
				`"participants":{"nodes":[{"username":"root"},{"username":"dev"}]},"commenters":{"nodes":[{"username":"dev"}]}}}}}`)
		s.rest("dev", "POST", "/projects/root%2Fopen/merge_requests/1/approve", "")
		s.want("dev", `{ project(fullPath: "root/open") { mergeRequest(iid: "1") { reviewers { nodes { mergeRequestInteraction { approved reviewed reviewState } } } } } }`, nil,
			`{"data":{"project":{"mergeRequest":{"reviewers":{"nodes":[{"mergeRequestInteraction":{"approved":true,"reviewed":true,"reviewState":"APPROVED"}}]}}}}}`)

		const may = `{ project(fullPath: "root/open") { mergeRequest(iid: "2") { committers { nodes { username } } userPermissions { readMergeRequest updateMergeRequest adminMergeRequest canApprove canMerge createNote pushToSourceBranch removeSourceBranch cherryPickOnCurrentMergeRequest revertOnCurrentMergeRequest } } } }`
		for as, want := range map[string]string{
			"root":     `"updateMergeRequest":true,"adminMergeRequest":true,"canApprove":false,"canMerge":true,"createNote":true,"pushToSourceBranch":true,"removeSourceBranch":true,"cherryPickOnCurrentMergeRequest":false,"revertOnCurrentMergeRequest":false`,
			"dev":      `"updateMergeRequest":true,"adminMergeRequest":true,"canApprove":true,"canMerge":false,"createNote":true,"pushToSourceBranch":true,"removeSourceBranch":true,"cherryPickOnCurrentMergeRequest":false,"revertOnCurrentMergeRequest":false`,
			"stranger": `"updateMergeRequest":false,"adminMergeRequest":false,"canApprove":false,"canMerge":false,"createNote":true,"pushToSourceBranch":false,"removeSourceBranch":false,"cherryPickOnCurrentMergeRequest":false,"revertOnCurrentMergeRequest":false`,
		} {
			s.want(as, may, nil, `{"data":{"project":{"mergeRequest":{"committers":{"nodes":[{"username":"dev"}]},"userPermissions":{"readMergeRequest":true,`+want+`}}}}}`)
		}
		const many = `{ project(fullPath: "root/open") { mergeRequests(first: %d) { nodes { %s } } } }`
		for _, fields := range []string{
			`approved approvalsLeft approvedBy { nodes { username } } approvalState { suggestedApprovers { nodes { username } } rules { containsHiddenGroups users { nodes { username } } commentedBy { nodes { username } } eligibleApprovers { username } } }`,
			`author { ` + interaction + ` } participants { nodes { username ` + interaction + ` } }`,
			`commenters { nodes { username } } committers { nodes { username } } subscribed`,
			`userPermissions { canMerge canApprove pushToSourceBranch removeSourceBranch }`,
		} {
			if few, all := s.statements("dev", fmt.Sprintf(many, 1, fields), nil), s.statements("dev", fmt.Sprintf(many, 2, fields), nil); few != all {
				t.Errorf("%s: %d statements for one merge request, %d for two", fields, few, all)
			}
		}
	})
}

// TestMergeRequests_document reads fifty merge requests with all that a list of them shows, in a bounded
// number of statements.
func TestMergeRequests_document(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.requests(50)
		for i := range 50 {
			one := fmt.Sprintf("/projects/root%%2Fopen/merge_requests/%d", i+1)
			s.rest("root", "PUT", one, fmt.Sprintf(`{"labels":"one,two","assignee_ids":[%d],"reviewer_ids":[1]}`, s.ids["dev"]))
			s.rest("root", "POST", one+"/approve", "")
			s.rest("dev", "POST", fmt.Sprintf("/projects/root%%2Fopen/statuses/%s", s.rest("dev", "GET", one, "")["sha"]), fmt.Sprintf(`{"state":"success","ref":"feature%d"}`, i+1))
			for range 2 {
				s.rest("dev", "POST", one+"/notes", `{"body":"a comment"}`)
			}
		}
		const query = `{ project(fullPath: "root/open") { mergeRequests(first: 50) { nodes { iid title state author { username } assignees { nodes { username } } labels { nodes { title color } } approved approvalsLeft approvedBy { nodes { username } } headPipeline { status } notes(first: 10) { nodes { body system author { username } } } } } } }`
		nodes := at(s.data("dev", query, nil), "project", "mergeRequests", "nodes").([]any)
		if len(nodes) != 50 {
			t.Fatalf("got %d merge requests", len(nodes))
		}
		first := fmt.Sprint(nodes[0])
		for _, want := range []string{"approved:true", "approvedBy:map[nodes:[map[username:root]]]", "assignees:map[nodes:[map[username:dev]]]", "body:a comment", "headPipeline:map[status:SUCCESS]", "title:change 50"} {
			if !strings.Contains(first, want) {
				t.Errorf("got %s, want %s in it", first, want)
			}
		}
		if n := s.statements("dev", query, nil); n != 12 {
			t.Errorf("%d statements, want 12", n)
		}
	})
}
