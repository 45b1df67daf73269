package ci

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

// requireDeploy refuses actors who may not deploy to the environment of a job, whatever the job does there.
func (s *Service) requireDeploy(ctx context.Context, as authz.Actor, p *project.Project, j *Job) error {
	c, err := j.Config()
	if err != nil || c.Environment == nil {
		return err
	}
	may, err := s.Protections.MayDeploy(ctx, as, p, c.Environment.Name, EnvironmentTier(c.Environment.Name))
	if err == nil && !may {
		err = errs.Denied("")
	}
	return err
}

// unapproved reports whether a job deploys, and its deployment still waits for approvals. Jobs that stop, prepare or look at an environment need none.
func (s *Service) unapproved(ctx context.Context, p *project.Project, j *Job, e *ciconfig.Environment) (bool, error) {
	if e == nil || e.Action != "" && e.Action != "start" {
		return false, nil
	}
	rules, err := s.Protections.EnvironmentRules(ctx, p, e.Name, EnvironmentTier(e.Name))
	if err != nil || !protection.NeedsApproval(rules) {
		return false, err
	}
	approved, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM deployments d WHERE d.job_id = ? AND d.approved)", j.ID)
	if err != nil {
		return false, fmt.Errorf("approval of deployment: %w", err)
	}
	return !approved, nil
}

// barred reports whether the user who started a job may not deploy to an environment, or the deployment is not approved. It is asked when a runner
// takes the job, however the job came to be, with the name that the environment has then.
func (s *Service) barred(ctx context.Context, p *project.Project, j *Job, e *ciconfig.Environment) (bool, error) {
	if e == nil {
		return false, nil
	}
	as := authz.Actor{}
	if j.AuthorID != nil {
		admin, err := db.Get[bool](ctx, s.DB, "SELECT u.admin FROM users u WHERE u.id = ?", *j.AuthorID)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return false, fmt.Errorf("user of job: %w", err)
		}
		as = authz.Actor{UserID: *j.AuthorID, Admin: admin}
	}
	may, err := s.Protections.MayDeploy(ctx, as, p, e.Name, EnvironmentTier(e.Name))
	if err != nil || !may {
		return true, err
	}
	return s.unapproved(ctx, p, j, e)
}

// awaitApprovals lets the jobs of a plan that would start wait for approvals instead.
func (s *Service) awaitApprovals(ctx context.Context, p *project.Project, plan *plan) error {
	for _, st := range plan.steps {
		if !st.entered || st.Environment == nil || st.State != Pending && st.State != WaitingForResource && st.State != Scheduled {
			continue
		}
		j, err := s.loadJob(ctx, st.ID)
		if errors.Is(err, db.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		c, err := j.Config()
		if err != nil {
			return err
		}
		held, err := s.unapproved(ctx, p, j, c.Environment)
		if err != nil {
			return err
		}
		if held {
			st.enter(Manual, s.Now())
		}
	}
	return nil
}

// Approve starts a job whose deployment was approved, unless it is manual by its configuration. It asks for no permission, and needs the transaction
// of the approval.
func (s *Service) Approve(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) error {
	return s.decided(ctx, as, p, id, func(j *Job) {
		if j.When != "manual" {
			j.enter(j.ready(), s.Now())
		}
	})
}

// Reject ends a job whose deployment was rejected. It asks for no permission, and needs the transaction of the rejection.
func (s *Service) Reject(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) error {
	return s.decided(ctx, as, p, id, func(j *Job) {
		j.FailureReason = new(string(DeploymentRejected))
		j.enter(Failed, s.Now())
	})
}

// decided changes a job that waits for a user.
func (s *Service) decided(ctx context.Context, as authz.Actor, p *project.Project, id StatusID, change func(j *Job)) error {
	j, err := s.loadJob(ctx, id)
	if err != nil {
		return err
	}
	locked, err := s.lock(ctx, j.PipelineID)
	if err != nil {
		return err
	}
	out, err := s.changeLocked(ctx, as, p, locked, id, func(_ context.Context, j *Job) error {
		if j.State == Manual {
			change(j)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if out.State == Pending || out.State == WaitingForResource {
		if err := s.queue(ctx, locked, id, out.State); err != nil {
			return err
		}
		if err := s.reopen(ctx, as, p, locked, out); err != nil {
			return err
		}
	}
	return s.advance(ctx, as, p, locked)
}

// LockJob locks the pipeline of a job until the transaction ends.
func (s *Service) LockJob(ctx context.Context, id StatusID) error {
	j, err := s.loadJob(ctx, id)
	if err == nil {
		_, err = s.lock(ctx, j.PipelineID)
	}
	return err
}
