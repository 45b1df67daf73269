package ci_test

import (
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
)

const twoStages = "stages: [one, two]\nbuild: {stage: one, script: x}\ntest: {stage: two, script: x}\n"

func TestService_RetryJob(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin(twoStages + "deploy: {stage: two, script: x, when: manual}\n")
		token := w.runner("instance_type", nil)
		retry := func(who authz.Actor, id ci.StatusID) (*ci.Job, error) {
			return w.ci.RetryJob(t.Context(), who, w.as(who), id)
		}
		first := w.take(token, "build")
		_, err := retry(w.developer, first.Job.ID)
		wantError(t, "running", err, errs.Forbidden, "Job is not retryable")
		w.fail(first)
		w.wantStates(p, "failed", "build:failed deploy:skipped test:skipped = failed")
		equal(t, "reason", reason(w.job(p, "build")), ci.ScriptFailure)
		_, err = retry(w.reporter, first.Job.ID)
		wantError(t, "reporter", err, errs.Forbidden, "")
		_, err = retry(w.developer, w.job(p, "test").ID)
		wantError(t, "skipped", err, errs.Forbidden, "Job is not retryable")
		made, err := retry(w.developer, first.Job.ID)
		check(t, err)
		if made.ID == first.Job.ID || made.State != ci.Pending || *made.AuthorID != w.developer.UserID || made.Attempt != 1 || made.QueuedAt == nil {
			t.Errorf("retried as %+v", made)
		}
		w.wantStates(p, "retried", "build:pending deploy:created test:created = pending")
		if w.again(p).FinishedAt != nil {
			t.Error("it goes on and has finished")
		}
		_, err = retry(w.developer, first.Job.ID)
		wantError(t, "twice", err, errs.Forbidden, "Job is not retryable")
		w.run(token, "build")
		w.run(token, "test")
		w.wantStates(p, "run", "build:success deploy:manual test:success = success")

		// A manual job that is retried starts at once.
		deploy, err := w.ci.PlayJob(t.Context(), w.developer, w.as(w.developer), w.job(p, "deploy").ID, nil)
		check(t, err)
		w.fail(w.take(token, "deploy"))
		_, err = retry(w.developer, deploy.ID)
		check(t, err)
		w.run(token, "deploy")
		w.wantStates(p, "at the end", "build:success deploy:success test:success = success")
		// One that has succeeded may be run again.
		_, err = retry(w.developer, w.job(p, "test").ID)
		check(t, err)
		w.wantStates(p, "test again", "build:success deploy:success test:pending = running")
		list, err := w.ci.JobsOf(t.Context(), w.guest, w.as(w.guest), p.ID, ci.JobFilter{Retried: true})
		check(t, err)
		equal(t, "jobs with those that were retried", len(list.Items), 6)
		w.protect("work")
		_, err = retry(w.developer, w.job(p, "build").ID)
		wantError(t, "on a protected branch", err, errs.Forbidden, "")
	})
}

func TestService_RetryJob_needs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin("stages: [one, two, three]\na: {stage: one, script: x}\nb: {stage: one, script: x}\nc: {stage: two, script: x, needs: [a]}\nd: {stage: three, script: x, needs: [c]}\ne: {stage: three, script: x, needs: [b]}\n")
		token := w.runner("instance_type", nil)
		a, b := w.take(token, "a"), w.take(token, "b")
		w.fail(a)
		w.wantStates(p, "a failed", "a:failed b:running c:skipped d:skipped e:created = running")
		w.fail(b)
		w.wantStates(p, "b failed", "a:failed b:failed c:skipped d:skipped e:skipped = failed")
		_, err := w.ci.RetryJob(t.Context(), w.developer, w.as(w.developer), a.Job.ID)
		check(t, err)
		w.wantStates(p, "a again", "a:pending b:failed c:created d:created e:skipped = running")
		w.run(token, "a")
		w.run(token, "c")
		w.run(token, "d")
		w.wantStates(p, "run", "a:success b:failed c:success d:success e:skipped = failed")
	})
}

