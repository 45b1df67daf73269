package ci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
)

// startDownstream is the job that starts the pipeline of a bridge.
type startDownstream struct {
	JobID StatusID `json:"job_id"`
}

// Kind names the job.
func (startDownstream) Kind() string { return "start_downstream_pipeline" }

// maxGenerations is how many child pipelines may stand in one another.
const maxGenerations = 2

// maxHops is how many pipelines may have started one another in a row, of whatever projects.
const maxHops = 10

const (
	tooDeep = "reached_max_descendant_pipelines_depth"
	tooMany = "reached_max_pipeline_hierarchy_size"
)

// startBridge starts the pipeline of a bridge that is pending: a child of its own pipeline, or one of another project. A bridge may also
// follow a pipeline that is there.
func (s *Service) startBridge(ctx context.Context, args startDownstream) error {
	j, p, err := s.jobAndProject(ctx, args.JobID)
	if err != nil || j == nil || j.State != Pending {
		return err
	}
	c, err := j.Config()
	if err != nil {
		return err
	}
	reason := ""
	if c.Trigger == nil && mirrors(c) == "" {
		reason = InvalidBridge
	}
	as := authz.Actor{}
	if reason == "" && j.AuthorID != nil {
		as, err = s.Accounts.StandIn(ctx, strconv.FormatInt(int64(*j.AuthorID), 10))
		switch {
		case errs.Is(err, errs.Forbidden):
			reason = UserBlocked
		case err != nil && !errs.Is(err, errs.NotFound):
			return err
		}
	}
	barred, err := s.Gate().barred(ctx, p, j, c.Environment)
	if err != nil {
		return err
	}
	if barred {
		reason = ProtectedEnvironment
	}
	if reason == "" && c.Trigger == nil {
		return s.mirror(ctx, as, p, j, c)
	}
	if reason == "" {
		reason, err = s.startFor(ctx, as, p, j, c)
	}
	if errs.KindOf(err) == errs.Internal && err != nil {
		return err
	}
	if err != nil {
		reason = DownstreamFailed
	}
	_, err = s.change(ctx, as, p, j.PipelineID, j.ID, func(_ context.Context, j *Job) error {
		switch {
		case j.State != Pending:
		case reason != "":
			j.fail(reason, s)
		case waits(c.Trigger):
			j.enter(Running, s.Now())
		default:
			j.enter(Running, s.Now())
			j.enter(Success, s.Now())
		}
		return nil
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	return err
}

// startFor makes the pipeline of a bridge and returns the reason why there is none, "" where there is.
func (s *Service) startFor(ctx context.Context, as authz.Actor, p *project.Project, j *Job, c *ciconfig.Job) (reason string, err error) {
	made, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM pipelines l WHERE l.upstream_job_id = ?", j.ID)
	if err != nil {
		return "", fmt.Errorf("find downstream pipeline: %w", err)
	}
	if made > 0 {
		return "", nil // by a run that was cut off
	}
	of, err := s.loadPipeline(ctx, j.PipelineID)
	if err != nil {
		return "", err
	}
	hops, generations, err := s.above(ctx, of.ID)
	if err != nil {
		return "", err
	}
	switch {
	case hops >= maxHops:
		return tooMany, nil
	case c.Trigger.Project == "" && generations >= maxGenerations:
		return tooDeep, nil
	}
	if full, err := s.hierarchyFull(ctx, of.ID); err != nil || full {
		return tooMany, err
	}
	if s.Limits.CheckIn(limit.DownstreamPipelines, as, int64(p.ID), of.SHA) != nil {
		return DownstreamLimit, nil
	}
	vars, err := s.bridgeVariables(ctx, p, of, j, c)
	if err != nil {
		return "", err
	}
	in := RunInput{Variables: vars, Inputs: c.Trigger.Inputs, upstream: &j.ID}
	if c.Trigger.Project == "" {
		return s.startChild(ctx, as, p, of, j, in)
	}
	known := list(vars).lookup()
	target, err := s.Projects.Find(ctx, as, ciconfig.Expand(c.Trigger.Project, known))
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
		return DownstreamNotFound, nil
	}
	if err != nil {
		return "", err
	}
	in.Source, in.Ref = ByPipeline, ciconfig.Expand(c.Trigger.Branch, known)
	if in.Ref == "" && target.DefaultBranch != nil {
		in.Ref = *target.DefaultBranch
	}
	_, err = s.Run(ctx, as, target, in)
	if errs.Is(err, errs.Forbidden) {
		return InsufficientBridge, nil
	}
	return "", err
}

// above counts the pipelines that started one another up to one, and how many of these are children in one another.
func (s *Service) above(ctx context.Context, of PipelineID) (hops, generations int, err error) {
	sources, err := db.Select[Source](ctx, s.DB, `WITH RECURSIVE up (id, source, upstream, depth) AS (
			SELECT l.id, l.source, l.upstream_job_id, 0 FROM pipelines l WHERE l.id = ?
			UNION ALL SELECT l.id, l.source, l.upstream_job_id, up.depth + 1 FROM up JOIN commit_statuses b ON b.id = up.upstream
				JOIN pipelines l ON l.id = b.pipeline_id WHERE up.depth < ?
		) SELECT source FROM up ORDER BY depth`, of, maxHops)
	if err != nil {
		return 0, 0, fmt.Errorf("count pipelines above: %w", err)
	}
	for generations < len(sources) && sources[generations] == ByParentPipeline {
		generations++
	}
	return max(len(sources)-1, 0), generations, nil
}

// startChild makes a child pipeline from the files that a bridge names.
func (s *Service) startChild(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, j *Job, in RunInput) (reason string, err error) {
	in.Source, in.SHA, in.Ref = ByParentPipeline, of.SHA, "refs/heads/"+of.Ref
	if in.MergeRequest, err = s.mergeRequestOf(ctx, of); err != nil {
		return "", err
	}
	if of.Tag {
		in.Ref = "refs/tags/" + of.Ref
	}
	if in.text, reason, err = s.childText(ctx, of, j); err != nil || reason != "" {
		return reason, err
	}
	_, err = s.Run(ctx, as, p, in)
	return "", err
}

// childText writes the configuration of a child pipeline: one that includes the files that the bridge names, or a file that a job before it
// has made.
func (s *Service) childText(ctx context.Context, of *Pipeline, j *Job) (text []byte, reason string, err error) {
	c, err := j.Config()
	if err != nil {
		return nil, "", err
	}
	type include struct {
		Local     string         `json:"local,omitempty"`
		Project   string         `json:"project,omitempty"`
		File      string         `json:"file,omitempty"`
		Ref       string         `json:"ref,omitempty"`
		Remote    string         `json:"remote,omitempty"`
		Template  string         `json:"template,omitempty"`
		Component string         `json:"component,omitempty"`
		Inputs    map[string]any `json:"inputs,omitempty"`
	}
	var all []include
	for _, i := range c.Trigger.Include {
		if i.Artifact == "" {
			all = append(all, include{i.Local, i.Project, i.File, i.Ref, i.Remote, i.Template, i.Component, i.Inputs})
			continue
		}
		text, err := s.readArtifact(ctx, of, i.Job, i.Artifact)
		if errs.Is(err, errs.NotFound) {
			return nil, InvalidBridge, nil
		}
		return text, "", err
	}
	text, err = json.Marshal(map[string]any{"include": all}) // JSON is YAML
	return text, "", err
}

// readArtifact reads a file from the archive of a job of a pipeline.
func (s *Service) readArtifact(ctx context.Context, of *Pipeline, name, file string) ([]byte, error) {
	id, err := db.Get[StatusID](ctx, s.DB, "SELECT s.id FROM commit_statuses s WHERE s.pipeline_id = ? AND s.name = ? AND NOT s.retried AND s.kind = 'job'", of.ID, name)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find job: %w", err)
	}
	a, err := s.artifact(ctx, id, Archive)
	if err != nil {
		return nil, err
	}
	if most := int64(s.Settings.Current().MaxArtifactsContentIncludeSize); most > 0 && a.Size > most {
		return nil, refused(fmt.Sprintf("The artifacts of job %q are too large to be included (maximum is %d bytes)", name, most))
	}
	z, err := s.unzip(ctx, a)
	if err != nil {
		return nil, err
	}
	f, err := z.file(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, ciconfig.MaxBytes+1))
}

// bridgeVariables are those that a bridge hands on: its own, and those that its pipeline was started with where it says so.
func (s *Service) bridgeVariables(ctx context.Context, p *project.Project, of *Pipeline, j *Job, c *ciconfig.Job) ([]Variable, error) {
	known, err := s.factsOf(ctx, j.AuthorID, p, of)
	if err != nil {
		return nil, err
	}
	set, err := s.configured(ctx, p, "", of.Protected)
	if err != nil {
		return nil, err
	}
	own, err := s.pipelineVariables(ctx, of.ID)
	if err != nil {
		return nil, err
	}
	known = append(append(known, set...), own...)
	var out []Variable
	if c.Trigger.ForwardPipelineVariables {
		out = append(out, own...)
	}
	if !c.Trigger.ForwardYAMLVariables {
		return out, nil
	}
	lookup := known.lookup()
	for _, v := range c.Variables {
		value := v.Value
		if !v.Raw {
			value = ciconfig.ExpandKnown(value, lookup)
		}
		out = append(out, Variable{Key: v.Key, Value: value, Raw: v.Raw})
	}
	return out, nil
}
