package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("merge_request_approvals", (*Server).approvalRoutes)

func (s *Server) approvalRoutes() []*api.Route {
	const one = "/projects/:id/merge_requests/:merge_request_iid"
	return api.Scoped(nil,
		api.Get(one+"/approvals", s.approvals).Doc("List approvals for merge request").Needs(authz.ReadMergeRequest),
		api.Get(one+"/approval_state", s.approvalState).Doc("Get approval state of merge request").Needs(authz.ReadMergeRequest),
		api.Post(one+"/approve", s.approve).Doc("Approve a merge request").Needs(authz.ReadMergeRequest),
		api.Post(one+"/unapprove", s.unapprove).Doc("Remove an approval from a merge request").Needs(authz.ReadMergeRequest),
		api.Put(one+"/reset_approvals", s.resetApprovals).Doc("Remove all merge request approvals").
			Status(http.StatusAccepted).Needs(authz.ReadMergeRequest),
	)
}

func (s *Server) approvals(ctx context.Context, as authz.Actor, in requestPath) (approvalsEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return approvalsEntity{}, err
	}
	st, err := s.Approvals.State(ctx, as, p, in.IID)
	if err != nil {
		return approvalsEntity{}, err
	}
	return s.approvalsEntity(ctx, as, p, st)
}

type approveRequestParams struct {
	requestPath
	SHA      string `param:"sha" doc:"HEAD of the merge request; another one is refused"`
	Password string `param:"approval_password" doc:"Password of the user, where the project requires it to approve"`
}

func (s *Server) approvalState(ctx context.Context, as authz.Actor, in requestPath) (approvalStateEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return approvalStateEntity{}, err
	}
	st, err := s.Approvals.State(ctx, as, p, in.IID)
	if err != nil {
		return approvalStateEntity{}, err
	}
	return s.approvalStateEntity(ctx, as, st)
}

func (s *Server) approve(ctx context.Context, as authz.Actor, in approveRequestParams) (approvalsEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return approvalsEntity{}, err
	}
	st, err := s.Approvals.Approve(ctx, as, p, in.IID, approval.Input{SHA: in.SHA, Password: in.Password})
	if err != nil {
		return approvalsEntity{}, err
	}
	return s.approvalsEntity(ctx, as, p, st)
}

func (s *Server) unapprove(ctx context.Context, as authz.Actor, in requestPath) (approvalsEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return approvalsEntity{}, err
	}
	st, err := s.Approvals.Unapprove(ctx, as, p, in.IID)
	if err != nil {
		return approvalsEntity{}, err
	}
	return s.approvalsEntity(ctx, as, p, st)
}

// resetApprovals answers with the status as a number, which clients decode.
func (s *Server) resetApprovals(ctx context.Context, as authz.Actor, in requestPath) (int, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return 0, err
	}
	return http.StatusAccepted, s.Approvals.ResetAll(ctx, as, p, in.IID)
}
