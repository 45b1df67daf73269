package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/timelog"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("time tracking", (*Server).timeTrackingRoutes)

// timeTrackingRoutes are those of the time that is estimated for issues and merge requests
// and spent on them.
func (s *Server) timeTrackingRoutes() []*api.Route {
	const issue, request = "/projects/:id/issues/:issue_iid", "/projects/:id/merge_requests/:merge_request_iid"
	return api.Scoped(nil,
		api.Get(issue+"/time_stats", s.issueTime).Doc("Get the time tracking statistics of an issue").Public().Needs(authz.ReadIssue),
		api.Post(issue+"/time_estimate", s.estimateIssue).Doc("Set the time estimate of an issue").
			Status(http.StatusOK).Needs(authz.SetIssueMetadata, authz.ReadIssue),
		api.Post(issue+"/reset_time_estimate", s.resetIssueEstimate).Doc("Reset the time estimate of an issue").
			Status(http.StatusOK).Needs(authz.SetIssueMetadata, authz.ReadIssue),
		api.Post(issue+"/add_spent_time", s.spendOnIssue).Doc("Add spent time to an issue").Needs(authz.SetIssueMetadata, authz.ReadIssue),
		api.Post(issue+"/reset_spent_time", s.resetIssueSpent).Doc("Reset the spent time of an issue").
			Status(http.StatusOK).Needs(authz.SetIssueMetadata, authz.ReadIssue),
		api.Get(request+"/time_stats", s.requestTime).Doc("Get the time tracking statistics of a merge request").Needs(authz.ReadMergeRequest),
		api.Post(request+"/time_estimate", s.estimateRequest).Doc("Set the time estimate of a merge request").
			Status(http.StatusOK).Needs(authz.SetMergeRequestMetadata, authz.ReadMergeRequest),
		api.Post(request+"/reset_time_estimate", s.resetRequestEstimate).Doc("Reset the time estimate of a merge request").
			Status(http.StatusOK).Needs(authz.SetMergeRequestMetadata, authz.ReadMergeRequest),
		api.Post(request+"/add_spent_time", s.spendOnRequest).Doc("Add spent time to a merge request").
			Needs(authz.SetMergeRequestMetadata, authz.ReadMergeRequest),
		api.Post(request+"/reset_spent_time", s.resetRequestSpent).Doc("Reset the spent time of a merge request").
			Status(http.StatusOK).Needs(authz.SetMergeRequestMetadata, authz.ReadMergeRequest),
	)
}

// timeStats are the totals of an issue or merge request, in seconds and in words.
type timeStats struct {
	Estimate      int64   `json:"time_estimate"`
	Spent         int64   `json:"total_time_spent"`
	HumanEstimate *string `json:"human_time_estimate"`
	HumanSpent    *string `json:"human_total_time_spent"`
}

func (s *Server) timeStats(t timelog.Totals) timeStats {
	return timeStats{Estimate: t.Estimate, Spent: t.Spent, HumanEstimate: s.Times.HumanPtr(t.Estimate), HumanSpent: s.Times.HumanPtr(t.Spent)}
}

type durationParam struct {
	Duration string `param:"duration,required" doc:"Duration, such as 3h30m"`
}

type spentParams struct {
	durationParam
	Summary string `param:"summary" doc:"What the time was spent on"`
}

// noEstimate is what resetting an estimate sets.
func noEstimate() timelog.Change {
	zero := "0"
	return timelog.Change{Estimate: &zero}
}

func (s *Server) trackIssue(ctx context.Context, as authz.Actor, in issuePath, c timelog.Change) (timeStats, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return timeStats{}, err
	}
	i, err := s.Issues.TrackTime(ctx, as, p, in.IID, c)
	if err != nil {
		return timeStats{}, err
	}
	return s.timeStats(i.Totals), nil
}

func (s *Server) issueTime(ctx context.Context, as authz.Actor, in issuePath) (timeStats, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return timeStats{}, err
	}
	i, err := s.Issues.Find(ctx, as, p, in.IID)
	if err != nil {
		return timeStats{}, err
	}
	return s.timeStats(i.Totals), nil
}

type estimateIssueParams struct {
	issuePath
	durationParam
}

func (s *Server) estimateIssue(ctx context.Context, as authz.Actor, in estimateIssueParams) (timeStats, error) {
	return s.trackIssue(ctx, as, in.issuePath, timelog.Change{Estimate: &in.Duration})
}

func (s *Server) resetIssueEstimate(ctx context.Context, as authz.Actor, in issuePath) (timeStats, error) {
	return s.trackIssue(ctx, as, in, noEstimate())
}

type spendOnIssueParams struct {
	issuePath
	spentParams
}

func (s *Server) spendOnIssue(ctx context.Context, as authz.Actor, in spendOnIssueParams) (timeStats, error) {
	return s.trackIssue(ctx, as, in.issuePath, timelog.Change{Spend: orZero(in.Duration), Summary: in.Summary})
}

func (s *Server) resetIssueSpent(ctx context.Context, as authz.Actor, in issuePath) (timeStats, error) {
	return s.trackIssue(ctx, as, in, timelog.Change{Reset: true})
}

// orZero makes an empty duration one that is refused.
func orZero(duration string) string {
	if duration == "" {
		return "0"
	}
	return duration
}

func (s *Server) trackRequest(ctx context.Context, as authz.Actor, in requestPath, c timelog.Change) (timeStats, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return timeStats{}, err
	}
	m, err := s.MergeRequests.TrackTime(ctx, as, p, in.IID, c)
	if err != nil {
		return timeStats{}, err
	}
	return s.timeStats(m.Totals), nil
}

func (s *Server) requestTime(ctx context.Context, as authz.Actor, in requestPath) (timeStats, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return timeStats{}, err
	}
	m, err := s.MergeRequests.Find(ctx, as, p, in.IID)
	if err != nil {
		return timeStats{}, err
	}
	return s.timeStats(m.Totals), nil
}

type estimateRequestParams struct {
	requestPath
	durationParam
}

func (s *Server) estimateRequest(ctx context.Context, as authz.Actor, in estimateRequestParams) (timeStats, error) {
	return s.trackRequest(ctx, as, in.requestPath, timelog.Change{Estimate: &in.Duration})
}

func (s *Server) resetRequestEstimate(ctx context.Context, as authz.Actor, in requestPath) (timeStats, error) {
	return s.trackRequest(ctx, as, in, noEstimate())
}

type spendOnRequestParams struct {
	requestPath
	spentParams
}

func (s *Server) spendOnRequest(ctx context.Context, as authz.Actor, in spendOnRequestParams) (timeStats, error) {
	return s.trackRequest(ctx, as, in.requestPath, timelog.Change{Spend: orZero(in.Duration), Summary: in.Summary})
}

func (s *Server) resetRequestSpent(ctx context.Context, as authz.Actor, in requestPath) (timeStats, error) {
	return s.trackRequest(ctx, as, in, timelog.Change{Reset: true})
}
