package issue

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/project"
)

// Fact is what every event of this package says. Handlers do not change what it points to.
type Fact struct {
	authz.Stamp

	Issue   Issue  // as it is now, or was at its deletion, with labels and assignees
	Before  *Issue // the same before the change; nil where the issue was made or deleted
	Project *project.Project
}

// Created is published when an issue was made.
type Created struct{ Fact }

// Updated is published when something but the state of an issue changed. Where the state
// changed as well, Closed or Reopened with the same Fact comes next.
type Updated struct {
	Fact
	Diff Diff
}

// Closed is published when an issue was closed.
type Closed struct{ Fact }

// Reopened is published when a closed issue was opened again.
type Reopened struct{ Fact }

// Deleted is published when an issue is about to be deleted, with what hangs on it.
type Deleted struct{ Fact }

// Diff is what an update changed.
type Diff struct {
	OldTitle         *string // nil where the title is the same
	Description      bool    // from OldText to NewText
	OldText, NewText string
	Confidential     bool
	DiscussionLocked bool // Locked is the new state
	Locked           bool
	OldType          *Type
	DueDate          bool
	OldDue, NewDue   *string
	Weight           bool
	Milestone        bool // from that of Before to that of Issue
	Assigned         []authz.UserID
	Unassigned       []authz.UserID
	LabelsAdded      []label.Label
	LabelsRemoved    []label.Label
}

// empty reports that nothing changed.
func (d *Diff) empty() bool {
	return d.OldTitle == nil && !d.Description && !d.Confidential && !d.DiscussionLocked && d.OldType == nil &&
		!d.DueDate && !d.Weight && !d.Milestone && len(d.Assigned)+len(d.Unassigned)+len(d.LabelsAdded)+len(d.LabelsRemoved) == 0
}
