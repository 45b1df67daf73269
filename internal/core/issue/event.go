package issue

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/timelog"
)

// Fact is what every event of this package says. Handlers do not change what it points to.
type Fact struct {
	change.Of[Issue] // with labels and assignees

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
	Fact      // of the issue, which is as before
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
	Time timelog.Diff // what became of the entries of time
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

// Noteable names it for those who clear what hangs on it.
func (e Deleted) Noteable() noteable.Ref { return e.Row().Ref() }

// changed is what an event says of a change whose two states have labels and people.
func (s *Service) changed(as authz.Actor, p *project.Project, before, now *Issue) Fact {
	return Fact{change.Between(as, s.Now(), p.Place(), before, now), p}
}

// updated reports whether something but the state has changed.
func (f Fact) updated() bool { return updated(f.Before, f.Row()) }

func updated(before, after *Issue) bool {
	return change.HasOther(before, after, "state", "closed_at", "closed_by_id", "updated_at", "updated_by_id", "discussion_locked") ||
		before.Locked() != after.Locked()
}

// Assigned are the users who were added to the assignees and removed from them.
func (f Fact) Assigned() (added, removed []authz.UserID) {
	return change.Sets(change.Former(f.Before).Assignees, f.Row().Assignees)
}

// Labelled are the labels that were added and removed.
func (f Fact) Labelled() (added, removed []label.Label) {
	return change.Sets(change.Former(f.Before).Labels, f.Row().Labels)
}

// Changed is the event in its generic form: about the source, which itself is as before.
func (e Linked) Changed() change.Fact {
	return change.View(e.Stamp, e.SourceProject.Place(), &e.Source, &e.Source)
}

// Changed is the event in its generic form.
func (e Unlinked) Changed() change.Fact { return Linked(e).Changed() }
