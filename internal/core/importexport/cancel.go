package importexport

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Subscribe registers what ends the import of a project that is being deleted, with the requests and git processes that it runs.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "running imports of archives"
	event.On(b, name, func(ctx context.Context, e project.Deleted) error { s.cancel(ctx, e.Row().ID); return nil })
	event.On(b, name, func(ctx context.Context, e project.Marked) error {
		if !e.Restored {
			s.cancel(ctx, e.Row().ID)
		}
		return nil
	})
}

// cancel ends the import of a project in this process after the commit. Other servers notice when they store their progress.
func (s *Service) cancel(ctx context.Context, id project.ID) {
	s.DB.AfterCommit(ctx, func() {
		if end, ok := s.filled.Load(id); ok {
			end.(context.CancelCauseFunc)(tree.ErrStop)
		}
	})
}

// until returns a context that ends when the project is being deleted; its cause is tree.ErrStop then. Call end in any case.
func (s *Service) until(ctx context.Context, id project.ID) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.filled.Store(id, cancel)
	return ctx, func() {
		s.filled.Delete(id)
		cancel(nil)
	}
}
