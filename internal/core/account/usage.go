package account

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/core/authz"
)

// NoteActive remembers that a user did something.
func (s *Service) NoteActive(id authz.UserID, at time.Time) { s.active.Note(id, at) }

// wasActive reports whether the user did something after a moment that is not written down
// yet.
func (s *Service) wasActive(id authz.UserID, since time.Time) bool {
	at, ok := s.active.Last(id)
	return ok && at.After(since)
}

// Start begins to write down once a minute when users were active. Stop ends it.
func (s *Service) Start() { s.flushing.Write(s.Log, "write down who was active", s.Flush) }

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error { return s.flushing.Finish(ctx, s.Flush) }

// Flush writes down on which day users were active.
func (s *Service) Flush(ctx context.Context) error {
	err := s.active.Flush(ctx, s.DB, func(ctx context.Context, id authz.UserID, at time.Time) error {
		day := at.UTC().Format(time.DateOnly)
		_, err := s.DB.Exec(ctx, `UPDATE users SET last_activity_on = ?
			WHERE id = ? AND (last_activity_on IS NULL OR last_activity_on < ?)`, day, id, day)
		return err
	})
	if err != nil {
		return fmt.Errorf("flush activity of users: %w", err)
	}
	return nil
}
