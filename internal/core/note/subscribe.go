package note

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Subscribe registers what happens with notes when something else happens, and what
// follows from a note.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "notes"
	event.On(b, name, s.copied)
	event.On(b, name, s.promoted)
	event.On(b, "threads that issues follow up", s.followUp)
	event.On(b, "positions of notes", s.versioned)
	event.On(b, name, func(ctx context.Context, e noteable.Deleted) error { return s.Clear(ctx, e.Noteable()) })
	event.On(b, name, func(ctx context.Context, e project.Removing) error {
		cond, args, ok := s.Kinds.InTable("source_type", "source_id", e.Table, e.IDs)
		switch {
		case ok:
			return s.forget(ctx, cond, args...)
		case e.Last():
			return s.forget(ctx, "source_project_id = ?", e.ProjectID)
		default:
			return nil
		}
	})
	event.On(b, name, func(ctx context.Context, e namespace.GroupRemoving) error {
		for _, cond := range s.Kinds.InGroups("source_type", "source_id") {
			if err := s.forget(ctx, cond, e.Row().ID); err != nil {
				return err
			}
		}
		return nil
	})
	event.On(b, "last activity of the project", func(ctx context.Context, e Created) error {
		if e.Project == nil || !e.Project.Rested(e.At) {
			return nil
		}
		return s.Jobs.Enqueue(ctx, project.Touch{ProjectID: e.Project.ID})
	})
}
