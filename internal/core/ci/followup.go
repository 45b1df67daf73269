package ci

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
)

// followUps is the background job that enqueues what follows when one transaction has changed many jobs: the transaction itself enqueues one job, however
// many it has changed.
type followUps struct {
	Logs    []StatusID        `json:"logs,omitempty"`    // of jobs that have ended
	Bridges []StatusID        `json:"bridges,omitempty"` // that are pending
	Delayed []StatusID        `json:"delayed,omitempty"` // jobs that have got their time
	Groups  []ResourceGroupID `json:"groups,omitempty"`  // that may go to the next job
	Ended   PipelineID        `json:"ended,omitempty"`   // that ends, or runs again, with Follow
	Follow  []StatusID        `json:"follow,omitempty"`  // bridges that follow it
}

// Kind names the job.
func (followUps) Kind() string { return "follow_up_jobs" }

// followUp enqueues what follows: at once where that is one job.
func (s *Service) followUp(ctx context.Context, f followUps) error {
	switch n := len(f.Logs) + len(f.Bridges) + len(f.Delayed) + len(f.Groups) + len(f.Follow); n {
	case 0:
		return nil
	case 1:
		return s.followUps(ctx, f)
	}
	if err := s.Deps.Jobs.Enqueue(ctx, f); err != nil {
		return fmt.Errorf("enqueue what follows: %w", err)
	}
	return nil
}

// followUps enqueues the jobs, each in a transaction of its own unless ctx has one. All of them may be enqueued twice.
func (s *Service) followUps(ctx context.Context, f followUps) error {
	var all []job.Args
	for _, id := range f.Logs {
		all = append(all, joinLog{JobID: id})
	}
	for _, id := range f.Bridges {
		all = append(all, startDownstream{JobID: id})
	}
	for _, id := range f.Groups {
		all = append(all, passResource{GroupID: id})
	}
	for _, id := range f.Follow {
		all = append(all, endBridge{JobID: id, PipelineID: f.Ended})
	}
	for _, args := range all {
		if err := s.Deps.Jobs.Enqueue(ctx, args); err != nil {
			return fmt.Errorf("enqueue what follows: %w", err)
		}
	}
	return s.followDelayed(ctx, f.Delayed)
}

// followDelayed enqueues the start of delayed jobs at their times.
func (s *Service) followDelayed(ctx context.Context, ids []StatusID) error {
	if len(ids) == 0 {
		return nil
	}
	var w db.Where
	w.And("s.status = ? AND j.scheduled_at IS NOT NULL", Scheduled)
	w.In("s.id", ids)
	type row struct {
		ID StatusID `db:"id"`
		At db.Time  `db:"scheduled_at"`
	}
	rows, err := db.Select[row](ctx, s.DB, "SELECT s.id, j.scheduled_at FROM "+jobTables+w.SQL()+" ORDER BY s.id", w.Args()...)
	if err != nil {
		return fmt.Errorf("times of delayed jobs: %w", err)
	}
	for _, r := range rows {
		if err := s.Deps.Jobs.Enqueue(ctx, startDelayed{JobID: r.ID}, job.At(r.At.Time)); err != nil {
			return fmt.Errorf("enqueue delayed job: %w", err)
		}
	}
	return nil
}
