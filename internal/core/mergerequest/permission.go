package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// Permissions is what an actor may do with a merge request that it reads.
type Permissions struct {
	Update       bool
	Administer   bool // set labels, people, milestone and lock
	Comment      bool
	Merge        bool // into the target branch, once nothing else is missing
	PushToSource bool
	RemoveSource bool // the source branch is there, and none that stays
	Pick         bool // commit the merge again, or revert it, in the target project: it has been merged
}

// unviewed returns the row of a view with the people that the view holds apart.
func (v *View) unviewed() *MergeRequest {
	m := v.MergeRequest
	m.Assignees = make([]authz.UserID, len(v.Assignees))
	for i, u := range v.Assignees {
		m.Assignees[i] = u.ID
	}
	for _, u := range v.Reviewers {
		m.Reviewers = append(m.Reviewers, Reviewer{UserID: u.ID, State: v.Reviews[u.ID]})
	}
	return &m
}

// Permissions tells what the actor may do with a merge request that was read for it.
func (s *Service) Permissions(ctx context.Context, as authz.Actor, v *View) (Permissions, error) {
	m, p := v.unviewed(), v.Project
	var out Permissions
	subject := m.Subject(as, p)
	for ability, to := range map[authz.Ability]*bool{
		authz.UpdateMergeRequest: &out.Update, authz.SetMergeRequestMetadata: &out.Administer, authz.CreateNote: &out.Comment, authz.PushCode: &out.Pick,
	} {
		var err error
		if *to, err = s.Policy.Can(ctx, as, ability, subject); err != nil {
			return out, err
		}
	}
	var err error
	if out.Comment && m.DiscussionLocked != nil && *m.DiscussionLocked {
		if out.Comment, err = s.Policy.Can(ctx, as, authz.CreateNoteLocked, subject); err != nil {
			return out, err
		}
	}
	out.Pick = out.Pick && m.State == StateMerged
	if out.Merge, err = s.CanMerge(ctx, as, p, m); err != nil {
		return out, err
	}
	source, err := s.SourceFor(ctx, as, p, m)
	if err != nil || source == nil {
		return out, err
	}
	access, err := s.Protections.BranchAccess(ctx, as, source, m.SourceBranch)
	if err != nil {
		return out, err
	}
	tip, err := s.tip(ctx, source, m.SourceBranch)
	out.PushToSource = access.Push
	out.RemoveSource = access.Push && !access.Protected && !tip.IsZero() && (source.DefaultBranch == nil || *source.DefaultBranch != m.SourceBranch)
	return out, err
}

// Party is what one user may do with a merge request.
type Party struct{ Merge, Update bool }

// Party tells what a user may do with a merge request that was read for the caller. A user who is not
// active may do nothing.
func (s *Service) Party(ctx context.Context, v *View, user authz.UserID) (Party, error) {
	type row struct {
		Admin    bool `db:"admin"`
		Auditor  bool `db:"auditor"`
		External bool `db:"external"`
	}
	u, err := db.Get[row](ctx, s.DB, "SELECT admin, auditor, external FROM users WHERE id = ? AND state = ?", user, account.Active)
	if errors.Is(err, db.ErrNotFound) {
		return Party{}, nil
	}
	if err != nil {
		return Party{}, fmt.Errorf("read user: %w", err)
	}
	p := *v.Project
	p.LevelKnown = false // that is the level of the caller
	as := authz.Actor{UserID: user, Admin: u.Admin, Auditor: u.Auditor, External: u.External}
	m := v.unviewed()
	var out Party
	if out.Merge, err = s.CanMerge(ctx, as, &p, m); err != nil {
		return out, err
	}
	out.Update, err = s.Policy.Can(ctx, as, authz.UpdateMergeRequest, m.Subject(as, &p))
	return out, err
}
