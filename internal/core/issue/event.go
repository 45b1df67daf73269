package issue

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
)

// Fact is what every event of this package says. Handlers do not change what it points to.
type Fact struct {
	authz.Stamp

	Issue   Issue  // as it is now, or was at its deletion, with labels and assignees
	Before  *Issue // the same before the change; nil where the issue was made or deleted
	Project *project.Project
}

// Created is published when an issue was made.
type Created struct {
	Fact
	CopyOf    ID               // the issue that it was moved or cloned from; 0 for none
	Resolves  Threads          // what the issue follows up
	WithNotes bool             // of a copy: it gets copies of the notes and of the resource events
	From      *project.Project // of a copy: where the other one is
}

// Moved is published when an issue was created again in another project. The Fact is about the
// one that stays behind, closed.
type Moved struct {
	Fact
	To        Issue
	ToProject *project.Project
}

// Cloned is published when an issue was copied.
type Cloned struct {
	Fact
	To        Issue
	ToProject *project.Project
}

// Duplicated is published when an issue was closed as a duplicate.
type Duplicated struct {
	Fact
	Of        Issue
	OfProject *project.Project
}

// Linked is published when two issues were linked.
type Linked struct {
	authz.Stamp
	Type                         LinkType // RelatesTo, or Blocks where the source blocks the target
	Source, Target               Issue
	SourceProject, TargetProject *project.Project
}

// Unlinked is published when the link between two issues was removed.
type Unlinked Linked

// Updated is published when something but the state of an issue changed. Where the state
// changed as well, Closed or Reopened with the same Fact comes next.
type Updated struct {
	Fact
	Diff Diff
}

// Closed is published when an issue was closed.
type Closed struct {
	Fact
	Cause noteable.Cause
}

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
	Iteration        bool
	OldSeverity      *Severity // nil where it is the same
	Health           bool
	Time             timelog.Diff
	Assigned         []authz.UserID
	Unassigned       []authz.UserID
	LabelsAdded      []label.Label
	LabelsRemoved    []label.Label
}

// empty reports that nothing changed.
func (d *Diff) empty() bool {
	return d.OldTitle == nil && d.OldSeverity == nil && !d.Health && d.Time.Empty() && !d.Description && !d.Confidential && !d.DiscussionLocked &&
		d.OldType == nil && !d.DueDate && !d.Weight && !d.Milestone && !d.Iteration &&
		len(d.Assigned)+len(d.Unassigned)+len(d.LabelsAdded)+len(d.LabelsRemoved) == 0
}
