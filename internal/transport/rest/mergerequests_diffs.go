package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("merge_requests", (*Server).mergeRequestDiffRoutes)

// mergeRequestDiffRoutes are the endpoints of raw diffs and of commits that a merge request shows
// beside its own.
func (s *Server) mergeRequestDiffRoutes() []*api.Route {
	const one = "/projects/:id/merge_requests/:merge_request_iid"
	return api.Scoped(nil,
		api.Get(one+"/raw_diffs", s.requestRawDiffs).Doc("Get the raw diffs of a merge request").Needs(authz.ReadMergeRequest),
		api.Get(one+"/context_commits", s.contextCommits).Doc("List the context commits of a merge request").Needs(authz.ReadMergeRequest),
		api.Post(one+"/context_commits", s.addContextCommits).Doc("Create context commits of a merge request").Needs(authz.ReadMergeRequest, authz.ReadCode, authz.UpdateMergeRequest),
		api.Delete(one+"/context_commits", s.removeContextCommits).Doc("Delete context commits of a merge request").Needs(authz.ReadMergeRequest, authz.ReadCode, authz.UpdateMergeRequest),
	)
}

func (s *Server) requestRawDiffs(ctx context.Context, as authz.Actor, in requestPath) (api.Raw, error) {
	p, m, err := s.readRequest(ctx, as, in)
	if err != nil {
		return api.Raw{}, err
	}
	text, err := s.MergeRequests.RawDiff(ctx, as, p, m)
	return api.Raw{Type: "text/plain; charset=utf-8", Header: http.Header{}, Stream: text}, err
}

func (s *Server) contextCommits(ctx context.Context, as authz.Actor, in requestListParams) (api.List[commitEntity], error) {
	var none api.List[commitEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	commits, err := s.MergeRequests.ContextCommits(ctx, as, p, in.IID, in.Range())
	if err != nil {
		return none, err
	}
	return api.Listed(commits, s.commitEntities(p, commits.Items)), nil
}

type contextCommitsParams struct {
	requestPath
	Commits api.Strings `param:"commits,required" doc:"SHAs of the commits, at most 20"`
}

func (s *Server) addContextCommits(ctx context.Context, as authz.Actor, in contextCommitsParams) ([]commitEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	commits, err := s.MergeRequests.AddContextCommits(ctx, as, p, in.IID, in.Commits)
	if err != nil {
		return nil, err
	}
	return s.commitEntities(p, commits), nil
}

func (s *Server) removeContextCommits(ctx context.Context, as authz.Actor, in contextCommitsParams) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.MergeRequests.RemoveContextCommits(ctx, as, p, in.IID, in.Commits)
}
