package ci_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/runner"
)

const oneShip = "ship: {script: x, resource_group: production}\n"

// mode gives a resource group of the project a process mode.
func (w *world) mode(key, mode string) {
	w.T.Helper()
	g, err := w.ci.SetProcessMode(w.T.Context(), w.developer, w.as(w.developer), key, &mode)
	check(w.T, err)
	equal(w.T, "mode", g.ProcessMode, mode)
	w.drain()
}

// keys lists the keys of the resource groups of the project.
func (w *world) keys() string {
	w.T.Helper()
	list, err := w.ci.ResourceGroups(w.T.Context(), w.developer, w.as(w.developer), page.Range{})
	check(w.T, err)
	var out []string
	for _, g := range list.Items {
		out = append(out, g.Key)
	}
	return strings.Join(out, " ")
}

func TestService_passResource(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"}`)
		token := w.runner(runner.InstanceType, nil)
		first, second, third := w.begin(oneShip), w.begin(oneShip), w.begin(oneShip+"other: {script: x}\n")
		want := func(when string, states ...string) {
			t.Helper()
			for i, p := range []*ci.Pipeline{first, second, third} {
				w.wantStates(p, when, states[i])
			}
		}
		want("made", "ship:pending = pending", "ship:waiting_for_resource = waiting_for_resource", "other:pending ship:waiting_for_resource = pending")
		a := w.take(token, "ship")
		other := w.take(token, "other")
		if got := w.ask(token); got != nil {
			t.Errorf("%s was given while another of its group runs", got.Job.Name)
		}
		w.succeed(other)
		current, err := w.ci.CurrentJob(t.Context(), w.developer, w.as(w.developer), "production")
		check(t, err)
		equal(t, "current job", current.ID, a.Job.ID)

		// One that fails lets the next one go on.
		w.fail(a)
		w.drain()
		want("failed", "ship:failed = failed", "ship:pending = pending", "other:success ship:waiting_for_resource = waiting_for_resource")

		// So does one that is canceled, before or after it is given to a runner.
		_, err = w.ci.CancelJob(t.Context(), w.developer, w.as(w.developer), w.job(second, "ship").ID)
		check(t, err)
		w.drain()
		want("canceled", "ship:failed = failed", "ship:canceled = canceled", "other:success ship:pending = running")

		// A job that is tried again waits like the others.
		_, err = w.ci.RetryJob(t.Context(), w.developer, w.as(w.developer), a.Job.ID)
		check(t, err)
		w.drain()
		want("retried", "ship:waiting_for_resource = waiting_for_resource", "ship:canceled = canceled", "other:success ship:pending = running")

		// The group of a pipeline that is deleted is free.
		w.take(token, "ship")
		check(t, w.ci.Delete(t.Context(), w.owner, w.as(w.owner), third.ID))
		w.drain()
		w.wantStates(first, "deleted", "ship:pending = pending")
		w.run(token, "ship")
		w.drain()
		w.wantStates(first, "at the end", "ship:success = success")
		_, err = w.ci.CurrentJob(t.Context(), w.developer, w.as(w.developer), "production")
		wantError(t, "nothing runs", err, errs.NotFound, "")
	})
}

