package ci_test

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
)

// needed returns the artifacts that a job gets, by the names of their jobs, and their content as it would download them.
func (w *world) needed(a *ci.Assignment) string {
	w.T.Helper()
	var out []string
	for _, d := range a.Dependencies {
		_, o, err := w.ci.OpenForJob(w.T.Context(), w.hold(a), d.ID)
		if err != nil {
			out = append(out, d.Name+": "+errs.KindOf(err).String())
			continue
		}
		content, err := io.ReadAll(o)
		check(w.T, err)
		check(w.T, o.Close())
		if int64(len(content)) != d.Size {
			w.T.Errorf("%s has %d bytes, want %d", d.Name, len(content), d.Size)
		}
		out = append(out, d.Name)
	}
	return strings.Join(out, " ")
}

// A job needs the artifacts of another project, as far as its user and its project reach.
func TestService_crossDependencies_project(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"}`)
		token := w.runner("instance_type", nil)
		tools := w.other("group/tools", authz.Private, "build: {script: x}\nreport: {script: x}\n")
		deliver := func(access string) {
			t.Helper()
			w.pushTo(tools, "main", yml("build: {script: x}\nreport: {script: x}\n# "+w.now().String()+access), "Change")
			for range 2 {
				a := w.ask(token)
				check(t, w.store(a, ci.ArtifactInput{Access: access}, zipped(t, files{"a": a.Job.Name})))
				check(t, w.store(a, ci.ArtifactInput{Type: "dotenv", Format: "gzip"}, gzipped(t, "FROM="+a.Job.Name)))
				w.succeed(a)
			}
			w.drain()
		}
		deliver(ci.PublicAccess)
		const text = `
stages: [one, two]
first: {stage: one, script: x}
use:
  stage: two
  script: x
  variables: {WHERE: tools}
  needs:
    - {project: group/$WHERE, job: build, ref: $CI_DEFAULT_BRANCH}
`
		w.exec("UPDATE projects SET default_branch = 'main' WHERE id = ?", w.id)
		attempt := func() (*ci.Pipeline, *ci.Assignment) {
			t.Helper()
			p := w.begin(text + "# " + w.now().String())
			w.pass(time.Second)
			w.wantStates(p, "it waits for its stage", "first:pending use:created = pending")
			a := w.take(token, "first")
			w.archive(a, files{"first": "first"})
			w.succeed(a)
			return p, w.ask(token)
		}
		p, a := attempt()
		if a != nil {
			t.Fatalf("a job got artifacts of a project that does not let its own in: %s", w.needed(a))
		}
		equal(t, "reason", reason(w.job(p, "use")), ci.MissingDependency)

		_, err := w.scopes.AllowProject(t.Context(), w.maintainer, w.Find(w.maintainer, tools), w.id)
		check(t, err)
		p, a = attempt()
		equal(t, "needed", w.needed(a), "first build")
		equal(t, "variable of the report", value(a, "FROM"), "build")
		// A newer pipeline does not take away what was promised.
		deliver(ci.PublicAccess)
		equal(t, "while it runs", w.needed(a), "first build")
		w.succeed(a)
		w.wantStates(p, "at the end", "first:success use:success = success")

		// A job that needs none of them gets none by their numbers.
		other := w.begin(oneJob)
		own := w.take(token, "build")
		_, _, err = w.ci.OpenForJob(t.Context(), w.hold(own), a.Dependencies[1].ID)
		wantError(t, "a job that has not said so", err, errs.NotFound, "")
		w.succeed(own)
		w.wantStates(other, "at the end", "build:success = success")

		// What its user may not read, it does not get.
		w.exec("DELETE FROM members WHERE user_id = ? AND namespace_id = (SELECT namespace_id FROM projects WHERE id = ?)", w.maintainer.UserID, tools)
		p, a = attempt()
		if a != nil {
			t.Errorf("got %s", w.needed(a))
		}
		equal(t, "reason", reason(w.job(p, "use")), ci.MissingDependency)
	})
}

// A child pipeline needs artifacts of its parent, and of no pipeline outside of its family.
func TestService_crossDependencies_pipeline(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		alien := w.begin(oneJob)
		b := w.take(token, "build")
		w.archive(b, files{"a": "a"})
		w.succeed(b)
		w.push("main", files{
			".gitlab-ci.yml": "stages: [one, two]\nmake: {stage: one, script: x}\nchild: {stage: two, trigger: {include: child.yml}, variables: {PARENT: $CI_PIPELINE_ID}}\n",
			"child.yml": "use: {script: x, needs: [{pipeline: $PARENT, job: make}]}\n" +
				"steal: {script: x, needs: [{pipeline: \"" + strconv.FormatInt(int64(alien.ID), 10) + "\", job: build}]}\n" +
				"itself: {script: x, needs: [{pipeline: $CI_PIPELINE_ID, job: use}]}\n",
		}, "Begin")
		parent := w.newest("main")
		made := w.take(token, "make")
		w.archive(made, files{"a": "a"})
		w.succeed(made)
		w.drain()
		child := w.wantBelow(parent, "child")
		use := w.take(token, "use")
		equal(t, "needed", w.needed(use), "make")
		w.succeed(use)
		if a := w.ask(token); a != nil {
			t.Errorf("%s got %s", a.Job.Name, w.needed(a))
		}
		w.wantStates(child, "at the end", "itself:failed steal:failed use:success = failed")
		equal(t, "reason", reason(w.job(child, "steal")), ci.MissingDependency)
	})
}

// Needs of other projects and pipelines that are wrong are refused in words.
func TestService_crossDependencies_wrong(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for needs, want := range map[string]string{
			"[{project: group/tools, ref: main}]":  "jobs:use:needs:need job can't be blank",
			"[{project: group/tools, job: build}]": "jobs:use:needs:need ref can't be blank",
			"[{pipeline: \"1\"}]":                  "jobs:use:needs:need job can't be blank",
		} {
			p := w.begin("use: {script: x, needs: " + needs + "}\n")
			if p.YAMLErrors == nil {
				t.Errorf("%s is taken, want %s", needs, want)
			} else if !strings.Contains(*p.YAMLErrors, want) {
				t.Errorf("%s: %s, want %s", needs, *p.YAMLErrors, want)
			}
		}
	})
}
