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

// OfBranch lists the pipelines that ran on a branch for some of its commits, the newest
// first. An actor who may not read pipelines of the project sees none.
func (s *Service) OfBranch(ctx context.Context, as authz.Actor, p *project.Project, branch string, commits []string, r page.Range) (page.Page[Pipeline], error) {
	may, err := s.policy.Can(ctx, as, s.readable(p), p.Subject())
	if err != nil || !may {
		return page.None[Pipeline](r), err
	}
	var out []Pipeline
	for chunk := range slices.Chunk(commits, db.MaxArgs) {
		var w db.Where
		w.And("p.project_id = ?", p.ID)
		w.And("p.ref = ?", branch)
		w.In("p.sha", chunk)
		list, err := db.Select[Pipeline](ctx, s.db, "SELECT "+pipelineColumns+" FROM pipelines p"+w.SQL()+" ORDER BY p.id DESC", w.Args()...)
		if err != nil {
			return page.Page[Pipeline]{}, fmt.Errorf("list pipelines of branch: %w", err)
		}
		out = append(out, list...)
	}
	slices.SortFunc(out, func(a, b Pipeline) int { return int(b.ID - a.ID) })
	return page.Slice(out, r, page.Order{page.ID("").Desc()}, func(p *Pipeline) []any { return []any{int64(p.ID)} })
}

// Course is how a pipeline went, as far as its statuses tell.
type Course struct {
	StartedAt  *time.Time // of the first that ran
	FinishedAt *time.Time // of the last that ended; nil while the pipeline is under way
	Coverage   *float64   // percent, the mean of those that say one
}

// Course looks at the statuses of a pipeline. It asks for no permission.
func (s *Service) Course(ctx context.Context, of *Pipeline) (Course, error) {
	list, err := db.Select[Status](ctx, s.db, "SELECT "+statusColumns+" FROM commit_statuses s WHERE s.pipeline_id = ? AND NOT s.retried ORDER BY s.id", of.ID)
	if err != nil {
		return Course{}, fmt.Errorf("list statuses of pipeline: %w", err)
	}
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
	return c, nil
}
