package protection

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
)

// LevelInput is one level that a rule is to have. With an ID it changes the level that
// has it, or takes it away.
type LevelInput struct {
	ID          *int64
	Destroy     bool
	Level       *authz.Level
	UserID      *authz.UserID
	GroupID     *authz.NamespaceID
	DeployKeyID *int64
}

// Input describes a new rule for branches. An action that no user is named for is
// for maintainers.
type Input struct {
	Name           string
	Push           []LevelInput
	Merge          []LevelInput
	Unprotect      []LevelInput
	AllowForcePush bool
	CodeOwners     bool
}

// Changes are what a call changes of a rule; nil leaves alone.
type Changes struct {
	Push           []LevelInput
	Merge          []LevelInput
	Unprotect      []LevelInput
	AllowForcePush *bool
	CodeOwners     *bool
}

// ProtectedBranches lists the rules for branches whose names contain the text.
func (s *Service) ProtectedBranches(ctx context.Context, as authz.Actor, p *project.Project, search string, part page.Range) (page.Page[*Rule], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadProtectedBranch, p.Subject()); err != nil {
		return page.Page[*Rule]{}, err
	}
	rules, err := s.Rules(ctx, p.ID)
	if err != nil {
		return page.Page[*Rule]{}, err
	}
	return sliceRules(rules, search, part)
}

// sliceRules cuts a page of the rules whose names contain the text.
func sliceRules(rules []*Rule, search string, part page.Range) (page.Page[*Rule], error) {
	rules = slices.DeleteFunc(rules, func(r *Rule) bool { return !strings.Contains(db.Fold(r.Name), db.Fold(search)) })
	return page.Slice(rules, part, byName, ruleName)
}

func ruleName(r **Rule) []any { return []any{(*r).Name, int64((*r).Group)} }

// ProtectedBranch returns the rule that has exactly this name: the project's own, or else that of a group.
func (s *Service) ProtectedBranch(ctx context.Context, as authz.Actor, p *project.Project, name string) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadProtectedBranch, p.Subject()); err != nil {
		return nil, err
	}
	rules, err := s.Rules(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	return named(rules, name)
}

// rule finds a rule of a project by its name; NotFound where there is none.
func (s *Service) rule(ctx context.Context, t ruleTables, id project.ID, name string) (*Rule, error) {
	rules, err := s.readRules(ctx, t, id)
	if err != nil {
		return nil, err
	}
	return named(rules, name)
}

// named finds the first rule of a name.
func named(rules []*Rule, name string) (*Rule, error) {
	for _, r := range rules {
		if r.Name == name {
			return r, nil
		}
	}
	return nil, errs.Missing("")
}

// ProtectBranch adds a rule for branches. A second one of the same name is
// a Conflict.
func (s *Service) ProtectBranch(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminProtectedBranch, p.Subject()); err != nil {
		return nil, err
	}
	rule := &Rule{Name: in.Name, AllowForcePush: in.AllowForcePush, CodeOwners: in.CodeOwners}
	wanted := map[string][]LevelInput{ActionPush: in.Push, ActionMerge: in.Merge, ActionUnprotect: in.Unprotect}
	if err := s.plan(ctx, p, rule, wanted, []string{ActionPush, ActionMerge, ActionUnprotect}); err != nil {
		return nil, err
	}
	var made *Rule
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		if made, err = s.insertRule(ctx, branchTables, p.ID, rule); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, BranchProtected{change.Created(as, s.Now(), p.Place(), made)})
	})
	if db.Duplicate(err, "protected_branches") {
		return nil, errs.New(errs.Conflict, "Protected branch '"+in.Name+"' already exists")
	}
	return made, err
}

// plan gives a new rule the levels asked for, maintainers where an action has none, and
// checks it.
func (s *Service) plan(ctx context.Context, p *project.Project, rule *Rule, wanted map[string][]LevelInput, actions []string) error {
	var found []string
	switch {
	case strings.TrimSpace(rule.Name) == "":
		found = append(found, "Name can't be blank")
	case utf8.RuneCountInString(rule.Name) > 255:
		found = append(found, "Name is too long (maximum is 255 characters)")
	}
	for _, action := range actions {
		levels := wanted[action]
		if len(levels) == 0 {
			maintainer := authz.Maintainer
			levels = []LevelInput{{Level: &maintainer}}
		}
		for _, l := range levels {
			rule.Levels = append(rule.Levels, RuleLevel{
				Action: action, Level: l.Level, UserID: l.UserID, GroupID: l.GroupID, DeployKeyID: l.DeployKeyID,
			})
		}
	}
	problems, err := s.checkLevels(ctx, p, rule)
	if err != nil {
		return err
	}
	if found = append(found, problems...); len(found) > 0 {
		return errs.Sentences(errs.Unprocessable, found...)
	}
	return nil
}

