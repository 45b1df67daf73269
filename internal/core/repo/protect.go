package repo

import (
	"context"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// ProtectOne protects an existing branch by its name, or changes whether developers may
// push to it and merge into it: the older form of protection.Service.ProtectBranch. nil leaves alone.
func (s *Service) ProtectOne(ctx context.Context, as authz.Actor, p *project.Project, name string, push, merge *bool) (*Branch, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminProtectedBranch, p.Subject()); err != nil {
		return nil, err
	}
	b, err := s.FindBranch(ctx, as, p, name)
	if err != nil {
		return nil, err
	}
	if err := as.UnmodifiedAt(b.Tip.Committer.When); err != nil {
		return nil, err
	}
	if err := s.Protections.SetDevelopers(ctx, as, p, name, push, merge); err != nil {
		return nil, err
	}
	return s.FindBranch(ctx, as, p, name)
}

// UnprotectOne takes the rule of exactly this name away, where there is one.
func (s *Service) UnprotectOne(ctx context.Context, as authz.Actor, p *project.Project, name string) (*Branch, error) {
	if err := s.Policy.Require(ctx, as, authz.DeleteProtectedBranch, p.Subject()); err != nil {
		return nil, err
	}
	b, err := s.FindBranch(ctx, as, p, name)
	if err != nil {
		return nil, err
	}
	if err := as.UnmodifiedAt(b.Tip.Committer.When); err != nil {
		return nil, err
	}
	if err := s.Protections.UnprotectBranch(ctx, as, p, name); err != nil && !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	return s.FindBranch(ctx, as, p, name)
}
