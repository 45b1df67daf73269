package ci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

// Gate is asked before jobs use protected environments.
type Gate struct{ s *Service }

// Gate returns the gate of the jobs of a service.
func (s *Service) Gate() Gate { return Gate{s} }

// startable finds a job that the actor may play or retry. Where its environment is protected the rules of the environment decide, whatever the
// reference and whatever the job does there: they admit Reporters whom they name. Elsewhere it requires UpdatePipeline, and the right to run pipelines
// of a protected reference.
func (g Gate) startable(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Job, *Pipeline, error) {
	refused := g.s.Policy.Require(ctx, as, authz.UpdatePipeline, p.Subject())
	if refused != nil {
		may, err := g.s.Policy.Can(ctx, as, authz.RunDeployment, p.Subject())
		if err != nil || !may || !errs.Is(refused, errs.Forbidden) {
			return nil, nil, cmp.Or(err, refused)
		}
	}
	j, of, err := g.s.unarchived(ctx, as, p, id)
	if err != nil {
		return nil, nil, cmp.Or(refused, err)
	}
	protected, may, err := g.mayStart(ctx, as, p, j)
	switch {
	case err != nil:
		return nil, nil, err
	case protected && !may:
		return nil, nil, errs.Denied("")
	case protected:
		return j, of, nil
	case refused != nil:
		return nil, nil, refused
	}
	return j, of, g.s.mayChange(ctx, as, p, of)
}

// mayStart reports whether the environment of a job is protected, and whether the actor may deploy to it.
func (g Gate) mayStart(ctx context.Context, as authz.Actor, p *project.Project, j *Job) (protected, may bool, err error) {
	c, err := j.Config()
	if err != nil || c.Environment == nil {
		return false, false, err
	}
	rules, err := g.s.Protections.EnvironmentRules(ctx, p, c.Environment.Name, EnvironmentTier(c.Environment.Name))
	if err != nil || len(rules) == 0 {
		return false, false, err
	}
	may, err = g.s.Protections.Lets(ctx, as, p, rules)
	return true, may, err
}

// unapproved reports whether a job deploys, and its deployment still waits for approvals. Jobs that stop, prepare or look at an environment need none.
func (g Gate) unapproved(ctx context.Context, p *project.Project, j *Job, e *ciconfig.Environment) (bool, error) {
	if e == nil || !e.Starts() {
		return false, nil
	}
	rules, err := g.s.Protections.EnvironmentRules(ctx, p, e.Name, EnvironmentTier(e.Name))
	if err != nil {
		return false, err
	}
	return g.awaits(ctx, j, e, rules)
}

// awaits is unapproved for the rules that protect the environment.
func (g Gate) awaits(ctx context.Context, j *Job, e *ciconfig.Environment, rules []protection.ProtectedEnvironment) (bool, error) {
	if !e.Starts() || !protection.NeedsApproval(rules) {
		return false, nil
	}
	approved, err := db.Get[bool](ctx, g.s.DB, "SELECT EXISTS (SELECT 1 FROM deployments d WHERE d.job_id = ? AND d.approved)", j.ID)
	if err != nil {
		return false, fmt.Errorf("approval of deployment: %w", err)
	}
	return !approved, nil
}

// barred reports whether the user who started a job may not deploy to an environment, or the deployment is not approved. It is asked when a runner
// takes the job, however the job came to be, with the name that the environment has then.
func (g Gate) barred(ctx context.Context, p *project.Project, j *Job, e *ciconfig.Environment) (bool, error) {
	if e == nil {
		return false, nil
	}
	as := authz.Actor{}
	if j.AuthorID != nil {
		admin, err := db.Get[bool](ctx, g.s.DB, "SELECT u.admin FROM users u WHERE u.id = ?", *j.AuthorID)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return false, fmt.Errorf("user of job: %w", err)
		}
		as = authz.Actor{UserID: *j.AuthorID, Admin: admin}
	}
	rules, err := g.s.Protections.EnvironmentRules(ctx, p, e.Name, EnvironmentTier(e.Name))
	if err != nil {
		return true, err
	}
	may, err := g.s.Protections.Lets(ctx, as, p, rules)
	if err != nil || !may {
		return true, err
	}
	if barred, err := g.moves(ctx, as, p, e, rules); err != nil || barred {
		return true, err
	}
	return g.awaits(ctx, j, e, rules)
}

// moves reports whether a job would give its environment a tier that more rules protect than the environment has, where these do not let the actor deploy
// or ask for approvals.
func (g Gate) moves(ctx context.Context, as authz.Actor, p *project.Project, e *ciconfig.Environment, rules []protection.ProtectedEnvironment) (bool, error) {
	if e.Tier == "" || !e.Starts() {
		return false, nil
	}
	more, err := g.s.Protections.TierRules(ctx, p, e.Tier)
	if err != nil {
		return true, err
	}
	more = slices.DeleteFunc(more, func(r protection.ProtectedEnvironment) bool {
		return slices.ContainsFunc(rules, func(has protection.ProtectedEnvironment) bool { return has.ID == r.ID })
	})
	may, err := g.s.Protections.Lets(ctx, as, p, more)
	return !may || protection.NeedsApproval(more), err
}

// awaitApprovals lets the jobs of a plan that would start wait for approvals instead.
func (g Gate) awaitApprovals(ctx context.Context, p *project.Project, plan *plan) error {
	for _, st := range plan.steps {
		if !st.entered || st.Environment == nil || st.State != Pending && st.State != WaitingForResource && st.State != Scheduled {
			continue
		}
		j, err := g.s.loadJob(ctx, st.ID)
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
		held, err := g.unapproved(ctx, p, j, c.Environment)
		if err != nil {
			return err
		}
		if held {
			st.enter(Manual, g.s.Now())
		}
	}
	return nil
}

// Approve starts a job whose deployment was approved, unless it is manual by its configuration. It asks for no permission, and needs the transaction
// of the approval.
func (g Gate) Approve(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) error {
	return g.decided(ctx, as, p, id, func(j *Job) {
		if j.When != "manual" {
			j.enter(j.ready(), g.s.Now())
		}
	})
}

// Reject ends a job whose deployment was rejected. It asks for no permission, and needs the transaction of the rejection.
func (g Gate) Reject(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) error {
	return g.decided(ctx, as, p, id, func(j *Job) {
		j.FailureReason = new(string(DeploymentRejected))
		j.enter(Failed, g.s.Now())
	})
}

// decided changes a job that waits for a user.
func (g Gate) decided(ctx context.Context, as authz.Actor, p *project.Project, id StatusID, change func(j *Job)) error {
	j, err := g.s.loadJob(ctx, id)
	if err != nil {
		return err
	}
	locked, err := g.s.lock(ctx, j.PipelineID)
	if err != nil {
		return err
	}
	out, err := g.s.changeLocked(ctx, as, p, locked, id, func(_ context.Context, j *Job) error {
		if j.State == Manual {
			change(j)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if out.State == Pending || out.State == WaitingForResource {
		if err := g.s.queue(ctx, locked, id, out.State); err != nil {
			return err
		}
		if err := g.s.reopen(ctx, as, p, locked, out); err != nil {
			return err
		}
	}
	return g.s.advance(ctx, as, p, locked)
}

// LockJob locks the pipeline of a job until the transaction ends.
func (g Gate) LockJob(ctx context.Context, id StatusID) error {
	j, err := g.s.loadJob(ctx, id)
	if err == nil {
		_, err = g.s.lock(ctx, j.PipelineID)
	}
	return err
}
