package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// TestRunner_names lets the official runner run a job of a branch whose name and whose commit are written to be executed, or to
// get at a secret. They stay what they are.
func TestRunner_names(t *testing.T) {
	s := withRunner(t)
	p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Names"), InitializeWithReadme: new(true)})).must(t)
	got(s.root.ProjectVariables.CreateVariable(p.ID, &gitlab.CreateProjectVariableOptions{Key: new("SECRET"), Value: new("do-not-tell-anybody")})).must(t)

	mark := filepath.Join(t.TempDir(), "executed")
	run := "touch${IFS}" + mark
	branch, title := "x$("+run+");"+run+";`"+run+"`&&"+run, "Print $SECRET and ${CI_JOB_TOKEN} and $("+run+")"
	got(s.root.Commits.CreateCommit(p.ID, &gitlab.CreateCommitOptions{
		Branch: new(branch), StartBranch: new(p.DefaultBranch), CommitMessage: new(title), Actions: []*gitlab.CommitActionOptions{
			{
				Action: new(gitlab.FileCreate), FilePath: new(".gitlab-ci.yml"),
				Content: new("show:\n  script:\n    - printf 'branch %s\\n' \"$CI_COMMIT_BRANCH\"\n    - printf 'title %s\\n' \"$CI_COMMIT_TITLE\"\n"),
			},
		},
	})).must(t)
	var jobs []*gitlab.Job
	until(t, "the job has ended", func() bool {
		jobs = got(s.root.Jobs.ListProjectJobs(p.ID, nil)).must(t)
		return len(jobs) == 1 && jobs[0].FinishedAt != nil
	})
	log := s.logOf(t, p.ID, jobs[0].ID)
	for _, want := range []string{"branch " + branch, "title " + title} {
		if jobs[0].Status != "success" || !strings.Contains(log, want) {
			t.Errorf("%s: want %q in\n%s", jobs[0].Status, want, log)
		}
	}
	if strings.Contains(log, "do-not-tell") {
		t.Errorf("the secret stands in\n%s", log)
	}
	if _, err := os.Stat(mark); !os.IsNotExist(err) {
		t.Errorf("a name was executed: %v", err)
	}
}
