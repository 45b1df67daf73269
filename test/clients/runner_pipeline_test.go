package clients

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// shopPipeline is what a team's first pipeline has: stages, files and variables that jobs hand on, a job that may fail, one that waits
// for nothing, one that waits for a user, and a child.
const shopPipeline = `
stages: [build, test, deploy]
variables: {GREETING: hello}
build:
  stage: build
  script:
    - echo "$GREETING from $CI_PROJECT_PATH"
    - echo made > out.txt
    - echo VERSION=1.2 > build.env
  artifacts: {paths: [out.txt], reports: {dotenv: build.env}}
unit:
  stage: test
  script:
    - cat out.txt
    - echo version $VERSION
    - echo coverage 81.5%
    - echo '<testsuite><testcase name="counts" time="0.5"/><testcase name="weighs"><failure>3 is not 4</failure></testcase></testsuite>' > junit.xml
  coverage: '/coverage (\d+\.\d+)%/'
  artifacts: {reports: {junit: junit.xml}}
flaky:
  stage: test
  script: ["exit 3"]
  allow_failure: {exit_codes: [3]}
  after_script: ["echo cleaned up"]
quick:
  stage: test
  needs: []
  script: ["echo quick"]
child:
  stage: deploy
  trigger: {include: child.yml, strategy: depend}
ship:
  stage: deploy
  when: manual
  script: ["echo shipped to $PLACE"]
`

const childPipeline = "inside:\n  script: [echo child of $CI_PIPELINE_SOURCE]\n"

// runs starts the official runner on a configuration that the server made a token for, until the test ends.
func (m machine) runs(t *testing.T, url, token string) {
	t.Helper()
	config := "concurrent = 2\ncheck_interval = 1\n[[runners]]\n  name = \"shed\"\n  url = \"" + url + "\"\n  id = 1\n  token = \"" + token +
		"\"\n  executor = \"shell\"\n  shell = \"bash\"\n  builds_dir = \"" + filepath.Join(m.home, "builds") + "\"\n  cache_dir = \"" + filepath.Join(m.home, "cache") + "\"\n"
	if err := os.WriteFile(filepath.Join(m.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), m.bin, "run", "--config", filepath.Join(m.home, "config.toml"), "--working-directory", m.home)
	cmd.Dir, cmd.Env = m.home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
}

