package ci_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/runner"
)

func TestService_OfRunner(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := w.other("group/other", authz.Private, oneJob)
		token := w.runner(runner.ProjectType, nil, w.id, other)
		w.begin(oneJob)
		w.run(token, "build")
		w.pushTo(other, "main", yml("build: {script: y}\n"), "Change")
		w.fail(w.take(token, "build"))
		id := *w.job(&w.pipelines(other, "main")[0], "build").RunnerID
		list := func(who authz.Actor, f ci.JobFilter) string {
			t.Helper()
			jobs, err := w.ci.OfRunner(t.Context(), who, id, f)
			if err != nil {
				return errs.KindOf(err).String()
			}
			var out []string
			for i := range jobs.Items {
				views, err := w.ci.ViewsOfProjects(t.Context(), who, []*ci.Job{&jobs.Items[i]})
				check(t, err)
				out = append(out, fmt.Sprintf("%s:%s", views[0].Project.FullPath, views[0].State))
			}
			return strings.Join(out, " ")
		}
		equal(t, "maintainer", list(w.maintainer, ci.JobFilter{}), "group/other:failed group/shop:success")
		equal(t, "ascending", list(w.maintainer, ci.JobFilter{Asc: true}), "group/shop:success group/other:failed")
		equal(t, "by state", list(w.maintainer, ci.JobFilter{States: []ci.State{ci.Success}}), "group/shop:success")
		equal(t, "developer", list(w.developer, ci.JobFilter{}), "forbidden")
		equal(t, "stranger", list(w.stranger, ci.JobFilter{}), "forbidden")
		equal(t, "nobody", list(authz.Actor{}, ci.JobFilter{}), "unauthorized")

		// Who maintains one of the projects sees nothing of those that it is no Reporter of.
		w.Join(w.id, w.stranger, authz.Maintainer)
		equal(t, "maintainer of one", list(w.stranger, ci.JobFilter{}), "group/shop:success")
		w.Join(other, w.stranger, authz.Guest)
		equal(t, "guest of the other", list(w.stranger, ci.JobFilter{}), "group/shop:success")
		_, err := w.ci.OfRunner(t.Context(), w.maintainer, id+100, ci.JobFilter{})
		wantError(t, "no runner", err, errs.NotFound, "Runner")
	})
}

func TestService_DeleteAllArtifacts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner(runner.InstanceType, nil)
		one := func(branch, expire string) *ci.Pipeline {
			t.Helper()
			w.push(branch, yml("build: {script: x}\n# "+w.now().String()), "Change")
			a := w.take(token, "build")
			w.archive(a, files{"a": "a"})
			if expire != "" {
				w.exec("UPDATE job_artifacts SET expire_at = NULL WHERE job_id = ?", a.Job.ID)
			}
			w.succeed(a)
			w.drain()
			return w.newest(branch)
		}
		older, kept, latest := one("work", ""), one("work", "never"), one("work", "")
		w.push("work", yml(oneJob), "Change")
		running := w.take(token, "build")
		w.archive(running, files{"a": "a"})
		open := func(p *ci.Pipeline) string {
			t.Helper()
			_, o, err := w.ci.OpenArtifact(t.Context(), w.guest, w.as(w.guest), w.job(p, "build").ID, "")
			if err != nil {
				return errs.KindOf(err).String()
			}
			check(t, o.Close())
			return "open"
		}
		for name, who := range map[string]authz.Actor{"developer": w.developer, "guest": w.guest} {
			wantError(t, name, w.ci.DeleteAllArtifacts(t.Context(), who, w.as(who)), errs.Forbidden, "")
		}
		equal(t, "objects at first", w.kept(), 4)
		w.pass(time.Minute)
		check(t, w.ci.DeleteAllArtifacts(t.Context(), w.maintainer, w.as(w.maintainer)))
		w.drain()
		equal(t, "older, kept, latest, running", strings.Join([]string{open(older), open(kept), open(latest), open(running.Pipeline)}, " "), "not found not found open open")
		equal(t, "objects", w.kept(), 2)
		w.succeed(running)
		w.drain()
		equal(t, "the latest of then", open(latest), "open")
	})
}
