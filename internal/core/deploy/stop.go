package deploy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

const (
	dueEvery              = time.Minute
	maxDue                = 500 // environments that one job looks at
	staleLeast, staleMost = 7 * 24 * time.Hour, 10 * 365 * 24 * time.Hour
	keepReviewApps        = 7 * 24 * time.Hour // from the call that deletes them
	maxReviewApps         = 1000
)

// StopOptions are how an environment is stopped.
type StopOptions struct {
	Force bool // without the job that its last deployment names
}

// Stop stops an environment: by the job that its last deployment names for it, or at once where there is none. One that is not available stays
// as it is. It requires StopEnvironment, and where a job runs the right to run it.
func (s *Service) Stop(ctx context.Context, as authz.Actor, p *project.Project, id EnvironmentID, o StopOptions) (*Environment, error) {
	if err := s.Policy.Require(ctx, as, authz.StopEnvironment, subject(p)); err != nil {
		return nil, err
	}
	e, err := s.findEnvironment(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return s.stop(ctx, as, p, e, o)
}

// stop is Stop for an environment that the caller has read, and asks for no permission but that of a protected environment and that to run the job.
func (s *Service) stop(ctx context.Context, as authz.Actor, p *project.Project, e *Environment, o StopOptions) (*Environment, error) {
	if err := s.mayDeploy(ctx, as, p, e.Name); err != nil {
		return nil, err
	}
	if e.State == Stopped || e.State == Stopping && !o.Force {
		return e, nil
	}
	if o.Force {
		return s.enter(ctx, as, p, e.ID, Stopped)
	}
	by, err := s.stopJob(ctx, e)
	if err != nil {
		return nil, err
	}
	var out *Environment
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = s.stopOnce(ctx, as, p, e.ID, by)
		return err
	})
	if err != nil {
		return nil, errs.Wrap(err, "stop environment")
	}
	return out, nil
}

// stopOnce stops an environment by the job that was found for it, unless another call was first. The pipeline is locked before the environment, as by
// whatever changes a job, and the job is looked for again.
func (s *Service) stopOnce(ctx context.Context, as authz.Actor, p *project.Project, id EnvironmentID, by *stopper) (*Environment, error) {
	if by != nil {
		if err := s.CI.Gate().LockJob(ctx, by.ID); err != nil && !errors.Is(err, db.ErrNotFound) {
			return nil, err
		}
	}
	e, err := db.ForUpdate[Environment](ctx, s.DB, s.environmentRow(p, id))
	if err != nil || e.State != Available {
		return &e, err
	}
	if by, err = s.stopJob(ctx, &e); err != nil {
		return nil, err
	}
	if by == nil {
		return s.enter(ctx, as, p, id, Stopped)
	}
	if err := s.play(ctx, as, p, by); err != nil {
		return nil, err
	}
	return s.enter(ctx, as, p, id, Stopping)
}

// stopper is the job that stops an environment.
type stopper struct {
	ID    ci.StatusID `db:"id"`
	State ci.State    `db:"status"`
}

// stopJob returns the job that the last deployment to an environment names for stopping it, nil where there is none that may run.
func (s *Service) stopJob(ctx context.Context, e *Environment) (*stopper, error) {
	d, err := s.last(ctx, e.ID)
	if err != nil || d == nil || d.OnStop == nil || d.JobID == nil {
		return nil, err
	}
	list, err := db.Select[stopper](ctx, s.DB, `SELECT s.id, s.status FROM commit_statuses s JOIN commit_statuses d ON d.pipeline_id = s.pipeline_id
		WHERE d.id = ? AND s.name = ? AND s.kind = 'job' AND NOT s.retried ORDER BY s.id DESC LIMIT 1`, *d.JobID, *d.OnStop)
	if err != nil {
		return nil, fmt.Errorf("find stopping job: %w", err)
	}
	if len(list) == 0 || !list[0].State.Complete() && list[0].State != ci.Manual {
		return nil, nil
	}
	return &list[0], nil
}

func (s *Service) play(ctx context.Context, as authz.Actor, p *project.Project, by *stopper) error {
	if by.State == ci.Manual {
		_, err := s.CI.PlayJob(ctx, as, p, by.ID, nil)
		return err
	}
	_, err := s.CI.RetryJob(ctx, as, p, by.ID)
	return err
}

// enter gives an environment a state.
func (s *Service) enter(ctx context.Context, as authz.Actor, p *project.Project, id EnvironmentID, to EnvironmentState) (*Environment, error) {
	out, err := s.changeEnvironment(ctx, as, p, s.environmentRow(p, id), func(_ context.Context, e *Environment) error {
		e.State, e.AutoStopAt = to, nil
		return nil
	})
	return out, errs.Wrap(err, "stop environment")
}

