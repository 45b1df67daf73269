package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/repo"
	"tenon/internal/core/sshkey"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("protected_branches", (*Server).protectedRoutes)

func (s *Server) protectedRoutes() []*api.Route {
	const branches, tags = "/projects/:id/protected_branches", "/projects/:id/protected_tags"
	const branch = "/projects/:id/repository/branches/:branch"
	return api.Scoped(nil,
		api.Get(branches, s.protectedBranches).Doc("List protected branches").Needs(authz.ReadProtectedBranch),
		api.Post(branches, s.protectBranch).Doc("Create a protected branch").Needs(authz.AdminProtectedBranch),
		api.Get(branches+"/:name", s.protectedBranch).Doc("Get a protected branch").Needs(authz.ReadProtectedBranch),
		api.Patch(branches+"/:name", s.updateProtectedBranch).Timed().Doc("Update a protected branch").Needs(authz.AdminProtectedBranch),
		api.Delete(branches+"/:name", s.unprotectBranch).Timed().Doc("Delete a protected branch").Needs(authz.DeleteProtectedBranch),
		api.Put(branch+"/protect", s.protectOne).Timed().Doc("Protect a branch by its name in the repository").Deprecated().Needs(authz.AdminProtectedBranch, authz.ReadCode),
		api.Put(branch+"/unprotect", s.unprotectOne).Timed().Doc("Unprotect a branch by its name in the repository").Deprecated().Needs(authz.DeleteProtectedBranch, authz.ReadCode),
		api.Get(tags, s.protectedTags).Doc("List protected tags").Needs(authz.ReadProtectedTag),
		api.Post(tags, s.protectTag).Doc("Create a protected tag").Needs(authz.AdminProtectedTag),
		api.Get(tags+"/:name", s.protectedTag).Doc("Get a protected tag").Needs(authz.ReadProtectedTag),
		api.Delete(tags+"/:name", s.unprotectTag).Timed().Doc("Delete a protected tag").Needs(authz.AdminProtectedTag),
	)
}

type accessLevelEntity struct {
	ID          int64              `json:"id"`
	AccessLevel *authz.Level       `json:"access_level"`
	Description string             `json:"access_level_description"`
	DeployKeyID *int64             `json:"deploy_key_id"`
	UserID      *authz.UserID      `json:"user_id"`
	GroupID     *authz.NamespaceID `json:"group_id"`
}

type protectedBranchEntity struct {
	ID              protection.RuleID   `json:"id"`
	Name            string              `json:"name"`
	PushLevels      []accessLevelEntity `json:"push_access_levels"`
	MergeLevels     []accessLevelEntity `json:"merge_access_levels"`
	AllowForcePush  bool                `json:"allow_force_push"`
	UnprotectLevels []accessLevelEntity `json:"unprotect_access_levels"`
	CodeOwners      bool                `json:"code_owner_approval_required"`
	Inherited       bool                `json:"inherited"` // from a group above the project
}

type protectedTagEntity struct {
	Name         string              `json:"name"`
	CreateLevels []accessLevelEntity `json:"create_access_levels"`
}

// levelNames describes levels: roles by their words, people, groups and keys by their names.
func (s *Server) levelNames(ctx context.Context, rules []*protection.Rule) (func(action string, r *protection.Rule) []accessLevelEntity, error) {
	var users []authz.UserID
	var groups []namespace.ID
	var keys []sshkey.ID
	for _, r := range rules {
		for _, l := range r.Levels {
			if l.UserID != nil {
				users = append(users, *l.UserID)
			}
			if l.GroupID != nil {
				groups = append(groups, *l.GroupID)
			}
			if l.DeployKeyID != nil {
				keys = append(keys, sshkey.ID(*l.DeployKeyID))
			}
		}
	}
	people, err := s.Accounts.ByIDs(ctx, users)
	if err != nil {
		return nil, err
	}
	places, err := s.Namespaces.Names(ctx, groups)
	if err != nil {
		return nil, err
	}
	titles, err := s.Keys.Titles(ctx, keys)
	if err != nil {
		return nil, err
	}
	return func(action string, r *protection.Rule) []accessLevelEntity {
		out := []accessLevelEntity{}
		for _, l := range r.Levels {
			if l.Action != action {
				continue
			}
			e := accessLevelEntity{ID: l.ID, AccessLevel: l.Level, UserID: l.UserID, GroupID: l.GroupID, DeployKeyID: l.DeployKeyID}
			switch {
			case l.UserID != nil:
				if u := people[*l.UserID]; u != nil {
					e.Description = u.Name
				}
			case l.GroupID != nil:
				e.Description = places[*l.GroupID]
			case l.DeployKeyID != nil:
				e.Description = titles[sshkey.ID(*l.DeployKeyID)]
			case l.Level != nil:
				e.Description = protection.LevelWords(*l.Level)
			}
			out = append(out, e)
		}
		return out
	}, nil
}

