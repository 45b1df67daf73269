package ci_test

import (
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/schedule"
)

// TestService_Run_variables passes variables to pipelines and jobs as each role, under each of the two settings that
// restrict them.
func TestService_Run_variables(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.push("main", yml("build: {script: make}\nship: {script: make, when: manual}\n"), "begin")
		vars, token := []ci.Variable{{Key: "COLOR", Value: "red"}}, w.triggerOf(w.maintainer)
		for _, c := range []struct {
			name, settings               string
			developer, maintainer, owner bool
		}{
			{"by default", `{}`, true, true, true},
			{"restricted", `{"restrict_user_defined_variables":true}`, false, true, true},
			{"from maintainers", `{"ci_pipeline_variables_minimum_override_role":"maintainer"}`, false, true, true},
			{"from owners", `{"ci_pipeline_variables_minimum_override_role":"owner"}`, false, false, true},
			{"both, the stricter one", `{"restrict_user_defined_variables":true,"ci_pipeline_variables_minimum_override_role":"developer"}`, false, true, true},
			{"no one", `{"ci_pipeline_variables_minimum_override_role":"no_one_allowed"}`, false, false, false},
		} {
			w.exec("UPDATE projects SET settings = ? WHERE id = ?", c.settings, w.id)
			for _, who := range []struct {
				as  authz.Actor
				may bool
			}{{w.developer, c.developer}, {w.maintainer, c.maintainer}, {w.owner, c.owner}, {w.admin(), c.owner}} {
				what := c.name + ", " + who.as.Username
				p, run := w.as(who.as), func(source ci.Source, vars []ci.Variable) error {
					_, err := w.ci.Run(t.Context(), who.as, w.as(who.as), ci.RunInput{Ref: "main", Source: source, Variables: vars})
					return err
				}
				check(t, run(ci.ByAPI, nil))
				check(t, run(ci.BySchedule, vars)) // held against the rule when they are written
				made := w.newest("main")
				for _, source := range []ci.Source{ci.ByAPI, ci.ByTrigger, ci.ByPipeline} {
					w.allowed(what+", "+string(source), run(source, vars), who.may, errs.Invalid, "Insufficient permissions to set pipeline variables")
				}
				_, err := w.ci.PlayJob(t.Context(), who.as, p, w.job(made, "ship").ID, vars)
				w.allowed(what+", play", err, who.may, errs.Forbidden, "")
			}
			w.allowed(c.name+", trigger of a maintainer", w.triggered(token, vars), c.maintainer, errs.Invalid, "Insufficient permissions to set pipeline variables")
			check(t, w.triggered(token, nil))
		}
	})
}

// triggered starts a pipeline by a trigger token.
func (w *world) triggered(token string, vars []ci.Variable) error {
	_, _, err := w.ci.Trigger(w.T.Context(), ci.TriggerInput{Project: "group/shop", Token: token, Ref: "main", Payload: "{}", Variables: vars})
	return err
}

// TestService_Run_pushedVariables pushes with ci.variable where the project restricts variables: the pipeline fails
// and says why.
func TestService_Run_pushedVariables(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.exec("UPDATE projects SET settings = ? WHERE id = ?", `{"restrict_user_defined_variables":true}`, w.id)
		w.push("main", yml("build: {script: make}\n"), "Begin")
		push := func(as authz.Actor, options ...string) *ci.Pipeline {
			t.Helper()
			return w.pushWith(as, files{"a": as.Username + strings.Join(options, ",")}, options...)
		}
		made := push(w.developer, "ci.variable=COLOR=red")
		if made.State != ci.Failed || made.YAMLErrors == nil || *made.YAMLErrors != "Insufficient permissions to set pipeline variables" {
			t.Errorf("pipeline of a developer's push with variables: %s, %v", made.State, made.YAMLErrors)
		}
		equal(t, "pipeline of a push without variables", push(w.developer).State, ci.Pending)
		equal(t, "pipeline of a maintainer's push with variables", push(w.maintainer, "ci.variable=COLOR=red").State, ci.Pending)
	})
}

// TestSchedules_variables writes variables of schedules where the project restricts variables.
func TestSchedules_variables(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s, _ := w.scheduled()
		w.push("main", yml("build: {script: make}\n"), "Begin")
		v := ci.Variable{Key: "COLOR", Value: "red"}
		row, err := s.Create(ctx, w.developer, w.as(w.developer), schedule.Input{Description: "Nightly", Ref: "main", Cron: "0 4 * * *"})
		check(t, err)
		check(t, s.AddVariable(ctx, w.developer, w.as(w.developer), row.ID, v))
		w.exec("UPDATE projects SET settings = ? WHERE id = ?", `{"restrict_user_defined_variables":true}`, w.id)
		wantError(t, "add", s.AddVariable(ctx, w.developer, w.as(w.developer), row.ID, ci.Variable{Key: "SIZE"}), errs.Forbidden, "")
		_, err = s.UpdateVariable(ctx, w.developer, w.as(w.developer), row.ID, "COLOR", schedule.VariableChanges{Value: &v.Key})
		wantError(t, "change", err, errs.Forbidden, "")
		_, err = s.DeleteVariable(ctx, w.developer, w.as(w.developer), row.ID, "COLOR")
		check(t, err)
	})
}

// TestService_Cancel_role cancels pipelines and jobs as each role, under each value of the setting.
func TestService_Cancel_role(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.push("main", yml("build: {script: make}\n"), "begin")
		for _, c := range []struct {
			role                  string
			developer, maintainer bool
		}{{"developer", true, true}, {"maintainer", false, true}, {"no_one", false, false}} {
			w.exec("UPDATE projects SET settings = ? WHERE id = ?", `{"ci_restrict_pipeline_cancellation_role":"`+c.role+`"}`, w.id)
			for _, who := range []struct {
				as  authz.Actor
				may bool
			}{{w.developer, c.developer}, {w.maintainer, c.maintainer}, {w.admin(), c.maintainer}} {
				what := c.role + ", " + who.as.Username
				p, made := w.as(who.as), w.ran()
				_, err := w.ci.CancelJob(t.Context(), who.as, p, w.job(made, "build").ID)
				w.allowed(what+", job", err, who.may, errs.Forbidden, "")
				_, err = w.ci.Cancel(t.Context(), who.as, p, w.ran().ID)
				w.allowed(what+", pipeline", err, who.may, errs.Forbidden, "")
				if who.as.UserID != w.developer.UserID {
					_, err = w.ci.ForceCancelJob(t.Context(), who.as, p, w.job(w.ran(), "build").ID)
					w.allowed(what+", force", err, who.may, errs.Forbidden, "")
				}
			}
		}
	})
}

// ran makes a pipeline of main.
func (w *world) ran() *ci.Pipeline {
	w.T.Helper()
	made, err := w.ci.Run(w.T.Context(), w.maintainer, w.as(w.maintainer), ci.RunInput{Ref: "main", Source: ci.ByAPI})
	check(w.T, err)
	return made
}

// admin is the maintainer as an administrator.
func (w *world) admin() authz.Actor {
	out := w.maintainer
	out.Admin, out.Username = true, "admin"
	return out
}

// allowed checks that something was done, or refused with a kind and a text.
func (w *world) allowed(what string, err error, may bool, kind errs.Kind, text string) {
	w.T.Helper()
	if may && err != nil {
		w.T.Errorf("%s: %v", what, err)
	}
	if !may {
		wantError(w.T, what, err, kind, text)
	}
}
