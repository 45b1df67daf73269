// Package cached keeps in memory what every request needs and few requests change.
package cached

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tenon/internal/base/db"
)

// refreshEvery is how often a server reads what others wrote into its database.
const refreshEvery = 30 * time.Second

// Value is a value that is read from the database at the start, after each change, and from time to time. It is safe for concurrent use.
type Value[T any] struct {
	read    func(ctx context.Context) (*T, error)
	current atomic.Pointer[T]
	reading sync.Mutex // what was read earlier comes into force earlier

	stop chan struct{}
	done sync.WaitGroup
}

// New returns a value that read reads; until Open it is the zero value.
func New[T any](read func(ctx context.Context) (*T, error)) *Value[T] {
	v := &Value[T]{read: read}
	v.current.Store(new(T))
	return v
}

// Current returns the value in force. The result is shared: do not change it.
func (v *Value[T]) Current() *T { return v.current.Load() }

// Open reads the value and puts it in force.
func (v *Value[T]) Open(ctx context.Context) error {
	v.reading.Lock()
	defer v.reading.Unlock()
	next, err := v.read(ctx)
	if err != nil {
		return err
	}
	v.current.Store(next)
	return nil
}

// Start reads the value again from time to time, as another process may have changed it. Stop ends that.
func (v *Value[T]) Start() {
	v.stop = make(chan struct{})
	v.done.Go(func() {
		tick := time.NewTicker(refreshEvery)
		defer tick.Stop()
		for {
			select {
			case <-v.stop:
				return
			case <-tick.C:
				ctx, cancel := context.WithTimeout(context.Background(), refreshEvery)
				_ = v.Open(ctx) // what was read before stays in force
				cancel()
			}
		}
	})
}

// Stop ends what Start began.
func (v *Value[T]) Stop(context.Context) error {
	if v.stop != nil {
		close(v.stop)
		v.done.Wait()
		v.stop = nil
	}
	return nil
}

// Change runs fn in a transaction and puts in force what was committed. Where that fails the old value is in force until the next
// change, start or look at the database, and the caller gets the error.
func (v *Value[T]) Change(ctx context.Context, d *db.DB, fn func(ctx context.Context) error) error {
	outer := ctx // the transaction's own ends with it
	var failed error
	err := d.InTx(ctx, func(ctx context.Context) error {
		if err := fn(ctx); err != nil {
			return err
		}
		d.AfterCommit(ctx, func() { failed = v.Open(context.WithoutCancel(outer)) })
		return nil
	})
	if err == nil && failed != nil {
		err = fmt.Errorf("the change is stored, and not in force yet: %w", failed)
	}
	return err
}
