package blob

import (
	"context"
	"errors"
	"io"
)

// Offer hands the size of an object, and what opens it, to fn. An object that is not there is left out.
func (s *Store) Offer(ctx context.Context, key string, fn func(size int64, open func(ctx context.Context) (io.ReadCloser, error)) error) error {
	info, err := s.Stat(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return fn(info.Size, func(ctx context.Context) (io.ReadCloser, error) { return s.Open(ctx, key) })
}
