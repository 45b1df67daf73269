package packages

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// RuleID identifies a protection rule.
type RuleID int64

// Rule is a protection rule of a project: packages of a kind whose names match the pattern are published and deleted by users of a level alone.
type Rule struct {
	ID        RuleID       `db:"id"`
	ProjectID project.ID   `db:"project_id"`
	Kind      Kind         `db:"kind" change:"package_type"`
	Pattern   string       `db:"pattern" change:"package_name_pattern"` // * stands for any characters
	Push      *authz.Level `db:"push_level" change:"minimum_access_level_for_push"`
	Delete    *authz.Level `db:"delete_level" change:"minimum_access_level_for_delete"` // nil restricts nothing, as for Push
	CreatedAt db.Time      `db:"created_at"`
	UpdatedAt db.Time      `db:"updated_at"`
}

// About names it for events.
func (r Rule) About() change.Subject {
	return change.Subject{Type: "Packages::Protection::Rule", ID: int64(r.ID), Title: r.Pattern}
}

// RuleChanges are the attributes of a protection rule that a call sets; nil leaves one alone. A level of NoAccess restricts nothing.
type RuleChanges struct {
	Kind    *Kind
	Pattern *string
	Push    *authz.Level
	Delete  *authz.Level
}

// RuleCreated is published when a protection rule was created.
type RuleCreated struct{ change.Of[Rule] }

// Audit is what the audit trail records of it.
func (e RuleCreated) Audit() []change.Entry {
	return e.After.record("package_protection_rule_created", "Created protection rule")
}

// RuleUpdated is published when a protection rule was changed.
type RuleUpdated struct{ change.Of[Rule] }

// Audit is what the audit trail records of it.
func (e RuleUpdated) Audit() []change.Entry {
	return e.After.record("package_protection_rule_updated", "Updated protection rule")
}

// RuleDeleted is published when a protection rule was deleted.
type RuleDeleted struct{ change.Of[Rule] }

// Audit is what the audit trail records of it.
func (e RuleDeleted) Audit() []change.Entry {
	return e.Before.record("package_protection_rule_deleted", "Deleted protection rule")
}

func (r *Rule) record(event, words string) []change.Entry {
	level := func(l *authz.Level) string {
		if l == nil {
			return "nothing more"
		}
		return l.Name()
	}
	return change.Record(event, words+" of {package_type} packages {pattern}: publishing needs {push}, deleting {delete}",
		"package_type", string(r.Kind), "pattern", r.Pattern, "push", level(r.Push), "delete", level(r.Delete))
}

const maxRules = 100 // of a project

var (
	ruleColumns  = db.Columns[Rule]("r")
	errNoRule    = errs.Missing("Package Protection Rule")
	errProtected = errs.Denied("Package protected.")
	errRuleTaken = errs.Sentences(errs.Unprocessable, "Package name pattern has already been taken")

	pypiRuns = pattern.New(`[-_.]+`)
)

// Kinds returns the kinds of which packages are published, those that protection rules may be for.
func Kinds() []Kind { return []Kind{Generic, Debian, Maven, NPM, PyPI} }

// apply sets what a call sets.
func (c *RuleChanges) apply(r *Rule) {
	if c.Kind != nil {
		r.Kind = *c.Kind
	}
	if c.Pattern != nil {
		r.Pattern = *c.Pattern
	}
	set := func(to **authz.Level, l *authz.Level) {
		switch {
		case l == nil:
		case *l == authz.NoAccess:
			*to = nil
		default:
			*to = l
		}
	}
	set(&r.Push, c.Push)
	set(&r.Delete, c.Delete)
}

func (r *Rule) check() error {
	var wrong []string
	refuse := func(ok bool, message string) {
		if !ok {
			wrong = append(wrong, message)
		}
	}
	refuse(strings.TrimSpace(r.Pattern) != "", "Package name pattern can't be blank")
	refuse(utf8.RuneCountInString(r.Pattern) <= maxText, fmt.Sprintf("Package name pattern is too long (maximum is %d characters)", maxText))
	refuse(!strings.ContainsFunc(r.Pattern, unicode.IsControl) && strings.TrimSpace(r.Pattern) == r.Pattern, "Package name pattern should be a valid package name with optional wildcard characters")
	refuse(slices.Contains(Kinds(), r.Kind), "Package type is not included in the list")
	refuse(r.Push == nil || *r.Push >= authz.Maintainer && *r.Push <= authz.AdminLevel, "Minimum access level for push is not included in the list")
	refuse(r.Delete == nil || *r.Delete >= authz.Owner && *r.Delete <= authz.AdminLevel, "Minimum access level for delete is not included in the list")
	refuse(r.Push != nil || r.Delete != nil, "A rule must have at least a minimum access role for push or delete.")
	if len(wrong) > 0 {
		return errs.Sentences(errs.Unprocessable, wrong...)
	}
	return nil
}

// JoinedPyPI returns a name of a Python package with one hyphen for each run of characters that join its words.
func JoinedPyPI(name string) string { return pypiRuns().ReplaceAllLiteralString(name, "-") }

// matches reports whether the rule is for a name. Case makes no difference; names that are the same to PyPI are the same here.
func (r *Rule) matches(name string) bool {
	fold := db.Fold
	if r.Kind == PyPI {
		fold = func(text string) string { return db.Fold(JoinedPyPI(text)) }
	}
	return pattern.Wildcard(fold(r.Pattern), fold(name))
}

