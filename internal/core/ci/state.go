package ci

import (
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/progress"
)

// active are the states from which a status still moves.
var active = progress.Moving()

// events lead from some states to one.
var events = map[string]struct {
	from []progress.State
	to   progress.State
}{
	"enqueue": {[]progress.State{progress.Created, progress.Skipped}, progress.Pending},
	"run":     {[]progress.State{progress.Pending}, progress.Running},
	"success": {active, progress.Success},
	"drop":    {active, progress.Failed},
	"cancel":  {active, progress.Canceled},
	"skip":    {[]progress.State{progress.Created, progress.Pending}, progress.Skipped},
}

// reports are the events that a reported state stands for. All but the last may fail.
var reports = map[progress.State][]string{
	progress.Pending: {"enqueue"}, progress.Running: {"enqueue", "run"}, progress.Success: {"success"}, progress.Failed: {"drop"},
	progress.Canceled: {"cancel"}, progress.Skipped: {"skip"},
}

// report moves the status to a reported state.
func (s *Status) report(to progress.State, now time.Time) error {
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

func (s *Status) enter(to progress.State, now time.Time) {
	at := db.At(now)
	s.State, s.UpdatedAt = to, at
	switch to {
	case progress.Running:
		s.StartedAt = &at
	case progress.Success, progress.Failed, progress.Canceled:
		s.FinishedAt = &at
	}
}

// sum gives the state of a pipeline from those of its statuses.
func sum(states []progress.State) progress.State {
	only := func(allowed ...progress.State) bool {
		return !slices.ContainsFunc(states, func(s progress.State) bool { return !slices.Contains(allowed, s) })
	}
	switch {
	case only(progress.Skipped):
		return progress.Skipped
	case only(progress.Success, progress.Skipped):
		return progress.Success
	case only(progress.Created):
		return progress.Created
	case only(progress.Canceled, progress.Success, progress.Skipped):
		return progress.Canceled
	case only(progress.Pending, progress.Created, progress.Skipped):
		return progress.Pending
	case slices.ContainsFunc(states, progress.State.Active):
		return progress.Running
	}
	return progress.Failed
}
