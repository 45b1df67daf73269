package ci_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest"
	"tenon/internal/core/runner"
	"tenon/internal/core/variable"
)

func TestService_Request(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin("build: {script: make, timeout: 30 minutes}\nvariables: {COLOR: blue, BOTH: $COLOR-$CI_COMMIT_BRANCH}\n")
		_, _, err := w.ci.Request(t.Context(), ci.Ask{Token: "glrt-wrong"})
		wantError(t, "unknown token", err, errs.Forbidden, "")
		token := w.runner(runner.InstanceType, coretest.Row{"maximum_timeout": 600})
		a := w.take(token, "build")
		if a.Pipeline.ID != p.ID || a.Project.ID != w.id || !strings.HasPrefix(a.Token, "glcbt-") || a.Job.State != ci.Running || a.Job.Timeout != 600 {
			t.Errorf("got %+v of pipeline %d", a.Job, a.Pipeline.ID)
		}
		for key, want := range map[string]string{
			"CI": "true", "COLOR": "blue", "CI_COMMIT_BRANCH": "work", "CI_COMMIT_SHA": p.SHA, "CI_JOB_NAME": "build", "CI_JOB_TOKEN": a.Token,
			"CI_PROJECT_PATH": "group/shop", "CI_PIPELINE_SOURCE": "push", "GITLAB_USER_LOGIN": "mary", "CI_COMMIT_TITLE": "Change", "CI_JOB_TIMEOUT": "600",
		} {
			equal(t, key, value(a, key), want)
		}
		for _, v := range a.Variables {
			if strings.Contains(v.Value, a.Token) && v.Public {
				t.Errorf("%s shows the token of the job", v.Key)
			}
		}
		w.wantStates(p, "taken", "build:running = running")
		if again := w.ask(token); again != nil {
			t.Errorf("it got job %d twice", again.Job.ID)
		}
		if got := w.again(p); got.StartedAt == nil || got.FinishedAt != nil {
			t.Errorf("started %v, finished %v", got.StartedAt, got.FinishedAt)
		}
		if ref, err := w.git(w.id).Resolve(t.Context(), "refs/pipelines/"+value(a, "CI_PIPELINE_ID")); err != nil || ref.Commit.String() != p.SHA {
			t.Errorf("reference of the pipeline: %v, %v", ref, err)
		}
		state, err := w.ci.Finish(t.Context(), w.hold(a), ci.Outcome{State: "running"})
		if err != nil || state != ci.Running {
			t.Errorf("running: %s, %v", state, err)
		}
		if _, err := w.ci.Finish(t.Context(), w.hold(a), ci.Outcome{State: "done"}); !errors.Is(err, ci.ErrUnknownState) {
			t.Errorf("an unknown state: %v", err)
		}
		w.succeed(a)
		w.wantStates(p, "done", "build:success = success")
		w.drain()
		if _, err := w.git(w.id).Resolve(t.Context(), "refs/pipelines/"+value(a, "CI_PIPELINE_ID")); err == nil {
			t.Error("the reference of the pipeline is still there")
		}
	})
}

