package mergerequest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
	"tenon/internal/core/variable"
)

// piped is a world whose pipelines run, and a runner of the instance.
type piped struct {
	*world
	token string
}

func (w *world) piped() *piped {
	w.T.Helper()
	event.On(w.Bus, "automatic merges", w.requests.OnPipelineChanged)
	w.checks.Subscribe(w.Bus)
	p := &piped{world: w, token: secret.NewToken("glrt-")}
	w.Insert("runners", coretest.Row{"runner_type": "instance_type", "digest": secret.Digest(p.token), "tags": "[]", "run_untagged": true})
	return p
}

// eachPiped runs fn with a configuration on main that has the job "test" for merge requests and "lint" for branches.
func eachPiped(t *testing.T, fn func(t *testing.T, w *piped)) {
	t.Helper()
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		p := w.piped()
		p.push("main", "", files{".gitlab-ci.yml": testAndLint}, "Configure [skip ci]")
		p.drain()
		fn(t, p)
	})
}

const testAndLint = `
test:
  script: [make test]
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
lint:
  script: [make lint]
  except: [main]
`

// ask takes the next job for the runner, which must have the name; "" for none.
func (w *piped) ask(name string) *ci.Assignment {
	w.T.Helper()
	features := map[string]bool{"upload_multiple_artifacts": true, "return_exit_code": true}
	a, _, err := w.checks.Request(w.T.Context(), ci.Ask{Token: w.token, SystemID: "s_1", Features: features, Address: "127.0.0.1"})
	check(w.T, err)
	got := ""
	if a != nil {
		got = a.Job.Name
	}
	if got != name {
		w.T.Fatalf("the runner got %q, want %q", got, name)
	}
	return a
}

func (w *piped) end(a *ci.Assignment, state string) {
	w.T.Helper()
	h, err := w.checks.Hold(w.T.Context(), a.Job.ID, a.Token)
	check(w.T, err)
	_, err = w.checks.Finish(w.T.Context(), h, ci.Outcome{State: state, Reason: "script_failure"})
	check(w.T, err)
	w.drain()
}

// run has the next job end in a state.
func (w *piped) run(name, state string) *ci.Assignment {
	w.T.Helper()
	a := w.ask(name)
	w.end(a, state)
	return a
}

// idle ends all branch pipelines, whose jobs the runner would get as well.
func (w *piped) idle() {
	w.T.Helper()
	w.exec("DELETE FROM job_queue WHERE job_id IN (SELECT s.id FROM commit_statuses s WHERE s.name = 'lint')")
}

func (w *piped) list(m *mergerequest.MergeRequest) []ci.InProject {
	w.T.Helper()
	p := w.Find(w.owner, m.ProjectID)
	list, err := w.requests.Pipelines(w.T.Context(), w.owner, p, m.IID, ci.PipelineFilter{})
	check(w.T, err)
	return list.Items
}

// own lists the pipelines of a request without those of its branch.
func (w *piped) own(m *mergerequest.MergeRequest) (out []ci.InProject) {
	w.T.Helper()
	for _, p := range w.list(m) {
		if p.Source == ci.ByMergeRequest {
			out = append(out, p)
		}
	}
	return out
}

// lines says which pipelines a request has, the newest first: those of its own, and behind a bar those of its branch.
func (w *piped) lines(m *mergerequest.MergeRequest) string {
	w.T.Helper()
	var own, branch []string
	for _, p := range w.list(m) {
		if p.Source == ci.ByMergeRequest {
			own = append(own, strings.TrimPrefix(p.Ref, "refs/merge-requests/")+" "+string(p.State))
		} else {
			branch = append(branch, p.Ref+" "+string(p.State))
		}
	}
	return strings.Join(own, ", ") + " | " + strings.Join(branch, ", ")
}

// both takes two jobs, which may come in any order.
func (w *piped) both() map[string]*ci.Assignment {
	w.T.Helper()
	out := map[string]*ci.Assignment{}
	for range 2 {
		a, _, err := w.checks.Request(w.T.Context(), ci.Ask{Token: w.token, SystemID: "s_1", Address: "127.0.0.1"})
		check(w.T, err)
		if a != nil {
			out[a.Job.Name] = a
		}
	}
	return out
}

func (w *piped) start(who authz.Actor, m *mergerequest.MergeRequest) (*ci.Pipeline, *project.Project, error) {
	w.T.Helper()
	made, in, err := w.requests.RunPipeline(w.T.Context(), who, w.as(who), m.IID)
	if err == nil {
		w.drain()
	}
	return made, in, err
}

