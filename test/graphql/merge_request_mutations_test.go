package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// hiddenError is what is said of what is not there for the caller.
const hiddenError = `"message":"The resource that you are attempting to access does not exist or you don't have permission to perform this action"`

// requests makes a public project root/open, in which dev has opened merge requests.
func (s *server) requests(n int) {
	s.t.Helper()
	s.team(0)
	s.rest("root", "POST", "/projects", `{"name":"open","path":"open","visibility":"public","initialize_with_readme":true}`)
	s.rest("root", "POST", "/projects/root%2Fopen/members", fmt.Sprintf(`{"user_id":%d,"access_level":30}`, s.ids["dev"]))
	for i := range n {
		s.branch("dev", "root%2Fopen", fmt.Sprintf("feature%d", i+1))
		s.rest("dev", "POST", "/projects/root%2Fopen/merge_requests", fmt.Sprintf(`{"title":"change %d","source_branch":"feature%d","target_branch":"main"}`, i+1, i+1))
	}
}

// refused sends a document that has to be refused as if there were nothing.
func (s *server) refused(as, query string, v variables) {
	s.t.Helper()
	if got := s.ask(as, query, v); !strings.Contains(got, hiddenError) {
		s.t.Errorf("%q: %s\ngot %s, want that nothing is there", as, query, got)
	}
}

// TestMergeRequests_write opens, changes and merges a merge request.
func TestMergeRequests_write(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.requests(1)
		s.branch("dev", "root%2Fopen", "more")
		const create = `mutation { mergeRequestCreate(input: {projectPath: "root/open", title: "more", sourceBranch: "more", targetBranch: "main", description: "see !1", labels: ["new"], removeSourceBranch: true, clientMutationId: "7"}) { mergeRequest { iid title forceRemoveSourceBranch labels { nodes { title } } author { username } } errors clientMutationId } }`
		for _, as := range []string{"", "stranger"} {
			s.refused(as, create, nil)
		}
		s.want("dev", create, nil, `{"data":{"mergeRequestCreate":{"mergeRequest":{"iid":"2","title":"more","forceRemoveSourceBranch":true,"labels":{"nodes":[{"title":"new"}]},"author":{"username":"dev"}},"errors":[],"clientMutationId":"7"}}}`)
		if got := s.ask("dev", create, nil); !strings.Contains(got, `"mergeRequest":null,"errors":["Another open merge request already exists for this source branch: !2"]`) {
			t.Errorf("a second one for the branch: got %s", got)
		}
		update := func(input string) string {
			return `mutation { mergeRequestUpdate(input: {projectPath: "root/open", iid: "2", ` + input + `}) { mergeRequest { title state timeEstimate } errors } }`
		}
		s.refused("stranger", update(`title: "mine"`), nil)
		s.want("dev", update(`title: "renamed", state: CLOSED, timeEstimate: "2h"`), nil, `{"data":{"mergeRequestUpdate":{"mergeRequest":{"title":"renamed","state":"closed","timeEstimate":7200},"errors":[]}}}`)
		s.want("dev", update(`state: OPEN`), nil, `{"data":{"mergeRequestUpdate":{"mergeRequest":{"title":"renamed","state":"opened","timeEstimate":7200},"errors":[]}}}`)
		s.want("dev", update(`title: ""`), nil, `{"data":{"mergeRequestUpdate":{"mergeRequest":null,"errors":["Title can't be blank"]}}}`)
		if got := s.rest("dev", "GET", "/projects/root%2Fopen/merge_requests/2", ""); got["title"] != "renamed" {
			t.Errorf("REST says %v", got["title"])
		}

		const accept = `mutation($sha: String!) { mergeRequestAccept(input: {projectPath: "root/open", iid: "2", sha: $sha, shouldRemoveSourceBranch: true}) { mergeRequest { state mergeUser { username } } errors } }`
		sha := at(s.data("root", `{ project(fullPath: "root/open") { mergeRequest(iid: "2") { diffHeadSha } } }`, nil), "project", "mergeRequest", "diffHeadSha")
		s.refused("dev", accept, variables{"sha": sha}) // main takes what maintainers merge
		if got := s.ask("root", accept, variables{"sha": strings.Repeat("1", 40)}); !strings.Contains(got, `"mergeRequest":null,"errors":["SHA does not match HEAD of source branch: `) {
			t.Errorf("another head: got %s", got)
		}
		s.want("root", accept, variables{"sha": sha}, `{"data":{"mergeRequestAccept":{"mergeRequest":{"state":"merged","mergeUser":{"username":"root"}},"errors":[]}}}`)
	})
}

