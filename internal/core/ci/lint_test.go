package ci_test

import (
	"strings"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/variable"
)

func TestService_LintText(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		lint := func(who authz.Actor, text string, run ci.DryRun) *ciconfig.Lint {
			t.Helper()
			l, err := w.ci.LintText(ctx, who, w.as(who), text, run)
			check(t, err)
			return l
		}
		const text = "build: {script: x, rules: [{if: '$CI_COMMIT_BRANCH == \"work\"'}]}\ntest: {script: y, needs: [{job: build, optional: true}]}\n"
		// Before there is a commit.
		if l := lint(w.developer, text, ci.DryRun{}); !l.Valid || len(l.Jobs) != 2 || !strings.Contains(l.MergedYAML, "script") {
			t.Errorf("without a repository: %+v", l)
		}
		equal(t, "no branch", strings.Join(lint(w.developer, text, ci.DryRun{On: true}).Errors, ","), "Reference not found")
		w.push("main", files{"a.yml": "inner: {script: x}\n"}, "Begin")
		w.push("work", files{"a.yml": "inner: {script: x}\n"}, "Begin")
		w.exec("UPDATE projects SET default_branch = 'main' WHERE id = ?", w.id)

		l := lint(w.developer, text, ci.DryRun{On: true})
		if !l.Valid || len(l.Jobs) != 1 || l.Jobs[0].Name != "test" {
			t.Errorf("dry run of the default branch: %+v", l)
		}
		if l = lint(w.developer, text, ci.DryRun{On: true, Ref: "work"}); len(l.Jobs) != 2 {
			t.Errorf("dry run of work: %+v", l)
		}
		if l = lint(w.developer, "include: a.yml\n", ci.DryRun{}); !l.Valid || len(l.Includes) != 1 || l.Includes[0].Type != ciconfig.Local || l.Includes[0].Raw == nil {
			t.Errorf("local include: %+v", l)
		}
		if l = lint(w.developer, "build: {stage: none, script: x}\n", ci.DryRun{}); l.Valid || len(l.Errors) != 1 || len(l.Jobs) != 0 {
			t.Errorf("a wrong configuration: %+v", l)
		}
		w.protect("main")
		if l = lint(w.developer, text, ci.DryRun{On: true}); l.Valid || !strings.Contains(l.Errors[0], "sufficient permission to run a pipeline on 'main'") {
			t.Errorf("a protected branch: %+v", l)
		}
		for who, kind := range map[*authz.Actor]errs.Kind{&w.reporter: errs.Forbidden, &w.guest: errs.Forbidden} {
			_, err := w.ci.LintText(ctx, *who, w.as(*who), text, ci.DryRun{})
			wantError(t, "role", err, kind, "")
		}
		_, err := w.ci.LintText(ctx, w.stranger, w.loaded(), text, ci.DryRun{})
		wantError(t, "stranger", err, errs.NotFound, "")
	})
}

// A developer who may not run pipelines of a protected branch asks for the variables of it in a configuration of their own.
func TestService_LintText_protected(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.push("main", files{"a.yml": "spec: {inputs: {v: {}}}\n---\ninner: {script: 'echo $[[ inputs.v | expand_vars ]]'}\n"}, "Begin")
		w.exec("UPDATE projects SET default_branch = 'main' WHERE id = ?", w.id)
		w.protect("main")
		for key, protected := range map[string]bool{"OPEN": false, "GUARDED": true} {
			_, err := w.variables.Create(ctx, w.maintainer, w.as(w.maintainer).Place(), variable.Input{Key: key, Value: "value-of-" + key, Protected: protected})
			check(t, err)
		}
		const text = "include: {local: a.yml, inputs: {v: '$OPEN $GUARDED'}}\n"
		merged := func(who authz.Actor) string {
			t.Helper()
			l, err := w.ci.LintText(ctx, who, w.as(who), text, ci.DryRun{})
			check(t, err)
			return l.MergedYAML
		}
		if m := merged(w.developer); strings.Contains(m, "value-of-GUARDED") || !strings.Contains(m, "value-of-OPEN") {
			t.Errorf("developer: %s", m)
		}
		if m := merged(w.maintainer); !strings.Contains(m, "value-of-GUARDED") {
			t.Errorf("maintainer: %s", m)
		}
		w.push("main", yml(text), "Configure")
		l, err := w.ci.LintCommit(ctx, w.reporter, w.as(w.reporter), "", ci.DryRun{})
		check(t, err)
		if strings.Contains(l.MergedYAML, "value-of") || !l.Valid {
			t.Errorf("reporter: %+v", l)
		}
	})
}

