package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// tried reports that the stored trial was made for the present tips. A source branch
// that is gone counts as a tip of its own.
func (l look) tried(m *MergeRequest) bool {
	return m.TrialResult != "" && m.TrialSourceSHA == hexOf(l.source) && m.TrialTargetSHA == hexOf(l.target)
}

// trial merges both tips and notes the result in m: it cannot
// be merged where a branch is missing, where the source has nothing new, or on conflict.
func (l look) trial(ctx context.Context, m *MergeRequest) error {
	m.TrialResult, m.TrialSourceSHA, m.TrialTargetSHA, m.conflicts = CannotBeMerged, hexOf(l.source), hexOf(l.target), false
	if l.source.IsZero() || l.target.IsZero() {
		return nil
	}
	base, err := l.repo.MergeBase(ctx, l.target, l.source)
	switch {
	case errors.Is(err, gitstore.ErrNotFound), err == nil && base == l.source:
		return nil
	case err != nil:
		return fmt.Errorf("merge base: %w", err)
	case base == l.target: // the source contains the target: nothing can be in conflict
		m.TrialResult = CanBeMerged
		return nil
	}
	result, err := l.merge(ctx)
	if err != nil {
		return fmt.Errorf("trial merge: %w", err)
	}
	if m.conflicts = !result.Clean; !m.conflicts {
		m.TrialResult = CanBeMerged
	}
	return nil
}

func (l look) merge(ctx context.Context) (gitcmd.MergeResult, error) {
	if l.kept != nil {
		return l.kept.MergeTree(ctx, l.target, l.source)
	}
	q, err := l.repo.Quarantine(ctx)
	if err != nil {
		return gitcmd.MergeResult{}, err
	}
	result, err := q.MergeTree(ctx, l.target, l.source)
	return result, errors.Join(err, q.Discard())
}

// storeTrial records the result for the commits it was made for, unless the request has
// got another version or is no longer open. It publishes that a request could be merged before
// and has conflicts now.
//
// The rules of code owners are stored with it, so that a trial merge of the present tips says that
// they are those of the present files.
func (s *Service) storeTrial(ctx context.Context, p *project.Project, m *MergeRequest) error {
	storeOwners, err := s.planOwners(ctx, p, m)
	if err != nil {
		return err
	}
	store := func(ctx context.Context, only string) (int64, error) {
		return s.DB.Exec(ctx, `UPDATE merge_requests SET trial_result = ?, trial_source_sha = ?, trial_target_sha = ?, owners_key = ?
			WHERE id = ? AND state = 'opened' AND head_sha = ?`+only,
			m.TrialResult, m.TrialSourceSHA, m.TrialTargetSHA, m.OwnersKey, m.ID, m.HeadSHA)
	}
	if !m.conflicts && storeOwners == nil {
		if _, err := store(ctx, ""); err != nil {
			return fmt.Errorf("store trial merge: %w", err)
		}
		return s.tellTried(ctx, m)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		lost := int64(0) // requests that have conflicts now
		var err error
		if m.conflicts {
			lost, err = store(ctx, " AND trial_result = 'can_be_merged'")
		}
		stored := lost
		if err == nil && lost == 0 {
			stored, err = store(ctx, "")
		}
		if err != nil || stored == 0 || lost == 0 && storeOwners == nil {
			return err
		}
		f, err := s.fact(ctx, authz.Actor{}, p, db.Change[MergeRequest]{Before: *m, After: *m})
		if err != nil {
			return err
		}
		if storeOwners != nil {
			if err := storeOwners(ctx, f); err != nil {
				return err
			}
		}
		if lost == 0 {
			return nil
		}
		return s.Bus.Publish(ctx, Unmergeable{f})
	})
	if err != nil {
		return fmt.Errorf("store trial merge: %w", err)
	}
	return s.tellTried(ctx, m)
}

// tellTried publishes that the results of trial merges were stored.
func (s *Service) tellTried(ctx context.Context, list ...*MergeRequest) error {
	stamp := authz.Actor{}.Stamp(s.Now())
	for _, m := range list {
		if err := s.Bus.Publish(ctx, Tried{stamp, m.ID}); err != nil {
			return err
		}
	}
	return nil
}
