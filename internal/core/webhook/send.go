package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"tenon/internal/base/db"
)

// send calls a hook for a delivery that is due and records the attempt. Where the call takes longer than the worker waits and the hook is in
// the fast lane, it returns true: the call goes on without the worker, and with the lease.
func (s *Service) send(ctx context.Context, of *leased, p *pending, in lane) (detached bool, err error) {
	mine, err := s.renew(ctx, of)
	if err != nil || !mine {
		return !mine, err
	}
	text, err := p.body.text()
	if err != nil {
		return false, err
	}
	calling, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan *outcome, 1)
	go func() { // ends with the call, which callTimeout bounds
		done <- s.post(calling, p.hook, callee{p.body.Event, p.delivery.IdempotencyKey, p.body.Chain, p.body.Size}, text)
	}()
	var late <-chan time.Time
	wait := patience
	if in == fast {
		if s.waiting.Add(1) > crowd {
			wait = crowdedPatience
		}
		defer s.waiting.Add(-1)
		timer := time.NewTimer(wait)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case o := <-done:
			stop()
			return false, s.record(ctx, of, p, o)
		case <-ctx.Done(): // the server stops: the delivery is made again
			stop()
			<-done
			return false, ctx.Err()
		case <-late:
			if !s.detached.enter() {
				late = nil // the worker waits with it
				continue
			}
			if err := s.detach(ctx, of, wait); err != nil {
				s.detached.leave()
				stop()
				<-done
				return false, err
			}
			go s.finish(calling, stop, of, p, done) // ends with the call; Stop waits for it
			return true, nil
		}
	}
}

// detach writes down that a hook is slow where its call took patience, and has another worker look at it if this process is killed meanwhile.
func (s *Service) detach(ctx context.Context, of *leased, waited time.Duration) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if waited >= patience {
			if _, err := s.DB.Exec(ctx, "UPDATE webhooks SET slow = ? WHERE id = ?", true, of.id); err != nil {
				return err
			}
		}
		return s.wakeAt(ctx, of.id, of.until)
	})
	if err != nil {
		return fmt.Errorf("hand over call of webhook: %w", err)
	}
	return nil
}

// finish waits for a call without a worker.
func (s *Service) finish(ctx context.Context, stop context.CancelFunc, of *leased, p *pending, done <-chan *outcome) {
	defer s.detached.leave()
	defer stop()
	var o *outcome
	select {
	case o = <-done:
	case <-s.stopping:
		stop()
		<-done
		return // the delivery is made again
	}
	if err := s.record(ctx, of, p, o); err != nil {
		s.Log.ErrorContext(ctx, "call of a webhook was not recorded", slog.Int64("webhook", int64(of.id)), slog.Any("error", err))
	}
	if err := s.release(ctx, of); err != nil {
		s.Log.ErrorContext(ctx, "webhook was not released", slog.Int64("webhook", int64(of.id)), slog.Any("error", err))
	}
}

// inTurn is a transaction behind the gate.
func (s *Service) inTurn(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.gate.do(ctx, func() error { return s.DB.InTx(ctx, fn) })
}

// record writes down a call, and what becomes of the delivery and the hook.
func (s *Service) record(ctx context.Context, of *leased, p *pending, o *outcome) error {
	a, err := s.newAttempt(p.hook, p.delivery.BodyID, p.delivery.IdempotencyKey, o)
	if err != nil {
		return err
	}
	again := o.repeatable() && p.delivery.Attempts < len(repeats)
	err = s.inTurn(ctx, func(ctx context.Context) error {
		n, err := s.DB.Exec(ctx, "UPDATE webhooks SET slow = ?, log_bytes = log_bytes + ? WHERE id = ?", o.slow(), a.Bytes+p.body.Bytes, of.id)
		if err != nil || n == 0 { // the hook was deleted
			return err
		}
		a.ID = 0
		if err := db.Create(ctx, s.DB, "webhook_attempts", a); err != nil {
			return err
		}
		if again {
			due := db.At(s.Now().Add(repeats[p.delivery.Attempts]))
			_, err := s.DB.Exec(ctx, "UPDATE webhook_deliveries SET attempts = attempts + 1, due_at = ? WHERE id = ?", due, p.delivery.ID)
			return err
		}
		if _, err := db.Drop(ctx, s.DB, db.Row{Table: "webhook_deliveries", ID: p.delivery.ID}); err != nil {
			return err
		}
		if o.succeeded() {
			return s.succeed(ctx, p.hook)
		}
		return s.failed(ctx, p.hook, a)
	})
	if err != nil {
		return fmt.Errorf("record call of webhook: %w", err)
	}
	s.counted(o, again)
	return s.cleanAfterCalls(ctx)
}
