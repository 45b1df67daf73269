package project

import (
	"context"
	"sync"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
)

// Running are the jobs of this process that fill projects. Each ends when its project is being deleted; the zero value has none.
type Running struct {
	mu      sync.Mutex
	cancels map[ID]context.CancelCauseFunc
}

// Begin notes a job, whose context ends with it; false where the project is being filled already. Call end in any other case.
func (r *Running) Begin(ctx context.Context, id ID) (_ context.Context, end func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancels[id] != nil {
		return ctx, nil, false
	}
	if r.cancels == nil {
		r.cancels = map[ID]context.CancelCauseFunc{}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r.cancels[id] = cancel
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		cancel(nil)
		delete(r.cancels, id)
	}, true
}

// Subscribe registers, as a reaction with a name, that jobs end with a cause after the commit that deletes their project or marks it for that.
func (r *Running) Subscribe(d *db.DB, b *event.Bus, name string, cause error) {
	end := func(ctx context.Context, id ID) error {
		d.AfterCommit(ctx, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if cancel := r.cancels[id]; cancel != nil {
				cancel(cause)
			}
		})
		return nil
	}
	event.On(b, name, func(ctx context.Context, e Deleted) error { return end(ctx, e.Row().ID) })
	event.On(b, name, func(ctx context.Context, e Marked) error {
		if e.Restored {
			return nil
		}
		return end(ctx, e.Row().ID)
	})
}
