// Package progress says how far pipelines and their checks have come, for those who run
// them and those who wait for them.
package progress

import "slices"

// State is where a pipeline or a check stands.
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
