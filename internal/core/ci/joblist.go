package ci

import (
	"context"
	"strconv"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

// jobList gives all variables of a job that starts, those that count least first: predefined ones, those of the configuration, what
// the jobs before it reported, those of the instance, its groups and its project, and those that the pipeline or the job was started with.
func (s *Service) jobList(ctx context.Context, a *Assignment, before []StatusID) (list, error) {
	var l list
	s.serverVariables(&l, a.Project)
	c, err := s.commitOf(ctx, a.Project, a.Pipeline)
	if err != nil {
		return nil, err
	}
	m, err := s.mergeRequestOf(ctx, a.Pipeline)
	if err != nil {
		return nil, err
	}
	s.pipelineFacts(&l, a.Pipeline, c, m)
	if err := s.openMergeRequests(ctx, &l, a.Pipeline, m, a.Job.AuthorID); err != nil {
		return nil, err
	}
	pipelineNumbers(&l, a.Pipeline, s.urls.Pipeline(a.Project.FullPath, int64(a.Pipeline.ID)))
	if err := s.scheduleVariables(ctx, &l, a.Pipeline); err != nil {
		return nil, err
	}
	if err := s.triggerVariables(ctx, &l, a.Pipeline); err != nil {
		return nil, err
	}
	if err := s.userVariables(ctx, &l, a.Job.AuthorID); err != nil {
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

// commitOf gives the commit of a pipeline, nil where the repository lost it.
func (s *Service) commitOf(ctx context.Context, p *project.Project, of *Pipeline) (*gitstore.Commit, error) {
	g, err := s.repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	id, err := gitstore.ParseObjectID(of.SHA)
	if err != nil {
		return nil, err
	}
	c, err := g.Commit(ctx, id)
	if err != nil {
		return nil, nil
	}
	return c, nil
}

// configured gives the variables of the instance, the groups and the project for an environment.
func (s *Service) configured(ctx context.Context, p *project.Project, environment string, protected bool) (list, error) {
	values, err := s.variables.For(ctx, p, environment, protected)
	if err != nil {
		return nil, err
	}
	out := make(list, len(values))
	for i, v := range values {
		out[i] = Variable{Key: v.Key, Value: v.Value, Masked: v.Masked, File: v.File, Raw: v.Raw}
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
