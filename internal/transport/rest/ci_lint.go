package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/ciconfig"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("ci_lint", (*Server).lintRoutes)

func (s *Server) lintRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/projects/:id/ci/lint", s.lintCommit).Doc("Validate the CI/CD configuration of a project").Needs(authz.ReadCode),
		api.Post("/projects/:id/ci/lint", s.lintText).Status(200).Always().Doc("Validate a CI/CD configuration with the context of a project").
			Needs(authz.CreatePipeline, authz.ReadCode),
		api.Get("/projects/:id/ci/explain", s.explainPipeline).Doc("Explain which jobs a pipeline would have").Needs(authz.CreatePipeline, authz.ReadCode),
	)
}

// lintEntity is what a check of a configuration found.
type lintEntity struct {
	Valid      bool                   `json:"valid"`
	Errors     []string               `json:"errors"`
	Warnings   []string               `json:"warnings"`
	MergedYAML *string                `json:"merged_yaml"` // null where it could not be resolved
	Includes   []ciconfig.LintInclude `json:"includes"`
	Jobs       *[]lintJob             `json:"jobs,omitempty"` // where they were asked for
}

type lintJob struct {
	Name         string           `json:"name"`
	Stage        string           `json:"stage"`
	BeforeScript []string         `json:"before_script"`
	Script       []string         `json:"script"`
	AfterScript  []string         `json:"after_script"`
	TagList      []string         `json:"tag_list"`
	Only         *ciconfig.Filter `json:"only"`
	Except       *ciconfig.Filter `json:"except"`
	Environment  *string          `json:"environment"`
	When         string           `json:"when"`
	AllowFailure bool             `json:"allow_failure"`
	Needs        *[]lintNeed      `json:"needs"` // null for a job that waits for its earlier stages
}

type lintNeed struct {
	Name      string `json:"name"`
	Artifacts bool   `json:"artifacts"`
	Optional  bool   `json:"optional"`
}

func lintOf(l *ciconfig.Lint, jobs bool) *lintEntity {
	e := &lintEntity{Valid: l.Valid, Errors: l.Errors, Warnings: l.Warnings, Includes: l.Includes}
	if l.MergedYAML != "" {
		e.MergedYAML = &l.MergedYAML
	}
	if !jobs {
		return e
	}
	list := make([]lintJob, len(l.Jobs))
	for i, j := range l.Jobs {
		list[i] = lintJob{
			Name: j.Name, Stage: j.Stage, BeforeScript: j.BeforeScript, Script: j.Script, AfterScript: j.AfterScript, TagList: j.TagList, Only: j.Only,
			Except: j.Except, Environment: j.Environment, When: j.When, AllowFailure: j.AllowFailure,
		}
		if j.Needs == nil {
			continue
		}
		needs := make([]lintNeed, len(j.Needs))
		for k, n := range j.Needs {
			needs[k] = lintNeed{n.Job, n.Artifacts, n.Optional}
		}
		list[i].Needs = &needs
	}
	e.Jobs = &list
	return e
}

type lintCommitParams struct {
	projectPath
	ContentRef  string `param:"content_ref" alias:"sha" doc:"Commit, branch or tag with the configuration; defaults to the head of the default branch"`
	DryRun      bool   `param:"dry_run" doc:"Simulate the creation of a pipeline"`
	DryRunRef   string `param:"dry_run_ref" alias:"ref" doc:"Branch or tag of the simulation; defaults to the default branch"`
	IncludeJobs bool   `param:"include_jobs" doc:"Return the jobs of the configuration, or of the simulated pipeline"`
}

func (s *Server) lintCommit(ctx context.Context, as authz.Actor, in lintCommitParams) (*lintEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	l, err := s.CI.LintCommit(ctx, as, p, in.ContentRef, ci.DryRun{On: in.DryRun, Ref: in.DryRunRef})
	if err != nil {
		return nil, err
	}
	return lintOf(l, in.IncludeJobs), nil
}

type lintTextParams struct {
	projectPath
	Content     string `param:"content,required" doc:"Configuration to validate"`
	DryRun      bool   `param:"dry_run" doc:"Simulate the creation of a pipeline"`
	Ref         string `param:"ref" doc:"Branch or tag of the simulation; defaults to the default branch"`
	IncludeJobs bool   `param:"include_jobs" doc:"Return the jobs of the configuration, or of the simulated pipeline"`
}

func (s *Server) lintText(ctx context.Context, as authz.Actor, in lintTextParams) (*lintEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	l, err := s.CI.LintText(ctx, as, p, in.Content, ci.DryRun{On: in.DryRun, Ref: in.Ref})
	if err != nil {
		return nil, err
	}
	return lintOf(l, in.IncludeJobs), nil
}

// explanation is a pipeline that is not made, with what decided about each of its jobs.
type explanation struct {
	Runs     bool             `json:"runs"`
	Name     *string          `json:"name"`
	Problems []configProblem  `json:"problems"`
	Decided  []jobExplanation `json:"decided"`
}

// configProblem is at a place of the configuration, or nowhere: its file is then "", its line and column 0.
type configProblem struct {
	Text   string `json:"text"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// jobExplanation is about the pipeline itself where its job is workflow.
type jobExplanation struct {
	Job     string   `json:"job"`
	Present bool     `json:"present"`
	Rule    int      `json:"rule"` // number of the rule that decided, from 1; 0 where no rule did
	Reason  string   `json:"reason"`
	Steps   []string `json:"steps"`
	File    string   `json:"file"` // of the rule, or of the job
	Line    int      `json:"line"`
	Column  int      `json:"column"`
	Stage   *string  `json:"stage"` // null for what is not there, as the next three
	When    *string  `json:"when"`
	Times   *int     `json:"times"`
	Waits   *string  `json:"waits"`
}

func explanationOf(w *ciconfig.Why) *explanation {
	e := &explanation{Runs: w.Runs, Problems: make([]configProblem, len(w.Problems)), Decided: make([]jobExplanation, len(w.Decided))}
	if w.Name != "" {
		e.Name = &w.Name
	}
	for i, p := range w.Problems {
		e.Problems[i] = configProblem(p)
	}
	for i := range w.Decided {
		d := &w.Decided[i]
		e.Decided[i] = jobExplanation{
			Job: d.Job, Present: d.Present, Rule: d.Rule, Reason: d.Reason, Steps: append([]string{}, d.Steps...), File: d.File, Line: d.Line, Column: d.Column,
		}
		if d.Times > 0 {
			e.Decided[i].Stage, e.Decided[i].When, e.Decided[i].Times, e.Decided[i].Waits = &d.Stage, &d.When, &d.Times, &d.Waits
		}
	}
	return e
}

type explainParams struct {
	projectPath
	Ref       string            `param:"ref" doc:"Branch or tag; defaults to the default branch"`
	Source    string            `param:"source" values:"push,web,trigger,schedule,api,pipeline" default:"push" doc:"Source of the pipeline"`
	Variables map[string]string `param:"variables" doc:"Variables of the pipeline, by key"`
}

func (s *Server) explainPipeline(ctx context.Context, as authz.Actor, in explainParams) (*explanation, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	ask := ci.ExplainInput{Ref: in.Ref, Source: ci.Source(in.Source)}
	for key, value := range in.Variables {
		ask.Variables = append(ask.Variables, ci.Variable{Key: key, Value: value})
	}
	why, err := s.CI.Explain(ctx, as, p, ask)
	if err != nil {
		return nil, err
	}
	return explanationOf(why), nil
}
