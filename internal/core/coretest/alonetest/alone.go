// Package alonetest has stubs for the dependencies of higher packages, in tests of one service alone:
// there are no merge requests and no approvals.
package alonetest

import (
	"context"

	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
)

// Protections are the stubs of protection rules.
func Protections() protection.Above { return protection.Above{Collaborators: requests{}} }

// Repos are the stubs of repositories.
func Repos() repo.Above { return repo.Above{MergeRequests: requests{}} }

type requests struct{}

func (requests) Collaborations(context.Context, authz.Actor, *project.Project) (map[string]bool, error) {
	return nil, nil
}

func (requests) PushHint(context.Context, authz.Actor, *project.Project, []string) (string, error) {
	return "", nil
}

func (requests) PushOptions(context.Context, authz.Actor, *project.Project, []repo.RefChange, []string) (string, error) {
	return "", nil
}

func (requests) Requested(context.Context, project.ID) (map[string]bool, error) { return nil, nil }

// Approvals has no rules and no approvals.
type Approvals struct{}

// OwnersKey finds no file of code owners.
func (Approvals) OwnersKey(context.Context, *gitcmd.Repo, *mergerequest.MergeRequest) (string, error) {
	return "", nil
}

// PlanOwners stores no rules.
func (Approvals) PlanOwners(context.Context, *project.Project, *gitcmd.Repo, *mergerequest.MergeRequest, string) (string, func(context.Context, mergerequest.Fact) error, error) {
	return "", nil, nil
}

// ApprovedBy returns no users.
func (Approvals) ApprovedBy(context.Context, *mergerequest.MergeRequest) ([]authz.UserID, error) {
	return nil, nil
}

// Approvers returns no users.
func (Approvals) Approvers(context.Context, authz.Actor, *project.Project, *mergerequest.MergeRequest) (mergerequest.Approvers, error) {
	return mergerequest.Approvers{}, nil
}

// Commands finds no quick actions.
type Commands struct{}

// Cut returns the text unchanged.
func (Commands) Cut(_ noteable.Kind, text string) (string, noteable.Run) { return text, nil }