// StopStale lets the environments of a project that were last deployed to before a time be stopped by a job; so are those that nothing was
// deployed to and that were changed before it. It requires StopEnvironment.
func (s *Service) StopStale(ctx context.Context, as authz.Actor, p *project.Project, before time.Time) error {
	if err := s.Policy.Require(ctx, as, authz.StopEnvironment, subject(p)); err != nil {
		return err
	}
	if now := s.Now(); before.After(now.Add(-staleLeast)) || before.Before(now.Add(-staleMost)) {
		return errs.Bad("Invalid Date")
	}
	if err := s.Jobs.Enqueue(ctx, stopStale{ProjectID: p.ID, UserID: as.UserID, Before: before}); err != nil {
		return fmt.Errorf("enqueue stop of stale environments: %w", err)
	}
	return nil
}

// stopStale is the job that stops environments of a project, after an id.
type stopStale struct {
	ProjectID project.ID    `json:"project_id"`
	UserID    authz.UserID  `json:"user_id"`
	Before    time.Time     `json:"before"`
	After     EnvironmentID `json:"after"`
}

// Kind names the job.
func (stopStale) Kind() string { return "stop_stale_environments" }

func (s *Service) stopStale(ctx context.Context, args stopStale) error {
	as, p, err := s.actor(ctx, &args.UserID, args.ProjectID)
	if err != nil || p == nil {
		return err
	}
	list, err := db.Select[Environment](ctx, s.DB, "SELECT "+environmentColumns+` FROM environments e WHERE e.project_id = ? AND e.id > ? AND e.state = ?
		AND COALESCE((SELECT MAX(d.updated_at) FROM deployments d WHERE d.environment_id = e.id), e.updated_at) < ? ORDER BY e.id LIMIT ?`,
		args.ProjectID, args.After, Available, db.At(args.Before), maxDue)
	if err != nil {
		return fmt.Errorf("find stale environments: %w", err)
	}
	args.After, err = s.stopAll(ctx, as, p, list)
	if err != nil || args.After == 0 {
		return err
	}
	return s.Jobs.Enqueue(ctx, args)
}

// stopAll stops the environments that a job has found, at most maxDue. It returns the last one where there may be more, else 0.
func (s *Service) stopAll(ctx context.Context, as authz.Actor, p *project.Project, list []Environment) (EnvironmentID, error) {
	for i := range list {
		if err := s.stopByItself(ctx, as, p, &list[i]); err != nil {
			return 0, err
		}
	}
	if len(list) < maxDue {
		return 0, nil
	}
	return list[len(list)-1].ID, nil
}

// stopByItself stops an environment in the background: it logs why the user may not.
func (s *Service) stopByItself(ctx context.Context, as authz.Actor, p *project.Project, e *Environment) error {
	if e.AutoStopSetting == StopWithAction {
		by, err := s.stopJob(ctx, e)
		if err != nil || by == nil {
			return err
		}
	}
	_, err := s.stop(ctx, as, p, e, StopOptions{})
	if err != nil && errs.KindOf(err) != errs.Internal {
		s.Log.InfoContext(ctx, "environment was not stopped", "environment_id", e.ID, "error", err)
		return nil
	}
	return err
}

// actor returns a user who may stop environments of a project, and the project; nil for a user who may not, and for a project that is not written to.
func (s *Service) actor(ctx context.Context, user *authz.UserID, id project.ID) (authz.Actor, *project.Project, error) {
	if user == nil {
		return authz.Actor{}, nil, nil
	}
	as, err := s.Accounts.StandIn(ctx, strconv.FormatInt(int64(*user), 10))
	if err != nil {
		return as, nil, public(err)
	}
	p, err := s.Projects.FindByID(ctx, as, id)
	if err != nil {
		return as, nil, public(err)
	}
	may, err := s.Policy.Can(ctx, as, authz.StopEnvironment, subject(p))
	if err != nil || !may {
		return as, nil, err
	}
	return as, p, nil
}

// public leaves out errors that a client may read.
func public(err error) error {
	if errs.KindOf(err) != errs.Internal {
		return nil
	}
	return err
}

// Due is the job that stops environments whose time has come, and deletes those that were marked for it.
type Due struct{}

// Kind names the job.
func (Due) Kind() string { return "stop_due_environments" }

// RegisterJobs says how environments are stopped and deleted, and what follows a deployment.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.StopDue, job.Unique(), job.Timeout(5*time.Minute))
	job.Every(r, dueEvery, Due{})
	job.Register(r, s.stopStale, job.Attempts(5), job.Timeout(5*time.Minute))
	job.Register(r, s.stopBranches, job.Attempts(5), job.Timeout(5*time.Minute))
	job.Register(r, s.Backfill, job.On(job.Maintenance), job.Unique(), job.Timeout(5*time.Minute))
	job.Every(r, time.Hour, Backfill{}) // at the start it begins, then it goes on by itself
	job.Register(r, s.ship, job.Attempts(10), job.Timeout(5*time.Minute))
	job.Register(r, s.keepCommit, job.Attempts(10), job.Timeout(time.Minute))
	job.Register(r, s.dropCommit, job.Attempts(5), job.Timeout(5*time.Minute))
}

