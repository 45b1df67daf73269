package ci

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Requested says which pipelines concern a merge request.
type Requested struct {
	ID             int64
	Target, Source *project.Project // Source is nil where it is gone or hidden from the actor
	Branch         string           // its source branch
	Commits        []string         // for which pipelines of the branch count
}

// InProject is a pipeline with its project, as the actor sees it.
type InProject struct {
	Pipeline
	Project *project.Project
}

// OfRequest lists the pipelines of a merge request and those that ran on its source branch for its commits, as far as the filter selects them, the newest
// first whatever its order. Those of a project whose pipelines the actor may not read are left out.
func (s *Service) OfRequest(ctx context.Context, as authz.Actor, of Requested, f PipelineFilter) (page.Page[InProject], error) {
	places := map[project.ID]*project.Project{}
	for _, p := range []*project.Project{of.Target, of.Source} {
		if p == nil {
			continue
		}
		may, err := s.MayRead(ctx, as, p)
		if err != nil {
			return page.Page[InProject]{}, err
		}
		if may {
			places[p.ID] = p
		}
	}
	var w db.Where
	w.And("p.merge_request_id = ? AND p.source = ?", of.ID, ByMergeRequest)
	f.where(&w)
	list, err := db.Select[Pipeline](ctx, s.DB, "SELECT "+pipelineColumns+" FROM pipelines p"+w.SQL()+" ORDER BY p.id DESC", w.Args()...)
	if err != nil {
		return page.Page[InProject]{}, fmt.Errorf("list pipelines of merge request: %w", err)
	}
	if of.Source != nil {
		more, err := s.ofBranch(ctx, of, f)
		if err != nil {
			return page.Page[InProject]{}, err
		}
		list = append(list, more...)
	}
	out := make([]InProject, 0, len(list))
	for i := range list {
		if p := places[list[i].ProjectID]; p != nil {
			out = append(out, InProject{list[i], p})
		}
	}
	slices.SortFunc(out, func(a, b InProject) int { return int(b.ID - a.ID) })
	return page.Slice(out, f.Range, page.Order{page.ID("").Desc()}, func(p *InProject) []any { return []any{int64(p.ID)} })
}

// ofBranch reads the pipelines that ran on a branch itself for some of its commits.
func (s *Service) ofBranch(ctx context.Context, of Requested, f PipelineFilter) ([]Pipeline, error) {
	var out []Pipeline
	for chunk := range slices.Chunk(of.Commits, db.MaxArgs) {
		var w db.Where
		w.And("p.project_id = ?", of.Source.ID)
		w.And("p.ref = ?", of.Branch)
		w.And("p.source_sha IS NULL AND p.source <> ?", ByParentPipeline)
		w.In("p.sha", chunk)
		f.where(&w)
		list, err := db.Select[Pipeline](ctx, s.DB, "SELECT "+pipelineColumns+" FROM pipelines p"+w.SQL()+" ORDER BY p.id DESC", w.Args()...)
		if err != nil {
			return nil, fmt.Errorf("list pipelines of branch: %w", err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// Precedent tells how the last pipeline before one of the same branch, tag or merge request ended that succeeded or failed, "" where there
// is none, and whether one is the newest there. Child pipelines do not count. It asks for no permission.
func (s *Service) Precedent(ctx context.Context, of *Pipeline) (before State, newest bool, err error) {
	const same = "p.project_id = ? AND p.ref = ? AND p.tag = ? AND p.source <> 'parent_pipeline'"
	row, err := db.Get[struct {
		Before string `db:"before"`
		Newest bool   `db:"newest"`
	}](ctx, s.DB, `SELECT COALESCE((SELECT p.status FROM pipelines p WHERE `+same+` AND p.id < ? AND p.status IN ('success', 'failed') ORDER BY p.id DESC LIMIT 1), '') AS before,
		NOT EXISTS (SELECT 1 FROM pipelines p WHERE `+same+` AND p.id > ?) AS newest`, of.ProjectID, of.Ref, of.Tag, of.ID, of.ProjectID, of.Ref, of.Tag, of.ID)
	if err != nil {
		return "", false, fmt.Errorf("read the pipeline before: %w", err)
	}
	return State(row.Before), row.Newest, nil
}

// Course is how a pipeline went, as far as its statuses tell.
type Course struct {
	StartedAt  *time.Time // of the first that ran
	FinishedAt *time.Time // of the last that ended; nil while the pipeline is under way
	Coverage   *float64   // percent, the mean of those that say one
	Warned     bool       // it is a success although some failed that may
}

// Duration is how long the pipeline ran, in whole seconds; nil before its end.
func (c Course) Duration() *int64 { return seconds(c.StartedAt, c.FinishedAt) }

// Queued is how long the pipeline waited for its first job, in whole seconds; nil before that.
func (c Course) Queued(of *Pipeline) *int64 { return seconds(&of.CreatedAt.Time, c.StartedAt) }

func seconds(from, to *time.Time) *int64 {
	if from == nil || to == nil {
		return nil
	}
	return new(int64(to.Sub(*from).Seconds()))
}

// Course looks at the statuses of a pipeline. It asks for no permission.
func (s *Service) Course(ctx context.Context, of *Pipeline) (Course, error) {
	list, err := db.Select[Status](ctx, s.DB, "SELECT "+statusColumns+" FROM commit_statuses s WHERE s.pipeline_id = ? AND NOT s.retried ORDER BY s.id", of.ID)
	if err != nil {
		return Course{}, fmt.Errorf("list statuses of pipeline: %w", err)
	}
	return course(of, list), nil
}

// course looks at the statuses of a pipeline that no other took the place of.
func course(of *Pipeline, list []Status) Course {
	var c Course
	var sum float64
	covered := 0
	for i := range list {
		st := &list[i]
		if at := st.StartedAt.Ptr(); at != nil && (c.StartedAt == nil || at.Before(*c.StartedAt)) {
			c.StartedAt = at
		}
		if at := st.FinishedAt.Ptr(); at != nil && (c.FinishedAt == nil || at.After(*c.FinishedAt)) {
			c.FinishedAt = at
		}
		c.Warned = c.Warned || of.State == Success && st.standing() == warned
		if st.Coverage != nil {
			sum, covered = sum+*st.Coverage, covered+1
		}
	}
	if of.State.Active() {
		c.FinishedAt = nil
	}
	if covered > 0 {
		mean := sum / float64(covered)
		c.Coverage = &mean
	}
	return c
}
