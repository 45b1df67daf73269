package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// sourcesPipeline needs what git does not bring by itself: the repository of another project, a large file, and what an earlier job left
// in its cache. One job fails, and one does not end until it is canceled.
const sourcesPipeline = `
stages: [fill, use]
variables: {GIT_SUBMODULE_STRATEGY: recursive}
fill:
  stage: fill
  cache: {key: store, paths: [store/]}
  script:
    - cat lib/lib.txt
    - wc -c < big.bin
    - mkdir -p store
    - echo "kept by $CI_JOB_NAME" > store/note
use:
  stage: use
  cache: {key: store, paths: [store/], policy: pull}
  script: [cat store/note]
broken:
  stage: use
  script: [exit 4]
slow:
  stage: use
  script: [echo "it goes on", sleep 300]
`

// TestRunner_sources lets the official runner bring a private submodule by its job token, a file of Git LFS and a cache, and ends its jobs
// by failure and by cancelation.
func TestRunner_sources(t *testing.T) {
	if _, err := exec.LookPath("git-lfs"); err != nil {
		t.Skip("runner: skipped (git-lfs is not installed)")
	}
	s := withRunner(t)
	lib := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Lib"), InitializeWithReadme: new(true)})).must(t)
	got(s.root.Commits.CreateCommit(lib.ID, &gitlab.CreateCommitOptions{
		Branch: new(lib.DefaultBranch), CommitMessage: new("Add a part"), Actions: []*gitlab.CommitActionOptions{
			{Action: new(gitlab.FileCreate), FilePath: new("lib.txt"), Content: new("a part of the library\n")},
		},
	})).must(t)
	s.project = got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Sources"), InitializeWithReadme: new(true)})).must(t)
	got(s.root.JobTokenScope.AddProjectToJobScopeAllowList(lib.ID, &gitlab.JobTokenInboundAllowOptions{TargetProjectID: &s.project.ID})).must(t)

	home := t.TempDir()
	work := filepath.Join(home, "work")
	s.git(t, home, "", "clone", "-q", s.remote("root", servertest.RootToken), work)
	s.git(t, work, "", "submodule", "--quiet", "add", "../lib.git", "lib")
	s.git(t, work, "", "lfs", "install", "--local")
	s.git(t, work, "", "lfs", "track", "*.bin")
	for name, content := range map[string]string{"big.bin": strings.Repeat("x", 3<<20), ".gitlab-ci.yml": sourcesPipeline} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.git(t, work, "", "add", ".")
	s.git(t, work, "", "commit", "-q", "-m", "Build from parts")
	s.git(t, work, "", "push", "-q")

	var pipelines []*gitlab.PipelineInfo
	until(t, "the push has a pipeline", func() bool {
		pipelines = got(s.root.Pipelines.ListProjectPipelines(s.project.ID, nil)).must(t)
		return len(pipelines) > 0
	})
	jobs := map[string]*gitlab.Job{}
	look := func() map[string]*gitlab.Job {
		for _, j := range got(s.root.Jobs.ListPipelineJobs(s.project.ID, pipelines[0].ID, nil)).must(t) {
			jobs[j.Name] = j
		}
		return jobs
	}
	until(t, "the slow job says something", func() bool {
		return look()["slow"].Status == "running" && strings.Contains(s.logOf(t, s.project.ID, jobs["slow"].ID), "it goes on")
	})
	got(s.root.Jobs.CancelJob(s.project.ID, jobs["slow"].ID)).must(t)
	until(t, "all jobs have ended", func() bool {
		for _, j := range look() {
			if j.FinishedAt == nil {
				return false
			}
		}
		return true
	})
	for name, want := range map[string]string{"fill": "success", "use": "success", "broken": "failed", "slow": "canceled"} {
		if j := jobs[name]; j == nil || j.Status != want {
			t.Errorf("%s: %+v, want %s", name, j, want)
		}
	}
	if j := jobs["broken"]; j.FailureReason != "script_failure" {
		t.Errorf("broken: for %q", j.FailureReason)
	}
	for name, want := range map[string]string{"fill": "a part of the library", "use": "kept by fill"} {
		if log := s.logOf(t, s.project.ID, jobs[name].ID); !strings.Contains(log, want) || name == "fill" && !strings.Contains(log, "3145728") {
			t.Errorf("log of %s: want %q in\n%s", name, want, log)
		}
	}
	if got := got(s.root.Pipelines.GetPipeline(s.project.ID, pipelines[0].ID)).must(t); got.Status != "failed" && got.Status != "canceled" {
		t.Errorf("pipeline: %s", got.Status)
	}
}
