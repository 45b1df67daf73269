package ci_test

import (
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/trigger"
)

// triggerOf makes a trigger token of a user.
func (w *world) triggerOf(who authz.Actor) string {
	w.T.Helper()
	made, err := w.triggers.Create(w.T.Context(), who, w.as(who), trigger.Input{Description: "From outside"})
	check(w.T, err)
	return made.Token
}

func TestService_Trigger(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		runner := w.runner("instance_type", nil)
		w.push("v1.x", yml("build: {script: x, rules: [{if: '$CI_PIPELINE_TRIGGERED == \"true\" && $COLOR == \"red\"'}]}\n"), "Begin [skip ci]")
		token := w.triggerOf(w.maintainer)
		in := ci.TriggerInput{Project: "group/shop", Token: token, Ref: "v1.x", Variables: []ci.Variable{{Key: "COLOR", Value: "red"}}, Payload: `{"a":1}`}
		made, p, err := w.ci.Trigger(ctx, in)
		check(t, err)
		if p.ID != w.id || made.Source != ci.ByTrigger || *made.UserID != w.maintainer.UserID {
			t.Errorf("pipeline: %+v", made)
		}
		a := w.take(runner, "build")
		for key, want := range map[string]string{
			"COLOR": "red", "TRIGGER_PAYLOAD": `{"a":1}`, "CI_PIPELINE_TRIGGERED": "true", "CI_PIPELINE_SOURCE": "trigger", "CI_TRIGGER_SHORT_TOKEN": token[:4],
		} {
			equal(t, key, value(a, key), want)
		}
		used, err := w.triggers.List(ctx, w.maintainer, w.as(w.maintainer), page.Range{})
		check(t, err)
		if used.Items[0].LastUsedAt == nil {
			t.Error("the token does not say that it was used")
		}
		with := func(change func(*ci.TriggerInput)) error {
			other := in
			change(&other)
			_, _, err := w.ci.Trigger(ctx, other)
			return err
		}
		w.other("group/other", authz.Public, "build: {script: x}\n")
		wantError(t, "wrong token", with(func(i *ci.TriggerInput) { i.Token = "glptt-none" }), errs.NotFound, "")
		wantError(t, "no token", with(func(i *ci.TriggerInput) { i.Token = "" }), errs.NotFound, "")
		wantError(t, "other project", with(func(i *ci.TriggerInput) { i.Project = "group/other" }), errs.NotFound, "")
		wantError(t, "no project", with(func(i *ci.TriggerInput) { i.Project = "none/none" }), errs.NotFound, "")
		wantError(t, "no reference", with(func(i *ci.TriggerInput) { i.Ref = "none" }), errs.Invalid, "Reference not found")
		wantError(t, "bad key", with(func(i *ci.TriggerInput) { i.Variables = []ci.Variable{{Key: "A B", Value: "x"}} }), errs.Invalid, "can contain only")
		wantError(t, "no job", with(func(i *ci.TriggerInput) { i.Variables = nil }), errs.Invalid, "would have been empty")

		w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.maintainer.UserID)
		wantError(t, "owner is blocked", with(func(*ci.TriggerInput) {}), errs.Invalid, "Insufficient permissions")
		w.exec("UPDATE users SET state = 'active' WHERE id = ?", w.maintainer.UserID)
		w.exec("UPDATE members SET access_level = ? WHERE user_id = ?", authz.Reporter, w.maintainer.UserID)
		wantError(t, "owner became a reporter", with(func(*ci.TriggerInput) {}), errs.Invalid, "Insufficient permissions")
		w.exec("DELETE FROM members WHERE user_id = ?", w.maintainer.UserID)
		wantError(t, "owner left", with(func(*ci.TriggerInput) {}), errs.NotFound, "")
	})
}

// A job starts pipelines of its own project with its token, but not without end, and of no other project.
func TestService_Trigger_job(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		runner := w.runner("instance_type", nil)
		w.other("group/other", authz.Public, "build: {script: x}\n")
		w.begin("build: {script: x}\n")
		var last *ci.Assignment
		for range 11 {
			last = w.take(runner, "build")
			made, _, err := w.ci.Trigger(ctx, ci.TriggerInput{Project: "group/shop", Token: last.Token, Ref: "work"})
			if err != nil {
				wantError(t, "chain", err, errs.Invalid, "started one another")
				break
			}
			if made.Source != ci.ByPipeline || made.UpstreamJobID == nil || *made.UpstreamJobID != last.Job.ID {
				t.Fatalf("pipeline: %+v", made)
			}
			_, _, err = w.ci.Trigger(ctx, ci.TriggerInput{Project: "group/other", Token: last.Token, Ref: "main"})
			wantError(t, "other project", err, errs.NotFound, "")
			w.drain()
			equal(t, "the job goes on", w.job(last.Pipeline, "build").State, ci.Running)
			w.succeed(last)
			_, _, err = w.ci.Trigger(ctx, ci.TriggerInput{Project: "group/shop", Token: last.Token, Ref: "work"})
			wantError(t, "a job that has ended", err, errs.NotFound, "")
		}
		if n := len(w.pipelines(w.id, "work")); n != 11 {
			t.Errorf("%d pipelines started one another, want 11", n)
		}
		if strings.Contains(w.states(last.Pipeline), "failed") {
			t.Error(w.states(last.Pipeline))
		}
	})
}
