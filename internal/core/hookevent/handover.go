package hookevent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
)

const (
	// batch is how many events are read at a time.
	batch = 20

	// maxAttempts is how often the body of an event is tried to be built before the event is given up.
	maxAttempts = 5

	// handOverTimeout bounds one job; another goes on where it ends.
	handOverTimeout = 10 * time.Minute
)

// errGone says that there is nothing to tell any more.
var errGone = errors.New("what the event is about is gone")

// handOver is the job that hands on all events that are recorded, in their order.
type handOver struct{}

// Kind names the job.
func (handOver) Kind() string { return "hand_over_hook_events" }

// RegisterJobs says how events are handed on: by one worker, so that they keep their order.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.handOver, job.On(job.Events), job.Unique(), job.Timeout(handOverTimeout))
	job.Register(r, s.remind, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(r, remindEvery, remind{})
}

// handOver does the job. An event that fails is tried again by the next attempt and holds up no other.
func (s *Service) handOver(ctx context.Context, _ handOver) error {
	var failed error
	for last := int64(0); ; {
		events, err := db.Select[Event](ctx, s.DB, "SELECT "+columns+" FROM hook_events e WHERE e.id > ? ORDER BY e.id LIMIT ?", last, batch)
		if err != nil {
			return fmt.Errorf("read events for hooks: %w", err)
		}
		if len(events) == 0 {
			return failed
		}
		for i := range events {
			if err := s.one(ctx, &events[i]); err != nil {
				failed = errors.Join(failed, err)
			}
			last = events[i].ID
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

var columns = db.Columns[Event]("e")

func row(id int64) db.Row { return db.Row{Table: "hook_events", ID: id} }

// one hands on an event.
func (s *Service) one(ctx context.Context, e *Event) error {
	m, err := s.message(ctx, e)
	if err != nil && !errors.Is(err, errGone) {
		return s.fail(ctx, e, err)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		found, err := db.Drop(ctx, s.DB, row(e.ID))
		if err != nil || !found || m == nil { // another process has handed it on
			return err
		}
		for _, r := range s.Recipients {
			if err := r.Receive(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("hand on event %d (%s): %w", e.ID, e.Kind, err)
	}
	return nil
}

// fail counts that the body of an event could not be built, and in the end gives the event up.
func (s *Service) fail(ctx context.Context, e *Event, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if e.Attempts+1 < maxAttempts {
			_, err := s.DB.Exec(ctx, "UPDATE hook_events SET attempts = attempts + 1 WHERE id = ?", e.ID)
			return err
		}
		_, err := db.Drop(ctx, s.DB, row(e.ID))
		return err
	})
	if e.Attempts+1 >= maxAttempts {
		s.Log.ErrorContext(ctx, "hooks are not told of an event", slog.Int64("event", e.ID), slog.String("kind", e.Kind), slog.Any("error", cause))
		return err
	}
	return errors.Join(fmt.Errorf("build body of event %d (%s): %w", e.ID, e.Kind, cause), err)
}

// message builds what those hear who are told of an event, nil where there is nothing to tell any more.
func (s *Service) message(ctx context.Context, e *Event) (*payload.Message, error) {
	var h head
	if err := json.Unmarshal([]byte(e.Head), &h); err != nil {
		return nil, fmt.Errorf("read event for hooks: %w", err)
	}
	var of source
	for _, k := range sources() {
		if k.kind() == e.Kind {
			of = k
		}
	}
	if of == nil {
		return nil, errGone // written by a newer release
	}
	if err := json.Unmarshal([]byte(e.Data), of); err != nil {
		return nil, fmt.Errorf("read event for hooks: %w", err)
	}
	m := &payload.Message{Event: e.ID, Trigger: h.Trigger, At: h.At, By: h.By, Chain: h.Chain, Namespace: h.Namespace}
	if h.Project != 0 {
		found, err := s.Projects.Load(ctx, []project.ID{h.Project})
		if err != nil {
			return nil, err
		}
		m.Project = found[h.Project]
	}
	if err := of.fill(ctx, s, m); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m.Body)
	if err != nil {
		return nil, fmt.Errorf("write body of event: %w", err)
	}
	m.JSON = text
	return m, nil
}
