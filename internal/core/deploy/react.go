package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// Subscribe registers what environments react to.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "deployments", s.onJob)
	event.On(b, "environments of deleted branches", s.onPushed)
}

// onJob lets the deployment of a job follow it, in the job's transaction.
func (s *Service) onJob(ctx context.Context, e ci.JobChanged) error {
	j := e.Row()
	if e.After == nil || !strings.Contains(j.Definition, `"environment":{`) {
		return nil
	}
	c, err := j.Config()
	if err != nil || !deployable(c.Environment) {
		return err
	}
	as := e.By
	switch c.Environment.Action {
	case "", "start":
		if e.Before == nil {
			return s.begin(ctx, as, &e, c.Environment)
		}
		return s.follow(ctx, as, &e, c.Environment)
	case "prepare":
		if e.Before != nil {
			return nil
		}
		_, err = s.ensure(ctx, as, e.Project, configured(e.Project, c.Environment, db.At(s.Now())))
		return public(err)
	case "stop":
		return s.stopped(ctx, as, e.Project, c.Environment.Name, j.State)
	}
	return nil
}

// deployable reports whether a job has an environment that is stored. A name that still has a variable is not for everyone to see.
func deployable(e *ciconfig.Environment) bool {
	return e != nil && ciconfig.EnvironmentName(e.Name) && !strings.Contains(e.Name, "$")
}

// configured is the environment that a job names, as it is made.
func configured(p *project.Project, c *ciconfig.Environment, now db.Time) *Environment {
	e := newEnvironment(p, c.Name, now)
	if slices.Contains(allTiers, Tier(c.Tier)) {
		e.Tier = Tier(c.Tier)
	}
	if c.Namespace != "" && len(c.Namespace) <= maxNamespace {
		e.KubernetesNamespace = &c.Namespace
	}
	return e
}

// stateOf is the state of a deployment whose job has one.
func stateOf(s ci.State) State {
	switch s {
	case ci.Running, ci.Canceling:
		return Running
	case ci.Success:
		return Success
	case ci.Failed:
		return Failed
	case ci.Canceled:
		return Canceled
	case ci.Skipped:
		return Skipped
	case ci.Manual:
		return Blocked
	}
	return Created
}

// begin makes the deployment of a new job.
func (s *Service) begin(ctx context.Context, as authz.Actor, e *ci.JobChanged, c *ciconfig.Environment) error {
	j := e.Row()
	in, err := s.ensure(ctx, as, e.Project, configured(e.Project, c, db.At(s.Now())))
	if err != nil {
		return public(err) // another environment has its slug
	}
	d := &Deployment{UserID: j.AuthorID, JobID: &j.ID, ByJob: true, Ref: j.Ref, Tag: e.Pipeline.Tag, SHA: e.Pipeline.SHA}
	if c.OnStop != "" {
		d.OnStop = &c.OnStop
	}
	d.enter(stateOf(j.State), s.Now())
	return s.insert(ctx, as, e.Project, in, d)
}

