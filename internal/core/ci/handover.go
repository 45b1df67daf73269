package ci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/runner"
)

// errGone says that another runner was faster, or that the job could not start.
var errGone = errors.New("job is not pending any more")

// candidate is a pending job that a runner may run.
type candidate struct {
	JobID      StatusID   `db:"job_id"`
	PipelineID PipelineID `db:"pipeline_id"`
}

// postponed is how long a job that could not be handed over is left out, so that the jobs behind it have their turn.
const postponed = 10 * time.Second

// handouts are the jobs that this server is giving to runners at this moment, and those that it could not give. It is safe for concurrent use.
type handouts struct {
	turn *semaphore.Weighted // one runner looks for its job at a time, so that no two find the same
	mu   sync.Mutex
	jobs map[StatusID]time.Time // until when each is left out; zero is until it is given
}

func newHandouts() handouts {
	return handouts{turn: semaphore.NewWeighted(1), jobs: map[StatusID]time.Time{}}
}

// list returns the jobs that are left out at a time.
func (c *handouts) list(now time.Time) []StatusID {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]StatusID, 0, len(c.jobs))
	for id, until := range c.jobs {
		if !until.IsZero() && !until.After(now) {
			delete(c.jobs, id)
			continue
		}
		out = append(out, id)
	}
	return out
}

// add records that a job is being given, or until when it is left out.
func (c *handouts) add(id StatusID, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jobs[id] = until
}

func (c *handouts) drop(id StatusID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.jobs, id)
}

// maxHandouts is how many jobs are left out by name; beyond that two runners may find the same job, which one of them gets.
const maxHandouts = 500

// candidate finds the job that a runner should get and keeps other runners of this server away from it until it is released; nil where there
// is none.
func (s *Service) candidate(ctx context.Context, r *runner.Runner, lost []StatusID) (c *candidate, release func(), err error) {
	if err := s.handouts.turn.Acquire(ctx, 1); err != nil {
		return nil, nil, fmt.Errorf("wait to look for a job: %w", err)
	}
	defer s.handouts.turn.Release(1)
	taken := s.handouts.list(s.Now())
	c, err = s.next(ctx, r, append(taken[:min(len(taken), maxHandouts)], lost...))
	if c == nil || err != nil {
		return nil, nil, err
	}
	s.handouts.add(c.JobID, time.Time{})
	return c, func() { s.handouts.drop(c.JobID) }, nil
}

// take looks for a job that the runner may run and makes it the runner's. A job that cannot be handed over stays pending, and the runner gets another.
func (s *Service) take(ctx context.Context, r *runner.Runner, m *runner.Manager, ask Ask) (*Assignment, error) {
	var lost []StatusID // to other servers, or because they could not start
	for range candidates {
		c, release, err := s.candidate(ctx, r, lost)
		if c == nil || err != nil {
			return nil, err
		}
		got, err := s.handOver(ctx, r, m, c, ask.Features)
		release()
		switch {
		case err == nil:
			return got, nil
		case errors.Is(err, errGone):
			lost = append(lost, c.JobID)
		case errors.Is(err, errs.ErrAway), ctx.Err() != nil: // no other job fares better
			return nil, err
		default:
			s.Deps.Log.ErrorContext(ctx, "hand over job", "job_id", c.JobID, "pipeline_id", c.PipelineID, "error", err)
			s.handouts.add(c.JobID, s.Now().Add(postponed))
		}
	}
	return nil, nil
}

// handOver makes a pending job the runner's. What the runner needs is collected before: once the job is running, nothing can fail any more, and until then
// an error leaves it pending, wherever it comes from. errGone says that the job is not pending any more, or has failed because it cannot start.
func (s *Service) handOver(ctx context.Context, r *runner.Runner, m *runner.Manager, c *candidate, can map[string]bool) (*Assignment, error) {
	p, err := s.projectOf(ctx, c.PipelineID)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	j, err := s.loadJob(ctx, c.JobID)
	if errors.Is(err, db.ErrNotFound) || err == nil && j.State != Pending {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	token := secret.NewToken(s.Settings.Current().TokenPrefix(jobTokenPrefix))
	begin := s.beginning(r, m, token, can)
	begin(j)
	found, reason, err := s.prepare(ctx, p, r, j, token, can)
	if permanent(err) {
		s.Deps.Log.ErrorContext(ctx, "job cannot be handed over", "job_id", c.JobID, "pipeline_id", c.PipelineID, "error", err)
		reason, err = DataIntegrity, nil
	}
	if err != nil {
		return nil, err
	}
	j, err = s.change(ctx, authz.System(), p, c.PipelineID, c.JobID, func(_ context.Context, j *Job) error {
		switch {
		case j.State != Pending:
			return errGone
		case reason != "":
			j.fail(reason, s)
		default:
			begin(j)
		}
		return nil
	})
	switch {
	case errors.Is(err, errGone), errors.Is(err, db.ErrNotFound):
		// The pipeline may have ended before it got its reference.
		if err := s.Deps.Jobs.Enqueue(ctx, dropRef{ProjectID: p.ID, PipelineID: c.PipelineID}); err != nil {
			return nil, fmt.Errorf("enqueue end of pipeline: %w", err)
		}
		return nil, errGone
	case err != nil:
		return nil, err
	case reason != "":
		return nil, errGone
	}
	found.Job = j
	return found, nil
}

// beginning returns what lets a job run on a runner from now on.
func (s *Service) beginning(r *runner.Runner, m *runner.Manager, token string, can map[string]bool) func(j *Job) {
	now, digest := s.Now(), secret.Digest(token)
	return func(j *Job) {
		at := db.At(now)
		j.enter(Running, now)
		j.RunnerID, j.TokenDigest, j.ContactedAt, j.CancelsGracefully = &r.ID, &digest, &at, can["cancel_gracefully"]
		if m != nil {
			j.ManagerID = &m.ID
		}
		if r.MaximumTimeout != nil && *r.MaximumTimeout < j.Timeout {
			j.Timeout = *r.MaximumTimeout
		}
		deadline := db.At(now.Add(time.Duration(j.Timeout)*time.Second + graceOf))
		j.Deadline = &deadline
	}
}

// prepare collects what a job needs to run, or gives the reason why it cannot.
func (s *Service) prepare(ctx context.Context, p *project.Project, r *runner.Runner, j *Job, token string, can map[string]bool) (*Assignment, string, error) {
	c, err := j.Config()
	if err != nil {
		return nil, "", err
	}
	deps, reason, err := s.obstacle(ctx, p, j, c, can)
	if err != nil || reason != "" {
		return nil, reason, err
	}
	of, err := s.loadPipeline(ctx, j.PipelineID)
	if err != nil {
		return nil, "", err
	}
	if err := s.keepRef(ctx, p, of); err != nil {
		return nil, "", err
	}
	out := &Assignment{Job: j, Config: c, Pipeline: of, Project: p, Token: token, Runner: r, Dependencies: deps.jobs}
	if out.Variables, err = s.jobList(ctx, out, deps.ids); err != nil {
		return nil, "", err
	}
	if barred, err := s.Gate().barred(ctx, p, j, out.Config.Environment); err != nil || barred {
		return nil, ProtectedEnvironment, err
	}
	out.GitDepth = gitDepth(p, out.Variables)
	return out, "", nil
}

// permanent reports whether an error comes again however often a job is handed over: what it needs is lost or cannot be read.
func permanent(err error) bool {
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return true
	}
	for _, one := range []error{secret.ErrSealed, gitstore.ErrNotFound, gitstore.ErrBadName, gitstore.ErrWrongKind, gitstore.ErrMalformed} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
