package account

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
func (s *Service) Start() {
	s.flushing.Start(lastuse.WriteEvery, func() {
		if err := s.Flush(context.Background()); err != nil {
			s.Log.Error("write down the use of tokens", "error", err)
		}
	})
}

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error {
	s.flushing.Stop()
	return s.Flush(ctx)
}

// Flush writes down when tokens were used and on which day their users were active.
func (s *Service) Flush(ctx context.Context) error {
	tokens, users := s.usage.tokens.Take(), s.usage.users.Take()
	if len(tokens) == 0 && len(users) == 0 {
		return nil
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		for _, id := range slices.Sorted(maps.Keys(tokens)) { // in order, lest two servers lock each other out
			at := tokens[id]
			if _, err := s.DB.Exec(ctx, "UPDATE access_tokens SET last_used_at = ? WHERE id = ?", at, id); err != nil {
				return err
			}
		}
		for _, id := range slices.Sorted(maps.Keys(users)) {
			day := users[id].UTC().Format(time.DateOnly)
			if _, err := s.DB.Exec(ctx, `UPDATE users SET last_activity_on = ?
				WHERE id = ? AND (last_activity_on IS NULL OR last_activity_on < ?)`, day, id, day); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.usage.tokens.GiveBack(tokens)
		s.usage.users.GiveBack(users)
		return fmt.Errorf("flush token use: %w", err)
	}
	return nil
}
