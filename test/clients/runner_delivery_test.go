package clients

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// deliveryPipeline deploys to staging, after approvals to production, and each branch to a review environment of its own.
const deliveryPipeline = `
stages: [staging, production]
staging:
  stage: staging
  script: ['echo "to $CI_ENVIRONMENT_NAME ($CI_ENVIRONMENT_SLUG, $CI_ENVIRONMENT_TIER) at $CI_ENVIRONMENT_URL, $CI_ENVIRONMENT_ACTION"']
  environment: {name: staging, url: https://staging.example.com}
  rules: [{if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH}]
production:
  stage: production
  script: ['echo "to $CI_ENVIRONMENT_NAME as of $CI_COMMIT_SHORT_SHA"']
  environment: {name: production, url: https://example.com}
  rules: [{if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH}]
review:
  stage: staging
  script:
    - echo "REVIEW_URL=https://$CI_COMMIT_REF_SLUG.example.com" > review.env
  artifacts: {reports: {dotenv: review.env}}
  environment: {name: review/$CI_COMMIT_REF_NAME, url: $REVIEW_URL, on_stop: stop_review, auto_stop_in: 1 week}
  rules: [{if: $CI_COMMIT_BRANCH != $CI_DEFAULT_BRANCH}]
stop_review:
  stage: staging
  script: ['echo "$CI_ENVIRONMENT_NAME: $CI_ENVIRONMENT_ACTION"']
  variables: {GIT_STRATEGY: none}
  environment: {name: review/$CI_COMMIT_REF_NAME, action: stop}
  rules: [{if: $CI_COMMIT_BRANCH != $CI_DEFAULT_BRANCH, when: manual, allow_failure: true}]
`

// TestRunner_delivery lets the official runner deploy to staging and, once two people have approved, to production; it rejects a second deployment,
// and stops review environments by a call and with their branch.
func TestRunner_delivery(t *testing.T) {
	s := withRunner(t)
	p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Shop"), InitializeWithReadme: new(true)})).must(t)
	var people []*gitlab.Client
	for _, name := range []string{"ann", "ben", "cleo"} {
		u := got(s.root.Users.CreateUser(&gitlab.CreateUserOptions{
			Username: &name, Name: &name, Email: new(name + "@example.com"), Password: new("correct horse " + name[:1] + "q"), SkipConfirmation: new(true),
		})).must(t)
		token := got(s.root.Users.CreatePersonalAccessToken(u.ID, &gitlab.CreatePersonalAccessTokenOptions{
			Name: new("t"), Scopes: &[]string{"api"}, ExpiresAt: new(gitlab.ISOTime(time.Now().AddDate(0, 1, 0))),
		})).must(t).Token
		level := gitlab.MaintainerPermissions
		if name == "cleo" {
			level = gitlab.DeveloperPermissions
		}
		got(s.root.ProjectMembers.AddProjectMember(p.ID, &gitlab.AddProjectMemberOptions{UserID: u.ID, AccessLevel: &level})).must(t)
		people = append(people, s.client(t, token))
	}
	ann, ben, cleo := people[0], people[1], people[2]
	got(s.root.ProtectedEnvironments.ProtectRepositoryEnvironments(p.ID, &gitlab.ProtectRepositoryEnvironmentsOptions{
		Name: new("production"), DeployAccessLevels: &[]*gitlab.EnvironmentAccessOptions{{AccessLevel: new(gitlab.MaintainerPermissions)}},
		ApprovalRules: &[]*gitlab.EnvironmentApprovalRuleOptions{{AccessLevel: new(gitlab.MaintainerPermissions), RequiredApprovalCount: new(int64(2))}},
	})).must(t)
	s.configures(t, p, p.DefaultBranch, deliveryPipeline)

	staging := s.jobThat(t, p, "staging", "success", "failed")
	if log := s.logOf(t, p.ID, staging.ID); !strings.Contains(log, "to staging (staging, staging) at https://staging.example.com, start") {
		t.Errorf("log of staging:\n%s", log)
	}
	waiting := s.jobThat(t, p, "production", "manual", "success", "failed")
	d := s.deployed(t, p, "production", "blocked")
	if len(d.Approvals) != 0 || d.PendingApprovalCount != 2 {
		t.Errorf("deployment that waits: %+v", d)
	}
	approve := func(c *gitlab.Client, id int64, status gitlab.DeploymentApprovalStatus) answer[struct{}] {
		return done(c.Deployments.ApproveOrRejectProjectDeployment(p.ID, id, &gitlab.ApproveOrRejectProjectDeploymentOptions{Status: &status, Comment: new("Looked at it")}))
	}
	approve(s.root, d.ID, gitlab.DeploymentApprovalStatusApproved).refused(t, http.StatusBadRequest, "The same user can not approve")
	approve(cleo, d.ID, gitlab.DeploymentApprovalStatusApproved).refused(t, http.StatusBadRequest, "You do not have permission")
	got(cleo.Jobs.PlayJob(p.ID, waiting.ID, nil)).refused(t, http.StatusForbidden, "")
	approve(ann, d.ID, gitlab.DeploymentApprovalStatusApproved).must(t)
	if d = s.deployed(t, p, "production", "blocked"); d.PendingApprovalCount != 1 {
		t.Errorf("deployment with one approval: %+v", d)
	}
	approve(ben, d.ID, gitlab.DeploymentApprovalStatusApproved).must(t)
	done := s.jobThat(t, p, "production", "success", "failed")
	if log := s.logOf(t, p.ID, done.ID); !strings.Contains(log, "to production as of "+done.Commit.ShortID) {
		t.Errorf("log of production:\n%s", log)
	}
	if d = s.deployed(t, p, "production", "success"); len(d.Approvals) != 2 || d.PendingApprovalCount != 0 || d.Deployable.ID != done.ID {
		t.Errorf("deployment that was approved: %+v", d)
	}
	approve(ann, d.ID, gitlab.DeploymentApprovalStatusApproved).refused(t, http.StatusBadRequest, "This deployment job is not waiting for approvals")

	again := got(s.root.Pipelines.CreatePipeline(p.ID, &gitlab.CreatePipelineOptions{Ref: &p.DefaultBranch})).must(t)
	s.jobThat(t, p, "production", "manual")
	rejected := s.deployed(t, p, "production", "blocked")
	approve(ann, rejected.ID, gitlab.DeploymentApprovalStatusRejected).must(t)
	if j := s.jobThat(t, p, "production", "failed"); j.Pipeline.ID != again.ID || j.FailureReason != "deployment_rejected" {
		t.Errorf("job that was rejected: %+v", j)
	}
	s.deployed(t, p, "production", "failed")
	s.reviews(t, p)
}

