package hookevent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
)

const (
	// batch is how many events are read at a time, and share how many of these are of one tree where trees take turns.
	batch = 20
	share = 5

	// maxAttempts is how often the body of an event is tried to be built before the event is given up.
	maxAttempts = 5

	// handOverTimeout bounds one job; another goes on where it ends.
	handOverTimeout = 10 * time.Minute
)

// errDeleted says that what an event is about no longer exists, so that there is no body.
var errDeleted = errors.New("what the event is about no longer exists")

// setBody is the end of filling a message: a body that is nil is errDeleted.
func setBody[B any](m *payload.Message, body *B, err error) error {
	if err == nil && body == nil {
		err = errDeleted
	}
	if err != nil {
		return err
	}
	m.Body = body
	return nil
}

// handOver is the job that hands on all events that are recorded. Those of one tree of namespaces keep their order, and trees take
// turns, so that many events of one hold up no other. Where a hook of the instance listens, it gets the events of all trees, and all
// keep their order.
type handOver struct{}

// Kind names the job.
func (handOver) Kind() string { return "hand_over_hook_events" }

// RegisterJobs says how events are handed on: by one worker, so that they keep their order.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.handOver, job.On(job.Events), job.Unique(), job.Timeout(handOverTimeout))
	job.Register(r, s.remind, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(r, remindEvery, remind{})
}

// tried is how far one run of the job has come: events that failed are left to the next attempt.
type tried struct {
	last int64                       // where all keep their order
	of   map[authz.NamespaceID]int64 // by tree, where these take turns
}

// handOver does the job. An event that fails holds up no other. While the database is away none is handed on: those after it would come
// before it.
func (s *Service) handOver(ctx context.Context, _ handOver) error {
	var failed error
	for t := (tried{of: map[authz.NamespaceID]int64{}}); ; {
		events, err := s.upcoming(ctx, &t)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return failed
		}
		for i := range events {
			err := s.one(ctx, &events[i])
			failed = errors.Join(failed, err)
			if errors.Is(err, errs.ErrAway) {
				return failed
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// upcoming returns the events that are handed on next, none at the end.
func (s *Service) upcoming(ctx context.Context, t *tried) ([]Event, error) {
	for {
		events, err := db.Select[Event](ctx, s.DB, "SELECT "+columns+" FROM hook_events e WHERE e.id > ? ORDER BY e.id LIMIT ?", t.last, batch)
		if err != nil {
			return nil, fmt.Errorf("read events for hooks: %w", err)
		}
		if len(events) == 0 {
			return nil, nil
		}
		if len(events) == batch {
			ordered, err := s.ordered(ctx)
			if err != nil {
				return nil, err
			}
			if !ordered {
				return s.inTurns(ctx, t)
			}
		}
		t.last = events[len(events)-1].ID
		events = slices.DeleteFunc(events, func(e Event) bool { return e.ID <= t.of[e.TreeID] })
		if len(events) > 0 {
			return events, nil
		}
	}
}

// inTurns returns a share of the events of each tree.
func (s *Service) inTurns(ctx context.Context, t *tried) (events []Event, err error) {
	trees, err := db.Select[authz.NamespaceID](ctx, s.DB, `WITH RECURSIVE t(id) AS (SELECT MIN(e.tree_id) FROM hook_events e
		UNION ALL SELECT (SELECT MIN(e.tree_id) FROM hook_events e WHERE e.tree_id > t.id) FROM t WHERE t.id IS NOT NULL)
		SELECT t.id FROM t WHERE t.id IS NOT NULL`)
	if err != nil {
		return nil, fmt.Errorf("trees with events for hooks: %w", err)
	}
	for _, tree := range trees {
		some, err := db.Select[Event](ctx, s.DB, "SELECT "+columns+" FROM hook_events e WHERE e.tree_id = ? AND e.id > ? ORDER BY e.id LIMIT ?", tree, max(t.last, t.of[tree]), share)
		if err != nil {
			return nil, fmt.Errorf("read events for hooks: %w", err)
		}
		if n := len(some); n > 0 {
			t.of[tree] = some[n-1].ID
		}
		events = append(events, some...)
	}
	return events, nil
}

// ordered reports whether a hook of the instance listens to any event.
func (s *Service) ordered(ctx context.Context) (bool, error) {
	query, args := s.listening(head{}, payload.Triggers())
	if query == "" {
		return false, nil
	}
	out, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS ("+query+")", args...)
	if err != nil {
		return false, fmt.Errorf("do hooks of the instance listen: %w", err)
	}
	return out, nil
}

var columns = db.Columns[Event]("e")

func row(id int64) db.Row { return db.Row{Table: "hook_events", ID: id} }

// one hands on an event.
func (s *Service) one(ctx context.Context, e *Event) error {
	m, err := s.message(ctx, e)
	switch {
	case errors.Is(err, errs.ErrAway):
		return err // which is not the fault of the event
	case err != nil && !errors.Is(err, errDeleted):
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
		s.Log.ErrorContext(ctx, "hooks are not notified of an event", slog.Int64("event", e.ID), slog.String("kind", e.Kind), slog.Any("error", cause))
		return err
	}
	return errors.Join(fmt.Errorf("build body of event %d (%s): %w", e.ID, e.Kind, cause), err)
}

// message builds what recipients get of an event, nil where what it is about no longer exists.
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
		return nil, errDeleted // written by a newer release
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