// settings changes settings of the project, as JSON.
func (w *piped) settings(text string) {
	w.T.Helper()
	w.exec("UPDATE projects SET settings = ? WHERE id = ?", text, w.id)
}

// value returns a variable of a job; has is false where it has none.
func value(a *ci.Assignment, key string) (out string, has bool) {
	for _, v := range a.Variables {
		if v.Key == key {
			out, has = v.Value, true
		}
	}
	return out, has
}

func wantValues(t *testing.T, a *ci.Assignment, want map[string]string) {
	t.Helper()
	for key, text := range want {
		if got, has := value(a, key); !has || got != text {
			t.Errorf("%s: got %q, %t, want %q", key, got, has, text)
		}
	}
}

// A merge request has a pipeline of its own when it is created and when its branch is pushed to, beside that of the branch.
func TestService_RunPipeline(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		m := w.open("topic", files{"c": "c\n"})
		w.drain()
		w.drain()
		equal(t, "pipelines", w.lines(m), "1/head pending | topic pending")
		first := w.own(m)[0]
		equal(t, "commit", first.SHA, m.HeadSHA)
		equal(t, "protected", first.Protected, false)
		equal(t, "user", *first.UserID, w.developer.UserID)
		found, err := w.checks.List(t.Context(), w.reporter, w.as(w.reporter), ci.PipelineFilter{Source: ci.ByMergeRequest, Ref: "refs/merge-requests/1/head"})
		check(t, err)
		equal(t, "found by source and reference", len(found.Items), 1)
		found, err = w.checks.List(t.Context(), w.reporter, w.as(w.reporter), ci.PipelineFilter{Scope: "branches"})
		check(t, err)
		for _, p := range found.Items {
			equal(t, "source of what runs on branches", p.Source, ci.ByPush)
		}
		view, err := w.requests.Builds(t.Context(), w.reporter, w.as(w.reporter), m)
		check(t, err)
		equal(t, "head pipeline", view.Head.ID, first.ID)

		// A push cancels the pipelines of the commit before.
		w.push("topic", "", files{"c": "d\n"}, "Change c")
		w.drain()
		equal(t, "pipelines after a push", w.lines(m), "1/head pending, 1/head canceled | topic pending, topic canceled")
		equal(t, "before", w.own(m)[0].Before(), strings.Repeat("0", 40))
		// By hand there may be more for the same commit.
		made, in, err := w.start(w.developer, m)
		check(t, err)
		equal(t, "reference", made.Ref, "refs/merge-requests/1/head")
		equal(t, "source", made.Source, ci.ByMergeRequest)
		equal(t, "project", in.ID, w.id)
		equal(t, "pipelines after one more", w.lines(m), "1/head pending, 1/head pending, 1/head canceled | topic pending, topic canceled")

		// What asks for no pipeline gets a skipped one.
		w.push("topic", "", files{"c": "e\n"}, "Change c [skip ci]")
		w.drain()
		newest := func(when, want string) {
			t.Helper()
			own, branch, _ := strings.Cut(w.lines(m), " | ")
			own, _, _ = strings.Cut(own, ",")
			branch, _, _ = strings.Cut(branch, ",")
			equal(t, "newest "+when, own+" | "+branch, want)
		}
		newest("after [skip ci]", "1/head skipped | topic skipped")
		// A configuration that is wrong leaves failed ones.
		w.push("topic", "", files{".gitlab-ci.yml": "test: {script: x, stage: nowhere}\n"}, "Break")
		w.drain()
		newest("of a wrong configuration", "1/head failed | topic failed")
		// Nothing for merge requests.
		w.push("topic", "", files{".gitlab-ci.yml": "lint: {script: x}\n"}, "For branches")
		w.drain()
		newest("without jobs for merge requests", "1/head failed | topic pending")
		_, _, err = w.start(w.developer, m)
		wantError(t, err, errs.Invalid, "would have been empty")
		w.push("topic", "", files{".gitlab-ci.yml": "workflow: {rules: [{if: $CI_MERGE_REQUEST_IID}]}\ntest: {script: x}\n"}, "For merge requests")
		w.drain()
		newest("with workflow rules", "1/head pending | topic pending")
		equal(t, "newest of the branch", w.list(m)[0].Source, ci.ByMergeRequest)
		w.push("topic", "", files{".gitlab-ci.yml": "test: {script: x, only: [merge_requests]}\n"}, "Only")
		w.drain()
		newest("with only", "1/head pending | topic pending")

		for name, row := range map[string]struct {
			as   authz.Actor
			kind errs.Kind
		}{
			"reporter": {w.reporter, errs.Forbidden}, "guest": {w.guest, errs.NotFound},
		} {
			_, _, err := w.requests.RunPipeline(t.Context(), row.as, w.as(row.as), m.IID)
			if !errs.Is(err, row.kind) {
				t.Errorf("%s: got %v, want %s", name, err, row.kind)
			}
		}
		_, _, err = w.start(w.developer, &mergerequest.MergeRequest{IID: 99})
		wantError(t, err, errs.NotFound, "")
		_, err = w.requests.Update(t.Context(), w.developer, w.as(w.developer), m.IID, mergerequest.Changes{Event: mergerequest.Close})
		check(t, err)
		_, _, err = w.start(w.developer, m)
		wantError(t, err, errs.NotAllowed, "")
		w.move("same", w.tip("main"))
		empty := w.create(mergerequest.Input{SourceBranch: "same", TargetBranch: "main", Title: "Nothing"})
		w.drain()
		_, _, err = w.start(w.developer, empty)
		wantError(t, err, errs.NotAllowed, "")
	})
}

