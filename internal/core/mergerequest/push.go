package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// afterPush is the job that looks at the requests whose branches were pushed.
type afterPush struct {
	ProjectID project.ID       `json:"project_id"`
	UserID    authz.UserID     `json:"user_id"`
	Username  string           `json:"username"`
	Changes   []repo.RefChange `json:"changes"` // of branches that open requests name
}

// Kind names the job.
func (afterPush) Kind() string { return "merge_request_push" }

// trials is the job that makes the trial merges of one target branch again.
type trials struct {
	ProjectID project.ID `json:"project_id"`
	Branch    string     `json:"branch"`
}

// Kind names the job.
func (trials) Kind() string { return "merge_request_trials" }

// RegisterJobs says how the jobs of merge requests are done.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.followPush)
	job.Register(r, s.retry, job.Low(), job.Unique())
	job.Register(r, s.closeOfPush)
	job.Register(r, s.mergeDue, job.Unique())
	job.Register(r, s.rebase, job.Timeout(rebaseTakes))
}

// OnPushed reacts to moved references: it records that the requests of these branches
// are to be looked at. Its cost does not depend on how many there are.
func (s *Service) OnPushed(ctx context.Context, e repo.Pushed) error {
	var names []string
	for _, c := range e.Changes {
		if c.Ref.IsBranch() {
			names = append(names, c.Ref.Short())
		}
	}
	if len(names) == 0 {
		return nil
	}
	sources, targets, err := s.touched(ctx, e.ProjectID, names)
	if err != nil {
		return err
	}
	work := afterPush{ProjectID: e.ProjectID, UserID: e.By.UserID, Username: e.By.Username}
	for _, c := range e.Changes {
		if name := c.Ref.Short(); c.Ref.IsBranch() && (sources[name] || targets[name]) {
			work.Changes = append(work.Changes, c.RefChange)
		}
	}
	if len(work.Changes) == 0 {
		return nil
	}
	if err := s.jobs.Enqueue(ctx, work); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if err := s.jobs.Enqueue(ctx, trials{e.ProjectID, name}); err != nil {
			return err
		}
	}
	return nil
}

// touched tells which of the branches open requests come from and go to.
func (s *Service) touched(ctx context.Context, id project.ID, names []string) (sources, targets map[string]bool, err error) {
	sources, targets = map[string]bool{}, map[string]bool{}
	type row struct {
		Name   string `db:"name"`
		Source bool   `db:"source"`
	}
	for chunk := range slices.Chunk(names, db.MaxArgs/4) {
		marks, args := db.Marks(chunk)
		args = slices.Concat([]any{id}, args, []any{id}, args)
		found, err := db.Select[row](ctx, s.db, `SELECT DISTINCT m.source_branch AS name, true AS source FROM merge_requests m
				WHERE m.source_project_id = ? AND m.state = 'opened' AND m.source_branch IN (`+marks+`)
			UNION ALL
			SELECT DISTINCT m.target_branch AS name, false AS source FROM merge_requests m
				WHERE m.target_project_id = ? AND m.state = 'opened' AND m.target_branch IN (`+marks+`)`, args...)
		if err != nil {
			return nil, nil, fmt.Errorf("look for merge requests of branches: %w", err)
		}
		for _, r := range found {
			if r.Source {
				sources[r.Name] = true
			} else {
				targets[r.Name] = true
			}
		}
	}
	return sources, targets, nil
}

// Requested gives the branches of a project that open requests come from or go to. It asks
// for no permission.
func (s *Service) Requested(ctx context.Context, id project.ID) (map[string]bool, error) {
	names, err := db.Select[string](ctx, s.db, `SELECT source_branch FROM merge_requests WHERE source_project_id = ? AND state = 'opened'
		UNION SELECT target_branch FROM merge_requests WHERE target_project_id = ? AND state = 'opened'`, id, id)
	if err != nil {
		return nil, fmt.Errorf("list branches of merge requests: %w", err)
	}
	out := make(map[string]bool, len(names))
	for _, name := range names {
		out[name] = true
	}
	return out, nil
}

// followPush gives requests from the pushed branches their versions and marks those
// merged that were merged by hand.
func (s *Service) followPush(ctx context.Context, work afterPush) error {
	by := authz.Actor{UserID: work.UserID, Username: work.Username}
	for _, c := range work.Changes {
		if err := s.followSource(ctx, by, work.ProjectID, c.Ref.Short()); err != nil {
			return err
		}
		if c.Old.IsZero() || c.New.IsZero() {
			continue
		}
		if err := s.followTarget(ctx, by, work.ProjectID, c); err != nil {
			return err
		}
	}
	return nil
}