// StopDue stops the environments whose time has come as the user who deployed last, and deletes the stopped ones that were marked for it.
func (s *Service) StopDue(ctx context.Context, _ Due) error {
	now := db.At(s.Now())
	list, err := db.Select[Environment](ctx, s.DB, "SELECT "+environmentColumns+" FROM environments e WHERE e.auto_stop_at <= ? ORDER BY e.auto_stop_at, e.id LIMIT ?", now, maxDue)
	if err != nil {
		return fmt.Errorf("find due environments: %w", err)
	}
	for i := range list {
		if err := s.stopDue(ctx, &list[i]); err != nil {
			return err
		}
	}
	list, err = db.Select[Environment](ctx, s.DB, "SELECT "+environmentColumns+" FROM environments e WHERE e.auto_delete_at <= ? ORDER BY e.auto_delete_at, e.id LIMIT ?", now, maxDue)
	if err != nil {
		return fmt.Errorf("find environments to delete: %w", err)
	}
	for i := range list {
		if err := s.deleteDue(ctx, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) stopDue(ctx context.Context, e *Environment) error {
	d, err := s.last(ctx, e.ID)
	if err != nil {
		return err
	}
	var user *authz.UserID
	if d != nil {
		user = d.UserID
	}
	as, p, err := s.actor(ctx, user, e.ProjectID)
	if err != nil {
		return err
	}
	if p != nil {
		if err := s.stopByItself(ctx, as, p, e); err != nil {
			return err
		}
	}
	return s.unmark(ctx, e, func(e *Environment) { e.AutoStopAt = nil })
}

// unmark takes back what a job was to do with an environment and has tried.
func (s *Service) unmark(ctx context.Context, e *Environment, reset func(e *Environment)) error {
	p, err := s.load(ctx, e.ProjectID)
	if err != nil || p == nil {
		return err
	}
	_, err = s.changeEnvironment(ctx, authz.System(), p, s.environmentRow(p, e.ID), func(_ context.Context, e *Environment) error {
		reset(e)
		return nil
	})
	return public(err)
}

func (s *Service) load(ctx context.Context, id project.ID) (*project.Project, error) {
	found, err := s.Projects.Load(ctx, []project.ID{id})
	return found[id], err
}

func (s *Service) deleteDue(ctx context.Context, e *Environment) error {
	p, err := s.load(ctx, e.ProjectID)
	if err != nil || p == nil {
		return err
	}
	if e.State != Stopped || p.Archived || p.PendingDelete {
		return s.unmark(ctx, e, func(e *Environment) { e.AutoDeleteAt = nil })
	}
	err = s.removeEnvironment(ctx, authz.System(), p, s.environmentRow(p, e.ID))
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	return public(err)
}

// ReviewApps says which review apps are deleted.
type ReviewApps struct {
	Before time.Time // stopped ones that were made before it; zero is 30 days ago
	Limit  int       // the oldest of them
	DryRun bool      // delete none
}

// ReviewAppResult is what became of review apps: those that will be deleted, and those that cannot be.
type ReviewAppResult struct {
	Scheduled, Unprocessable []Environment
}

// DeleteReviewApps lets stopped environments of the folder review be deleted a week later. It requires DestroyEnvironment.
func (s *Service) DeleteReviewApps(ctx context.Context, as authz.Actor, p *project.Project, r ReviewApps) (*ReviewAppResult, error) {
	if err := s.Policy.Require(ctx, as, authz.DestroyEnvironment, subject(p)); err != nil {
		return nil, err
	}
	if r.Before.IsZero() {
		r.Before = s.Now().Add(-30 * 24 * time.Hour)
	}
	at, out := db.At(s.Now().Add(keepReviewApps)), &ReviewAppResult{}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		list, err := db.Select[Environment](ctx, s.DB, "SELECT "+environmentColumns+` FROM environments e WHERE e.project_id = ? AND e.environment_type = 'review'
			AND e.state = ? AND e.auto_delete_at IS NULL AND e.created_at < ? ORDER BY e.created_at, e.id LIMIT ?`, p.ID, Stopped, db.At(r.Before), min(max(r.Limit, 1), maxReviewApps))
		if err != nil {
			return err
		}
		out.Scheduled = list
		if r.DryRun || len(list) == 0 {
			return nil
		}
		ids := make([]EnvironmentID, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		marks, args := db.Marks(ids)
		if _, err = s.DB.Exec(ctx, "UPDATE environments SET auto_delete_at = ? WHERE id IN ("+marks+")", append([]any{at}, args...)...); err != nil {
			return err
		}
		for i := range list {
			after := list[i]
			after.AutoDeleteAt = &at
			if err := s.Bus.Publish(ctx, updatedEnvironment(as, s.Now(), p, &list[i], &after)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errs.Wrap(err, "delete review apps")
	}
	return out, nil
}
