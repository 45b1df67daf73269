package schedule

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tenon/internal/base/crontab"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// dueEvery is how often schedules are looked at.
const dueEvery = time.Minute

// maxDue is how many schedules are started at once; the others follow with the next look.
const maxDue = 500

// Due is the job that starts the schedules whose time has come.
type Due struct{}

// Kind names the job.
func (Due) Kind() string { return "start_schedules" }

// run is the job that makes the pipeline of a schedule.
type run struct {
	ID     ID           `json:"id"`
	UserID authz.UserID `json:"user_id"` // the user who runs the pipeline
	Since  time.Time    `json:"since"`   // a pipeline of the schedule and user from then on is the one that this job made
	Played bool         `json:"played"`  // a user asked for it
}

// Kind names the job.
func (run) Kind() string { return "run_schedule" }

// RegisterJobs says how schedules are run.
func (s *Service) RegisterJobs(r *job.Registry) {
	job.Register(r, s.StartDue, job.Unique(), job.Timeout(5*time.Minute))
	job.Every(r, dueEvery, Due{})
	job.Register(r, s.run, job.Attempts(5), job.Timeout(5*time.Minute))
}

// Subscribe ends the schedules of users who are blocked.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "schedules", func(ctx context.Context, e account.UserStateChanged) error {
		if e.Row().State == account.Active {
			return nil
		}
		_, err := s.DB.Exec(ctx, "UPDATE pipeline_schedules SET active = ?, updated_at = ? WHERE owner_id = ? AND active", false, db.At(s.Now()), e.Row().ID)
		return err
	})
}

// Depart is the account.Executor of schedules: those of a departing user become the ghost's and run no more.
func (s *Service) Depart(ctx context.Context, e account.Estate) (bool, error) {
	n, err := s.DB.Exec(ctx, "UPDATE pipeline_schedules SET owner_id = ?, active = ? WHERE id IN (SELECT id FROM pipeline_schedules WHERE owner_id = ? ORDER BY id LIMIT ?)",
		e.Ghost, false, e.UserID, account.Batch)
	if err != nil {
		return false, fmt.Errorf("hand over schedules: %w", err)
	}
	return n == account.Batch, nil
}

// StartDue starts every schedule whose time has come, once, whichever servers look: the time of the next run and the job that makes
// the pipeline are written together.
func (s *Service) StartDue(ctx context.Context, _ Due) error {
	ids, err := db.Select[ID](ctx, s.DB, "SELECT s.id FROM pipeline_schedules s WHERE s.active AND s.next_run_at <= ? ORDER BY s.next_run_at, s.id LIMIT ?",
		db.At(s.Now()), maxDue)
	if err != nil {
		return fmt.Errorf("find due schedules: %w", err)
	}
	for _, id := range ids {
		if err := s.start(ctx, id); err != nil && !errors.Is(err, db.ErrNotFound) {
			return fmt.Errorf("start schedule: %w", err)
		}
	}
	return nil
}

func (s *Service) start(ctx context.Context, id ID) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		now, is := s.Now(), false
		out, err := db.Update(ctx, s.DB, db.Row{Table: "pipeline_schedules", ID: id}, func(_ context.Context, row *Schedule) error {
			if is = row.Active && row.NextRunAt != nil && !row.NextRunAt.After(now); !is {
				return nil
			}
			row.NextRunAt = nil
			if at, ok := crontab.Next(row.Cron, row.Timezone, now.Add(interval-time.Second)); ok {
				t := db.At(at)
				row.NextRunAt = &t
			}
			return nil
		})
		if err != nil || !is {
			return err
		}
		return s.Jobs.Enqueue(ctx, run{ID: id, UserID: out.After.OwnerID, Since: now})
	})
}

// Play makes a pipeline of a schedule now, as the actor. It requires CreatePipeline, and the right to run pipelines of the reference.
func (s *Service) Play(ctx context.Context, as authz.Actor, p *project.Project, id ID) error {
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, p.Subject()); err != nil {
		return err
	}
	row, err := s.find(ctx, p, id)
	if err != nil {
		return err
	}
	if err := s.CI.Runnable(ctx, as, p, row.Ref); err != nil {
		return err
	}
	if err := s.Jobs.Enqueue(ctx, run{ID: id, UserID: as.UserID, Since: s.Now(), Played: true}); err != nil {
		return fmt.Errorf("enqueue schedule: %w", err)
	}
	return nil
}

// run makes the pipeline of a schedule. One whose user may not make it any more is deactivated; a branch or tag that is not there makes none.
func (s *Service) run(ctx context.Context, args run) error {
	row, err := db.Get[Schedule](ctx, s.DB, "SELECT "+columns+" FROM pipeline_schedules s WHERE s.id = ?", args.ID)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find schedule: %w", err)
	}
	if !args.Played && (!row.Active || row.OwnerID != args.UserID) {
		return nil
	}
	made, err := db.Get[int](ctx, s.DB, "SELECT COUNT(*) FROM pipelines p WHERE p.schedule_id = ? AND p.user_id = ? AND p.created_at >= ?", args.ID, args.UserID, db.At(args.Since))
	if err != nil || made > 0 {
		return err
	}
	as, p, err := s.runner(ctx, &row, args.UserID)
	if errs.KindOf(err) != errs.Internal && err != nil {
		s.Log.InfoContext(ctx, "schedule cannot run", "schedule_id", row.ID, "error", err)
		if args.Played {
			return nil
		}
		return s.deactivate(ctx, &row)
	}
	if err != nil || p == nil {
		return err
	}
	vars, err := s.opened(ctx, row.ID)
	if err != nil {
		return err
	}
	_, err = s.CI.Run(ctx, as, p, ci.RunInput{Ref: row.Ref, Source: ci.BySchedule, Variables: vars, Schedule: &row.ID})
	if err != nil && errs.KindOf(err) != errs.Internal {
		s.Log.InfoContext(ctx, "schedule made no pipeline", "schedule_id", row.ID, "error", err)
		return nil
	}
	return err
}

// runner returns the user of a schedule, who may run it, and the project; nil for one that is archived for now. Errors of a kind are the reasons why the user may not.
func (s *Service) runner(ctx context.Context, row *Schedule, user authz.UserID) (authz.Actor, *project.Project, error) {
	as, err := s.Accounts.StandIn(ctx, strconv.FormatInt(int64(user), 10))
	if err != nil {
		return as, nil, err
	}
	p, err := s.Projects.FindByID(ctx, as, row.ProjectID)
	if err != nil {
		return as, nil, err
	}
	if p.Archived || p.PendingDelete {
		return as, nil, nil
	}
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, p.Subject()); err != nil {
		return as, nil, err
	}
	return as, p, s.CI.Runnable(ctx, as, p, row.Ref)
}

func (s *Service) deactivate(ctx context.Context, row *Schedule) error {
	p, err := s.Projects.Load(ctx, []project.ID{row.ProjectID})
	if err != nil || p[row.ProjectID] == nil {
		return err
	}
	_, err = s.change(ctx, authz.System(), p[row.ProjectID], row.ID, nil, func(row *Schedule) error {
		row.Active = false
		return nil
	})
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	return err
}
