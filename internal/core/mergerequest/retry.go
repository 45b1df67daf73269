package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// retry makes the trial merges of all open requests into a branch that are out of date,
// those of a batch that need git in one process.
func (s *Service) retry(ctx context.Context, work trials) error {
	return s.eachOpen(ctx, func(rows []*MergeRequest, projects map[project.ID]*project.Project) error {
		if p := projects[work.ProjectID]; p != nil {
			return s.retryThese(ctx, p, work.Branch, rows)
		}
		return nil
	}, "m.target_project_id = ? AND m.target_branch = ? AND m.head_sha <> ''", work.ProjectID, work.Branch)
}

// retryThese is retry for requests of p into a branch.
func (s *Service) retryThese(ctx context.Context, p *project.Project, branch string, rows []*MergeRequest) error {
	r, err := s.repos.Open(ctx, p)
	if err != nil {
		return err
	}
	target, err := s.tip(ctx, p, branch)
	if err != nil {
		return err
	}
	var stale []*MergeRequest
	var pairs []gitcmd.MergePair
	for _, m := range rows {
		if m.statusAt(hexOf(target)) != m.TrialResult || m.TrialSourceSHA == "" {
			stale = append(stale, m)
			pairs = append(pairs, gitcmd.MergePair{Ours: target, Theirs: idOf(m.HeadSHA)})
		}
	}
	if target.IsZero() || len(stale) < 3 {
		return s.retryAlone(ctx, p, stale)
	}
	tip, err := r.Commit(ctx, target)
	if err != nil {
		return fmt.Errorf("trial merges: %w", err)
	}
	q, err := r.Quarantine(ctx)
	if err != nil {
		return fmt.Errorf("trial merges: %w", err)
	}
	results, err := q.MergeTrees(ctx, pairs)
	if err := errors.Join(err, q.Discard()); err != nil {
		return fmt.Errorf("trial merges: %w", err)
	}
	for i, m := range stale {
		source, err := s.source(ctx, p, m)
		if err != nil {
			return err
		}
		l, err := s.look(ctx, p, source, m)
		if err != nil {
			return err
		}
		if hexOf(l.source) != m.HeadSHA || l.target != target {
			continue // moved again: another job comes, or the next read of the request
		}
		m.TrialResult, m.TrialSourceSHA, m.TrialTargetSHA = CannotBeMerged, m.HeadSHA, hexOf(target)
		nothing := false // new in the source, which only a merge that changes nothing may hide
		if results[i].Tree == tip.Tree {
			if nothing, err = contains(ctx, r, target, l.source); err != nil {
				return err
			}
		}
		if results[i].Clean && !nothing {
			m.TrialResult = CanBeMerged
		}
		m.conflicts = !results[i].Clean
		if err := s.storeTrial(ctx, p, m); err != nil {
			return err
		}
	}
	return nil
}

// retryAlone refreshes requests one by one.
func (s *Service) retryAlone(ctx context.Context, p *project.Project, rows []*MergeRequest) error {
	for _, m := range rows {
		if err := s.refresh(ctx, p, m); err != nil {
			return err
		}
	}
	return nil
}

// Recheck has trial merges made again, some time soon, for those requests of a page whose
// last one is out of date and that the actor may update.
func (s *Service) Recheck(ctx context.Context, as authz.Actor, page *Page) error {
	var stale []*MergeRequest
	for _, m := range page.Items {
		if m.State == StateOpened && (m.Status == Unchecked || m.Status == CannotBeMergedRecheck) {
			stale = append(stale, m)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	projects, err := s.projects.ByIDs(ctx, as, projectsOf(stale))
	if err != nil {
		return err
	}
	asked := map[trials]bool{}
	for _, m := range stale {
		work, p := trials{m.ProjectID, m.TargetBranch}, projects[m.ProjectID]
		if p == nil || asked[work] {
			continue
		}
		may, err := s.policy.Can(ctx, as, authz.UpdateMergeRequest, m.Subject(as, p))
		if err != nil {
			return err
		}
		if !may {
			continue
		}
		asked[work] = true
		if err := s.jobs.Enqueue(ctx, work); err != nil {
			return err
		}
	}
	return nil
}
