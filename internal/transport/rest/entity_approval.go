package rest

import (
	"context"
	"slices"

	"tenon/internal/core/account"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// ruleEntity is an approval rule of a project or of a merge request.
type ruleEntity struct {
	ID           approval.RuleID   `json:"id"`
	Name         string            `json:"name"`
	Type         approval.RuleType `json:"rule_type"`
	ReportType   *string           `json:"report_type"`
	Eligible     []userBasic       `json:"eligible_approvers"`
	Required     int64             `json:"approvals_required"`
	Users        []userBasic       `json:"users"`
	Groups       []groupEntity     `json:"groups"`
	HiddenGroups bool              `json:"contains_hidden_groups"`
	Section      *string           `json:"section"`
}

// ruleStateEntity is a rule with how it stands.
type ruleStateEntity struct {
	ruleEntity
	SourceRule *sourceRuleEntity `json:"source_rule"`
	Overridden bool              `json:"overridden"`
	CodeOwner  bool              `json:"code_owner"`
	ApprovedBy []userBasic       `json:"approved_by"`
	Approved   bool              `json:"approved"`
}

type sourceRuleEntity struct {
	Required int64 `json:"approvals_required"`
}

type approvalStateEntity struct {
	Overwritten bool              `json:"approval_rules_overwritten"`
	Rules       []ruleStateEntity `json:"rules"`
}

// ruleParts are users and groups of rules as the caller may see them.
type ruleParts struct {
	people map[authz.UserID]*account.Summary
	groups map[authz.NamespaceID]groupEntity
}

// ruleParts reads users and groups of rules, and some users more.
func (s *Server) ruleParts(ctx context.Context, as authz.Actor, rules []*approval.Rule, more []authz.UserID) (ruleParts, error) {
	users, ids := slices.Clone(more), []namespace.ID{}
	for _, r := range rules {
		users = append(append(users, r.Users...), r.Members...)
		ids = append(ids, r.Groups...)
	}
	slices.Sort(users)
	out := ruleParts{groups: map[authz.NamespaceID]groupEntity{}}
	var err error
	if out.people, err = s.Accounts.ByIDs(ctx, slices.Compact(users)); err != nil || len(ids) == 0 {
		return out, err
	}
	found, err := s.Namespaces.List(ctx, as, namespace.GroupFilter{WithinBatch: ids})
	if err != nil {
		return out, err
	}
	views, err := s.Namespaces.Views(ctx, as, found.Items, namespace.GroupViewOptions{})
	for i := range views {
		out.groups[views[i].ID] = s.group(&views[i])
	}
	return out, err
}

func (p ruleParts) rule(r *approval.Rule) ruleEntity {
	out := ruleEntity{
		ID: r.ID, Name: r.Name, Type: r.Type, ReportType: r.ReportType, Eligible: basics(p.people, r.Members), Required: r.Required,
		Users: basics(p.people, r.Users), Groups: []groupEntity{}, Section: present(r.Section),
	}
	for _, id := range r.Groups {
		if g, ok := p.groups[id]; ok {
			out.Groups = append(out.Groups, g)
		} else {
			out.HiddenGroups = true
		}
	}
	return out
}

// basics renders users in the order of ids, without those who are gone.
func basics(people map[authz.UserID]*account.Summary, ids []authz.UserID) []userBasic {
	out := make([]userBasic, 0, len(ids))
	for _, id := range ids {
		if u := people[id]; u != nil {
			out = append(out, newUserBasic(u))
		}
	}
	return out
}

func (s *Server) approvalStateEntity(ctx context.Context, as authz.Actor, st *approval.State) (approvalStateEntity, error) {
	out := approvalStateEntity{Overwritten: st.Overwritten, Rules: []ruleStateEntity{}}
	parts, err := s.ruleParts(ctx, as, st.Named(), st.Users())
	if err != nil {
		return out, err
	}
	for i := range st.Rules {
		r := &st.Rules[i]
		if !r.Named() {
			continue
		}
		e := ruleStateEntity{
			ruleEntity: parts.rule(&r.Rule), CodeOwner: r.Type == approval.CodeOwner, ApprovedBy: basics(parts.people, r.ApprovedBy), Approved: r.Approved,
		}
		e.Eligible = basics(parts.people, r.Approvers)
		if r.Source != nil {
			e.SourceRule, e.Overridden = &sourceRuleEntity{r.Source.Required}, r.Overrides(r.Source)
		}
		out.Rules = append(out.Rules, e)
	}
	return out, nil
}

type approvedByEntity struct {
	User       *userBasic `json:"user"`
	ApprovedAt api.Time   `json:"approved_at"`
}

type approverEntity struct {
	User userBasic `json:"user"`
}

type approverGroupEntity struct {
	Group groupEntity `json:"group"`
}

type ruleNameEntity struct {
	ID   approval.RuleID   `json:"id"`
	Name string            `json:"name"`
	Type approval.RuleType `json:"rule_type"`
}

type approvalsEntity struct {
	ID              mergerequest.ID          `json:"id"`
	IID             mergerequest.IID         `json:"iid"`
	ProjectID       project.ID               `json:"project_id"`
	Title           string                   `json:"title"`
	Description     *string                  `json:"description"`
	State           mergerequest.State       `json:"state"`
	CreatedAt       api.Time                 `json:"created_at"`
	UpdatedAt       api.Time                 `json:"updated_at"`
	MergeStatus     mergerequest.MergeStatus `json:"merge_status"`
	Approved        bool                     `json:"approved"`
	Required        int64                    `json:"approvals_required"`
	Left            int64                    `json:"approvals_left"`
	RequirePassword bool                     `json:"require_password_to_approve"`
	ApprovedBy      []approvedByEntity       `json:"approved_by"`
	Suggested       []userBasic              `json:"suggested_approvers"`
	Approvers       []approverEntity         `json:"approvers"`
	ApproverGroups  []approverGroupEntity    `json:"approver_groups"`
	UserHasApproved bool                     `json:"user_has_approved"`
	UserCanApprove  bool                     `json:"user_can_approve"`
	RulesLeft       []ruleNameEntity         `json:"approval_rules_left"`
	HasRules        bool                     `json:"has_approval_rules"`
	Available       bool                     `json:"merge_request_approvers_available"`
	ManyAvailable   bool                     `json:"multiple_approval_rules_available"`
	InvalidRules    []ruleNameEntity         `json:"invalid_approvers_rules"`
}

func (s *Server) approvalsEntity(ctx context.Context, as authz.Actor, p *project.Project, st *approval.State) (approvalsEntity, error) {
	m := st.Request
	out := approvalsEntity{
		ID: m.ID, IID: m.IID, ProjectID: m.ProjectID, Title: m.Title, Description: m.Description, State: m.State,
		CreatedAt: api.Time(m.CreatedAt.Time), UpdatedAt: api.Time(m.UpdatedAt.Time), MergeStatus: m.Status,
		Approved: st.Approved, Required: st.Required, Left: st.Left, RequirePassword: st.Settings.RequirePassword.On,
		ApprovedBy: []approvedByEntity{}, Approvers: []approverEntity{}, ApproverGroups: []approverGroupEntity{},
		RulesLeft: []ruleNameEntity{}, InvalidRules: []ruleNameEntity{}, Available: true, ManyAvailable: true,
		UserHasApproved: st.Approver(as.UserID) != nil,
	}
	var err error
	if out.UserCanApprove, err = s.Approvals.MayApprove(ctx, as, p, st); err != nil {
		return out, err
	}
	parts, err := s.ruleParts(ctx, as, st.Named(), st.Users())
	if err != nil {
		return out, err
	}
	for _, a := range st.Approvals {
		if u := parts.people[a.UserID]; u != nil {
			out.ApprovedBy = append(out.ApprovedBy, approvedByEntity{User: s.user(u), ApprovedAt: api.Time(a.CreatedAt.Time)})
		}
	}
	out.Suggested = basics(parts.people, st.Suggested())
	seen := map[authz.UserID]bool{}
	shown := map[namespace.ID]bool{}
	for i := range st.Rules {
		r := &st.Rules[i]
		if !r.Named() {
			continue
		}
		out.HasRules = true
		for _, id := range r.Users {
			if u := parts.people[id]; u != nil && !seen[id] {
				seen[id] = true
				out.Approvers = append(out.Approvers, approverEntity{newUserBasic(u)})
			}
		}
		for _, id := range r.Groups {
			if g, ok := parts.groups[id]; ok && !shown[id] {
				shown[id] = true
				out.ApproverGroups = append(out.ApproverGroups, approverGroupEntity{g})
			}
		}
		name := ruleNameEntity{r.ID, r.Name, r.Type}
		if r.Invalid {
			out.InvalidRules = append(out.InvalidRules, name)
		}
		if !r.Approved {
			out.RulesLeft = append(out.RulesLeft, name)
		}
	}
	return out, nil
}
