package rest

import (
	"context"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/deploy"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("deployments", (*Server).deploymentRoutes)

func (s *Server) deploymentRoutes() []*api.Route {
	const path = "/projects/:id/deployments"
	const one = path + "/:deployment_id"
	h := s.deployHandlers()
	return api.Scoped(nil,
		api.Get(path, h.listDeployments).Doc("List the deployments of a project").Needs(authz.ReadEnvironment),
		api.Get(one+"/merge_requests", h.deploymentRequests).Doc("List the merge requests of a deployment").Needs(authz.ReadEnvironment, authz.ReadMergeRequest),
		api.Post(path, h.createDeployment).Doc("Create a deployment").Needs(authz.CreateDeployment, authz.ReadEnvironment),
		api.Get(one, h.getDeployment).Doc("Get a deployment").Needs(authz.ReadEnvironment),
		api.Put(one, h.updateDeployment).Timed().Doc("Update the status of a deployment").Needs(authz.UpdateDeployment, authz.ReadEnvironment),
		api.Post(one+"/approval", h.reviewDeployment).Doc("Approve or reject a blocked deployment").Needs(authz.ApproveDeployment),
		api.Delete(one, h.deleteDeployment).Timed().Doc("Delete a deployment").Needs(authz.DestroyDeployment),
	)
}

// deploymentEntity is a deployment in a list.
type deploymentEntity struct {
	ID          deploy.ID         `json:"id"`
	IID         int64             `json:"iid"`
	Ref         string            `json:"ref"`
	SHA         string            `json:"sha"`
	CreatedAt   api.Time          `json:"created_at"`
	UpdatedAt   api.Time          `json:"updated_at"`
	User        *userBasic        `json:"user"`
	Environment *environmentBasic `json:"environment,omitempty"`
	Deployable  *jobEntity        `json:"deployable"`
	Status      deploy.State      `json:"status"`
}

// deploymentDetails is one deployment.
type deploymentDetails struct {
	deploymentEntity
	PendingApprovalCount int64                 `json:"pending_approval_count"`
	Approvals            []deploymentApproval  `json:"approvals"`
	ApprovalSummary      approvalSummaryEntity `json:"approval_summary"`
}

// deploymentApproval is what a user decided of a deployment.
type deploymentApproval struct {
	User      *userBasic     `json:"user"`
	Status    deploy.Verdict `json:"status"`
	CreatedAt api.Time       `json:"created_at"`
	Comment   *string        `json:"comment"`
}

// approvalSummaryEntity is what a deployment waits for.
type approvalSummaryEntity struct {
	Rules []summaryRuleEntity `json:"rules"`
}

type summaryRuleEntity struct {
	deployRuleEntity
	Approvals []deploymentApproval `json:"deployment_approvals"`
}

func (h deployHandlers) approvals(list []deploy.Approval) []deploymentApproval {
	out := make([]deploymentApproval, len(list))
	for i := range list {
		out[i] = deploymentApproval{h.server.user(list[i].User), list[i].Status, api.Time(list[i].CreatedAt.Time), list[i].Comment}
	}
	return out
}

// deployments renders deployments of a project.
func (h deployHandlers) deployments(ctx context.Context, as authz.Actor, p *project.Project, list []deploy.Deployment) ([]deploymentEntity, error) {
	views, err := h.deploys.Views(ctx, as, p, list)
	if err != nil {
		return nil, err
	}
	out := make([]deploymentEntity, len(views))
	for i := range views {
		v := &views[i]
		out[i] = deploymentEntity{
			ID: v.ID, IID: v.IID, Ref: v.Ref, SHA: v.SHA, CreatedAt: api.Time(v.CreatedAt.Time), UpdatedAt: api.Time(v.UpdatedAt.Time), User: h.server.user(v.User), Status: v.State,
		}
		if v.Environment != nil {
			out[i].Environment = new(newEnvironmentBasic(v.Environment))
		}
		if v.Job != nil {
			out[i].Deployable = new(h.server.jobEntity(p, v.Job))
		}
	}
	return out, nil
}

// deployment renders the deployment that a call found, made or changed.
func (h deployHandlers) deployment(ctx context.Context, as authz.Actor, p *project.Project, d *deploy.Deployment, err error) (*deploymentDetails, error) {
	if err != nil {
		return nil, err
	}
	list, err := h.deployments(ctx, as, p, []deploy.Deployment{*d})
	if err != nil {
		return nil, err
	}
	view, err := h.deploys.ApprovalsOf(ctx, as, p, d)
	if err != nil {
		return nil, err
	}
	levels := make([]protection.EnvironmentLevel, len(view.Rules))
	for i := range view.Rules {
		levels[i] = view.Rules[i].EnvironmentLevel
	}
	describe, err := h.server.describeLevels(ctx, levels)
	if err != nil {
		return nil, err
	}
	out := &deploymentDetails{list[0], view.Pending, h.approvals(view.Approvals), approvalSummaryEntity{[]summaryRuleEntity{}}}
	for i := range view.Rules {
		out.ApprovalSummary.Rules = append(out.ApprovalSummary.Rules, summaryRuleEntity{newDeployRule(&levels[i], describe), h.approvals(view.Rules[i].Approvals)})
	}
	return out, nil
}

type reviewDeploymentParams struct {
	deploymentPath
	Status        deploy.Verdict `param:"status,required" values:"approved,rejected" doc:"approved or rejected"`
	Comment       string         `param:"comment" doc:"Comment"`
	RepresentedAs string         `param:"represented_as" doc:"Name of the user, group or role of the approval rule to approve for"`
}

func (h deployHandlers) reviewDeployment(ctx context.Context, as authz.Actor, in reviewDeploymentParams) (*deploymentApproval, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	a, err := h.deploys.Review(ctx, as, p, in.DeploymentID, deploy.Review{Status: in.Status, Comment: in.Comment, RepresentedAs: in.RepresentedAs})
	if err != nil {
		return nil, err
	}
	return &h.approvals([]deploy.Approval{*a})[0], nil
}

type listDeploymentsParams struct {
	projectPath
	OrderBy        string       `param:"order_by" values:"id,iid,created_at,updated_at,finished_at,ref" default:"id" doc:"Column to order by"`
	Sort           string       `param:"sort" values:"asc,desc" default:"asc" doc:"asc or desc"`
	UpdatedAfter   *time.Time   `param:"updated_after" doc:"Return deployments updated on or after this time"`
	UpdatedBefore  *time.Time   `param:"updated_before" doc:"Return deployments updated on or before this time"`
	FinishedAfter  *time.Time   `param:"finished_after" doc:"Return deployments finished on or after this time"`
	FinishedBefore *time.Time   `param:"finished_before" doc:"Return deployments finished on or before this time"`
	Environment    string       `param:"environment" doc:"Name of the environment"`
	Status         deploy.State `param:"status" values:"created,running,success,failed,canceled,skipped,blocked" doc:"Status"`
	api.Page
}

func (h deployHandlers) listDeployments(ctx context.Context, as authz.Actor, in listDeploymentsParams) (api.List[deploymentEntity], error) {
	none := api.List[deploymentEntity]{}
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.deploys.List(ctx, as, p, deploy.Filter{
		Environment: in.Environment, States: inState(in.Status), UpdatedAfter: in.UpdatedAfter, UpdatedBefore: in.UpdatedBefore,
		FinishedAfter: in.FinishedAfter, FinishedBefore: in.FinishedBefore, OrderBy: in.OrderBy, Desc: in.Sort == "desc", Range: in.Range(),
	})
	if err != nil {
		return none, err
	}
	items, err := h.deployments(ctx, as, p, list.Items)
	if err != nil {
		return none, err
	}
	return api.Listed(list, items), nil
}

type deploymentPath struct {
	projectPath
	DeploymentID deploy.ID `param:"deployment_id" doc:"ID of the deployment"`
}

func (h deployHandlers) getDeployment(ctx context.Context, as authz.Actor, in deploymentPath) (*deploymentDetails, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	d, err := h.deploys.Find(ctx, as, p, in.DeploymentID)
	return h.deployment(ctx, as, p, d, err)
}

type createDeploymentParams struct {
	projectPath
	Environment string       `param:"environment,required" doc:"Name of the environment, which is made where it is new"`
	SHA         string       `param:"sha,required" doc:"SHA of the commit"`
	Ref         string       `param:"ref,required" doc:"Name of the branch or tag"`
	Tag         bool         `param:"tag,required" doc:"Whether ref is a tag"`
	Status      deploy.State `param:"status,required" values:"running,success,failed,canceled" doc:"Status"`
}

func (h deployHandlers) createDeployment(ctx context.Context, as authz.Actor, in createDeploymentParams) (*deploymentDetails, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	d, err := h.deploys.Create(ctx, as, p, deploy.Input{Environment: in.Environment, SHA: in.SHA, Ref: in.Ref, Tag: in.Tag, State: in.Status})
	return h.deployment(ctx, as, p, d, err)
}

type updateDeploymentParams struct {
	deploymentPath
	Status deploy.State `param:"status,required" values:"running,success,failed,canceled" doc:"Status"`
}

func (h deployHandlers) updateDeployment(ctx context.Context, as authz.Actor, in updateDeploymentParams) (*deploymentDetails, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return nil, err
	}
	d, err := h.deploys.Update(ctx, as, p, in.DeploymentID, in.Status)
	return h.deployment(ctx, as, p, d, err)
}

func (h deployHandlers) deleteDeployment(ctx context.Context, as authz.Actor, in deploymentPath) (api.None, error) {
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.deploys.Delete(ctx, as, p, in.DeploymentID)
}

type deploymentRequestsParams struct {
	deploymentPath
	placedRequestParams
}

func (h deployHandlers) deploymentRequests(ctx context.Context, as authz.Actor, in deploymentRequestsParams) (api.List[requestForm], error) {
	none := api.List[requestForm]{}
	p, err := h.server.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	d, err := h.deploys.Find(ctx, as, p, in.DeploymentID)
	if err != nil {
		return none, err
	}
	f, err := in.filter()
	if err != nil {
		return none, err
	}
	f.Deployed.By = int64(d.ID)
	list, err := h.server.MergeRequests.List(ctx, as, p.Place(), f)
	if err != nil {
		return none, err
	}
	return h.server.requestPage(ctx, as, in.requestFilterParams, p.FullPath, list)
}