func TestService_Request_which(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.Project("group/other", authz.Private, w.group)
		w.staff(other)
		elsewhere := w.Group("elsewhere", authz.Private, 0)
		row := func(tags string, more coretest.Row) coretest.Row {
			out := coretest.Row{"tags": tags}
			for k, v := range more {
				out[k] = v
			}
			return out
		}
		const plain, tagged = "job: {script: x}\n", "job: {script: x, tags: [linux, arm]}\n"
		w.protect("stable")
		for _, tt := range []struct {
			name, config, branch string
			token                string
			before               func() // changes the project
			want                 bool
		}{
			{"instance", plain, "work", w.runner(runner.InstanceType, nil), nil, true},
			{"group", plain, "work", w.runner(runner.GroupType, coretest.Row{"namespace_id": w.group}), nil, true},
			{"another group", plain, "work", w.runner(runner.GroupType, coretest.Row{"namespace_id": elsewhere}), nil, false},
			{"project", plain, "work", w.runner(runner.ProjectType, nil, w.id), nil, true},
			{"another project", plain, "work", w.runner(runner.ProjectType, nil, other), nil, false},
			{"paused", plain, "work", w.runner(runner.InstanceType, coretest.Row{"paused": true}), nil, false},
			{"both tags", tagged, "work", w.runner(runner.InstanceType, row(`["arm","big","linux"]`, nil)), nil, true},
			{"one of two tags", tagged, "work", w.runner(runner.InstanceType, row(`["arm"]`, nil)), nil, false},
			{"no tags", tagged, "work", w.runner(runner.InstanceType, nil), nil, false},
			{"tags and an untagged job", plain, "work", w.runner(runner.InstanceType, row(`["arm"]`, nil)), nil, true},
			{"tagged jobs only", plain, "work", w.runner(runner.InstanceType, row(`["arm"]`, coretest.Row{"run_untagged": false})), nil, false},
			{"tagged jobs only, a tagged job", tagged, "work", w.runner(runner.InstanceType, row(`["arm","linux"]`, coretest.Row{"run_untagged": false})), nil, true},
			{"protected, another branch", plain, "work", w.runner(runner.InstanceType, coretest.Row{"ref_protected": true}), nil, false},
			{"protected", plain, "stable", w.runner(runner.InstanceType, coretest.Row{"ref_protected": true}), nil, true},
			{"no instance runners", plain, "work", w.runner(runner.InstanceType, nil), func() { w.exec("UPDATE projects SET shared_runners_enabled = false") }, false},
			{"a group keeps instance runners out", plain, "work", w.runner(runner.InstanceType, nil), func() { w.exec("UPDATE groups SET shared_runners_setting = 'disabled_and_unoverridable'") }, false},
			{"no group runners", plain, "work", w.runner(runner.GroupType, coretest.Row{"namespace_id": w.group}), func() { w.exec("UPDATE projects SET group_runners_enabled = false") }, false},
			{"archived", plain, "work", w.runner(runner.ProjectType, nil, w.id), func() { w.exec("UPDATE projects SET archived = true") }, false},
			{"builds disabled", plain, "work", w.runner(runner.ProjectType, nil, w.id), func() { w.exec("UPDATE projects SET builds_access = 0") }, false},
			{"deleted", plain, "work", w.runner(runner.ProjectType, nil, w.id), func() { w.exec("UPDATE projects SET pending_delete = true") }, false},
		} {
			w.push(tt.branch, yml(tt.config), tt.name)
			if tt.before != nil {
				tt.before()
			}
			got := w.ask(tt.token)
			if (got != nil) != tt.want {
				t.Errorf("%s: got a job: %v, want %v", tt.name, got != nil, tt.want)
			}
			w.exec("UPDATE projects SET archived = false, pending_delete = false, builds_access = 20, shared_runners_enabled = true, group_runners_enabled = true")
			w.exec("DELETE FROM pipelines")
		}
	})
}

func TestService_Request_fair(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.Project("group/other", authz.Private, w.group)
		w.staff(other)
		w.push("work", yml("a: {script: x}\nb: {script: x}\nc: {script: x}\n"), "Begin")
		w.pushTo(other, "work", yml("d: {script: x}\ne: {script: x}\n"), "Begin")
		var got []string
		instance := w.runner(runner.InstanceType, nil)
		for range 5 {
			a := w.ask(instance)
			if a == nil {
				t.Fatal("no job")
			}
			got = append(got, a.Project.FullPath[len("group/"):]+":"+a.Job.Name)
		}
		if want := []string{"shop:a", "other:d", "shop:b", "other:e", "shop:c"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestService_Request_together(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin(oneJob)
		tokens := make([]string, 8)
		for i := range tokens {
			tokens[i] = w.runner(runner.InstanceType, nil)
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[ci.StatusID]int{}
		ask := func(i int) bool {
			a, _, err := w.ci.Request(t.Context(), ci.Ask{Token: tokens[i%len(tokens)], SystemID: "s", Features: features()})
			if err != nil {
				t.Errorf("request: %v", err)
			}
			if err != nil || a == nil {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			got[a.Job.ID]++
			return true
		}
		for i := range 50 {
			all.Go(func() { ask(i) })
		}
		all.Wait()
		if len(got) != 1 || got[w.job(p, "build").ID] != 1 {
			t.Errorf("one job was given as %v", got)
		}

		clear(got)
		var text strings.Builder
		for i := range 40 {
			text.WriteString("job" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + ": {script: x}\n")
		}
		w.begin(text.String())
		for i := range tokens {
			all.Go(func() {
				for ask(i) {
				}
			})
		}
		all.Wait()
		// A runner that only met jobs that others took is told to come again.
		for ask(0) {
		}
		twice := 0
		for _, n := range got {
			if n > 1 {
				twice++
			}
		}
		if len(got) != 40 || twice > 0 {
			t.Errorf("%d of 40 jobs were given, %d more than once", len(got), twice)
		}
	})
}

func TestService_Request_obstacles(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner(runner.InstanceType, nil)
		p := w.begin(oneJob)
		w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.maintainer.UserID)
		if a := w.ask(token); a != nil {
			t.Errorf("a job of a blocked user was given")
		}
		w.wantStates(p, "blocked", "build:failed = failed")
		equal(t, "reason", reason(w.job(p, "build")), ci.UserBlocked)
		w.exec("UPDATE users SET state = 'active' WHERE id = ?", w.maintainer.UserID)

		// A runner that lacks what a job needs.
		p = w.begin("build: {script: x, allow_failure: {exit_codes: 3}}\n")
		a, _, err := w.ci.Request(t.Context(), ci.Ask{Token: token, SystemID: "s"})
		if a != nil || err != nil {
			t.Errorf("got %v, %v", a, err)
		}
		equal(t, "reason", reason(w.job(p, "build")), ci.UnsupportedRunner)

		// Artifacts that a job asks for by name are gone.
		const text = "stages: [one, two]\nbuild: {stage: one, script: x, artifacts: {paths: [a], expire_in: 1 hour}}\ntest: {stage: two, script: x, dependencies: [build]}\n"
		for _, gone := range []bool{false, true} {
			p = w.begin(text)
			a := w.take(token, "build")
			check(t, w.store(a, ci.ArtifactInput{ExpireIn: "1 hour"}, zipped(t, files{"a": "a"})))
			w.succeed(a)
			if gone {
				w.pass(2 * time.Hour)
			}
			got := w.ask(token)
			if gone {
				equal(t, "reason", reason(w.job(p, "test")), ci.MissingDependency)
				if got != nil {
					t.Error("a job without what it depends on was given")
				}
				continue
			}
			if got == nil || len(got.Dependencies) != 1 || got.Dependencies[0].Name != "build" || got.Dependencies[0].Size == 0 {
				t.Fatalf("got %+v", got)
			}
			w.succeed(got)
		}
	})
}

