package ci_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/ci"
)

// manyJobs is a configuration with a number of jobs of every kind.
func manyJobs(n int) string {
	var b strings.Builder
	b.WriteString("stages: [one, two]\n")
	for i := range n {
		switch {
		case i%5 == 0:
			fmt.Fprintf(&b, "slow%d: {stage: one, script: x, when: delayed, start_in: %d minutes, allow_failure: true}\n", i, i+2000)
		case i%5 == 1:
			fmt.Fprintf(&b, "alone%d: {stage: one, script: x, resource_group: line%d}\n", i, i)
		case i%5 == 2:
			fmt.Fprintf(&b, "after%d: {stage: two, script: x, needs: [alone%d, plain%d], tags: [a, b%d]}\n", i, i-1, i+1, i)
		case i%5 == 3:
			fmt.Fprintf(&b, "plain%d: {stage: one, script: x, tags: [a]}\n", i)
		default:
			fmt.Fprintf(&b, "child%d: {stage: one, trigger: {include: child.yml}}\n", i)
		}
	}
	return b.String()
}

// What is done with all jobs of a pipeline at once takes as many statements for 500 jobs as for 10, so that it holds up no other writer.
func TestService_manyJobs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.as(w.maintainer)
		w.settings(w.id, `{"auto_cancel_pending_pipelines":"disabled"}`)
		vars := func(n int) []ci.Variable {
			out := make([]ci.Variable, n)
			for i := range out {
				out[i] = ci.Variable{Key: fmt.Sprintf("V%d", i), Value: "x"}
			}
			return out
		}
		var few map[string]int
		for _, n := range []int{10, 500} {
			branch := fmt.Sprintf("jobs%d", n)
			w.push(branch, yml(manyJobs(n)), "Begin [skip ci]")
			got := map[string]int{}
			count := func(what string, do func() error) {
				t.Helper()
				all := dbtest.Transactions(t, w.DB, func() { check(t, do()) })
				got[what], _ = dbtest.Largest(all)
				took := time.Duration(0)
				for _, one := range all {
					took = max(took, one.Took)
				}
				t.Logf("%s %d jobs: %d statements, the longest transaction took %s", what, n, got[what], took)
			}
			var of *ci.Pipeline
			count("create", func() (err error) {
				of, err = w.ci.Run(ctx, w.maintainer, p, ci.RunInput{Ref: branch, Source: ci.ByAPI, Variables: vars(n)})
				return err
			})
			w.exec("INSERT INTO job_variables (job_id, key, value, dotenv) SELECT id, 'K', ?, false FROM commit_statuses WHERE pipeline_id = ? AND name = 'plain3'",
				w.box.Seal(fmt.Sprintf("variable K of job %d", w.job(of, "plain3").ID), "kept"), of.ID)
			count("cancel", func() error {
				_, err := w.ci.Cancel(ctx, w.maintainer, p, of.ID)
				return err
			})
			equal(t, "canceled", w.tally(of), fmt.Sprintf("canceled:%d", n))
			count("retry", func() error {
				_, err := w.ci.Retry(ctx, w.maintainer, p, of.ID)
				return err
			})
			// Bridges are not done again.
			m := n / 5
			equal(t, "retried", w.tally(of), fmt.Sprintf("canceled:%d created:%d pending:%d scheduled:%d waiting_for_resource:%d", m, m, m, m, m))
			for name, want := range map[string]string{"after2": "0 alone1 true false,1 plain3 true false", "plain3": ""} {
				if needs := w.rows("SELECT position || ' ' || name || CASE WHEN artifacts THEN ' true' ELSE ' false' END || CASE WHEN optional THEN ' true' ELSE ' false' END FROM job_needs WHERE job_id = ? ORDER BY position", w.job(of, name).ID); needs != want {
					t.Errorf("needs of %s: got %q, want %q", name, needs, want)
				}
			}
			equal(t, "tags", w.rows("SELECT tag FROM job_tags WHERE job_id = ? ORDER BY tag", w.job(of, "after2").ID), "a,b2")
			given, err := w.ci.ManualVariables(ctx, w.maintainer, []ci.StatusID{w.job(of, "plain3").ID})
			check(t, err)
			equal(t, "variables of the user", fmt.Sprint(given[w.job(of, "plain3").ID]), "[{K kept true false false false false}]")
			w.drain()
			w.wakeDelayed()
			equal(t, "after the background work", w.tally(of), fmt.Sprintf("canceled:%d created:%d pending:%d scheduled:%d", m, m, 2*m, m))
			w.pass(3000 * time.Minute)
			w.wakeDelayed()
			equal(t, "after the delay", w.tally(of), fmt.Sprintf("canceled:%d created:%d pending:%d", m, m, 3*m))
			count("cancel again", func() error {
				_, err := w.ci.Cancel(ctx, w.maintainer, p, of.ID)
				return err
			})
			w.drain()
			if few == nil {
				few = got
			}
			for what, n := range got {
				if n != few[what] || n > 60 {
					t.Errorf("%s: %d statements in one transaction, %d for ten jobs", what, n, few[what])
				}
			}
		}
	})
}

// tally counts the jobs of a pipeline in each state.
func (w *world) tally(of *ci.Pipeline) string {
	w.T.Helper()
	return strings.ReplaceAll(w.rows("SELECT status || ':' || COUNT(*) FROM commit_statuses WHERE pipeline_id = ? AND NOT retried GROUP BY status ORDER BY status", of.ID), ",", " ")
}

// rows returns what a query reads, joined.
func (w *world) rows(query string, args ...any) string {
	w.T.Helper()
	list, err := db.Select[string](w.T.Context(), w.DB, query, args...)
	check(w.T, err)
	return strings.Join(list, ",")
}