// A runner that vanishes with a job, one that goes on after a cancellation, manual and delayed jobs.
func TestService_passResource_ways(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"}`)
		token := w.runner(runner.InstanceType, nil)
		first := w.begin(oneShip)
		second := w.begin("ship: {script: x, resource_group: production, when: manual}\n")
		third := w.begin("ship: {script: x, resource_group: production, when: delayed, start_in: 1 minute}\n")
		w.wantStates(second, "manual", "ship:manual = skipped")
		w.take(token, "ship")
		j, err := w.ci.PlayJob(t.Context(), w.developer, w.as(w.developer), w.job(second, "ship").ID, nil)
		check(t, err)
		equal(t, "played", j.State, ci.WaitingForResource)
		w.pass(2 * time.Minute)
		w.wakeDelayed()
		w.wantStates(third, "delayed", "ship:waiting_for_resource = waiting_for_resource")
		w.pass(2 * time.Hour)
		check(t, w.ci.EndStuck(t.Context(), ci.Stuck{}))
		w.drain()
		w.wantStates(first, "vanished", "ship:failed = failed")
		w.wantStates(second, "vanished", "ship:pending = pending")

		features := features()
		features["cancel_gracefully"] = true
		a, _, err := w.ci.Request(t.Context(), ci.Ask{Token: token, SystemID: "s", Features: features})
		check(t, err)
		_, err = w.ci.Cancel(t.Context(), w.developer, w.as(w.developer), second.ID)
		check(t, err)
		w.drain()
		w.wantStates(second, "canceling", "ship:canceling = canceling")
		w.wantStates(third, "canceling", "ship:waiting_for_resource = waiting_for_resource")
		w.end(a, ci.Outcome{State: "failed"})
		w.drain()
		w.wantStates(third, "canceled", "ship:pending = pending")

		// One that waits can be canceled, and one that was forgotten is found again.
		fourth, fifth := w.begin(oneShip), w.begin(oneShip)
		_, err = w.ci.Cancel(t.Context(), w.developer, w.as(w.developer), fourth.ID)
		check(t, err)
		w.wantStates(fourth, "canceled", "ship:canceled = canceled")
		w.run(token, "ship")
		w.exec("DELETE FROM river_job WHERE kind = 'pass_resource_group'")
		w.drain()
		w.wantStates(fifth, "forgotten", "ship:waiting_for_resource = waiting_for_resource")
		w.pass(10 * time.Minute)
		check(t, w.ci.EndStuck(t.Context(), ci.Stuck{}))
		w.drain()
		w.wantStates(fifth, "found", "ship:pending = pending")
	})
}

func TestService_SetProcessMode(t *testing.T) {
	const text = "stages: [build, deploy]\nbuild: {stage: build, script: x, tags: [none]}\nship: {stage: deploy, script: x, resource_group: production}\n"
	for _, row := range []struct {
		mode string
		want string // pipelines in the order in which they get the group, by number; which of them are built is given below
	}{
		{ci.Unordered, "2 3"},        // 1 and 4 are not ready
		{ci.OldestFirst, ""},         // waits for 1
		{ci.NewestFirst, ""},         // waits for 4
		{ci.NewestReadyFirst, "3 2"}, // the newest of those that are ready
	} {
		t.Run(row.mode, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"}`)
				token, builder := w.runner(runner.InstanceType, nil), w.runner(runner.InstanceType, map[string]any{"tags": `["none"]`, "run_untagged": false})
				holder := w.begin(oneShip)
				held := w.take(token, "ship")
				w.mode("production", row.mode)
				var all []*ci.Pipeline
				var builds []*ci.Assignment
				for range 4 {
					all = append(all, w.begin(text))
					builds = append(builds, w.take(builder, "build"))
				}
				w.succeed(builds[1])
				w.succeed(builds[2])
				w.succeed(held)
				w.drain()
				w.wantStates(holder, "ended", "ship:success = success")
				number := func(a *ci.Assignment) string {
					return fmt.Sprint(1 + slices.IndexFunc(all, func(p *ci.Pipeline) bool { return p.ID == a.Pipeline.ID }))
				}
				var got []string
				for a := w.ask(token); a != nil; a = w.ask(token) {
					got = append(got, number(a))
					w.succeed(a)
					w.drain()
				}
				equal(t, "ready ones", strings.Join(got, " "), row.want)

				// Once all are ready, the rest runs in the order of the mode.
				w.succeed(builds[0])
				w.fail(builds[3]) // its deployment is skipped, and holds up nothing
				w.drain()
				got = nil
				for a := w.ask(token); a != nil; a = w.ask(token) {
					got = append(got, number(a))
					w.succeed(a)
					w.drain()
				}
				want := map[string]string{ci.Unordered: "1", ci.OldestFirst: "1 2 3", ci.NewestFirst: "3 2 1", ci.NewestReadyFirst: "1"}[row.mode]
				equal(t, "the rest", strings.Join(got, " "), want)
			})
		})
	}
}