// TestRunner_pipeline pushes a configuration and lets the official runner run its pipeline.
func TestRunner_pipeline(t *testing.T) {
	s := withRunner(t)
	p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Shop"), InitializeWithReadme: new(true)})).must(t)
	got(s.root.Commits.CreateCommit(p.ID, &gitlab.CreateCommitOptions{
		Branch: new(p.DefaultBranch), CommitMessage: new("Configure"), Actions: []*gitlab.CommitActionOptions{
			{Action: new(gitlab.FileCreate), FilePath: new(".gitlab-ci.yml"), Content: new(shopPipeline)},
			{Action: new(gitlab.FileCreate), FilePath: new("child.yml"), Content: new(childPipeline)},
		},
	})).must(t)
	var pipeline *gitlab.Pipeline
	until(t, "the pipeline succeeds", func() bool {
		list := got(s.root.Pipelines.ListProjectPipelines(p.ID, nil)).must(t)
		if len(list) == 0 {
			return false
		}
		pipeline = got(s.root.Pipelines.GetPipeline(p.ID, list[0].ID)).must(t)
		return slices.Contains([]string{"success", "failed", "canceled", "skipped"}, pipeline.Status)
	})
	if pipeline.Status != "success" || pipeline.Source != "push" || pipeline.Coverage != "81.50" {
		t.Errorf("pipeline: %+v", pipeline)
	}
	jobs := map[string]*gitlab.Job{}
	for _, j := range got(s.root.Jobs.ListPipelineJobs(p.ID, pipeline.ID, nil)).must(t) {
		jobs[j.Name] = j
	}
	for name, want := range map[string]string{"build": "success", "unit": "success", "flaky": "failed", "quick": "success", "ship": "manual"} {
		if j := jobs[name]; j == nil || j.Status != want {
			t.Errorf("%s: %+v, want %s", name, j, want)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	for name, want := range map[string]string{"build": "hello from " + p.PathWithNamespace, "unit": "made\n", "flaky": "cleaned up", "quick": "quick"} {
		if log := s.logOf(t, p.ID, jobs[name].ID); !strings.Contains(log, want) {
			t.Errorf("log of %s: want %q in\n%s", name, want, log)
		}
	}
	if log := s.logOf(t, p.ID, jobs["unit"].ID); !strings.Contains(log, "version 1.2") {
		t.Errorf("the variables of build did not reach unit:\n%s", log)
	}
	archive, _, err := s.root.Jobs.GetJobArtifacts(p.ID, jobs["build"].ID)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(archive)
	if err != nil {
		t.Fatal(err)
	}
	if z, err := zip.NewReader(bytes.NewReader(content), int64(len(content))); err != nil || len(z.File) != 1 || z.File[0].Name != "out.txt" {
		t.Errorf("artifacts: %v", err)
	}
	report := got(s.root.Pipelines.GetPipelineTestReport(p.ID, pipeline.ID)).must(t)
	if report.TotalCount != 2 || report.TotalTime != 0.5 || len(report.TestSuites) != 1 || report.TestSuites[0].Name != "unit" ||
		report.TestSuites[0].TestCases[0].Name != "weighs" || report.TestSuites[0].TestCases[0].SystemOutput != "3 is not 4" {
		t.Errorf("test report: %+v", report)
	}
	if sum := got(s.root.Pipelines.GetPipelineTestReportSummary(p.ID, pipeline.ID)).must(t); sum.Total.Failed != 1 || !slices.Equal(sum.TestSuites[0].BuildIDs, []int64{jobs["unit"].ID}) {
		t.Errorf("summary of tests: %+v", sum)
	}
	bridges := got(s.root.Jobs.ListPipelineBridges(p.ID, pipeline.ID, nil)).must(t)
	if len(bridges) != 1 || bridges[0].Status != "success" || bridges[0].DownstreamPipeline == nil || bridges[0].DownstreamPipeline.Status != "success" {
		t.Errorf("bridges: %+v", bridges)
	}

	got(s.root.Jobs.PlayJob(p.ID, jobs["ship"].ID, &gitlab.PlayJobOptions{JobVariablesAttributes: &[]*gitlab.JobVariableOptions{{Key: new("PLACE"), Value: new("the shelf")}}})).must(t)
	until(t, "the manual job succeeds", func() bool { return got(s.root.Jobs.GetJob(p.ID, jobs["ship"].ID)).must(t).Status == "success" })
	if log := s.logOf(t, p.ID, jobs["ship"].ID); !strings.Contains(log, "shipped to the shelf") {
		t.Errorf("log of the manual job:\n%s", log)
	}
	again := got(s.root.Jobs.RetryJob(p.ID, jobs["flaky"].ID)).must(t)
	until(t, "the job that was retried fails", func() bool { return got(s.root.Jobs.GetJob(p.ID, again.ID)).must(t).Status == "failed" })
	s.mergesWhenPiped(t, p)
}

// requestPipeline is a job of merge requests that finds its commit without a branch.
const requestPipeline = `
check:
  script:
    - echo "!$CI_MERGE_REQUEST_IID from $CI_COMMIT_REF_NAME as $CI_MERGE_REQUEST_EVENT_TYPE"
    - git log -1 --format=%s
  rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event"}]
`

// mergesWhenPiped lets the runner run the pipeline of a merge request, which is merged when it succeeds.
func (s *story) mergesWhenPiped(t *testing.T, p *gitlab.Project) {
	t.Helper()
	got(s.root.Commits.CreateCommit(p.ID, &gitlab.CreateCommitOptions{
		Branch: new("topic"), StartBranch: new(p.DefaultBranch), CommitMessage: new("Check merge requests"), Actions: []*gitlab.CommitActionOptions{
			{Action: new(gitlab.FileUpdate), FilePath: new(".gitlab-ci.yml"), Content: new(requestPipeline)},
		},
	})).must(t)
	got(s.root.Projects.EditProject(p.ID, &gitlab.EditProjectOptions{OnlyAllowMergeIfPipelineSucceeds: new(true)})).must(t)
	m := got(s.root.MergeRequests.CreateMergeRequest(p.ID, &gitlab.CreateMergeRequestOptions{
		SourceBranch: new("topic"), TargetBranch: new(p.DefaultBranch), Title: new("Check merge requests"),
	})).must(t)
	var list []*gitlab.PipelineInfo
	until(t, "the merge request has a pipeline", func() bool {
		list = got(s.root.MergeRequests.ListMergeRequestPipelines(p.ID, m.IID)).must(t)
		return len(list) > 0
	})
	if list[0].Ref != "refs/merge-requests/1/head" || list[0].Source != "merge_request_event" {
		t.Errorf("pipelines: %+v", list[0])
	}
	// It may have succeeded by now, and is merged at once then.
	got(s.root.MergeRequests.AcceptMergeRequest(p.ID, m.IID, &gitlab.AcceptMergeRequestOptions{AutoMerge: new(true)})).must(t)
	until(t, "the merge request is merged", func() bool {
		return got(s.root.MergeRequests.GetMergeRequest(p.ID, m.IID, nil)).must(t).State == "merged"
	})
	jobs := got(s.root.Jobs.ListPipelineJobs(p.ID, list[0].ID, nil)).must(t)
	if len(jobs) != 1 || jobs[0].Status != "success" || jobs[0].Ref != "refs/merge-requests/1/head" {
		t.Fatalf("jobs: %+v", jobs)
	}
	log := s.logOf(t, p.ID, jobs[0].ID)
	for _, want := range []string{"!1 from topic as detached", "Check merge requests"} {
		if !strings.Contains(log, want) {
			t.Errorf("log: want %q in\n%s", want, log)
		}
	}
	made := got(s.root.Pipelines.ListProjectPipelines(p.ID, &gitlab.ListProjectPipelinesOptions{Source: new("merge_request_event")})).must(t)
	if len(made) != 1 || made[0].ID != list[0].ID {
		t.Errorf("pipelines by source: %+v", made)
	}
}

// logOf returns the log of a job.
func (s *story) logOf(t *testing.T, project any, job int64) string {
	t.Helper()
	r, _, err := s.root.Jobs.GetTraceFile(project, job)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
