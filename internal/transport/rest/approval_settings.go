package rest

import (
	"context"

	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("merge_request_approvals", (*Server).approvalSettingRoutes)

func (s *Server) approvalSettingRoutes() []*api.Route {
	const configuration = "/projects/:id/approvals"
	routes := []*api.Route{
		api.Get(configuration, s.approvalConfiguration).Doc("Get the approval configuration of a project").Needs(authz.ReadApprovalRules),
		api.Post(configuration, s.configureApprovals).Doc("Change the approval configuration of a project").Needs(authz.AdminApprovalSettings),
	}
	routes = append(routes, s.onPlanningPlaces("merge_request_approval_setting", func(m mount) []*api.Route {
		read, admin := m.ability(authz.ReadApprovalSettings, authz.ReadGroupApprovalSettings), m.ability(authz.AdminApprovalSettings, authz.AdminGroupApprovalSettings)
		return []*api.Route{
			api.Get(m.path, m.approvalSettings).Doc("Get merge request approval settings of a " + m.noun).Needs(read),
			api.Put(m.path, m.updateApprovalSettings).Doc("Update merge request approval settings of a " + m.noun).Needs(admin),
		}
	})...)
	return api.Scoped(nil, routes...)
}

type approvalConfigurationEntity struct {
	Approvers        []approverEntity      `json:"approvers"`       // always empty: rules name them
	ApproverGroups   []approverGroupEntity `json:"approver_groups"` // the same
	BeforeMerge      int64                 `json:"approvals_before_merge"`
	ResetOnPush      bool                  `json:"reset_approvals_on_push"`
	Selective        bool                  `json:"selective_code_owner_removals"`
	DisableOverrides bool                  `json:"disable_overriding_approvers_per_merge_request"`
	AuthorApproval   bool                  `json:"merge_requests_author_approval"`
	NoCommitters     bool                  `json:"merge_requests_disable_committers_approval"`
	RequirePassword  bool                  `json:"require_password_to_approve"`
	Reauthenticate   bool                  `json:"require_reauthentication_to_approve"`
}

func newApprovalConfiguration(p *project.Project, set *approval.Settings) approvalConfigurationEntity {
	return approvalConfigurationEntity{
		Approvers: []approverEntity{}, ApproverGroups: []approverGroupEntity{}, BeforeMerge: p.ApprovalsBeforeMerge,
		ResetOnPush: !set.RetainOnPush.On, Selective: set.SelectiveRemovals.On, DisableOverrides: !set.Overrides.On,
		AuthorApproval: set.AuthorApproval.On, NoCommitters: !set.CommitterApproval.On,
		RequirePassword: set.RequirePassword.On, Reauthenticate: set.RequirePassword.On,
	}
}

func (s *Server) approvalConfiguration(ctx context.Context, as authz.Actor, in projectPath) (approvalConfigurationEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return approvalConfigurationEntity{}, err
	}
	set, err := s.Approvals.Configuration(ctx, as, p.Place())
	if err != nil {
		return approvalConfigurationEntity{}, err
	}
	return newApprovalConfiguration(p, set), nil
}

type configureApprovalsParams struct {
	projectPath
	BeforeMerge      *int64 `param:"approvals_before_merge" doc:"Number of approvals that merge requests need by default"`
	ResetOnPush      *bool  `param:"reset_approvals_on_push" doc:"Reset approvals when commits are added"`
	Selective        *bool  `param:"selective_code_owner_removals" doc:"Reset approvals of code owners of changed files when commits are added"`
	DisableOverrides *bool  `param:"disable_overriding_approvers_per_merge_request" doc:"Prevent editing approval rules in merge requests"`
	AuthorApproval   *bool  `param:"merge_requests_author_approval" doc:"Authors may approve their merge requests"`
	NoCommitters     *bool  `param:"merge_requests_disable_committers_approval" doc:"Prevent approvals by users who added commits"`
	RequirePassword  *bool  `param:"require_password_to_approve" alias:"require_reauthentication_to_approve" doc:"Require the password of the user to approve"`
}

