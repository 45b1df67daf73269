package ci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
)

// write stores the pipeline with its jobs and starts it.
func (d *draft) write(ctx context.Context) (*Pipeline, error) {
	if err := d.persist(ctx); err != nil {
		if over, ok := errors.AsType[*overPlan](err); ok {
			return d.exceeded(ctx, over)
		}
		return nil, err
	}
	d.cancelOlder(ctx)
	return d.row, nil
}

func (d *draft) persist(ctx context.Context) error {
	if d.made != nil && d.made.Name != "" {
		d.row.Name = &d.made.Name
	}
	if d.made != nil && d.made.AutoCancel.OnNewCommit != "" {
		d.row.AutoCancel = d.made.AutoCancel.OnNewCommit
	}
	d.row.CancelOnFailure = d.made != nil && d.made.AutoCancel.OnJobFailure == "all"
	if err := d.Repos.KeepAround(ctx, d.project, d.commit.ID); err != nil {
		return err
	}
	if err := d.define(); err != nil {
		return err
	}
	state, first := d.row.State, *d.row
	err := d.DB.InTx(ctx, func(ctx context.Context) error {
		*d.row = first
		iid, err := namespace.NextIID(ctx, d.DB, d.project.NamespaceID, namespace.KindPipeline)
		if err != nil {
			return fmt.Errorf("number pipeline: %w", err)
		}
		d.row.IID = iid
		if state == Created {
			if err := d.fits(ctx); err != nil {
				return err
			}
		}
		if err := db.Create(ctx, d.DB, "pipelines", d.row); err != nil {
			return fmt.Errorf("write pipeline: %w", err)
		}
		if err := d.keepPipelineVariables(ctx, d.row.ID, d.in.Variables); err != nil {
			return err
		}
		if err := d.keepMergeRequest(ctx, d.row.ID, d.in.MergeRequest); err != nil {
			return err
		}
		if err := d.publish(ctx, PipelineChanged{change.Created(d.as, d.Now(), d.project.Place(), d.row), d.project}); err != nil {
			return err
		}
		if state != Created {
			return nil
		}
		if err := d.writeJobs(ctx); err != nil {
			return err
		}
		return d.advance(ctx, d.as, d.project, d.row)
	})
	if err != nil {
		return errs.Wrap(err, "create pipeline")
	}
	return nil
}

// define writes down what the configuration says of each job.
func (d *draft) define() error {
	if d.made == nil {
		return nil
	}
	d.definitions = make([]string, len(d.made.Jobs))
	for i := range d.made.Jobs {
		text, err := json.Marshal(&d.made.Jobs[i])
		if err != nil {
			return fmt.Errorf("definition of job: %w", err)
		}
		d.definitions[i] = string(text)
	}
	return nil
}

// writeJobs writes the jobs that the configuration makes.
func (d *draft) writeJobs(ctx context.Context) error {
	set := d.project.Settings()
	now, user := db.At(d.Now()), d.as.UserID
	groups, err := d.writeResourceGroups(ctx)
	if err != nil {
		return err
	}
	jobs := make([]*Job, len(d.made.Jobs))
	for i := range d.made.Jobs {
		c := &d.made.Jobs[i]
		kind, timeout := JobKind, int64(c.Timeout.Seconds())
		if c.Bridge {
			kind = BridgeKind
		}
		if timeout == 0 {
			timeout = set.BuildTimeout
		}
		j := &Job{
			Status: Status{
				PipelineID: d.row.ID, ProjectID: d.row.ProjectID, Kind: kind, Name: c.Name, Stage: c.Stage, StageIndex: c.StageIndex, Ref: d.row.Ref,
				State: Created, AllowFailure: c.AllowFailure, AuthorID: &user, CreatedAt: now, UpdatedAt: now,
			},
			Build: Build{
				Definition: d.definitions[i], When: c.When, ByNeeds: byNeeds(c), Timeout: timeout, Interruptible: c.Interruptible != nil && *c.Interruptible,
			},
		}
		if group, ok := groups[d.names[i].resource]; ok {
			j.ResourceGroupID = &group
		}
		if name := d.names[i].environment; name != "" {
			j.Environment = &name
		}
		if d.names[i].invalid {
			j.fail(EnvironmentFailure, d.Service)
		}
		jobs[i] = j
	}
	if err := d.insertJobs(ctx, jobs); err != nil {
		return err
	}
	if err := d.writeNeeds(ctx, jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		if err := d.Bus.Publish(ctx, JobChanged{change.Created(d.as, d.Now(), d.project.Place(), j), *d.row, d.project}); err != nil {
			return err
		}
	}
	return nil
}

// writeNeeds writes what the jobs wait for, and the tags of the runners that may take them.
func (d *draft) writeNeeds(ctx context.Context, jobs []*Job) error {
	type needed struct {
		JobID     StatusID `db:"job_id"`
		Position  int      `db:"position"`
		Name      string   `db:"name"`
		Artifacts bool     `db:"artifacts"`
		Optional  bool     `db:"optional"`
	}
	type tagged struct {
		JobID StatusID `db:"job_id"`
		Tag   string   `db:"tag"`
	}
	var needs []needed
	var tags []tagged
	for i, j := range jobs {
		c := &d.made.Jobs[i]
		for at, n := range c.Needs {
			if n.Job != "" && !n.Elsewhere() {
				needs = append(needs, needed{j.ID, at, n.Job, n.Artifacts, n.Optional})
			}
		}
		for _, tag := range c.Tags {
			tags = append(tags, tagged{j.ID, tag})
		}
	}
	if err := db.InsertRows(ctx, d.DB, "job_needs", needs, ""); err != nil {
		return fmt.Errorf("write needs: %w", err)
	}
	if err := db.InsertRows(ctx, d.DB, "job_tags", tags, "ON CONFLICT (job_id, tag) DO NOTHING"); err != nil {
		return fmt.Errorf("write tags: %w", err)
	}
	return nil
}
