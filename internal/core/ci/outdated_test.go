package ci_test

import (
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/ci"
)

func TestService_cancelRest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		const text = `
workflow: {auto_cancel: {on_job_failure: all}}
stages: [one, two]
a: {stage: one, script: x}
b: {stage: one, script: x}
c: {stage: one, script: x, retry: 1}
d: {stage: one, script: x, allow_failure: true}
e: {stage: two, script: x}
f: {stage: one, script: x, when: manual}
`
		p := w.begin(text)
		a, _, c, d := w.take(token, "a"), w.take(token, "b"), w.take(token, "c"), w.take(token, "d")
		w.fail(c)
		w.fail(d)
		w.drain()
		w.wantStates(p, "one is tried again, one may fail", "a:running b:running c:pending d:failed f:manual e:created = running")
		w.fail(a)
		w.drain()
		w.wantStates(p, "one has failed", "a:failed b:canceled c:canceled d:failed f:canceled e:canceled = failed")

		p = w.begin("workflow: {auto_cancel: {on_job_failure: none}}\na: {script: x}\nb: {script: x}\n")
		w.fail(w.take(token, "a"))
		w.drain()
		w.wantStates(p, "none", "a:failed b:pending = running")
	})
}

func TestService_outdated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		settings := func(more string) { w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"`+more+`}`) }
		settings("")
		token := w.runner("instance_type", nil)
		const text = "stages: [one, two]\nbuild: {stage: one, script: x}\nship: {stage: two, script: x, retry: 2, environment: {name: $PLACE/eu}, variables: {PLACE: production}}\n"
		older := w.begin(text)
		oldBuild := w.take(token, "build")
		newer := w.begin(text + "stop: {stage: two, script: x, needs: [], environment: {name: production/eu, action: stop}}\n")
		w.run(token, "build")
		stop := w.ask(token)
		ship := w.ask(token)
		if stop.Job.Name == "ship" {
			stop, ship = ship, stop
		}
		equal(t, "environment", *ship.Job.Environment, "production/eu")
		if stop.Job.Environment != nil {
			t.Errorf("a job that stops an environment deploys to %s", *stop.Job.Environment)
		}
		w.succeed(oldBuild)
		if got := w.ask(token); got != nil {
			t.Errorf("%s of pipeline %d was given while a newer one runs", got.Job.Name, got.Pipeline.ID)
		}
		w.wantStates(older, "outdated", "build:success ship:failed = failed")
		equal(t, "reason", reason(w.job(older, "ship")), ci.OutdatedDeployment)
		w.succeed(ship)
		w.succeed(stop)
		w.wantStates(newer, "the newer one", "build:success ship:success stop:success = success")

		// Going back is a deployment of its own, where the project allows it.
		retry := func() error {
			_, err := w.ci.RetryJob(t.Context(), w.developer, w.as(w.developer), w.job(older, "ship").ID)
			return err
		}
		settings(`,"ci_forward_deployment_rollback_allowed":false`)
		wantError(t, "rollback", retry(), errs.Forbidden, "Job is not retryable")
		equal(t, "controls without rollback", w.controls(older, "ship"), ci.Controls{})
		equal(t, "controls of the newer one", w.controls(newer, "ship"), ci.Controls{Retryable: true})
		_, err := w.ci.Retry(t.Context(), w.developer, w.as(w.developer), older.ID)
		check(t, err)
		w.wantStates(older, "no rollback of the pipeline", "build:success ship:failed = failed")
		settings("")
		equal(t, "controls with rollback", w.controls(older, "ship"), ci.Controls{Retryable: true, WithPipeline: true})
		check(t, retry())
		w.run(token, "ship")
		w.wantStates(older, "rolled back", "build:success ship:success = success")

		// Jobs of the same commit, and those of projects that do not care, run in any order.
		settings(`,"ci_forward_deployment_enabled":false`)
		first := w.begin("ship: {script: x, environment: production/eu, tags: [late]}\n")
		second := w.begin("ship: {script: x, environment: production/eu}\n")
		w.run(token, "ship")
		w.run(w.runner("instance_type", map[string]any{"tags": `["late"]`}), "ship")
		w.wantStates(first, "not prevented", "ship:success = success")
		w.wantStates(second, "not prevented", "ship:success = success")
		settings("")
		again, err := w.ci.Run(t.Context(), w.developer, w.as(w.developer), ci.RunInput{Ref: "work", Source: ci.ByAPI})
		check(t, err)
		last, err := w.ci.Run(t.Context(), w.developer, w.as(w.developer), ci.RunInput{Ref: "work", Source: ci.ByAPI})
		check(t, err)
		ahead := w.take(token, "ship")
		equal(t, "the older one first", ahead.Pipeline.ID, again.ID)
		w.run(token, "ship")
		w.succeed(ahead)
		w.wantStates(last, "the same commit", "ship:success = success")
	})
}

func TestService_archived(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		p := w.begin("build: {script: x}\ntest: {script: x}\nship: {script: x, when: manual}\n")
		w.fail(w.take(token, "build"))
		w.set("archive_builds_in_human_readable", "1 month")
		archived := func() bool {
			t.Helper()
			views, err := w.ci.Views(t.Context(), w.guest, w.as(w.guest), []*ci.Job{w.job(p, "build")})
			check(t, err)
			return views[0].Archived
		}
		equal(t, "archived today", archived(), false)
		equal(t, "controls of a failed job", w.controls(p, "build"), ci.Controls{Retryable: true, WithPipeline: true})
		equal(t, "controls of a manual job", w.controls(p, "ship"), ci.Controls{Playable: true, Cancelable: true})
		w.pass(32 * 24 * time.Hour)
		equal(t, "archived after a month", archived(), true)
		for _, name := range []string{"build", "test", "ship"} {
			equal(t, "controls of the archived "+name, w.controls(p, name), ci.Controls{})
		}
		shop := w.as(w.owner)
		_, err := w.ci.RetryJob(t.Context(), w.owner, shop, w.job(p, "build").ID)
		wantError(t, "retry", err, errs.Forbidden, "")
		_, err = w.ci.PlayJob(t.Context(), w.owner, shop, w.job(p, "ship").ID, nil)
		wantError(t, "play", err, errs.Forbidden, "")
		_, err = w.ci.CancelJob(t.Context(), w.owner, shop, w.job(p, "test").ID)
		wantError(t, "cancel", err, errs.Forbidden, "")
		_, err = w.ci.Retry(t.Context(), w.owner, shop, p.ID)
		check(t, err)
		equal(t, "the job of a pipeline that is tried again", w.job(p, "build").State, ci.Failed)
		if a := w.ask(token); a != nil {
			t.Errorf("%s was given", a.Job.Name)
		}
		equal(t, "reason", reason(w.job(p, "test")), ci.ArchivedFailure)
		w.set("archive_builds_in_human_readable", nil)
		_, err = w.ci.RetryJob(t.Context(), w.owner, shop, w.job(p, "build").ID)
		check(t, err)
	})
}

// controls tells what may be done with a job of the project.
func (w *world) controls(of *ci.Pipeline, name string) ci.Controls {
	w.T.Helper()
	j := w.job(of, name)
	found, err := w.ci.Controls(w.T.Context(), w.guest, []*ci.Job{j})
	check(w.T, err)
	hidden, err := w.ci.Controls(w.T.Context(), w.stranger, []*ci.Job{j})
	check(w.T, err)
	equal(w.T, "controls of jobs that are hidden", len(hidden), 0)
	return found[j.ID]
}
