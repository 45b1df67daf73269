package ci

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
	"tenon/internal/core/variable"
)

// jobList returns all variables of a job that starts, those that count least first: predefined ones, those of the configuration, what
// the jobs before it reported, those of the instance, its groups and its project, and those that the pipeline or the job was started with.
func (s *Service) jobList(ctx context.Context, a *Assignment, before []StatusID) (list, error) {
	l, err := s.factsOf(ctx, a.Job.AuthorID, a.Project, a.Pipeline)
	if err != nil {
		return nil, err
	}
	environment := ""
	set, err := s.configured(ctx, a.Project, environment, a.Pipeline.Protected)
	if err != nil {
		return nil, err
	}
	if e := a.Config.Environment; e != nil {
		environment = ciconfig.Expand(e.Name, append(append(list{}, l...), set...).lookup())
		if set, err = s.configured(ctx, a.Project, environment, a.Pipeline.Protected); err != nil {
			return nil, err
		}
		named := *e
		named.Name = environment
		a.Config.Environment = &named
	}
	s.jobFacts(&l, a.Project, a.Job, a.Config, a.Token)
	if e := a.Config.Environment; e != nil {
		facts, err := s.environmentFacts(ctx, a.Project, environment)
		if err != nil {
			return nil, err
		}
		facts.add(&l, e)
	}
	if err := s.deployVariables(ctx, &l, a.Project); err != nil {
		return nil, err
	}
	if a.Project.External().Variables {
		given, err := s.Integrations.JobVariables(ctx, a.Project, a.Pipeline.Protected)
		if err != nil {
			return nil, err
		}
		l = append(l, given...)
	}
	runnerVariables(&l, a.Runner)
	tokens, err := s.idTokens(ctx, a, l, set)
	if err != nil {
		return nil, err
	}
	l = append(l, tokens...)
	for _, v := range a.Config.Variables {
		l = append(l, Variable{Key: v.Key, Value: v.Value, Public: true, Raw: v.Raw})
	}
	dotenv, err := s.jobVariables(ctx, before, true)
	if err != nil {
		return nil, err
	}
	l = append(append(l, dotenv...), set...)
	own, err := s.pipelineVariables(ctx, a.Pipeline.ID)
	if err != nil {
		return nil, err
	}
	given, err := s.jobVariables(ctx, []StatusID{a.Job.ID}, false)
	if err != nil {
		return nil, err
	}
	return append(append(l, own...), given...), nil
}

// factsOf returns the predefined variables of a pipeline that is there, for jobs of a user.
func (s *Service) factsOf(ctx context.Context, user *authz.UserID, p *project.Project, of *Pipeline) (list, error) {
	var l list
	c, err := s.commitOf(ctx, p, of)
	if err != nil {
		return nil, err
	}
	m, err := s.mergeRequestOf(ctx, of)
	if err != nil {
		return nil, err
	}
	if err := s.pipelineList(ctx, &l, user, p, occasion{of, c, m}); err != nil {
		return nil, err
	}
	pipelineNumbers(&l, of, s.URLs.Pipeline(p.FullPath, int64(of.ID)))
	if err := s.triggerVariables(ctx, &l, of); err != nil {
		return nil, err
	}
	return l, s.userVariables(ctx, &l, user)
}

// occasion is a pipeline with what it is for.
type occasion struct {
	pipeline *Pipeline
	commit   *gitstore.Commit // nil where the repository lost it
	request  *MergeRequest    // nil for a branch or a tag
}