// Rules returns a page of the protection rules of a project, the oldest first.
func (s *Service) Rules(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[Rule], error) {
	if err := s.Require(ctx, as, authz.ReadPackageRule, p.Place()); err != nil {
		return page.Page[Rule]{}, err
	}
	var w db.Where
	w.And("r.project_id = ?", p.ID)
	list, err := page.Select[Rule](ctx, s.DB, page.Query{Columns: ruleColumns, From: "package_protection_rules r", Where: w, Order: page.Order{page.ID("r.id")}}, r)
	return list, errs.Wrap(err, "list protection rules of packages")
}

// CreateRule creates a protection rule.
func (s *Service) CreateRule(ctx context.Context, as authz.Actor, p *project.Project, c RuleChanges) (*Rule, error) {
	if err := s.Require(ctx, as, authz.AdminPackageRule, p.Place()); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	r := &Rule{ProjectID: p.ID, CreatedAt: now, UpdatedAt: now}
	c.apply(r)
	if err := r.check(); err != nil {
		return nil, err
	}
	bound := db.Bound{Table: "package_protection_rules", Most: maxRules, Full: errs.Sentences(errs.Unprocessable, fmt.Sprintf("Maximum number of protection rules (%d) exceeded", maxRules))}
	bound.Of.And("project_id = ?", p.ID)
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "package_protection_rules", r, bound); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, RuleCreated{change.Created(as, s.Now(), p.Place(), r)})
	})
	if err != nil {
		return nil, errs.Wrap(ruleTaken(err), "create protection rule of packages")
	}
	return r, nil
}

// UpdateRule changes a protection rule.
func (s *Service) UpdateRule(ctx context.Context, as authz.Actor, p *project.Project, id RuleID, c RuleChanges) (*Rule, error) {
	if err := s.Require(ctx, as, authz.AdminPackageRule, p.Place()); err != nil {
		return nil, err
	}
	var out db.Change[Rule]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, s.ruleRow(as, p, id), func(_ context.Context, r *Rule) error {
			c.apply(r)
			return r.check()
		})
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, RuleUpdated{change.Updated(as, s.Now(), p.Place(), &out)})
	})
	if err != nil {
		return nil, errs.Wrap(ruleTaken(err), "update protection rule of packages")
	}
	return &out.After, nil
}

// DeleteRule deletes a protection rule.
func (s *Service) DeleteRule(ctx context.Context, as authz.Actor, p *project.Project, id RuleID) error {
	if err := s.Require(ctx, as, authz.AdminPackageRule, p.Place()); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[Rule](ctx, s.DB, s.ruleRow(as, p, id), nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, RuleDeleted{change.Deleted(as, s.Now(), p.Place(), &was)})
	})
	return errs.Wrap(err, "delete protection rule of packages")
}

func (s *Service) ruleRow(as authz.Actor, p *project.Project, id RuleID) db.Row {
	r := db.Row{Table: "package_protection_rules", ID: id, Now: s.Now, If: as.UnmodifiedAt, Missing: errNoRule}
	r.And.And("project_id = ?", p.ID)
	return r
}

// ruleTaken is the error of a pattern that the project protects already.
func ruleTaken(err error) error {
	if db.Duplicate(err, "package_protection_rules") {
		return errRuleTaken
	}
	return err
}

// rulesOf returns the protection rules of a project for a kind of packages.
func (s *Service) rulesOf(ctx context.Context, id project.ID, kind Kind) ([]Rule, error) {
	rules, err := db.Select[Rule](ctx, s.DB, "SELECT "+ruleColumns+" FROM package_protection_rules r WHERE r.project_id = ? AND r.kind = ? ORDER BY r.id LIMIT ?",
		id, kind, maxRules)
	if err != nil {
		return nil, fmt.Errorf("protection rules of packages: %w", err)
	}
	return rules, nil
}

// restricted is the highest level that rules set for a name; NoAccess is none.
func restricted(rules []Rule, name string, of func(r *Rule) *authz.Level) (least authz.Level) {
	for i := range rules {
		if l := of(&rules[i]); l != nil && rules[i].matches(name) {
			least = max(least, *l)
		}
	}
	return least
}

// levelOf is the level by which protection rules judge an actor. A deploy token has none: it publishes what no rule protects.
func (s *Service) levelOf(ctx context.Context, as authz.Actor, p *project.Project) (authz.Level, error) {
	if as.Admin {
		return authz.AdminLevel, nil
	}
	if !as.SignedIn() {
		return authz.NoAccess, nil
	}
	level, err := s.Policy.Level(ctx, as, p.Subject())
	return level, errs.Wrap(err, "level in project of package")
}

// mayPush refuses to publish what a rule protects from the actor.
func (s *Service) mayPush(ctx context.Context, as authz.Actor, p *project.Project, u Upload) error {
	rules, err := s.rulesOf(ctx, p.ID, u.Kind)
	if err != nil {
		return err
	}
	least := restricted(rules, u.Name, func(r *Rule) *authz.Level { return r.Push })
	if least == authz.NoAccess || u.level != nil && *u.level >= least {
		return nil
	}
	if u.level != nil {
		return errProtected
	}
	return s.reaches(ctx, as, p, least)
}

// mayDelete refuses to delete what a rule protects from the actor.
func (s *Service) mayDelete(ctx context.Context, as authz.Actor, p *project.Project, k *Package) error {
	rules, err := s.rulesOf(ctx, p.ID, k.Kind)
	if err != nil {
		return err
	}
	least := restricted(rules, k.Name, func(r *Rule) *authz.Level { return r.Delete })
	if least == authz.NoAccess {
		return nil
	}
	return s.reaches(ctx, as, p, least)
}

// reaches refuses an actor whose level is below the one that a rule wants.
func (s *Service) reaches(ctx context.Context, as authz.Actor, p *project.Project, least authz.Level) error {
	level, err := s.levelOf(ctx, as, p)
	if err == nil && level < least {
		return errProtected
	}
	return err
}
