package graphql

import (
	"fmt"
	"strings"
	"testing"
)

// Issues are selected by alternatives and by the time of closing, and sorted by severity, health, closing and what they block; they
// say who changed them last.
func TestIssues_alternatives(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(0)
		const path = "/projects/team%2Fapp/issues"
		for i, body := range []string{
			fmt.Sprintf(`{"title":"a","labels":"red","assignee_ids":[%d],"issue_type":"incident"}`, s.ids["dev"]),
			`{"title":"b","labels":"blue","health_status":"at_risk","issue_type":"incident"}`,
			`{"title":"c","labels":"green","health_status":"on_track"}`,
			`{"title":"d"}`,
		} {
			s.rest([]string{"dev", "owner", "dev", "owner"}[i], "POST", path, body)
		}
		s.data("owner", `mutation { issueSetSeverity(input: {projectPath: "team/app", iid: "2", severity: CRITICAL}) { errors } }`, nil)
		s.rest("owner", "POST", path+"/3/links", `{"target_project_id":"team/app","target_issue_iid":1,"link_type":"blocks"}`)
		s.rest("dev", "PUT", path+"/1", `{"state_event":"close"}`)
		s.rest("dev", "PUT", path+"/1", `{"state_event":"reopen"}`)
		s.rest("dev", "PUT", path+"/3", `{"state_event":"close"}`)
		for args, want := range map[string]string{
			`or: {labelNames: ["red", "blue", "none"]}`:                      "a b",
			`or: {assigneeUsernames: ["dev", "owner"]}`:                      "a",
			`or: {authorUsernames: ["OWNER", "stranger"]}`:                   "b d",
			`or: {authorUsernames: ["owner", "dev"], labelNames: ["green"]}`: "c",
			`or: {labelNames: []}`:                                           "a b c d",
			`closedAfter: "2020-01-01"`:                                      "c",
			`closedBefore: "2020-01-01"`:                                     "",
			`sort: SEVERITY_DESC`:                                            "b d c a",
			`sort: SEVERITY_ASC`:                                             "a c d b",
			`sort: HEALTH_STATUS_ASC`:                                        "c b a d",
			`sort: HEALTH_STATUS_DESC`:                                       "b c d a",
			`sort: CLOSED_AT_DESC`:                                           "c d b a",
			`sort: BLOCKING_ISSUES_DESC`:                                     "c d b a",
			`weight: "none"`:                                                 "a b c d",
			`weight: "ANY"`:                                                  "",
			`not: {weight: "any"}`:                                           "a b c d",
			`createdAfter: "2020-01-01", or: {authorUsernames: ["owner"]}, sort: TITLE_DESC`: "d b",
		} {
			if !strings.Contains(args, "sort") {
				args += ", sort: CREATED_ASC"
			}
			found := s.data("dev", `{ project(fullPath: "team/app") { issues(`+args+`) { nodes { title } } } }`, nil)
			if got := titles(at(found, "project", "issues", "nodes")); got != want {
				t.Errorf("issues(%s): got %q, want %q", args, got, want)
			}
		}
		for _, query := range []string{`{ group(fullPath: "team") { issues(%s) { nodes { title } } } }`, `{ issues(%s) { nodes { title } } }`} {
			found := s.data("dev", fmt.Sprintf(query, `or: {labelNames: ["red", "blue"]}, closedBefore: "2100-01-01"`), nil)
			if got := titles(at(found, "group", "issues", "nodes")) + titles(at(found, "issues", "nodes")); got != "" {
				t.Errorf("%s: got %q, want none", query, got)
			}
			found = s.data("dev", fmt.Sprintf(query, `or: {labelNames: ["red", "green"]}, sort: CREATED_ASC`), nil)
			if got := titles(at(found, "group", "issues", "nodes")) + titles(at(found, "issues", "nodes")); got != "a c" {
				t.Errorf("%s: got %q, want a c", query, got)
			}
		}
		if got := s.ask("dev", `{ project(fullPath: "team/app") { issues(weight: "zzz") { nodes { title } } } }`, nil); !strings.Contains(got, `"message":"\"zzz\" is not a valid weight: an integer, none or any is."`) {
			t.Errorf("a weight that is none: got %s", got)
		}
		const changed = `{ project(fullPath: "team/app") { issues(sort: CREATED_ASC) { nodes { title createNoteEmail updatedBy { username } userPermissions { readIssue createDesign readDesign destroyDesign } } } } }`
		may := `"userPermissions":{"readIssue":true,"createDesign":false,"readDesign":false,"destroyDesign":false}}`
		s.want("guest", changed, nil, `{"data":{"project":{"issues":{"nodes":[{"title":"a","createNoteEmail":null,"updatedBy":{"username":"dev"},`+may+`,`+
			`{"title":"b","createNoteEmail":null,"updatedBy":{"username":"owner"},`+may+`,{"title":"c","createNoteEmail":null,"updatedBy":{"username":"dev"},`+may+`,`+
			`{"title":"d","createNoteEmail":null,"updatedBy":null,`+may+`]}}}}`)
	})
}

