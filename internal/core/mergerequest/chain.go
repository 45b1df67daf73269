package mergerequest

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// maxRetargeted is how many open merge requests a merge retargets.
const maxRetargeted = 4

// retarget is the job that retargets the merge requests into the source branch of a merged one.
type retarget struct {
	RequestID ID           `json:"merge_request_id"`
	UserID    authz.UserID `json:"user_id"`
}

// Kind names the job.
func (retarget) Kind() string { return "merge_request_retarget" }

// OnMerged has the merge requests of a stack retargeted where the merge deletes its source branch. A branch that is
// deleted later is followed by branchDeleted.
func (s *Service) OnMerged(ctx context.Context, e Merged) error {
	m := e.Row()
	if !e.SourceRemoved || m.Fork() || !e.By.SignedIn() {
		return nil
	}
	stacked, err := s.stacked(ctx, m)
	if err != nil || len(stacked) == 0 {
		return err
	}
	return s.Jobs.Enqueue(ctx, retarget{m.ID, e.By.UserID})
}

// stacked lists the first open merge requests of the project that go into the source branch of m.
func (s *Service) stacked(ctx context.Context, m *MergeRequest) ([]*MergeRequest, error) {
	rows, err := s.rows(ctx, " WHERE m.target_project_id = ? AND m.source_project_id = ? AND m.target_branch = ? AND m.state = 'opened' ORDER BY m.id LIMIT ?",
		m.ProjectID, m.ProjectID, m.SourceBranch, maxRetargeted)
	if err != nil {
		return nil, fmt.Errorf("merge requests into a merged branch: %w", err)
	}
	return rows, nil
}

// retargetStack does the job.
func (s *Service) retargetStack(ctx context.Context, work retarget) error {
	m, err := s.load(ctx, "m.id = ?", work.RequestID)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil || m.State != StateMerged {
		return err
	}
	projects, err := s.Projects.Load(ctx, []project.ID{m.ProjectID})
	p := projects[m.ProjectID]
	if err != nil || p == nil {
		return err
	}
	tip, err := s.tip(ctx, p, m.SourceBranch)
	if err != nil || !tip.IsZero() {
		return err
	}
	users, err := s.Accounts.Load(ctx, []authz.UserID{work.UserID})
	if err != nil {
		return fmt.Errorf("who merged: %w", err)
	}
	u := users[work.UserID]
	if u == nil || u.State != account.Active {
		return nil
	}
	stacked, err := s.stacked(ctx, m)
	if err != nil {
		return err
	}
	for _, other := range stacked {
		if err := s.retargetOne(ctx, u.Actor(), p, other, m.TargetBranch); err != nil {
			return err
		}
	}
	return nil
}

// retargetOne makes m go into another branch, because its own is gone. One that the actor may not update, or that
// cannot go there, stays as it is.
func (s *Service) retargetOne(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, branch string) error {
	may, err := s.Policy.Can(ctx, as, authz.UpdateMergeRequest, m.Subject(as, p))
	if err != nil || !may {
		return err
	}
	c := Changes{TargetBranch: &branch, targetDeleted: true}
	if err = s.checkUpdate(ctx, p, m, &c); err == nil {
		err = s.store(ctx, as, p, m, c)
	}
	if refused := (*errs.Error)(nil); errors.As(err, &refused) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.reload(ctx, m); err != nil {
		return err
	}
	return s.refreshFor(ctx, as, p, m)
}

// branchDeleted follows the deletion of a branch: open merge requests from it are closed, and those into it
// are retargeted where it was merged before.
func (s *Service) branchDeleted(ctx context.Context, by authz.Actor, work afterPush, c repo.RefChange) error {
	id, name := work.ProjectID, c.Ref.Short()
	err := s.eachOpen(ctx, func(rows []*MergeRequest, projects map[project.ID]*project.Project) error {
		for _, m := range rows {
			if p := projects[m.ProjectID]; p != nil {
				if err := s.closeDeleted(ctx, by, p, m); err != nil {
					return err
				}
			}
		}
		return nil
	}, "m.source_project_id = ? AND m.source_branch = ? AND m.head_sha <> ''", id, name)
	if err != nil || !by.SignedIn() || work.ByMerge {
		return err
	}
	merged, err := s.rows(ctx, ` WHERE m.source_project_id = ? AND m.source_branch = ? AND m.state = 'merged' AND m.target_project_id = ? AND m.head_sha = ?
		ORDER BY m.merged_at DESC, m.id DESC LIMIT 1`, id, name, id, hexOf(c.Old))
	if err != nil {
		return fmt.Errorf("merge requests from a deleted branch: %w", err)
	}
	if len(merged) == 0 {
		return nil
	}
	return s.retargetStack(ctx, retarget{merged[0].ID, by.UserID})
}

// closeDeleted closes a merge request whose source branch is gone, unless its target branch has its commits: it is
// recorded as merged then.
func (s *Service) closeDeleted(ctx context.Context, by authz.Actor, p *project.Project, m *MergeRequest) error {
	source, err := s.source(ctx, p, m)
	if err != nil || source == nil {
		return err
	}
	l, err := s.look(ctx, p, source, m)
	if err != nil || !l.source.IsZero() {
		return err
	}
	if m.CommitsCount > 0 {
		if merged, err := contains(ctx, l.repo, l.target, idOf(m.HeadSHA)); err != nil || merged {
			return err
		}
	}
	err = s.store(ctx, by, p, m, Changes{Event: Close})
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	return err
}

// errNoSource refuses to reopen a merge request that has nothing to merge.
func errNoSource(branch string) error {
	return errs.Sentences(errs.Unprocessable, fmt.Sprintf("Source branch %q does not exist", branch))
}
