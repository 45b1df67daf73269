package ci

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// The refusals of what may not be done with a job as it is.
var (
	ErrNotRetryable = errs.Denied("Job is not retryable")
	ErrNotErasable  = errs.Denied("Job is not erasable!")
	ErrUnplayable   = errs.Bad("Unplayable Job")
)

// Retryable reports whether another job may take the place of this one.
func (j *Job) Retryable() bool {
	return !j.Retried && j.Kind == JobKind && (j.State.Complete() && j.State != Skipped || j.State == Canceling)
}

// Playable reports whether a user may start the job.
func (j *Job) Playable() bool {
	return !j.Retried && slices.Contains([]State{Manual, Scheduled}, j.State)
}

// RetryJob makes another job in the place of one that has ended. It requires UpdatePipeline, and the right to run pipelines of a protected reference, or
// RunDeployment where the rules of a protected environment of the job name the actor.
func (s *Service) RetryJob(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, error) {
	j, of, err := s.Gate().startable(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	var made *Job
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		locked, err := s.lock(ctx, of.ID)
		if err != nil {
			return err
		}
		if j, err = s.loadJob(ctx, id); err != nil {
			return err
		}
		retryable, err := s.retryable(ctx, p, j)
		if err != nil {
			return err
		}
		if !retryable {
			return ErrNotRetryable
		}
		if made, err = s.retry(ctx, as, p, locked, j); err != nil {
			return err
		}
		if err := s.advance(ctx, as, p, locked); err != nil {
			return err
		}
		made, err = s.loadJob(ctx, made.ID)
		return err
	})
	if err != nil {
		return nil, errs.Wrap(err, "retry job")
	}
	return made, nil
}

// retry makes a job of the actor in the place of one and lets what was skipped after it wait again. A
// manual job is started at once: that is what its user asks for.
func (s *Service) retry(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, j *Job) (*Job, error) {
	user := as.UserID
	made, err := s.again(ctx, as, p, of, []*Job{j}, &user)
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, as, p, of, made[0]); err != nil {
		return nil, err
	}
	return made[0], s.reopen(ctx, as, p, of, made[0])
}

