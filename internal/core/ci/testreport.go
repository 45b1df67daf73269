package ci

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/junit"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// TestCounts are how the tests of a job or a pipeline ended.
type TestCounts struct {
	Seconds float64 `db:"seconds"`
	Success int64   `db:"success"`
	Failed  int64   `db:"failed"`
	Error   int64   `db:"error"`
	Skipped int64   `db:"skipped"`
	Flaw    *string `db:"flaw"` // why a report cannot be read; nothing is counted then
}

// Total is how many tests there were.
func (c *TestCounts) Total() int64 { return c.Success + c.Failed + c.Error + c.Skipped }

func (c *TestCounts) count(t *junit.Case) {
	c.Seconds += t.Seconds
	switch t.Status {
	case junit.Success:
		c.Success++
	case junit.Failed:
		c.Failed++
	case junit.Errored:
		c.Error++
	case junit.Skipped:
		c.Skipped++
	}
}

// add counts what another counts as well.
func (c *TestCounts) add(o *TestCounts) {
	c.Seconds = math.Round((c.Seconds+o.Seconds)*1e6) / 1e6
	c.Success, c.Failed, c.Error, c.Skipped = c.Success+o.Success, c.Failed+o.Failed, c.Error+o.Error, c.Skipped+o.Skipped
	c.Flaw = cmp.Or(c.Flaw, o.Flaw)
}

// TestCase is a test of a job.
type TestCase struct {
	junit.Case
	JobID StatusID
}

// TestSuite holds the tests of a job, or of the jobs that one of the configuration became by parallel.
type TestSuite struct {
	TestCounts
	Name  string
	Jobs  []StatusID
	Cases []TestCase // of TestReport only
}

// TotalTests counts the tests of all suites.
func TotalTests(suites []TestSuite) TestCounts {
	var out TestCounts
	for i := range suites {
		out.add(&suites[i].TestCounts)
	}
	return out
}

// Bounds of test reports.
const (
	maxReport      = 32 << 20 // bytes of XML, of all reports of a pipeline
	maxReportTests = 200_000  // of all reports of a pipeline
	reportsAtOnce  = 2        // how many pipelines have their reports read at the same time
)

// readTests gives fn each test of a report, and what is wrong with the report.
func (s *Service) readTests(ctx context.Context, key string, limits junit.Limits, fn func(junit.Case) error) (flaw *string, err error) {
	o, err := s.Objects.Open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("open test report: %w", err)
	}
	defer func() { _ = o.Close() }()
	z, err := gzip.NewReader(o)
	if err == nil {
		err = junit.Read(z, limits, fn)
	}
	if err == nil || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	text := "JUnit XML parsing failed: " + err.Error()
	return &text, nil
}

// countTests counts the tests of a report that has come.
func (s *Service) countTests(ctx context.Context, key string) (TestCounts, error) {
	var out TestCounts
	flaw, err := s.readTests(ctx, key, junit.Limits{Bytes: maxReport, Cases: maxReportTests}, func(c junit.Case) error {
		out.count(&c)
		return nil
	})
	if flaw != nil {
		out = TestCounts{Flaw: flaw}
	}
	return out, err
}

// keepTests records what a report counts.
func (s *Service) keepTests(ctx context.Context, of *Artifact, c *TestCounts) error {
	_, err := db.InsertRow(ctx, s.DB, "job_tests", db.Values{
		"job_id": of.JobID, "access": of.Access, "seconds": c.Seconds, "success": c.Success, "failed": c.Failed, "error": c.Error,
		"skipped": c.Skipped, "flaw": c.Flaw,
	}, "ON CONFLICT (job_id) DO NOTHING")
	if err != nil {
		return fmt.Errorf("record tests: %w", err)
	}
	return nil
}

// reported is the report of a job that has not been run again.
type reported struct {
	TestCounts
	JobID StatusID `db:"job_id"`
	Name  string   `db:"name"`
	Key   *string  `db:"object_key"` // nil where the report itself is gone
}

// suite names the suite of the report: jobs with values of a matrix have one each.
func (r *reported) suite() string {
	if strings.HasSuffix(r.Name, "]") {
		return r.Name
	}
	return GroupName(r.Name)
}

