package rest

import (
	"context"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/protection"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("protected_environments", (*Server).protectedEnvironmentRoutes)

func (s *Server) protectedEnvironmentRoutes() []*api.Route {
	const list, ofGroup = "/projects/:id/protected_environments", "/groups/:id/protected_environments"
	return api.Scoped(nil,
		api.Get(list, s.protectedEnvironments).Doc("List the protected environments of a project").Needs(authz.ReadProtectedEnvironment),
		api.Post(list, s.protectEnvironment).Doc("Protect an environment of a project").Needs(authz.AdminProtectedEnvironment),
		api.Get(list+"/:name", s.protectedEnvironment).Doc("Get a protected environment of a project").Needs(authz.ReadProtectedEnvironment),
		api.Put(list+"/:name", s.updateProtectedEnvironment).Timed().Doc("Update a protected environment of a project").Needs(authz.AdminProtectedEnvironment),
		api.Delete(list+"/:name", s.unprotectEnvironment).Timed().Doc("Unprotect an environment of a project").Needs(authz.AdminProtectedEnvironment),
		api.Get(ofGroup, s.groupProtectedEnvironments).Doc("List the protected environments of a group").Needs(authz.ReadGroupProtectedEnvironment),
		api.Post(ofGroup, s.protectGroupEnvironment).Doc("Protect a deployment tier of a group").Needs(authz.AdminGroupProtectedEnvironment),
		api.Get(ofGroup+"/:name", s.groupProtectedEnvironment).Doc("Get a protected environment of a group").Needs(authz.ReadGroupProtectedEnvironment),
		api.Put(ofGroup+"/:name", s.updateGroupProtectedEnvironment).Timed().Doc("Update a protected environment of a group").Needs(authz.AdminGroupProtectedEnvironment),
		api.Delete(ofGroup+"/:name", s.unprotectGroupEnvironment).Timed().Doc("Unprotect a deployment tier of a group").Needs(authz.AdminGroupProtectedEnvironment),
	)
}

// deployLevelEntity is who may deploy to a protected environment.
type deployLevelEntity struct {
	ID          int64              `json:"id"`
	AccessLevel authz.Level        `json:"access_level"`
	Description string             `json:"access_level_description"`
	UserID      *authz.UserID      `json:"user_id"`
	GroupID     *authz.NamespaceID `json:"group_id"`
	Inheritance int64              `json:"group_inheritance_type"`
}

// deployRuleEntity is an approval rule of a protected environment.
type deployRuleEntity struct {
	ID          int64              `json:"id"`
	UserID      *authz.UserID      `json:"user_id"`
	GroupID     *authz.NamespaceID `json:"group_id"`
	AccessLevel *authz.Level       `json:"access_level"`
	Description string             `json:"access_level_description"`
	Required    int64              `json:"required_approvals"`
	Inheritance int64              `json:"group_inheritance_type"`
}

type protectedEnvironmentEntity struct {
	Name              string              `json:"name"`
	DeployLevels      []deployLevelEntity `json:"deploy_access_levels"`
	RequiredApprovals int64               `json:"required_approval_count"`
	ApprovalRules     []deployRuleEntity  `json:"approval_rules"`
}

// describeLevels returns the words for levels of environments: roles by their words, users and groups by their names.
func (s *Server) describeLevels(ctx context.Context, levels []protection.EnvironmentLevel) (func(l *protection.EnvironmentLevel) string, error) {
	var users []authz.UserID
	var groups []namespace.ID
	for _, l := range levels {
		if l.UserID != nil {
			users = append(users, *l.UserID)
		}
		if l.GroupID != nil {
			groups = append(groups, *l.GroupID)
		}
	}
	people, err := s.Accounts.ByIDs(ctx, users)
	if err != nil {
		return nil, err
	}
	names, err := s.Namespaces.Names(ctx, groups)
	if err != nil {
		return nil, err
	}
	return func(l *protection.EnvironmentLevel) string {
		switch {
		case l.UserID != nil && people[*l.UserID] != nil:
			return people[*l.UserID].Name
		case l.GroupID != nil:
			return names[*l.GroupID]
		case l.Level != nil:
			return protection.LevelWords(*l.Level)
		}
		return ""
	}, nil
}

func newDeployRule(l *protection.EnvironmentLevel, describe func(l *protection.EnvironmentLevel) string) deployRuleEntity {
	return deployRuleEntity{l.ID, l.UserID, l.GroupID, l.Level, describe(l), *l.Approvals, l.Inheritance}
}

func (s *Server) protectedEnvironmentEntities(ctx context.Context, list []protection.ProtectedEnvironment) ([]protectedEnvironmentEntity, error) {
	var levels []protection.EnvironmentLevel
	for i := range list {
		levels = append(append(levels, list[i].Deploy...), list[i].Approvals...)
	}
	describe, err := s.describeLevels(ctx, levels)
	if err != nil {
		return nil, err
	}
	out := make([]protectedEnvironmentEntity, len(list))
	for i := range list {
		e := protectedEnvironmentEntity{Name: list[i].Name, DeployLevels: []deployLevelEntity{}, RequiredApprovals: list[i].RequiredApprovals, ApprovalRules: []deployRuleEntity{}}
		for n := range list[i].Deploy {
			l := &list[i].Deploy[n]
			e.DeployLevels = append(e.DeployLevels, deployLevelEntity{l.ID, l.Role(), describe(l), l.UserID, l.GroupID, l.Inheritance})
		}
		for n := range list[i].Approvals {
			e.ApprovalRules = append(e.ApprovalRules, newDeployRule(&list[i].Approvals[n], describe))
		}
		out[i] = e
	}
	return out, nil
}

func (s *Server) protectedEnvironmentFound(ctx context.Context, e *protection.ProtectedEnvironment, err error) (protectedEnvironmentEntity, error) {
	if err != nil {
		return protectedEnvironmentEntity{}, err
	}
	list, err := s.protectedEnvironmentEntities(ctx, []protection.ProtectedEnvironment{*e})
	if err != nil {
		return protectedEnvironmentEntity{}, err
	}
	return list[0], nil
}

func (s *Server) protectedEnvironmentsOf(ctx context.Context, as authz.Actor, at authz.Place, r page.Range) (api.List[protectedEnvironmentEntity], error) {
	list, err := s.Protections.ProtectedEnvironments(ctx, as, at, r)
	if err != nil {
		return api.List[protectedEnvironmentEntity]{}, err
	}
	items, err := s.protectedEnvironmentEntities(ctx, list.Items)
	return api.Listed(list, items), err
}

func (s *Server) projectPlace(ctx context.Context, as authz.Actor, id string) (authz.Place, error) {
	p, err := s.Projects.Find(ctx, as, id)
	if err != nil {
		return authz.Place{}, err
	}
	return p.Place(), nil
}

// deployLevelParams is one of deploy_access_levels.
type deployLevelParams struct {
	ID          *int64             `param:"id" doc:"ID of the access level to update"`
	Destroy     bool               `param:"_destroy" doc:"Remove the access level with this ID"`
	AccessLevel *authz.Level       `param:"access_level" values:"30,40,60" doc:"Access level"`
	UserID      *authz.UserID      `param:"user_id" doc:"ID of a user"`
	GroupID     *authz.NamespaceID `param:"group_id" doc:"ID of a group"`
	Inheritance *int64             `param:"group_inheritance_type" values:"0,1" doc:"0 for direct members of the group, 1 for inherited ones as well"`
}

func (p *deployLevelParams) input() protection.EnvironmentLevelInput {
	return protection.EnvironmentLevelInput{ID: p.ID, Destroy: p.Destroy, Level: p.AccessLevel, UserID: p.UserID, GroupID: p.GroupID, Inheritance: p.Inheritance}
}

// deployRuleParams is one of approval_rules.
type deployRuleParams struct {
	deployLevelParams
	Required *int64 `param:"required_approvals" doc:"Number of approvals that the rule requires; defaults to 1"`
}

// newDeployLevels are who may deploy to an environment that is protected from now on.
type newDeployLevels struct {
	DeployLevels []deployLevelParams `param:"deploy_access_levels,required" doc:"Access levels, users and groups allowed to deploy"`
}

// deployLevels are changes of who may deploy.
type deployLevels struct {
	DeployLevels []deployLevelParams `param:"deploy_access_levels" doc:"Access levels, users and groups allowed to deploy"`
}

// protectionParams are what a protected environment has besides its name and who may deploy.
type protectionParams struct {
	RequiredApprovals *int64             `param:"required_approval_count" doc:"Number of approvals that a deployment requires"`
	ApprovalRules     []deployRuleParams `param:"approval_rules" doc:"Access levels, users and groups that approve, with the number of their approvals"`
}

func (p *protectionParams) changes(levels []deployLevelParams) protection.EnvironmentChanges {
	out := protection.EnvironmentChanges{RequiredApprovals: p.RequiredApprovals}
	for i := range levels {
		out.Deploy = append(out.Deploy, levels[i].input())
	}
	for i := range p.ApprovalRules {
		in := p.ApprovalRules[i].input()
		in.Approvals = p.ApprovalRules[i].Required
		out.Approvals = append(out.Approvals, in)
	}
	return out
}

type listProtectedEnvironmentsParams struct {
	projectPath
	api.Page
}

func (s *Server) protectedEnvironments(ctx context.Context, as authz.Actor, in listProtectedEnvironmentsParams) (api.List[protectedEnvironmentEntity], error) {
	at, err := s.projectPlace(ctx, as, in.ID)
	if err != nil {
		return api.List[protectedEnvironmentEntity]{}, err
	}
	return s.protectedEnvironmentsOf(ctx, as, at, in.Range())
}

type protectedEnvironmentPath struct {
	projectPath
	Name string `param:"name,required,free" doc:"Name of the environment"`
}

func (s *Server) protectedEnvironment(ctx context.Context, as authz.Actor, in protectedEnvironmentPath) (protectedEnvironmentEntity, error) {
	at, err := s.projectPlace(ctx, as, in.ID)
	if err != nil {
		return protectedEnvironmentEntity{}, err
	}
	e, err := s.Protections.ProtectedEnvironment(ctx, as, at, in.Name)
	return s.protectedEnvironmentFound(ctx, e, err)
}

type protectEnvironmentParams struct {
	projectPath
	Name string `param:"name,required" doc:"Name of the environment"`
	newDeployLevels
	protectionParams
}

func (s *Server) protectEnvironment(ctx context.Context, as authz.Actor, in protectEnvironmentParams) (protectedEnvironmentEntity, error) {
	at, err := s.projectPlace(ctx, as, in.ID)
	if err != nil {
		return protectedEnvironmentEntity{}, err
	}
	e, err := s.Protections.ProtectEnvironment(ctx, as, at, in.Name, in.changes(in.DeployLevels))
	return s.protectedEnvironmentFound(ctx, e, err)
}

type updateProtectedEnvironmentParams struct {
	protectedEnvironmentPath
	deployLevels
	protectionParams
}

func (s *Server) updateProtectedEnvironment(ctx context.Context, as authz.Actor, in updateProtectedEnvironmentParams) (protectedEnvironmentEntity, error) {
	at, err := s.projectPlace(ctx, as, in.ID)
	if err != nil {
		return protectedEnvironmentEntity{}, err
	}
	e, err := s.Protections.UpdateProtectedEnvironment(ctx, as, at, in.Name, in.changes(in.DeployLevels))
	return s.protectedEnvironmentFound(ctx, e, err)
}

func (s *Server) unprotectEnvironment(ctx context.Context, as authz.Actor, in protectedEnvironmentPath) (api.None, error) {
	at, err := s.projectPlace(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Protections.UnprotectEnvironment(ctx, as, at, in.Name)
}

type listGroupProtectedEnvironmentsParams struct {
	protectingGroup
	api.Page
}

func (s *Server) groupProtectedEnvironments(ctx context.Context, as authz.Actor, in listGroupProtectedEnvironmentsParams) (api.List[protectedEnvironmentEntity], error) {
	at, err := s.groupPlace(ctx, as, in.ID)
	if err != nil {
		return api.List[protectedEnvironmentEntity]{}, err
	}
	return s.protectedEnvironmentsOf(ctx, as, at, in.Range())
}

type groupProtectedEnvironmentPath struct {
	protectingGroup
	Name string `param:"name,required,free" doc:"Deployment tier"`
}

func (s *Server) groupProtectedEnvironment(ctx context.Context, as authz.Actor, in groupProtectedEnvironmentPath) (protectedEnvironmentEntity, error) {
	at, err := s.groupPlace(ctx, as, in.ID)
	if err != nil {
		return protectedEnvironmentEntity{}, err
	}
	e, err := s.Protections.ProtectedEnvironment(ctx, as, at, in.Name)
	return s.protectedEnvironmentFound(ctx, e, err)
}

type protectGroupEnvironmentParams struct {
	protectingGroup
	Name string `param:"name,required" doc:"Deployment tier: production, staging, testing, development, or other"`
	newDeployLevels
	protectionParams
}

func (s *Server) protectGroupEnvironment(ctx context.Context, as authz.Actor, in protectGroupEnvironmentParams) (protectedEnvironmentEntity, error) {
	at, err := s.groupPlace(ctx, as, in.ID)
	if err != nil {
		return protectedEnvironmentEntity{}, err
	}
	e, err := s.Protections.ProtectEnvironment(ctx, as, at, in.Name, in.changes(in.DeployLevels))
	return s.protectedEnvironmentFound(ctx, e, err)
}

type updateGroupProtectedEnvironmentParams struct {
	groupProtectedEnvironmentPath
	deployLevels
	protectionParams
}

func (s *Server) updateGroupProtectedEnvironment(ctx context.Context, as authz.Actor, in updateGroupProtectedEnvironmentParams) (protectedEnvironmentEntity, error) {
	at, err := s.groupPlace(ctx, as, in.ID)
	if err != nil {
		return protectedEnvironmentEntity{}, err
	}
	e, err := s.Protections.UpdateProtectedEnvironment(ctx, as, at, in.Name, in.changes(in.DeployLevels))
	return s.protectedEnvironmentFound(ctx, e, err)
}

func (s *Server) unprotectGroupEnvironment(ctx context.Context, as authz.Actor, in groupProtectedEnvironmentPath) (api.None, error) {
	at, err := s.groupPlace(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Protections.UnprotectEnvironment(ctx, as, at, in.Name)
}
