package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// TestMergeRequests_state tells of branches, pipelines and changed lines, and compares with REST.
func TestMergeRequests_state(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.requests(3)
		s.rest("root", "POST", "/projects/root%2Fopen/protected_branches?name=feature2", "")
		for i := range 3 {
			m := s.rest("dev", "GET", fmt.Sprintf("/projects/root%%2Fopen/merge_requests/%d", i+1), "")
			who := "dev"
			if i == 1 { // whose branch is protected
				who = "root"
			}
			s.rest(who, "POST", fmt.Sprintf("/projects/root%%2Fopen/statuses/%s", m["sha"]), fmt.Sprintf(`{"state":"running","ref":"feature%d","coverage":40}`, i+1))
			s.rest("dev", "POST", fmt.Sprintf("/projects/root%%2Fopen/merge_requests/%d/notes", i+1), `{"body":"a comment"}`)
			s.rest("dev", "POST", fmt.Sprintf("/projects/root%%2Fopen/merge_requests/%d/discussions", i+1), `{"body":"a thread"}`)
		}
		const one = `query($i: String!) { project(fullPath: "root/open") { mergeRequest(iid: $i) { %s } } }`
		ask := func(as, iid, fields, want string) {
			t.Helper()
			s.want(as, fmt.Sprintf(one, fields), variables{"i": iid}, `{"data":{"project":{"mergeRequest":{`+want+`}}}}`)
		}
		const branches = `sourceBranchExists targetBranchExists sourceBranchProtected divergedFromTargetBranch shouldBeRebased rebaseInProgress`
		ask("stranger", "1", branches, `"sourceBranchExists":true,"targetBranchExists":true,"sourceBranchProtected":false,"divergedFromTargetBranch":false,"shouldBeRebased":false,"rebaseInProgress":false`)
		ask("stranger", "2", branches, `"sourceBranchExists":true,"targetBranchExists":true,"sourceBranchProtected":true,"divergedFromTargetBranch":false,"shouldBeRebased":false,"rebaseInProgress":false`)
		s.branch("root", "root%2Fopen", "main")
		s.rest("root", "PUT", "/projects/root%2Fopen", `{"merge_method":"ff"}`)
		s.rest("dev", "DELETE", "/projects/root%2Fopen/repository/branches/feature3", "")
		ask("dev", "1", branches, `"sourceBranchExists":true,"targetBranchExists":true,"sourceBranchProtected":false,"divergedFromTargetBranch":true,"shouldBeRebased":true,"rebaseInProgress":false`)
		ask("dev", "3", `sourceBranchExists`, `"sourceBranchExists":false`)

		ask("dev", "1", `diffStatsSummary { additions deletions changes fileCount } diffStats { path additions deletions } none: diffStats(path: "feature") { path } file: diffStats(path: "feature1.txt") { path }`,
			`"diffStatsSummary":{"additions":1,"deletions":0,"changes":1,"fileCount":1},"diffStats":[{"path":"feature1.txt","additions":1,"deletions":0}],"none":[],"file":[{"path":"feature1.txt"}]`)
		ask("dev", "1", `userDiscussionsCount mergeableDiscussionsState squashOnMerge mergeOngoing mergeTrainsCount availableAutoMergeStrategies`,
			`"userDiscussionsCount":2,"mergeableDiscussionsState":true,"squashOnMerge":false,"mergeOngoing":false,"mergeTrainsCount":0,"availableAutoMergeStrategies":["merge_when_pipeline_succeeds"]`)
		ask("dev", "1", `defaultMergeCommitMessage defaultSquashCommitMessage`, `"defaultMergeCommitMessage":"Merge branch 'feature1' into 'main'\n\nchange 1\n\nSee merge request root/open!1","defaultSquashCommitMessage":"change 1"`)
		ask("stranger", "1", `mergeTrainsCount defaultMergeCommitMessage`, `"mergeTrainsCount":null,"defaultMergeCommitMessage":null`)

		head := s.rest("dev", "GET", "/projects/root%2Fopen/merge_requests/1", "")["head_pipeline"].(map[string]any)
		got := s.ask("dev", fmt.Sprintf(one, `headPipeline { id iid ref sha status active complete coverage path project { fullPath } user { username } finishedAt }`), variables{"i": "1"})
		want := fmt.Sprintf(`{"id":"gid://gitlab/Ci::Pipeline/%v","iid":"%v","ref":"feature1","sha":%q,"status":"RUNNING","active":true,"complete":false,"coverage":40,"path":"/root/open/-/pipelines/%v","project":{"fullPath":"root/open"},"user":{"username":"dev"},"finishedAt":null}`, head["id"], head["iid"], head["sha"], head["id"])
		if !strings.Contains(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		s.rest("root", "PUT", "/projects/root%2Fopen", `{"builds_access_level":"private"}`)
		ask("stranger", "1", `headPipeline { id }`, `"headPipeline":null`)

		const many = `{ project(fullPath: "root/open") { mergeRequests(first: %d) { nodes { %s } } } }`
		for _, fields := range []string{branches, `headPipeline { status coverage user { username } }`, `userDiscussionsCount mergeTrainsCount availableAutoMergeStrategies`, `diffStatsSummary { changes }`, `defaultMergeCommitMessage`} {
			if few, all := s.statements("dev", fmt.Sprintf(many, 1, fields), nil), s.statements("dev", fmt.Sprintf(many, 3, fields), nil); few != all {
				t.Errorf("%s: %d statements for one merge request, %d for three", fields, few, all)
			}
		}
	})
}
