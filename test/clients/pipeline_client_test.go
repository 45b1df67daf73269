package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/form"
	"tenon/test/servertest"
)

// TestClient_pipelines lets the Go client do all that it can with pipelines, jobs, their logs and artifacts, checks of
// configurations, resource groups, the allowlist of job tokens and schedules, while a few calls stand in for a runner.
func TestClient_pipelines(t *testing.T) {
	s := &story{server: servertest.Start(t, "")}
	s.root = s.client(t, servertest.RootToken)
	p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Runs"), InitializeWithReadme: new(true)})).must(t)
	const config = "build: {script: [make], resource_group: line, artifacts: {paths: [out]}}\ntest: {stage: test, script: [check]}\nship: {stage: deploy, script: [ship], when: manual}\n"
	checked := got(s.root.Validate.ProjectNamespaceLint(p.ID, &gitlab.ProjectNamespaceLintOptions{Content: new(config)})).must(t)
	wrong := got(s.root.Validate.ProjectNamespaceLint(p.ID, &gitlab.ProjectNamespaceLintOptions{Content: new("a: {stage: none, script: [x]}")})).must(t)
	if !checked.Valid || !strings.Contains(checked.MergedYaml, "resource_group: line") || wrong.Valid || len(wrong.Errors) != 1 {
		t.Errorf("checks: %+v, %+v", checked, wrong)
	}
	got(s.root.RepositoryFiles.CreateFile(p.ID, ".gitlab-ci.yml", &gitlab.CreateFileOptions{Branch: new("main"), Content: new(config), CommitMessage: new("Configure [skip ci]")})).must(t)
	until(t, "skipped", func() bool { // the push has a pipeline of its own
		l := got(s.root.Pipelines.ListProjectPipelines(p.ID, &gitlab.ListProjectPipelinesOptions{Source: new("push")})).must(t)
		return len(l) == 1 && l[0].Status == "skipped"
	})
	if l := got(s.root.Validate.ProjectLint(p.ID, nil)).must(t); !l.Valid {
		t.Errorf("the committed one: %+v", l)
	}

	made := got(s.root.Pipelines.CreatePipeline(p.ID, &gitlab.CreatePipelineOptions{Ref: new("main"), Variables: &[]*gitlab.PipelineVariableOptions{{Key: new("FOR"), Value: new("us")}}})).must(t)
	got(s.root.Pipelines.CreatePipeline(p.ID, &gitlab.CreatePipelineOptions{Ref: new("none")})).refused(t, http.StatusBadRequest, "Reference not found")
	if v := got(s.root.Pipelines.GetPipelineVariables(p.ID, made.ID)).must(t); len(v) != 1 || v[0].Key != "FOR" || v[0].Value != "us" {
		t.Errorf("variables: %+v", v)
	}
	if named := got(s.root.Pipelines.UpdatePipelineMetadata(p.ID, made.ID, &gitlab.UpdatePipelineMetadataOptions{Name: new("Nightly")})).must(t); named.Name != "Nightly" {
		t.Errorf("named: %+v", named)
	}
	if l := got(s.root.Pipelines.ListProjectPipelines(p.ID, &gitlab.ListProjectPipelinesOptions{Name: new("Nightly"), Source: new("api")})).must(t); len(l) != 1 || l[0].ID != made.ID {
		t.Errorf("pipelines: %+v", l)
	}
	until(t, "given its resource group", func() bool {
		return got(s.root.Pipelines.GetLatestPipeline(p.ID, nil)).must(t).DetailedStatus.Text == "Pending" &&
			len(got(s.root.Jobs.ListPipelineJobs(p.ID, made.ID, &gitlab.ListJobsOptions{Scope: new([]gitlab.BuildStateValue{gitlab.Pending})})).must(t)) == 2
	})
	if l := got(s.root.Pipelines.GetLatestPipeline(p.ID, nil)).must(t); l.ID != made.ID {
		t.Errorf("the latest: %+v", l)
	}

	groups := got(s.root.ResourceGroup.GetAllResourceGroupsForAProject(p.ID)).must(t)
	if len(groups) != 1 || groups[0].Key != "line" || groups[0].ProcessMode != "unordered" {
		t.Errorf("resource groups: %+v", groups)
	}
	if g := got(s.root.ResourceGroup.EditAnExistingResourceGroup(p.ID, "line", &gitlab.EditAnExistingResourceGroupOptions{ProcessMode: new(gitlab.OldestFirst)})).must(t); g.ProcessMode != "oldest_first" {
		t.Errorf("changed resource group: %+v", g)
	}
	if g := got(s.root.ResourceGroup.GetASpecificResourceGroup(p.ID, "line")).must(t); g.ProcessMode != "oldest_first" {
		t.Errorf("resource group: %+v", g)
	}
	got(s.root.ResourceGroup.ListUpcomingJobsForASpecificResourceGroup(p.ID, "line")).must(t)

	runner := got(s.root.Users.CreateUserRunner(&gitlab.CreateUserRunnerOptions{RunnerType: new("project_type"), ProjectID: new(p.ID)})).must(t)
	build := s.take(t, runner.Token)
	inJob, err := gitlab.NewAuthSourceClient(gitlab.JobTokenAuthSource{Token: build.Token}, gitlab.WithBaseURL(s.server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if j := got(inJob.Jobs.GetJobTokensJob(nil)).must(t); j.ID != build.ID || j.Name != "build" || j.Status != "running" {
		t.Errorf("the job of a token: %+v", j)
	}
	s.finish(t, build, "built\n", map[string]string{"out/a.txt": "made"})
	check := s.take(t, runner.Token)
	s.finish(t, check, "checked\n", nil)
	jobs := got(s.root.Jobs.ListPipelineJobs(p.ID, made.ID, &gitlab.ListJobsOptions{Scope: new([]gitlab.BuildStateValue{gitlab.Success})})).must(t)
	if len(jobs) != 2 || got(s.root.Pipelines.GetPipeline(p.ID, made.ID)).must(t).Status != "success" {
		t.Fatalf("jobs that are done: %+v", jobs)
	}
	read := func(r *bytes.Reader) string {
		t.Helper()
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if log := read(got(s.root.Jobs.GetTraceFile(p.ID, build.ID)).must(t)); log != "built\n" {
		t.Errorf("log: %q", log)
	}
	of := &gitlab.DownloadArtifactsFileOptions{Job: new("build")}
	for name, one := range map[string]answer[*bytes.Reader]{
		"of a job":    got(s.root.Jobs.DownloadSingleArtifactsFile(p.ID, build.ID, "out/a.txt")),
		"of a branch": got(s.root.Jobs.DownloadSingleArtifactsFileByTagOrBranch(p.ID, "main", "out/a.txt", of)),
	} {
		if text := read(one.must(t)); text != "made" {
			t.Errorf("a file %s: %q", name, text)
		}
	}
	if a, b := read(got(s.root.Jobs.GetJobArtifacts(p.ID, build.ID)).must(t)), read(got(s.root.Jobs.DownloadArtifactsFile(p.ID, "main", of)).must(t)); a != b || !strings.HasPrefix(a, "PK") {
		t.Errorf("archives of %d and %d bytes", len(a), len(b))
	}
	if j := got(s.root.Jobs.KeepArtifacts(p.ID, build.ID)).must(t); j.ArtifactsExpireAt != nil || len(j.Artifacts) != 2 {
		t.Errorf("kept: %+v", j)
	}
	done(s.root.Jobs.DeleteArtifacts(p.ID, build.ID)).must(t)
	got(s.root.Jobs.DownloadSingleArtifactsFile(p.ID, build.ID, "out/a.txt")).refused(t, http.StatusNotFound, "")
	if j := got(s.root.Jobs.EraseJob(p.ID, check.ID)).must(t); j.ErasedAt == nil {
		t.Errorf("erased: %+v", j)
	}
	all := got(s.root.Jobs.ListProjectJobs(p.ID, nil)).must(t)
	at := slices.IndexFunc(all, func(j *gitlab.Job) bool { return j.Name == "ship" })
	if at < 0 || all[at].Status != "manual" || got(s.root.Jobs.PlayJob(p.ID, all[at].ID, nil)).must(t).Status != "pending" {
		t.Errorf("jobs: %+v", all)
	}
	if j := got(s.root.Jobs.CancelJob(p.ID, all[at].ID)).must(t); j.Status != "canceled" {
		t.Errorf("canceled: %+v", j)
	}
	if j := got(s.root.Jobs.RetryJob(p.ID, all[at].ID)).must(t); j.Status != "pending" || j.ID == all[at].ID {
		t.Errorf("again: %+v", j)
	}
	next := got(s.root.Pipelines.CreatePipeline(p.ID, &gitlab.CreatePipelineOptions{Ref: new("main")})).must(t)
	if c := got(s.root.Pipelines.CancelPipelineBuild(p.ID, next.ID)).must(t); c.Status != "canceled" {
		t.Errorf("canceled: %+v", c)
	}
	if r := got(s.root.Pipelines.RetryPipelineBuild(p.ID, next.ID)).must(t); r.Status != "pending" && r.Status != "running" {
		t.Errorf("retried: %+v", r)
	}
	done(s.root.Jobs.DeleteProjectArtifacts(p.ID)).must(t)
	done(s.root.Pipelines.DeletePipeline(p.ID, made.ID)).must(t)
	got(s.root.Pipelines.GetPipeline(p.ID, made.ID)).refused(t, http.StatusNotFound, "")
	s.allowlist(t, p.ID)
	s.schedules(t, p.ID)
}

// allowlist lets the client do all that it can with the allowlist of job tokens.
func (s *story) allowlist(t *testing.T, project int64) {
	t.Helper()
	other := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Other")})).must(t)
	group := got(s.root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Works"), Path: new("works")})).must(t)
	got(s.root.Settings.UpdateSettings(&gitlab.UpdateSettingsOptions{EnforceCIInboundJobTokenScopeEnabled: new(false)})).must(t)
	done(s.root.JobTokenScope.PatchProjectJobTokenAccessSettings(project, &gitlab.PatchProjectJobTokenAccessSettingsOptions{Enabled: false})).must(t)
	if got(s.root.JobTokenScope.GetProjectJobTokenAccessSettings(project)).must(t).InboundEnabled {
		t.Error("the allowlist is still on")
	}
	got(s.root.JobTokenScope.AddProjectToJobScopeAllowList(project, &gitlab.JobTokenInboundAllowOptions{TargetProjectID: new(other.ID)})).must(t)
	got(s.root.JobTokenScope.AddGroupToJobTokenAllowlist(project, &gitlab.AddGroupToJobTokenAllowlistOptions{TargetGroupID: new(group.ID)})).must(t)
	if l := got(s.root.JobTokenScope.GetProjectJobTokenInboundAllowList(project, nil)).must(t); len(l) != 2 {
		t.Errorf("projects of the allowlist: %+v", l)
	}
	if l := got(s.root.JobTokenScope.GetJobTokenAllowlistGroups(project, nil)).must(t); len(l) != 1 || l[0].ID != group.ID {
		t.Errorf("groups of the allowlist: %+v", l)
	}
	done(s.root.JobTokenScope.RemoveProjectFromJobScopeAllowList(project, other.ID)).must(t)
	done(s.root.JobTokenScope.RemoveGroupFromJobTokenAllowlist(project, group.ID)).must(t)
}

// schedules lets the client do all that it can with schedules of pipelines.
func (s *story) schedules(t *testing.T, project int64) {
	t.Helper()
	c := s.root.PipelineSchedules
	made := got(c.CreatePipelineSchedule(project, &gitlab.CreatePipelineScheduleOptions{Description: new("Nights"), Ref: new("main"), Cron: new("0 1 * * *"), CronTimezone: new("Europe/Berlin")})).must(t)
	if made.Ref != "main" || !made.Active || made.NextRunAt == nil || made.Owner.Username != "root" {
		t.Errorf("schedule: %+v", made)
	}
	got(c.CreatePipelineSchedule(project, &gitlab.CreatePipelineScheduleOptions{Description: new("x"), Ref: new("main"), Cron: new("x")})).refused(t, http.StatusBadRequest, "syntax is invalid")
	got(c.CreatePipelineScheduleVariable(project, made.ID, &gitlab.CreatePipelineScheduleVariableOptions{Key: new("A"), Value: new("one")})).must(t)
	if v := got(c.EditPipelineScheduleVariable(project, made.ID, "A", &gitlab.EditPipelineScheduleVariableOptions{Value: new("two")})).must(t); v.Value != "two" {
		t.Errorf("variable: %+v", v)
	}
	if one := got(c.GetPipelineSchedule(project, made.ID)).must(t); len(one.Variables) != 1 || one.Variables[0].Value != "two" {
		t.Errorf("schedule: %+v", one)
	}
	got(c.DeletePipelineScheduleVariable(project, made.ID, "A")).must(t)
	if changed := got(c.EditPipelineSchedule(project, made.ID, &gitlab.EditPipelineScheduleOptions{Active: new(false)})).must(t); changed.Active {
		t.Errorf("changed: %+v", changed)
	}
	got(c.TakeOwnershipOfPipelineSchedule(project, made.ID)).must(t)
	done(c.RunPipelineSchedule(project, made.ID)).must(t)
	if l := got(c.ListPipelineSchedules(project, nil)).must(t); len(l) != 1 {
		t.Errorf("schedules: %+v", l)
	}
	got(c.ListPipelinesTriggeredBySchedule(project, made.ID, nil)).must(t)
	done(c.DeletePipelineSchedule(project, made.ID)).must(t)
	got(c.GetPipelineSchedule(project, made.ID)).refused(t, http.StatusNotFound, "")
}

// takenJob is a job that a runner has.
type takenJob struct {
	ID    int64
	Token string
}

// take asks for a job as a runner does.
func (s *story) take(t *testing.T, token string) takenJob {
	t.Helper()
	var job takenJob
	until(t, "given a job", func() bool {
		body := fmt.Sprintf(`{"token":%q,"info":{"features":{"upload_multiple_artifacts":true,"upload_raw_artifacts":true}}}`, token)
		status, text := s.asRunner(t, http.MethodPost, "/jobs/request", "application/json", "", strings.NewReader(body))
		return status == http.StatusCreated && json.Unmarshal(text, &job) == nil
	})
	return job
}

// finish writes the log and the artifacts of a job, and ends it well.
func (s *story) finish(t *testing.T, j takenJob, log string, files map[string]string) {
	t.Helper()
	at := fmt.Sprintf("/jobs/%d", j.ID)
	if len(files) > 0 {
		body, kind := form.File(t, "file", "artifacts.zip", form.Archive(t, files))
		if status, text := s.asRunner(t, http.MethodPost, at+"/artifacts?artifact_type=archive&artifact_format=zip", kind, j.Token, bytes.NewReader(body)); status != http.StatusCreated {
			t.Fatalf("artifacts: %d %s", status, text)
		}
	}
	if status, text := s.asRunner(t, http.MethodPatch, at+"/trace", "text/plain", j.Token, strings.NewReader(log)); status != http.StatusAccepted {
		t.Fatalf("log: %d %s", status, text)
	}
	if status, text := s.asRunner(t, http.MethodPut, at, "application/json", "", strings.NewReader(fmt.Sprintf(`{"token":%q,"state":"success"}`, j.Token))); status != http.StatusOK {
		t.Fatalf("end: %d %s", status, text)
	}
}

// asRunner makes a call of a runner.
func (s *story) asRunner(t *testing.T, method, path, kind, token string, body io.Reader) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.server.URL+"/api/v4"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if method == http.MethodPatch {
		req.Header.Set("Content-Range", fmt.Sprintf("0-%d", req.ContentLength-1))
	}
	if token != "" {
		req.Header.Set("Job-Token", token)
	}
	res, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, text
}
