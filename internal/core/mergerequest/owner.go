package mergerequest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/account"
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
	// ApprovedBy returns the users who approved the present head of a request, the first first.
	ApprovedBy(ctx context.Context, m *MergeRequest) ([]authz.UserID, error)
}

// Approvers are those who can give approvals that a merge request lacks, as one caller may see them.
type Approvers struct {
	Users     []authz.UserID // by id
	Hidden    bool           // members of groups that the caller may not see are among them
	Any       bool           // every developer is
	CanChange bool           // the caller is
}

// subscribeOwners registers what makes other users the owners of files. Email
// addresses of users change no owners.
func (s *Service) subscribeOwners(b *event.Bus) {
	const name = "code owners"
	event.On(b, name, func(ctx context.Context, e namespace.MemberAdded) error {
		return s.ownersOutdated(ctx, e.Place.Namespace)
	})
	event.On(b, name, func(ctx context.Context, e namespace.MemberChanged) error {
		return s.ownersOutdated(ctx, e.Place.Namespace)
	})
	event.On(b, name, func(ctx context.Context, e namespace.MemberRemoved) error {
		return s.ownersOutdated(ctx, e.Place.Namespace)
	})
	event.On(b, name, func(ctx context.Context, e namespace.GroupShared) error {
		return s.ownersOutdated(ctx, e.Place.Namespace)
	})
	event.On(b, name, func(ctx context.Context, e namespace.GroupUnshared) error {
		return s.ownersOutdated(ctx, e.Place.Namespace)
	})
	event.On(b, name, func(ctx context.Context, e namespace.GroupTransferred) error {
		return s.ownersOutdated(ctx, e.Row().ID)
	})
	event.On(b, name, func(ctx context.Context, e namespace.GroupRemoving) error { return s.ownersOutdated(ctx, e.Row().ID) })
	event.On(b, name, func(ctx context.Context, e project.Transferred) error {
		return s.ownersOutdated(ctx, e.Row().NamespaceID)
	})
	event.On(b, name, func(ctx context.Context, e account.UserStateChanged) error {
		return s.ownersOutdatedIn(ctx, "SELECT m.namespace_id FROM members m WHERE m.user_id = ?", e.Row().ID)
	})
}

// ownersOutdated is ownersOutdatedIn for one place.
func (s *Service) ownersOutdated(ctx context.Context, place authz.NamespaceID) error {
	return s.ownersOutdatedIn(ctx, "SELECT n.id FROM namespaces n WHERE n.id = ?", place)
}

// ownersOutdatedIn has the rules of code owners of open requests made again, with their next trial
// merges, because other users can be owners: those into projects of the places that a query
// selects, and of the places that these groups, or groups below them, are invited to.
func (s *Service) ownersOutdatedIn(ctx context.Context, places string, args ...any) error {
	_, err := s.DB.Exec(ctx, `UPDATE merge_requests SET owners_key = '?', trial_result = '', trial_source_sha = '', trial_target_sha = ''
		WHERE state = 'opened' AND owners_key <> '' AND target_project_id IN (SELECT p.id FROM projects p
			JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id WHERE a.ancestor_id IN (`+places+`
				UNION SELECT x.namespace_id FROM shares x JOIN namespace_ancestors g ON g.namespace_id = x.group_id WHERE g.ancestor_id IN (`+places+`)))`,
		slices.Concat(args, args)...)
	if err != nil {
		return fmt.Errorf("outdate rules of code owners: %w", err)
	}
	return nil
}

// OwnerExpiry is the periodic job that has the rules of code owners made again where memberships or
// invitations of groups have ended: no event says so.
type OwnerExpiry struct{}

// Kind names the job.
func (OwnerExpiry) Kind() string { return "code_owner_expiry" }

// expiredDays is how many days back this process looks the first time.
const expiredDays = 7

// expire does the job, once a day in each process.
func (s *Service) expire(ctx context.Context, _ OwnerExpiry) error {
	s.expiring.Lock()
	defer s.expiring.Unlock()
	today := s.Now().UTC().Format(time.DateOnly)
	since := s.expired
	if since == "" {
		since = s.Now().UTC().AddDate(0, 0, -expiredDays).Format(time.DateOnly)
	}
	if since == today {
		return nil
	}
	err := s.ownersOutdatedIn(ctx, `SELECT m.namespace_id FROM members m WHERE m.expires_on > ? AND m.expires_on <= ?
		UNION SELECT i.namespace_id FROM shares i WHERE i.expires_on > ? AND i.expires_on <= ?`, since, today, since, today)
	if err == nil {
		s.expired = today
	}
	return err
}

// planOwners notes in m what its rules of code owners follow from since the trial merge, and
// gives what stores those that are new; nil where they stay.
func (s *Service) planOwners(ctx context.Context, p *project.Project, m *MergeRequest) (func(context.Context, Fact) error, error) {
	m.ownersChanged = false
	if m.TrialTargetSHA == "" || m.TrialSourceSHA == "" || m.BaseSHA == "" {
		return nil, nil // nothing to compare
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	key, err := s.above.Approvals.OwnersKey(ctx, r, m)
	if err != nil || key == m.OwnersKey {
		return nil, err
	}
	key, store, err := s.above.Approvals.PlanOwners(ctx, p, r, m, key)
	if err != nil {
		return nil, fmt.Errorf("code owners of merge request: %w", err)
	}
	m.OwnersKey, m.ownersChanged = key, true
	return store, nil
}
