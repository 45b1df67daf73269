package coretest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Above fills in what is above projects for tests that have no repositories: every branch
// is there, and nothing has a size.
func Above(a project.Above) project.Above {
	var none nothing
	if a.Repositories == nil {
		a.Repositories = none
	}
	if a.Heads == nil {
		a.Heads = none
	}
	if a.LargeFiles == nil {
		a.LargeFiles = large{}
	}
	if a.Attached == nil {
		a.Attached = none
	}
	if a.Uploads == nil {
		a.Uploads = uploads{}
	}
	if a.Emptiers == nil {
		a.Emptiers = []project.Emptier{none}
	}
	return a
}

type nothing struct{}

func (nothing) Create(context.Context, *project.Project, project.CreateOptions) error { return nil }

func (nothing) Remove(context.Context, *project.Project) error { return nil }

func (nothing) HasBranch(context.Context, *project.Project, string) (bool, error) { return true, nil }

func (nothing) SetHead(context.Context, *project.Project, string) error { return nil }

func (nothing) AttachedSizes(context.Context, []project.ID) (map[project.ID]project.AttachedSizes, error) {
	return nil, nil
}

func (nothing) Empty(context.Context, authz.NamespaceID) error { return nil }

type large struct{}

func (large) Sizes(context.Context, []project.ID) (map[project.ID]int64, error) { return nil, nil }

type uploads struct{}

func (uploads) Sizes(context.Context, []namespace.ID) (map[namespace.ID]int64, error) {
	return nil, nil
}
