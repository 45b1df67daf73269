package ci_test

import (
	"fmt"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
)

// A developer who may neither push to a protected branch nor merge into it changes nothing about its pipelines, be it job by job, all of them
// at once, their names or the statuses of their commits.
func TestService_protectedBranch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		const config = "stages: [one, two]\nbuild: {stage: one, script: x}\ntest: {stage: one, script: x}\ngate: {stage: two, script: x, when: manual}\n"
		token := w.runner("instance_type", nil)
		fresh := func(branch string) *ci.Pipeline {
			t.Helper()
			w.push(branch, yml(config), "Begin [skip ci]")
			of, err := w.ci.Run(ctx, w.maintainer, w.as(w.maintainer), ci.RunInput{Ref: branch, Source: ci.ByAPI})
			check(t, err)
			build, test := w.take(token, "build"), w.take(token, "test")
			w.archive(build, files{"a": "a"})
			w.succeed(build)
			w.fail(test)
			return of
		}
		calls := []struct {
			name string
			do   func(as authz.Actor, of *ci.Pipeline) error
		}{
			{"rename", func(as authz.Actor, of *ci.Pipeline) error {
				_, err := w.ci.Rename(ctx, as, w.as(as), of.ID, "x")
				return err
			}},
			{"report on its pipeline", func(as authz.Actor, of *ci.Pipeline) error {
				_, _, err := w.ci.Report(ctx, as, w.as(as), of.SHA, ci.Input{Name: "lint", State: ci.Failed})
				return err
			}},
			{"report by the full name", func(as authz.Actor, of *ci.Pipeline) error {
				_, _, err := w.ci.Report(ctx, as, w.as(as), of.SHA, ci.Input{Name: "full", State: ci.Failed, Ref: "refs/heads/" + of.Ref})
				return err
			}},
			{"report on the pipeline with an id", func(as authz.Actor, of *ci.Pipeline) error {
				_, _, err := w.ci.Report(ctx, as, w.as(as), of.SHA, ci.Input{Name: "named", State: ci.Failed, PipelineID: of.ID})
				return err
			}},
			{"keep artifacts", func(as authz.Actor, of *ci.Pipeline) error {
				_, err := w.ci.KeepArtifacts(ctx, as, w.as(as), w.job(of, "build").ID)
				return err
			}},
			{"retry", func(as authz.Actor, of *ci.Pipeline) error {
				_, err := w.ci.Retry(ctx, as, w.as(as), of.ID)
				return err
			}},
			{"retry a job", func(as authz.Actor, of *ci.Pipeline) error {
				_, err := w.ci.RetryJob(ctx, as, w.as(as), w.job(of, "build").ID)
				return err
			}},
			{"cancel a job", func(as authz.Actor, of *ci.Pipeline) error {
				_, err := w.ci.CancelJob(ctx, as, w.as(as), w.job(of, "build").ID)
				return err
			}},
			{"cancel", func(as authz.Actor, of *ci.Pipeline) error {
				_, err := w.ci.Cancel(ctx, as, w.as(as), of.ID)
				return err
			}},
		}
		stable, work := fresh("stable"), fresh("work")
		w.exec("UPDATE commit_statuses SET author_id = ? WHERE pipeline_id = ?", w.developer.UserID, stable.ID)
		w.protect("stable")
		for _, c := range calls {
			wantError(t, c.name+" as a developer", c.do(w.developer, stable), errs.Forbidden, "")
		}
		_, err := w.ci.Erase(ctx, w.developer, w.as(w.developer), w.job(stable, "build").ID)
		wantError(t, "erase an own job", err, errs.Forbidden, "")
		w.wantStates(stable, "after the developer", "build:success test:failed gate:skipped = failed")
		equal(t, "pipelines after the developer", len(w.pipelines(w.id, "refs/heads/stable")), 0)
		for _, c := range calls {
			if err := c.do(w.maintainer, stable); err != nil {
				t.Errorf("%s as a maintainer: %v", c.name, err)
			}
			if err := c.do(w.developer, work); err != nil {
				t.Errorf("%s as a developer on another branch: %v", c.name, err)
			}
		}
		may, err := w.ci.Permissions(ctx, w.developer, []ci.PipelineID{stable.ID, work.ID})
		check(t, err)
		equal(t, "update permission", fmt.Sprint(may[stable.ID].Update, may[work.ID].Update), "false true")

		// A commit without a pipeline.
		sha := w.push("stable", files{"b": "b"}, "More [skip ci]")
		w.exec("DELETE FROM pipelines WHERE sha = ?", sha)
		_, _, err = w.ci.Report(ctx, w.developer, w.as(w.developer), sha, ci.Input{Name: "lint", State: ci.Success})
		wantError(t, "the first report on a protected branch", err, errs.Forbidden, "")
		w.move(w.id, map[string]string{"refs/heads/feature": sha})
		_, _, err = w.ci.Report(ctx, w.developer, w.as(w.developer), sha, ci.Input{Name: "lint", State: ci.Success, Ref: "feature"})
		check(t, err)
	})
}
