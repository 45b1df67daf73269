// Package resourceevent keeps who changed labels, state, milestone, weight and iteration of
// issues, merge requests and epics, and when. These changes have no system notes.
package resourceevent

import (
	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// ID identifies a resource event.
type ID int64

// Kind says what was changed, as the paths of the API do.
type Kind string

// The kinds.
const (
	Label     Kind = "label"
	State     Kind = "state"
	Milestone Kind = "milestone"
	Weight    Kind = "weight"
	Iteration Kind = "iteration"
)

// Action says whether something was added or removed.
type Action string

// The actions of labels, milestones and iterations.
const (
	Add    Action = "add"
	Remove Action = "remove"
)

// Event is one change.
type Event struct {
	ID        ID                 `db:"id"`
	Kind      Kind               `db:"kind"`
	Type      noteable.Kind      `db:"resource_type"`
	TargetID  int64              `db:"resource_id"` // of the database
	ProjectID *project.ID        `db:"project_id"`  // nil for what belongs to a group
	GroupID   *authz.NamespaceID `db:"group_id"`    // nil for what belongs to a project
	UserID    *authz.UserID      `db:"user_id"`     // nil where the user is gone
	Action    Action             `db:"action"`      // "" of states and weights
	State     *string            `db:"state"`       // opened, closed, reopened, merged; of a milestone event the state at that time

	LabelID     *label.ID     `db:"label_id"` // nil where the label is gone, as the next two
	MilestoneID *milestone.ID `db:"milestone_id"`
	IterationID *iteration.ID `db:"iteration_id"`
	Weight      *int64        `db:"weight"` // nil where it was taken away

	SourceCommit    *string          `db:"source_commit"` // whose message closed the issue
	SourceRequestID *mergerequest.ID `db:"source_merge_request_id"`

	CreatedAt db.Time `db:"created_at"`
}
