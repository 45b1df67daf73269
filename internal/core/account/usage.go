package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/lastuse"
	"tenon/internal/core/authz"
)

// usage remembers when tokens were last used and when their users did something.
type usage struct {
	tokens lastuse.Times[TokenID]
	users  lastuse.Times[authz.UserID]
}

func (u *usage) note(token TokenID, user authz.UserID, at time.Time) {
	u.tokens.Note(token, at)
	u.users.Note(user, at)
}

// active reports whether the user did something after a moment that is not written down
// yet.
func (u *usage) active(id authz.UserID, since time.Time) bool {
	at, ok := u.users.Last(id)
	return ok && at.After(since)
}

// lastUsed gives the time that is not written down yet, nil where there is none.
func (u *usage) lastUsed(token TokenID) *db.Time {
	at, ok := u.tokens.Last(token)
	if !ok {
		return nil
	}
	t := db.At(at)
	return &t
}

// Start begins to write down once a minute when tokens were used. Stop ends it.
func (s *Service) Start() { s.flushing.Write(s.Log, "write down the use of tokens", s.Flush) }

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error { return s.flushing.Finish(ctx, s.Flush) }

// Flush writes down when tokens were used and on which day their users were active.
func (s *Service) Flush(ctx context.Context) error {
	err := s.usage.tokens.Flush(ctx, s.DB, func(ctx context.Context, id TokenID, at time.Time) error {
		_, err := s.DB.Exec(ctx, "UPDATE access_tokens SET last_used_at = ? WHERE id = ?", at, id)
		return err
	})
	err = errors.Join(err, s.usage.users.Flush(ctx, s.DB, func(ctx context.Context, id authz.UserID, at time.Time) error {
		day := at.UTC().Format(time.DateOnly)
		_, err := s.DB.Exec(ctx, `UPDATE users SET last_activity_on = ?
			WHERE id = ? AND (last_activity_on IS NULL OR last_activity_on < ?)`, day, id, day)
		return err
	}))
	if err != nil {
		return fmt.Errorf("flush token use: %w", err)
	}
	return nil
}