func TestService_Retry(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin("stages: [one, two]\na: {stage: one, script: x}\nb: {stage: one, script: x}\nc: {stage: one, script: x}\ntest: {stage: two, script: x}\nnotify: {stage: two, script: x, when: on_failure}\n")
		token := w.runner("instance_type", nil)
		w.fail(w.take(token, "a"))
		w.run(token, "b")
		w.end(w.take(token, "c"), ci.Outcome{State: "failed", Reason: "made up"})
		equal(t, "reason", reason(w.job(p, "c")), ci.UnknownFailure)
		w.wantStates(p, "failed", "a:failed b:success c:failed notify:pending test:skipped = running")
		w.run(token, "notify")
		_, err := w.ci.Retry(t.Context(), w.reporter, w.as(w.reporter), p.ID)
		wantError(t, "reporter", err, errs.Forbidden, "")
		got, err := w.ci.Retry(t.Context(), w.developer, w.as(w.developer), p.ID)
		check(t, err)
		equal(t, "state", got.State, ci.Running)
		w.wantStates(p, "retried", "a:pending b:success c:pending notify:success test:created = running")
		w.run(token, "a")
		w.run(token, "c")
		w.run(token, "test")
		w.wantStates(p, "run", "a:success b:success c:success notify:success test:success = success")
	})
}

func TestService_Finish_retries(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		code := func(n int64) *int64 { return &n }
		for _, tt := range []struct {
			name, retry string
			outcomes    []ci.Outcome // of each attempt
			want        string
		}{
			{"none", "0", []ci.Outcome{{State: "failed", Reason: "script_failure"}}, "build:failed = failed"},
			{"twice", "2", []ci.Outcome{{State: "failed"}, {State: "failed"}, {State: "failed"}}, "build:failed = failed"},
			{"once, then success", "2", []ci.Outcome{{State: "failed"}, {State: "success"}}, "build:success = success"},
			{"when", "{max: 1, when: runner_system_failure}", []ci.Outcome{{State: "failed", Reason: "runner_system_failure"}, {State: "success"}}, "build:success = success"},
			{"when not", "{max: 1, when: runner_system_failure}", []ci.Outcome{{State: "failed", Reason: "script_failure"}}, "build:failed = failed"},
			{"when one of them", "{max: 1, when: [api_failure, script_failure]}", []ci.Outcome{{State: "failed", Reason: "script_failure"}, {State: "success"}}, "build:success = success"},
			{"always", "{max: 1, when: always}", []ci.Outcome{{State: "failed", Reason: "api_failure"}, {State: "success"}}, "build:success = success"},
			{"exit code", "{max: 1, exit_codes: [3, 4]}", []ci.Outcome{{State: "failed", ExitCode: code(4)}, {State: "success"}}, "build:success = success"},
			{"another exit code", "{max: 1, exit_codes: [3, 4]}", []ci.Outcome{{State: "failed", ExitCode: code(5)}}, "build:failed = failed"},
		} {
			p := w.begin("build: {script: x, retry: " + tt.retry + "}\n")
			for _, o := range tt.outcomes {
				w.end(w.take(token, "build"), o)
			}
			w.wantStates(p, tt.name, tt.want)
			if a := w.ask(token); a != nil {
				t.Errorf("%s: attempt %d is one too many", tt.name, a.Job.Attempt+1)
			}
		}
		// A manual job goes on by itself too.
		p := w.begin("build: {script: x, when: manual, retry: 1}\n")
		_, err := w.ci.PlayJob(t.Context(), w.developer, w.as(w.developer), w.job(p, "build").ID, []ci.Variable{{Key: "COLOR", Value: "red"}})
		check(t, err)
		w.fail(w.take(token, "build"))
		again := w.take(token, "build")
		equal(t, "COLOR of the next attempt", value(again, "COLOR"), "red")
		w.succeed(again)
		w.wantStates(p, "manual", "build:success = success")
		// Exit codes that are allowed.
		for exit, want := range map[int64]string{3: "build:failed = success", 4: "build:failed = failed"} {
			p := w.begin("build: {script: x, allow_failure: {exit_codes: [3]}}\n")
			w.end(w.take(token, "build"), ci.Outcome{State: "failed", Reason: ci.ScriptFailure, ExitCode: &exit})
			w.wantStates(p, "an exit code", want)
		}
		// What no other attempt would change is not tried again.
		p = w.begin("build: {script: x, retry: 2}\n")
		w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.maintainer.UserID)
		if a := w.ask(token); a != nil {
			t.Error("a job of a blocked user was given")
		}
		w.wantStates(p, "blocked", "build:failed = failed")
	})
}

