package runner

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// Fact is what events say of a runner's row. Handlers do not change what it points to.
type Fact struct {
	authz.Stamp

	Runner Runner  // as it is now, or was when it was deleted
	Before *Runner // the same before the change; nil where it was made or deleted
}

// Created is published when a runner was made or registered. A project runner is assigned to
// its first project by then.
type Created struct {
	Fact
	ProjectID *project.ID // nil but for a project runner
}

// Updated is published when a runner got other attributes, or was paused or resumed.
type Updated struct{ Fact }

// TokenReset is published when a runner got another authentication token.
type TokenReset struct{ Fact }

// Deleted is published when a runner is gone.
type Deleted struct {
	Fact
	ProjectID *project.ID // the first project of a project runner; nil where it had none
}

// Assigned is published when a project runner was assigned to a further project.
type Assigned struct {
	authz.Stamp

	Runner  Runner
	Project project.Project
}

// Unassigned is published when a project runner does not serve a project any more.
type Unassigned struct {
	authz.Stamp

	Runner  Runner
	Project project.Project
}

// About names the runner.
func (r Runner) About() change.Subject {
	s := change.Subject{Type: "Ci::Runner", ID: int64(r.ID)}
	if r.Description != nil {
		s.Title = *r.Description
	}
	return s
}

// place is the group of a group runner, or the instance: a project runner has several projects.
func (r *Runner) place() authz.Place {
	if r.NamespaceID == nil {
		return authz.Place{}
	}
	return authz.Place{Group: true, ID: int64(*r.NamespaceID), Namespace: *r.NamespaceID}
}

// Changed is the event in its generic form.
func (f Fact) Changed() change.Fact {
	return change.View(f.Stamp, f.Runner.place(), f.Before, &f.Runner)
}

// Changed is the event in its generic form.
func (e Deleted) Changed() change.Fact {
	return change.View(e.Stamp, e.Runner.place(), &e.Runner, nil)
}

// Changed is the event in its generic form.
func (e Assigned) Changed() change.Fact {
	return change.View(e.Stamp, e.Project.Place(), &e.Runner, &e.Runner)
}

// Changed is the event in its generic form.
func (e Unassigned) Changed() change.Fact {
	return change.View(e.Stamp, e.Project.Place(), &e.Runner, &e.Runner)
}
