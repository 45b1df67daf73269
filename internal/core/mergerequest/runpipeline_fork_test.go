package mergerequest_test

import (
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/variable"
)

// A pipeline of a merge request from a fork runs in the fork and sees nothing of the target project, whatever its configuration does.
// In the target project it runs when a member asks for it, without what is protected there.
func TestFork_pipelines(t *testing.T) {
	t.Parallel()
	eachFork(t, func(t *testing.T, f *forked) {
		w := f.piped()
		for key, protected := range map[string]bool{"TARGET_KEY": false, "SAFE_KEY": true} {
			_, err := f.variables.Create(t.Context(), f.maintainer, f.as(f.maintainer).Place(), variable.Input{Key: key, Value: "hush-hush", Protected: protected})
			check(t, err)
		}
		_, err := f.variables.Create(t.Context(), f.stranger, f.Find(f.stranger, f.fork).Place(), variable.Input{Key: "FORK_KEY", Value: "mine"})
		check(t, err)
		f.pushFork("topic", files{".gitlab-ci.yml": `
variables: {COPY: $TARGET_KEY, OTHER: "$SAFE_KEY"}
test: {script: env, only: [merge_requests]}
stolen: {script: env, rules: [{if: $TARGET_KEY || $SAFE_KEY}]}
`})
		m := f.request("topic", nil)
		f.drain()
		list := w.list(m)
		if len(list) != 1 || list[0].ProjectID != f.fork || list[0].Ref != "topic" || list[0].Source != ci.ByMergeRequest {
			t.Fatalf("pipelines: %+v", list)
		}
		a := w.ask("test")
		equal(t, "project", a.Project.ID, f.fork)
		for _, v := range a.Variables {
			if strings.Contains(v.Value, "hush-hush") || v.Key == "TARGET_KEY" || v.Key == "SAFE_KEY" {
				t.Errorf("the fork sees %s of the target: %q", v.Key, v.Value)
			}
		}
		wantValues(t, a, map[string]string{
			"FORK_KEY": "mine", "CI_MERGE_REQUEST_IID": "1", "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "stans/shop", "CI_MERGE_REQUEST_PROJECT_PATH": "group/shop",
			"CI_PROJECT_PATH": "stans/shop", "CI_COMMIT_REF_NAME": "topic", "CI_OPEN_MERGE_REQUESTS": "group/shop!1",
		})
		if _, has := value(a, "CI_COMMIT_BRANCH"); has {
			t.Error("CI_COMMIT_BRANCH is set")
		}
		w.end(a, "success")
		f.exec("UPDATE projects SET only_allow_merge_if_pipeline_succeeds = ? WHERE id = ?", true, f.parent)
		equal(t, "status", f.read(m.IID).DetailedStatus(f.as(f.owner)), "mergeable")

		// The owner of the fork cannot choose the target project, nor can a reporter.
		made, in, err := f.requests.RunPipeline(t.Context(), f.stranger, f.Find(f.stranger, f.parent), m.IID)
		check(t, err)
		equal(t, "project by the owner of the fork", in.ID, f.fork)
		equal(t, "reference by the owner of the fork", made.Ref, "topic")
		_, _, err = f.requests.RunPipeline(t.Context(), f.reporter, f.as(f.reporter), m.IID)
		wantError(t, err, errs.Forbidden, "")
		w.run("test", "success")

		// A member of the target project can, where the project lets him.
		f.exec("UPDATE projects SET settings = ? WHERE id = ?", `{"ci_allow_fork_pipelines_to_run_in_parent_project":false}`, f.parent)
		_, _, err = f.requests.RunPipeline(t.Context(), f.maintainer, f.as(f.maintainer), m.IID)
		wantError(t, err, errs.Forbidden, "")
		f.exec("UPDATE projects SET settings = ? WHERE id = ?", `{"ci_allow_fork_pipelines_to_run_in_parent_project":true}`, f.parent)
		made, in, err = f.requests.RunPipeline(t.Context(), f.maintainer, f.as(f.maintainer), m.IID)
		check(t, err)
		equal(t, "project by a maintainer", in.ID, f.parent)
		equal(t, "reference by a maintainer", made.Ref, "refs/merge-requests/1/head")
		equal(t, "protected", made.Protected, false)
		a = w.ask("test")
		equal(t, "pipeline", a.Pipeline.ID, made.ID)
		wantValues(t, a, map[string]string{"TARGET_KEY": "hush-hush", "CI_PROJECT_PATH": "group/shop"})
		for _, key := range []string{"SAFE_KEY", "FORK_KEY"} {
			if _, has := value(a, key); has {
				t.Errorf("%s is set in the target project", key)
			}
		}
		equal(t, "status", f.read(m.IID).DetailedStatus(f.as(f.owner)), "ci_still_running")
		out, err := f.merge(f.maintainer, m.IID, mergerequest.MergeInput{WhenReady: true})
		check(t, err)
		equal(t, "waits", out.MergeWhenPipelineSucceeds, true)
		w.end(w.ask("stolen"), "success")
		w.end(a, "success")
		equal(t, "state", f.read(m.IID).State, mergerequest.StateMerged)

		// Who may not read the fork does not see its pipelines.
		f.exec("UPDATE namespaces SET visibility = 0 WHERE id = (SELECT namespace_id FROM projects WHERE id = ?)", f.fork)
		for _, p := range w.list(m) {
			equal(t, "project of what a stranger to the fork sees", p.ProjectID, f.parent)
		}
		f.exec("UPDATE namespaces SET visibility = 20")
		f.exec("UPDATE projects SET builds_access = ? WHERE id = ?", authz.FeatureDisabled, f.fork)
		f.pushFork("quiet", files{".gitlab-ci.yml": "test: {script: env, only: [merge_requests]}\n"})
		m = f.request("quiet", nil)
		f.drain()
		equal(t, "pipelines of a fork without CI", w.lines(m), " | ")
	})
}
