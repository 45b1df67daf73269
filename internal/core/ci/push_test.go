package ci_test

import (
	"strings"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/repo"
)

const oneJob = "build: {script: make}\n"

func TestService_OnPushed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.push("main", files{"README": "hello\n"}, "Begin")
		equal(t, "pipelines without a configuration", len(w.pipelines(w.id, "main")), 0)
		sha := w.push("main", yml("stages: [one, two]\ntest: {stage: two, script: check}\nbuild: {stage: one, script: make}\n"), "Configure")
		p := w.newest("main")
		w.wantStates(p, "pushed", "build:pending test:created = pending")
		equal(t, "commit", p.SHA, sha)
		equal(t, "before", p.Before(), first)
		equal(t, "source", p.Source, ci.ByPush)
		equal(t, "number", p.IID, 1)
		if p.UserID == nil || *p.UserID != w.maintainer.UserID {
			t.Errorf("user %v, want %d", p.UserID, w.maintainer.UserID)
		}
		// A new branch at the same commit has a pipeline of its own.
		w.move(w.id, map[string]string{"refs/heads/twin": sha})
		w.drain()
		equal(t, "number", w.newest("twin").IID, 2)
		equal(t, "before of a new branch", w.newest("twin").Before(), strings.Repeat("0", 40))
		w.move(w.id, map[string]string{"refs/tags/v1": sha})
		w.drain()
		equal(t, "tag", w.newest("v1").Tag, true)
		// A branch that is deleted before the work is done makes none, nor does one that is deleted.
		w.move(w.id, map[string]string{"refs/heads/gone": w.commit(w.id, sha, files{"a": "a"}, "Go")})
		w.move(w.id, map[string]string{"refs/heads/gone": ""})
		w.drain()
		equal(t, "pipelines of a deleted branch", len(w.pipelines(w.id, "gone")), 0)
		// Without builds there are none.
		w.exec("UPDATE projects SET builds_access = 0 WHERE id = ?", w.id)
		w.push("main", files{"README": "bye\n"}, "Go on")
		equal(t, "pipelines of main", len(w.pipelines(w.id, "main")), 1)
	})
}

// pushWith commits on main and pushes it as a user, with options of git push.
func (w *world) pushWith(as authz.Actor, content files, options ...string) *ci.Pipeline {
	w.T.Helper()
	old := w.tip(w.id, "main")
	sha := w.commit(w.id, old, content, "Go")
	check(w.T, w.git(w.id).UpdateRefs(w.T.Context(), update("main", sha)))
	p := w.as(as)
	check(w.T, w.ci.OnPushed(w.T.Context(), repo.Pushed{
		Stamp: as.Stamp(w.now()), ProjectID: w.id, FullPath: p.FullPath, Project: p, Source: repo.ByPush, Options: options,
		Changes: []repo.PushedRef{{RefChange: repo.RefChange{Ref: "refs/heads/main", Old: parse(w.T, old), New: parse(w.T, sha)}}},
	}))
	w.drain()
	return w.newest("main")
}

func TestService_OnPushed_skip(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, text := range []string{"Go [ci skip]", "Go\n\n[SKIP CI]", "[skip-ci] go"} {
			w.push("main", yml(oneJob), text)
			w.wantStates(w.newest("main"), text, "= skipped")
		}
		w.push("main", files{"a": "a"}, "Skip ci")
		w.wantStates(w.newest("main"), "no skip", "build:pending = pending")

		// Options of a push.
		push := func(options ...string) *ci.Pipeline {
			t.Helper()
			return w.pushWith(w.maintainer, files{"a": strings.Join(options, ",")}, options...)
		}
		w.wantStates(push("ci.skip"), "ci.skip", "= skipped")
		made := push("ci.variable=COLOR=blue green", "ci.variable=SIZE=1")
		w.wantStates(made, "ci.variable", "build:pending = pending")
		w.exec("DELETE FROM job_queue WHERE job_id <> ?", w.job(made, "build").ID)
		got := w.take(w.runner("instance_type", nil), "build")
		equal(t, "COLOR", value(got, "COLOR"), "blue green")
		equal(t, "SIZE", value(got, "SIZE"), "1")
	})
}

