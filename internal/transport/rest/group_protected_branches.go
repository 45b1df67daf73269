package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/protection"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("protected_branches", (*Server).groupProtectedRoutes)

func (s *Server) groupProtectedRoutes() []*api.Route {
	const list, one = "/groups/:id/protected_branches", "/groups/:id/protected_branches/:name"
	const read, admin = authz.ReadGroupProtectedBranch, authz.AdminGroupProtectedBranch
	return api.Scoped(nil,
		api.Get(list, s.groupProtectedBranches).Doc("List the protected branches of a group").Needs(read),
		api.Post(list, s.protectGroupBranch).Doc("Create a protected branch of a group").Needs(admin),
		api.Get(one, s.groupProtectedBranch).Doc("Get a protected branch of a group").Needs(read),
		api.Patch(one, s.updateGroupProtectedBranch).Timed().Doc("Update a protected branch of a group").Needs(admin),
		api.Delete(one, s.unprotectGroupBranch).Timed().Doc("Delete a protected branch of a group").Needs(admin),
	)
}

// groupProtectedBranchEntity is a rule of a group.
type groupProtectedBranchEntity struct {
	ID              protection.RuleID   `json:"id"`
	Name            string              `json:"name"`
	PushLevels      []accessLevelEntity `json:"push_access_levels"`
	MergeLevels     []accessLevelEntity `json:"merge_access_levels"`
	AllowForcePush  bool                `json:"allow_force_push"`
	UnprotectLevels []accessLevelEntity `json:"unprotect_access_levels"`
	CodeOwners      bool                `json:"code_owner_approval_required"`
}

func (s *Server) groupRules(ctx context.Context, rules ...*protection.Rule) ([]groupProtectedBranchEntity, error) {
	list, err := s.protectedBranchEntities(ctx, rules)
	if err != nil {
		return nil, err
	}
	out := make([]groupProtectedBranchEntity, len(list))
	for i, e := range list {
		out[i] = groupProtectedBranchEntity{
			ID: e.ID, Name: e.Name, PushLevels: e.PushLevels, MergeLevels: e.MergeLevels, AllowForcePush: e.AllowForcePush,
			UnprotectLevels: e.UnprotectLevels, CodeOwners: e.CodeOwners,
		}
	}
	return out, nil
}

func (s *Server) groupRule(ctx context.Context, rule *protection.Rule, err error) (groupProtectedBranchEntity, error) {
	if err != nil {
		return groupProtectedBranchEntity{}, err
	}
	list, err := s.groupRules(ctx, rule)
	if err != nil {
		return groupProtectedBranchEntity{}, err
	}
	return list[0], nil
}

// protectingGroup names a group.
type protectingGroup struct {
	ID string `param:"id" doc:"ID or URL-encoded path of the group"`
}

type listGroupProtectedBranchesParams struct {
	protectingGroup
	Search string `param:"search" doc:"Search in names"`
	api.Page
}

func (s *Server) groupProtectedBranches(ctx context.Context, as authz.Actor, in listGroupProtectedBranchesParams) (api.List[groupProtectedBranchEntity], error) {
	var none api.List[groupProtectedBranchEntity]
	at, err := s.groupPlace(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	rules, err := s.Protections.GroupProtectedBranches(ctx, as, at, in.Search, in.Range())
	if err != nil {
		return none, err
	}
	out, err := s.groupRules(ctx, rules.Items...)
	return api.Listed(rules, out), err
}

// groupRulePath names a rule by its group and name.
type groupRulePath struct {
	protectingGroup
	Name string `param:"name,required,free" doc:"Name or wildcard of the rule"`
}

func (s *Server) groupProtectedBranch(ctx context.Context, as authz.Actor, in groupRulePath) (groupProtectedBranchEntity, error) {
	at, err := s.groupPlace(ctx, as, in.ID)
	if err != nil {
		return groupProtectedBranchEntity{}, err
	}
	rule, err := s.Protections.GroupProtectedBranch(ctx, as, at, in.Name)
	return s.groupRule(ctx, rule, err)
}

type protectGroupBranchParams struct {
	protectingGroup
	ruleParams
}

func (s *Server) protectGroupBranch(ctx context.Context, as authz.Actor, in protectGroupBranchParams) (groupProtectedBranchEntity, error) {
	at, err := s.groupPlace(ctx, as, in.ID)
	if err != nil {
		return groupProtectedBranchEntity{}, err
	}
	rule, err := s.Protections.ProtectGroupBranch(ctx, as, at, in.input())
	return s.groupRule(ctx, rule, err)
}

type updateGroupProtectedBranchParams struct {
	groupRulePath
	ruleChanges
}

func (s *Server) updateGroupProtectedBranch(ctx context.Context, as authz.Actor, in updateGroupProtectedBranchParams) (groupProtectedBranchEntity, error) {
	at, err := s.groupPlace(ctx, as, in.ID)
	if err != nil {
		return groupProtectedBranchEntity{}, err
	}
	rule, err := s.Protections.UpdateGroupProtectedBranch(ctx, as, at, in.Name, in.changes())
	return s.groupRule(ctx, rule, err)
}

func (s *Server) unprotectGroupBranch(ctx context.Context, as authz.Actor, in groupRulePath) (api.None, error) {
	at, err := s.groupPlace(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Protections.UnprotectGroupBranch(ctx, as, at, in.Name)
}
