package protection

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// SetDevelopers makes a rule of exactly this name, or changes it, so that developers may
// or may not push and merge: the older form of ProtectBranch. nil leaves alone, and is for
// maintainers in a new rule.
func (s *Service) SetDevelopers(ctx context.Context, as authz.Actor, p *project.Project, name string, push, merge *bool) error {
	if err := s.Policy.Require(ctx, as, authz.AdminProtectedBranch, p.Subject()); err != nil {
		return err
	}
	_, err := s.rule(ctx, branchTables, p.ID, name)
	switch {
	case errs.Is(err, errs.NotFound):
		_, err = s.ProtectBranch(ctx, as, p, Input{Name: name, Push: oneLevel(push), Merge: oneLevel(merge)})
	case err == nil:
		_, err = s.updateRule(ctx, as, p, name, func(rule *Rule) Changes {
			return Changes{Push: replaceRoles(rule, ActionPush, push), Merge: replaceRoles(rule, ActionMerge, merge)}
		})
	}
	return err
}

// oneLevel is the level for developers or for maintainers only.
func oneLevel(developers *bool) []LevelInput {
	level := authz.Maintainer
	if developers != nil && *developers {
		level = authz.Developer
	}
	return []LevelInput{{Level: &level}}
}

// replaceRoles takes the roles of an action away and sets one in their place.
func replaceRoles(rule *Rule, action string, developers *bool) []LevelInput {
	if developers == nil {
		return nil
	}
	var out []LevelInput
	for _, l := range rule.Levels {
		if l.Action == action && l.Level != nil {
			out = append(out, LevelInput{ID: &l.ID, Destroy: true})
		}
	}
	return append(out, oneLevel(developers)...)
}

// LevelWords describes a role in a rule.
func LevelWords(level authz.Level) string {
	switch level {
	case authz.NoAccess:
		return "No one"
	case authz.Developer:
		return "Developers + Maintainers"
	case authz.Maintainer:
		return "Maintainers"
	case authz.AdminLevel:
		return "Instance admins"
	}
	return level.Name()
}
