package ci

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
)

// serverVersion is the level of the interface.
const serverVersion = "16.0.0"

// maxMessage is how many characters of a commit message a variable holds.
const maxMessage = 100_000

// features names, in the terms of GITLAB_FEATURES, what the reference sells apart and is here.
const features = "audit_events,blocked_issues,board_assignee_lists,board_iteration_lists,board_milestone_lists,code_owners,epics,external_status_checks," +
	"group_iterations,issuable_health_status,issue_weights,iterations,merge_pipelines,merge_request_approvers,merge_trains,multiple_approval_rules," +
	"multiple_group_issue_boards,multiple_issue_assignees,multiple_merge_request_assignees,multiple_merge_request_reviewers,protected_refs_for_users," +
	"push_rules,related_epics,scoped_labels,subepics"

// templateRegistry is where the images of templates that others publish are.
const templateRegistry = "registry.gitlab.com"

// placeVariables describe the instance and a project.
func (s *Service) placeVariables(ctx context.Context, l *list, p *project.Project) error {
	s.serverVariables(l)
	return s.projectVariables(ctx, l, p)
}

// serverVariables describe the instance.
func (s *Service) serverVariables(l *list) {
	root := s.URLs.Root()
	at, _ := url.Parse(root)
	port := at.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[at.Scheme]
		if port == "" {
			port = "80"
		}
	}
	l.add("CI", "true")
	l.add("GITLAB_CI", "true")
	l.add("CI_API_V4_URL", root+"/api/v4")
	l.add("CI_API_GRAPHQL_URL", root+"/api/graphql")
	l.add("CI_SERVER_URL", root)
	l.add("CI_SERVER_HOST", at.Hostname())
	l.add("CI_SERVER_PORT", port)
	l.add("CI_SERVER_PROTOCOL", at.Scheme)
	l.add("CI_SERVER_FQDN", at.Host)
	if ssh := s.URLs.SSHAddress(); ssh != "" {
		host, sshPort, err := net.SplitHostPort(ssh)
		if err != nil {
			host, sshPort = ssh, "22"
		}
		l.add("CI_SERVER_SHELL_SSH_HOST", host)
		l.add("CI_SERVER_SHELL_SSH_PORT", sshPort)
	}
	l.add("CI_SERVER_NAME", "GitLab")
	l.add("CI_SERVER_VERSION", serverVersion)
	for i, part := range strings.Split(serverVersion, ".") {
		l.add([]string{"CI_SERVER_VERSION_MAJOR", "CI_SERVER_VERSION_MINOR", "CI_SERVER_VERSION_PATCH"}[i], part)
	}
	l.add("CI_SERVER_REVISION", s.Revision)
	l.add("GITLAB_FEATURES", features)
	l.add("CI_TEMPLATE_REGISTRY_HOST", templateRegistry)
}

// projectVariables describe a project.
func (s *Service) projectVariables(ctx context.Context, l *list, p *project.Project) error {
	languages, err := s.Projects.Languages(ctx, p.ID)
	if err != nil {
		return err
	}
	names := make([]string, len(languages))
	for i := range languages {
		names[i] = strings.ToLower(languages[i].Name)
	}
	parts := strings.Split(p.FullPath, "/")
	within := strings.Join(parts[:len(parts)-1], "/")
	l.number("CI_PROJECT_ID", int64(p.ID))
	l.add("CI_PROJECT_NAME", p.Path)
	l.text("CI_PROJECT_TITLE", p.Name)
	if p.Description != nil {
		l.text("CI_PROJECT_DESCRIPTION", *p.Description)
	} else {
		l.text("CI_PROJECT_DESCRIPTION", "")
	}
	l.add("CI_PROJECT_PATH", p.FullPath)
	l.add("CI_PROJECT_PATH_SLUG", slug(p.FullPath))
	l.add("CI_PROJECT_NAMESPACE", within)
	l.number("CI_PROJECT_NAMESPACE_ID", int64(p.ParentID))
	l.add("CI_PROJECT_NAMESPACE_SLUG", slug(within))
	l.add("CI_PROJECT_ROOT_NAMESPACE", parts[0])
	l.add("CI_PROJECT_URL", s.URLs.Project(p.FullPath))
	l.add("CI_PROJECT_VISIBILITY", p.Visibility.String())
	l.add("CI_PROJECT_REPOSITORY_LANGUAGES", strings.Join(names, ","))
	l.text("CI_PROJECT_TOPICS", strings.Join(p.Topics(), ","))
	label := p.Settings().ExternalAuthorizationLabel
	if label == nil {
		label = s.Settings.Current().ExternalAuthorizationServiceDefaultLabel
	}
	if label == nil {
		label = new("")
	}
	l.text("CI_PROJECT_CLASSIFICATION_LABEL", *label)
	if p.DefaultBranch != nil {
		l.text("CI_DEFAULT_BRANCH", *p.DefaultBranch)
		l.add("CI_DEFAULT_BRANCH_SLUG", slug(*p.DefaultBranch))
	}
	l.text("CI_CONFIG_PATH", configPath(p, s.Settings.Current().DefaultCIConfigPath))
	return nil
}

