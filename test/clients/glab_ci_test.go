package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// terminalPipeline is what glab looks at while the official runner runs it.
const terminalPipeline = `
stages: [make, ship]
press:
  stage: make
  script: [echo "pressed in $COLOR", echo made > out.txt]
  artifacts: {paths: [out.txt]}
broken:
  stage: make
  script: [exit 3]
  allow_failure: true
ship:
  stage: ship
  when: manual
  script: [echo shipped]
`

// TestGlab_ci lets glab check configurations, start, watch, retry, cancel and delete pipelines and jobs, fetch artifacts, and keep
// schedules, while the official runner works.
func TestGlab_ci(t *testing.T) {
	bin, runner := glab(t), runnerProgram(t)
	s := &story{server: servertest.Start(t, "")}
	s.root = s.client(t, servertest.RootToken)
	s.project = got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Glab"), InitializeWithReadme: new(true)})).must(t)
	home := t.TempDir()
	work := filepath.Join(home, "work")
	s.git(t, home, "", "clone", "-q", s.remote("root", servertest.RootToken), work)
	for name, content := range map[string]string{".gitlab-ci.yml": terminalPipeline, "wrong.yml": "press: {scripts: [x]}\n"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.git(t, work, "", "add", ".")
	s.git(t, work, "", "commit", "-q", "-m", "Configure [skip ci]")
	s.git(t, work, "", "push", "-q")
	made := got(s.root.Users.CreateUserRunner(&gitlab.CreateUserRunnerOptions{RunnerType: new("instance_type"), RunUntagged: new(true)})).must(t)
	token := got(s.root.PipelineTriggers.AddPipelineTrigger(s.project.ID, &gitlab.AddPipelineTriggerOptions{Description: new("terminal")})).must(t).Token
	shell := terminal{home: home, work: work, bin: bin}.configure(t, s.server.URL)
	run := func(lines ...[]string) { // arguments, cut at bars, and what glab prints
		t.Helper()
		for _, step := range lines {
			out := shell.run(t, strings.Split(step[0], "|")...)
			for _, want := range step[1:] {
				if !strings.Contains(out, want) {
					t.Errorf("glab %s: got %q, want %q in it", strings.ReplaceAll(step[0], "|", " "), out, want)
				}
			}
		}
	}
	run(
		[]string{"ci|lint", "CI/CD YAML is valid!"},
		[]string{"ci|lint|--dry-run|--include-jobs|--ref|main", "CI/CD YAML is valid!"},

		[]string{"ci|config|compile", "pressed in $COLOR"},
		[]string{"ci|run|--branch|main|--variables|COLOR:blue", "Created pipeline"},
	)
	first := got(s.root.Pipelines.GetLatestPipeline(s.project.ID, nil)).must(t)
	machine{bin: runner, home: t.TempDir()}.runs(t, s.server.URL, made.Token)
	job := func(name, status string) *gitlab.Job {
		t.Helper()
		var found *gitlab.Job
		until(t, name+" is "+status, func() bool {
			for _, j := range got(s.root.Jobs.ListPipelineJobs(s.project.ID, first.ID, nil)).must(t) {
				if j.Name == name && j.Status == status {
					found = j
				}
			}
			return found != nil
		})
		return found
	}
	press, broken, ship := job("press", "success"), job("broken", "failed"), job("ship", "manual")
	number := func(id int64) string { return fmt.Sprint(id) }
	run(
		[]string{"ci|list", "(success) • #" + number(first.ID), "main"},
		[]string{"ci|list|--status=failed|--ref|main|--source|api", "No"},
		[]string{"ci|get|--pipeline-id|" + number(first.ID) + "|--with-job-details|--with-variables", "press", "COLOR", "blue"},
		[]string{"ci|status|--branch|main|--compact", "press", "broken"},
		[]string{"ci|trace|" + number(press.ID), "pressed in blue", "Job succeeded"},
		[]string{"ci|trigger|" + number(ship.ID), number(ship.ID)},
	)
	job("ship", "success")
	run(
		[]string{"job|artifact|main|press|--path|fetched"},
		[]string{"ci|retry|" + number(broken.ID), "Retried job"},
	)
	if b, err := os.ReadFile(filepath.Join(work, "fetched", "out.txt")); err != nil || string(b) != "made\n" {
		t.Errorf("artifacts: %q, %v", b, err)
	}
	run(
		[]string{"ci|run-trig|--token|" + token + "|--branch|main|--variables|COLOR:green", "Created pipeline"},
		[]string{"schedule|create|--cron|0 3 * * *|--cronTimeZone|Europe/Berlin|--description|nightly|--ref|main|--variable|COLOR:black", "Created schedule with ID 1"},
		[]string{"schedule|list", "nightly", "0 3 * * *", "true"},
		[]string{"schedule|update|1|--description|weekly|--cron|0 3 * * 1|--active=false|--create-variable|SIZE:large|--update-variable|COLOR:white", "Updated schedule with ID 1"},
		[]string{"schedule|list", "weekly", "0 3 * * 1", "false"},
		[]string{"schedule|run|1", "Started schedule with ID 1"},
		[]string{"schedule|delete|1", "Deleted schedule with ID 1"},
	)
	latest := got(s.root.Pipelines.GetLatestPipeline(s.project.ID, nil)).must(t)
	run(
		[]string{"ci|cancel|pipeline|" + number(latest.ID), number(latest.ID)},
		[]string{"ci|cancel|job|" + number(press.ID)},
		[]string{"ci|delete|" + number(first.ID), "#" + number(first.ID)},
		[]string{"ci|list", "#" + number(latest.ID)},
	)
	if _, resp, err := s.root.Pipelines.GetPipeline(s.project.ID, first.ID); err == nil || resp.StatusCode != 404 {
		t.Errorf("a pipeline that was deleted: %v", err)
	}
}
