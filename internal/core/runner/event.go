package runner

import (
	"tenon/internal/core/authz"
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
type Updated struct {
	Fact
	Changed []string // columns
}

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
