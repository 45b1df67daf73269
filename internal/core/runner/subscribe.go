package runner

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/project"
)

// Subscribe registers what happens with runners when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "runners", s.leave)
}

// leave removes the runners that served nothing but a project that was deleted, so that their
// tokens are of no use however long the rest takes.
func (s *Service) leave(ctx context.Context, e project.Deleted) error {
	rows, err := db.Select[Runner](ctx, s.DB, "SELECT "+columns+` FROM runners r
		WHERE r.id IN (SELECT x.runner_id FROM runner_projects x WHERE x.project_id = ?)
			AND NOT EXISTS (SELECT 1 FROM runner_projects y WHERE y.runner_id = r.id AND y.project_id <> ?) ORDER BY r.id`,
		e.Row().ID, e.Row().ID)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := s.remove(ctx, e.By, rows[i].ID, nil); err != nil {
			return err
		}
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM runner_projects WHERE project_id = ?", e.Row().ID); err != nil {
		return err
	}
	_, err = s.DB.Exec(ctx, "DELETE FROM registration_tokens WHERE namespace_id = ?", e.Row().NamespaceID)
	return err
}
