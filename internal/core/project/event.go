package project

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Fact is what events say of a project's row. It has no access level of a user, and it keeps the
// former values that groups above decide. Handlers do not change what it points to.
type Fact = change.Of[Project]

// Created is published when a project was made, whose repository is still empty.
type Created struct{ Fact }

// Updated is published when a project got other attributes.
type Updated struct {
	Fact
	Attributes []string // that changed, by their names in the API
}

// Archived is published when a project was made read-only, or, where Undone, writable again.
type Archived struct {
	Fact
	Undone bool
}

// Marked is published when a project was marked for deletion after its grace period, or,
// where Restored, when that was taken back.
type Marked struct {
	Fact
	Restored bool
}

// Transferred is published when a project was moved to another namespace.
type Transferred struct{ Fact }

// Deleted is published when a project is gone for all users; its rows and its repository go
// in the background.
type Deleted struct{ Fact }

// Removing is published when rows that go with a deleted project are about to, at most 500 of one
// table at a time, and at last when the project itself is, see Last.
type Removing struct {
	authz.Stamp

	ProjectID ID
	Table     string
	IDs       []int64
}

// table is that of projects.
const table = "projects"

// Last reports whether the project itself is about to go, and all rows before it are gone.
func (e Removing) Last() bool { return e.Table == table }
