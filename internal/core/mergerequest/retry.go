package mergerequest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// retry makes the trial merges of all open requests into a branch that are out of date,
// those of a batch in two processes of git at most.
func (s *Service) retry(ctx context.Context, work trials) error {
	s.triedNow(work)
	return s.eachOpen(ctx, func(rows []*MergeRequest, projects map[project.ID]*project.Project) error {
		if p := projects[work.ProjectID]; p != nil {
			return s.retryThese(ctx, p, work.Branch, rows)
		}
		return nil
	}, "m.target_project_id = ? AND m.target_branch = ? AND m.head_sha <> ''", work.ProjectID, work.Branch)
}

// retryThese is retry for requests of p into a branch.
func (s *Service) retryThese(ctx context.Context, p *project.Project, branch string, rows []*MergeRequest) error {
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	target, err := s.tip(ctx, p, branch)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(m *MergeRequest) bool {
		return m.statusAt(hexOf(target)) == m.TrialResult && m.TrialSourceSHA != ""
	})
	if target.IsZero() || len(rows) < 3 {
		return s.retryAlone(ctx, p, rows)
	}
	stale, err := s.unmoved(ctx, p, rows)
	if err != nil || len(stale) == 0 {
		return err
	}
	heads := make([]gitstore.ObjectID, len(stale))
	for i, m := range stale {
		heads[i] = idOf(m.HeadSHA)
	}
	results, err := r.TryMerges(ctx, target, heads)
	if err != nil {
		return fmt.Errorf("trial merges: %w", err)
	}
	alike := map[MergeStatus][]*MergeRequest{}
	for i, m := range stale {
		before := m.TrialResult
		m.TrialResult, m.TrialSourceSHA, m.TrialTargetSHA = CannotBeMerged, m.HeadSHA, hexOf(target)
		if results[i] == gitcmd.TrialClean {
			m.TrialResult = CanBeMerged
		}
		m.conflicts = results[i] == gitcmd.TrialConflict || results[i] == gitcmd.TrialUnrelated
		if !m.conflicts || before == CannotBeMerged { // nothing to publish
			alike[m.TrialResult] = append(alike[m.TrialResult], m)
		} else if err := s.storeTrial(ctx, p, m); err != nil {
			return err
		}
	}
	for _, result := range []MergeStatus{CanBeMerged, CannotBeMerged} {
		if err := s.storeTrials(ctx, result, target, alike[result]); err != nil {
			return err
		}
	}
	return nil
}

// unmoved leaves out requests whose source branch is not at their head: another job comes, or
// the next read of the request. The commits of forks come into p.
func (s *Service) unmoved(ctx context.Context, p *project.Project, rows []*MergeRequest) ([]*MergeRequest, error) {
	var forks []project.ID
	for _, m := range rows {
		if m.SourceProjectID != nil && *m.SourceProjectID != p.ID {
			forks = append(forks, *m.SourceProjectID)
		}
	}
	sources, err := s.Projects.Load(ctx, forks)
	if err != nil {
		return nil, err
	}
	var out []*MergeRequest
	for _, m := range rows {
		var head gitstore.ObjectID
		switch {
		case m.SourceProjectID == nil:
		case *m.SourceProjectID == p.ID:
			if head, err = s.tip(ctx, p, m.SourceBranch); err != nil {
				return nil, err
			}
		default:
			l, err := s.look(ctx, p, sources[*m.SourceProjectID], m)
			if err != nil {
				return nil, err
			}
			head = l.source
		}
		if hexOf(head) == m.HeadSHA {
			out = append(out, m)
		}
	}
	return out, nil
}

// storeTrials records one result for requests that still have the head that
// was tried, in one statement.
func (s *Service) storeTrials(ctx context.Context, result MergeStatus, target gitstore.ObjectID, rows []*MergeRequest) error {
	if len(rows) == 0 {
		return nil
	}
	args := []any{result, hexOf(target)}
	for _, m := range rows {
		args = append(args, m.ID, m.HeadSHA)
	}
	tried := strings.Repeat(", (CAST(? AS BIGINT), CAST(? AS TEXT))", len(rows))[2:]
	if _, err := s.DB.Exec(ctx, `UPDATE merge_requests SET trial_result = ?, trial_source_sha = head_sha, trial_target_sha = ?
		WHERE state = 'opened' AND (id, head_sha) IN (VALUES `+tried+")", args...); err != nil {
		return fmt.Errorf("store trial merges: %w", err)
	}
	return s.tellTried(ctx, rows...)
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

// Recheck has trial merges made again, some time soon, for those merge requests of a list whose
// last one is out of date and that the actor may update.
func (s *Service) Recheck(ctx context.Context, as authz.Actor, list []*MergeRequest) error {
	var stale []*MergeRequest
	for _, m := range list {
		if m.State == StateOpened && (m.Status == Unchecked || m.Status == CannotBeMergedRecheck) {
			stale = append(stale, m)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	projects, err := s.Projects.ByIDs(ctx, as, projectsOf(stale))
	if err != nil {
		return err
	}
	asked := map[trials]bool{}
	for _, m := range stale {
		work, p := trials{m.ProjectID, m.TargetBranch}, projects[m.ProjectID]
		if p == nil || asked[work] {
			continue
		}
		may, err := s.Policy.Can(ctx, as, authz.UpdateMergeRequest, m.Subject(as, p))
		if err != nil {
			return err
		}
		if !may {
			continue
		}
		asked[work] = true
		if err := s.Jobs.Enqueue(ctx, work); err != nil {
			return err
		}
	}
	return nil
}
