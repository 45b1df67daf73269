package epic

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Fact is what every event of this package says. Handlers do not change what it points to.
type Fact struct {
	change.Of[Epic] // with labels

	Group *namespace.Group
}

// Created is published when an epic was made.
type Created struct {
	Fact
	Source *Source // what the epic was made of; nil for all but promoted issues
}

// Source is an issue that an epic was made of.
type Source struct {
	Issue   issue.Issue // as it was before it was closed
	Project *project.Project
}

// Labelled are the labels that were added and removed.
func (f Fact) Labelled() (added, removed []label.Label) {
	return change.Sets(change.Former(f.Before).Labels, f.Row().Labels)
}

// Updated is published when something but the state of an epic changed. Where the state
// changed as well, Closed or Reopened with the same Fact comes next.
type Updated struct{ Fact }

// Closed is published when an epic was closed.
type Closed struct{ Fact }

// Reopened is published when a closed epic was opened again.
type Reopened struct{ Fact }

// Deleted is published when an epic is about to be deleted, with what hangs on it.
type Deleted struct{ Fact }

// Noteable names it for those who clear what hangs on it.
func (e Deleted) Noteable() noteable.Ref { return e.Row().Ref() }

// ChildAdded is published when an epic got a parent, also in the place of another.
type ChildAdded struct {
	authz.Stamp
	Parent, Child           Epic
	ParentGroup, ChildGroup *namespace.Group
}

// ChildRemoved is published when an epic no longer has its parent.
type ChildRemoved struct {
	authz.Stamp
	Parent, Child           Epic
	ParentGroup, ChildGroup *namespace.Group
}

// IssueAdded is published when an issue was put into an epic.
type IssueAdded struct {
	authz.Stamp
	Epic    Epic
	Issue   issue.Issue
	Project *project.Project
}

// IssueRemoved is published when an issue was taken out of an epic, also because it was put into
// another one.
type IssueRemoved IssueAdded

// Linked is published when an epic was linked with another.
type Linked struct {
	authz.Stamp
	Type           LinkType // as seen from Source: RelatesTo or Blocks
	Source, Target Epic
}

// Unlinked is published when a link between two epics was removed.
type Unlinked Linked

// Promoted is published when an epic was made of an issue, after Created.
type Promoted struct {
	authz.Stamp
	Source
	Epic  Epic
	Group *namespace.Group
}

// place is the group, whose name is not read.
func (e *Epic) place() authz.Place {
	return authz.Place{Group: true, ID: int64(e.GroupID), Namespace: e.GroupID, Path: e.Path}
}

// Changed is the event in its generic form: about the child, whose parent handlers find in the event.
func (e ChildAdded) Changed() change.Fact {
	return change.View(e.Stamp, e.Child.place(), &e.Child, &e.Child)
}

// Changed is the event in its generic form.
func (e ChildRemoved) Changed() change.Fact { return ChildAdded(e).Changed() }

// Changed is the event in its generic form: about the epic, which itself is as before.
func (e IssueAdded) Changed() change.Fact {
	return change.View(e.Stamp, e.Epic.place(), &e.Epic, &e.Epic)
}

// Changed is the event in its generic form.
func (e IssueRemoved) Changed() change.Fact { return IssueAdded(e).Changed() }

// Changed is the event in its generic form: about the source, which itself is as before.
func (e Linked) Changed() change.Fact {
	return change.View(e.Stamp, e.Source.place(), &e.Source, &e.Source)
}

// Changed is the event in its generic form.
func (e Unlinked) Changed() change.Fact { return Linked(e).Changed() }

// Changed is the event in its generic form: about the epic, which was created before.
func (e Promoted) Changed() change.Fact {
	return change.View(e.Stamp, e.Epic.place(), &e.Epic, &e.Epic)
}