// PlayJob starts a job that waits for a user, with variables that it gets besides its own. It requires UpdatePipeline, and the right to run pipelines of a
// protected reference, or RunDeployment where the rules of a protected environment of the job name the actor. Variables require the role that the
// project asks for.
func (s *Service) PlayJob(ctx context.Context, as authz.Actor, p *project.Project, id StatusID, vars []Variable) (*Job, error) {
	_, of, err := s.Gate().startable(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	if err := checkVariables(vars); err != nil {
		return nil, err
	}
	if len(vars) > 0 {
		if err := s.requireVariables(ctx, as, p, errs.Denied("")); err != nil {
			return nil, err
		}
	}
	var out *Job
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		locked, err := s.lock(ctx, of.ID)
		if err != nil {
			return err
		}
		user := as.UserID
		out, err = s.changeLocked(ctx, as, p, locked, id, func(ctx context.Context, j *Job) error {
			if !j.Playable() {
				return ErrUnplayable
			}
			c, err := j.Config()
			if err != nil {
				return err
			}
			held, err := s.Gate().unapproved(ctx, p, j, c.Environment)
			if err != nil {
				return err
			}
			if held {
				return errs.Denied("")
			}
			j.AuthorID, j.ScheduledAt = &user, nil
			j.enter(j.ready(), s.Now())
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.keepVariables(ctx, id, vars, false); err != nil {
			return err
		}
		if err := s.queue(ctx, locked, id, out.State); err != nil {
			return err
		}
		if err := s.reopen(ctx, as, p, locked, out); err != nil {
			return err
		}
		return s.advance(ctx, as, p, locked)
	})
	if err != nil {
		return nil, errs.Wrap(err, "play job")
	}
	return out, nil
}

// CancelJob cancels a job. A runner that can is asked to run what comes after the script first. A job that has ended
// stays as it is. It requires UpdatePipeline, and the role that the project lets cancel.
func (s *Service) CancelJob(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	return s.cancelJob(ctx, as, p, id, (*Job).cancel)
}

// ForceCancelJob is CancelJob that ends a job at once, also one that is canceling. It requires UpdatePipeline and AdminProject.
func (s *Service) ForceCancelJob(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, error) {
	for _, ability := range []authz.Ability{authz.UpdatePipeline, authz.AdminProject} {
		if err := s.Policy.Require(ctx, as, ability, p.Subject()); err != nil {
			return nil, err
		}
	}
	return s.cancelJob(ctx, as, p, id, (*Job).cancelAtOnce)
}

func (s *Service) cancelJob(ctx context.Context, as authz.Actor, p *project.Project, id StatusID, cancel func(*Job, time.Time)) (*Job, error) {
	if err := s.requireCancel(ctx, as, p); err != nil {
		return nil, err
	}
	_, of, err := s.writable(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, as, p, of.ID, id, func(_ context.Context, j *Job) error {
		cancel(j, s.Now())
		return nil
	})
}

// cancel ends a job that has not ended. A runner that can is asked to run what comes after the script.
func (j *Job) cancel(now time.Time) {
	switch {
	case j.State == Running && j.CancelsGracefully:
		j.enter(Canceling, now)
	case j.State != Canceling:
		j.cancelAtOnce(now)
	}
}

// cancelAtOnce ends a job that has not ended.
func (j *Job) cancelAtOnce(now time.Time) {
	if slices.Contains(cancelable, j.State) {
		j.enter(Canceled, now)
		j.ScheduledAt = nil
	}
}

// UnscheduleJob lets a delayed job wait for a user instead of its time. It requires UpdatePipeline, and the right to run
// pipelines of a protected reference.
func (s *Service) UnscheduleJob(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	_, of, err := s.writable(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, as, p, of.ID, id, func(_ context.Context, j *Job) error {
		if j.State != Scheduled {
			return ErrUnplayable
		}
		j.enter(Manual, s.Now())
		j.ScheduledAt = nil
		return nil
	})
}

// Cancel cancels the jobs of a pipeline that have not ended, and those of its child pipelines. It
// requires UpdatePipeline, the right to run pipelines of a protected reference, and the role that the project lets cancel.
func (s *Service) Cancel(ctx context.Context, as authz.Actor, p *project.Project, id PipelineID) (*Pipeline, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	of, err := s.changeable(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	if err := s.requireCancel(ctx, as, p); err != nil {
		return nil, err
	}
	if err := s.cancelAll(ctx, as, p, of.ID, nil); err != nil {
		return nil, err
	}
	return s.Find(ctx, as, p, id)
}

// cancelAll cancels those of the jobs of a pipeline and its child pipelines that a condition on jobs selects, all where it is nil.
func (s *Service) cancelAll(ctx context.Context, as authz.Actor, p *project.Project, id PipelineID, which func(*Job) bool) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		of, err := s.lock(ctx, id)
		if err != nil {
			return err
		}
		var w db.Where
		w.And("s.pipeline_id = ? AND NOT s.retried", id)
		w.In("s.status", cancelable)
		jobs, err := db.Select[Job](ctx, s.DB, "SELECT "+jobColumns+" FROM "+jobTables+w.SQL()+" ORDER BY s.id", w.Args()...)
		if err != nil {
			return fmt.Errorf("jobs to cancel: %w", err)
		}
		if which != nil {
			jobs = slices.DeleteFunc(jobs, func(j Job) bool { return !which(&j) })
		}
		if err := s.cancelJobs(ctx, as, p, of, jobs); err != nil {
			return err
		}
		return s.advance(ctx, as, p, of)
	})
	if err != nil {
		return errs.Wrap(err, "cancel pipeline")
	}
	children, err := db.Select[PipelineID](ctx, s.DB, `SELECT l.id FROM pipelines l JOIN commit_statuses b ON b.id = l.upstream_job_id
		WHERE b.pipeline_id = ? AND l.source = ? AND l.finished_at IS NULL ORDER BY l.id`, id, ByParentPipeline)
	if err != nil {
		return fmt.Errorf("child pipelines: %w", err)
	}
	for _, child := range children {
		if err := s.cancelAll(ctx, as, p, child, which); err != nil {
			return err
		}
	}
	return nil
}

// Retry starts the failed and canceled jobs of a pipeline again. It requires UpdatePipeline, and the right to run
// pipelines of a protected reference.
func (s *Service) Retry(ctx context.Context, as authz.Actor, p *project.Project, id PipelineID) (*Pipeline, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	if _, err := s.changeable(ctx, as, p, id); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		locked, err := s.lock(ctx, id)
		if err != nil {
			return err
		}
		jobs, err := s.unsuccessful(ctx, p, id)
		if err != nil {
			return err
		}
		user := as.UserID
		made, err := s.again(ctx, as, p, locked, jobs, &user)
		if err != nil {
			return err
		}
		if err := s.reopen(ctx, as, p, locked, made...); err != nil {
			return err
		}
		return s.advance(ctx, as, p, locked)
	})
	if err != nil {
		return nil, errs.Wrap(err, "retry pipeline")
	}
	return s.Find(ctx, as, p, id)
}