func TestService_PlayJob(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin("stages: [one, two]\ngate: {stage: one, script: x, when: manual, allow_failure: false}\ntest: {stage: two, script: x, variables: {COLOR: blue}}\n")
		token := w.runner("instance_type", nil)
		w.wantStates(p, "at first", "gate:manual test:created = manual")
		play := func(who authz.Actor, name string, vars ...ci.Variable) error {
			_, err := w.ci.PlayJob(t.Context(), who, w.as(who), w.job(p, name).ID, vars)
			return err
		}
		wantError(t, "reporter", play(w.reporter, "gate"), errs.Forbidden, "")
		wantError(t, "no manual job", play(w.developer, "test"), errs.BadRequest, "Unplayable Job")
		wantError(t, "bad variable", play(w.developer, "gate", ci.Variable{Key: "a b"}), errs.Invalid, "")
		if a := w.ask(token); a != nil {
			t.Errorf("the runner got %s", a.Job.Name)
		}
		check(t, play(w.developer, "gate", ci.Variable{Key: "COLOR", Value: "red"}, ci.Variable{Key: "CI_COMMIT_SHA", Value: "mine"}))
		wantError(t, "twice", play(w.developer, "gate"), errs.BadRequest, "Unplayable Job")
		a := w.take(token, "gate")
		equal(t, "COLOR", value(a, "COLOR"), "red")
		equal(t, "user", value(a, "GITLAB_USER_LOGIN"), "dave")
		w.succeed(a)
		a = w.take(token, "test")
		equal(t, "COLOR of another job", value(a, "COLOR"), "blue")
		w.succeed(a)
		w.wantStates(p, "run", "gate:success test:success = success")

		p = w.begin("gate: {script: x, when: manual}\n")
		w.protect("work")
		wantError(t, "on a protected branch", play(w.developer, "gate"), errs.Forbidden, "")
		check(t, play(w.maintainer, "gate"))
	})
}

func TestService_Cancel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		const text = "stages: [one, two]\na: {stage: one, script: x}\nb: {stage: one, script: x}\ngate: {stage: one, script: x, when: manual, allow_failure: true}\nlate: {stage: one, script: x, when: delayed, start_in: 1 hour}\ntest: {stage: two, script: x}\nclean: {stage: two, script: x, when: always}\n"
		p := w.begin(text)
		a := w.take(token, "a")
		w.wantStates(p, "before", "a:running b:pending gate:manual late:scheduled clean:created test:created = running")
		_, err := w.ci.Cancel(t.Context(), w.reporter, w.as(w.reporter), p.ID)
		wantError(t, "reporter", err, errs.Forbidden, "")
		got, err := w.ci.Cancel(t.Context(), w.developer, w.as(w.developer), p.ID)
		check(t, err)
		w.wantStates(p, "canceled", "a:canceled b:canceled gate:canceled late:canceled clean:canceled test:canceled = canceled")
		if got.State != ci.Canceled || got.FinishedAt == nil {
			t.Errorf("%s, finished at %v", got.State, got.FinishedAt)
		}
		if _, err = w.ci.Hold(t.Context(), a.Job.ID, a.Token); !errs.Is(err, errs.Forbidden) {
			t.Errorf("the canceled job is held: %v", err)
		}
		if one := w.ask(token); one != nil {
			t.Errorf("the runner got %s", one.Job.Name)
		}
		w.pass(2 * time.Hour)
		w.wakeDelayed()
		w.wantStates(p, "two hours later", "a:canceled b:canceled gate:canceled late:canceled clean:canceled test:canceled = canceled")
		// What was canceled may be retried.
		_, err = w.ci.Retry(t.Context(), w.developer, w.as(w.developer), p.ID)
		check(t, err)
		w.wantStates(p, "retried", "a:pending b:pending gate:manual late:scheduled clean:created test:created = pending")
	})
}

