package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
)

// Times of deliveries.
const (
	callTimeout = 10 * time.Second
	patience    = time.Second      // how long a worker waits for a call; one that takes longer is slow
	lease       = 30 * time.Second // of a hook, from the beginning of each call
	turn        = 5 * time.Second  // how long a job works for one hook
	maxDetached = 1024             // calls at a time that go on without a worker

	crowd           = 16                    // calls at a time that workers wait for with patience: half of the workers
	crowdedPatience = 20 * time.Millisecond // for others, so that many receivers that turn slow at once hold up no hook for long
)

// repeats are the pauses before a delivery that failed is tried again.
var repeats = []time.Duration{time.Minute, 5 * time.Minute}

// deliver is the job that does what a hook waits for; deliverSlow does the same for hooks whose calls take long, with workers of its own,
// and wake does when a repeat is due.
type (
	deliver     struct{ Hook ID }
	deliverSlow struct{ Hook ID }
	wake        struct{ Hook ID }
)

// Kind names the job.
func (deliver) Kind() string { return "deliver_hook" }

// Kind names the job.
func (deliverSlow) Kind() string { return "deliver_slow_hook" }

// Kind names the job.
func (wake) Kind() string { return "wake_hook" }

// lane is the queue that a job is in.
type lane bool

const (
	fast lane = false
	slow lane = true
)

// RegisterJobs says how hooks are called.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, func(ctx context.Context, j deliver) error { return s.deliver(ctx, j.Hook, fast) }, job.On(job.Hooks), job.Unique(), job.Timeout(time.Minute))
	job.Register(r, func(ctx context.Context, j deliverSlow) error { return s.deliver(ctx, j.Hook, slow) }, job.On(job.HooksSlow), job.Unique(), job.Timeout(time.Minute))
	job.Register(r, func(ctx context.Context, j wake) error { return s.deliver(ctx, j.Hook, fast) }, job.On(job.Hooks), job.Timeout(time.Minute))
	job.Register(r, s.clean, job.On(job.Maintenance), job.Unique(), job.Low())
}

// enqueue has a hook called.
func (s *Service) enqueue(ctx context.Context, id ID, in lane) error {
	if in == slow {
		return s.Jobs.Enqueue(ctx, deliverSlow{id})
	}
	return s.Jobs.Enqueue(ctx, deliver{id})
}

// leased is a hook that one worker has, until it releases it or the lease ends.
type leased struct {
	id    ID
	until db.Time // end of the lease, by which the worker knows that it is its own
}

// take leases a hook. It returns nil where another worker has it, which looks for deliveries before it leaves, or the hook was deleted.
func (s *Service) take(ctx context.Context, id ID) (*leased, error) {
	now := s.Now()
	h := &leased{id, db.At(now.Add(lease))}
	var n int64
	err := s.DB.InTx(ctx, func(ctx context.Context) (err error) {
		n, err = s.DB.Exec(ctx, "UPDATE webhooks SET leased_until = ? WHERE id = ? AND (leased_until IS NULL OR leased_until <= ?)", h.until, id, db.At(now))
		if err != nil || n > 0 {
			return err
		}
		until, err := db.Get[db.NullTime](ctx, s.DB, "SELECT leased_until FROM webhooks WHERE id = ?", id)
		if errors.Is(err, db.ErrNotFound) || err == nil && !until.Valid {
			return nil
		}
		if err != nil {
			return err
		}
		return s.wakeAt(ctx, id, until.V) // in case that the other worker is one that was killed
	})
	if err != nil || n == 0 {
		return nil, err
	}
	return h, nil
}

// wakeAt has a hook looked at later. One job for the earliest time is enough.
func (s *Service) wakeAt(ctx context.Context, id ID, at db.Time) error {
	n, err := s.DB.Exec(ctx, "UPDATE webhooks SET wake_at = ? WHERE id = ? AND (wake_at IS NULL OR wake_at <= ? OR wake_at > ?)", at, id, db.At(s.Now()), at)
	if err != nil || n == 0 {
		return err
	}
	return s.Jobs.Enqueue(ctx, wake{id}, job.At(at.Time))
}

// renew keeps the lease for another call. It reports false where the hook was deleted, or another worker has it.
func (s *Service) renew(ctx context.Context, h *leased) (bool, error) {
	until := db.At(s.Now().Add(lease))
	n, err := s.DB.Exec(ctx, "UPDATE webhooks SET leased_until = ? WHERE id = ? AND leased_until = ?", until, h.id, h.until)
	if err != nil || n == 0 {
		return false, err
	}
	s.DB.AfterCommit(ctx, func() { h.until = until })
	return true, nil
}