// follow gives the deployment of a job the state that the job has now. One that was deleted, alone or with its environment, is not made again.
func (s *Service) follow(ctx context.Context, as authz.Actor, e *ci.JobChanged, c *ciconfig.Environment) error {
	j := e.Row()
	// What is locked is not deleted before the job has ended, and what was deleted is not found.
	ids, err := db.Select[ID](ctx, s.DB, "SELECT d.id FROM deployments d WHERE d.job_id = ? ORDER BY d.id"+s.DB.Dialect().ForUpdate(), j.ID)
	if err != nil {
		return fmt.Errorf("deployment of job: %w", err)
	}
	for _, id := range ids {
		d, err := s.change(ctx, as, e.Project, s.row(e.Project, id), func(d *Deployment) error {
			if to := stateOf(j.State); to != d.State {
				d.enter(to, s.Now())
				d.UserID = j.AuthorID
			}
			return nil
		})
		if err != nil {
			return err
		}
		if d.State == Success {
			if err := s.refresh(ctx, as, e.Project, d, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// refresh gives an environment what the job that deployed to it says of it.
func (s *Service) refresh(ctx context.Context, as authz.Actor, p *project.Project, d *Deployment, c *ciconfig.Environment) error {
	_, err := s.changeEnvironment(ctx, as, p, s.environmentRow(p, d.EnvironmentID), func(_ context.Context, e *Environment) error {
		if after, ok := ciconfig.ParseDuration(c.AutoStopIn); ok && after > 0 {
			at := db.At(s.Now().Add(after))
			e.AutoStopAt = &at
		}
		if slices.Contains(allTiers, Tier(c.Tier)) {
			e.Tier = Tier(c.Tier)
		}
		return nil
	})
	return err
}

// stopped does what follows from a job that stops an environment.
func (s *Service) stopped(ctx context.Context, as authz.Actor, p *project.Project, name string, of ci.State) error {
	if of != ci.Success && of != ci.Failed && of != ci.Canceled {
		return nil
	}
	found, err := s.named(ctx, p, name)
	if err != nil || found == nil {
		return err
	}
	row := s.environmentRow(p, found.ID)
	if _, err := db.ForUpdate[Environment](ctx, s.DB, row); err != nil {
		return public(err) // deleted meanwhile
	}
	_, err = s.changeEnvironment(ctx, as, p, row, func(_ context.Context, e *Environment) error {
		switch {
		case of == ci.Success:
			e.State, e.AutoStopAt = Stopped, nil
		case e.State == Stopping:
			e.State = Available
		}
		return nil
	})
	return err
}

// maxBranches is how many deleted branches one job stops the environments of.
const maxBranches = 1000

// onPushed lets the environments be stopped that were last deployed to from branches that a push has deleted.
func (s *Service) onPushed(ctx context.Context, e repo.Pushed) error {
	var gone []string
	for _, c := range e.Changes {
		if c.Deleted() && c.Ref.IsBranch() {
			gone = append(gone, c.Ref.Short())
		}
	}
	for refs := range slices.Chunk(gone, maxBranches) {
		var w db.Where
		w.And("d.project_id = ? AND NOT d.tag", e.ProjectID)
		w.In("d.ref", refs)
		some, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM deployments d"+w.SQL()+")", w.Args()...)
		if err != nil {
			return fmt.Errorf("deployments of branches: %w", err)
		}
		if !some {
			continue
		}
		if err := s.Jobs.Enqueue(ctx, stopBranches{ProjectID: e.ProjectID, UserID: e.By.UserID, Refs: refs}); err != nil {
			return fmt.Errorf("enqueue stop of environments: %w", err)
		}
	}
	return nil
}

// stopBranches is the job that stops the environments that were last deployed to from branches, after an id.
type stopBranches struct {
	ProjectID project.ID    `json:"project_id"`
	UserID    authz.UserID  `json:"user_id"`
	Refs      []string      `json:"refs"`
	After     EnvironmentID `json:"after,omitempty"`
}

// Kind names the job.
func (stopBranches) Kind() string { return "stop_environments_of_branches" }

func (s *Service) stopBranches(ctx context.Context, args stopBranches) error {
	as, p, err := s.actor(ctx, &args.UserID, args.ProjectID)
	if err != nil || p == nil {
		return err
	}
	var w db.Where
	w.And("e.project_id = ? AND e.id > ? AND e.state = ?", args.ProjectID, args.After, Available)
	marks, refs := db.Marks(args.Refs)
	w.And(`(SELECT CASE WHEN d.tag THEN '' ELSE d.ref END FROM deployments d WHERE d.environment_id = e.id AND d.status = 'success' ORDER BY d.id DESC LIMIT 1) IN (`+marks+")", refs...)
	list, err := db.Select[Environment](ctx, s.DB, "SELECT "+environmentColumns+" FROM environments e"+w.SQL()+" ORDER BY e.id LIMIT ?", append(w.Args(), maxDue)...)
	if err != nil {
		return fmt.Errorf("environments of branches: %w", err)
	}
	args.After, err = s.stopAll(ctx, as, p, list)
	if err != nil || args.After == 0 {
		return err
	}
	return s.Jobs.Enqueue(ctx, args)
}
