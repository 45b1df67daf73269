package repo

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// ProtectOne protects an existing branch by its name, or changes whether developers may
// push to it and merge into it: the older form of ProtectBranch. nil leaves alone.
func (s *Service) ProtectOne(ctx context.Context, as authz.Actor, p *project.Project, name string, push, merge *bool) (*Branch, error) {
	if err := s.policy.Require(ctx, as, authz.AdminProtectedBranch, p.Subject()); err != nil {
		return nil, err
	}
	b, err := s.FindBranch(ctx, as, p, name)
	if err != nil {
		return nil, err
	}
	if err := as.UnmodifiedAt(b.Tip.Committer.When); err != nil {
		return nil, err
	}
	_, err = s.rule(ctx, branchTables, p.ID, name)
	switch {
	case errs.Is(err, errs.NotFound):
		_, err = s.ProtectBranch(ctx, as, p, ProtectInput{Name: name, Push: oneLevel(push), Merge: oneLevel(merge)})
	case err == nil:
		_, err = s.updateRule(ctx, as, p, name, func(rule *Rule) ProtectChanges {
			return ProtectChanges{Push: replaceRoles(rule, ActionPush, push), Merge: replaceRoles(rule, ActionMerge, merge)}
		})
	}
	if err != nil {
		return nil, err
	}
	return s.FindBranch(ctx, as, p, name)
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

// UnprotectOne takes the rule of exactly this name away, where there is one.
func (s *Service) UnprotectOne(ctx context.Context, as authz.Actor, p *project.Project, name string) (*Branch, error) {
	if err := s.policy.Require(ctx, as, authz.DeleteProtectedBranch, p.Subject()); err != nil {
		return nil, err
	}
	b, err := s.FindBranch(ctx, as, p, name)
	if err != nil {
		return nil, err
	}
	if err := as.UnmodifiedAt(b.Tip.Committer.When); err != nil {
		return nil, err
	}
	if err := s.UnprotectBranch(ctx, as, p, name); err != nil && !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	return s.FindBranch(ctx, as, p, name)
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
