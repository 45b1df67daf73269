package sshkey

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/lastuse"
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
func (s *Service) Start() {
	s.flushing.Start(lastuse.WriteEvery, func() {
		if err := s.Flush(context.Background()); err != nil {
			s.Log.Error("write down the use of keys", "error", err)
		}
	})
}

// Stop ends what Start began and writes down the rest.
func (s *Service) Stop(ctx context.Context) error {
	s.flushing.Stop()
	return s.Flush(ctx)
}

// Flush writes down when keys were used.
func (s *Service) Flush(ctx context.Context) error {
	used := s.used.Take()
	if len(used) == 0 {
		return nil
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		for _, id := range slices.Sorted(maps.Keys(used)) { // in order, lest two servers lock each other out
			if _, err := s.DB.Exec(ctx, "UPDATE ssh_keys SET last_used_at = ? WHERE id = ?", used[id], id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.used.GiveBack(used)
		return fmt.Errorf("flush key use: %w", err)
	}
	return nil
}