// release ends the lease, and has the hook called again where deliveries wait. It holds the row meanwhile, as Receive does, so that
// either of both sees what the other has done.
func (s *Service) release(ctx context.Context, h *leased) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		row, err := db.Get[listener](ctx, s.DB, "SELECT "+db.Columns[listener]("h")+" FROM webhooks h WHERE h.id = ? AND h.leased_until = ?"+s.DB.Dialect().ForUpdate(), h.id, h.until)
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		next, err := db.Get[db.NullTime](ctx, s.DB, "SELECT MIN(due_at) FROM webhook_deliveries WHERE webhook_id = ?", h.id)
		if err != nil {
			return err
		}
		if _, err := s.DB.Exec(ctx, "UPDATE webhooks SET leased_until = NULL WHERE id = ?", h.id); err != nil {
			return err
		}
		switch {
		case !next.Valid:
			return nil
		case next.V.After(s.Now()):
			return s.wakeAt(ctx, h.id, next.V)
		}
		return s.enqueue(ctx, h.id, lane(row.Slow))
	})
	if err != nil {
		return fmt.Errorf("release webhook: %w", err)
	}
	return nil
}

// pending is a delivery that is due, with its hook and body.
type pending struct {
	hook     *Hook
	delivery delivery
	body     body
}

// deliver does the jobs.
func (s *Service) deliver(ctx context.Context, id ID, in lane) error {
	h, err := s.take(ctx, id)
	if h == nil || err != nil {
		return err
	}
	until := s.Now().Add(turn)
	for {
		var next *pending
		err := s.gate.do(ctx, func() (err error) {
			next, err = s.next(ctx, h)
			return err
		})
		switch {
		case err != nil:
			return errors.Join(err, s.release(context.WithoutCancel(ctx), h))
		case next == nil, lane(next.hook.Slow) != in, s.Now().After(until):
			return s.release(ctx, h)
		}
		detached, err := s.send(ctx, h, next, in)
		if err != nil {
			return errors.Join(err, s.release(context.WithoutCancel(ctx), h))
		}
		if detached {
			return nil
		}
	}
}

// next returns the first delivery of a hook that is due: repeats first, and others in the order of their events. It returns nil where
// none is. Deliveries of a hook that is paused or disabled, and all while nothing may leave the server, are dropped.
func (s *Service) next(ctx context.Context, of *leased) (*pending, error) {
	hook, err := db.Get[Hook](ctx, s.DB, "SELECT "+columns+" FROM webhooks h WHERE h.id = ?", of.id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read webhook: %w", err)
	}
	now := db.At(s.Now())
	if s.Settings.Current().SilentModeEnabled || hook.statusAt(now.Time) != Executable {
		_, err := s.DB.Exec(ctx, "DELETE FROM webhook_deliveries WHERE webhook_id = ?", of.id)
		return nil, errs.Wrap(err, "drop deliveries")
	}
	for {
		d, err := db.Get[delivery](ctx, s.DB, "SELECT "+db.Columns[delivery]("d")+` FROM webhook_deliveries d WHERE d.webhook_id = ? AND d.due_at > ? AND d.due_at <= ?
			ORDER BY d.due_at, d.id LIMIT 1`, of.id, unsent, now)
		if errors.Is(err, db.ErrNotFound) {
			d, err = db.Get[delivery](ctx, s.DB, "SELECT "+db.Columns[delivery]("d")+" FROM webhook_deliveries d WHERE d.webhook_id = ? AND d.due_at = ? ORDER BY d.id LIMIT 1", of.id, unsent)
		}
		if errors.Is(err, db.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read delivery: %w", err)
		}
		b, err := db.Get[body](ctx, s.DB, "SELECT "+db.Columns[body]("b")+" FROM webhook_bodies b WHERE b.id = ?", d.BodyID)
		if err != nil {
			return nil, fmt.Errorf("read body of delivery: %w", err)
		}
		may, err := s.may(ctx, &hook, &b)
		if err != nil {
			return nil, err
		}
		if may {
			return &pending{&hook, d, b}, nil
		}
		if _, err := db.Drop(ctx, s.DB, db.Row{Table: "webhook_deliveries", ID: d.ID}); err != nil {
			return nil, fmt.Errorf("drop delivery: %w", err)
		}
	}
}

// may reports whether a hook may still be notified of an event: what it was in has not been moved away from the group of the hook, and
// who did it has not been blocked since.
func (s *Service) may(ctx context.Context, h *Hook, b *body) (bool, error) {
	if h.NamespaceID == nil || b.PlaceID == 0 {
		return true, nil
	}
	may, err := db.Get[bool](ctx, s.DB, `SELECT (NOT EXISTS (SELECT 1 FROM namespaces n WHERE n.id = ?) OR EXISTS (SELECT 1 FROM namespace_ancestors a WHERE a.namespace_id = ? AND a.ancestor_id = ?))
		AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = ? AND `+account.BarredSQL("u")+")", b.PlaceID, b.PlaceID, *h.NamespaceID, b.MakerID)
	if err != nil {
		return false, fmt.Errorf("may webhook be called: %w", err)
	}
	return may, nil
}
