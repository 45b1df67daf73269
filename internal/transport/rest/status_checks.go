package rest

import (
	"context"
	"net/http"

	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/statuscheck"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("status_checks", (*Server).statusCheckRoutes)

func (s *Server) statusCheckRoutes() []*api.Route {
	const all, one = "/projects/:id/external_status_checks", "/projects/:id/external_status_checks/:check_id"
	const ofRequest = "/projects/:id/merge_requests/:merge_request_iid"
	return api.Scoped(nil,
		api.Get(all, s.statusChecks).Doc("List the external status check services of a project").Needs(authz.ReadExternalStatusChecks),
		api.Post(all, s.createStatusCheck).Doc("Create an external status check service of a project").Needs(authz.AdminExternalStatusChecks),
		api.Put(one, s.updateStatusCheck).Timed().Doc("Update an external status check service of a project").Needs(authz.AdminExternalStatusChecks),
		api.Delete(one, s.deleteStatusCheck).Timed().Doc("Delete an external status check service of a project").Needs(authz.AdminExternalStatusChecks),
		api.Get(ofRequest+"/status_checks", s.requestStatusChecks).Doc("List the external status checks of a merge request").
			Needs(authz.ReadMergeRequest, authz.ReadStatusChecks),
		api.Post(ofRequest+"/status_check_responses", s.respondStatusCheck).Doc("Set the status of an external status check of a merge request").
			Needs(authz.ReadMergeRequest, authz.AnswerStatusChecks),
		api.Post(ofRequest+"/status_checks/:external_status_check_id/retry", s.retryStatusCheck).Doc("Retry a failed external status check of a merge request").
			Status(http.StatusAccepted).Needs(authz.ReadMergeRequest, authz.AnswerStatusChecks),
	)
}

// statusCheckEntity is an external service that a project asks about merge requests.
type statusCheckEntity struct {
	ID        statuscheck.ID      `json:"id"`
	Name      string              `json:"name"`
	ProjectID project.ID          `json:"project_id"`
	URL       string              `json:"external_url"`
	HMAC      bool                `json:"hmac"` // whether its payloads are signed
	Branches  []checkBranchEntity `json:"protected_branches"`
}

// checkBranchEntity is a protected branch whose merge requests a check is about.
type checkBranchEntity struct {
	ID         protection.RuleID `json:"id"`
	ProjectID  project.ID        `json:"project_id"`
	Name       string            `json:"name"`
	CreatedAt  api.Time          `json:"created_at"`
	UpdatedAt  api.Time          `json:"updated_at"`
	CodeOwners bool              `json:"code_owner_approval_required"`
}

func newStatusCheck(c *statuscheck.Check) statusCheckEntity {
	out := statusCheckEntity{ID: c.ID, Name: c.Name, ProjectID: c.ProjectID, URL: c.URL, HMAC: c.Signs(), Branches: make([]checkBranchEntity, len(c.Branches))}
	for i, b := range c.Branches {
		out.Branches[i] = checkBranchEntity{
			ID: b.ID, ProjectID: b.ProjectID, Name: b.Name, CreatedAt: api.Time(b.CreatedAt.Time), UpdatedAt: api.Time(b.UpdatedAt.Time), CodeOwners: b.CodeOwners,
		}
	}
	return out
}

type statusChecksParams struct {
	projectPath
	api.Page
}

func (s *Server) statusChecks(ctx context.Context, as authz.Actor, in statusChecksParams) (api.List[statusCheckEntity], error) {
	var none api.List[statusCheckEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := s.StatusChecks.List(ctx, as, p, in.Range())
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(c **statuscheck.Check) statusCheckEntity { return newStatusCheck(*c) }), nil
}

type createStatusCheckParams struct {
	projectPath
	Name      string   `param:"name,required" doc:"Display name of the external status check service"`
	URL       string   `param:"external_url,required" doc:"URL of the external status check service"`
	Secret    string   `param:"shared_secret" doc:"HMAC secret for the external status check"`
	BranchIDs api.Ints `param:"protected_branch_ids" doc:"IDs of protected branches to scope the check by"`
}

func (s *Server) createStatusCheck(ctx context.Context, as authz.Actor, in createStatusCheckParams) (statusCheckEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return statusCheckEntity{}, err
	}
	c, err := s.StatusChecks.Create(ctx, as, p, statuscheck.Input{Name: in.Name, URL: in.URL, Secret: in.Secret, Branches: ruleIDs(in.BranchIDs)})
	if err != nil {
		return statusCheckEntity{}, err
	}
	return newStatusCheck(c), nil
}