func TestService_CancelJob(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		cancel := func(who authz.Actor, id ci.StatusID, force bool) (*ci.Job, error) {
			if force {
				return w.ci.ForceCancelJob(t.Context(), who, w.as(who), id)
			}
			return w.ci.CancelJob(t.Context(), who, w.as(who), id)
		}
		p := w.begin(twoStages)
		j, err := cancel(w.developer, w.job(p, "build").ID, false)
		if err != nil || j.State != ci.Canceled {
			t.Fatalf("pending: %v, %v", j, err)
		}
		w.wantStates(p, "pending", "build:canceled test:skipped = canceled")
		if j, err = cancel(w.developer, j.ID, false); err != nil || j.State != ci.Canceled {
			t.Errorf("twice: %v, %v", j, err)
		}

		// A runner that can runs what comes after the script.
		graceful := features()
		graceful["cancel_gracefully"] = true
		take := func() *ci.Assignment {
			t.Helper()
			p = w.begin(twoStages)
			a, _, err := w.ci.Request(t.Context(), ci.Ask{Token: token, SystemID: "s", Features: graceful})
			check(t, err)
			return a
		}
		a := take()
		if j, err = cancel(w.developer, a.Job.ID, false); err != nil || j.State != ci.Canceling {
			t.Fatalf("running: %v, %v", j, err)
		}
		w.wantStates(p, "canceling", "build:canceling test:created = running")
		size, state, err := w.ci.Append(t.Context(), w.hold(a), 0, []byte("cleaning\n"))
		if err != nil || size != 9 || state != ci.Canceling {
			t.Errorf("log of a job that is canceling: %d, %s, %v", size, state, err)
		}
		state, err = w.ci.Finish(t.Context(), w.hold(a), ci.Outcome{State: "success"})
		if err != nil || state != ci.Canceled {
			t.Errorf("end: %s, %v", state, err)
		}
		w.wantStates(p, "ended", "build:canceled test:skipped = canceled")
		a = take()
		_, err = cancel(w.developer, a.Job.ID, false)
		check(t, err)
		_, err = cancel(w.developer, a.Job.ID, true)
		wantError(t, "force as developer", err, errs.Forbidden, "")
		if j, err = cancel(w.maintainer, a.Job.ID, true); err != nil || j.State != ci.Canceled {
			t.Errorf("force: %v, %v", j, err)
		}
		// Its runner is not heard of again.
		a = take()
		_, err = cancel(w.developer, a.Job.ID, false)
		check(t, err)
		w.pass(2 * time.Hour)
		check(t, w.ci.EndStuck(t.Context(), ci.Stuck{}))
		w.wantStates(p, "two hours later", "build:canceled test:skipped = canceled")
	})
}