// followSource refreshes the open requests from a branch.
func (s *Service) followSource(ctx context.Context, by authz.Actor, id project.ID, branch string) error {
	rows, projects, err := s.open(ctx, "m.source_project_id = ? AND m.source_branch = ?", id, branch)
	if err != nil {
		return err
	}
	for _, m := range rows {
		if p := projects[m.ProjectID]; p != nil {
			if err := s.refreshFor(ctx, by, p, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// open reads the open requests that a condition selects, and their projects.
func (s *Service) open(ctx context.Context, cond string, args ...any) ([]*MergeRequest, map[project.ID]*project.Project, error) {
	rows, err := s.rows(ctx, " WHERE "+cond+" AND m.state = 'opened' ORDER BY m.id", args...)
	if err != nil {
		return nil, nil, fmt.Errorf("read open merge requests: %w", err)
	}
	projects, err := s.projects.Load(ctx, projectsOf(rows))
	return rows, projects, err
}

// maxPushed bounds the pushed commits that are searched for heads of requests.
const maxPushed = 20_000

// followTarget marks the requests merged whose last commit came into their target branch
// with this push. A request without commits of its own has nothing to merge.
func (s *Service) followTarget(ctx context.Context, by authz.Actor, id project.ID, c repo.RefChange) error {
	rows, projects, err := s.open(ctx, "m.target_project_id = ? AND m.target_branch = ? AND m.commits_count > 0", id, c.Ref.Short())
	p := projects[id]
	if err != nil || len(rows) == 0 || p == nil {
		return err
	}
	r, err := s.repos.Open(ctx, p)
	if err != nil {
		return err
	}
	pushed, err := r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{c.New}, Not: []gitstore.ObjectID{c.Old}, Limit: maxPushed})
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil // pushed over since, and swept away
	}
	if err != nil {
		return fmt.Errorf("list pushed commits: %w", err)
	}
	in := make(map[gitstore.ObjectID]bool, len(pushed))
	for _, commit := range pushed {
		in[commit] = true
	}
	for _, m := range rows {
		if in[idOf(m.HeadSHA)] {
			err = s.mergedByHand(ctx, by, p, m, r, c)
		} else if m.MergeWhenPipelineSucceeds && p.MergeMethod != project.MergeCommit {
			err = s.overtake(ctx, by, p, m, r, c.New)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overtake takes back the wish to merge a request that would have to be rebased first,
// because its target branch has moved to tip.
func (s *Service) overtake(ctx context.Context, by authz.Actor, p *project.Project, m *MergeRequest, r *gitcmd.Repo, tip gitstore.ObjectID) error {
	forward, err := contains(ctx, r, idOf(m.HeadSHA), tip)
	if err != nil || forward {
		return err
	}
	return s.abort(ctx, by, p, m, abortOvertook)
}

// mergedByHand records a merge that a user pushed.
func (s *Service) mergedByHand(ctx context.Context, by authz.Actor, p *project.Project, m *MergeRequest, r *gitcmd.Repo, c repo.RefChange) error {
	commit, err := bringing(ctx, r, idOf(m.HeadSHA), c)
	if err != nil {
		return err
	}
	commits, err := s.commitsOf(ctx, r, m, 100)
	if err != nil {
		return err
	}
	text := hexOf(commit)
	l := lease{RequestID: m.ID, UserID: by.UserID, MergeCommitSHA: &text}
	if l.closes, err = s.closes(ctx, by, p, m, commits); err != nil {
		return err
	}
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		return s.setMerged(ctx, by, p, m, &l, StateOpened)
	})
	if err != nil {
		return fmt.Errorf("record merge by hand: %w", err)
	}
	return nil
}

// bringing finds the first commit on the target's own line that has head in its history.
func bringing(ctx context.Context, r *gitcmd.Repo, head gitstore.ObjectID, c repo.RefChange) (gitstore.ObjectID, error) {
	line, err := r.Log(ctx, gitcmd.LogOptions{
		From: []gitstore.ObjectID{c.New}, Not: []gitstore.ObjectID{c.Old}, FirstParent: true, Reverse: true, Limit: maxPushed,
	})
	if err != nil {
		return head, fmt.Errorf("list pushed commits: %w", err)
	}
	var failed error
	at, _ := slices.BinarySearchFunc(line, true, func(commit gitstore.ObjectID, _ bool) int {
		has, err := r.IsAncestor(ctx, head, commit)
		failed = errors.Join(failed, err)
		if has {
			return 1
		}
		return -1
	})
	if failed != nil {
		return head, fmt.Errorf("look for merge: %w", failed)
	}
	if at == len(line) {
		return head, nil
	}
	return line[at], nil
}

// retry makes the trial merges of all open requests into a branch that are out of date,
// those that need git in one process.
func (s *Service) retry(ctx context.Context, work trials) error {
	rows, projects, err := s.open(ctx, "m.target_project_id = ? AND m.target_branch = ? AND m.head_sha <> ''", work.ProjectID, work.Branch)
	p := projects[work.ProjectID]
	if err != nil || len(rows) == 0 || p == nil {
		return err
	}
	r, err := s.repos.Open(ctx, p)
	if err != nil {
		return err
	}
	target, err := s.tip(ctx, p, work.Branch)
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
		if err := s.storeTrial(ctx, m); err != nil {
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
// last one is out of date.
func (s *Service) Recheck(ctx context.Context, page *Page) error {
	asked := map[trials]bool{}
	for _, m := range page.Items {
		work := trials{m.ProjectID, m.TargetBranch}
		if m.State != StateOpened || asked[work] || (m.Status != Unchecked && m.Status != CannotBeMergedRecheck) {
			continue
		}
		asked[work] = true
		if err := s.jobs.Enqueue(ctx, work); err != nil {
			return err
		}
	}
	return nil
}