func TestService_LintCommit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		lint := func(who authz.Actor, commit string, run ci.DryRun) (*ciconfig.Lint, error) {
			return w.ci.LintCommit(ctx, who, w.as(who), commit, run)
		}
		_, err := lint(w.developer, "", ci.DryRun{})
		wantError(t, "empty repository", err, errs.NotFound, "Repository")
		hidden := w.other("group/hidden", authz.Private, "secret: {script: x}\n")
		w.push("main", yml("include: {project: group/hidden, file: .gitlab-ci.yml}\nbuild: {script: x}\n"), "Begin [skip ci]")
		w.exec("UPDATE projects SET default_branch = 'main' WHERE id = ?", w.id)
		old := w.tip(w.id, "main")
		w.push("main", yml("build: {script: x, rules: [{if: '$CI_COMMIT_TAG'}]}\n"), "Change [skip ci]")

		l, err := lint(w.reporter, "", ci.DryRun{})
		check(t, err)
		if !l.Valid || len(l.Jobs) != 1 {
			t.Errorf("default branch: %+v", l)
		}
		l, err = lint(w.developer, "", ci.DryRun{On: true})
		check(t, err)
		if l.Valid || !strings.Contains(l.Errors[0], "would have been empty") {
			t.Errorf("dry run: %+v", l)
		}
		l, err = lint(w.reporter, "", ci.DryRun{On: true})
		check(t, err)
		equal(t, "dry run of a reporter", strings.Join(l.Errors, ","), "Insufficient permissions to create a new pipeline")
		l, err = lint(w.developer, old, ci.DryRun{})
		check(t, err)
		if !l.Valid || len(l.Jobs) != 2 || !strings.Contains(l.MergedYAML, "secret") {
			t.Errorf("a commit: %+v", l)
		}
		// A reader who may not read the other project learns nothing of it.
		w.exec("DELETE FROM members WHERE user_id = ? AND namespace_id = (SELECT namespace_id FROM projects WHERE id = ?)", w.developer.UserID, hidden)
		l, err = lint(w.developer, old, ci.DryRun{})
		check(t, err)
		if l.Valid || !strings.Contains(l.Errors[0], "Project `group/hidden` not found or access denied") || strings.Contains(l.MergedYAML, "secret") {
			t.Errorf("hidden include: %+v", l)
		}
		_, err = lint(w.reporter, "none", ci.DryRun{})
		wantError(t, "no commit", err, errs.NotFound, "Commit")
		_, err = lint(w.guest, "", ci.DryRun{})
		wantError(t, "guest", err, errs.Forbidden, "")
		w.push("main", files{".gitlab-ci.yml": ""}, "Empty [skip ci]")
		l, err = lint(w.reporter, "", ci.DryRun{})
		check(t, err)
		equal(t, "an empty file", strings.Join(l.Errors, ","), "Please provide content of .gitlab-ci.yml")
	})
}

func TestService_Explain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.push("work", yml("build:\n  script: x\n  rules:\n    - if: '$COLOR == \"red\"'\n      when: manual\ntest:\n  script: y\n  needs: [{job: build, optional: true}]\n"), "Begin [skip ci]")
		why, err := w.ci.Explain(ctx, w.developer, w.as(w.developer), ci.ExplainInput{Ref: "work", Variables: []ci.Variable{{Key: "COLOR", Value: "red"}}})
		check(t, err)
		if !why.Runs || len(why.Decided) != 3 {
			t.Fatalf("red: %+v", why)
		}
		build, test := why.Decided[1], why.Decided[2]
		if !build.Present || build.Rule != 1 || build.Line != 4 || build.Column != 7 || build.File != ".gitlab-ci.yml" || build.When != "manual" {
			t.Errorf("build: %+v", build)
		}
		equal(t, "test", test.Waits, "waits for build")
		why, err = w.ci.Explain(ctx, w.developer, w.as(w.developer), ci.ExplainInput{Ref: "work"})
		check(t, err)
		if build = why.Decided[1]; build.Present || build.Reason != "no rule matches" || len(build.Steps) != 1 {
			t.Errorf("no color: %+v", build)
		}
		w.protect("work")
		why, err = w.ci.Explain(ctx, w.developer, w.as(w.developer), ci.ExplainInput{Ref: "work"})
		check(t, err)
		if why.Runs || len(why.Problems) != 1 || !strings.Contains(why.Problems[0].Text, "'work'") {
			t.Errorf("protected: %+v", why)
		}
		_, err = w.ci.Explain(ctx, w.developer, w.as(w.developer), ci.ExplainInput{Ref: "none"})
		wantError(t, "no branch", err, errs.NotFound, "Reference")
		_, err = w.ci.Explain(ctx, w.reporter, w.as(w.reporter), ci.ExplainInput{Ref: "work"})
		wantError(t, "reporter", err, errs.Forbidden, "")
	})
}