// insertRule stores a rule with its levels inside the caller's transaction and returns it
// as it is stored.
func (s *Service) insertRule(ctx context.Context, t ruleTables, id project.ID, rule *Rule) (*Rule, error) {
	now := db.At(s.Now())
	made := *rule
	made.Levels = slices.Clone(rule.Levels)
	query, args := "INSERT INTO "+t.rules+" (project_id, name, created_at, updated_at) VALUES (?, ?, ?, ?) RETURNING id", []any{id, rule.Name, now, now}
	if t == branchTables {
		query = `INSERT INTO protected_branches (project_id, name, created_at, updated_at, allow_force_push, code_owner_approval_required)
			VALUES (?, ?, ?, ?, ?, ?) RETURNING id`
		args = append(args, rule.AllowForcePush, rule.CodeOwners)
	}
	var err error
	if made.ID, err = db.Get[RuleID](ctx, s.DB, query, args...); err != nil {
		return nil, fmt.Errorf("store rule: %w", err)
	}
	for i := range made.Levels {
		if err := s.insertLevel(ctx, t, made.ID, &made.Levels[i]); err != nil {
			return nil, err
		}
	}
	return &made, nil
}

func (s *Service) insertLevel(ctx context.Context, t ruleTables, rule RuleID, l *RuleLevel) error {
	var err error
	l.ID, err = db.Get[int64](ctx, s.DB, "INSERT INTO "+t.levels+" ("+t.key+
		", action, access_level, user_id, group_id, deploy_key_id) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
		rule, l.Action, l.Level, l.UserID, l.GroupID, l.DeployKeyID)
	if err != nil {
		return fmt.Errorf("store level of rule: %w", err)
	}
	return nil
}

// UpdateProtectedBranch changes a rule. Levels without an id are added to those it has.
func (s *Service) UpdateProtectedBranch(ctx context.Context, as authz.Actor, p *project.Project, name string, c Changes) (*Rule, error) {
	return s.updateRule(ctx, as, p, name, func(*Rule) Changes { return c })
}

// updateRule changes a rule as wanted says when it sees the rule as it is.
func (s *Service) updateRule(ctx context.Context, as authz.Actor, p *project.Project, name string, wanted func(rule *Rule) Changes) (*Rule, error) {
	known, err := s.changeableRule(ctx, as, p, authz.AdminProtectedBranch, name)
	if err != nil {
		return nil, err
	}
	row := db.Row{Table: "protected_branches", ID: known.ID, Now: s.Now, If: as.UnmodifiedAt}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var old []RuleLevel
		changed := false
		out, err := db.Update(ctx, s.DB, row, func(ctx context.Context, rule *Rule) error {
			var err error
			if old, err = s.levels(ctx, rule.ID); err != nil {
				return err
			}
			rule.Levels = slices.Clone(old)
			if err := s.applyRule(ctx, p, rule, wanted(rule)); err != nil {
				return err
			}
			changed, err = s.storeLevels(ctx, rule, old)
			if changed {
				rule.UpdatedAt = db.At(s.Now())
			}
			return err
		})
		if err != nil || !out.Any() && !changed {
			return err
		}
		out.Before.Levels = old
		return s.Bus.Publish(ctx, BranchProtectionUpdated{change.Updated(as, s.Now(), p.Place(), &out)})
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, errs.Wrap(err, "update protected branch")
	}
	return s.rule(ctx, branchTables, p.ID, name)
}

// applyRule writes the changes into a rule and checks it.
func (s *Service) applyRule(ctx context.Context, p *project.Project, rule *Rule, c Changes) error {
	old := rule.Levels
	rule.Levels = nil
	wanted := map[string][]LevelInput{ActionPush: c.Push, ActionMerge: c.Merge, ActionUnprotect: c.Unprotect}
	for _, action := range []string{ActionPush, ActionMerge, ActionUnprotect} {
		levels, err := merge(old, action, wanted[action])
		if err != nil {
			return err
		}
		rule.Levels = append(rule.Levels, levels...)
	}
	if c.AllowForcePush != nil {
		rule.AllowForcePush = *c.AllowForcePush
	}
	if c.CodeOwners != nil {
		rule.CodeOwners = *c.CodeOwners
	}
	problems, err := s.checkLevels(ctx, p, rule)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return errs.Sentences(errs.Unprocessable, problems...)
	}
	return nil
}

