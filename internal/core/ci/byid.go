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
	readable, err := project.Readable(ctx, s.Projects, as, rows, project.Rule[Pipeline]{
		Project: func(p *Pipeline) project.ID { return p.ProjectID },
		Needs: func(_ *Pipeline, p *project.Project) (authz.Ability, authz.Subject) {
			return readable(p), p.Subject()
		},
	})
	for _, found := range readable {
		out[found.Row.ID] = found.Row
	}
	return out, err
}
