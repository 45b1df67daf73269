package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

const (
	verifyAtOnce = 500 // rows of one read
	verifyRead   = 10 * time.Second
)

// Reasons why the trail is broken.
const (
	Changed  = "changed"
	Inserted = "inserted" // or its seal is missing
	Missing  = "missing"
	NoSeal   = "the given seal is not in the chain"
	NoEnd    = "the record of the last seal was changed"
)

// Sealed is the last event up to which the trail is as it was written.
type Sealed struct {
	ID        ID        `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	Seal      string    `json:"seal"`
}

// Broken is the first event that is not as it was written.
type Broken struct {
	ID     *ID    `json:"id"` // nil where its seal is missing, too
	Reason string `json:"reason"`
}

// Report is what Verify found.
type Report struct {
	Valid       bool    `json:"valid"`
	SealedUpTo  *Sealed `json:"sealed_up_to"` // nil before the first seal
	FirstBroken *Broken `json:"first_broken"`
	Events      int64   `json:"-"` // seals that were looked at
}

// Verify reads all events and says which is the first that was changed, inserted or taken away, or up to where all are sealed. The
// seal of an earlier report, where it is not "", has to be among the seals. One run goes on at a time: a caller who comes meanwhile
// gets its result. tell, which may be nil, is called with the progress of the caller's own run.
func (s *Service) Verify(ctx context.Context, as authz.Actor, seal string, tell func(done, all int64)) (Report, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadAuditEvents, authz.Subject{}); err != nil {
		return Report{}, err
	}
	for {
		r := s.runs.join(ctx, seal, func(ctx context.Context, r *run) { // it ends when all is read, or when the last caller has left
			r.report, r.err = s.verify(ctx, seal, tell)
			s.runs.end(r)
		})
		select {
		case <-r.done:
		case <-ctx.Done():
			s.runs.leave(r)
			return Report{}, ctx.Err()
		}
		if r.seal == seal && !r.left {
			return r.report, r.err
		}
	}
}

// runs are the runs of Verify: one at most.
type runs struct {
	mu  sync.Mutex
	now *run
}

type run struct {
	seal    string
	callers int
	cancel  func()
	left    bool // its callers have left: it has no result
	done    chan struct{}
	report  Report
	err     error
}

// join returns the run that goes on, or begins one.
func (r *runs) join(ctx context.Context, seal string, work func(ctx context.Context, r *run)) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != nil {
		r.now.callers++
		return r.now
	}
	ctx, cancel := context.WithCancel(db.LimitReads(budget.Apart(context.WithoutCancel(ctx)), verifyRead, 0)) // no answer holds what is read
	r.now = &run{seal: seal, callers: 1, cancel: cancel, done: make(chan struct{})}
	go work(ctx, r.now)
	return r.now
}

// leave cancels a run whose last caller has left.
func (r *runs) leave(of *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if of.callers--; of.callers == 0 && r.now == of {
		of.left = true
		of.cancel()
	}
}

func (r *runs) end(of *run) {
	r.mu.Lock()
	r.now = nil
	r.mu.Unlock()
	of.cancel()
	close(of.done)
}

// linked is an event with its seal.
type linked struct {
	link
	row
	Sealed int64 `db:"sealed"`
}

const linkedColumns = "s.number, s.event_id, s.seal, e.sealed, "

// verify walks the chain, then looks for events that are not in it.
func (s *Service) verify(ctx context.Context, seal string, tell func(done, all int64)) (Report, error) {
	var out Report
	end, err := s.end(ctx)
	if err != nil {
		return out, err
	}
	found, last := seal == "", link{}
	for last.Number < end.Number {
		rows, err := db.Select[linked](ctx, s.DB, "SELECT "+linkedColumns+db.Columns[row]("e")+` FROM audit_seals s JOIN audit_events e ON e.id = s.event_id
			WHERE s.number > ? AND s.number <= ? ORDER BY s.number`, last.Number, min(last.Number+verifyAtOnce, end.Number))
		if err != nil {
			return out, fmt.Errorf("read audit events: %w", err)
		}
		for i := range rows {
			r := &rows[i]
			if r.Number != last.Number+1 {
				break
			}
			if r.row.next(last.Seal) != r.Seal || r.Sealed != sealed {
				return out.broken(&r.EventID, Changed), nil
			}
			last, found = r.link, found || r.Seal == seal
			out.SealedUpTo = &Sealed{r.ID, r.CreatedAt.Time, r.Seal}
		}
		if last.Number < end.Number && (len(rows) == 0 || rows[len(rows)-1].Number != last.Number) {
			id, err := s.eventOf(ctx, last.Number+1)
			return out.broken(id, Missing), err
		}
		if out.Events = last.Number; tell != nil {
			tell(last.Number, end.Number)
		}
	}
	beyond, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM audit_seals WHERE number < 1)")
	switch {
	case err != nil:
		return out, fmt.Errorf("look for seals: %w", err)
	case last.Seal != end.Seal || beyond:
		return out.broken(nil, NoEnd), nil
	case !found:
		return out.broken(nil, NoSeal), nil
	}
	id, err := s.unproved(ctx, end)
	if id != nil || err != nil {
		return out.broken(id, Inserted), err
	}
	out.Valid = true
	return out, nil
}

func (r Report) broken(id *ID, reason string) Report {
	r.FirstBroken = &Broken{id, reason}
	return r
}

// eventOf returns the id of the event that a seal is of, nil where that is missing as well.
func (s *Service) eventOf(ctx context.Context, number int64) (*ID, error) {
	id, err := db.Get[ID](ctx, s.DB, "SELECT event_id FROM audit_seals WHERE number = ?", number)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read seal: %w", err)
	}
	return &id, nil
}

// unproved returns the first event that has neither a seal nor a proof.
func (s *Service) unproved(ctx context.Context, end chain) (*ID, error) {
	for last := ID(0); ; {
		to, err := db.Get[*ID](ctx, s.DB, "SELECT MAX(x.id) FROM (SELECT e.id FROM audit_events e WHERE e.id > ? ORDER BY e.id LIMIT ?) x", last, verifyAtOnce)
		if err != nil || to == nil {
			return nil, err
		}
		rows, err := db.Select[unsealed](ctx, s.DB, "SELECT "+db.Columns[unsealed]("e")+` FROM audit_events e
			WHERE e.id > ? AND e.id <= ? AND NOT EXISTS (SELECT 1 FROM audit_seals s WHERE s.event_id = e.id) ORDER BY e.id`, last, *to)
		if err != nil {
			return nil, fmt.Errorf("look for events without seal: %w", err)
		}
		for i := range rows {
			r := &rows[i]
			if r.Sealed != waiting || r.ID > end.Unproved && !s.proved(&r.row, r.Proof) {
				return &r.ID, nil
			}
		}
		last = *to
	}
}
