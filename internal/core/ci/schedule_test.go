package ci_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/secret"
	"tenon/internal/core/account"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/schedule"
)

// scheduled builds the schedules of a world, with a queue of their own.
func (w *world) scheduled() (*schedule.Service, *job.Queue) {
	w.T.Helper()
	box, err := secret.NewBox(secret.NewKey())
	check(w.T, err)
	var queue *job.Queue
	s := schedule.New(schedule.Deps{
		Plans: &planlimit.Service{},
		DB:    w.DB, Policy: w.Policy, Bus: w.Bus, Accounts: w.accounts, Projects: w.Projects, CI: w.ci, Box: box, Now: w.now, Log: slog.New(slog.DiscardHandler),
		Jobs: job.EnqueuerFunc(func(ctx context.Context, args job.Args, options ...job.Option) error {
			return queue.Enqueue(ctx, args, options...)
		}),
	})
	s.Subscribe(w.Bus)
	var registry job.Registry
	w.ci.RegisterJobs(&registry)
	s.RegisterJobs(&registry)
	queue, err = job.New(w.DB, &registry, job.Config{})
	check(w.T, err)
	return s, queue
}

func TestSchedules(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s, queue := w.scheduled()
		runner := w.runner("instance_type", nil)
		w.push("main", yml("build: {script: x, rules: [{if: '$CI_PIPELINE_SCHEDULE_DESCRIPTION == \"Nightly\" && $COLOR == \"red\"'}]}\n"), "Begin [skip ci]")
		in := schedule.Input{Description: "Nightly", Ref: "main", Cron: "*/5 * * * *", Timezone: "Europe/Berlin"}
		row, err := s.Create(ctx, w.developer, w.as(w.developer), in)
		check(t, err)
		if row.Ref != "main" || !row.Active || row.NextRunAt == nil || row.OwnerID != w.developer.UserID {
			t.Errorf("schedule: %+v", row)
		}
		check(t, s.AddVariable(ctx, w.developer, w.as(w.developer), row.ID, ci.Variable{Key: "COLOR", Value: "red"}))

		// Several servers look at once, and make one pipeline.
		w.pass(6 * time.Minute)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := s.StartDue(ctx, schedule.Due{}); err != nil {
					t.Errorf("start: %v", err)
				}
			})
		}
		all.Wait()
		check(t, queue.Drain(ctx))
		list, err := s.Pipelines(ctx, w.guest, w.as(w.guest), row.ID, ci.PipelineFilter{})
		check(t, err)
		if len(list.Items) != 1 || list.Items[0].Source != ci.BySchedule || *list.Items[0].UserID != w.developer.UserID {
			t.Fatalf("pipelines: %+v", list.Items)
		}
		equal(t, "CI_PIPELINE_SCHEDULE_DESCRIPTION", value(w.take(runner, "build"), "CI_PIPELINE_SCHEDULE_DESCRIPTION"), "Nightly")
		now, err := s.Find(ctx, w.guest, w.as(w.guest), row.ID)
		check(t, err)
		if d := now.NextRunAt.Sub(w.now()); d < 9*time.Minute || d > 15*time.Minute {
			t.Errorf("next run in %s", d)
		}

		// Who may what.
		_, err = s.Create(ctx, w.reporter, w.as(w.reporter), in)
		wantError(t, "reporter", err, errs.Forbidden, "")
		_, err = s.Find(ctx, w.stranger, w.loaded(), row.ID)
		wantError(t, "stranger", err, errs.NotFound, "")
		_, err = s.Update(ctx, w.maintainer, w.as(w.maintainer), row.ID, schedule.Changes{Description: new("x")})
		wantError(t, "maintainer who is not the owner", err, errs.Forbidden, "")
		_, err = s.FindVariable(ctx, w.maintainer, w.as(w.maintainer), row.ID, "COLOR")
		wantError(t, "variable of another user", err, errs.Forbidden, "")
		vars, err := s.Variables(ctx, w.maintainer, w.as(w.maintainer), row)
		if err != nil || vars != nil {
			t.Errorf("variables for others: %v %v", vars, err)
		}
		_, err = s.TakeOwnership(ctx, w.developer, w.as(w.developer), row.ID)
		wantError(t, "developer takes ownership", err, errs.Forbidden, "")
		for what, c := range map[string]schedule.Changes{
			"is invalid": {Cron: new("x")}, "syntax is invalid": {Timezone: new("Nowhere")}, "can't be blank": {Description: new(" ")}, "ref is invalid": {Ref: new("no..name")}, "cron that never comes": {Cron: new("0 0 31 2 *")},
		} {
			if _, err = s.Update(ctx, w.developer, w.as(w.developer), row.ID, c); !errs.Is(err, errs.Invalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
		check(t, s.Play(ctx, w.maintainer, w.as(w.maintainer), row.ID))
		w.pass(time.Second)
		check(t, queue.Drain(ctx))
		last, err := s.Last(ctx, w.maintainer, w.as(w.maintainer), row.ID)
		check(t, err)
		equal(t, "user of a played pipeline", *last.UserID, w.maintainer.UserID)

		// An owner who lost the right.
		w.protect("main")
		wantError(t, "play on a protected branch", s.Play(ctx, w.developer, w.as(w.developer), row.ID), errs.Forbidden, "")
		w.pass(time.Hour)
		check(t, s.StartDue(ctx, schedule.Due{}))
		check(t, queue.Drain(ctx))
		now, err = s.Find(ctx, w.guest, w.as(w.guest), row.ID)
		check(t, err)
		equal(t, "active without the right", now.Active, false)
		now, err = s.TakeOwnership(ctx, w.maintainer, w.as(w.maintainer), row.ID)
		check(t, err)
		equal(t, "owner", now.OwnerID, w.maintainer.UserID)
		now, err = s.Update(ctx, w.maintainer, w.as(w.maintainer), row.ID, schedule.Changes{Active: new(true)})
		check(t, err)
		equal(t, "active again", now.Active && now.NextRunAt.After(w.now()), true)

		// A blocked owner.
		check(t, w.DB.InTx(ctx, func(ctx context.Context) error {
			return w.Bus.Publish(ctx, account.UserStateChanged{Of: change.Of[account.User]{After: &account.User{ID: w.maintainer.UserID, State: account.Blocked}}})
		}))
		open, err := s.List(ctx, w.guest, w.as(w.guest), schedule.Filter{Active: new(true)})
		if err != nil || len(open.Items) != 0 {
			t.Errorf("active schedules of a blocked user: %v %v", open.Items, err)
		}
		wantError(t, "deleted by another developer", s.Delete(ctx, w.developer, w.as(w.developer), row.ID), errs.Forbidden, "")
		check(t, s.Delete(ctx, w.owner, w.as(w.owner), row.ID))
		_, err = s.Find(ctx, w.guest, w.as(w.guest), row.ID)
		wantError(t, "deleted", err, errs.NotFound, "")
	})
}

