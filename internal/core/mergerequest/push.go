package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// afterPush is the job that looks at the requests whose branches were pushed.
type afterPush struct {
	ProjectID project.ID       `json:"project_id"`
	UserID    authz.UserID     `json:"user_id"`
	Username  string           `json:"username"`
	Changes   []repo.RefChange `json:"changes"` // of branches that open requests name
	SkipCI    bool             `json:"skip_ci"` // the push asked for no pipelines
	ByMerge   bool             `json:"by_merge"`
	ByJob     bool             `json:"by_job,omitempty"` // a job pushed with its token, which makes no pipelines
}

// Kind names the job.
func (afterPush) Kind() string { return "merge_request_push" }

// trials is the job that makes the trial merges of one target branch again.
type trials struct {
	ProjectID project.ID `json:"project_id"`
	Branch    string     `json:"branch"`
}

// How long a target branch is left alone after a push before the trial merges of its requests are
// made again, so that many pushes or merges in a row cost one job; longer where they were made
// a short while ago, for then the pushes go on.
const (
	trialsAfter      = 2 * time.Second
	trialsAfterMore  = 3 * time.Second
	trialsShortWhile = 5 * time.Second
)

// trialsAt is when the trial merges into a branch that was pushed to are made again.
func (s *Service) trialsAt(work trials) time.Time {
	now := s.Now()
	if last, ok := s.tried.Load(work); ok && now.Sub(last.(time.Time)) < trialsShortWhile {
		return now.Add(trialsAfterMore)
	}
	return now.Add(trialsAfter)
}

// triedNow notes that the trial merges into a branch are made, and forgets those of long ago.
func (s *Service) triedNow(work trials) {
	now := s.Now()
	s.tried.Range(func(key, last any) bool {
		if now.Sub(last.(time.Time)) >= trialsShortWhile {
			s.tried.Delete(key)
		}
		return true
	})
	s.tried.Store(work, now)
}

// Kind names the job.
func (trials) Kind() string { return "merge_request_trials" }

