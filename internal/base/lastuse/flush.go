package lastuse

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tenon/internal/base/db"
)

// Write begins to call flush once a minute; what goes wrong is logged with the words.
// Finish ends it.
func (l *Loop) Write(log *slog.Logger, words string, flush func(ctx context.Context) error) {
	l.Start(WriteEvery, func() {
		if err := flush(context.Background()); err != nil {
			log.Error(words, "error", err)
		}
	})
}

// Finish ends what Write began and calls flush once more, for the rest.
func (l *Loop) Finish(ctx context.Context, flush func(ctx context.Context) error) error {
	l.Stop()
	return flush(ctx)
}

// Flush writes down what was noted, in one transaction. What could not be written is
// remembered again.
func (t *Times[K]) Flush(ctx context.Context, d *db.DB, write Write[K, time.Time]) error {
	taken := t.Take()
	err := inOrder(ctx, d, taken, cmp.Compare[K], write)
	if err != nil {
		t.GiveBack(taken)
	}
	return err
}

// Flush writes down what was counted, in one transaction. What could not be written is
// counted again.
func (c *Counts[K]) Flush(ctx context.Context, d *db.DB, order func(a, b K) int, write Write[K, int64]) error {
	taken := c.Take()
	err := inOrder(ctx, d, taken, order, write)
	if err != nil {
		c.GiveBack(taken)
	}
	return err
}

// Write puts one value into the database, in the transaction of ctx.
type Write[K, V any] func(ctx context.Context, key K, value V) error

// inOrder writes values in the order of their keys, so that two servers do not deadlock.
func inOrder[K comparable, V any](ctx context.Context, d *db.DB, taken map[K]V, order func(a, b K) int, write Write[K, V]) error {
	if len(taken) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(taken), order)
	return d.InTx(ctx, func(ctx context.Context) error {
		for _, key := range keys {
			if err := write(ctx, key, taken[key]); err != nil {
				return err
			}
		}
		return nil
	})
}