func TestService_Request_waits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.begin(oneJob)
		token := w.runner(runner.InstanceType, nil)
		w.run(token, "build")
		type answer struct {
			got   *ci.Assignment
			value string
			err   error
		}
		ask := func(ctx context.Context, last string) chan answer {
			out := make(chan answer, 1)
			go func() {
				a, value, err := w.ci.Request(ctx, ci.Ask{Token: token, SystemID: "s", LastUpdate: last, Features: features()})
				out <- answer{a, value, err}
			}()
			return out
		}
		waits := func() { t.Helper(); eventually(t, "a runner waits", func() bool { return w.ci.Waiters() == 1 }) }

		first := <-ask(t.Context(), "")
		if first.got != nil || first.err != nil || first.value == "" {
			t.Fatalf("the first request: %+v", first)
		}
		same := <-ask(t.Context(), "other")
		if same.value != first.value {
			t.Errorf("nothing has changed but the value: %s, %s", first.value, same.value)
		}
		// A job that comes wakes it.
		waiting := ask(t.Context(), first.value)
		waits()
		w.begin(oneJob)
		got := <-waiting
		if got.err != nil || got.got == nil || got.value == first.value {
			t.Fatalf("after the push: %+v", got)
		}
		// One that goes away is forgotten.
		value := (<-ask(t.Context(), "")).value
		ctx, cancel := context.WithCancel(t.Context())
		waiting = ask(ctx, value)
		waits()
		cancel()
		if got = <-waiting; got.got != nil {
			t.Errorf("a runner that went away got a job")
		}
		equal(t, "waiting runners", w.ci.Waiters(), 0)
		// Pausing wakes it, and it gets nothing although a job is there.
		value = (<-ask(t.Context(), "")).value
		waiting = ask(t.Context(), value)
		waits()
		id, err := db.Get[runner.ID](t.Context(), w.DB, "SELECT id FROM runners")
		check(t, err)
		pause := func(paused bool) {
			t.Helper()
			w.exec("UPDATE runners SET paused = ?", paused)
			all, err := w.runners.Load(t.Context(), []runner.ID{id})
			check(t, err)
			check(t, w.DB.InTx(t.Context(), func(ctx context.Context) error {
				return w.Bus.Publish(ctx, runner.Updated{Of: change.About(w.owner, w.now(), authz.Place{}, all[id])})
			}))
		}
		pause(true)
		if got = <-waiting; got.got != nil || got.err != nil {
			t.Errorf("paused: %+v", got)
		}
		w.begin(oneJob)
		paused := <-ask(t.Context(), got.value)
		if paused.got != nil || paused.err != nil {
			t.Errorf("a paused runner asks: %+v", paused)
		}
		pause(false)
		if got = <-ask(t.Context(), paused.value); got.got == nil {
			t.Errorf("after unpausing: %+v", got)
		}
		// A server that stops lets it go.
		value = (<-ask(t.Context(), "")).value
		waiting = ask(t.Context(), value)
		waits()
		check(t, w.ci.Stop(t.Context()))
		if got = <-waiting; got.err != nil || got.got != nil {
			t.Errorf("after the stop: %+v", got)
		}
	})
}

