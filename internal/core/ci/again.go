package ci

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// again makes other jobs of a pipeline in the place of some, which count as retried from then on. Its statements are as many for many jobs as for one.
func (s *Service) again(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, old []*Job, user *authz.UserID) ([]*Job, error) {
	if len(old) == 0 {
		return nil, nil
	}
	if err := s.room(ctx, of.ID, len(old)); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	made, ids := make([]*Job, len(old)), make([]StatusID, len(old))
	for i, j := range old {
		c, err := j.Config()
		if err != nil {
			return nil, err
		}
		ids[i] = j.ID
		made[i] = &Job{
			Status: Status{
				PipelineID: of.ID, ProjectID: of.ProjectID, Kind: j.Kind, Name: j.Name, Stage: j.Stage, StageIndex: j.StageIndex, Ref: j.Ref,
				State: Created, AllowFailure: c.AllowFailure, AuthorID: user, CreatedAt: now, UpdatedAt: now, ResourceGroupID: j.ResourceGroupID,
				Environment: j.Environment,
			},
			Build: Build{
				Definition: j.Definition, When: j.When, ByNeeds: j.ByNeeds, Interruptible: j.Interruptible, Timeout: j.Timeout, Attempt: j.Attempt + 1,
			},
		}
	}
	marks, args := db.Marks(ids)
	if _, err := s.DB.Exec(ctx, "UPDATE commit_statuses SET retried = true WHERE id IN ("+marks+")", args...); err != nil {
		return nil, fmt.Errorf("mark jobs as retried: %w", err)
	}
	if err := s.insertJobs(ctx, made); err != nil {
		return nil, err
	}
	if err := s.copyJobs(ctx, ids, made); err != nil {
		return nil, err
	}
	for _, j := range made {
		if err := s.Bus.Publish(ctx, JobChanged{change.Created(as, s.Now(), p.Place(), j), *of, p}); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// copyJobs gives new jobs what the old ones need, their tags, and the variables that they got from their users.
func (s *Service) copyJobs(ctx context.Context, old []StatusID, made []*Job) error {
	args, to := make([]any, 0, 2*len(old)), make(map[StatusID]StatusID, len(old))
	for i, id := range old {
		args, to[id] = append(args, id, made[i].ID), made[i].ID
	}
	pairs := "WITH pairs (old_id, new_id) AS (VALUES " + strings.TrimSuffix(strings.Repeat("(CAST(? AS BIGINT), CAST(? AS BIGINT)), ", len(old)), ", ") + ")"
	for _, query := range []string{
		"INSERT INTO job_needs (job_id, position, name, artifacts, optional) " + pairs +
			" SELECT p.new_id, n.position, n.name, n.artifacts, n.optional FROM pairs p JOIN job_needs n ON n.job_id = p.old_id",
		"INSERT INTO job_tags (job_id, tag) " + pairs + " SELECT p.new_id, t.tag FROM pairs p JOIN job_tags t ON t.job_id = p.old_id",
	} {
		if _, err := s.DB.Exec(ctx, query, args...); err != nil {
			return fmt.Errorf("copy jobs: %w", err)
		}
	}
	given, err := s.ownVariables(ctx, old, false)
	if err != nil {
		return err
	}
	for i := range given {
		given[i].JobID = to[given[i].JobID]
	}
	return s.keepOwn(ctx, given, false)
}

// insertJobs writes the rows of jobs and gives them their ids.
func (s *Service) insertJobs(ctx context.Context, list []*Job) error {
	statuses, builds := make([]Status, len(list)), make([]Build, len(list))
	for i, j := range list {
		statuses[i] = j.Status
	}
	ids, err := db.InsertAll(ctx, s.DB, "commit_statuses", statuses)
	if err != nil {
		return fmt.Errorf("write jobs: %w", err)
	}
	for i, j := range list {
		j.ID, j.JobID = StatusID(ids[i]), StatusID(ids[i])
		builds[i] = j.Build
	}
	if err := db.InsertRows(ctx, s.DB, "jobs", builds, ""); err != nil {
		return fmt.Errorf("write jobs: %w", err)
	}
	return nil
}

// reopen makes the skipped jobs after some wait again.
func (s *Service) reopen(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, after ...*Job) error {
	if len(after) == 0 {
		return nil
	}
	plan, err := s.plan(ctx, of.ID)
	if err != nil {
		return err
	}
	steps := plan.after(after)
	ids, was := make([]StatusID, len(steps)), make([]Status, len(steps))
	for i, st := range steps {
		ids[i], was[i] = st.ID, st.Status
	}
	if err := s.enterAll(ctx, ids, Created, s.Now()); err != nil {
		return err
	}
	return s.publishJobs(ctx, as, p, of, was)
}

// after returns the skipped jobs after some: those of later stages, and those that need one of them, or need what does.
func (p *plan) after(jobs []*Job) []*step {
	first, reached, open := jobs[0].StageIndex, make(map[string]bool, len(jobs)), make([]string, len(jobs))
	for i, j := range jobs {
		first, open[i], reached[j.Name] = min(first, j.StageIndex), j.Name, true
	}
	var out []*step
	reach := func(st *step) {
		if !reached[st.Name] {
			reached[st.Name] = true
			out, open = append(out, st), append(open, st.Name)
		}
	}
	needing := map[string][]*step{}
	for _, st := range p.steps {
		switch {
		case st.State != Skipped || st.Kind == ExternalKind:
		case !st.ByNeeds && st.StageIndex > first:
			reach(st)
		case st.ByNeeds:
			for _, n := range st.needs {
				needing[n.Name] = append(needing[n.Name], st)
			}
		}
	}
	for i := 0; i < len(open); i++ {
		for _, st := range needing[open[i]] {
			reach(st)
		}
	}
	return out
}
