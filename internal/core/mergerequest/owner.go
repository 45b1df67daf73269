package mergerequest

import (
	"context"
	"fmt"

	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Approvals is what this package needs of the approvals of merge requests.
type Approvals interface {
	// OwnersKey identifies what the rules of code owners of a request follow from: the
	// CODEOWNERS file at its TrialTargetSHA and its version. It is "" without such a file.
	OwnersKey(ctx context.Context, r *gitcmd.Repo, m *MergeRequest) (string, error)
	// PlanOwners finds the rules of an open request whose OwnersKey is another one than key, and
	// the key to keep. It reads git, outside of a transaction; store is called in one that has
	// locked the request.
	PlanOwners(ctx context.Context, p *project.Project, r *gitcmd.Repo, m *MergeRequest, key string) (keep string, store func(ctx context.Context, f Fact) error, err error)
	// Approvers tells who can give approvals that a request lacks.
	Approvers(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (Approvers, error)
}

// Approvers are those who can give approvals that a merge request lacks, as one caller may see them.
type Approvers struct {
	Users     []authz.UserID // by id
	Hidden    bool           // members of groups that the caller may not see are among them
	Any       bool           // every developer is
	CanChange bool           // the caller is
}

// ConnectApprovals gives the service the approvals of merge requests.
func (s *Service) ConnectApprovals(a Approvals) { s.approvals = a }

// noApprovals stands in until ConnectApprovals is called.
type noApprovals struct{}

func (noApprovals) OwnersKey(context.Context, *gitcmd.Repo, *MergeRequest) (string, error) {
	return "", nil
}

func (noApprovals) PlanOwners(context.Context, *project.Project, *gitcmd.Repo, *MergeRequest, string) (string, func(context.Context, Fact) error, error) {
	return "", nil, nil
}

func (noApprovals) Approvers(context.Context, authz.Actor, *project.Project, *MergeRequest) (Approvers, error) {
	return Approvers{}, nil
}

// ownersOutdated has the rules of code owners of open requests made again, with their next trial
// merges, because other users can be owners in a project or in those of a group.
func (s *Service) ownersOutdated(ctx context.Context, at namespace.Place) error {
	_, err := s.db.Exec(ctx, `UPDATE merge_requests SET owners_key = '?', trial_result = '', trial_source_sha = '', trial_target_sha = ''
		WHERE state = 'opened' AND owners_key <> '' AND target_project_id IN (SELECT p.id FROM projects p
			JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id WHERE a.ancestor_id = ?)`, at.Namespace)
	if err != nil {
		return fmt.Errorf("outdate rules of code owners: %w", err)
	}
	return nil
}

// planOwners notes in m what its rules of code owners follow from since the trial merge, and
// gives what stores those that are new; nil where they stay.
func (s *Service) planOwners(ctx context.Context, p *project.Project, m *MergeRequest) (func(context.Context, Fact) error, error) {
	m.ownersChanged = false
	if m.TrialTargetSHA == "" || m.TrialSourceSHA == "" || m.BaseSHA == "" {
		return nil, nil // nothing to compare
	}
	r, err := s.repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	key, err := s.approvals.OwnersKey(ctx, r, m)
	if err != nil || key == m.OwnersKey {
		return nil, err
	}
	key, store, err := s.approvals.PlanOwners(ctx, p, r, m, key)
	if err != nil {
		return nil, fmt.Errorf("code owners of merge request: %w", err)
	}
	m.OwnersKey, m.ownersChanged = key, true
	return store, nil
}
