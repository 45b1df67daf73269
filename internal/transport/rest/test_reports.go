package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

type testReport struct {
	TotalTime    float64     `json:"total_time"`
	TotalCount   int64       `json:"total_count"`
	SuccessCount int64       `json:"success_count"`
	FailedCount  int64       `json:"failed_count"`
	SkippedCount int64       `json:"skipped_count"`
	ErrorCount   int64       `json:"error_count"`
	TestSuites   []testSuite `json:"test_suites"`
}

type testCounts struct {
	Name         string  `json:"name"`
	TotalTime    float64 `json:"total_time"`
	TotalCount   int64   `json:"total_count"`
	SuccessCount int64   `json:"success_count"`
	FailedCount  int64   `json:"failed_count"`
	SkippedCount int64   `json:"skipped_count"`
	ErrorCount   int64   `json:"error_count"`
	SuiteError   *string `json:"suite_error"`
}

type testSuite struct {
	testCounts
	TestCases []testCase `json:"test_cases"`
}

type testCase struct {
	Status        string  `json:"status"`
	Name          string  `json:"name"`
	Classname     string  `json:"classname"`
	File          *string `json:"file"`
	ExecutionTime float64 `json:"execution_time"`
	SystemOutput  *string `json:"system_output"`
	StackTrace    *string `json:"stack_trace"` // JUnit has no place of its own for it
	AttachmentURL string  `json:"attachment_url,omitempty"`
}

type testReportSummary struct {
	Total struct {
		Time       float64 `json:"time"`
		Count      int64   `json:"count"`
		Success    int64   `json:"success"`
		Failed     int64   `json:"failed"`
		Skipped    int64   `json:"skipped"`
		Error      int64   `json:"error"`
		SuiteError *string `json:"suite_error"`
	} `json:"total"`
	TestSuites []testSuiteSummary `json:"test_suites"`
}

type testSuiteSummary struct {
	testCounts
	BuildIDs []ci.StatusID `json:"build_ids"`
}

func countsOf(of *ci.TestSuite) testCounts {
	return testCounts{of.Name, of.Seconds, of.Total(), of.Success, of.Failed, of.Skipped, of.Error, of.Flaw}
}

func (s *Server) testCase(p *project.Project, of *ci.TestCase) testCase {
	out := testCase{Status: string(of.Status), Name: of.Name, Classname: of.Class, File: present(of.File), ExecutionTime: of.Seconds, SystemOutput: present(of.Output)}
	if of.Attachment != "" {
		out.AttachmentURL = s.URLs.JobFile(p.FullPath, int64(of.JobID), of.Attachment)
	}
	return out
}

func (s *Server) pipelineTests(ctx context.Context, as authz.Actor, in pipelinePath) (*testReport, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	suites, err := s.CI.TestReport(ctx, as, p, in.PipelineID)
	if err != nil {
		return nil, err
	}
	sum := ci.TotalTests(suites)
	out := &testReport{
		TotalTime: sum.Seconds, TotalCount: sum.Total(), SuccessCount: sum.Success, FailedCount: sum.Failed,
		SkippedCount: sum.Skipped, ErrorCount: sum.Error, TestSuites: make([]testSuite, 0, len(suites)),
	}
	for i := range suites {
		suite := testSuite{countsOf(&suites[i]), make([]testCase, 0, len(suites[i].Cases))}
		for j := range suites[i].Cases {
			suite.TestCases = append(suite.TestCases, s.testCase(p, &suites[i].Cases[j]))
		}
		out.TestSuites = append(out.TestSuites, suite)
	}
	return out, nil
}

func (s *Server) pipelineTestSummary(ctx context.Context, as authz.Actor, in pipelinePath) (*testReportSummary, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	suites, err := s.CI.TestSummary(ctx, as, p, in.PipelineID)
	if err != nil {
		return nil, err
	}
	sum := ci.TotalTests(suites)
	out := &testReportSummary{TestSuites: make([]testSuiteSummary, 0, len(suites))}
	out.Total.Time, out.Total.Count, out.Total.SuiteError = sum.Seconds, sum.Total(), sum.Flaw
	out.Total.Success, out.Total.Failed, out.Total.Skipped, out.Total.Error = sum.Success, sum.Failed, sum.Skipped, sum.Error
	for i := range suites {
		out.TestSuites = append(out.TestSuites, testSuiteSummary{countsOf(&suites[i]), suites[i].Jobs})
	}
	return out, nil
}