func (s *Server) protectedBranchEntities(ctx context.Context, rules []*protection.Rule) ([]protectedBranchEntity, error) {
	levels, err := s.levelNames(ctx, rules)
	if err != nil {
		return nil, err
	}
	out := make([]protectedBranchEntity, len(rules))
	for i, r := range rules {
		out[i] = protectedBranchEntity{
			ID: r.ID, Name: r.Name, PushLevels: levels(protection.ActionPush, r), MergeLevels: levels(protection.ActionMerge, r),
			UnprotectLevels: levels(protection.ActionUnprotect, r), AllowForcePush: r.AllowForcePush, CodeOwners: r.CodeOwners,
			Inherited: r.Group != 0,
		}
	}
	return out, nil
}

func (s *Server) protectedBranchEntity(ctx context.Context, r *protection.Rule) (protectedBranchEntity, error) {
	list, err := s.protectedBranchEntities(ctx, []*protection.Rule{r})
	if err != nil {
		return protectedBranchEntity{}, err
	}
	return list[0], nil
}

func (s *Server) protectedTagEntities(ctx context.Context, rules []*protection.Rule) ([]protectedTagEntity, error) {
	levels, err := s.levelNames(ctx, rules)
	if err != nil {
		return nil, err
	}
	out := make([]protectedTagEntity, len(rules))
	for i, r := range rules {
		out[i] = protectedTagEntity{Name: r.Name, CreateLevels: levels(protection.ActionCreateTag, r)}
	}
	return out, nil
}

func (s *Server) protectedTagEntity(ctx context.Context, r *protection.Rule) (protectedTagEntity, error) {
	list, err := s.protectedTagEntities(ctx, []*protection.Rule{r})
	if err != nil {
		return protectedTagEntity{}, err
	}
	return list[0], nil
}

type listProtectedBranchesParams struct {
	projectPath
	Search string `param:"search" doc:"Search in names"`
	api.Page
}

func (s *Server) protectedBranches(ctx context.Context, as authz.Actor, in listProtectedBranchesParams) (api.List[protectedBranchEntity], error) {
	var none api.List[protectedBranchEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	rules, err := s.Protections.ProtectedBranches(ctx, as, p, in.Search, in.Range())
	if err != nil {
		return none, err
	}
	out, err := s.protectedBranchEntities(ctx, rules.Items)
	return api.Listed(rules, out), err
}

type protectedNameParams struct {
	projectPath
	Name string `param:"name,required,free" doc:"Name or wildcard of the rule"`
}

func (s *Server) protectedBranch(ctx context.Context, as authz.Actor, in protectedNameParams) (protectedBranchEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return protectedBranchEntity{}, err
	}
	rule, err := s.Protections.ProtectedBranch(ctx, as, p, in.Name)
	if err != nil {
		return protectedBranchEntity{}, err
	}
	return s.protectedBranchEntity(ctx, rule)
}

// levelParams is one of allowed_to_push and its like.
type levelParams struct {
	ID          *int64             `param:"id" doc:"ID of the access level to update"`
	Destroy     bool               `param:"_destroy" doc:"Remove the access level with this ID"`
	AccessLevel *authz.Level       `param:"access_level" values:"0,30,40,60" doc:"Access level"`
	UserID      *authz.UserID      `param:"user_id" doc:"ID of a user"`
	GroupID     *authz.NamespaceID `param:"group_id" doc:"ID of a group"`
	DeployKeyID *int64             `param:"deploy_key_id" doc:"ID of a deploy key"`
}

// levels puts the parameter for a role and the list of who else together.
func levels(role *authz.Level, list []levelParams) []protection.LevelInput {
	var out []protection.LevelInput
	if role != nil {
		out = append(out, protection.LevelInput{Level: role})
	}
	for _, l := range list {
		out = append(out, protection.LevelInput{
			ID: l.ID, Destroy: l.Destroy, Level: l.AccessLevel, UserID: l.UserID, GroupID: l.GroupID, DeployKeyID: l.DeployKeyID,
		})
	}
	return out
}

type allowedParams struct {
	AllowedToPush      []levelParams `param:"allowed_to_push" doc:"Users, groups, deploy keys and access levels allowed to push"`
	AllowedToMerge     []levelParams `param:"allowed_to_merge" doc:"Users, groups and access levels allowed to merge"`
	AllowedToUnprotect []levelParams `param:"allowed_to_unprotect" doc:"Users, groups and access levels allowed to unprotect"`
}

// ruleParams are what a new protected branch has.
type ruleParams struct {
	Name                 string       `param:"name,required" doc:"Branch name or wildcard"`
	PushAccessLevel      *authz.Level `param:"push_access_level" values:"0,30,40,60" doc:"Access level allowed to push; defaults to 40, Maintainer"`
	MergeAccessLevel     *authz.Level `param:"merge_access_level" values:"0,30,40,60" doc:"Access level allowed to merge; defaults to 40, Maintainer"`
	UnprotectAccessLevel *authz.Level `param:"unprotect_access_level" values:"0,30,40,60" doc:"Access level allowed to unprotect; defaults to 40, Maintainer"`
	AllowForcePush       bool         `param:"allow_force_push" doc:"Allow force push for all users with push access"`
	CodeOwners           bool         `param:"code_owner_approval_required" doc:"Require code owner approval"`
	allowedParams
}