// reports reads the reports of a pipeline that the actor may read, in the order of the jobs.
func (s *Service) reports(ctx context.Context, as authz.Actor, p *project.Project, of PipelineID) ([]reported, error) {
	if _, err := s.Find(ctx, as, p, of); err != nil {
		return nil, err
	}
	var accessible []string
	for _, access := range []string{PublicAccess, PrivateAccess, MaintainerAccess} {
		may, err := s.Policy.Can(ctx, as, needs(access, readable(p)), p.Subject())
		if err != nil {
			return nil, err
		}
		if may {
			accessible = append(accessible, access)
		}
	}
	var w db.Where
	w.And("s.pipeline_id = ? AND NOT s.retried", of)
	w.In("t.access", accessible)
	rows, err := db.Select[reported](ctx, s.DB, `SELECT t.job_id, s.name, t.seconds, t.success, t.failed, t.error, t.skipped, t.flaw, a.object_key
		FROM commit_statuses s JOIN job_tests t ON t.job_id = s.id LEFT JOIN job_artifacts a ON a.job_id = s.id AND a.type = 'junit'`+
		w.SQL()+" ORDER BY s.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("list test reports: %w", err)
	}
	return rows, nil
}

// suites puts the reports of jobs that belong together into one suite, in the order of the first.
func suites(rows []reported, fill func(*TestSuite, *reported) error) ([]TestSuite, error) {
	var out []TestSuite
	at := map[string]int{}
	for i := range rows {
		r := &rows[i]
		name := r.suite()
		if _, ok := at[name]; !ok {
			at[name] = len(out)
			out = append(out, TestSuite{Name: name})
		}
		suite := &out[at[name]]
		suite.Jobs = append(suite.Jobs, r.JobID)
		if err := fill(suite, r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// TestSummary counts the tests of a pipeline by suite.
func (s *Service) TestSummary(ctx context.Context, as authz.Actor, p *project.Project, of PipelineID) ([]TestSuite, error) {
	rows, err := s.reports(ctx, as, p, of)
	if err != nil {
		return nil, err
	}
	return suites(rows, func(suite *TestSuite, r *reported) error {
		suite.add(&r.TestCounts)
		return nil
	})
}

// TestReport returns the tests of a pipeline by suite: those that broke first, then failures, successes and what was skipped, the
// longest first. A suite whose reports are gone is left out; one that would exceed the bounds of a pipeline has a flaw.
func (s *Service) TestReport(ctx context.Context, as authz.Actor, p *project.Project, of PipelineID) ([]TestSuite, error) {
	rows, err := s.reports(ctx, as, p, of)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r reported) bool { return r.Key == nil })
	if err := s.reading.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait to read test reports: %w", err)
	}
	defer s.reading.Release(1)
	left := junit.Limits{Bytes: maxReport, Cases: maxReportTests}
	out, err := suites(rows, func(suite *TestSuite, r *reported) error {
		return s.fillSuite(ctx, suite, r, &left)
	})
	for i := range out {
		slices.SortStableFunc(out[i].Cases, func(a, b TestCase) int {
			return cmp.Or(cmp.Compare(caseOrder[a.Status], caseOrder[b.Status]), cmp.Compare(b.Seconds, a.Seconds))
		})
	}
	return out, err
}

var caseOrder = map[junit.Status]int{junit.Errored: 0, junit.Failed: 1, junit.Success: 2, junit.Skipped: 3}

// fillSuite adds the tests of a report to its suite, as long as any are left of what a pipeline may have.
func (s *Service) fillSuite(ctx context.Context, suite *TestSuite, r *reported, left *junit.Limits) error {
	var counts TestCounts
	var cases []TestCase
	used := int64(0)
	flaw, err := s.readTests(ctx, *r.Key, *left, func(c junit.Case) error {
		counts.count(&c)
		cases = append(cases, TestCase{c, r.JobID})
		used += int64(len(c.Name) + len(c.Class) + len(c.File) + len(c.Output) + len(c.Attachment))
		return nil
	})
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nil // deleted since
	case err != nil:
		return errs.Wrap(err, "read test report")
	case flaw != nil:
		counts, cases = TestCounts{Flaw: flaw}, nil
	}
	left.Bytes, left.Cases = max(left.Bytes-used, 0), max(left.Cases-len(cases), 0)
	suite.add(&counts)
	suite.Cases = append(suite.Cases, cases...)
	return nil
}
