package ci

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// cancelJobs cancels jobs of a locked pipeline. Its statements are as many for many jobs as for one.
func (s *Service) cancelJobs(ctx context.Context, as authz.Actor, p *project.Project, of *Pipeline, jobs []Job) error {
	now, before := s.Now(), slices.Clone(jobs)
	entered := map[State][]StatusID{}
	var queued, delayed, logs []StatusID
	var changed []*Status
	for i := range jobs {
		j, was := &jobs[i], &before[i]
		if j.cancel(now); j.State == was.State {
			continue
		}
		entered[j.State], changed = append(entered[j.State], j.ID), append(changed, &j.Status)
		if was.State == Pending {
			queued = append(queued, j.ID)
		}
		if was.ScheduledAt != nil {
			delayed = append(delayed, j.ID)
		}
		if j.State.Complete() && j.StartedAt != nil {
			logs = append(logs, j.ID)
		}
	}
	for _, to := range []State{Canceled, Canceling} {
		if err := s.enterAll(ctx, entered[to], to, now); err != nil {
			return err
		}
	}
	for query, ids := range map[string][]StatusID{
		"DELETE FROM job_queue WHERE job_id IN (": queued, "UPDATE jobs SET scheduled_at = NULL WHERE job_id IN (": delayed,
	} {
		if len(ids) == 0 {
			continue
		}
		marks, args := db.Marks(ids)
		if _, err := s.DB.Exec(ctx, query+marks+")", args...); err != nil {
			return fmt.Errorf("cancel jobs: %w", err)
		}
	}
	if err := s.passOnAfter(ctx, changed...); err != nil {
		return err
	}
	if err := s.followUp(ctx, followUps{Logs: logs}); err != nil {
		return err
	}
	for i := range jobs {
		if jobs[i].State == before[i].State {
			continue
		}
		if err := s.Bus.Publish(ctx, JobChanged{change.Between(as, now, p.Place(), &before[i], &jobs[i]), *of, p}); err != nil {
			return err
		}
	}
	return nil
}
