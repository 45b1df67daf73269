package protection

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// ProtectedTags lists the rules for tags.
func (s *Service) ProtectedTags(ctx context.Context, as authz.Actor, p *project.Project, part page.Range) (page.Page[*Rule], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadProtectedTag, p.Subject()); err != nil {
		return page.Page[*Rule]{}, err
	}
	rules, err := s.TagRules(ctx, p.ID)
	if err != nil {
		return page.Page[*Rule]{}, err
	}
	return page.Slice(rules, part, byName, ruleName)
}

// ProtectedTag returns the rule for tags that has exactly this name.
func (s *Service) ProtectedTag(ctx context.Context, as authz.Actor, p *project.Project, name string) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadProtectedTag, p.Subject()); err != nil {
		return nil, err
	}
	return s.rule(ctx, tagTables, p.ID, name)
}

// ProtectTag adds a rule that says who may create the tags that match; maintainers where
// create is empty.
func (s *Service) ProtectTag(ctx context.Context, as authz.Actor, p *project.Project, name string, create []LevelInput) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminProtectedTag, p.Subject()); err != nil {
		return nil, err
	}
	rule := &Rule{Name: name}
	if err := s.plan(ctx, p, rule, map[string][]LevelInput{ActionCreateTag: create}, []string{ActionCreateTag}); err != nil {
		return nil, err
	}
	var made *Rule
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		if made, err = s.insertRule(ctx, tagTables, p.ID, rule); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, TagProtected{TagEvent{change.Created(as, s.Now(), p.Place(), made)}})
	})
	if db.Duplicate(err, "protected_tags") {
		return nil, errs.Sentences(errs.Unprocessable, "Name has already been taken")
	}
	return made, err
}

// UnprotectTag takes a rule for tags away.
func (s *Service) UnprotectTag(ctx context.Context, as authz.Actor, p *project.Project, name string) error {
	if err := s.Policy.Require(ctx, as, authz.AdminProtectedTag, p.Subject()); err != nil {
		return err
	}
	rule, err := s.rule(ctx, tagTables, p.ID, name)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.deleteRule(ctx, as, tagTables, rule.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, TagUnprotected{TagEvent{change.Deleted(as, s.Now(), p.Place(), rule)}})
	})
}

// MayCreateTag sums up the rules that match a tag's name.
func (s *Standing) MayCreateTag(name string) (protected, may bool) {
	for _, rule := range s.rules {
		if !rule.Matches(name) {
			continue
		}
		protected = true
		for _, l := range rule.Levels {
			may = may || s.granted(l)
		}
	}
	return protected, !protected && s.Push || may && s.Push
}