// TestMergeRequests_set sets people, labels, milestone, draft, lock and subscription.
func TestMergeRequests_set(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.requests(1)
		s.rest("root", "POST", "/projects/root%2Fopen/milestones", `{"title":"v1"}`)
		for _, title := range []string{"one", "two"} {
			s.rest("root", "POST", "/projects/root%2Fopen/labels", fmt.Sprintf(`{"name":%q,"color":"#ff0000"}`, title))
		}
		ids := s.data("dev", `{ project(fullPath: "root/open") { milestones { nodes { id } } labels { nodes { id } } } }`, nil)
		of := func(kind string, n int) string { return at(ids, "project", kind, "nodes", n, "id").(string) }
		for _, c := range []struct{ mutation, input, fields, want string }{
			{"SetAssignees", `assigneeUsernames: ["dev", "root", "nobody-at-all"]`, `assignees { nodes { username } }`, `{"assignees":{"nodes":[{"username":"root"},{"username":"dev"}]}}`},
			{"SetAssignees", `assigneeUsernames: ["root"], operationMode: REMOVE`, `assignees { nodes { username } }`, `{"assignees":{"nodes":[{"username":"dev"}]}}`},
			{"SetReviewers", `reviewerUsernames: ["root"]`, `reviewers { nodes { username } }`, `{"reviewers":{"nodes":[{"username":"root"}]}}`},
			{"SetReviewers", `reviewerUsernames: ["dev"], operationMode: APPEND`, `reviewers { nodes { username } }`, `{"reviewers":{"nodes":[{"username":"root"},{"username":"dev"}]}}`},
			{"ReviewerRereview", `userId: "gid://gitlab/User/1"`, `reviewers { nodes { username } }`, `{"reviewers":{"nodes":[{"username":"root"},{"username":"dev"}]}}`},
			{"SetLabels", fmt.Sprintf(`labelIds: [%q]`, of("labels", 0)), `labels { nodes { title } }`, `{"labels":{"nodes":[{"title":"one"}]}}`},
			{"SetLabels", fmt.Sprintf(`labelIds: [%q], operationMode: APPEND`, of("labels", 1)), `labels { nodes { title } }`, `{"labels":{"nodes":[{"title":"one"},{"title":"two"}]}}`},
			{"SetLabels", fmt.Sprintf(`labelIds: [%q], operationMode: REMOVE`, of("labels", 0)), `labels { nodes { title } }`, `{"labels":{"nodes":[{"title":"two"}]}}`},
			{"SetLabels", `labelIds: []`, `labels { nodes { title } }`, `{"labels":{"nodes":[]}}`},
			{"SetMilestone", fmt.Sprintf(`milestoneId: %q`, of("milestones", 0)), `milestone { title }`, `{"milestone":{"title":"v1"}}`},
			{"SetMilestone", `milestoneId: null`, `milestone { title }`, `{"milestone":null}`},
			{"SetDraft", `draft: true`, `draft title`, `{"draft":true,"title":"Draft: change 1"}`},
			{"SetDraft", `draft: false`, `draft title`, `{"draft":false,"title":"change 1"}`},
			{"SetLocked", `locked: true`, `discussionLocked`, `{"discussionLocked":true}`},
		} {
			query := fmt.Sprintf(`mutation { mergeRequest%s(input: {projectPath: "root/open", iid: "1", %s}) { mergeRequest { %s } errors } }`, c.mutation, c.input, c.fields)
			for _, as := range []string{"", "stranger"} {
				s.refused(as, query, nil)
			}
			s.want("dev", query, nil, fmt.Sprintf(`{"data":{"mergeRequest%s":{"mergeRequest":%s,"errors":[]}}}`, c.mutation, c.want))
		}
		s.want("dev", `mutation { mergeRequestReviewerRereview(input: {projectPath: "root/open", iid: "1", userId: "gid://gitlab/User/99"}) { mergeRequest { iid } errors } }`, nil,
			`{"data":{"mergeRequestReviewerRereview":{"mergeRequest":null,"errors":["Reviewer not found"]}}}`)

		// An author without a role changes the text, not who works on it.
		members := "/projects/root%2Fopen/members"
		s.rest("root", "POST", members, fmt.Sprintf(`{"user_id":%d,"access_level":30}`, s.ids["stranger"]))
		s.branch("stranger", "root%2Fopen", "patch")
		made := s.rest("stranger", "POST", "/projects/root%2Fopen/merge_requests", `{"title":"patch","source_branch":"patch","target_branch":"main"}`)
		s.rest("root", "DELETE", fmt.Sprintf("%s/%d", members, s.ids["stranger"]), "")
		iid := fmt.Sprint(made["iid"])
		s.want("stranger", `mutation($i: String!) { mergeRequestUpdate(input: {projectPath: "root/open", iid: $i, title: "a patch"}) { mergeRequest { title } errors } }`, variables{"i": iid},
			`{"data":{"mergeRequestUpdate":{"mergeRequest":{"title":"a patch"},"errors":[]}}}`)
		s.refused("stranger", `mutation($i: String!) { mergeRequestSetAssignees(input: {projectPath: "root/open", iid: $i, assigneeUsernames: ["stranger"]}) { errors } }`, variables{"i": iid})

		subscribe := func(want bool) string {
			return fmt.Sprintf(`mutation { mergeRequestSetSubscription(input: {projectPath: "root/open", iid: "1", subscribedState: %t}) { mergeRequest { iid subscribed } errors } }`, want)
		}
		s.refused("", subscribe(true), nil)
		for _, want := range []bool{true, true, false} {
			s.want("stranger", subscribe(want), nil, fmt.Sprintf(`{"data":{"mergeRequestSetSubscription":{"mergeRequest":{"iid":"1","subscribed":%t},"errors":[]}}}`, want))
		}
		asked := 0
		for _, n := range s.list("root", "/projects/root%2Fopen/merge_requests/1/notes") {
			if n["body"] == "requested review from @root" {
				asked++
			}
		}
		if asked != 2 {
			t.Errorf("%d notes say that root was asked for a review, want 2", asked)
		}
	})
}