func TestService_OnPushed_many(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		sha := w.commit(w.id, "", yml(oneJob), "Begin")
		refs := map[string]string{}
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			refs["refs/heads/"+name], refs["refs/tags/t"+name] = sha, sha
		}
		w.move(w.id, refs)
		w.drain()
		branches, tags := 0, 0
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			branches += len(w.pipelines(w.id, name))
			tags += len(w.pipelines(w.id, "t"+name))
		}
		equal(t, "pipelines of branches", branches, 4)
		equal(t, "pipelines of tags", tags, 4)
	})
}

func TestService_OnPushed_invalid(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.push("main", yml("build: {script: make, stage: nowhere}\n"), "Configure")
		p := w.newest("main")
		w.wantStates(p, "invalid", "= failed")
		if p.YAMLErrors == nil || !strings.Contains(*p.YAMLErrors, "chosen stage") || p.FailureReason == nil || *p.FailureReason != ci.ConfigError {
			t.Errorf("errors %v, reason %v", p.YAMLErrors, p.FailureReason)
		}
		if p.FinishedAt == nil {
			t.Error("it has not finished")
		}
		// Neither retrying nor canceling makes it anything else.
		if _, err := w.ci.Retry(t.Context(), w.maintainer, w.as(w.maintainer), p.ID); err != nil {
			t.Errorf("retry: %v", err)
		}
		if _, err := w.ci.Cancel(t.Context(), w.maintainer, w.as(w.maintainer), p.ID); err != nil {
			t.Errorf("cancel: %v", err)
		}
		w.wantStates(p, "retried and canceled", "= failed")
		w.push("main", yml("build: [\n"), "Break")
		if p = w.newest("main"); p.YAMLErrors == nil {
			t.Error("broken YAML has no errors")
		}
	})
}

func TestService_OnPushed_rules(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const text = `
docs: {script: x, rules: [{changes: ["doc/**/*"]}]}
go: {script: x, rules: [{exists: ["**/*.go"]}]}
main: {script: x, rules: [{if: '$CI_COMMIT_BRANCH == "main"'}]}
tag: {script: x, rules: [{if: $CI_COMMIT_TAG}]}
var: {script: x, rules: [{if: $CI_PIPELINE_SOURCE == "push", when: manual, allow_failure: true}]}
`
		w.push("main", files{"a": "a"}, "Begin")
		w.push("main", yml(text), "Configure")
		w.wantStates(w.newest("main"), "no document, no program", "main:pending var:manual = pending")
		w.push("main", files{"doc/a/b.md": "x"}, "Document")
		w.wantStates(w.newest("main"), "a document", "docs:pending main:pending var:manual = pending")
		sha := w.push("main", files{"cmd/x/main.go": "x"}, "Program")
		w.wantStates(w.newest("main"), "a program", "go:pending main:pending var:manual = pending")
		w.move(w.id, map[string]string{"refs/tags/v1": sha})
		w.drain()
		// There is nothing to compare a new reference with, so changes hold.
		w.wantStates(w.newest("v1"), "a tag", "docs:pending go:pending tag:pending var:manual = pending")
		// A workflow or rules that leave out everything make no pipeline of a push, and refuse a call.
		count := len(w.pipelines(w.id, "main"))
		w.push("main", yml("workflow: {rules: [{if: $NO}]}\n"+oneJob), "Filter")
		equal(t, "pipelines of main", len(w.pipelines(w.id, "main")), count)
		_, err := w.ci.Run(t.Context(), w.maintainer, w.as(w.maintainer), ci.RunInput{Ref: "main", Source: ci.ByAPI})
		wantError(t, "filtered", err, errs.Invalid, "workflow:rules</a> configuration")
		made, err := w.ci.Run(t.Context(), w.maintainer, w.as(w.maintainer), ci.RunInput{Ref: "main", Source: ci.ByAPI, Variables: []ci.Variable{{Key: "NO", Value: "yes"}}})
		check(t, err)
		w.wantStates(made, "with the variable", "build:pending = pending")
	})
}

