// Package token keeps access tokens and deploy tokens, and finds the actor behind the
// secret of one.
package token

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/lastuse"
	"tenon/internal/base/lru"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

// Deps is what a Service is made of.
type Deps struct {
	DB       *db.DB
	Policy   *authz.Policy
	Bus      *event.Bus
	Settings *setting.Store
	Accounts *account.Service
	Box      *secret.Box
	Now      func() time.Time
	Log      *slog.Logger // nil discards

	// NoImpersonation refuses impersonation tokens.
	NoImpersonation bool
}

// Service keeps tokens. It is safe for concurrent use.
type Service struct {
	Deps

	cache    *tokenCache
	used     lastuse.Times[ID]
	flushing lastuse.Loop
}

// New builds the service. Call Start to have the use of tokens written down.
func New(d Deps) *Service {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{Deps: d, cache: newTokenCache()}
	d.Accounts.Watch(s.cache.evictUser)
	return s
}

// CacheStats returns figures of the cache of tokens that requests came with.
func (s *Service) CacheStats() lru.Stats { return s.cache.stats() }

// Start begins to write down once a minute when tokens were used. Stop ends it.
func (s *Service) Start() { s.flushing.Write(s.Log, "write down the use of tokens", s.Flush) }

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error { return s.flushing.Finish(ctx, s.Flush) }

// Flush writes down when tokens were used.
func (s *Service) Flush(ctx context.Context) error {
	err := s.used.Flush(ctx, s.DB, func(ctx context.Context, id ID, at time.Time) error {
		_, err := s.DB.Exec(ctx, "UPDATE access_tokens SET last_used_at = ? WHERE id = ?", at, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("flush token use: %w", err)
	}
	return nil
}

// Depart is the first account.Executor of a user who goes: the tokens are deleted, however
// long the rest takes.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	n, err := s.DB.Exec(ctx, "DELETE FROM access_tokens WHERE id IN (SELECT id FROM access_tokens WHERE user_id = ? ORDER BY id LIMIT ?)",
		e.UserID, account.Batch)
	s.DB.AfterCommit(ctx, func() { s.cache.evictUser(e.UserID) })
	return n == account.Batch, err
}
