package clients

import (
	"slices"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// TestRunner_needs lets the official runner bring the artifacts of a job of another project, and lets a job mirror that project's pipeline.
func TestRunner_needs(t *testing.T) {
	s := withRunner(t)
	pipeline := func(p *gitlab.Project, text string) *gitlab.Pipeline {
		t.Helper()
		got(s.root.Commits.CreateCommit(p.ID, &gitlab.CreateCommitOptions{
			Branch: new(p.DefaultBranch), CommitMessage: new("Configure"), Actions: []*gitlab.CommitActionOptions{
				{Action: new(gitlab.FileCreate), FilePath: new(".gitlab-ci.yml"), Content: new(text)},
			},
		})).must(t)
		var out *gitlab.Pipeline
		until(t, "the pipeline of "+p.Path+" has ended", func() bool {
			list := got(s.root.Pipelines.ListProjectPipelines(p.ID, nil)).must(t)
			if len(list) == 0 {
				return false
			}
			out = got(s.root.Pipelines.GetPipeline(p.ID, list[0].ID)).must(t)
			return slices.Contains([]string{"success", "failed", "canceled", "skipped"}, out.Status)
		})
		return out
	}
	lib := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Lib"), InitializeWithReadme: new(true)})).must(t)
	app := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("App"), InitializeWithReadme: new(true)})).must(t)
	got(s.root.JobTokenScope.AddProjectToJobScopeAllowList(lib.ID, &gitlab.JobTokenInboundAllowOptions{TargetProjectID: &app.ID})).must(t)
	if p := pipeline(lib, "press: {script: [mkdir out, echo 'made by the library' > out/part], artifacts: {paths: [out]}}\n"); p.Status != "success" {
		t.Fatalf("pipeline of the library: %+v", p)
	}
	p := pipeline(app, `
use:
  script: [cat out/part]
  needs: [{project: `+lib.PathWithNamespace+`, job: press, ref: `+lib.DefaultBranch+`, artifacts: true}]
library:
  needs: {pipeline: `+lib.PathWithNamespace+`}
after:
  script: [echo after the library]
  needs: [library]
`)
	if p.Status != "success" {
		t.Errorf("pipeline: %+v", p)
	}
	for _, j := range got(s.root.Jobs.ListPipelineJobs(app.ID, p.ID, nil)).must(t) {
		want := map[string]string{"use": "made by the library", "after": "after the library"}[j.Name]
		if log := s.logOf(t, app.ID, j.ID); !strings.Contains(log, want) {
			t.Errorf("log of %s: want %q in\n%s", j.Name, want, log)
		}
	}
	bridges := got(s.root.Jobs.ListPipelineBridges(app.ID, p.ID, nil)).must(t)
	if len(bridges) != 1 || bridges[0].Name != "library" || bridges[0].Status != "success" {
		t.Errorf("bridges: %+v", bridges)
	}
}
