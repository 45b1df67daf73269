package rest

import (
	"context"
	"strings"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("package_protection_rules", (*Server).packageRuleRoutes)

func (s *Server) packageRuleRoutes() []*api.Route {
	h := packageRuleHandlers{core.Part[*packages.Service](s.Services)}
	const list, one = "/projects/:id/packages/protection/rules", "/projects/:id/packages/protection/rules/:package_protection_rule_id"
	return api.Scoped(nil,
		api.Get(list, h.list).Doc("List the package protection rules of a project").Needs(authz.ReadPackageRule),
		api.Post(list, h.create).Doc("Create a package protection rule").Needs(authz.AdminPackageRule),
		api.Patch(one, h.update).Timed().Doc("Update a package protection rule").Needs(authz.AdminPackageRule),
		api.Delete(one, h.delete).Timed().Doc("Delete a package protection rule").Needs(authz.AdminPackageRule),
	)
}

type packageRuleHandlers struct{ packages *packages.Service }

// packageRuleEntity is a protection rule. A level of null restricts nothing.
type packageRuleEntity struct {
	ID        packages.RuleID `json:"id"`
	ProjectID project.ID      `json:"project_id"`
	Pattern   string          `json:"package_name_pattern"`
	Kind      packages.Kind   `json:"package_type"`
	Delete    *string         `json:"minimum_access_level_for_delete"`
	Push      *string         `json:"minimum_access_level_for_push"`
}

func packageRuleOf(r *packages.Rule) packageRuleEntity {
	word := func(l *authz.Level) *string {
		if l == nil {
			return nil
		}
		return new(strings.ToLower(l.Name()))
	}
	return packageRuleEntity{r.ID, r.ProjectID, r.Pattern, r.Kind, word(r.Delete), word(r.Push)}
}

func packageRuleFound(r *packages.Rule, err error) (packageRuleEntity, error) {
	if err != nil {
		return packageRuleEntity{}, err
	}
	return packageRuleOf(r), nil
}

type listPackageRulesParams struct {
	projectPath
	api.Page
}

func (h packageRuleHandlers) list(ctx context.Context, as authz.Actor, in listPackageRulesParams) (api.List[packageRuleEntity], error) {
	none := api.List[packageRuleEntity]{}
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.packages.Rules(ctx, as, p, in.Range())
	if err != nil {
		return none, err
	}
	return api.ListOf(list, packageRuleOf), nil
}

// packageRuleLevels are the levels of a rule; null and the empty text restrict nothing.
type packageRuleLevels struct {
	Delete api.Opt[string] `param:"minimum_access_level_for_delete" values:"owner,admin," doc:"Lowest access level that deletes the packages; null or empty restricts nothing"`
	Push   api.Opt[string] `param:"minimum_access_level_for_push" values:"maintainer,owner,admin," doc:"Lowest access level that publishes the packages; null or empty restricts nothing"`
}

func (l *packageRuleLevels) changes(kind, pattern *string) packages.RuleChanges {
	level := func(word api.Opt[string]) *authz.Level {
		if !word.Set {
			return nil
		}
		level, _ := authz.LevelNamed(word.Value) // NoAccess for null
		return &level
	}
	return packages.RuleChanges{Kind: (*packages.Kind)(kind), Pattern: pattern, Push: level(l.Push), Delete: level(l.Delete)}
}

type createPackageRuleParams struct {
	projectPath
	packageRuleLevels
	Pattern string `param:"package_name_pattern,required" doc:"Name of the packages, in which * stands for any characters"`
	Kind    string `param:"package_type,required" values:"generic,debian,maven,npm,pypi" doc:"Type of the packages"`
}

func (h packageRuleHandlers) create(ctx context.Context, as authz.Actor, in createPackageRuleParams) (packageRuleEntity, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return packageRuleEntity{}, err
	}
	return packageRuleFound(h.packages.CreateRule(ctx, as, p, in.changes(&in.Kind, &in.Pattern)))
}

type packageRulePath struct {
	projectPath
	RuleID packages.RuleID `param:"package_protection_rule_id" doc:"ID of the protection rule"`
}

type updatePackageRuleParams struct {
	packageRulePath
	packageRuleLevels
	Pattern *string `param:"package_name_pattern" doc:"Name of the packages, in which * stands for any characters"`
	Kind    *string `param:"package_type" values:"generic,debian,maven,npm,pypi" doc:"Type of the packages"`
}

func (h packageRuleHandlers) update(ctx context.Context, as authz.Actor, in updatePackageRuleParams) (packageRuleEntity, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return packageRuleEntity{}, err
	}
	return packageRuleFound(h.packages.UpdateRule(ctx, as, p, in.RuleID, in.changes(in.Kind, in.Pattern)))
}

func (h packageRuleHandlers) delete(ctx context.Context, as authz.Actor, in packageRulePath) (api.None, error) {
	p, err := h.packages.Project(ctx, as, in.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, h.packages.DeleteRule(ctx, as, p, in.RuleID)
}
