package account

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tenon/internal/core/authz"
)

// How long and how many users are remembered.
const (
	cacheAge  = 10 * time.Second
	cacheSize = 10_000
)

// summaryCache remembers the summaries of users: every list names people, mostly the
// same ones. Whatever changes one evicts it after the commit; what another process
// changes is seen after cacheAge.
type summaryCache struct {
	mu    sync.Mutex
	users map[authz.UserID]summary
	gen   uint64 // counts evictions
}

type summary struct {
	user *User
	at   time.Time // when it was read
}

func newSummaryCache() *summaryCache {
	return &summaryCache{users: make(map[authz.UserID]summary)}
}

// take copies what is known of ids into out. It returns the ids that are to be read, each
// once, and the generation to hand to put afterwards.
func (c *summaryCache) take(ids []authz.UserID, now time.Time, out map[authz.UserID]*User) ([]authz.UserID, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var unknown []authz.UserID
	for _, id := range ids {
		if _, seen := out[id]; seen {
			continue
		}
		s, ok := c.users[id]
		if age := now.Sub(s.at); ok && age >= 0 && age < cacheAge {
			u := *s.user
			out[id] = &u
			continue
		}
		out[id] = nil
		unknown = append(unknown, id)
	}
	return unknown, c.gen
}

// put remembers users as they were read, unless something was evicted since.
func (c *summaryCache) put(users []User, now time.Time, seen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gen != seen {
		return
	}
	if len(c.users)+len(users) > cacheSize {
		clear(c.users)
	}
	for i := range users[:min(len(users), cacheSize)] {
		u := users[i]
		c.users[u.ID] = summary{&u, now}
	}
}

func (c *summaryCache) evict(id authz.UserID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gen++
	delete(c.users, id)
}

// forget evicts what is remembered of a user, once the transaction of ctx is committed.
func (s *Service) forget(ctx context.Context, id authz.UserID) {
	s.DB.AfterCommit(ctx, func() {
		s.people.evict(id)
		for _, changed := range s.watchers {
			changed(id)
		}
	})
}

// ByIDs returns what every caller sees of users, in one statement at most. Unknown ids are missing
// from the result. It may be ten seconds old where another process changed a user, but not
// within a transaction.
func (s *Service) ByIDs(ctx context.Context, ids []authz.UserID) (map[authz.UserID]*Summary, error) {
	users, err := s.Load(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[authz.UserID]*Summary, len(users))
	for id, u := range users {
		out[id] = s.Summary(u)
	}
	return out, nil
}

// Load returns the rows of users, with addresses that not every caller may see: it asks for no
// permission and is for core. Only the fields before Profile are filled. The rest is as ByIDs
// has it.
func (s *Service) Load(ctx context.Context, ids []authz.UserID) (map[authz.UserID]*User, error) {
	out := make(map[authz.UserID]*User, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	unknown, seen, now := ids, uint64(0), s.Now()
	remember := !s.DB.InTransaction(ctx)
	if remember {
		if unknown, seen = s.people.take(ids, now, out); len(unknown) == 0 {
			return out, nil
		}
	}
	rows, err := s.summaries(ctx, unknown)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	if remember {
		s.people.put(rows, now, seen)
		for _, id := range unknown {
			delete(out, id)
		}
	}
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}