// ruleIDs are the ids of protected branches.
func ruleIDs(list api.Ints) []protection.RuleID {
	out := make([]protection.RuleID, len(list))
	for i, id := range list {
		out[i] = protection.RuleID(id)
	}
	return out
}

type statusCheckPath struct {
	projectPath
	CheckID statuscheck.ID `param:"check_id,required" doc:"ID of the external status check service"`
}

type updateStatusCheckParams struct {
	statusCheckPath
	Name      *string  `param:"name" doc:"Display name of the external status check service"`
	URL       *string  `param:"external_url" doc:"URL of the external status check service; another one removes the secret"`
	Secret    *string  `param:"shared_secret" doc:"HMAC secret for the external status check"`
	BranchIDs api.Ints `param:"protected_branch_ids" doc:"IDs of protected branches to scope the check by"`
}

func (s *Server) updateStatusCheck(ctx context.Context, as authz.Actor, in updateStatusCheckParams) (statusCheckEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return statusCheckEntity{}, err
	}
	changes := statuscheck.Changes{Name: in.Name, URL: in.URL, Secret: in.Secret}
	if in.BranchIDs != nil {
		ids := ruleIDs(in.BranchIDs)
		changes.Branches = &ids
	}
	c, err := s.StatusChecks.Update(ctx, as, p, in.CheckID, changes)
	if err != nil {
		return statusCheckEntity{}, err
	}
	return newStatusCheck(c), nil
}

func (s *Server) deleteStatusCheck(ctx context.Context, as authz.Actor, in statusCheckPath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.StatusChecks.Delete(ctx, as, p, in.CheckID)
}

// standingCheckEntity is a check with what its service answered about a merge request.
type standingCheckEntity struct {
	ID     statuscheck.ID     `json:"id"`
	Name   string             `json:"name"`
	URL    string             `json:"external_url"`
	Status statuscheck.Status `json:"status"`
}

func (s *Server) requestStatusChecks(ctx context.Context, as authz.Actor, in requestListParams) (api.List[standingCheckEntity], error) {
	var none api.List[standingCheckEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := s.StatusChecks.Standings(ctx, as, p, in.IID, in.Range())
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(st *statuscheck.Standing) standingCheckEntity {
		return standingCheckEntity{ID: st.Check.ID, Name: st.Check.Name, URL: st.Check.URL, Status: st.Status}
	}), nil
}

type respondStatusCheckParams struct {
	requestPath
	SHA     string             `param:"sha,required" doc:"SHA at HEAD of the source branch"`
	CheckID statuscheck.ID     `param:"external_status_check_id,required" doc:"ID of the external status check"`
	Status  statuscheck.Status `param:"status,required" values:"passed,failed,pending" doc:"Status of the check"`
}

// checkResponseEntity is what a service answered about a merge request.
type checkResponseEntity struct {
	ID           statuscheck.ResponseID `json:"id"`
	MergeRequest answeredRequestEntity  `json:"merge_request"`
	Check        statusCheckEntity      `json:"external_status_check"`
	Status       statuscheck.Status     `json:"status"`
	SHA          string                 `json:"sha"`
}

// answeredRequestEntity names a merge request.
type answeredRequestEntity struct {
	ID        mergerequest.ID    `json:"id"`
	IID       mergerequest.IID   `json:"iid"`
	ProjectID project.ID         `json:"project_id"`
	Title     string             `json:"title"`
	State     mergerequest.State `json:"state"`
	WebURL    string             `json:"web_url"`
}

func (s *Server) respondStatusCheck(ctx context.Context, as authz.Actor, in respondStatusCheckParams) (checkResponseEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return checkResponseEntity{}, err
	}
	r, err := s.StatusChecks.Respond(ctx, as, p, in.IID, statuscheck.Answer{CheckID: in.CheckID, SHA: in.SHA, Status: in.Status})
	if err != nil {
		return checkResponseEntity{}, err
	}
	m := r.MergeRequest
	return checkResponseEntity{
		ID: r.Response.ID, Check: newStatusCheck(r.Check), Status: r.Response.Status, SHA: r.Response.SHA,
		MergeRequest: answeredRequestEntity{m.ID, m.IID, m.ProjectID, m.Title, m.State, s.URLs.MergeRequest(p.FullPath, int64(m.IID))},
	}, nil
}

type retryStatusCheckParams struct {
	requestPath
	CheckID statuscheck.ID `param:"external_status_check_id,required" doc:"ID of the failed external status check"`
}

func (s *Server) retryStatusCheck(ctx context.Context, as authz.Actor, in retryStatusCheckParams) (messageEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return messageEntity{}, err
	}
	return messageEntity{"202 Accepted"}, s.StatusChecks.Retry(ctx, as, p, in.IID, in.CheckID)
}
