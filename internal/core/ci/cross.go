package ci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

// byNeeds reports whether a job waits for jobs of its pipeline by name, also for none of them. What it needs of other projects and pipelines
// is there or is not.
func byNeeds(c *ciconfig.Job) bool {
	return c.Needs != nil && (len(c.Needs) == 0 || slices.ContainsFunc(c.Needs, func(n ciconfig.Need) bool { return !n.Elsewhere() }))
}

// reach returns the actor of a job: its user, as far as jobs of its project reach.
func (s *Service) reach(ctx context.Context, j *Job, p *project.Project) (authz.Actor, error) {
	if j.AuthorID == nil {
		return authz.Actor{}, errs.New(errs.Unauthorized, "")
	}
	as, err := s.Accounts.Admit(ctx, *j.AuthorID)
	if err != nil {
		return authz.Actor{}, err
	}
	as.Admin, as.Auditor = false, false
	as.Job = authz.JobCredential{ID: int64(j.ID), Place: p.NamespaceID, Confined: p.Settings().CIJobTokenScopeEnabled}
	return as, nil
}

// refusal reports whether an error says that the actor has no such thing.
func refusal(err error) bool {
	return errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) || errs.Is(err, errs.Unauthorized)
}

// crossDependencies finds the jobs of other projects and pipelines whose artifacts a job needs; ok is false where one of them is not
// there, or the job may not have it.
func (s *Service) crossDependencies(ctx context.Context, p *project.Project, j *Job, c *ciconfig.Job) (out []Dependency, ok bool, err error) {
	if !slices.ContainsFunc(c.Needs, func(n ciconfig.Need) bool { return n.Elsewhere() && n.Job != "" && n.Artifacts }) {
		return nil, true, nil
	}
	as, err := s.reach(ctx, j, p)
	if refusal(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	known, err := s.needVariables(ctx, p, j, c)
	if err != nil {
		return nil, false, err
	}
	lookup := known.lookup()
	for i := range c.Needs {
		n := &c.Needs[i]
		if !n.Elsewhere() || n.Job == "" || !n.Artifacts {
			continue
		}
		var a *Artifact
		if n.Project != "" {
			a, err = s.ofProject(ctx, as, ciconfig.Expand(n.Project, lookup), ciconfig.Expand(n.Ref, lookup), ciconfig.Expand(n.Job, lookup))
		} else {
			a, err = s.ofPipeline(ctx, as, p, j, ciconfig.Expand(n.Pipeline, lookup), ciconfig.Expand(n.Job, lookup))
		}
		switch {
		case refusal(err) && n.Optional:
		case refusal(err):
			return nil, false, nil
		case err != nil:
			return nil, false, err
		default:
			out = append(out, Dependency{ID: a.JobID, Name: n.Job, Filename: a.Filename, Size: a.Size})
		}
	}
	return out, true, nil
}

// needVariables are those that needs of other projects and pipelines may name.
func (s *Service) needVariables(ctx context.Context, p *project.Project, j *Job, c *ciconfig.Job) (list, error) {
	of, err := s.loadPipeline(ctx, j.PipelineID)
	if err != nil {
		return nil, err
	}
	l, err := s.factsOf(ctx, j.AuthorID, p, of)
	if err != nil {
		return nil, err
	}
	for _, v := range c.Variables {
		l = append(l, Variable{Key: v.Key, Value: v.Value, Public: true, Raw: v.Raw})
	}
	set, err := s.configured(ctx, p, "", of.Protected)
	if err != nil {
		return nil, err
	}
	own, err := s.pipelineVariables(ctx, of.ID)
	return append(append(l, set...), own...), err
}

// ofProject finds the archive of a job of the latest pipeline of another project's branch or tag that has succeeded.
func (s *Service) ofProject(ctx context.Context, as authz.Actor, path, ref, name string) (*Artifact, error) {
	p, err := s.Projects.Find(ctx, as, path)
	if err != nil {
		return nil, err
	}
	j, err := s.LatestOf(ctx, as, p, ref, name)
	if err != nil {
		return nil, err
	}
	return s.openable(ctx, as, p, j.ID, Archive)
}

// ofPipeline finds the archive of a job of another pipeline of the family of the job's pipeline: one that started it or was started by it,
// of the same project, over any number of steps.
func (s *Service) ofPipeline(ctx context.Context, as authz.Actor, p *project.Project, j *Job, id, name string) (*Artifact, error) {
	other, err := strconv.ParseInt(id, 10, 64)
	if err != nil || PipelineID(other) == j.PipelineID {
		return nil, errs.Missing("")
	}
	mine, err := s.eldest(ctx, j.PipelineID)
	if err != nil {
		return nil, err
	}
	theirs, err := s.eldest(ctx, PipelineID(other))
	if err != nil {
		return nil, err
	}
	if mine != theirs {
		return nil, errs.Missing("")
	}
	found, err := db.Get[StatusID](ctx, s.DB, "SELECT s.id FROM commit_statuses s WHERE s.pipeline_id = ? AND s.name = ? AND NOT s.retried AND s.kind = 'job' ORDER BY s.id DESC LIMIT 1",
		other, name)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find job of pipeline: %w", err)
	}
	return s.openable(ctx, as, p, found, Archive)
}

// eldest returns the pipeline above all others that are each the parent of the next, down to one.
func (s *Service) eldest(ctx context.Context, of PipelineID) (PipelineID, error) {
	top, err := db.Get[PipelineID](ctx, s.DB, `WITH RECURSIVE up (id, source, upstream, depth) AS (
			SELECT l.id, l.source, l.upstream_job_id, 0 FROM pipelines l WHERE l.id = ?
			UNION ALL SELECT l.id, l.source, l.upstream_job_id, up.depth + 1 FROM up JOIN commit_statuses b ON b.id = up.upstream
				JOIN pipelines l ON l.id = b.pipeline_id WHERE up.source = 'parent_pipeline' AND up.depth < ?
		) SELECT id FROM up ORDER BY depth DESC LIMIT 1`, of, maxHops)
	if errors.Is(err, db.ErrNotFound) {
		return 0, errs.Missing("")
	}
	if err != nil {
		return 0, fmt.Errorf("find parent pipelines: %w", err)
	}
	return top, nil
}

// openForeign is OpenForJob for a job of another pipeline: the bearer gets what its user may read, as far as jobs of its project reach.
func (s *Service) openForeign(ctx context.Context, h *AuthenticatedJob, of *Job) (*Artifact, *blob.Object, error) {
	c, err := h.Config()
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(c.Needs, func(n ciconfig.Need) bool { return n.Elsewhere() && n.Artifacts }) {
		return nil, nil, errs.Missing("")
	}
	as, err := s.reach(ctx, h.Job, h.project)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.Projects.FindByID(ctx, as, of.ProjectID)
	if err != nil {
		return nil, nil, err
	}
	return s.OpenArtifact(ctx, as, p, of.ID, Archive)
}
