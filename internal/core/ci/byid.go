package ci

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// ByIDs returns those of the pipelines with these ids that the actor may read. It takes one
// statement for the pipelines and one for their projects with the actor's levels.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []PipelineID) (map[PipelineID]*Pipeline, error) {
	out := make(map[PipelineID]*Pipeline, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("p.id", ids)
	rows, err := db.Select[Pipeline](ctx, s.DB, "SELECT "+pipelineColumns+" FROM pipelines p"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("pipelines by id: %w", err)
	}
	of := make([]project.ID, len(rows))
	for i := range rows {
		of[i] = rows[i].ProjectID
	}
	projects, err := s.Projects.ByIDs(ctx, as, of)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		p := projects[rows[i].ProjectID]
		if p == nil {
			continue
		}
		may, err := s.Policy.Can(ctx, as, s.readable(p), p.Subject())
		if err != nil {
			return nil, fmt.Errorf("pipelines by id: %w", err)
		}
		if may {
			out[rows[i].ID] = &rows[i]
		}
	}
	return out, nil
}