func TestService_Run_cancelsOlder(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		const plain = "stages: [one, two]\na: {stage: one, script: x, interruptible: true}\nb: {stage: two, script: x, tags: [none]}\n"
		newer := func() { t.Helper(); w.push("work", files{"n": w.now().String()}, "Change") }

		older := w.begin(plain)
		newer()
		w.wantStates(older, "nothing has started", "a:canceled b:canceled = canceled")
		w.wantStates(w.newest("work"), "the newer one", "a:pending b:created = pending")
		older = w.newest("work")
		a := w.take(token, "a")
		newer()
		w.wantStates(older, "an interruptible job runs", "a:canceled b:canceled = canceled")
		if _, err := w.ci.Hold(t.Context(), a.Job.ID, a.Token); !errs.Is(err, errs.Forbidden) {
			t.Errorf("it is held still: %v", err)
		}

		const uninterruptible = "stages: [one, two]\na: {stage: one, script: x}\nb: {stage: two, script: x, interruptible: true}\n"
		w.push("other", yml(uninterruptible), "Begin")
		older = w.newest("other")
		w.exec("DELETE FROM job_queue WHERE project_id = ? AND job_id <> ?", w.id, w.job(older, "a").ID)
		w.take(token, "a")
		w.push("other", files{"n": "1"}, "Change")
		w.wantStates(older, "a job that must not be interrupted has started", "a:running b:created = running")

		w.push("third", yml("workflow: {auto_cancel: {on_new_commit: interruptible}}\n"+uninterruptible), "Begin")
		older = w.newest("third")
		w.push("third", files{"n": "1"}, "Change")
		w.wantStates(older, "only interruptible jobs", "a:pending b:canceled = running")

		w.push("fourth", yml("workflow: {auto_cancel: {on_new_commit: none}}\n"+plain), "Begin")
		older = w.newest("fourth")
		w.push("fourth", files{"n": "1"}, "Change")
		w.wantStates(older, "none", "a:pending b:created = pending")

		w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"}`)
		older = w.newest("work")
		newer()
		w.wantStates(older, "the project does not want it", "a:pending b:created = pending")
	})
}

func TestService_delayed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		p := w.begin("stages: [one, two]\nlate: {stage: one, script: x, when: delayed, start_in: 30 minutes}\ntest: {stage: two, script: x}\n")
		w.wantStates(p, "at first", "late:scheduled test:created = scheduled")
		if at := w.job(p, "late").ScheduledAt; at == nil || at.Sub(w.now()) < 29*time.Minute || at.Sub(w.now()) > 30*time.Minute {
			t.Errorf("scheduled at %v", at)
		}
		// A queue whose clock is ahead does not lose it.
		w.wakeDelayed()
		w.wantStates(p, "too early", "late:scheduled test:created = scheduled")
		w.pass(31 * time.Minute)
		w.wakeDelayed()
		w.wantStates(p, "half an hour later", "late:pending test:created = pending")
		w.run(token, "late")
		w.run(token, "test")
		w.wantStates(p, "run", "late:success test:success = success")
		// A user who cannot wait starts it.
		p = w.begin("late: {script: x, when: delayed, start_in: 30 minutes}\n")
		_, err := w.ci.PlayJob(t.Context(), w.developer, w.as(w.developer), w.job(p, "late").ID, nil)
		check(t, err)
		w.run(token, "late")
		w.pass(time.Hour)
		w.wakeDelayed()
		w.wantStates(p, "played", "late:success = success")
	})
}

func TestService_EndStuck(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		stuck := func() { t.Helper(); check(t, w.ci.EndStuck(t.Context(), ci.Stuck{})) }
		p := w.begin("build: {script: x, tags: [none]}\n")
		w.pass(23 * time.Hour)
		stuck()
		w.wantStates(p, "almost a day", "build:pending = pending")
		w.pass(2 * time.Hour)
		stuck()
		w.wantStates(p, "more than a day", "build:failed = failed")
		equal(t, "reason", reason(w.job(p, "build")), ci.StuckFailure)

		p = w.begin("build: {script: x, timeout: 10 hours}\n")
		a := w.take(token, "build")
		w.pass(50 * time.Minute)
		w.hold(a)
		w.pass(50 * time.Minute)
		stuck()
		w.wantStates(p, "heard of", "build:running = running")
		w.pass(15 * time.Minute)
		stuck()
		w.wantStates(p, "silent", "build:failed = failed")
		equal(t, "reason", reason(w.job(p, "build")), ci.StuckFailure)

		p = w.begin("build: {script: x, timeout: 30 minutes}\n")
		a = w.take(token, "build")
		for range 5 {
			w.pass(10 * time.Minute)
			if _, err := w.ci.Hold(t.Context(), a.Job.ID, a.Token); err != nil {
				t.Errorf("hold: %v", err)
			}
			stuck()
		}
		w.wantStates(p, "too long, though heard of", "build:failed = failed")
		equal(t, "reason", reason(w.job(p, "build")), ci.TimeoutFailure)
		left, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM job_queue")
		if err != nil || left != 0 {
			t.Errorf("%d jobs, %v, are queued", left, err)
		}
	})
}