// A job knows its merge request, and rules of changes compare with the merge base.
func TestService_RunPipeline_variables(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		w.push("main", "", files{"main.txt": "m\n", ".gitlab-ci.yml": `
.mr: {script: x}
docs: {extends: .mr, rules: [{if: $CI_MERGE_REQUEST_ID, changes: [docs/*]}]}
code: {extends: .mr, rules: [{if: $CI_MERGE_REQUEST_ID, changes: [src/*]}]}
main: {extends: .mr, rules: [{if: $CI_MERGE_REQUEST_ID, changes: [main.txt, later.txt]}]}
last: {extends: .mr, rules: [{if: $CI_MERGE_REQUEST_ID, changes: {paths: [src/*], compare_to: refs/heads/half}}]}
begin: {extends: .mr, rules: [{if: $CI_MERGE_REQUEST_ID, changes: {paths: [docs/*], compare_to: half}}]}
`}, "Configure [skip ci]")
		w.drain()
		base := w.tip("main")
		w.push("topic", base, files{"docs/a": "a\n"}, "Add docs")
		w.move("half", w.tip("topic"))
		w.push("topic", "", files{"src/a": "a\n"}, "Add src")
		w.push("main", "", files{"later.txt": "m\n"}, "Go on")
		w.drain()
		text := strings.Repeat("long ", 600)
		m := w.create(mergerequest.Input{
			SourceBranch: "topic", TargetBranch: "main", Title: "Draft: Add $CI_JOB_TOKEN", Description: &text, Labels: []string{"fast", "big"},
			Assignees: []authz.UserID{w.maintainer.UserID, w.developer.UserID}, Squash: ptr(true),
		})
		w.drain()
		var names []string
		jobs, err := w.checks.JobsOf(t.Context(), w.owner, w.as(w.owner), w.own(m)[0].ID, ci.JobFilter{Asc: true})
		check(t, err)
		for _, j := range jobs.Items {
			names = append(names, j.Name)
		}
		equal(t, "jobs", strings.Join(names, " "), "docs code last")
		a := w.ask("docs")
		wantValues(t, a, map[string]string{
			"CI_PIPELINE_SOURCE": "merge_request_event", "CI_COMMIT_SHA": m.HeadSHA, "CI_COMMIT_REF_NAME": "topic", "CI_COMMIT_REF_SLUG": "topic",
			"CI_COMMIT_REF_PROTECTED": "false", "CI_COMMIT_BEFORE_SHA": strings.Repeat("0", 40), "CI_OPEN_MERGE_REQUESTS": "group/shop!1",
			"CI_MERGE_REQUEST_ID": fmt.Sprint(m.ID), "CI_MERGE_REQUEST_IID": "1", "CI_MERGE_REQUEST_TITLE": "Draft: Add $CI_JOB_TOKEN",
			"CI_MERGE_REQUEST_DESCRIPTION": text[:2700], "CI_MERGE_REQUEST_DESCRIPTION_IS_TRUNCATED": "true", "CI_MERGE_REQUEST_LABELS": "big,fast",
			"CI_MERGE_REQUEST_ASSIGNEES": "mary,dave", "CI_MERGE_REQUEST_DRAFT": "true", "CI_MERGE_REQUEST_SQUASH_ON_MERGE": "true",
			"CI_MERGE_REQUEST_PROJECT_ID": fmt.Sprint(w.id), "CI_MERGE_REQUEST_PROJECT_PATH": "group/shop", "CI_MERGE_REQUEST_PROJECT_URL": "http://tenon.test/group/shop",
			"CI_MERGE_REQUEST_REF_PATH": "refs/merge-requests/1/head", "CI_MERGE_REQUEST_EVENT_TYPE": "detached",
			"CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "", "CI_MERGE_REQUEST_SOURCE_BRANCH_PROTECTED": "false",
			"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": fmt.Sprint(w.id), "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "group/shop",
			"CI_MERGE_REQUEST_SOURCE_PROJECT_URL": "http://tenon.test/group/shop",
			"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "", "CI_MERGE_REQUEST_TARGET_BRANCH_PROTECTED": "true",
			"CI_MERGE_REQUEST_DIFF_ID": fmt.Sprint(*m.VersionID), "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
		})
		for _, key := range []string{"CI_COMMIT_BRANCH", "CI_COMMIT_TAG", "CI_MERGE_REQUEST_APPROVED", "CI_MERGE_REQUEST_MILESTONE"} {
			if got, has := value(a, key); has {
				t.Errorf("%s: got %q, want none", key, got)
			}
		}
		for _, v := range a.Variables {
			if v.Key == "CI_MERGE_REQUEST_TITLE" && !v.Raw {
				t.Error("the title of a merge request gets at variables of the job")
			}
		}

		// A retried job knows it as well, though the source branch is gone; so does the pipeline.
		w.end(a, "failed")
		w.move("topic", "")
		w.drain()
		again, err := w.checks.RetryJob(t.Context(), w.developer, w.as(w.developer), a.Job.ID)
		check(t, err)
		w.run("code", "success")
		w.run("last", "success")
		a = w.ask("docs")
		equal(t, "retried", a.Job.ID, again.ID)
		wantValues(t, a, map[string]string{"CI_MERGE_REQUEST_IID": "1", "CI_COMMIT_REF_NAME": "topic"})
		w.end(a, "success")
		equal(t, "pipeline", w.own(m)[0].State, ci.Success)
		_, _, err = w.start(w.reporter, m)
		wantError(t, err, errs.Forbidden, "")
	})
}