func (s *Server) configureApprovals(ctx context.Context, as authz.Actor, in configureApprovalsParams) (approvalConfigurationEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return approvalConfigurationEntity{}, err
	}
	set, err := s.Approvals.UpdateSettings(ctx, as, p.Place(), approval.Changes{
		AuthorApproval: in.AuthorApproval, CommitterApproval: not(in.NoCommitters), Overrides: not(in.DisableOverrides),
		RetainOnPush: not(in.ResetOnPush), SelectiveRemovals: in.Selective, RequirePassword: in.RequirePassword,
	})
	if err != nil {
		return approvalConfigurationEntity{}, err
	}
	if in.BeforeMerge != nil {
		if p, err = s.Projects.Update(ctx, as, in.ID, project.Changes{Attributes: project.Attributes{ApprovalsBeforeMerge: in.BeforeMerge}}); err != nil {
			return approvalConfigurationEntity{}, err
		}
	}
	return newApprovalConfiguration(p, set), nil
}

// not is the opposite of a value that was sent.
func not(v *bool) *bool {
	if v == nil {
		return nil
	}
	opposite := !*v
	return &opposite
}

type approvalValueEntity struct {
	Value         bool    `json:"value"`
	Locked        bool    `json:"locked"`
	InheritedFrom *string `json:"inherited_from"`
}

type approvalSettingsEntity struct {
	AuthorApproval    approvalValueEntity `json:"allow_author_approval"`
	CommitterApproval approvalValueEntity `json:"allow_committer_approval"`
	Overrides         approvalValueEntity `json:"allow_overrides_to_approver_list_per_merge_request"`
	RetainOnPush      approvalValueEntity `json:"retain_approvals_on_push"`
	Selective         approvalValueEntity `json:"selective_code_owner_removals"`
	RequirePassword   approvalValueEntity `json:"require_password_to_approve"`
	Reauthenticate    approvalValueEntity `json:"require_reauthentication_to_approve"`
}

func newApprovalSettings(set *approval.Settings, err error) (approvalSettingsEntity, error) {
	if err != nil {
		return approvalSettingsEntity{}, err
	}
	value := func(v approval.Value) approvalValueEntity {
		return approvalValueEntity{v.On, v.Locked, present(v.From)}
	}
	return approvalSettingsEntity{
		value(set.AuthorApproval), value(set.CommitterApproval), value(set.Overrides), value(set.RetainOnPush),
		value(set.SelectiveRemovals), value(set.RequirePassword), value(set.RequirePassword),
	}, nil
}

type approvalSettingsParams struct {
	AuthorApproval    *bool `param:"allow_author_approval" doc:"Authors may approve their merge requests"`
	CommitterApproval *bool `param:"allow_committer_approval" doc:"Users who added commits may approve"`
	Overrides         *bool `param:"allow_overrides_to_approver_list_per_merge_request" doc:"Approval rules may be edited in merge requests"`
	RetainOnPush      *bool `param:"retain_approvals_on_push" doc:"Keep approvals when commits are added"`
	SelectiveRemovals *bool `param:"selective_code_owner_removals" doc:"Reset approvals of code owners of changed files when commits are added"`
	RequirePassword   *bool `param:"require_password_to_approve" alias:"require_reauthentication_to_approve" doc:"Require the password of the user to approve"`
}

func (p approvalSettingsParams) changes() approval.Changes { return approval.Changes(p) }

func (m mount) approvalSettings(ctx context.Context, as authz.Actor, in placePath) (approvalSettingsEntity, error) {
	at, err := m.place(ctx, as, in.ID)
	if err != nil {
		return approvalSettingsEntity{}, err
	}
	return newApprovalSettings(m.s.Approvals.SettingsOf(ctx, as, at))
}

type updateApprovalSettingsParams struct {
	placePath
	approvalSettingsParams
}

func (m mount) updateApprovalSettings(ctx context.Context, as authz.Actor, in updateApprovalSettingsParams) (approvalSettingsEntity, error) {
	at, err := m.place(ctx, as, in.ID)
	if err != nil {
		return approvalSettingsEntity{}, err
	}
	return newApprovalSettings(m.s.Approvals.UpdateSettings(ctx, as, at, in.changes()))
}