// An order by what issues block counts those alone that its reader may see.
func TestIssues_blockingHidden(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(2)
		s.rest("root", "POST", "/projects", `{"name":"hidden","visibility":"private"}`)
		s.rest("root", "POST", "/projects/root%2Fhidden/issues", `{"title":"hidden"}`)
		s.rest("root", "POST", "/projects/team%2Fapp/issues/1/links", `{"target_project_id":"root/hidden","target_issue_iid":1,"link_type":"blocks"}`)
		first := func(as string) any {
			return at(s.data(as, `{ project(fullPath: "team/app") { issues(sort: BLOCKING_ISSUES_DESC, first: 1) { nodes { iid } } } }`, nil), "project", "issues", "nodes", 0, "iid")
		}
		if dev, root := first("dev"), first("root"); dev != "2" || root != "1" {
			t.Errorf("the first issue is %v for who cannot see what issue 1 blocks, %v for who can; want 2, 1", dev, root)
		}
	})
}

// Merge requests are selected by alternatives, by approval and by the time of the merge, and add up how long merges took.
func TestMergeRequests_public(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.requests(4)
		const path = "/projects/root%2Fopen/merge_requests"
		s.rest("root", "PUT", path+"/1", `{"labels":"red"}`)
		s.rest("root", "PUT", path+"/2", `{"labels":"blue"}`)
		s.rest("root", "POST", path+"/3/approve", "")
		s.rest("root", "PUT", path+"/4/merge", "")
		s.rest("root", "PUT", path+"/2", `{"state_event":"close"}`)
		s.rest("root", "POST", path+"/1/award_emoji", `{"name":"thumbsup"}`)
		for args, want := range map[string]string{
			`or: {labelNames: ["red", "blue"]}`:        "1 2",
			`or: {authorUsernames: ["dev", "nobody"]}`: "1 2 3 4",
			`or: {assigneeUsernames: ["stranger"]}`:    "",
			`approved: true`:                           "3",
			`approved: false`:                          "1 2 4",
			`mergedAfter: "2020-01-01"`:                "4",
			`mergedBefore: "2020-01-01"`:               "",
			`mergedBefore: "2100-01-01"`:               "4",
			`sort: CLOSED_AT_ASC, state: closed`:       "2",
			`sort: CLOSED_AT_DESC`:                     "2 4 3 1",
			`sort: POPULARITY_DESC`:                    "1 4 3 2",
			`or: {labelNames: ["red"]}, not: {labels: ["blue"]}, sort: UPDATED_ASC`: "1",
		} {
			if !strings.Contains(args, "sort") {
				args += ", sort: CREATED_ASC"
			}
			nodes, _ := at(s.data("root", `{ project(fullPath: "root/open") { mergeRequests(`+args+`) { nodes { iid } } } }`, nil), "project", "mergeRequests", "nodes").([]any)
			var got []string
			for _, n := range nodes {
				got = append(got, at(n, "iid").(string))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("mergeRequests(%s): got %q, want %q", args, got, want)
			}
		}
		times := s.data("root", `{ project(fullPath: "root/open") { all: mergeRequests { count totalTimeToMerge } open: mergeRequests(state: opened) { totalTimeToMerge } } user(username: "dev") { authoredMergeRequests { totalTimeToMerge } } }`, nil)
		all, _ := at(times, "project", "all", "totalTimeToMerge").(float64)
		if all <= 0 || all > 3600 || at(times, "project", "open", "totalTimeToMerge") != nil || at(times, "user", "authoredMergeRequests", "totalTimeToMerge") != all {
			t.Errorf("times to merge: got %v", times)
		}
		s.rest("root", "POST", "/projects/root%2Fopen/repository/commits", `{"branch":"main","commit_message":"more","actions":[{"action":"create","file_path":"more","content":"x"}]}`)
		rebased := func() (sha, head any) {
			m := at(s.data("root", `{ project(fullPath: "root/open") { mergeRequest(iid: "3") { rebaseCommitSha diffHeadSha } } }`, nil), "project", "mergeRequest")
			return at(m, "rebaseCommitSha"), at(m, "diffHeadSha")
		}
		if sha, _ := rebased(); sha != nil {
			t.Errorf("before a rebase: got the head %v", sha)
		}
		s.work()
		s.rest("root", "PUT", path+"/3/rebase", "")
		s.until("a rebased head", func() bool { sha, head := rebased(); return sha != nil && sha == head })
		const merging = `{ project(fullPath: "root/open") { mergeRequest(iid: "1") { mergeOngoing inProgressMergeCommitSha } } }`
		s.want("root", merging, nil, `{"data":{"project":{"mergeRequest":{"mergeOngoing":false,"inProgressMergeCommitSha":null}}}}`)
	})
}

