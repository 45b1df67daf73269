package ci

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/project"
)

var (
	statusColumns   = db.Columns[Status]("s")
	pipelineColumns = db.Columns[Pipeline]("p")
)

// list reads a page of a commit's statuses.
func (s *Service) list(ctx context.Context, in project.ID, commit gitstore.ObjectID, f Filter) (page.Page[Status], error) {
	var w db.Where
	w.And("p.project_id = ? AND p.sha = ?", in, commit.String())
	if !f.All {
		w.Raw("NOT s.retried")
	}
	for column, value := range map[string]string{"s.ref": f.Ref, "s.stage": f.Stage, "s.name": f.Name} {
		if value != "" {
			w.And(column+" = ?", value)
		}
	}
	if f.PipelineID != 0 {
		w.And("p.id = ?", f.PipelineID)
	}
	order := page.Order{page.ID("s.id")}
	if f.ByPipeline {
		order = page.Order{page.Int("pipeline_id", "s.pipeline_id"), page.ID("s.id")}
	}
	if f.Desc {
		order = order.Desc()
	}
	list, err := page.Select[Status](ctx, s.DB, page.Query{
		Columns: statusColumns, From: "commit_statuses s JOIN pipelines p ON p.id = s.pipeline_id", Where: w, Order: order,
	}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list statuses: %w", err)
	}
	return list, nil
}

// newest returns the newest pipeline of a commit, of a ref and with an id where they are
// given; nil where there is none.
func (s *Service) newest(ctx context.Context, in project.ID, commit gitstore.ObjectID, ref string, id PipelineID) (*Pipeline, error) {
	var w db.Where
	w.And("p.project_id = ? AND p.sha = ?", in, commit.String())
	if ref != "" {
		w.And("p.ref = ?", ref)
	}
	if id != 0 {
		w.And("p.id = ?", id)
	} else {
		w.And("p.source <> ?", ByParentPipeline) // what a child does shows in its parent
	}
	list, err := db.Select[Pipeline](ctx, s.DB, "SELECT "+pipelineColumns+" FROM pipelines p"+w.SQL()+" ORDER BY p.id DESC LIMIT 1", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("find pipeline: %w", err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

// newestOf finds the newest pipeline of each commit.
func (s *Service) newestOf(ctx context.Context, in project.ID, commits []gitstore.ObjectID) (map[gitstore.ObjectID]*Pipeline, error) {
	names := make([]string, len(commits))
	byName := make(map[string]gitstore.ObjectID, len(commits))
	for i, id := range commits {
		names[i] = id.String()
		byName[names[i]] = id
	}
	marks, args := db.Marks(names)
	list, err := db.Select[Pipeline](ctx, s.DB, "SELECT "+pipelineColumns+" FROM pipelines p WHERE p.id IN (SELECT MAX(x.id) FROM pipelines x"+
		" WHERE x.project_id = ? AND x.source <> ? AND x.sha IN ("+marks+") GROUP BY x.sha)", append([]any{in, ByParentPipeline}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("find pipelines: %w", err)
	}
	out := make(map[gitstore.ObjectID]*Pipeline, len(list))
	for i := range list {
		out[byName[list[i].SHA]] = &list[i]
	}
	return out, nil
}

// moving finds the status of a name that another system reported and that has not ended; db.ErrNotFound where there is none.
func (s *Service) moving(ctx context.Context, in PipelineID, name string) (StatusID, error) {
	var w db.Where
	w.And("s.pipeline_id = ? AND s.kind = ? AND s.name = ? AND NOT s.retried", in, ExternalKind, name)
	w.In("s.status", moving)
	id, err := db.Get[StatusID](ctx, s.DB, "SELECT s.id FROM commit_statuses s"+w.SQL()+" ORDER BY s.id DESC LIMIT 1", w.Args()...)
	if err != nil {
		return 0, fmt.Errorf("find status: %w", err)
	}
	return id, nil
}

// room refuses more jobs or statuses of a pipeline than it may have.
func (s *Service) room(ctx context.Context, in PipelineID, more int) error {
	n, err := db.Get[int](ctx, s.DB, "SELECT count(*) FROM commit_statuses WHERE pipeline_id = ?", in)
	if err != nil {
		return fmt.Errorf("count statuses: %w", err)
	}
	if n+more > maxStatuses {
		return errs.New(errs.Unprocessable, "The number of jobs has exceeded the limit")
	}
	return nil
}

// replace makes room for a new status of a name. Jobs of the same name are another thing.
func (s *Service) replace(ctx context.Context, in PipelineID, name string) error {
	if err := s.room(ctx, in, 1); err != nil {
		return err
	}
	if _, err := s.DB.Exec(ctx, "UPDATE commit_statuses SET retried = true WHERE pipeline_id = ? AND kind = ? AND name = ?", in, ExternalKind, name); err != nil {
		return fmt.Errorf("replace status: %w", err)
	}
	return nil
}