func (p *ruleParams) input() protection.Input {
	return protection.Input{
		Name: p.Name, AllowForcePush: p.AllowForcePush, CodeOwners: p.CodeOwners,
		Push: levels(p.PushAccessLevel, p.AllowedToPush), Merge: levels(p.MergeAccessLevel, p.AllowedToMerge),
		Unprotect: levels(p.UnprotectAccessLevel, p.AllowedToUnprotect),
	}
}

type protectBranchParams struct {
	projectPath
	ruleParams
}

func (s *Server) protectBranch(ctx context.Context, as authz.Actor, in protectBranchParams) (protectedBranchEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return protectedBranchEntity{}, err
	}
	rule, err := s.Protections.ProtectBranch(ctx, as, p, in.input())
	if err != nil {
		return protectedBranchEntity{}, err
	}
	return s.protectedBranchEntity(ctx, rule)
}

// ruleChanges are what changes of a protected branch.
type ruleChanges struct {
	AllowForcePush *bool `param:"allow_force_push" doc:"Allow force push for all users with push access"`
	CodeOwners     *bool `param:"code_owner_approval_required" doc:"Require code owner approval"`
	allowedParams
}

func (p *ruleChanges) changes() protection.Changes {
	return protection.Changes{
		AllowForcePush: p.AllowForcePush, CodeOwners: p.CodeOwners, Push: levels(nil, p.AllowedToPush),
		Merge: levels(nil, p.AllowedToMerge), Unprotect: levels(nil, p.AllowedToUnprotect),
	}
}

type updateProtectedBranchParams struct {
	protectedNameParams
	ruleChanges
}

func (s *Server) updateProtectedBranch(ctx context.Context, as authz.Actor, in updateProtectedBranchParams) (protectedBranchEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return protectedBranchEntity{}, err
	}
	rule, err := s.Protections.UpdateProtectedBranch(ctx, as, p, in.Name, in.changes())
	if err != nil {
		return protectedBranchEntity{}, err
	}
	return s.protectedBranchEntity(ctx, rule)
}

func (s *Server) unprotectBranch(ctx context.Context, as authz.Actor, in protectedNameParams) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Protections.UnprotectBranch(ctx, as, p, in.Name)
}

type protectOneParams struct {
	branchParams
	DevelopersCanPush  *bool `param:"developers_can_push" doc:"Developers may push"`
	DevelopersCanMerge *bool `param:"developers_can_merge" doc:"Developers may merge"`
}

func (s *Server) protectOne(ctx context.Context, as authz.Actor, in protectOneParams) (branchEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return branchEntity{}, err
	}
	b, err := s.Repos.ProtectOne(ctx, as, p, in.Branch, in.DevelopersCanPush, in.DevelopersCanMerge)
	return s.shownBranch(p, b, err)
}

func (s *Server) unprotectOne(ctx context.Context, as authz.Actor, in branchParams) (branchEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return branchEntity{}, err
	}
	b, err := s.Repos.UnprotectOne(ctx, as, p, in.Branch)
	return s.shownBranch(p, b, err)
}

func (s *Server) shownBranch(p *project.Project, b *repo.Branch, err error) (branchEntity, error) {
	if err != nil {
		return branchEntity{}, err
	}
	return s.branchEntity(p, b), nil
}

type listProtectedTagsParams struct {
	projectPath
	api.Page
}

func (s *Server) protectedTags(ctx context.Context, as authz.Actor, in listProtectedTagsParams) (api.List[protectedTagEntity], error) {
	var none api.List[protectedTagEntity]
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	rules, err := s.Protections.ProtectedTags(ctx, as, p, in.Range())
	if err != nil {
		return none, err
	}
	out, err := s.protectedTagEntities(ctx, rules.Items)
	return api.Listed(rules, out), err
}

func (s *Server) protectedTag(ctx context.Context, as authz.Actor, in protectedNameParams) (protectedTagEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return protectedTagEntity{}, err
	}
	rule, err := s.Protections.ProtectedTag(ctx, as, p, in.Name)
	if err != nil {
		return protectedTagEntity{}, err
	}
	return s.protectedTagEntity(ctx, rule)
}

type protectTagParams struct {
	projectPath
	Name              string        `param:"name,required" doc:"Tag name or wildcard"`
	CreateAccessLevel *authz.Level  `param:"create_access_level" values:"0,30,40,60" doc:"Access level allowed to create; defaults to 40, Maintainer"`
	AllowedToCreate   []levelParams `param:"allowed_to_create" doc:"Users, groups and access levels allowed to create"`
}

func (s *Server) protectTag(ctx context.Context, as authz.Actor, in protectTagParams) (protectedTagEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return protectedTagEntity{}, err
	}
	rule, err := s.Protections.ProtectTag(ctx, as, p, in.Name, levels(in.CreateAccessLevel, in.AllowedToCreate))
	if err != nil {
		return protectedTagEntity{}, err
	}
	return s.protectedTagEntity(ctx, rule)
}

func (s *Server) unprotectTag(ctx context.Context, as authz.Actor, in protectedNameParams) (api.None, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Protections.UnprotectTag(ctx, as, p, in.Name)
}