func TestService_UpcomingJobs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"}`)
		token := w.runner(runner.InstanceType, nil)
		w.begin(oneShip)
		w.take(token, "ship")
		second := w.begin("stages: [one, two]\nship: {stage: one, script: x, resource_group: production}\nagain: {stage: two, script: x, resource_group: production}\n")
		third := w.begin(oneShip)
		upcoming := func(mode string) string {
			t.Helper()
			w.mode("production", mode)
			list, err := w.ci.UpcomingJobs(t.Context(), w.developer, w.as(w.developer), "production", page.Range{})
			check(t, err)
			var out []string
			for _, j := range list.Items {
				out = append(out, fmt.Sprintf("%d:%s", 1+j.PipelineID-second.ID, j.Name))
			}
			return strings.Join(out, " ")
		}
		equal(t, "pipelines", third.ID, second.ID+1)
		equal(t, "unordered", upcoming(ci.Unordered), "1:ship 2:ship")
		equal(t, "oldest first", upcoming(ci.OldestFirst), "1:ship 1:again 2:ship")
		equal(t, "newest first", upcoming(ci.NewestFirst), "2:ship 1:ship 1:again")
		equal(t, "newest ready first", upcoming(ci.NewestReadyFirst), "2:ship 1:ship")

		for name, who := range map[string]authz.Actor{"guest": w.guest, "reporter": w.reporter} {
			p := w.as(who)
			_, err := w.ci.ResourceGroups(t.Context(), who, p, page.Range{})
			wantError(t, name+" lists", err, errs.Forbidden, "")
			_, err = w.ci.FindResourceGroup(t.Context(), who, p, "production")
			wantError(t, name+" reads", err, errs.Forbidden, "")
			_, err = w.ci.UpcomingJobs(t.Context(), who, p, "production", page.Range{})
			wantError(t, name+" lists jobs", err, errs.Forbidden, "")
			_, err = w.ci.CurrentJob(t.Context(), who, p, "production")
			wantError(t, name+" reads a job", err, errs.Forbidden, "")
			_, err = w.ci.SetProcessMode(t.Context(), who, p, "production", new(ci.OldestFirst))
			wantError(t, name+" writes", err, errs.Forbidden, "")
		}
		_, err := w.ci.SetProcessMode(t.Context(), w.developer, w.as(w.developer), "production", new("random"))
		wantError(t, "mode", err, errs.Invalid, "process_mode does not have a valid value")
		for _, key := range []string{"none", ""} {
			_, err = w.ci.FindResourceGroup(t.Context(), w.developer, w.as(w.developer), key)
			wantError(t, "another key", err, errs.NotFound, "")
		}
		kept, err := w.ci.SetProcessMode(t.Context(), w.developer, w.as(w.developer), "production", nil)
		check(t, err)
		equal(t, "no change", kept.ProcessMode, ci.NewestReadyFirst)
	})
}

func TestService_Run_resourceKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.settings(w.id, `{"resource_group_default_process_mode":"oldest_first","auto_cancel_pending_pipelines":"disabled"}`)
		p := w.begin(`
a: {script: x, resource_group: "$CI_COMMIT_REF_NAME/$PLACE.x", variables: {PLACE: south}}
b: {script: x, resource_group: $CI_ENVIRONMENT_SLUG, environment: {name: review/$CI_COMMIT_BRANCH}}
c: {script: x, resource_group: $NONE}
`)
		w.wantStates(p, "made", "a:pending b:pending c:pending = pending")
		equal(t, "keys", w.keys(), "review-work-9qaz94 work/south.x")
		g, err := w.ci.FindResourceGroup(t.Context(), w.developer, w.as(w.developer), "work/south.x")
		check(t, err)
		equal(t, "mode", g.ProcessMode, ci.OldestFirst)
		if w.job(p, "c").ResourceGroupID != nil {
			t.Error("a job without a key is in a group")
		}
		long := w.begin("a: {script: x, resource_group: " + strings.Repeat("é", 256) + "}\n")
		equal(t, "state", long.State, ci.Failed)
		equal(t, "error", *long.YAMLErrors, "a job: resource_group is too long (maximum is 255 characters)")
		equal(t, "keys", w.keys(), "review-work-9qaz94 work/south.x")
	})
}