func TestService_Request_pausedWhileWaiting(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner(runner.InstanceType, nil)
		_, value, err := w.ci.Request(t.Context(), ci.Ask{Token: token, SystemID: "s"})
		check(t, err)
		out := make(chan *ci.Assignment, 1)
		go func() {
			a, _, _ := w.ci.Request(t.Context(), ci.Ask{Token: token, SystemID: "s", LastUpdate: value})
			out <- a
		}()
		eventually(t, "a runner waits", func() bool { return w.ci.Waiters() == 1 })
		w.exec("UPDATE runners SET paused = true")
		p := w.begin(oneJob)
		if got := <-out; got != nil {
			t.Errorf("a runner that was paused while it waited got job %d", got.Job.ID)
		}
		w.wantStates(p, "asked for", "build:pending = pending")
	})
}

func TestService_Request_variables(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.as(w.maintainer)
		for _, in := range []variable.Input{
			{Key: "PLAIN", Value: "of the project"},
			{Key: "SECRET", Value: "pearl-of-the-project", Masked: true},
			{Key: "FILE", Value: "a file", Type: variable.File},
			{Key: "GUARDED", Value: "guarded", Protected: true},
			{Key: "COLOR", Value: "of the project"},
			{Key: "GIVEN", Value: "of the project"},
			{Key: "DEPLOY", Value: "everywhere"},
			{Key: "DEPLOY", Value: "in production", Scope: "production"},
		} {
			if _, err := w.variables.Create(t.Context(), w.maintainer, p.Place(), in); err != nil {
				t.Fatalf("%s: %v", in.Key, err)
			}
		}
		token := w.runner(runner.InstanceType, nil)
		w.push("work", yml("build: {script: x, variables: {COLOR: of the configuration, OWN: $PLAIN}}\ndeploy: {script: x, environment: production}\n"), "Begin [skip ci]")
		run := func() (build, deploy *ci.Assignment) {
			t.Helper()
			_, err := w.ci.Run(t.Context(), w.maintainer, p, ci.RunInput{Ref: "work", Source: ci.ByAPI, Variables: []ci.Variable{{Key: "GIVEN", Value: "of the run"}}})
			check(t, err)
			return w.take(token, "build"), w.take(token, "deploy")
		}
		build, deploy := run()
		for key, want := range map[string]string{
			"PLAIN": "of the project", "SECRET": "pearl-of-the-project", "FILE": "a file", "GUARDED": "", "COLOR": "of the project", "GIVEN": "of the run", "DEPLOY": "everywhere",
		} {
			equal(t, key, value(build, key), want)
		}
		equal(t, "DEPLOY in production", value(deploy, "DEPLOY"), "in production")
		for _, v := range build.Variables {
			if v.Key == "SECRET" && (!v.Masked || v.Public) || v.Key == "FILE" && !v.File {
				t.Errorf("%+v", v)
			}
		}
		w.protect("work")
		build, _ = run()
		equal(t, "GUARDED on a protected branch", value(build, "GUARDED"), "guarded")
		if got := w.holding("pearl-of"); len(got) > 0 {
			t.Errorf("the value of a variable stands in %v", got)
		}
	})
}

// Runners that may not take a job do not keep one from it that may.
func TestService_Request_wakesTheRightOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.ci.SetPoll(time.Minute)
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		wait := func(token string) chan *ci.Assignment {
			t.Helper()
			before := w.ci.Waiters()
			_, value, err := w.ci.Request(ctx, ci.Ask{Token: token, SystemID: "s"})
			check(t, err)
			out := make(chan *ci.Assignment, 1)
			all.Go(func() {
				a, _, _ := w.ci.Request(ctx, ci.Ask{Token: token, SystemID: "s", LastUpdate: value, Features: features()})
				out <- a
			})
			eventually(t, "a runner waits", func() bool { return w.ci.Waiters() == before+1 })
			return out
		}
		for range 8 {
			wait(w.runner(runner.InstanceType, coretest.Row{"tags": `["arm"]`, "run_untagged": false}))
		}
		right := wait(w.runner(runner.InstanceType, nil))
		w.push("work", yml(oneJob), "Begin")
		select {
		case a := <-right:
			if a == nil {
				t.Error("the runner was woken and got nothing")
			}
		case <-time.After(30 * time.Second):
			t.Error("the runner that may take the job was not woken")
		}
		cancel()
		all.Wait()
		equal(t, "waiting runners", w.ci.Waiters(), 0)
	})
}
