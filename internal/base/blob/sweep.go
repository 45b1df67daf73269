package blob

import (
	"context"
	"errors"
	"time"
)

// sweepBatch is how many objects SweepUnnamed asks about at a time.
const sweepBatch = 500

// Unnamed says which objects of a store nothing names any more.
type Unnamed struct {
	Prefix string    // as List takes it
	Before time.Time // younger objects stay, as what names them may not be written yet

	// Named returns those of the keys that stay; there are at most 500.
	Named func(ctx context.Context, keys []string) ([]string, error)

	// Remove deletes an object; nil is Delete of the store.
	Remove func(ctx context.Context, key string) error
}

// SweepUnnamed deletes the objects that nothing names. An object that cannot be deleted does not keep
// it from the next one of its batch.
func (s *Store) SweepUnnamed(ctx context.Context, u Unnamed) error {
	remove := u.Remove
	if remove == nil {
		remove = s.Delete
	}
	var keys []string
	look := func() error {
		named, err := u.Named(ctx, keys)
		if err != nil {
			return err
		}
		stays := make(map[string]bool, len(named))
		for _, key := range named {
			stays[key] = true
		}
		for _, key := range keys {
			if !stays[key] {
				err = errors.Join(err, remove(ctx, key))
			}
		}
		keys = keys[:0]
		return err
	}
	for info, err := range s.List(ctx, u.Prefix) {
		if err != nil {
			return err
		}
		if !info.Modified.Before(u.Before) {
			continue
		}
		if keys = append(keys, info.Key); len(keys) == sweepBatch {
			if err := look(); err != nil {
				return err
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return look()
}
