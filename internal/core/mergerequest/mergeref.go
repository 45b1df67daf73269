package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// What MergeRef answers where there is nothing to show.
const errNotMergeable = "Merge request is not mergeable"

// MergeRef makes refs/merge-requests/:iid/merge name a trial merge of the present tips and
// gives its commit. The target branch is not touched, and a trial merge that is still of
// the present tips is kept. What cannot be merged is Invalid.
func (s *Service) MergeRef(ctx context.Context, as authz.Actor, p *project.Project, iid IID) (gitstore.ObjectID, error) {
	m, err := s.Read(ctx, as, p, iid)
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	return s.mergeRef(ctx, as, p, m)
}

// mergeRef is MergeRef for a request that was brought up to date.
func (s *Service) mergeRef(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest) (gitstore.ObjectID, error) {
	if m.State != StateOpened || m.Status != CanBeMerged {
		return gitstore.ObjectID{}, errs.Plain(errNotMergeable)
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	target, source := idOf(m.TrialTargetSHA), idOf(m.TrialSourceSHA)
	name := gitstore.RefName(m.prefix() + "merge")
	old, err := r.Ref(ctx, name)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return gitstore.ObjectID{}, fmt.Errorf("read merge ref: %w", err)
	}
	if !old.IsZero() {
		c, err := r.Commit(ctx, old)
		if err != nil {
			return gitstore.ObjectID{}, fmt.Errorf("read merge ref: %w", err)
		}
		if len(c.Parents) == 2 && c.Parents[0] == target && c.Parents[1] == source {
			return old, nil
		}
	}
	id, err := s.writeMergeRef(ctx, as, r, target, source)
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	err = r.UpdateRefs(ctx, []gitstore.RefUpdate{{Ref: name, Old: old, New: id}})
	if errors.Is(err, gitstore.ErrRefMoved) {
		return gitstore.ObjectID{}, errs.Plain("Merge ref cannot be updated")
	}
	if err != nil {
		return gitstore.ObjectID{}, fmt.Errorf("update merge ref: %w", err)
	}
	return id, nil
}

func (s *Service) writeMergeRef(ctx context.Context, as authz.Actor, r *gitcmd.Repo, target, source gitstore.ObjectID) (gitstore.ObjectID, error) {
	signatures, err := s.signatures(ctx, []authz.UserID{as.UserID})
	if err != nil {
		return gitstore.ObjectID{}, err
	}
	q, err := r.Quarantine(ctx)
	if err != nil {
		return gitstore.ObjectID{}, fmt.Errorf("merge ref: %w", err)
	}
	defer q.Discard() //nolint:errcheck // does nothing after Commit; housekeeping deletes what stays
	tree, err := merged(ctx, q, target, source)
	if err != nil {
		var why *refusal
		if errors.As(err, &why) {
			return gitstore.ObjectID{}, errs.Plain(errNotMergeable)
		}
		return gitstore.ObjectID{}, err
	}
	by := signatures[as.UserID]
	id, err := q.CommitTree(ctx, gitstore.CommitInput{
		Tree: tree, Parents: []gitstore.ObjectID{target, source}, Author: by, Committer: by,
		Message: "Merge " + hexOf(source) + " into " + hexOf(target),
	})
	if err != nil {
		return gitstore.ObjectID{}, fmt.Errorf("write merge ref: %w", err)
	}
	if err := q.Commit(ctx); err != nil {
		return gitstore.ObjectID{}, fmt.Errorf("merge ref: %w", err)
	}
	return id, nil
}