// Where the project wants it, a pipeline runs for what the merge would give.
func TestService_RunPipeline_mergedResult(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		w.settings(`{"merge_pipelines_enabled":true}`)
		m := w.open("topic", files{"a": "changed\n"})
		target := w.push("main", "", files{"b": "changed\n"}, "Go on [skip ci]")
		w.drain()
		w.idle()
		first := w.own(m)[0]
		equal(t, "reference", first.Ref, "refs/merge-requests/1/merge")
		equal(t, "parents", parents(w.commit(first.SHA)), target+" "+m.HeadSHA)
		a := w.ask("test")
		wantValues(t, a, map[string]string{
			"CI_COMMIT_SHA": first.SHA, "CI_MERGE_REQUEST_EVENT_TYPE": "merged_result", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": m.HeadSHA,
			"CI_MERGE_REQUEST_TARGET_BRANCH_SHA": target, "CI_MERGE_REQUEST_REF_PATH": "refs/merge-requests/1/head",
		})
		w.exec("UPDATE projects SET only_allow_merge_if_pipeline_succeeds = ?", true)
		equal(t, "status", w.read(m.IID).DetailedStatus(w.as(w.owner)), "ci_still_running")
		w.end(a, "success")
		equal(t, "status after a success", w.read(m.IID).DetailedStatus(w.as(w.owner)), "mergeable")

		// A conflict leaves nothing to merge: the pipeline is of the branch alone.
		w.push("main", "", files{"a": "other\n"}, "Conflict [skip ci]")
		w.push("topic", "", files{"c": "c\n"}, "More")
		w.drain()
		equal(t, "with a conflict", w.own(m)[0].Ref, "refs/merge-requests/1/head")
	})
}