// pipelineFacts are the variables of a pipeline, without its number, which it has not while it is made.
func (s *Service) pipelineFacts(l *list, of *Pipeline, c *gitstore.Commit, m *MergeRequest) {
	l.add("CI_PIPELINE_SOURCE", string(of.Source))
	l.add("CI_PIPELINE_CREATED_AT", of.CreatedAt.UTC().Format(time.RFC3339))
	if of.Source == ByTrigger {
		l.add("CI_PIPELINE_TRIGGERED", "true")
	}
	l.add("CI_COMMIT_SHA", of.SHA)
	l.add("CI_COMMIT_SHORT_SHA", of.SHA[:min(8, len(of.SHA))])
	l.add("CI_COMMIT_BEFORE_SHA", of.Before())
	ref := of.Ref
	switch {
	case m != nil:
		ref = m.Source.Branch
		s.mergeRequestVariables(l, m)
	case of.Tag:
		l.text("CI_COMMIT_TAG", ref)
	default:
		l.text("CI_COMMIT_BRANCH", ref)
	}
	l.text("CI_COMMIT_REF_NAME", ref)
	l.add("CI_COMMIT_REF_SLUG", slug(ref))
	l.add("CI_COMMIT_REF_PROTECTED", strconv.FormatBool(of.Protected))
	if c == nil {
		return
	}
	message := []rune(c.Message)
	l.add("CI_COMMIT_MESSAGE_IS_TRUNCATED", strconv.FormatBool(len(message) > maxMessage))
	l.text("CI_COMMIT_MESSAGE", string(message[:min(len(message), maxMessage)]))
	l.text("CI_COMMIT_TITLE", c.Title())
	l.text("CI_COMMIT_DESCRIPTION", c.Description())
	l.text("CI_COMMIT_AUTHOR", c.Author.Name+" <"+c.Author.Email+">")
	l.add("CI_COMMIT_TIMESTAMP", c.Committer.When.Format(time.RFC3339))
}

func pipelineNumbers(l *list, of *Pipeline, page string) {
	l.number("CI_PIPELINE_ID", int64(of.ID))
	l.number("CI_PIPELINE_IID", of.IID)
	l.add("CI_PIPELINE_URL", page)
	if of.Name != nil {
		l.text("CI_PIPELINE_NAME", *of.Name)
	}
}

// userVariables are about the user of a job.
func (s *Service) userVariables(ctx context.Context, l *list, id *authz.UserID) error {
	if id == nil {
		return nil
	}
	found, err := s.Accounts.ByIDs(ctx, []authz.UserID{*id})
	if err != nil || found[*id] == nil {
		return err
	}
	u := found[*id]
	emails, err := s.Accounts.EmailsFor(ctx, authz.System(), []authz.UserID{*id})
	if err != nil {
		return err
	}
	l.number("GITLAB_USER_ID", int64(u.ID))
	l.text("GITLAB_USER_NAME", u.Name)
	l.add("GITLAB_USER_LOGIN", u.Username)
	if email := emails[*id]; email != nil {
		l.optional("GITLAB_USER_EMAIL", *email)
	}
	return nil
}

// jobFacts are the variables of a job that starts.
func (s *Service) jobFacts(l *list, p *project.Project, j *Job, c *ciconfig.Job, token string) {
	l.number("CI_JOB_ID", int64(j.ID))
	l.text("CI_JOB_NAME", j.Name)
	l.add("CI_JOB_NAME_SLUG", slug(j.Name))
	group := j.Name
	if c.Parallel != nil {
		group = c.Parallel.Group
	}
	l.text("CI_JOB_GROUP_NAME", group)
	l.text("CI_JOB_STAGE", j.Stage)
	l.add("CI_JOB_URL", s.URLs.Job(p.FullPath, int64(j.ID)))
	if j.StartedAt != nil {
		l.add("CI_JOB_STARTED_AT", j.StartedAt.UTC().Format(time.RFC3339))
	}
	if j.When == "manual" {
		l.add("CI_JOB_MANUAL", "true")
	}
	if c.Parallel != nil {
		l.number("CI_NODE_INDEX", int64(c.Parallel.Index))
		l.number("CI_NODE_TOTAL", int64(c.Parallel.Total))
	} else {
		l.add("CI_NODE_TOTAL", "1")
	}
	l.secret("CI_JOB_TOKEN", token)
	*l = append(*l, Variable{Key: "CI_REPOSITORY_URL", Value: s.URLs.HTTPRepositoryAs(p.FullPath, jobUser, token)})
	l.add("CI_JOB_TIMEOUT", strconv.FormatInt(j.Timeout, 10))
}

func runnerVariables(l *list, r *runner.Runner) {
	l.number("CI_RUNNER_ID", int64(r.ID))
	if r.Description != nil {
		l.text("CI_RUNNER_DESCRIPTION", *r.Description)
	}
	tags := make([]string, len(r.Tags()))
	for i, t := range r.Tags() {
		tags[i] = strconv.Quote(t)
	}
	l.add("CI_RUNNER_TAGS", "["+strings.Join(tags, ", ")+"]")
}

// configPath is where the configuration of a project stands.
func configPath(p *project.Project, instance *string) string {
	if own := p.Settings().CIConfigPath; own != nil && *own != "" {
		return *own
	}
	if instance != nil && *instance != "" {
		return *instance
	}
	return defaultPath
}
