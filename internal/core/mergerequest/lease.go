package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// lease is a merge in flight: written before the target branch moves, gone when the
// request's row says merged or open again.
type lease struct {
	RequestID       ID           `db:"merge_request_id"`
	UserID          authz.UserID `db:"user_id"`
	TargetOldSHA    string       `db:"target_old_sha"`
	TargetNewSHA    string       `db:"target_new_sha"`
	MergeCommitSHA  *string      `db:"merge_commit_sha"`
	SquashCommitSHA *string      `db:"squash_commit_sha"`
	RemoveSource    bool         `db:"remove_source"`
	CreatedAt       db.Time      `db:"created_at"`

	closes []ClosedIssue // issues that the merge closes; found out again after a crash
}

func (s *Service) stamp() db.Time { return db.At(s.Now()) }

// row names the row of a request for db.Update. Who changes it says whether that counts as
// an update of the request.
func (s *Service) row(id ID) db.Row {
	return db.Row{Table: "merge_requests", ID: id, Columns: s.columns, From: "merge_requests m", Alias: "m"}
}

// hold locks the request and records what the merge is about to move; a merge that
// begins again, because the target has moved, replaces what it had recorded.
func (s *Service) hold(ctx context.Context, a *attempt, held bool) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		l := &a.lease
		if held {
			_, err := s.DB.Exec(ctx, `UPDATE merge_leases SET target_old_sha = ?, target_new_sha = ?, merge_commit_sha = ?,
				squash_commit_sha = ?, remove_source = ?, created_at = ? WHERE merge_request_id = ?`,
				l.TargetOldSHA, l.TargetNewSHA, l.MergeCommitSHA, l.SquashCommitSHA, a.remove, l.CreatedAt, l.RequestID)
			return err
		}
		_, err := db.Update(ctx, s.DB, s.row(a.m.ID).Provided(a.as.UnmodifiedAt), func(ctx context.Context, m *MergeRequest) error {
			if m.State == StateOpened && m.HeadSHA != a.m.HeadSHA {
				return a.leftFor(m.HeadSHA)
			}
			if err := s.unchanged(ctx, a, m); err != nil {
				return err
			}
			m.State, m.Squash, m.ShouldRemoveSource, m.MergeError = StateLocked, a.m.Squash, a.in.RemoveSource, nil
			return nil
		})
		if errors.Is(err, db.ErrNotFound) {
			return errChanged
		}
		if err != nil {
			return err
		}
		_, err = db.InsertRow(ctx, s.DB, "merge_leases", l, "")
		return err
	})
	var known *errs.Error
	if left := (*refusal)(nil); err != nil && !errors.As(err, &known) && !errors.As(err, &left) {
		return fmt.Errorf("lock merge request: %w", err)
	}
	return err
}

