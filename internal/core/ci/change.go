package ci

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// JobChanged is published when a job was made, or its state changed.
type JobChanged struct {
	change.Of[Job]

	Pipeline Pipeline
	Project  *project.Project
}

// change lets a function change a job, writes what differs and lets the pipeline go on, in one
// transaction, which it opens or joins. Nothing is done where the function returns an error.
func (s *Service) change(ctx context.Context, as authz.Actor, p *project.Project, of PipelineID, id StatusID, fn func(ctx context.Context, j *Job) error) (*Job, error) {
	var out *Job
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		pipeline, err := s.lock(ctx, of)
		if err != nil {
			return err
		}
		var was State
		if was, out, err = s.changeState(ctx, as, p, pipeline, id, fn); err != nil {
			return err
		}
		if alone, err := s.alone(ctx, pipeline, was, out); err != nil || alone {
			return err
		}
		return s.advance(ctx, as, p, pipeline)
	})
	if err != nil {
		return nil, errs.Wrap(err, "change job")
	}
	return out, nil
}

// alone reports whether the step of a job changes nothing else in its pipeline, which is running: the job has begun, or it has succeeded while
// others of its stage are under way and none waits for it by name.
func (s *Service) alone(ctx context.Context, of *Pipeline, was State, j *Job) (bool, error) {
	switch {
	case of.State != Running:
		return false, nil
	case was == Pending && j.State == Running:
		return true, nil
	case was != Running || j.State != Success:
		return false, nil
	}
	// The first condition on the status is that of the partial index commit_statuses_live, which serves no query without it.
	alone, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM commit_statuses s WHERE s.pipeline_id = ? AND s.stage_idx = ?
			AND s.status IN ('created', 'pending', 'running') AND s.status IN ('pending', 'running') AND NOT s.retried)
		AND NOT EXISTS (SELECT 1 FROM commit_statuses s JOIN job_needs n ON n.job_id = s.id WHERE s.pipeline_id = ?
			AND s.status IN ('created', 'pending', 'running') AND s.status = 'created' AND n.name = ?)`, of.ID, j.StageIndex, of.ID, j.Name)
	if err != nil {
		return false, fmt.Errorf("what waits for a job: %w", err)
	}
	return alone, nil
}

// changeLocked is change for a pipeline that the transaction has locked, which does not go on by it.
func (s *Service) changeLocked(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, id StatusID, fn func(ctx context.Context, j *Job) error) (*Job, error) {
	_, j, err := s.changeState(ctx, as, p, of, id, fn)
	return j, err
}

// changeState is changeLocked, and tells the state that the job had.
func (s *Service) changeState(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, id StatusID, fn func(ctx context.Context, j *Job) error) (was State, out *Job, err error) {
	var before, after Job
	_, err = db.Update(ctx, s.DB, statusRow(id), func(ctx context.Context, st *Status) error {
		_, err := db.Update(ctx, s.DB, jobRow(id), func(ctx context.Context, b *Build) error {
			before, after = Job{*st, *b}, Job{*st, *b}
			if err := fn(ctx, &after); err != nil {
				return err
			}
			*st, *b = after.Status, after.Build
			return nil
		})
		return err
	})
	if err != nil {
		return "", nil, err
	}
	was, out = before.State, &after
	if was == after.State {
		return was, out, nil
	}
	if was == Pending {
		if _, err := s.DB.Exec(ctx, "DELETE FROM job_queue WHERE job_id = ?", id); err != nil {
			return was, nil, fmt.Errorf("take job out of queue: %w", err)
		}
	}
	if after.State == Failed {
		if err := s.afterFailure(ctx, as, p, of, &after); err != nil {
			return was, nil, err
		}
	}
	if after.State.Complete() {
		if err := s.Deps.Jobs.Enqueue(ctx, joinLog{JobID: id}); err != nil {
			return was, nil, fmt.Errorf("enqueue log of job: %w", err)
		}
	}
	if err := s.passOnAfter(ctx, &after.Status); err != nil {
		return was, nil, err
	}
	return was, out, s.Bus.Publish(ctx, JobChanged{change.Between(as, s.Now(), p.Place(), &before, &after), *of, p})
}

// publishJobs tells that jobs of a pipeline, which are given as they were, have got the states that they have now.
func (s *Service) publishJobs(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, was []Status) error {
	for chunk := range slices.Chunk(was, db.MaxArgs) {
		ids, before := make([]StatusID, len(chunk)), make(map[StatusID]Status, len(chunk))
		for i, st := range chunk {
			ids[i], before[st.ID] = st.ID, st
		}
		marks, args := db.Marks(ids)
		jobs, err := db.Select[Job](ctx, s.DB, "SELECT "+jobColumns+" FROM "+jobTables+" WHERE s.id IN ("+marks+") ORDER BY s.stage_idx, s.id", args...)
		if err != nil {
			return fmt.Errorf("jobs that have changed: %w", err)
		}
		changed := make([]*Status, len(jobs))
		for i := range jobs {
			changed[i] = &jobs[i].Status
		}
		if err := s.passOnAfter(ctx, changed...); err != nil {
			return err
		}
		for i := range jobs {
			old := &Job{before[jobs[i].ID], jobs[i].Build}
			old.ScheduledAt = nil
			e := JobChanged{change.Between(as, s.Now(), p.Place(), old, &jobs[i]), *of, p}
			if err := s.Bus.Publish(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// fail ends a job for a reason.
func (j *Job) fail(reason string, s *Service) {
	j.enter(Failed, s.Now())
	j.FailureReason = &reason
}

// afterFailure starts a job again that failed, where its configuration says so, or cancels the others of its pipeline, where that says so.
func (s *Service) afterFailure(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, j *Job) error {
	again, err := s.retryFailed(ctx, as, p, of, j)
	if err != nil || again || j.AllowFailure || !of.CancelOnFailure {
		return err
	}
	if err := s.Deps.Jobs.Enqueue(ctx, cancelRest{PipelineID: of.ID}); err != nil {
		return fmt.Errorf("enqueue end of other jobs: %w", err)
	}
	return nil
}

// retryFailed starts a job again that failed, where its configuration says so, and reports whether it did.
func (s *Service) retryFailed(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, j *Job) (again bool, err error) {
	c, err := j.Config()
	if err != nil {
		return false, err
	}
	if j.Attempt >= int64(c.Retry.Max) || !retries(c.Retry.When, c.Retry.ExitCodes, j) {
		return false, nil
	}
	made, err := s.again(ctx, as, p, of, []*Job{j}, j.AuthorID)
	if errs.Is(err, errs.Unprocessable) {
		return false, nil // there is no room for another job
	}
	if err != nil {
		return false, err
	}
	return true, s.start(ctx, as, p, of, made[0]) // its turn has come, also where it was a manual or delayed one
}

// start makes a new job pending, or lets it wait for its resource group.
func (s *Service) start(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, made *Job) error {
	c, err := made.Config()
	if err != nil {
		return err
	}
	held, err := s.Gate().unapproved(ctx, p, made, c.Environment)
	if err == nil && held {
		err = s.enterAll(ctx, []StatusID{made.ID}, Manual, s.Now())
	} else if err == nil {
		err = s.queue(ctx, of, made.ID, made.ready())
	}
	if err != nil {
		return err
	}
	return s.publishJobs(ctx, as, p, of, []Status{made.Status})
}

// neverRetried are reasons that another attempt would meet again.
var neverRetried = []string{MissingDependency, UserBlocked, LogTooLarge, OutdatedDeployment, ProtectedEnvironment, DeploymentRejected, ArchivedFailure, "builds_disabled", "project_deleted"}

// retries reports whether reasons and exit codes of a configuration name how a job failed.
func retries(when []string, codes []int, j *Job) bool {
	reason := UnknownFailure
	if j.FailureReason != nil {
		reason = *j.FailureReason
	}
	if slices.Contains(neverRetried, reason) {
		return false
	}
	if len(when) == 0 && len(codes) == 0 {
		return true
	}
	if j.ExitCode != nil && slices.Contains(codes, int(*j.ExitCode)) {
		return true
	}
	return slices.Contains(when, reason)
}
