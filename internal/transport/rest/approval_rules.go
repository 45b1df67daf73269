package rest

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("merge_request_approvals", (*Server).approvalRuleRoutes)

func (s *Server) approvalRuleRoutes() []*api.Route {
	const rules, ofRequest = "/projects/:id/approval_rules", "/projects/:id/merge_requests/:merge_request_iid/approval_rules"
	const one, oneOfRequest = rules + "/:approval_rule_id", ofRequest + "/:approval_rule_id"
	return api.Scoped(nil,
		api.Get(rules, s.approvalRules).Doc("List the approval rules of a project").Needs(authz.ReadApprovalRules),
		api.Post(rules, s.createApprovalRule).Doc("Create an approval rule of a project").Needs(authz.AdminApprovalSettings),
		api.Get(one, s.approvalRule).Doc("Get an approval rule of a project").Needs(authz.ReadApprovalRules),
		api.Put(one, s.updateApprovalRule).Timed().Doc("Update an approval rule of a project").Needs(authz.AdminApprovalSettings),
		api.Delete(one, s.deleteApprovalRule).Timed().Doc("Delete an approval rule of a project").Needs(authz.AdminApprovalSettings),
		api.Get(ofRequest, s.requestRules).Doc("List the approval rules of a merge request").Needs(authz.ReadMergeRequest),
		api.Post(ofRequest, s.createRequestRule).Doc("Create an approval rule of a merge request").Needs(authz.ReadMergeRequest, authz.UpdateMergeRequest),
		api.Get(oneOfRequest, s.requestRule).Doc("Get an approval rule of a merge request").Needs(authz.ReadMergeRequest),
		api.Put(oneOfRequest, s.updateRequestRule).Timed().Doc("Update an approval rule of a merge request").Needs(authz.ReadMergeRequest, authz.UpdateMergeRequest),
		api.Delete(oneOfRequest, s.deleteRequestRule).Timed().Doc("Delete an approval rule of a merge request").Needs(authz.ReadMergeRequest, authz.UpdateMergeRequest),
	)
}

// projectRuleEntity is a rule of a project.
type projectRuleEntity struct {
	ruleEntity
	AllProtected bool                    `json:"applies_to_all_protected_branches"`
	Branches     []protectedBranchEntity `json:"protected_branches"`
}

// requestRuleEntity is a rule that a merge request has of its own.
type requestRuleEntity struct {
	ruleEntity
	SourceRule *sourceRuleEntity `json:"source_rule"`
	Overridden bool              `json:"overridden"`
}

