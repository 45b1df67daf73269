package ci

import (
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
)

// State is where a pipeline, a job or a status stands.
type State string

// The states.
const (
	Created            State = "created"
	WaitingForResource State = "waiting_for_resource"
	Preparing          State = "preparing"
	WaitingForCallback State = "waiting_for_callback"
	Pending            State = "pending"
	Running            State = "running"
	Success            State = "success"
	Failed             State = "failed"
	Canceling          State = "canceling"
	Canceled           State = "canceled"
	Skipped            State = "skipped"
	Manual             State = "manual"
	Scheduled          State = "scheduled"
)

// States lists all states in the order of the API.
func States() []State {
	return []State{
		Created, WaitingForResource, Preparing, WaitingForCallback, Pending, Running, Success, Failed, Canceling, Canceled, Skipped, Manual, Scheduled,
	}
}

// moving are the states that another state follows without a request.
var moving = []State{Created, WaitingForResource, Preparing, WaitingForCallback, Pending, Running, Canceling}

// Active reports whether the state is one that another follows without a call; "" is none.
func (s State) Active() bool { return slices.Contains(moving, s) }

// Complete reports whether the state is a last one.
func (s State) Complete() bool {
	return slices.Contains([]State{Success, Failed, Canceled, Skipped}, s)
}

// cancelable are the states that canceling ends.
var cancelable = append([]State{Manual, Scheduled}, moving...)

// events lead from some states to one.
var events = map[string]struct {
	from []State
	to   State
}{
	"enqueue": {[]State{Created, WaitingForResource, Preparing, Skipped, Manual, Scheduled}, Pending},
	"run":     {[]State{Pending}, Running},
	"success": {moving, Success},
	"drop":    {moving, Failed},
	"cancel":  {cancelable, Canceled},
	"skip":    {[]State{Created, WaitingForResource, Preparing, Pending}, Skipped},
}

// reports are the events that a reported state stands for. All but the last may fail.
var reports = map[State][]string{
	Pending: {"enqueue"}, Running: {"enqueue", "run"}, Success: {"success"}, Failed: {"drop"},
	Canceled: {"cancel"}, Skipped: {"skip"},
}

// CodeTransition is the code of an error whose cause is a TransitionError.
const CodeTransition errs.Code = "status_transition"

// TransitionError says that a status cannot get where it was reported to be.
type TransitionError struct {
	Event string // what would have to happen, such as "enqueue"
	From  State
}

// Error says it in a sentence.
func (e *TransitionError) Error() string {
	return fmt.Sprintf("a status that is %s does not allow %q", e.From, e.Event)
}

// report moves the status to a reported state. It returns an error with CodeTransition if the status cannot get there.
func (s *Status) report(to State, now time.Time) error {
	names := reports[to]
	for i, name := range names {
		event := events[name]
		if slices.Contains(event.from, s.State) {
			s.enter(event.to, now)
			continue
		}
		if i == len(names)-1 {
			stuck := &TransitionError{Event: name, From: s.State}
			return &errs.Error{Kind: errs.Invalid, Code: CodeTransition, Message: stuck.Error(), Err: stuck}
		}
	}
	return nil
}

// enter moves the status to a state and notes the time.
func (s *Status) enter(to State, now time.Time) {
	at := db.At(now)
	s.State, s.UpdatedAt = to, at
	switch to {
	case Pending:
		s.QueuedAt = &at
	case Running:
		s.StartedAt = &at
	case Success, Failed, Canceled:
		s.FinishedAt = &at
	}
}

// ready is the state of a job whose turn has come: one of a resource group waits until it gets the group.
func (s *Status) ready() State {
	if s.ResourceGroupID != nil {
		return WaitingForResource
	}
	return Pending
}

// standing is what the state of a job means for those that depend on it.
type standing string

const (
	ignored standing = "ignored" // manual, and the pipeline does not wait for it
	warned  standing = "warned"  // it ended without success, and may
)

// standing tells apart what may fail.
func (s *Status) standing() standing {
	switch {
	case s.AllowFailure && s.State == Manual:
		return ignored
	case s.AllowFailure && (s.State == Failed || s.State == Canceled):
		return warned
	}
	return standing(s.State)
}

// tally counts standings.
type tally map[standing]int

func (t tally) any(states ...State) bool {
	return slices.ContainsFunc(states, func(s State) bool { return t[standing(s)] > 0 })
}

// only reports whether there is nothing but these.
func (t tally) only(allowed ...standing) bool {
	for s, n := range t {
		if n > 0 && !slices.Contains(allowed, s) {
			return false
		}
	}
	return true
}

// begun reports whether a job has run, or another system said so.
func (t tally) begun() bool {
	return t.any(Running, Success, Failed, Canceling, Canceled) || t[warned] > 0
}

// sum returns the state that many jobs have together: of a stage, of a pipeline, of what a job
// waits for. Without jobs it is skipped. Those that wait for a runner while none has run are pending, whatever the others wait for.
func (t tally) sum() State {
	const success, skipped, created, canceled, pending = standing(Success), standing(Skipped), standing(Created), standing(Canceled), standing(Pending)
	switch {
	case t.only(skipped, ignored):
		return Skipped
	case t.only(success, skipped, warned, ignored):
		return Success
	case t.only(created, warned, ignored):
		return Created
	case t.only(standing(Preparing), warned, ignored):
		return Preparing
	case t.only(canceled, success, skipped, warned, ignored):
		return Canceled
	case t.only(pending, created, skipped, warned, ignored), t.any(Pending) && !t.begun():
		return Pending
	case t.any(Running, Pending):
		return Running
	}
	for _, s := range []State{WaitingForResource, WaitingForCallback, Manual, Scheduled, Preparing} {
		if t.any(s) {
			return s
		}
	}
	switch {
	case t.any(Created):
		return Running
	case t.any(Canceling):
		return Canceling
	}
	return Failed
}

// sumOfNeeds is sum for a job that waits for others by name: one that was not run at all holds it back.
func (t tally) sumOfNeeds() State {
	switch {
	case t.any(Skipped) || t[ignored] > 0:
		return Skipped
	case !t.only(standing(Success), standing(Failed), standing(Canceled), warned):
		return Running
	}
	return t.sum()
}
