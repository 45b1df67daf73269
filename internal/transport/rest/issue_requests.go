package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("issues", (*Server).issueRequestRoutes)

// issueRequestRoutes lead from issues to merge requests and back.
func (s *Server) issueRequestRoutes() []*api.Route {
	const path = "/projects/:id/issues/:issue_iid"
	return api.Scoped(nil,
		api.Get(path+"/related_merge_requests", s.relatedRequests).Doc("List the merge requests that are related to an issue").
			Needs(authz.ReadIssue, authz.ListOwnMergeRequests),
		api.Get(path+"/closed_by", s.closingRequests).Doc("List the merge requests that close an issue on merge").
			Needs(authz.ReadIssue, authz.ListOwnMergeRequests),
		api.Get("/projects/:id/merge_requests/:merge_request_iid/closes_issues", s.closesIssues).
			Doc("List the issues that a merge request closes on merge").Needs(authz.ReadMergeRequest),
		api.Get("/projects/:id/merge_requests/:merge_request_iid/related_issues", s.relatedIssues).
			Doc("List the issues that are related to a merge request").Needs(authz.ReadMergeRequest),
	)
}

func (s *Server) relatedRequests(ctx context.Context, as authz.Actor, in issueListOfParams) (api.List[requestForm], error) {
	return s.requestsOfIssue(ctx, as, in, mergerequest.Filter{})
}

func (s *Server) closingRequests(ctx context.Context, as authz.Actor, in issueListOfParams) (api.List[requestForm], error) {
	return s.requestsOfIssue(ctx, as, in, mergerequest.Filter{Closing: true})
}

func (s *Server) requestsOfIssue(ctx context.Context, as authz.Actor, in issueListOfParams, f mergerequest.Filter) (api.List[requestForm], error) {
	var none api.List[requestForm]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	i, err := s.Issues.Find(ctx, as, p, in.IID)
	if err != nil {
		return none, err
	}
	f.Asc, f.Range = true, in.Range()
	list, err := s.MergeRequests.OfIssue(ctx, as, int64(i.ID), f)
	if err != nil {
		return none, err
	}
	return s.requestPage(ctx, as, requestFilterParams{}, p.FullPath, list)
}

func (s *Server) closesIssues(ctx context.Context, as authz.Actor, in requestListParams) (api.List[issueEntity], error) {
	var none api.List[issueEntity]
	p, err := s.Projects.Find(ctx, as, in.requestPath.ID)
	if err != nil {
		return none, err
	}
	closed, err := s.MergeRequests.Closes(ctx, as, p, in.IID)
	if err != nil {
		return none, err
	}
	ids := make([]issue.ID, len(closed))
	for n, c := range closed {
		ids[n] = issue.ID(c.ID)
	}
	return s.issuesAmong(ctx, as, p, ids, in)
}

func (s *Server) relatedIssues(ctx context.Context, as authz.Actor, in requestListParams) (api.List[issueEntity], error) {
	var none api.List[issueEntity]
	p, err := s.Projects.Find(ctx, as, in.requestPath.ID)
	if err != nil {
		return none, err
	}
	related, err := s.MergeRequests.Related(ctx, as, p, in.IID)
	if err != nil {
		return none, err
	}
	ids := make([]issue.ID, len(related))
	for n, id := range related {
		ids[n] = issue.ID(id)
	}
	return s.issuesAmong(ctx, as, p, ids, in)
}

// issuesAmong returns a page of those of the issues that the caller may read.
func (s *Server) issuesAmong(ctx context.Context, as authz.Actor, p *project.Project, ids []issue.ID, in requestListParams) (api.List[issueEntity], error) {
	var none api.List[issueEntity]
	list, err := s.Issues.Among(ctx, as, ids, in.Range())
	if err != nil {
		return none, err
	}
	out, err := s.issueEntities(ctx, as, list.Items, issueShape{from: p.FullPath}, issue.ViewOptions{})
	if err != nil {
		return none, err
	}
	return api.Listed(list, out), nil
}
