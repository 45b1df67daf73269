package sshkey

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
)

// refreshed puts in a last use that is not written down yet.
func (s *Service) refreshed(k *Key) *Key {
	if at, ok := s.used.Last(k.ID); ok {
		t := db.At(at)
		k.LastUsedAt = &t
	}
	return k
}

func (s *Service) refreshedAll(rows []Key) []*Key {
	out := make([]*Key, len(rows))
	for i := range rows {
		out[i] = s.refreshed(&rows[i])
	}
	return out
}

// Start begins to write down once a minute when keys were used. Stop ends it.
func (s *Service) Start() { s.flushing.Write(s.Log, "write down the use of keys", s.Flush) }

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error { return s.flushing.Finish(ctx, s.Flush) }

// Flush writes down when keys were used.
func (s *Service) Flush(ctx context.Context) error {
	err := s.used.Flush(ctx, s.DB, func(ctx context.Context, id ID, at time.Time) error {
		_, err := s.DB.Exec(ctx, "UPDATE ssh_keys SET last_used_at = ? WHERE id = ?", at, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("flush key use: %w", err)
	}
	return nil
}