// Comments say who changed their text last, and when; what the server wrote has an icon.
func TestNotes_edited(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		const path = "/projects/team%2Fapp/issues/1"
		made := s.rest("dev", "POST", path+"/notes", `{"body":"first"}`)
		s.rest("dev", "PUT", path, `{"title":"another"}`)
		const query = `{ project(fullPath: "team/app") { issue(iid: "1") { notes { nodes { body system systemNoteIconName lastEditedBy { username } } } } } }`
		s.want("guest", query, nil, `{"data":{"project":{"issue":{"notes":{"nodes":[{"body":"assigned to @dev","system":true,"systemNoteIconName":"user","lastEditedBy":null},`+
			`{"body":"mentioned in issue team/lib#1","system":true,"systemNoteIconName":"comment-dots","lastEditedBy":null},{"body":"first","system":false,"systemNoteIconName":null,"lastEditedBy":null},`+
			`{"body":"changed title from **{-issue 1-}** to **{+another+}**","system":true,"systemNoteIconName":"pencil","lastEditedBy":null}]}}}}}`)
		s.rest("owner", "PUT", fmt.Sprintf("%s/notes/%d", path, id(made)), `{"body":"second"}`)
		got := s.data("guest", fmt.Sprintf(`{ note(id: "gid://gitlab/Note/%d") { body updatedAt lastEditedAt lastEditedBy { username } } }`, id(made)), nil)
		if at(got, "note", "lastEditedBy", "username") != "owner" || at(got, "note", "lastEditedAt") != at(got, "note", "updatedAt") || at(got, "note", "body") != "second" {
			t.Errorf("a changed comment: got %v", got)
		}
	})
}

// What a project takes up has every part of the public interface.
func TestProjects_sizes(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(0)
		got := s.ask("root", `{ project(fullPath: "team/app") { statistics { buildArtifactsSize packagesSize pipelineArtifactsSize containerRegistrySize } namespace { rootStorageStatistics { buildArtifactsSize } } } }`, nil)
		if want := `"namespace":{"rootStorageStatistics":{"buildArtifactsSize":0}}`; !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
		if want := `"statistics":{"buildArtifactsSize":0,"packagesSize":0,"pipelineArtifactsSize":0,"containerRegistrySize":0}`; !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	})
}

// The deprecated argument for the health status selects as the newer one does.
func TestIssues_health(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.team(1)
		s.rest("dev", "POST", "/projects/team%2Fapp/issues", `{"title":"late","health_status":"at_risk"}`)
		s.want("dev", `{ project(fullPath: "team/app") { issues(healthStatus: atRisk) { nodes { title } } issue(healthStatus: atRisk) { title } } group(fullPath: "team") { issues(healthStatus: onTrack) { nodes { title } } } }`, nil,
			`{"data":{"project":{"issues":{"nodes":[{"title":"late"}]},"issue":{"title":"late"}},"group":{"issues":{"nodes":[]}}}}`)
	})
}