// projectRules renders rules of a project.
func (s *Server) projectRules(ctx context.Context, as authz.Actor, p *project.Project, rules []*approval.Rule) ([]projectRuleEntity, error) {
	parts, err := s.ruleParts(ctx, as, rules, nil)
	if err != nil {
		return nil, err
	}
	branches := map[protection.RuleID]protectedBranchEntity{}
	for _, r := range rules {
		if len(r.Branches) == 0 || len(branches) > 0 {
			continue
		}
		list, err := s.Protections.Readable(ctx, as, p)
		if err != nil {
			return nil, err
		}
		shown, err := s.protectedBranchEntities(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, b := range shown {
			branches[b.ID] = b
		}
	}
	out := make([]projectRuleEntity, len(rules))
	for i, r := range rules {
		out[i] = projectRuleEntity{ruleEntity: parts.rule(r), AllProtected: r.AllProtected, Branches: []protectedBranchEntity{}}
		for _, id := range r.Branches {
			if b, ok := branches[id]; ok {
				out[i].Branches = append(out[i].Branches, b)
			}
		}
	}
	return out, nil
}

func (s *Server) projectRule(ctx context.Context, as authz.Actor, p *project.Project, r *approval.Rule, err error) (projectRuleEntity, error) {
	if err != nil {
		return projectRuleEntity{}, err
	}
	out, err := s.projectRules(ctx, as, p, []*approval.Rule{r})
	if err != nil {
		return projectRuleEntity{}, err
	}
	return out[0], nil
}

type approvalRulesParams struct {
	projectPath
	api.Page
}

func (s *Server) approvalRules(ctx context.Context, as authz.Actor, in approvalRulesParams) (api.List[projectRuleEntity], error) {
	var none api.List[projectRuleEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := s.Approvals.Rules(ctx, as, p, in.Range())
	if err != nil {
		return none, err
	}
	out, err := s.projectRules(ctx, as, p, list.Items)
	return api.Listed(list, out), err
}

type approvalRulePath struct {
	projectPath
	RuleID approval.RuleID `param:"approval_rule_id,required" doc:"ID of the approval rule"`
}

func (s *Server) approvalRule(ctx context.Context, as authz.Actor, in approvalRulePath) (projectRuleEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return projectRuleEntity{}, err
	}
	r, err := s.Approvals.Rule(ctx, as, p, in.RuleID)
	return s.projectRule(ctx, as, p, r, err)
}

// approversParams are the users and groups of a rule.
type approversParams struct {
	UserIDs   api.Ints    `param:"user_ids" doc:"IDs of users as approvers"`
	GroupIDs  api.Ints    `param:"group_ids" doc:"IDs of groups as approvers"`
	Usernames api.Strings `param:"usernames" doc:"Usernames of approvers"`
}

func (p approversParams) ruling() approval.Ruling {
	var out approval.Ruling
	if p.UserIDs != nil {
		ids := userIDs(p.UserIDs)
		out.Users = &ids
	}
	if p.Usernames != nil {
		names := []string(p.Usernames)
		out.Usernames = &names
	}
	if p.GroupIDs != nil {
		ids := make([]authz.NamespaceID, len(p.GroupIDs))
		for i, id := range p.GroupIDs {
			ids[i] = authz.NamespaceID(id)
		}
		out.Groups = &ids
	}
	return out
}

// ruleBranchesParams are the branches that a rule of a project speaks of.
type ruleBranchesParams struct {
	BranchIDs    api.Ints `param:"protected_branch_ids" doc:"IDs of protected branches to scope the rule by"`
	AllProtected *bool    `param:"applies_to_all_protected_branches" doc:"Apply the rule to all protected branches"`
}

func (p ruleBranchesParams) into(r *approval.Ruling) {
	r.AllProtected = p.AllProtected
	if p.BranchIDs == nil {
		return
	}
	ids := make([]protection.RuleID, len(p.BranchIDs))
	for i, id := range p.BranchIDs {
		ids[i] = protection.RuleID(id)
	}
	r.Branches = &ids
}

type createApprovalRuleParams struct {
	projectPath
	Name       string            `param:"name,required" doc:"Name of the approval rule"`
	Required   int64             `param:"approvals_required,required" doc:"Number of approvals required"`
	Type       approval.RuleType `param:"rule_type" values:"any_approver,regular,report_approver" doc:"Type of the rule; defaults to regular"`
	ReportType *string           `param:"report_type" values:"license_scanning,code_coverage" doc:"Type of the report of a report_approver rule"`
	approversParams
	ruleBranchesParams
}

func (s *Server) createApprovalRule(ctx context.Context, as authz.Actor, in createApprovalRuleParams) (projectRuleEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return projectRuleEntity{}, err
	}
	ruling := in.ruling()
	ruling.Name, ruling.Required, ruling.Type, ruling.ReportType = &in.Name, &in.Required, in.Type, in.ReportType
	in.into(&ruling)
	r, err := s.Approvals.CreateRule(ctx, as, p, ruling)
	return s.projectRule(ctx, as, p, r, err)
}

type ruleChangesParams struct {
	Name         *string `param:"name" doc:"Name of the approval rule"`
	Required     *int64  `param:"approvals_required" doc:"Number of approvals required"`
	RemoveHidden bool    `param:"remove_hidden_groups" doc:"Remove groups that are hidden from the caller"`
	approversParams
}

func (p ruleChangesParams) ruling() approval.Ruling {
	out := p.approversParams.ruling()
	out.Name, out.Required, out.RemoveHidden = p.Name, p.Required, p.RemoveHidden
	return out
}

