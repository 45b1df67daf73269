package ci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// passResource is the job that gives a resource group to the job that is next. It is enqueued in the transaction in which a job of the
// group begins to wait, or ends, and locks one pipeline and then the group, so that no two of them wait for each other.
type passResource struct {
	GroupID ResourceGroupID `json:"resource_group_id"`
}

// Kind names the job.
func (passResource) Kind() string { return "pass_resource_group" }

// passOn lets a resource group go to the job that is next.
func (s *Service) passOn(ctx context.Context, id ResourceGroupID) error {
	if err := s.Deps.Jobs.Enqueue(ctx, passResource{GroupID: id}); err != nil {
		return fmt.Errorf("enqueue resource group: %w", err)
	}
	return nil
}

// passOnAfter is passOn for the groups of jobs that have got the states that they have: those that hold one keep it.
func (s *Service) passOnAfter(ctx context.Context, jobs ...*Status) error {
	var done []ResourceGroupID
	for _, j := range jobs {
		if j.ResourceGroupID == nil || slices.Contains(holding, j.State) || slices.Contains(done, *j.ResourceGroupID) {
			continue
		}
		done = append(done, *j.ResourceGroupID)
	}
	return s.followUp(ctx, followUps{Groups: done})
}

// passOnWithout is passOn for the groups of the jobs of a pipeline that is about to be deleted.
func (s *Service) passOnWithout(ctx context.Context, of PipelineID) error {
	var w db.Where
	w.And("s.pipeline_id = ? AND s.resource_group_id IS NOT NULL", of)
	w.In("s.status", slices.Concat(holding, upcoming))
	groups, err := db.Select[ResourceGroupID](ctx, s.DB, "SELECT DISTINCT s.resource_group_id FROM commit_statuses s"+w.SQL()+" ORDER BY 1", w.Args()...)
	if err != nil {
		return fmt.Errorf("resource groups of pipeline: %w", err)
	}
	return s.followUp(ctx, followUps{Groups: groups})
}

// passOnWaiting is passOn for groups that jobs have waited for since a time, for the case that one was not passed on.
func (s *Service) passOnWaiting(ctx context.Context, since time.Time) error {
	groups, err := db.Select[ResourceGroupID](ctx, s.DB, `SELECT DISTINCT s.resource_group_id FROM commit_statuses s
		WHERE s.status = 'waiting_for_resource' AND s.resource_group_id IS NOT NULL AND s.updated_at < ? ORDER BY 1 LIMIT 1000`, db.At(since))
	if err != nil {
		return fmt.Errorf("resource groups that jobs wait for: %w", err)
	}
	for _, id := range groups {
		if err := s.passOn(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// queue gives a job whose turn has come its state: it is pending, or waits for its resource group.
func (s *Service) queue(ctx context.Context, of *Pipeline, id StatusID, to State) error {
	if to == WaitingForResource {
		return s.enterAll(ctx, []StatusID{id}, to, s.Now())
	}
	return s.enqueue(ctx, of, []StatusID{id}, s.Now())
}

// passes is how often the next job of a group may change while it is looked for.
const passes = 10

// passResource makes the next job of a group pending, if none holds it.
func (s *Service) passResource(ctx context.Context, args passResource) error {
	for range passes {
		next, err := s.nextOf(ctx, args.GroupID)
		if err != nil || next == nil || next.State != WaitingForResource {
			return err
		}
		passed, err := s.give(ctx, args.GroupID, next)
		if err != nil || passed {
			return err
		}
	}
	return fmt.Errorf("resource group %d: the next job changed %d times", args.GroupID, passes)
}

// nextOf returns the job that is next in a resource group, whether it is ready or not; nil where there is none or the group is held.
func (s *Service) nextOf(ctx context.Context, id ResourceGroupID) (*Status, error) {
	g, err := db.Get[ResourceGroup](ctx, s.DB, "SELECT "+resourceColumns+" FROM resource_groups g WHERE g.id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find resource group: %w", err)
	}
	var w db.Where
	w.And("s.resource_group_id = ?", id)
	w.In("s.status", holding)
	n, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM commit_statuses s"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("holders of resource group: %w", err)
	}
	if n > 0 {
		return nil, nil
	}
	w, order := g.queue()
	list, err := page.Select[Status](ctx, s.DB, page.Query{Columns: statusColumns, From: "commit_statuses s", Where: w, Order: order}, page.Range{Limit: 1, Uncounted: true})
	if err != nil {
		return nil, fmt.Errorf("next job of resource group: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return &list.Items[0], nil
}

// queue selects the jobs that a resource group may be given to, and says in which order it is.
func (g *ResourceGroup) queue() (db.Where, page.Order) {
	var w db.Where
	w.And("s.resource_group_id = ?", g.ID)
	pipeline := page.Int("pipeline_id", "s.pipeline_id")
	switch g.ProcessMode {
	case OldestFirst, NewestFirst:
		w.In("s.status", upcoming)
		if g.ProcessMode == NewestFirst {
			pipeline = pipeline.Desc()
		}
		return w, page.Order{pipeline, page.Computed("CASE s.status WHEN 'waiting_for_resource' THEN 0 ELSE 1 END"), page.ID("s.id")}
	case NewestReadyFirst:
		w.And("s.status = ?", WaitingForResource)
		return w, page.Order{pipeline.Desc(), page.ID("s.id")}
	}
	w.And("s.status = ?", WaitingForResource)
	return w, page.Order{page.ID("s.id")}
}

// give makes a job of a resource group pending, if it still is the next one.
func (s *Service) give(ctx context.Context, id ResourceGroupID, next *Status) (passed bool, err error) {
	_, p, err := s.jobAndProject(ctx, next.ID)
	if err != nil || p == nil {
		return false, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		passed = false
		of, err := s.lock(ctx, next.PipelineID)
		if err != nil {
			return err
		}
		if _, err := db.ForUpdate[ResourceGroup](ctx, s.DB, db.Row{Table: "resource_groups", ID: id}); err != nil {
			return err
		}
		found, err := s.nextOf(ctx, id)
		if err != nil || found != nil && found.ID != next.ID {
			return err
		}
		passed = true
		if found == nil || found.State != WaitingForResource {
			return nil
		}
		_, err = s.changeLocked(ctx, authz.System(), p, of, found.ID, func(_ context.Context, j *Job) error {
			j.enter(Pending, s.Now())
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.enqueue(ctx, of, []StatusID{found.ID}, s.Now()); err != nil {
			return err
		}
		return s.advance(ctx, authz.System(), p, of)
	})
	if errors.Is(err, db.ErrNotFound) { // its pipeline was deleted, which passes the group on
		return true, nil
	}
	return passed, err
}
