package account

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// flushEvery is how often the use of tokens is written down.
const flushEvery = time.Minute

// usage remembers when tokens were last used, so that reading never writes.
type usage struct {
	mu     sync.Mutex
	tokens map[TokenID]time.Time
	users  map[authz.UserID]time.Time
	stop   chan struct{}
	done   chan struct{}
}

func newUsage() *usage {
	return &usage{tokens: make(map[TokenID]time.Time), users: make(map[authz.UserID]time.Time)}
}

func (u *usage) note(token TokenID, user authz.UserID, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tokens[token] = at
	u.users[user] = at
}

// active notes that a user did something without a token.
func (u *usage) active(user authz.UserID, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.users[user] = at
}

// lastUsed gives the time that is not written down yet, nil where there is none.
func (u *usage) lastUsed(token TokenID) *db.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	at, ok := u.tokens[token]
	if !ok {
		return nil
	}
	t := db.At(at)
	return &t
}

// take hands over what was noted and starts anew.
func (u *usage) take() (map[TokenID]time.Time, map[authz.UserID]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	tokens, users := u.tokens, u.users
	u.tokens, u.users = make(map[TokenID]time.Time), make(map[authz.UserID]time.Time)
	return tokens, users
}

// giveBack takes what could not be written down, unless there is something newer.
func (u *usage) giveBack(tokens map[TokenID]time.Time, users map[authz.UserID]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.Copy(tokens, u.tokens)
	maps.Copy(users, u.users)
	u.tokens, u.users = tokens, users
}

// Start begins to write down once a minute when tokens were used. Stop ends it.
func (s *Service) Start() {
	s.usage.stop, s.usage.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(s.usage.done)
		tick := time.NewTicker(flushEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if err := s.Flush(context.Background()); err != nil {
					s.Log.Error("write down the use of tokens", "error", err)
				}
			case <-s.usage.stop:
				return
			}
		}
	}()
}

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error {
	if s.usage.stop != nil {
		close(s.usage.stop)
		<-s.usage.done
		s.usage.stop = nil
	}
	return s.Flush(ctx)
}

// Flush writes down when tokens were used and on which day their users were active.
func (s *Service) Flush(ctx context.Context) error {
	tokens, users := s.usage.take()
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
		s.usage.giveBack(tokens, users)
		return fmt.Errorf("flush token use: %w", err)
	}
	return nil
}