func TestService_Delete(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin(twoStages)
		token := w.runner("instance_type", nil)
		a := w.take(token, "build")
		_, _, err := w.ci.Append(t.Context(), w.hold(a), 0, []byte("a log\n"))
		check(t, err)
		w.archive(a, files{"a": "a"})
		w.succeed(a)
		w.drain()
		a = w.take(token, "test")
		equal(t, "objects", w.kept(), 2)
		wantError(t, "maintainer", w.ci.Delete(t.Context(), w.maintainer, w.as(w.maintainer), p.ID), errs.Forbidden, "")
		check(t, w.ci.Delete(t.Context(), w.owner, w.as(w.owner), p.ID))
		w.drain()
		equal(t, "objects", w.kept(), 0)
		for _, table := range []string{"pipelines", "commit_statuses", "jobs", "job_queue", "job_artifacts", "job_log_pieces"} {
			n, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM "+table)
			if err != nil || n != 0 {
				t.Errorf("%s: %d rows, %v", table, n, err)
			}
		}
		if _, err := w.git(w.id).Resolve(t.Context(), "refs/pipelines/"+value(a, "CI_PIPELINE_ID")); err == nil {
			t.Error("the reference of the pipeline is still there")
		}
		_, err = w.ci.Hold(t.Context(), a.Job.ID, a.Token)
		wantError(t, "hold", err, errs.Forbidden, "")
		wantError(t, "twice", w.ci.Delete(t.Context(), w.owner, w.as(w.owner), p.ID), errs.NotFound, "")
	})
}

// A job of a pipeline that is full ends, although its configuration wants another attempt.
func TestService_Finish_full(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin("build: {script: x, retry: 2}\n")
		a := w.take(w.runner("instance_type", nil), "build")
		if _, _, err := w.ci.Report(t.Context(), w.developer, w.as(w.developer), p.SHA, ci.Input{Name: "lint", State: ci.Success}); err != nil {
			t.Fatal(err)
		}
		for range 10 { // 1024 reports
			w.exec(`INSERT INTO commit_statuses (pipeline_id, project_id, kind, name, stage, stage_idx, ref, status, retried, allow_failure, created_at, updated_at)
				SELECT pipeline_id, project_id, kind, name, stage, stage_idx, ref, status, true, allow_failure, created_at, updated_at FROM commit_statuses WHERE kind = 'external'`)
		}
		w.fail(a)
		w.wantStates(p, "failed", "build:failed lint:success = failed")
		_, err := w.ci.RetryJob(t.Context(), w.developer, w.as(w.developer), a.Job.ID)
		wantError(t, "retry", err, errs.Unprocessable, "The number of jobs has exceeded the limit")
		w.wantStates(p, "refused", "build:failed lint:success = failed")
	})
}

// A pipeline that is a success although a job failed says so.
func TestService_Course_warned(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin("lint: {script: x, allow_failure: true}\nbuild: {script: x}\n")
		token := w.runner("instance_type", nil)
		w.fail(w.take(token, "lint"))
		course, err := w.ci.Course(t.Context(), w.again(p))
		check(t, err)
		equal(t, "while it runs", course.Warned, false)
		w.run(token, "build")
		p = w.again(p)
		course, err = w.ci.Course(t.Context(), p)
		check(t, err)
		d := p.State.Detail(course.Warned)
		equal(t, "state", p.State, ci.Success)
		equal(t, "icon, group and label", d.Icon+", "+d.Group+", "+d.Label, "status_warning, success-with-warnings, passed with warnings")
	})
}
