package ci_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
)

// told renders suites: name, jobs, counts and cases.
func told(suites []ci.TestSuite) string {
	var out []string
	for _, s := range suites {
		line := fmt.Sprintf("%s x%d %gs %d+%d-%d!%d~", s.Name, len(s.Jobs), s.Seconds, s.Success, s.Failed, s.Error, s.Skipped)
		if s.Flaw != nil {
			line += " " + *s.Flaw
		}
		for _, c := range s.Cases {
			line += fmt.Sprintf(" %s=%s", c.Name, c.Status)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func (w *world) tests(a *ci.Assignment, access, text string) {
	w.T.Helper()
	check(w.T, w.store(a, ci.ArtifactInput{Type: "junit", Format: "gzip", Access: access, ExpireIn: "1 day"}, gzipped(w.T, text)))
}

func TestService_TestReport(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin("unit: {script: x, parallel: 2}\nlint: {script: x}\nhidden: {script: x}\n" +
			"per: {script: x, parallel: {matrix: [{OS: [a, b]}]}}\nsilent: {script: x}\n")
		token := w.runner("instance_type", nil)
		reports := map[string]string{
			"unit 1/2": `<testsuite><testcase name="ok" time="0.1"/><testcase name="slow" time="2"/><testcase name="bad" time="0.2"><failure>no</failure></testcase></testsuite>`,
			"unit 2/2": `<testsuite><testcase name="broken" time="0.4"><error>oh</error></testcase><testcase name="later"><skipped/></testcase></testsuite>`,
			"lint":     "<testsuite>",
			"hidden":   `<testsuite><testcase name="secret"/></testsuite>`,
			"per: [a]": `<testsuite><testcase name="on a"/></testsuite>`,
			"per: [b]": `<testsuite><testcase name="on b"/></testsuite>`,
		}
		first := ci.StatusID(0)
		for a := w.ask(token); a != nil; a = w.ask(token) {
			access := ci.PublicAccess
			if a.Job.Name == "hidden" {
				access = ci.PrivateAccess
			}
			if text := reports[a.Job.Name]; text != "" {
				w.tests(a, access, text)
			}
			if a.Job.Name == "unit 1/2" {
				first = a.Job.ID
			}
			w.succeed(a)
		}
		ask := func(who authz.Actor) (report, summary string) {
			t.Helper()
			full, err := w.ci.TestReport(t.Context(), who, w.as(who), p.ID)
			check(t, err)
			short, err := w.ci.TestSummary(t.Context(), who, w.as(who), p.ID)
			check(t, err)
			return told(full), told(short)
		}
		unit, flawed := "unit x2 2.7s 2+1-1!1~", "lint x1 0s 0+0-0!0~ JUnit XML parsing failed: line 1: unexpected EOF"
		report, summary := ask(w.guest)
		equal(t, "report", report, strings.Join([]string{
			unit + " broken=error bad=failed slow=success ok=success later=skipped", flawed,
			"per: [a] x1 0s 1+0-0!0~ on a=success", "per: [b] x1 0s 1+0-0!0~ on b=success",
		}, "\n"))
		equal(t, "summary", summary, strings.Join([]string{unit, flawed, "per: [a] x1 0s 1+0-0!0~", "per: [b] x1 0s 1+0-0!0~"}, "\n"))
		report, _ = ask(w.developer)
		equal(t, "a private report, as developer", strings.Contains(report, "secret=success"), true)

		// A job that runs again counts once.
		_, err := w.ci.RetryJob(t.Context(), w.developer, w.as(w.developer), first)
		check(t, err)
		a := w.ask(token)
		w.tests(a, "", `<testsuite><testcase name="mended"/></testsuite>`)
		w.succeed(a)
		report, _ = ask(w.guest)
		equal(t, "after a retry", strings.Contains(report, "bad") || !strings.Contains(report, "mended=success"), false)

		// The counts stay when the report itself has expired.
		w.settings(w.id, `{"keep_latest_artifact":false}`)
		w.pass(25 * time.Hour)
		check(t, w.ci.Expire(t.Context(), ci.Expiring{}))
		report, summary = ask(w.guest)
		equal(t, "report after a day", report, "")
		equal(t, "summary after a day", strings.Contains(summary, "per: [a] x1 0s 1+0-0!0~"), true)

		_, err = w.ci.TestReport(t.Context(), w.stranger, w.loaded(), p.ID)
		wantError(t, "stranger", err, errs.NotFound, "")
		w.settings(w.id, `{"public_jobs":false}`)
		_, err = w.ci.TestSummary(t.Context(), w.guest, w.as(w.guest), p.ID)
		wantError(t, "guest, where jobs are not public", err, errs.Forbidden, "")
	})
}

// All reports of a pipeline share one budget, so that many large ones take no more memory than one.
func TestService_TestReport_bounds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.begin("unit: {script: x, parallel: 3}\n")
		token := w.runner("instance_type", nil)
		large := `<testsuite><testcase name="a"><failure>` + strings.Repeat("x", 20<<20) + "</failure></testcase></testsuite>"
		for a := w.ask(token); a != nil; a = w.ask(token) {
			w.tests(a, "", large)
			w.succeed(a)
		}
		got, err := w.ci.TestReport(t.Context(), w.guest, w.as(w.guest), p.ID)
		check(t, err)
		equal(t, "suites", len(got), 1)
		equal(t, "cases", len(got[0].Cases), 1)
		equal(t, "flaw", *got[0].Flaw, "JUnit XML parsing failed: the report is too large")
		short, err := w.ci.TestSummary(t.Context(), w.guest, w.as(w.guest), p.ID)
		check(t, err)
		equal(t, "counted when they came", told(short), "unit x3 0s 0+3-0!0~")
	})
}