// reviews deploys two branches to review environments, and stops one by a call and one with its branch.
func (s *story) reviews(t *testing.T, p *gitlab.Project) {
	t.Helper()
	state := func(id int64) *gitlab.Environment {
		return got(s.root.Environments.GetEnvironment(p.ID, id)).must(t)
	}
	for _, branch := range []string{"One_more", "other"} {
		o := &gitlab.CreateBranchOptions{Branch: &branch, Ref: &p.DefaultBranch}
		got(s.root.Branches.CreateBranch(p.ID, o)).must(t)
		s.jobThat(t, p, "review", "success", "failed")
		var e *gitlab.Environment
		until(t, "review/"+branch+" is deployed", func() bool {
			list := got(s.root.Environments.ListEnvironments(p.ID, &gitlab.ListEnvironmentsOptions{Name: new("review/" + branch)})).must(t)
			if len(list) == 1 {
				e = state(list[0].ID)
			}
			return e != nil && e.LastDeployment != nil && e.LastDeployment.Status == "success"
		})
		slug := strings.ToLower(strings.ReplaceAll(branch, "_", "-"))
		if e.State != "available" || e.ExternalURL != "https://"+slug+".example.com" || e.Tier != "development" || e.AutoStopAt == nil || !strings.HasPrefix(e.Slug, "review-"+slug[:3]) {
			t.Errorf("environment: %+v", e)
		}
		if branch == "other" {
			if _, err := s.root.Branches.DeleteBranch(p.ID, branch); err != nil {
				t.Fatal(err)
			}
		} else {
			got(s.root.Environments.StopEnvironment(p.ID, e.ID, nil)).must(t)
		}
		until(t, e.Name+" is stopped", func() bool { return state(e.ID).State == "stopped" })
		jobs := got(s.root.Jobs.ListProjectJobs(p.ID, nil)).must(t)
		at := slices.IndexFunc(jobs, func(j *gitlab.Job) bool { return j.Name == "stop_review" && j.Ref == branch })
		if at < 0 || jobs[at].Status != "success" {
			t.Errorf("jobs that stop %s: %+v", e.Name, jobs)
			continue
		}
		if log := s.logOf(t, p.ID, jobs[at].ID); !strings.Contains(log, e.Name+": stop") {
			t.Errorf("log of the job that stopped %s:\n%s", e.Name, log)
		}
	}
}

// deployed waits until the latest deployment to an environment has a status, and reads it alone.
func (s *story) deployed(t *testing.T, p *gitlab.Project, environment, status string) *deploymentWithApprovals {
	t.Helper()
	var d *gitlab.Deployment
	until(t, "the deployment to "+environment+" is "+status, func() bool {
		list := got(s.root.Deployments.ListProjectDeployments(p.ID, &gitlab.ListProjectDeploymentsOptions{Environment: &environment, OrderBy: new("id"), Sort: new("desc")})).must(t)
		if len(list) > 0 {
			d = list[0]
		}
		return d != nil && d.Status == status
	})
	var out deploymentWithApprovals
	s.read(t, "projects/"+number(p.ID)+"/deployments/"+number(d.ID), &out)
	return &out
}

// deploymentWithApprovals has what the client's type lacks.
type deploymentWithApprovals struct {
	gitlab.Deployment

	PendingApprovalCount int64 `json:"pending_approval_count"`
	Approvals            []struct {
		Status string            `json:"status"`
		User   *gitlab.BasicUser `json:"user"`
	} `json:"approvals"`
}