// A merge waits for the pipeline of its request, through retries and newer pipelines.
func TestService_RunPipeline_gate(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		w.exec("UPDATE projects SET only_allow_merge_if_pipeline_succeeds = ?", true)
		m := w.open("topic", files{"c": "c\n"})
		w.drain()
		status := func(want string) {
			t.Helper()
			equal(t, "status", w.read(m.IID).DetailedStatus(w.as(w.owner)), want)
		}
		// The pipeline of the branch says nothing beside that of the merge request.
		jobs := w.both()
		w.end(jobs["lint"], "success")
		status("ci_still_running")
		_, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
		wantError(t, err, errs.NotAllowed, "the pipeline must succeed")
		out, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{WhenReady: true})
		check(t, err)
		equal(t, "waits", out.MergeWhenPipelineSucceeds, true)
		a := jobs["test"]
		w.end(a, "failed")
		status("ci_must_pass")
		equal(t, "still waits", w.read(m.IID).MergeWhenPipelineSucceeds, true)
		// A newer one of the same commit counts, and a retry of the older does not.
		_, _, err = w.start(w.developer, m)
		check(t, err)
		_, err = w.checks.RetryJob(t.Context(), w.developer, w.as(w.developer), a.Job.ID)
		check(t, err)
		newer := w.ask("test")
		w.run("test", "success")
		status("ci_still_running")
		equal(t, "state after the older succeeds", w.read(m.IID).State, mergerequest.StateOpened)
		w.end(newer, "failed")
		status("ci_must_pass")
		_, err = w.checks.Retry(t.Context(), w.developer, w.as(w.developer), newer.Pipeline.ID)
		check(t, err)
		w.run("test", "success")
		equal(t, "state after a retry", w.read(m.IID).State, mergerequest.StateMerged)

		m = w.open("skipped", files{"d": "d\n"})
		w.push("skipped", "", files{"d": "e\n"}, "Skip [ci skip]")
		w.drain()
		status("ci_must_pass")
		w.exec("UPDATE projects SET allow_merge_on_skipped_pipeline = ?", true)
		status("mergeable")
	})
}

// A child pipeline of a merge request's pipeline is one of the merge request, and its end is not the end of the pipeline.
func TestService_RunPipeline_child(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		w.push("main", "", files{".gitlab-ci.yml": `
start: {trigger: {include: child.yml}, only: [merge_requests]}
test: {script: x, only: [merge_requests]}
`, "child.yml": "child: {script: x, only: [merge_requests]}\n"}, "Configure")
		m := w.open("topic", files{"c": "c\n"})
		w.exec("UPDATE projects SET only_allow_merge_if_pipeline_succeeds = ?", true)
		w.drain()
		equal(t, "pipelines", w.lines(m), "1/head running | ")
		test := w.ask("test")
		a := w.run("child", "success")
		equal(t, "source", a.Pipeline.Source, ci.ByParentPipeline)
		wantValues(t, a, map[string]string{"CI_MERGE_REQUEST_IID": "1", "CI_COMMIT_REF_NAME": "topic"})
		equal(t, "status after the child", w.read(m.IID).DetailedStatus(w.as(w.owner)), "ci_still_running")
		w.end(test, "success")
		equal(t, "status", w.read(m.IID).DetailedStatus(w.as(w.owner)), "mergeable")
	})
}

// Protected variables are for pipelines between protected branches, made by users who may run pipelines of both.
func TestService_RunPipeline_protected(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		for key, protected := range map[string]bool{"SAFE": true, "OPEN": false} {
			_, err := w.variables.Create(t.Context(), w.maintainer, w.as(w.maintainer).Place(), variable.Input{Key: key, Value: "v", Protected: protected})
			check(t, err)
		}
		m := w.open("topic", files{"c": "c\n"})
		w.drain()
		w.idle()
		sees := func(when string, want bool) {
			t.Helper()
			a := w.ask("test")
			_, open := value(a, "OPEN")
			_, safe := value(a, "SAFE")
			if !open || safe != want || a.Pipeline.Protected != want {
				t.Errorf("%s: open %t, protected %t, pipeline %t; want %t", when, open, safe, a.Pipeline.Protected, want)
			}
			w.end(a, "failed")
		}
		sees("from an unprotected branch", false)
		_, err := w.protections.ProtectBranch(t.Context(), w.owner, w.as(w.owner), protection.Input{Name: "topic"})
		check(t, err)
		_, _, err = w.start(w.developer, m)
		check(t, err)
		sees("by a developer", false)
		_, _, err = w.start(w.maintainer, m)
		check(t, err)
		sees("by a maintainer", true)
		last := w.own(m)[0]
		_, err = w.checks.Retry(t.Context(), w.developer, w.as(w.developer), last.ID)
		wantError(t, err, errs.Forbidden, "")
		_, err = w.checks.Retry(t.Context(), w.maintainer, w.as(w.maintainer), last.ID)
		check(t, err)
		sees("retried by a maintainer", true)
	})
}

