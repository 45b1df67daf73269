package sshkey

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tenon/internal/base/db"
)

// flushEvery is how often the use of keys is written down.
const flushEvery = time.Minute

// usage remembers when keys were last used, so that reading never writes.
type usage struct {
	mu   sync.Mutex
	keys map[ID]time.Time
	stop chan struct{}
	done chan struct{}
}

func newUsage() *usage { return &usage{keys: make(map[ID]time.Time)} }

func (u *usage) note(id ID, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.keys[id] = at
}

// refreshed puts in a last use that is not written down yet.
func (s *Service) refreshed(k *Key) *Key {
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	if at, ok := s.usage.keys[k.ID]; ok {
		t := db.At(at)
		k.LastUsedAt = &t
	}
	return k
}

// Start begins to write down once a minute when keys were used. Stop ends it.
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
					s.Log.Error("write down the use of keys", "error", err)
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

// Flush writes down when keys were used.
func (s *Service) Flush(ctx context.Context) error {
	s.usage.mu.Lock()
	used := s.usage.keys
	s.usage.keys = make(map[ID]time.Time)
	s.usage.mu.Unlock()
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
		s.usage.mu.Lock()
		defer s.usage.mu.Unlock()
		maps.Copy(used, s.usage.keys)
		s.usage.keys = used
		return fmt.Errorf("flush key use: %w", err)
	}
	return nil
}
