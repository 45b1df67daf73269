package ci

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
)

// Find returns a pipeline of a project.
func (s *Service) Find(ctx context.Context, as authz.Actor, p *project.Project, id PipelineID) (*Pipeline, error) {
	if err := s.Policy.Require(ctx, as, readable(p), p.Subject()); err != nil {
		return nil, err
	}
	found, err := s.loadPipeline(ctx, id)
	if errors.Is(err, db.ErrNotFound) || err == nil && found.ProjectID != p.ID {
		return nil, errs.Missing("")
	}
	return found, err
}

// loadPipeline reads a pipeline; one that is gone is ErrNotFound of db.
func (s *Service) loadPipeline(ctx context.Context, id PipelineID) (*Pipeline, error) {
	of, err := db.Get[Pipeline](ctx, s.DB, "SELECT "+pipelineColumns+" FROM pipelines p WHERE p.id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("load pipeline: %w", err)
	}
	return &of, nil
}

// PipelineFilter selects pipelines of a project; the zero value selects all but those that others started
// as children, the newest first.
type PipelineFilter struct {
	IID                         int64  // of one pipeline, a child pipeline too
	Scope                       string // running, pending, finished, branches or tags; the last two give the newest of each reference
	State                       State
	Source                      Source
	Ref, SHA                    string
	Name                        string
	YAMLErrors                  *bool
	Schedule                    ScheduleID
	Username                    string
	UpdatedAfter, UpdatedBefore *time.Time
	CreatedAfter, CreatedBefore *time.Time
	OrderBy                     string // id, status, ref, updated_at or user_id; "" is id
	Asc                         bool
	page.Range
}

var pipelineOrders = map[string]page.Order{
	"":           {page.ID("p.id")},
	"id":         {page.ID("p.id")},
	"status":     {page.Text("status", "p.status"), page.ID("p.id")},
	"ref":        {page.Text("ref", "p.ref"), page.ID("p.id")},
	"updated_at": {page.Time("updated_at", "p.updated_at"), page.ID("p.id")},
	"user_id":    {page.Int("user_id", "COALESCE(p.user_id, 0)"), page.ID("p.id")},
}

func (f *PipelineFilter) where(w *db.Where) {
	switch f.Scope {
	case "running":
		w.And("p.status = ?", Running)
	case "pending":
		w.And("p.status = ?", Pending)
	case "finished":
		w.In("p.status", []State{Success, Failed, Canceled})
	case "branches", "tags":
		w.And(`p.id IN (SELECT MAX(x.id) FROM pipelines x WHERE x.project_id = p.project_id AND x.tag = ?
			AND x.source_sha IS NULL AND x.ref NOT LIKE 'refs/%' GROUP BY x.ref)`, f.Scope == "tags")
	}
	if f.Schedule != 0 {
		w.And("p.schedule_id = ?", f.Schedule)
	}
	if f.State != "" {
		w.And("p.status = ?", f.State)
	}
	switch {
	case f.IID != 0:
		w.And("p.iid = ?", f.IID)
	case f.Source == "":
		w.And("p.source <> ?", ByParentPipeline)
	default:
		w.And("p.source = ?", f.Source)
	}
	for column, value := range map[string]string{"p.ref": f.Ref, "p.sha": f.SHA, "p.name": f.Name} {
		if value != "" {
			w.And(column+" = ?", value)
		}
	}
	if f.YAMLErrors != nil && *f.YAMLErrors {
		w.Raw("p.yaml_errors IS NOT NULL")
	} else if f.YAMLErrors != nil {
		w.Raw("p.yaml_errors IS NULL")
	}
	if f.Username != "" {
		w.And("p.user_id = (SELECT u.id FROM users u WHERE u.username_fold = ?)", db.Fold(f.Username))
	}
	w.Since("p.created_at", f.CreatedAfter)
	w.Until("p.created_at", f.CreatedBefore)
	w.Since("p.updated_at", f.UpdatedAfter)
	w.Until("p.updated_at", f.UpdatedBefore)
}

// List lists pipelines of a project.
func (s *Service) List(ctx context.Context, as authz.Actor, p *project.Project, f PipelineFilter) (page.Page[Pipeline], error) {
	if err := s.Policy.Require(ctx, as, readable(p), p.Subject()); err != nil {
		return page.Page[Pipeline]{}, err
	}
	var w db.Where
	w.And("p.project_id = ?", p.ID)
	f.where(&w)
	order := pipelineOrders[f.OrderBy]
	if !f.Asc {
		order = order.Desc()
	}
	list, err := page.Select[Pipeline](ctx, s.DB, page.Query{Columns: pipelineColumns, From: "pipelines p", Where: w, Order: order}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list pipelines: %w", err)
	}
	return list, nil
}

// CodeNoPipeline is the error of a branch or tag without a pipeline.
const CodeNoPipeline errs.Code = "no_pipeline_of_ref"

// Latest returns the newest pipeline of a branch or tag, of the default branch where ref is "". It
// returns NotFound with CodeNoPipeline if there is none.
func (s *Service) Latest(ctx context.Context, as authz.Actor, p *project.Project, ref string) (*Pipeline, error) {
	if err := s.Policy.Require(ctx, as, readable(p), p.Subject()); err != nil {
		return nil, err
	}
	if ref == "" && p.DefaultBranch != nil {
		ref = *p.DefaultBranch
	}
	list, err := db.Select[Pipeline](ctx, s.DB, "SELECT "+pipelineColumns+` FROM pipelines p WHERE p.project_id = ? AND p.ref = ? AND p.source <> ?
		ORDER BY p.id DESC LIMIT 1`, p.ID, ref, ByParentPipeline)
	if err != nil {
		return nil, fmt.Errorf("latest pipeline: %w", err)
	}
	if len(list) == 0 {
		return nil, errs.Coded(errs.NotFound, CodeNoPipeline, "Pipeline")
	}
	return &list[0], nil
}

