package ci

import (
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
)

// State is where a pipeline or a status stands.
type State string

// The states that other systems report, and the one before the first report.
const (
	Created  State = "created"
	Pending  State = "pending"
	Running  State = "running"
	Success  State = "success"
	Failed   State = "failed"
	Canceled State = "canceled"
	Skipped  State = "skipped"
)

// Moving lists the states that another follows.
func Moving() []State { return []State{Created, Pending, Running} }

// Active reports whether the state is one that another follows; "" is none.
func (s State) Active() bool { return slices.Contains(Moving(), s) }

// active are the states from which a status still moves.
var active = Moving()

// events lead from some states to one.
var events = map[string]struct {
	from []State
	to   State
}{
	"enqueue": {[]State{Created, Skipped}, Pending},
	"run":     {[]State{Pending}, Running},
	"success": {active, Success},
	"drop":    {active, Failed},
	"cancel":  {active, Canceled},
	"skip":    {[]State{Created, Pending}, Skipped},
}

// reports are the events that a reported state stands for. All but the last may fail.
var reports = map[State][]string{
	Pending: {"enqueue"}, Running: {"enqueue", "run"}, Success: {"success"}, Failed: {"drop"},
	Canceled: {"cancel"}, Skipped: {"skip"},
}

// report moves the status to a reported state.
func (s *Status) report(to State, now time.Time) error {
	names := reports[to]
	for i, name := range names {
		event := events[name]
		if slices.Contains(event.from, s.State) {
			s.enter(event.to, now)
			continue
		}
		if i == len(names)-1 {
			return errs.Plain(fmt.Sprintf("Cannot transition status via :%s from :%s (Reason(s): Status cannot transition via \"%s\")",
				name, s.State, name))
		}
	}
	return nil
}

func (s *Status) enter(to State, now time.Time) {
	at := db.At(now)
	s.State, s.UpdatedAt = to, at
	switch to {
	case Running:
		s.StartedAt = &at
	case Success, Failed, Canceled:
		s.FinishedAt = &at
	}
}

// sum gives the state of a pipeline from those of its statuses.
func sum(states []State) State {
	only := func(allowed ...State) bool {
		return !slices.ContainsFunc(states, func(s State) bool { return !slices.Contains(allowed, s) })
	}
	switch {
	case only(Skipped):
		return Skipped
	case only(Success, Skipped):
		return Success
	case only(Created):
		return Created
	case only(Canceled, Success, Skipped):
		return Canceled
	case only(Pending, Created, Skipped):
		return Pending
	case slices.ContainsFunc(states, State.Active):
		return Running
	}
	return Failed
}