type updateApprovalRuleParams struct {
	approvalRulePath
	ruleChangesParams
	ruleBranchesParams
}

func (s *Server) updateApprovalRule(ctx context.Context, as authz.Actor, in updateApprovalRuleParams) (projectRuleEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return projectRuleEntity{}, err
	}
	ruling := in.ruling()
	in.into(&ruling)
	r, err := s.Approvals.UpdateRule(ctx, as, p, in.RuleID, ruling)
	return s.projectRule(ctx, as, p, r, err)
}

func (s *Server) deleteApprovalRule(ctx context.Context, as authz.Actor, in approvalRulePath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Approvals.DeleteRule(ctx, as, p, in.RuleID)
}

func (s *Server) requestRulesOf(ctx context.Context, as authz.Actor, list page.Page[*approval.Rule]) (api.List[requestRuleEntity], error) {
	parts, err := s.ruleParts(ctx, as, list.Items, nil)
	out := make([]requestRuleEntity, len(list.Items))
	for i, r := range list.Items {
		out[i] = requestRuleEntity{ruleEntity: parts.rule(r)}
		if r.Source != nil {
			out[i].SourceRule, out[i].Overridden = &sourceRuleEntity{r.Source.Required}, r.Overrides(r.Source)
		}
	}
	return api.Listed(list, out), err
}

func (s *Server) requestRuleOf(ctx context.Context, as authz.Actor, r *approval.Rule, err error) (requestRuleEntity, error) {
	if err != nil {
		return requestRuleEntity{}, err
	}
	out, err := s.requestRulesOf(ctx, as, page.Page[*approval.Rule]{Items: []*approval.Rule{r}})
	if err != nil {
		return requestRuleEntity{}, err
	}
	return out.Items[0], nil
}

func (s *Server) requestRules(ctx context.Context, as authz.Actor, in requestListParams) (api.List[requestRuleEntity], error) {
	var none api.List[requestRuleEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := s.Approvals.RequestRules(ctx, as, p, in.IID, in.Range())
	if err != nil {
		return none, err
	}
	return s.requestRulesOf(ctx, as, list)
}

type requestRulePath struct {
	requestPath
	RuleID approval.RuleID `param:"approval_rule_id,required" doc:"ID of the approval rule"`
}

func (s *Server) requestRule(ctx context.Context, as authz.Actor, in requestRulePath) (requestRuleEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return requestRuleEntity{}, err
	}
	r, err := s.Approvals.RequestRule(ctx, as, p, in.IID, in.RuleID)
	return s.requestRuleOf(ctx, as, r, err)
}

type createRequestRuleParams struct {
	requestPath
	Name     string          `param:"name,required" doc:"Name of the approval rule"`
	Required int64           `param:"approvals_required,required" doc:"Number of approvals required"`
	Source   approval.RuleID `param:"approval_project_rule_id" doc:"ID of the project's rule to make it of"`
	approversParams
}

func (s *Server) createRequestRule(ctx context.Context, as authz.Actor, in createRequestRuleParams) (requestRuleEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return requestRuleEntity{}, err
	}
	ruling := in.ruling()
	ruling.Name, ruling.Required, ruling.Source = &in.Name, &in.Required, in.Source
	r, err := s.Approvals.CreateRequestRule(ctx, as, p, in.IID, ruling)
	return s.requestRuleOf(ctx, as, r, err)
}

type updateRequestRuleParams struct {
	requestRulePath
	ruleChangesParams
}

func (s *Server) updateRequestRule(ctx context.Context, as authz.Actor, in updateRequestRuleParams) (requestRuleEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return requestRuleEntity{}, err
	}
	r, err := s.Approvals.UpdateRequestRule(ctx, as, p, in.IID, in.RuleID, in.ruling())
	return s.requestRuleOf(ctx, as, r, err)
}

func (s *Server) deleteRequestRule(ctx context.Context, as authz.Actor, in requestRulePath) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Approvals.DeleteRequestRule(ctx, as, p, in.IID, in.RuleID)
}
