package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// releasePipeline makes a release that takes its version from an earlier job and its text from a file, and works once more for the tag.
const releasePipeline = `
stages: [version, release, announce]
version:
  stage: version
  script:
    - echo VERSION=1.2 > version.env
    - "echo 'What is *new*: $(touch pwned)' > notes.md"
  artifacts: {paths: [notes.md], reports: {dotenv: version.env}}
  rules: [{if: $CI_COMMIT_TAG == null}]
release:
  stage: release
  script: [echo before the release]
  release:
    name: 'Version $VERSION "of all"'
    description: notes.md
    tag_name: v$VERSION
    tag_message: Made by $CI_JOB_NAME
    ref: $CI_COMMIT_SHA
    milestones: [v1, later]
    released_at: '2020-01-02T03:04:05Z'
    assets:
      links:
        - {name: 'tool "$VERSION"', url: 'https://example.com/tool/$VERSION', filepath: /bin/tool, link_type: package}
        - {name: manual, url: 'https://example.com/manual'}
  after_script: [echo after the release]
  rules: [{if: $CI_COMMIT_TAG == null}]
announce:
  stage: announce
  script: ['echo "$CI_COMMIT_TAG is out: $CI_RELEASE_DESCRIPTION"']
  rules: [{if: $CI_COMMIT_TAG}]
`

// TestRunner_release lets the official runner call release-cli for a job with "release", and then run the pipeline of the tag; the same release
// once more is refused.
func TestRunner_release(t *testing.T) {
	home := t.TempDir()
	tools, err := filepath.Abs(filepath.Join("testdata", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	// Scripts run in a login shell.
	if err := os.WriteFile(filepath.Join(home, ".profile"), []byte("PATH='"+tools+"':$PATH\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := withRunnerAt(t, home, "--rate-limits=off")
	p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Shop"), InitializeWithReadme: new(true)})).must(t)
	for _, title := range []string{"v1", "later"} {
		got(s.root.Milestones.CreateMilestone(p.ID, &gitlab.CreateMilestoneOptions{Title: &title})).must(t)
	}
	commit := s.configures(t, p, p.DefaultBranch, releasePipeline)
	job := s.jobThat(t, p, "release", "success", "failed")
	log := s.logOf(t, p.ID, job.ID)
	for _, want := range []string{"before the release", `Release created successfully! v1.2 with 6 assets (manual, tool "1.2"), milestones `, "after the release"} {
		if !strings.Contains(log, want) {
			t.Errorf("log of the release: want %q in\n%s", want, log)
		}
	}
	r := got(s.root.Releases.GetRelease(p.ID, "v1.2")).must(t)
	if r.Name != `Version 1.2 "of all"` || r.Description != "What is *new*: $(touch pwned)\n" || r.ReleasedAt.Year() != 2020 || r.Author.Username != "root" ||
		r.Commit.ID != commit || len(r.Milestones) != 2 || len(r.Assets.Links) != 2 || len(r.Evidences) != 0 {
		t.Errorf("release: %+v", r)
	}
	if l := r.Assets.Links; len(l) == 2 && (l[1].URL != "https://example.com/tool/1.2" || l[1].LinkType != "package" || !strings.HasSuffix(l[1].DirectAssetURL, "/-/releases/v1.2/downloads/bin/tool")) {
		t.Errorf("link: %+v", l[1])
	}
	if tag := got(s.root.Tags.GetTag(p.ID, "v1.2")).must(t); tag.Message != "Made by release" || tag.Commit.ID != commit {
		t.Errorf("tag: %+v", tag)
	}
	announced := s.jobThat(t, p, "announce", "success", "failed")
	if log := s.logOf(t, p.ID, announced.ID); announced.Ref != "v1.2" || !strings.Contains(log, "v1.2 is out: What is *new*: $(touch pwned)") {
		t.Errorf("log for the tag %s:\n%s", announced.Ref, log)
	}

	again := got(s.root.Jobs.RetryJob(p.ID, job.ID)).must(t)
	until(t, "the second release is refused", func() bool { return got(s.root.Jobs.GetJob(p.ID, again.ID)).must(t).Status == "failed" })
	if log := s.logOf(t, p.ID, again.ID); !strings.Contains(log, "status_code: 409") || !strings.Contains(log, "after the release") {
		t.Errorf("log of the second release:\n%s", log)
	}
}

// configures commits a configuration of pipelines on a branch, which is made where it is new, and returns the commit.
func (s *story) configures(t *testing.T, p *gitlab.Project, branch, text string) string {
	t.Helper()
	o := &gitlab.CreateCommitOptions{Branch: &branch, CommitMessage: new("Configure"), Actions: []*gitlab.CommitActionOptions{
		{Action: new(gitlab.FileCreate), FilePath: new(".gitlab-ci.yml"), Content: &text},
	}}
	if branch != p.DefaultBranch {
		o.StartBranch = &p.DefaultBranch
	}
	return got(s.root.Commits.CreateCommit(p.ID, o)).must(t).ID
}

// jobThat waits until the newest job of a name is in one of the states: the first of them, or the test fails.
func (s *story) jobThat(t *testing.T, p *gitlab.Project, name string, states ...string) *gitlab.Job {
	t.Helper()
	var found *gitlab.Job
	until(t, name+" is "+strings.Join(states, " or "), func() bool {
		for _, j := range got(s.root.Jobs.ListProjectJobs(p.ID, nil)).must(t) { // newest first
			if j.Name == name {
				found = j
				break
			}
		}
		for _, state := range states {
			if found != nil && found.Status == state {
				return true
			}
		}
		return false
	})
	if found.Status != states[0] {
		t.Fatalf("%s: %s, want %s, log:\n%s", name, found.Status, states[0], s.logOf(t, p.ID, found.ID))
	}
	return found
}