// A schedule keeps the name of its branch as it was sent, also of one that is not there yet.
func TestSchedules_ref(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s, queue := w.scheduled()
		create := func(ref string) (*schedule.Schedule, error) {
			return s.Create(ctx, w.developer, w.as(w.developer), schedule.Input{Description: ref, Ref: ref, Cron: "0 1 * * *", Timezone: "Eastern Time (US & Canada)"})
		}
		later, err := create("later") // the project has no commit yet
		check(t, err)
		full, err := create("refs/heads/later")
		check(t, err)
		equal(t, "references", later.Ref+" "+full.Ref+" "+later.Timezone, "later refs/heads/later Eastern Time (US & Canada)")
		wanted := func(when string, want int) {
			t.Helper()
			for _, row := range []*schedule.Schedule{later, full} {
				check(t, s.Play(ctx, w.developer, w.as(w.developer), row.ID))
				w.pass(2 * time.Second)
				check(t, queue.Drain(ctx))
				list, err := s.Pipelines(ctx, w.developer, w.as(w.developer), row.ID, ci.PipelineFilter{})
				check(t, err)
				if len(list.Items) != want || want > 0 && list.Items[0].Ref != "later" {
					t.Errorf("%s: pipelines of %s: %+v", when, row.Ref, list.Items)
				}
			}
		}
		wanted("without the branch", 0)
		w.push("later", yml(oneJob), "Begin [skip ci]")
		wanted("with the branch", 1)

		// Both names are those of a branch that is protected.
		w.protect("stable")
		for _, ref := range []string{"stable", "refs/heads/stable"} {
			_, err = create(ref)
			wantError(t, ref, err, errs.Forbidden, "")
		}
		tag, err := create("refs/tags/v1")
		check(t, err)
		equal(t, "tag", tag.Ref, "refs/tags/v1")
		_, err = s.Update(ctx, w.developer, w.as(w.developer), tag.ID, schedule.Changes{Ref: new("stable")})
		wantError(t, "changed to a protected branch", err, errs.Forbidden, "")
		changed, err := s.Update(ctx, w.developer, w.as(w.developer), tag.ID, schedule.Changes{Ref: new("other")})
		check(t, err)
		equal(t, "changed", changed.Ref, "other")
	})
}