// levels reads the levels of a rule for branches by id.
func (s *Service) levels(ctx context.Context, id RuleID) ([]RuleLevel, error) {
	out, err := db.Select[RuleLevel](ctx, s.DB, "SELECT "+db.Columns[RuleLevel]("")+
		" FROM protected_branch_levels WHERE protected_branch_id = ? ORDER BY id", id)
	if err != nil {
		return nil, fmt.Errorf("read levels of rule: %w", err)
	}
	return out, nil
}

// merge returns the levels of one action as the inputs change them.
func merge(old []RuleLevel, action string, inputs []LevelInput) ([]RuleLevel, error) {
	var out []RuleLevel
	for _, l := range old {
		if l.Action == action {
			out = append(out, l)
		}
	}
	for _, in := range inputs {
		next := RuleLevel{Action: action, Level: in.Level, UserID: in.UserID, GroupID: in.GroupID, DeployKeyID: in.DeployKeyID}
		if in.ID == nil {
			out = append(out, next)
			continue
		}
		at := slices.IndexFunc(out, func(l RuleLevel) bool { return l.ID == *in.ID })
		switch {
		case at < 0:
			return nil, errs.Missing("")
		case in.Destroy:
			out = slices.Delete(out, at, at+1)
		case next.Level != nil || next.UserID != nil || next.GroupID != nil || next.DeployKeyID != nil:
			next.ID = *in.ID
			out[at] = next
		}
	}
	return out, nil
}

// storeLevels writes the levels of a rule in place of those that it had, and reports
// whether any differs.
func (s *Service) storeLevels(ctx context.Context, rule *Rule, old []RuleLevel) (changed bool, err error) {
	for _, l := range old {
		if slices.ContainsFunc(rule.Levels, func(n RuleLevel) bool { return n.ID == l.ID }) {
			continue
		}
		if _, err := db.Drop(ctx, s.DB, db.Row{Table: "protected_branch_levels", ID: l.ID}); err != nil {
			return false, fmt.Errorf("drop level of rule: %w", err)
		}
		changed = true
	}
	for i := range rule.Levels {
		l := &rule.Levels[i]
		if l.ID == 0 {
			if err := s.insertLevel(ctx, branchTables, rule.ID, l); err != nil {
				return false, err
			}
			changed = true
			continue
		}
		at := slices.IndexFunc(old, func(o RuleLevel) bool { return o.ID == l.ID })
		if reflect.DeepEqual(old[at], *l) {
			continue
		}
		_, err := db.Update(ctx, s.DB, db.Row{Table: "protected_branch_levels", ID: l.ID}, func(_ context.Context, row *RuleLevel) error {
			*row = *l
			return nil
		})
		if err != nil {
			return false, fmt.Errorf("store level of rule: %w", err)
		}
		changed = true
	}
	return changed, nil
}

// changeableRule finds a rule that the actor may change or take away: a maintainer that
// the rule's own levels for that admit. One of a group is Forbidden, with the name of the group.
func (s *Service) changeableRule(ctx context.Context, as authz.Actor, p *project.Project, ability authz.Ability, name string) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, ability, p.Subject()); err != nil {
		return nil, err
	}
	rules, err := s.Rules(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	rule, err := named(rules, name)
	if err != nil {
		return nil, err
	}
	if rule.Group != 0 {
		return nil, s.inherited(ctx, rule)
	}
	st, err := s.standing(ctx, as, p, []*Rule{rule})
	if err != nil {
		return nil, err
	}
	if !st.unprotects(rule) {
		return nil, errs.Denied("")
	}
	return rule, nil
}

// UnprotectBranch takes a rule away.
func (s *Service) UnprotectBranch(ctx context.Context, as authz.Actor, p *project.Project, name string) error {
	rule, err := s.changeableRule(ctx, as, p, authz.DeleteProtectedBranch, name)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.deleteRule(ctx, as, branchTables, rule.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, BranchUnprotected{change.Deleted(as, s.Now(), p.Place(), rule)})
	})
}