// pipelineList returns the predefined variables that are the same for all jobs of a pipeline. Open merge requests are those that the user
// may read.
func (s *Service) pipelineList(ctx context.Context, l *list, user *authz.UserID, p *project.Project, o occasion) error {
	of := o.pipeline
	if err := s.placeVariables(ctx, l, p); err != nil {
		return err
	}
	s.pipelineFacts(l, of, o.commit, o.request)
	if err := s.tagMessage(ctx, l, p, of); err != nil {
		return err
	}
	if err := s.openMergeRequests(ctx, l, of, o.request, user); err != nil {
		return err
	}
	if err := s.upstreamVariables(ctx, l, of); err != nil {
		return err
	}
	if err := freezeVariable(ctx, s.DB, l, p, of); err != nil {
		return err
	}
	if err := releaseVariable(ctx, s.DB, l, p, of); err != nil {
		return err
	}
	return s.scheduleVariables(ctx, l, of)
}

// tagMessage is the message of an annotated tag, which may be gone since its pipeline was made.
func (s *Service) tagMessage(ctx context.Context, l *list, p *project.Project, of *Pipeline) error {
	if !of.Tag {
		return nil
	}
	g, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	found, err := g.Resolve(ctx, "refs/tags/"+of.Ref)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find tag: %w", err)
	}
	if found.ID == found.Commit {
		return nil
	}
	tag, err := g.Tag(ctx, found.ID)
	if err != nil {
		return fmt.Errorf("read tag: %w", err)
	}
	l.text("CI_COMMIT_TAG_MESSAGE", strings.TrimRight(tag.Message, "\n"))
	return nil
}

// upstreamVariables say which job started a pipeline.
func (s *Service) upstreamVariables(ctx context.Context, l *list, of *Pipeline) error {
	if of.UpstreamJobID == nil {
		return nil
	}
	type row struct {
		ProjectID  project.ID `db:"project_id"`
		PipelineID PipelineID `db:"pipeline_id"`
	}
	up, err := db.Get[row](ctx, s.DB, "SELECT s.project_id, s.pipeline_id FROM commit_statuses s WHERE s.id = ?", *of.UpstreamJobID)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("upstream job of pipeline: %w", err)
	}
	l.number("CI_UPSTREAM_PROJECT_ID", int64(up.ProjectID))
	l.number("CI_UPSTREAM_PIPELINE_ID", int64(up.PipelineID))
	l.number("CI_UPSTREAM_JOB_ID", int64(*of.UpstreamJobID))
	return nil
}

// deployVariables are the deploy token that jobs of a project may use.
func (s *Service) deployVariables(ctx context.Context, l *list, p *project.Project) error {
	t, key, err := s.Tokens.DeployTokenOfJobs(ctx, p.NamespaceID)
	if t == nil || err != nil {
		return err
	}
	l.add("CI_DEPLOY_USER", t.Username)
	l.secret("CI_DEPLOY_PASSWORD", key)
	return nil
}

// commitOf returns the commit of a pipeline, nil where the repository lost it.
func (s *Service) commitOf(ctx context.Context, p *project.Project, of *Pipeline) (*gitstore.Commit, error) {
	g, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	id, err := gitstore.ParseObjectID(of.SHA)
	if err != nil {
		return nil, err
	}
	c, err := g.Commit(ctx, id)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read commit of pipeline: %w", err)
	}
	return c, nil
}

// configured returns the variables of the instance, the groups and the project for an environment.
func (s *Service) configured(ctx context.Context, p *project.Project, environment string, protected bool) (list, error) {
	values, err := s.Variables.For(ctx, p, variable.Use{Environment: environment, Protected: protected})
	if err != nil {
		return nil, err
	}
	out := make(list, len(values))
	for i, v := range values {
		out[i] = Variable{Key: v.Key, Value: v.Value, Masked: v.Masked, File: v.File, Raw: v.Raw, Protected: v.Protected}
	}
	return out, nil
}

// gitDepth is how many commits a runner fetches, 0 for all.
func gitDepth(p *project.Project, vars list) int {
	if v, ok := vars.lookup()("GIT_DEPTH"); ok {
		if n, err := strconv.Atoi(v); err == nil && n >= 0 {
			return n
		}
	}
	if d := p.Settings().CIDefaultGitDepth; d != nil {
		return int(*d)
	}
	return 0
}
