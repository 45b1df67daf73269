package clients

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// releaseConfig has the usual plugins, a file and a milestone.
const releaseConfig = `{
  "branches": ["main"],
  "plugins": [
    "@semantic-release/commit-analyzer",
    "@semantic-release/release-notes-generator",
    ["@semantic-release/gitlab", {
      "assets": [{"path": "dist/tool.txt", "label": "The tool", "type": "package", "filepath": "/bin/tool"}],
      "milestones": ["first"]
    }]
  ]
}
`

// TestSemanticRelease lets semantic-release make a project's first release from a merge request, the next one from a fix, and none where nothing asks
// for one: with tags, notes, a file, and comments at what was released.
func TestSemanticRelease(t *testing.T) {
	t.Parallel()
	run := npmFolder(t, "semanticrelease", "semantic-release")
	s := &story{server: servertest.Start(t, "", "--rate-limits=off")}
	s.root = s.client(t, servertest.RootToken)
	s.project = got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Shop"), InitializeWithReadme: new(true)})).must(t)
	p := s.project.ID
	got(s.root.Milestones.CreateMilestone(p, &gitlab.CreateMilestoneOptions{Title: new("first")})).must(t)
	got(s.root.Issues.CreateIssue(p, &gitlab.CreateIssueOptions{Title: new("No door")})).must(t)
	work := filepath.Join(strings.TrimSpace(run(nil, "pwd")), "work")
	s.git(t, filepath.Dir(work), "", "clone", "-q", s.remote("root", servertest.RootToken), work)
	if err := os.Mkdir(filepath.Join(work, "dist"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{".releaserc.json": releaseConfig, "dist/tool.txt": "a tool\n"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.git(t, work, "", "add", ".releaserc.json")
	s.git(t, work, "", "commit", "-q", "-m", "chore: configure")
	s.git(t, work, "", "push", "-q", "origin", "main", "main:door")
	s.git(t, work, "", "switch", "-qc", "door")
	s.git(t, work, "", "commit", "-q", "--allow-empty", "-m", "feat(front): add a door")
	s.git(t, work, "", "push", "-q", "origin", "door")
	m := got(s.root.MergeRequests.CreateMergeRequest(p, &gitlab.CreateMergeRequestOptions{
		Title: new("Add a door"), Description: new("Closes #1"), SourceBranch: new("door"), TargetBranch: new("main"),
	})).must(t)
	until(t, "the merge request can be merged", func() bool {
		return got(s.root.MergeRequests.GetMergeRequest(p, m.IID, nil)).must(t).DetailedMergeStatus == "mergeable"
	})
	got(s.root.MergeRequests.AcceptMergeRequest(p, m.IID, nil)).must(t)
	s.git(t, work, "", "switch", "-q", "main")
	release := func(want string) {
		t.Helper()
		s.git(t, work, "", "pull", "-q", "origin", "main")
		// The address has no credentials: semantic-release puts its own into it to push the tag.
		out := run([]string{
			"GITLAB_URL=" + s.server.URL, "GITLAB_TOKEN=" + servertest.RootToken, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "HOME=" + filepath.Dir(work), "NO_COLOR=1",
		}, "env", "-C", "work", "node", "../node_modules/semantic-release/bin/semantic-release.js", "--no-ci", "--repository-url", s.project.HTTPURLToRepo)
		if !strings.Contains(out, want) {
			t.Fatalf("semantic-release: want %q in\n%s", want, out)
		}
	}
	release("Published release 1.0.0 on default channel")
	first := got(s.root.Releases.GetRelease(p, "v1.0.0")).must(t)
	if !strings.Contains(first.Description, "### Features") || !strings.Contains(first.Description, "**front:** add a door") || len(first.Assets.Links) != 1 ||
		first.Assets.Links[0].Name != "The tool" || first.Assets.Links[0].LinkType != "package" || len(first.Milestones) != 1 || first.Milestones[0].Title != "first" {
		t.Errorf("the first release: %+v", first)
	}
	if head := s.git(t, work, "", "rev-parse", "origin/main"); first.Commit.ID != head {
		t.Errorf("commit of the first release: got %s, want %s", first.Commit.ID, head)
	}
	if content := s.download(t, first.Assets.Links[0].DirectAssetURL); content != "a tool\n" {
		t.Errorf("file of the first release: %q", content)
	}
	notes := got(s.root.Notes.ListMergeRequestNotes(p, m.IID, nil)).must(t)
	if !strings.Contains(bodies(notes), "This MR is included in version 1.0.0") {
		t.Errorf("notes of the merge request: %s", bodies(notes))
	}
	if of := got(s.root.Notes.ListIssueNotes(p, 1, nil)).must(t); !strings.Contains(bodies(of), "This issue has been resolved in version 1.0.0") {
		t.Errorf("notes of the issue: %s", bodies(of))
	}

	s.git(t, work, "", "commit", "-q", "--allow-empty", "-m", "fix: oil the door")
	s.git(t, work, "", "push", "-q", "origin", "main")
	release("Published release 1.0.1 on default channel")
	second := got(s.root.Releases.GetRelease(p, "v1.0.1")).must(t)
	if !strings.Contains(second.Description, "### Bug Fixes") || !strings.Contains(second.Description, "oil the door") || strings.Contains(second.Description, "add a door") ||
		!strings.Contains(second.Description, "compare/v1.0.0...v1.0.1") {
		t.Errorf("the second release: %s", second.Description)
	}
	s.git(t, work, "", "commit", "-q", "--allow-empty", "-m", "docs: describe the door")
	s.git(t, work, "", "push", "-q", "origin", "main")
	release("There are no relevant changes, so no new version is released")
	if latest := got(s.root.Releases.GetLatestRelease(p)).must(t); latest.TagName != "v1.0.1" {
		t.Errorf("the latest release: %+v", latest)
	}
}

func bodies(notes []*gitlab.Note) string {
	var all []string
	for _, n := range notes {
		all = append(all, n.Body)
	}
	return strings.Join(all, "\n")
}

// download follows an address of the server as root.
func (s *story) download(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Private-Token", servertest.RootToken)
	res, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("GET %s: %d, %v", url, res.StatusCode, err)
	}
	return string(content)
}