func TestService_Run(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.push("main", yml(oneJob), "Begin")
		w.push("empty", files{"a": "a"}, "Begin")
		w.push("bad", yml("build: {stage: nowhere, script: x}\n"), "Begin")
		w.push("stable", yml(oneJob), "Begin")
		w.protect("stable")
		for _, tt := range []struct {
			name string
			as   authz.Actor
			in   ci.RunInput
			kind errs.Kind
			text string
		}{
			{"no such branch", w.maintainer, ci.RunInput{Ref: "nowhere"}, errs.Invalid, "Reference not found"},
			{"no branch", w.maintainer, ci.RunInput{}, errs.Invalid, "Reference not found"},
			{"another kind of reference", w.maintainer, ci.RunInput{Ref: "refs/pipelines/1"}, errs.Invalid, "Reference not found"},
			{"no configuration", w.maintainer, ci.RunInput{Ref: "empty"}, errs.Invalid, "Missing CI config file"},
			{"invalid", w.maintainer, ci.RunInput{Ref: "bad"}, errs.Invalid, "chosen stage"},
			{"protected", w.developer, ci.RunInput{Ref: "stable"}, errs.Invalid, "You do not have sufficient permission to run a pipeline on 'stable'. Please select a different branch or contact your administrator for assistance."},
			{"reporter", w.reporter, ci.RunInput{Ref: "main"}, errs.Forbidden, ""},
			{"guest", w.guest, ci.RunInput{Ref: "main"}, errs.Forbidden, ""},
			{"bad variable", w.maintainer, ci.RunInput{Ref: "main", Variables: []ci.Variable{{Key: "a-b"}}}, errs.Invalid, "can contain only letters"},
		} {
			tt.in.Source = ci.ByAPI
			_, err := w.ci.Run(t.Context(), tt.as, w.as(tt.as), tt.in)
			wantError(t, tt.name, err, tt.kind, tt.text)
		}
		_, err := w.ci.Run(t.Context(), w.stranger, w.loaded(), ci.RunInput{Ref: "main", Source: ci.ByAPI})
		wantError(t, "stranger", err, errs.NotFound, "")
		for _, ref := range []string{"stable", "refs/heads/stable"} {
			p, err := w.ci.Run(t.Context(), w.maintainer, w.as(w.maintainer), ci.RunInput{Ref: ref, Source: ci.ByAPI})
			check(t, err)
			w.wantStates(p, ref, "build:pending = pending")
			equal(t, ref, p.Ref, "stable")
			equal(t, "protected", p.Protected, true)
		}
		equal(t, "jobs of the failed attempts", len(w.pipelines(w.id, "bad")), 1) // of the push
	})
}

func TestService_Report_besideJobs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin(oneJob)
		runner := w.runner("instance_type", nil)
		report := func(name string, state ci.State) {
			t.Helper()
			if _, _, err := w.ci.Report(t.Context(), w.developer, w.as(w.developer), p.SHA, ci.Input{Name: name, State: state}); err != nil {
				t.Fatalf("report %s: %v", name, err)
			}
		}
		report("lint", ci.Success)
		w.wantStates(p, "reported", "build:pending lint:success = running")
		// A report of the name of a job does not end the job.
		report("build", ci.Success)
		w.wantStates(p, "reported with the name of the job", "build:pending build:success lint:success = running")
		w.run(runner, "build")
		w.wantStates(p, "run", "build:success build:success lint:success = success")
		report("lint", ci.Failed)
		w.wantStates(p, "failed", "build:success build:success lint:failed = failed")
	})
}

// A job of a push that is done again, because the server was killed before it was noted as done, makes no second pipeline; a later push of
// the same commits does.
func TestService_OnPushed_again(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.push("work", yml(oneJob), "Configure")
		first := w.newest("work")
		for i := range 2 {
			w.pass(time.Minute)
			w.mu.Lock()
			last := w.pushes[len(w.pushes)-1]
			w.mu.Unlock()
			check(t, w.ci.RunPushed(t.Context(), last))
			if got := w.newest("work"); got.ID != first.ID || len(w.pipelines(w.id, "work")) != 1 {
				t.Errorf("run again %d: pipeline %d after %d", i, got.ID, first.ID)
			}
		}
		ref, err := gitstore.BranchRef("work")
		check(t, err)
		to, err := gitstore.ParseObjectID(first.SHA)
		check(t, err)
		check(t, w.ci.OnPushed(t.Context(), repo.Pushed{
			Stamp: w.developer.Stamp(w.now()), ProjectID: w.id, Project: w.loaded(), Changes: []repo.PushedRef{{RefChange: repo.RefChange{Ref: ref, New: to}}},
		}))
		w.drain()
		if got := len(w.pipelines(w.id, "work")); got != 2 {
			t.Errorf("a later push of the same: %d pipelines, want 2", got)
		}
	})
}
