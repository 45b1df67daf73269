package clients

import (
	"strconv"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// TestDanger runs "danger ci" of danger-js on a merge request: it writes one comment and one on a
// line, writes them again, and deletes the latter when there is nothing to say of the line.
func TestDanger(t *testing.T) {
	t.Parallel()
	run := npmFolder(t, "danger", "danger-js")

	s := &story{server: servertest.Start(t, "", "--rate-limits=off")}
	s.root = s.client(t, servertest.RootToken)
	s.project = got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("App"), InitializeWithReadme: new(true)})).must(t)
	got(s.root.Commits.CreateCommit(s.project.ID, &gitlab.CreateCommitOptions{
		Branch: new("topic"), StartBranch: new("main"), CommitMessage: new("Add a"), Actions: []*gitlab.CommitActionOptions{
			{Action: new(gitlab.FileCreate), FilePath: new("a.js"), Content: new("one\ntwo\nthree\n")},
			{Action: new(gitlab.FileUpdate), FilePath: new("README.md"), Content: new("changed\n")},
		},
	})).must(t)
	m := got(s.root.MergeRequests.CreateMergeRequest(s.project.ID, &gitlab.CreateMergeRequestOptions{
		Title: new("Add a"), SourceBranch: new("topic"), TargetBranch: new("main"),
	})).must(t)
	env := []string{
		"GITLAB_CI=true", "CI_MERGE_REQUEST_IID=" + strconv.FormatInt(m.IID, 10), "CI_PROJECT_PATH=root/app", "CI_COMMIT_SHA=" + m.SHA,
		"CI_API_V4_URL=" + s.server.URL + "/api/v4", "DANGER_GITLAB_HOST=" + s.server.URL, "DANGER_GITLAB_API_TOKEN=" + servertest.RootToken,
		"DANGER_DISABLE_TRANSPILATION=true",
	}
	notes := func() (comments, lines []*gitlab.Note) {
		t.Helper()
		for _, n := range got(s.root.Notes.ListMergeRequestNotes(s.project.ID, m.IID, nil)).must(t) {
			switch {
			case n.System:
			case n.Position == nil:
				comments = append(comments, n)
			default:
				lines = append(lines, n)
			}
		}
		return comments, lines
	}
	const danger = "node_modules/danger/distribution/commands/danger-ci.js"
	for range 2 {
		run(append(env, "TENON_WARN=1"), "node", danger)
		comments, lines := notes()
		if len(comments) != 1 || len(lines) != 1 {
			t.Fatalf("notes: got %d and %d on lines, want 1 and 1", len(comments), len(lines))
		}
		for _, want := range []string{"new: a.js, changed: README.md, commits: 1", "Add a of root, approvals: 0", "added: 3"} {
			if !strings.Contains(comments[0].Body, want) {
				t.Errorf("comment: got %q, want %q in it", comments[0].Body, want)
			}
		}
		if p := lines[0].Position; p.NewPath != "a.js" || p.NewLine != 2 || p.HeadSHA != m.SHA || !strings.Contains(lines[0].Body, "Say why") {
			t.Errorf("comment on a line: got %q at %+v", lines[0].Body, p)
		}
	}
	run(env, "node", danger)
	if comments, lines := notes(); len(comments) != 1 || len(lines) != 0 {
		t.Errorf("notes without a warning: got %d and %d on lines, want 1 and 0", len(comments), len(lines))
	}
}