// A bridge that waits for its pipeline holds its group as long.
func TestService_passResource_bridge(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"}`)
		token := w.runner(runner.InstanceType, nil)
		w.push("work", files{
			".gitlab-ci.yml": "child: {resource_group: production, trigger: {include: child.yml, strategy: depend}}\n",
			"child.yml":      "inner: {script: x}\n",
		}, "Begin")
		first := w.pipelines(w.id, "work")[1]
		w.wantStates(&first, "started", "child:running = running")
		second := w.begin(oneShip)
		w.wantStates(second, "behind the bridge", "ship:waiting_for_resource = waiting_for_resource")
		w.run(token, "inner")
		w.drain()
		w.wantStates(&first, "ended", "child:success = success")
		w.wantStates(second, "after the bridge", "ship:pending = pending")
	})
}

// Ten runners run fifty jobs of one group and as many of others: two of a group never at a time, and each of them once.
func TestService_passResource_together(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"}`)
		var text strings.Builder
		for i := range 10 {
			fmt.Fprintf(&text, "job%d: {script: x, resource_group: one}\nside%d: {script: x, resource_group: side%d}\n", i, i, i%3)
		}
		var all []*ci.Pipeline
		for range 5 {
			all = append(all, w.begin(text.String()))
		}
		w.ci.SetPoll(time.Second)
		check(t, w.jobs.Start(t.Context()))
		defer func() { check(t, w.jobs.Stop(t.Context())) }()
		var runners sync.WaitGroup
		var left atomic.Int64
		left.Store(100)
		var mu sync.Mutex
		held, ran := map[ci.ResourceGroupID]string{}, map[ci.StatusID]int{}
		work := func(token string) error {
			last := ""
			for left.Load() > 0 {
				a, value, err := w.ci.Request(t.Context(), ci.Ask{Token: token, SystemID: "s", Features: features(), LastUpdate: last})
				if err != nil {
					return err
				}
				if last = value; a == nil {
					continue
				}
				group := *a.Job.ResourceGroupID
				mu.Lock()
				if by := held[group]; by != "" {
					t.Errorf("%s of pipeline %d was given while %s holds its group", a.Job.Name, a.Pipeline.ID, by)
				}
				held[group] = fmt.Sprintf("%s of pipeline %d", a.Job.Name, a.Pipeline.ID)
				ran[a.Job.ID]++
				mu.Unlock()
				h, err := w.ci.Hold(t.Context(), a.Job.ID, a.Token)
				if err != nil {
					return err
				}
				mu.Lock()
				held[group] = ""
				mu.Unlock()
				if _, err := w.ci.Finish(t.Context(), h, ci.Outcome{State: "success"}); err != nil {
					return err
				}
				left.Add(-1)
			}
			return nil
		}
		for range 10 {
			token := w.runner(runner.InstanceType, nil)
			runners.Go(func() {
				if err := work(token); err != nil {
					t.Errorf("runner: %v", errors.Join(err))
					left.Store(0)
				}
			})
		}
		runners.Wait()
		equal(t, "jobs that ran", len(ran), 100)
		for id, n := range ran {
			if n != 1 {
				t.Errorf("job %d ran %d times", id, n)
			}
		}
		for _, p := range all {
			equal(t, "state", w.again(p).State, ci.Success)
		}
		waiting, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM commit_statuses WHERE status <> 'success'")
		check(t, err)
		equal(t, "jobs that have not ended", waiting, 0)
	})
}