// A merge request takes its pipelines with it, also one that runs.
func TestService_Delete_pipelines(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		m := w.open("topic", files{"c": "c\n"})
		w.drain()
		w.idle()
		a := w.ask("test")
		check(t, w.requests.Delete(t.Context(), w.owner, w.as(w.owner), m.IID))
		w.drain()
		_, err := w.checks.Hold(t.Context(), a.Job.ID, a.Token)
		wantError(t, err, errs.Forbidden, "")
		_, err = w.checks.Find(t.Context(), w.owner, w.as(w.owner), a.Pipeline.ID)
		wantError(t, err, errs.NotFound, "")
		list, err := w.checks.List(t.Context(), w.owner, w.as(w.owner), ci.PipelineFilter{Ref: "topic"})
		check(t, err)
		equal(t, "pipelines of the branch", len(list.Items), 1)
	})
}

// approved stands for approvals that maintainers have given.
type approved struct{ by []authz.UserID }

func (approved) OwnersKey(context.Context, *gitcmd.Repo, *mergerequest.MergeRequest) (string, error) {
	return "", nil
}

func (approved) PlanOwners(context.Context, *project.Project, *gitcmd.Repo, *mergerequest.MergeRequest, string) (string, func(context.Context, mergerequest.Fact) error, error) {
	return "", nil, nil
}

func (approved) Approvers(context.Context, authz.Actor, *project.Project, *mergerequest.MergeRequest) (mergerequest.Approvers, error) {
	return mergerequest.Approvers{}, nil
}

func (a approved) ApprovedBy(context.Context, *mergerequest.MergeRequest) ([]authz.UserID, error) {
	return a.by, nil
}

func TestService_RunPipeline_approved(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		w.requests.Connect(mergerequest.Above{Approvals: approved{[]authz.UserID{w.maintainer.UserID}}, Commands: alonetest.Commands{}})
		ns, err := db.Get[authz.NamespaceID](t.Context(), w.DB, "SELECT namespace_id FROM projects WHERE id = ?", w.id)
		check(t, err)
		id := milestone.ID(w.Insert("milestones", coretest.Row{"namespace_id": ns, "iid": 1, "title": "1.0", "state": "active"}))
		w.push("topic", w.tip("main"), files{"c": "c\n"}, "Add c")
		w.create(mergerequest.Input{SourceBranch: "topic", TargetBranch: "main", Title: "Add c", MilestoneID: &id})
		w.drain()
		w.idle()
		wantValues(t, w.ask("test"), map[string]string{"CI_MERGE_REQUEST_APPROVED": "true", "CI_MERGE_REQUEST_MILESTONE": "1.0", "CI_MERGE_REQUEST_DRAFT": "false"})
	})
}

// A push that asks for no pipeline leaves a skipped one, of the merge request as well.
func TestService_RunPipeline_pushOption(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		m := w.open("topic", files{"c": "c\n"})
		w.drain()
		old := w.tip("topic")
		next := w.write([]string{old}, files{"c": "d\n"}, "Change c")
		check(t, w.git().UpdateRefs(t.Context(), []gitstore.RefUpdate{{Ref: "refs/heads/topic", New: next, AnyOld: true}}))
		p := w.as(w.developer)
		check(t, w.requests.OnPushed(t.Context(), repo.Pushed{
			Stamp: w.developer.Stamp(w.Now()), ProjectID: w.id, FullPath: p.FullPath, Project: p, Source: repo.ByPush, Options: []string{"ci.skip"},
			Changes: []repo.PushedRef{{RefChange: repo.RefChange{Ref: "refs/heads/topic", Old: w.commit(old).ID, New: next}}},
		}))
		w.drain()
		equal(t, "state", w.own(m)[0].State, ci.Skipped)
		equal(t, "commit", w.own(m)[0].SHA, next.String())
		jobs, err := w.checks.JobsOf(t.Context(), w.owner, w.as(w.owner), w.own(m)[0].ID, ci.JobFilter{})
		check(t, err)
		equal(t, "jobs", len(jobs.Items), 0)
	})
}