// JobFilter selects jobs; the zero value selects those that no other job took the place of.
type JobFilter struct {
	States  []State // none selects all
	Kind    Kind    // JobKind or BridgeKind, "" is JobKind
	Retried bool    // with those that others took the place of
	Asc     bool
	page.Range
}

var jobOrder = page.Order{page.ID("s.id")}

func (s *Service) listJobs(ctx context.Context, w db.Where, f JobFilter) (page.Page[Job], error) {
	kind := f.Kind
	if kind == "" {
		kind = JobKind
	}
	w.And("s.kind = ?", kind)
	if len(f.States) > 0 {
		w.In("s.status", f.States)
	}
	if !f.Retried {
		w.Raw("NOT s.retried")
	}
	order := jobOrder
	if !f.Asc {
		order = order.Desc()
	}
	list, err := page.Select[Job](ctx, s.DB, page.Query{Columns: jobColumns, From: jobTables, Where: w, Order: order}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list jobs: %w", err)
	}
	return list, nil
}

// Jobs lists the jobs of a project, those that others took the place of among them.
func (s *Service) Jobs(ctx context.Context, as authz.Actor, p *project.Project, f JobFilter) (page.Page[Job], error) {
	if err := s.Policy.Require(ctx, as, readable(p), p.Subject()); err != nil {
		return page.Page[Job]{}, err
	}
	if err := s.Limits.CheckAt(limit.ProjectJobs, as, p.Place()); err != nil {
		return page.Page[Job]{}, err
	}
	var w db.Where
	w.And("s.project_id = ?", p.ID)
	f.Retried = true
	return s.listJobs(ctx, w, f)
}

// JobsOf lists the jobs of a pipeline that the actor has read.
func (s *Service) JobsOf(ctx context.Context, as authz.Actor, p *project.Project, of PipelineID, f JobFilter) (page.Page[Job], error) {
	if _, err := s.Find(ctx, as, p, of); err != nil {
		return page.Page[Job]{}, err
	}
	var w db.Where
	w.And("s.pipeline_id = ?", of)
	return s.listJobs(ctx, w, f)
}

// FindJob returns a job of a project with its pipeline.
func (s *Service) FindJob(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, *Pipeline, error) {
	if err := s.Policy.Require(ctx, as, readable(p), p.Subject()); err != nil {
		return nil, nil, err
	}
	return s.findJob(ctx, as, p, id)
}

// Current returns the job whose token the actor presented, with its project. For all others there is none.
func (s *Service) Current(ctx context.Context, as authz.Actor) (*Job, *project.Project, error) {
	if as.Job.ID == 0 {
		return nil, nil, errs.New(errs.Unauthorized, "")
	}
	j, err := s.loadJob(ctx, StatusID(as.Job.ID))
	if err != nil {
		return nil, nil, err
	}
	p, err := s.Projects.FindByID(ctx, as, j.ProjectID)
	if err != nil {
		return nil, nil, err
	}
	return j, p, s.Policy.Require(ctx, as, readable(p), p.Subject())
}

// findJob is FindJob for an actor who may read pipelines of the project.
func (s *Service) findJob(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, *Pipeline, error) {
	j, err := s.loadJob(ctx, id)
	if errors.Is(err, db.ErrNotFound) || err == nil && (j.ProjectID != p.ID || j.Kind != JobKind) {
		return nil, nil, errs.Missing("")
	}
	if err != nil {
		return nil, nil, err
	}
	of, err := s.Find(ctx, as, p, j.PipelineID)
	return j, of, err
}

// unarchived is findJob for what changes a job, which is denied once the job is archived.
func (s *Service) unarchived(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, *Pipeline, error) {
	j, of, err := s.findJob(ctx, as, p, id)
	if err == nil && s.archived(j) {
		err = errs.Denied("")
	}
	return j, of, err
}

// writable is unarchived where the actor may run pipelines of the reference.
func (s *Service) writable(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, *Pipeline, error) {
	j, of, err := s.unarchived(ctx, as, p, id)
	if err != nil {
		return nil, nil, err
	}
	return j, of, s.mayChange(ctx, as, p, of)
}

// changeable is Find for what changes a pipeline, which the actor may only where it may run pipelines of the reference.
func (s *Service) changeable(ctx context.Context, as authz.Actor, p *project.Project, id PipelineID) (*Pipeline, error) {
	of, err := s.Find(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	return of, s.mayChange(ctx, as, p, of)
}

// loadJob reads a job, db.ErrNotFound where there is none.
func (s *Service) loadJob(ctx context.Context, id StatusID) (*Job, error) {
	j, err := db.Get[Job](ctx, s.DB, "SELECT "+jobColumns+" FROM "+jobTables+" WHERE s.id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("find job: %w", err)
	}
	return &j, nil
}

// protects reports whether a rule protects a branch or tag.
func (s *Service) protects(ctx context.Context, as authz.Actor, p *project.Project, ref string, tag bool) (bool, error) {
	st, err := s.Protections.Branches(ctx, as, p)
	if tag {
		st, err = s.Protections.Tags(ctx, as, p)
	}
	if err != nil {
		return false, err
	}
	return st.Protects(ref), nil
}
