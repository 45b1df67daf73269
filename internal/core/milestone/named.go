package milestone

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Named returns the milestones of a project and the groups above it that have these titles, or these ids where there are no titles, those of the project first. It asks for no
// permission: who may change what is in the project sees them.
func (s *Service) Named(ctx context.Context, p *project.Project, titles []string, ids []ID) ([]Milestone, error) {
	if len(titles) == 0 && len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	if len(titles) > 0 {
		w.In("m.title", titles)
	} else {
		w.In("m.id", ids)
	}
	w.And("m.namespace_id IN "+namespace.AboveSQL, p.NamespaceID)
	out, err := db.Select[Milestone](ctx, s.DB, "SELECT "+short+" FROM "+tables+w.SQL()+" ORDER BY CASE WHEN m.namespace_id = ? THEN 0 ELSE 1 END, m.id",
		append(w.Args(), p.NamespaceID)...)
	if err != nil {
		return nil, fmt.Errorf("milestones by name: %w", err)
	}
	return out, nil
}
