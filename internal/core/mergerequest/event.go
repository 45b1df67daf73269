package mergerequest

import (
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Fact is what every event of this package says about the request it happened to.
type Fact struct {
	By          authz.Actor
	ProjectID   project.ID // the target project
	ProjectPath string
	ID          ID
	IID         IID
	Title       string
	AuthorID    authz.UserID
}

// Created is published when a merge request was opened.
type Created struct{ Fact }

// Updated is published when fields of a merge request changed. Fields names them as the
// API does.
type Updated struct {
	Fact
	Fields []string
}

// Closed is published when a merge request was closed without being merged.
type Closed struct{ Fact }

// Reopened is published when a closed merge request was opened again.
type Reopened struct{ Fact }

// Merged is published when the target branch holds the changes and the row says so.
type Merged struct {
	Fact
	TargetBranch    string
	MergeCommitSHA  string // "" where a fast-forward made none
	SquashCommitSHA string
	// ClosesIssues are the numbers of the target project's issues that the request
	// promised to close; empty where the target is not the default branch.
	ClosesIssues []int64
}

// Deleted is published when a merge request was deleted.
type Deleted struct{ Fact }

// NewVersion is published when the source branch of an open merge request has moved.
type NewVersion struct {
	Fact
	OldSHA, NewSHA string // OldSHA is "" for the first version
}
