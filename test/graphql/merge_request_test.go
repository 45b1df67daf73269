package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// branch makes a branch with a commit of its own.
func (s *server) branch(as, project, name string) {
	s.t.Helper()
	s.rest(as, "POST", "/projects/"+project+"/repository/commits", fmt.Sprintf(`{"branch":%q,"start_branch":"main","commit_message":"add %s","actions":[{"action":"create","file_path":"%s.txt","content":"x"}]}`, name, name, name))
}

// TestMergeRequests reads merge requests; who is not signed in sees none, also in a public project.
func TestMergeRequests(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(0)
		s.rest("root", "POST", "/projects", `{"name":"open","path":"open","visibility":"public","initialize_with_readme":true}`)
		s.rest("root", "POST", "/projects/root%2Fopen/members", fmt.Sprintf(`{"user_id":%d,"access_level":30}`, s.ids["dev"]))
		for i := range 3 {
			name := fmt.Sprintf("feature%d", i+1)
			s.branch("dev", "root%2Fopen", name)
			s.rest("dev", "POST", "/projects/root%2Fopen/merge_requests", fmt.Sprintf(`{"title":"change %d","source_branch":%q,"target_branch":"main","labels":"l%d","reviewer_ids":[%d],"description":"- [x] done, see !1"}`, i+1, name, i, s.ids["root"]))
		}
		s.rest("dev", "PUT", "/projects/root%2Fopen/merge_requests/2", `{"state_event":"close"}`)
		const one = `{ project(fullPath: "root/open") { mergeRequest(iid: "1") { iid title state draft sourceBranch targetBranch author { username } reviewers { nodes { username } } labels { nodes { title } } project { fullPath } sourceProject { fullPath } reference(full: true) webPath commitCount conflicts diffRefs { headSha } taskCompletionStatus { count } userNotesCount } mergeRequests { count } } }`
		got := s.ask("stranger", one, nil)
		for _, want := range []string{
			`"iid":"1","title":"change 1","state":"opened","draft":false,"sourceBranch":"feature1","targetBranch":"main","author":{"username":"dev"},"reviewers":{"nodes":[{"username":"root"}]},"labels":{"nodes":[{"title":"l0"}]},"project":{"fullPath":"root/open"},"sourceProject":{"fullPath":"root/open"},"reference":"root/open!1","webPath":"/root/open/-/merge_requests/1","commitCount":1,"conflicts":false,"diffRefs":{"headSha":"`,
			`"mergeRequests":{"count":3}`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s\nwant %s in it", got, want)
			}
		}
		s.want("", `{ project(fullPath: "root/open") { path mergeRequest(iid: "1") { iid } mergeRequests { count nodes { iid } pageInfo { hasNextPage endCursor } } } mergeRequest(id: "gid://gitlab/MergeRequest/1") { iid } }`, nil,
			`{"data":{"project":{"path":"open","mergeRequest":null,"mergeRequests":{"count":0,"nodes":[],"pageInfo":{"hasNextPage":false,"endCursor":null}}},"mergeRequest":null}}`)
		for _, c := range []struct{ args, want string }{
			{`state: opened, sort: CREATED_ASC`, "1 3"},
			{`sourceBranches: ["feature2", "feature3"]`, "3 2"},
			{`labels: ["l1"]`, "2"},
			{`not: {labels: ["l1"]}`, "3 1"},
			{`reviewerUsername: "root", state: closed`, "2"},
			{`authorUsername: "root"`, ""},
			{`search: "change", in: [TITLE], sort: UPDATED_ASC, first: 1`, "1"},
		} {
			var iids []string
			for _, n := range at(s.data("dev", `{ project(fullPath: "root/open") { mergeRequests(`+c.args+`) { nodes { iid } } } }`, nil), "project", "mergeRequests", "nodes").([]any) {
				iids = append(iids, at(n, "iid").(string))
			}
			if got := strings.Join(iids, " "); got != c.want {
				t.Errorf("%s: got %q, want %q", c.args, got, c.want)
			}
		}
		const many = `{ project(fullPath: "root/open") { mergeRequests(first: %d) { nodes { iid titleHtml author { username } assignees { nodes { username } } reviewers { nodes { username } } labels { nodes { title } } milestone { title } userNotesCount } } } }`
		few, all := s.statements("dev", fmt.Sprintf(many, 1), nil), s.statements("dev", fmt.Sprintf(many, 3), nil)
		if few != all || all > 15 {
			t.Errorf("%d statements for one, %d for three, want the same and at most 15", few, all)
		}
	})
}