// unchanged refuses a merge request that changed since the checks of this merge: the automatic
// merge was canceled, the branch was pushed to, or another pipeline ran.
func (s *Service) unchanged(ctx context.Context, a *attempt, m *MergeRequest) error {
	if m.State != StateOpened || m.Draft || m.TargetBranch != a.m.TargetBranch || m.Blocked(a.p) {
		return errChanged
	}
	if err := s.readObstacle(ctx, a.p, m); err != nil {
		return err
	}
	if len(m.Obstacles) > 0 || m.Blockers > 0 {
		return errChanged
	}
	if a.in.due && (!m.MergeWhenPipelineSucceeds || !equal(m.MergeUserID, &a.as.UserID) || !equal(m.AutoMergeSHA, &a.in.SHA)) {
		return errChanged
	}
	if a.in.car != nil {
		passes, err := s.carPasses(ctx, a.p, a.in.car)
		if err == nil && !passes {
			err = errChanged
		}
		return err
	}
	if !a.in.WhenReady && !a.p.MergeNeedsPipeline {
		return nil
	}
	passed, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM merge_requests m JOIN pipelines l ON l.id = `+newestPipeline+`
		WHERE m.id = ? AND l.status IN (?, ?))`, m.ID, ci.Success, alsoPasses(a.p))
	if err == nil && !passed {
		return errChanged
	}
	return err
}

// equal reports whether both point to the same value; nil equals nothing.
func equal[T comparable](a, b *T) bool { return a != nil && b != nil && *a == *b }

// finish records that the target branch holds the changes.
func (s *Service) finish(ctx context.Context, a *attempt) error {
	if err := s.record(ctx, a.as, a.p, a.m, &a.lease); err != nil {
		return err
	}
	if !a.remove || !a.m.Fork() {
		return nil
	}
	if err := s.removeForkBranch(ctx, a); err != nil { // it is merged all the same
		s.Log.Warn("source branch in a fork stays", "merge_request_id", a.m.ID, "error", err)
	}
	return nil
}

// record writes that the lease's merge has happened, ends the lease and publishes Merged.
// A lease that is gone was settled by another process.
func (s *Service) record(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, l *lease) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		gone, err := s.DB.Exec(ctx, "DELETE FROM merge_leases WHERE merge_request_id = ?", l.RequestID)
		if err != nil || gone == 0 {
			return err
		}
		return s.setMerged(ctx, as, p, m, l, StateLocked)
	})
	if err != nil {
		return fmt.Errorf("record merge: %w", err)
	}
	return nil
}

// setMerged writes the row of a merged request and publishes Merged, in the caller's
// transaction. A request that is not in the state from is left alone.
func (s *Service) setMerged(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, l *lease, from State) error {
	now := s.stamp()
	var by *authz.UserID
	if l.UserID != 0 {
		by = &l.UserID
	}
	out, err := db.Update(ctx, s.DB, s.row(l.RequestID), func(_ context.Context, m *MergeRequest) error {
		if m.State != from {
			return nil
		}
		m.State, m.MergeUserID, m.MergedAt, m.MergeError = StateMerged, by, &now, nil
		m.MergeCommitSHA, m.SquashCommitSHA, m.TrialResult = l.MergeCommitSHA, l.SquashCommitSHA, CanBeMerged
		m.MergeWhenPipelineSucceeds, m.Plan, m.UpdatedAt = false, Plan{}, now
		return nil
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil || !out.Any() {
		return err
	}
	f, err := s.fact(ctx, as, p, out)
	if err != nil {
		return err
	}
	e := Merged{Fact: f, TargetBranch: m.TargetBranch, ClosesIssues: l.closes, SourceRemoved: l.RemoveSource}
	if l.MergeCommitSHA != nil {
		e.MergeCommitSHA = *l.MergeCommitSHA
	}
	if l.SquashCommitSHA != nil {
		e.SquashCommitSHA = *l.SquashCommitSHA
	}
	if err := s.Bus.Publish(ctx, e); err != nil {
		return err
	}
	if err := s.arrive(ctx, l, now); err != nil {
		return err
	}
	waiting, err := s.blockedBy(ctx, l.RequestID)
	if err != nil {
		return err
	}
	return s.release(ctx, waiting)
}

// reopen ends a lease whose merge has not happened. Where the request is set to merge by
// itself that is looked at again: its pipeline may have succeeded in between.
func (s *Service) reopen(ctx context.Context, id ID, reason string) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		gone, err := s.DB.Exec(ctx, "DELETE FROM merge_leases WHERE merge_request_id = ?", id)
		if err != nil || gone == 0 {
			return err
		}
		out, err := db.Update(ctx, s.DB, s.row(id), func(_ context.Context, m *MergeRequest) error {
			if m.State == StateLocked {
				m.State, m.MergeError = StateOpened, present(reason)
			}
			return nil
		})
		if err != nil || !out.After.MergeWhenPipelineSucceeds {
			return err
		}
		return s.lookAgain(ctx, &out.After)
	})
	if err != nil {
		return fmt.Errorf("unlock merge request: %w", err)
	}
	return nil
}

// Settle ends the merges that a crash interrupted: where the target branch holds the
// intended commit the request is merged, everywhere else it is open again. It runs at
// start-up before anybody is served, and hourly; merges that run here are left alone.
func (s *Service) Settle(ctx context.Context, _ db.Time) error {
	return errors.Join(s.SettleLost(ctx), s.pinRecent(ctx), s.resumeTrains(ctx))
}

// SettleLost is the part of Settle that ends merges.
func (s *Service) SettleLost(ctx context.Context) error {
	leases, err := db.Select[lease](ctx, s.DB, "SELECT "+db.Columns[lease]("l")+" FROM merge_leases l ORDER BY l.merge_request_id")
	if err != nil {
		return fmt.Errorf("read merges in flight: %w", err)
	}
	var failures []error
	for i := range leases {
		if err := s.settleOne(ctx, &leases[i]); err != nil {
			failures = append(failures, fmt.Errorf("settle merge request %d: %w", leases[i].RequestID, err))
		}
	}
	return errors.Join(failures...)
}

// Check describes merge requests that are locked by a merge that does not run, the first 100. It is for
// the administrator's command line.
func (s *Service) Check(ctx context.Context) ([]string, error) {
	ids, err := db.Select[ID](ctx, s.DB, "SELECT m.id FROM merge_requests m WHERE m.state = ? ORDER BY m.id LIMIT 100", StateLocked)
	if err != nil {
		return nil, fmt.Errorf("check locked merge requests: %w", err)
	}
	var out []string
	for _, id := range ids {
		if _, running := s.merging.Load(id); !running {
			out = append(out, fmt.Sprintf("merge_requests: %d is locked by a merge that was interrupted; the server settles it within a minute", id))
		}
	}
	return out, nil
}

func (s *Service) settleOne(ctx context.Context, l *lease) error {
	if _, running := s.merging.LoadOrStore(l.RequestID, struct{}{}); running {
		return nil
	}
	defer s.merging.Delete(l.RequestID)
	p, m, err := s.still(ctx, l.RequestID)
	if err != nil || m == nil {
		return err
	}
	merged, err := s.settle(ctx, p, l)
	if err == nil {
		s.Log.Warn("settled a merge that was interrupted", "merge_request_id", l.RequestID, "merged", merged)
	}
	return err
}

// settle asks the target branch how the merge of the lease has ended and records it.
func (s *Service) settle(ctx context.Context, p *project.Project, l *lease) (merged bool, err error) {
	m, err := s.load(ctx, "m.id = ?", l.RequestID)
	if err != nil {
		return false, err
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return false, err
	}
	tip, err := s.tip(ctx, p, m.TargetBranch)
	if err != nil {
		return false, err
	}
	if merged, err = contains(ctx, r, tip, idOf(l.TargetNewSHA)); err != nil {
		return false, err
	}
	if !merged {
		return false, s.reopen(ctx, l.RequestID, errorMerging)
	}
	users, err := s.Accounts.Load(ctx, []authz.UserID{l.UserID})
	if err != nil {
		return false, err
	}
	var by authz.Actor
	if u := users[l.UserID]; u != nil {
		by = u.Actor()
	} else {
		l.UserID = 0 // deleted since
	}
	commits, err := s.commitsOf(ctx, r, m, 100)
	if err != nil {
		return false, err
	}
	if l.closes, err = s.closes(ctx, by, p, m, commits); err != nil {
		return false, err
	}
	return true, s.record(ctx, by, p, m, l)
}

// MergingOf returns the commits that target branches are about to move to, of those of the requests whose merge is under way.
func (s *Service) MergingOf(ctx context.Context, ids []ID) (map[ID]string, error) {
	var w db.Where
	w.In("merge_request_id", ids)
	leases, err := db.Select[lease](ctx, s.DB, "SELECT merge_request_id, target_new_sha FROM merge_leases"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("merges in flight: %w", err)
	}
	out := make(map[ID]string, len(leases))
	for i := range leases {
		out[leases[i].RequestID] = leases[i].TargetNewSHA
	}
	return out, nil
}

// contains reports whether a branch's tip has the commit in its history; a commit that
// was never kept is in none.
func contains(ctx context.Context, r *gitcmd.Repo, tip, commit gitstore.ObjectID) (bool, error) {
	if tip.IsZero() || commit.IsZero() {
		return false, nil
	}
	yes, err := r.IsAncestor(ctx, commit, tip)
	if errors.Is(err, gitstore.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for commit: %w", err)
	}
	return yes, nil
}

// pinRecent makes sure that the references of requests with a recent version are there:
// they are written after the rows.
func (s *Service) pinRecent(ctx context.Context) error {
	rows, err := s.rows(ctx, `
		JOIN merge_request_versions v ON v.id = m.version_id
		WHERE m.state = 'opened' AND v.created_at > ? ORDER BY m.id DESC LIMIT 1000`, s.Now().Add(-2*time.Hour))
	if err != nil {
		return fmt.Errorf("read recent versions: %w", err)
	}
	var ids []project.ID
	for _, m := range rows {
		ids = append(ids, m.ProjectID)
	}
	projects, err := s.Projects.Load(ctx, ids)
	if err != nil {
		return err
	}
	for _, m := range rows {
		p := projects[m.ProjectID]
		if p == nil {
			continue
		}
		if err := s.pinHead(ctx, p, m); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
	}
	return nil
}

// removeForkBranch deletes the source branch in the fork once the merge is recorded. A
// branch that has moved meanwhile stays.
func (s *Service) removeForkBranch(ctx context.Context, a *attempt) error {
	ref, err := gitstore.BranchRef(a.m.SourceBranch)
	if err != nil {
		return fmt.Errorf("remove source branch: %w", err)
	}
	err = s.Repos.MoveRefs(ctx, a.as, a.source, repo.ByMerge, []repo.RefChange{{Ref: ref, Old: idOf(a.m.HeadSHA)}})
	if errors.Is(err, repo.ErrMoved) {
		return nil
	}
	return err
}