// unsuccessful returns the jobs that a retry of their pipeline does again, in the order of their stages.
func (s *Service) unsuccessful(ctx context.Context, p *project.Project, id PipelineID) ([]*Job, error) {
	var w db.Where
	w.And("s.pipeline_id = ? AND NOT s.retried AND s.kind = 'job'", id)
	w.In("s.status", unsuccessful)
	jobs, err := db.Select[Job](ctx, s.DB, "SELECT "+jobColumns+" FROM "+jobTables+w.SQL()+" ORDER BY s.stage_idx, s.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("jobs to retry: %w", err)
	}
	out := make([]*Job, len(jobs))
	for i := range jobs {
		out[i] = &jobs[i]
	}
	may, err := s.controls(ctx, map[project.ID]*project.Project{p.ID: p}, out)
	return slices.DeleteFunc(out, func(j *Job) bool { return !may[j.ID].WithPipeline }), err
}

// Erase deletes the log and the artifacts of a job that has ended. It requires ErasePipeline, or that the actor
// started the job, and the right to run pipelines of a protected reference.
func (s *Service) Erase(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, error) {
	j, of, err := s.findJob(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	subject := p.Subject()
	subject.Own = as.Owns(j.AuthorID)
	if err := s.Policy.Require(ctx, as, authz.ErasePipeline, subject); err != nil {
		return nil, err
	}
	if err := s.mayChange(ctx, as, p, of); err != nil {
		return nil, err
	}
	return s.change(ctx, as, p, of.ID, id, func(ctx context.Context, j *Job) error {
		if j.Kind != JobKind || !j.State.Complete() {
			return ErrNotErasable
		}
		keys, err := s.dropArtifacts(ctx, id)
		if err != nil {
			return err
		}
		if len(keys) == 0 && j.LogSize == 0 {
			return ErrNotErasable // it has nothing, or not any more
		}
		if j.LogKey != nil {
			keys = append(keys, *j.LogKey)
		}
		if _, err := s.DB.Exec(ctx, "DELETE FROM job_log_pieces WHERE job_id = ?", id); err != nil {
			return fmt.Errorf("delete log: %w", err)
		}
		now, user := db.At(s.Now()), as.UserID
		j.LogKey, j.LogSize, j.ErasedAt, j.ErasedBy = nil, 0, &now, &user
		s.forgetLater(ctx, keys)
		return nil
	})
}

// Delete deletes a pipeline with its jobs, logs and artifacts. It requires DeletePipeline.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, id PipelineID) error {
	if err := s.Policy.Require(ctx, as, authz.DeletePipeline, p.Subject()); err != nil {
		return err
	}
	if _, err := s.Find(ctx, as, p, id); err != nil {
		return err
	}
	return errs.Wrap(s.remove(ctx, as, p, id), "delete pipeline")
}

// remove deletes a pipeline in a transaction, which it opens or joins.
func (s *Service) remove(ctx context.Context, as authz.Actor, p *project.Project, id PipelineID) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		locked, err := s.lock(ctx, id)
		if err != nil {
			return err
		}
		keys, err := db.Select[string](ctx, s.DB, `SELECT a.object_key FROM job_artifacts a JOIN commit_statuses s ON s.id = a.job_id WHERE s.pipeline_id = ?
			UNION ALL SELECT j.log_key FROM jobs j JOIN commit_statuses s ON s.id = j.job_id WHERE s.pipeline_id = ? AND j.log_key IS NOT NULL ORDER BY 1`, id, id)
		if err != nil {
			return fmt.Errorf("objects of pipeline: %w", err)
		}
		if err := s.passOnWithout(ctx, id); err != nil {
			return err
		}
		if _, err := db.Drop(ctx, s.DB, db.Row{Table: "pipelines", ID: id}); err != nil {
			return fmt.Errorf("delete pipeline: %w", err)
		}
		s.forgetLater(ctx, keys)
		if err := s.tellBridges(ctx, locked); err != nil {
			return err
		}
		if err := s.Deps.Jobs.Enqueue(ctx, dropRef{ProjectID: p.ID, PipelineID: id}); err != nil {
			return fmt.Errorf("enqueue end of pipeline: %w", err)
		}
		return s.Bus.Publish(ctx, PipelineDeleted{change.Deleted(as, s.Now(), p.Place(), locked), p})
	})
}

// PipelineDeleted is published when a pipeline was deleted.
type PipelineDeleted struct {
	change.Of[Pipeline]

	Project *project.Project
}
