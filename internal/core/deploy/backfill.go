package deploy

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

const (
	backfillJobs  = 200   // that one transaction makes deployments of
	backfillRange = 5_000 // ids of jobs that one transaction looks at
	backfillMost  = 500   // transactions of one run
)

// Backfill makes deployments of the jobs that had environments before there were deployments.
type Backfill struct{}

// Kind names the job.
func (Backfill) Kind() string { return "backfill_deployments" }

// progress is how far the backfill is; there is no row once it has ended.
type progress struct {
	ID    int64 `db:"id"`
	After ID    `db:"after_id"` // the last job that was looked at
	Last  ID    `db:"last_id"`  // of the jobs that were there when it began
}

func (s *Service) progress(ctx context.Context) (*progress, error) {
	list, err := db.Select[progress](ctx, s.DB, "SELECT b.id, b.after_id, b.last_id FROM deployment_backfills b ORDER BY b.id LIMIT 1")
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// Backfill goes on with the backfill, in steps of one transaction each. It publishes no event of a deployment: webhooks are not called for what has happened
// long ago.
func (s *Service) Backfill(ctx context.Context, _ Backfill) error {
	for range backfillMost {
		more := false
		err := s.DB.InTx(ctx, func(ctx context.Context) error {
			if err := s.DB.Lock(ctx, "backfill of deployments"); err != nil {
				return err
			}
			at, err := s.progress(ctx)
			if err != nil || at == nil {
				return err
			}
			more = true
			return s.backfill(ctx, at)
		})
		if err != nil {
			return fmt.Errorf("make deployments of earlier jobs: %w", err)
		}
		if !more {
			return nil
		}
	}
	return s.Jobs.Enqueue(ctx, Backfill{})
}

// earlier is a job that had an environment before there were deployments.
type earlier struct {
	ID         ci.StatusID   `db:"id"`
	ProjectID  project.ID    `db:"project_id"`
	State      ci.State      `db:"status"`
	Ref        string        `db:"ref"`
	Tag        bool          `db:"tag"`
	SHA        string        `db:"sha"`
	AuthorID   *authz.UserID `db:"author_id"`
	CreatedAt  db.Time       `db:"created_at"`
	UpdatedAt  db.Time       `db:"updated_at"`
	FinishedAt *db.Time      `db:"finished_at"`
	Deploys    bool          `db:"deploys"` // its number is reserved
	Definition string        `db:"definition"`
}

// earlier reads the next jobs, and reports how far it has looked. Jobs that may still change are locked first, as by whatever changes a job.
func (s *Service) earlier(ctx context.Context, at *progress) ([]earlier, ID, error) {
	const tables = " FROM commit_statuses s JOIN jobs j ON j.job_id = s.id JOIN pipelines p ON p.id = s.pipeline_id"
	end := min(at.Last, at.After+backfillRange)
	var w db.Where
	w.And("s.id > ? AND s.id <= ?", at.After, end)
	w.And("(s.environment IS NOT NULL OR j.definition LIKE ?)", `%"environment":{%`)
	ids, err := db.Select[ci.StatusID](ctx, s.DB, "SELECT s.id"+tables+w.SQL()+" ORDER BY s.id LIMIT ?", append(w.Args(), backfillJobs)...)
	if err != nil || len(ids) == 0 {
		return nil, end, err
	}
	if len(ids) == backfillJobs {
		end = ID(ids[len(ids)-1])
	}
	var of db.Where
	of.In("s.id", ids)
	open, err := db.Select[ci.StatusID](ctx, s.DB, "SELECT s.id"+tables+of.SQL()+" AND s.finished_at IS NULL ORDER BY s.pipeline_id, s.id", of.Args()...)
	if err != nil {
		return nil, end, err
	}
	for _, id := range open {
		if err := s.CI.Gate().LockJob(ctx, id); err != nil {
			return nil, end, err
		}
	}
	list, err := db.Select[earlier](ctx, s.DB, `SELECT s.id, s.project_id, s.status, s.ref, s.author_id, s.created_at, s.updated_at, s.finished_at, s.environment IS NOT NULL AS deploys, p.tag, p.sha, j.definition`+
		tables+of.SQL()+" ORDER BY s.id", of.Args()...)
	return list, end, err
}

// backfill makes the deployments of the next jobs.
func (s *Service) backfill(ctx context.Context, at *progress) error {
	jobs, end, err := s.earlier(ctx, at)
	if err != nil {
		return err
	}
	ids := make([]project.ID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ProjectID
	}
	projects, err := s.Projects.Load(ctx, ids)
	if err != nil {
		return err
	}
	b := &backfiller{Service: s, iids: map[project.ID]int64{}, last: at.Last}
	for i := range jobs {
		if p := projects[jobs[i].ProjectID]; p != nil {
			if err := b.add(ctx, p, &jobs[i]); err != nil {
				return err
			}
		}
	}
	if err := b.store(ctx); err != nil {
		return err
	}
	row := db.Row{Table: "deployment_backfills", ID: at.ID}
	if end >= at.Last {
		_, err = db.Drop(ctx, s.DB, row)
		return err
	}
	_, err = db.Update(ctx, s.DB, row, func(_ context.Context, row *progress) error {
		row.After = end
		return nil
	})
	return err
}

// backfiller collects the deployments of one step.
type backfiller struct {
	*Service

	rows []Deployment
	iids map[project.ID]int64 // the last number of each project
	last ID
}

// add makes the deployment of a job, and gives its environment the state that the job left behind.
func (b *backfiller) add(ctx context.Context, p *project.Project, j *earlier) error {
	c, err := (&ci.Build{JobID: j.ID, Definition: j.Definition}).Config()
	if err != nil || !deployable(c.Environment) {
		return err
	}
	switch {
	case c.Environment.Starts() || c.Environment.Action == "prepare":
	case c.Environment.Action == "stop" && j.State == ci.Success:
		found, err := b.named(ctx, p, c.Environment.Name)
		if err != nil || found == nil {
			return err
		}
		return b.left(ctx, p, found, Stopped)
	default:
		return nil
	}
	e, err := b.ensure(ctx, authz.System(), p, configured(p, c.Environment, j.CreatedAt))
	if err != nil || !c.Environment.Starts() || !j.Deploys {
		return public(err)
	}
	d := Deployment{
		ID: ID(j.ID), ProjectID: p.ID, EnvironmentID: e.ID, UserID: j.AuthorID, JobID: &j.ID, ByJob: true, Ref: j.Ref, Tag: j.Tag, SHA: j.SHA, State: stateOf(j.State),
		CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
	}
	if d.State.Complete() {
		if d.FinishedAt = j.FinishedAt; d.FinishedAt == nil {
			d.FinishedAt = &d.UpdatedAt
		}
	}
	if c.Environment.OnStop != "" {
		d.OnStop = &c.Environment.OnStop
	}
	if b.iids[p.ID] == 0 {
		if b.iids[p.ID], err = db.Get[int64](ctx, b.DB, "SELECT COALESCE(MAX(d.iid), 0) FROM deployments d WHERE d.project_id = ? AND d.id <= ?", p.ID, b.last); err != nil {
			return fmt.Errorf("number of deployment: %w", err)
		}
	}
	b.iids[p.ID]++
	d.IID = b.iids[p.ID]
	b.rows = append(b.rows, d)
	if d.State == Success {
		return b.left(ctx, p, e, Available)
	}
	return nil
}

// left gives an environment a state, unless it was deployed to since.
func (b *backfiller) left(ctx context.Context, p *project.Project, e *Environment, to EnvironmentState) error {
	if e.State == to {
		return nil
	}
	later, err := db.Get[bool](ctx, b.DB, "SELECT EXISTS (SELECT 1 FROM deployments d WHERE d.environment_id = ? AND d.id > ?)", e.ID, b.last)
	if err != nil || later {
		return err
	}
	_, err = b.changeEnvironment(ctx, authz.System(), p, b.environmentRow(p, e.ID), func(_ context.Context, e *Environment) error {
		e.State = to
		return nil
	})
	return err
}

// store writes the deployments. Jobs keep their commits, and link those that succeeded with what they shipped.
func (b *backfiller) store(ctx context.Context) error {
	if err := db.InsertRows(ctx, b.DB, "deployments", b.rows, ""); err != nil {
		return err
	}
	for i := range b.rows {
		d := &b.rows[i]
		if d.State != Success {
			continue
		}
		if err := b.Bus.Publish(ctx, Linked{authz.System().Stamp(b.Now()), d.ProjectID, *d.FinishedAt}); err != nil {
			return err
		}
		if err := b.Jobs.Enqueue(ctx, keepCommit{ID: d.ID}); err != nil {
			return fmt.Errorf("enqueue reference of deployment: %w", err)
		}
		if err := b.Jobs.Enqueue(ctx, ship{ID: d.ID}); err != nil {
			return fmt.Errorf("enqueue links of deployment: %w", err)
		}
	}
	return nil
}

// behind reports whether deployments before one are not made yet, so that what it shipped is not known.
func (s *Service) behind(ctx context.Context, d *Deployment) (bool, error) {
	at, err := s.progress(ctx)
	return err == nil && at != nil && d.ID > at.Last, err
}
