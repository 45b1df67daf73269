package runner

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// Created is published when a runner was made or registered. A project runner is assigned to
// its first project by then.
type Created struct {
	change.Of[Runner]

	ProjectID *project.ID // nil but for a project runner
}

// Updated is published when a runner got other attributes, or was paused or resumed.
type Updated struct{ change.Of[Runner] }

// TokenReset is published when a runner got another authentication token.
type TokenReset struct{ change.Of[Runner] }

// Deleted is published when a runner is gone.
type Deleted struct {
	change.Of[Runner]

	ProjectID *project.ID // the first project of a project runner; nil where it had none
}

// Assigned is published when a project runner was assigned to a further project.
type Assigned struct{ change.Of[Runner] } // in the project

// Unassigned is published when a project runner does not serve a project any more.
type Unassigned struct{ change.Of[Runner] } // in the project

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