// RegisterJobs says how the jobs of merge requests are done.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.followPush)
	job.Register(r, s.retry, job.Low(), job.Unique())
	job.Register(r, s.closeOfPush)
	job.Register(r, s.mergeDue, job.Unique())
	job.Register(r, s.tellPipeline, job.Unique())
	job.Register(r, s.retargetStack, job.Unique())
	job.Register(r, s.testPushed, job.Unique(), job.Attempts(5), job.Timeout(5*time.Minute))
	job.Register(r, s.runTrain, job.Unique())
	job.Register(r, s.rebase, job.Timeout(rebaseTakes))
	job.Register(r, s.expire, job.On(job.Maintenance), job.Unique(), job.Low())
	job.Every(r, time.Hour, OwnerExpiry{})
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
	if err := s.present(ctx, e, sources); err != nil {
		return err
	}
	work := afterPush{ProjectID: e.ProjectID, UserID: e.By.UserID, Username: e.By.Username, SkipCI: bool(ci.SkipOf(e.Options)), ByMerge: e.Source == repo.ByMerge, ByJob: e.By.Job.ID != 0}
	for _, c := range e.Changes {
		if name := c.Ref.Short(); c.Ref.IsBranch() && (sources[name] || targets[name]) {
			work.Changes = append(work.Changes, c.RefChange)
		}
	}
	if len(work.Changes) == 0 {
		return nil
	}
	if err := s.Jobs.Enqueue(ctx, work); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		if err := s.Jobs.Enqueue(ctx, trials{e.ProjectID, name}, job.At(s.trialsAt(trials{e.ProjectID, name}))); err != nil {
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
		found, err := db.Select[row](ctx, s.DB, `SELECT DISTINCT m.source_branch AS name, true AS source FROM merge_requests m
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

// Requested returns the branches of a project that open requests come from or go to. It asks
// for no permission.
func (s *Service) Requested(ctx context.Context, id project.ID) (map[string]bool, error) {
	names, err := db.Select[string](ctx, s.DB, `SELECT source_branch FROM merge_requests WHERE source_project_id = ? AND state = 'opened'
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

// followPush gives requests from the pushed branches their versions, marks those
// merged that were merged by hand, and then closes those from deleted branches.
func (s *Service) followPush(ctx context.Context, work afterPush) error {
	by := authz.Actor{UserID: work.UserID, Username: work.Username}
	for _, c := range work.Changes {
		if err := s.followSource(ctx, by, work, c); err != nil {
			return err
		}
		if err := s.moveTrain(ctx, work.ProjectID, c.Ref.Short()); err != nil {
			return err
		}
		if c.Old.IsZero() || c.New.IsZero() {
			continue
		}
		if err := s.followTarget(ctx, by, work.ProjectID, c); err != nil {
			return err
		}
	}
	for _, c := range work.Changes {
		if !c.New.IsZero() || c.Old.IsZero() {
			continue
		}
		if err := s.branchDeleted(ctx, by, work, c); err != nil {
			return err
		}
	}
	return nil
}

// followSource refreshes the open requests from a branch and has their pipelines made.
func (s *Service) followSource(ctx context.Context, by authz.Actor, work afterPush, c repo.RefChange) error {
	rows, projects, err := s.open(ctx, "m.source_project_id = ? AND m.source_branch = ?", work.ProjectID, c.Ref.Short())
	if err != nil {
		return err
	}
	for _, m := range rows {
		p := projects[m.ProjectID]
		if p == nil {
			continue
		}
		if err := s.refreshFor(ctx, by, p, m); err != nil {
			return err
		}
		if c.New.IsZero() || m.HeadSHA != hexOf(c.New) || !m.testable() || !by.SignedIn() || work.ByJob {
			continue
		}
		if err := s.Jobs.Enqueue(ctx, runPipeline{m.ID, by.UserID, m.HeadSHA, work.SkipCI}); err != nil {
			return err
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
	projects, err := s.Projects.Load(ctx, projectsOf(rows))
	return rows, projects, err
}

// openAtOnce is how many open requests eachOpen reads at a time.
const openAtOnce = 200

// eachOpen gives fn the open requests that a condition selects, some at a time by id, and
// their projects.
func (s *Service) eachOpen(ctx context.Context, fn func(rows []*MergeRequest, projects map[project.ID]*project.Project) error, cond string, args ...any) error {
	for after := ID(0); ; {
		rows, err := s.rows(ctx, " WHERE "+cond+" AND m.state = 'opened' AND m.id > ? ORDER BY m.id LIMIT ?", append(slices.Clip(args), after, openAtOnce)...)
		if err != nil {
			return fmt.Errorf("read open merge requests: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		projects, err := s.Projects.Load(ctx, projectsOf(rows))
		if err != nil {
			return err
		}
		if err := fn(rows, projects); err != nil || len(rows) < openAtOnce {
			return err
		}
		after = rows[len(rows)-1].ID
	}
}

// withHeads is the condition on requests of a project with commits whose last one is among some, and
// which go into a branch. The index of heads finds them, not that of branches, which may have
// thousands of open requests.
func withHeads(id project.ID, branch string, heads []string) (cond string, args []any) {
	marks, args := db.Marks(heads)
	return "m.id IN (SELECT h.id FROM merge_requests h WHERE h.target_project_id = ? AND h.head_sha IN (" + marks + ")) AND m.commits_count > 0 AND m.target_branch = ?",
		slices.Concat([]any{id}, args, []any{branch})
}

// maxPushed bounds the pushed commits that are searched for heads of requests.
const maxPushed = 20_000

// followTarget marks the requests merged whose last commit came into their target branch
// with this push. A request without commits of its own has nothing to merge. Other requests are
// not read, unless the project merges by fast-forward and they wait for a pipeline.
func (s *Service) followTarget(ctx context.Context, by authz.Actor, id project.ID, c repo.RefChange) error {
	all, err := s.Projects.Load(ctx, []project.ID{id})
	p := all[id]
	if err != nil || p == nil {
		return err
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return err
	}
	pushed, err := pushedCommits(ctx, r, c)
	if err != nil {
		return err
	}
	const of = "m.target_project_id = ? AND m.target_branch = ? AND m.commits_count > 0"
	for chunk := range slices.Chunk(pushed, db.MaxArgs/2) {
		cond, args := withHeads(id, c.Ref.Short(), chunk)
		rows, _, err := s.open(ctx, cond, args...)
		if err != nil {
			return err
		}
		for _, m := range rows {
			if err := s.mergedByHand(ctx, by, p, m, r, c); err != nil {
				return err
			}
		}
	}
	if p.MergeMethod == project.MergeCommit {
		return nil
	}
	return s.eachOpen(ctx, func(rows []*MergeRequest, _ map[project.ID]*project.Project) error {
		for _, m := range rows {
			if err := s.overtake(ctx, by, p, m, r, c.New); err != nil {
				return err
			}
		}
		return nil
	}, of+" AND m.merge_when_pipeline_succeeds AND m.auto_merge_strategy IS NULL", id, c.Ref.Short()) // trains rebase
}

// pushedCommits are the ids of the commits that came with a push, the newest of them. They are
// none where the push was pushed over since, and its commits swept away.
func pushedCommits(ctx context.Context, r *gitcmd.Repo, c repo.RefChange) ([]string, error) {
	pushed, err := r.Log(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{c.New}, Not: []gitstore.ObjectID{c.Old}, Limit: maxPushed})
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return nil, fmt.Errorf("list pushed commits: %w", err)
	}
	out := make([]string, 0, len(pushed))
	for _, commit := range pushed {
		out = append(out, hexOf(commit))
	}
	return out, nil
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
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
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
