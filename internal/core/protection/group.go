package protection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// maxGroupRules is how many protected branches a group may have: each is read with every project below it.
const maxGroupRules = 100

// The events of a protected branch of a group.
type (
	// GroupBranchProtected says that branches below a group get a rule.
	GroupBranchProtected struct{ change.Of[Rule] }

	// GroupBranchProtectionUpdated says that such a rule changes.
	GroupBranchProtectionUpdated struct{ change.Of[Rule] }

	// GroupBranchUnprotected says that such a rule is deleted.
	GroupBranchUnprotected struct{ change.Of[Rule] }
)

// groupRuleRow is a rule of a group as the table has it.
type groupRuleRow struct {
	Rule
	GroupID   authz.NamespaceID `db:"group_id"`
	CreatedAt db.Time           `db:"created_at"`
}

// groupLevelRow is a level of such a rule: a role, because users and groups are not named for all projects below.
type groupLevelRow struct {
	ID     int64       `db:"id"`
	RuleID RuleID      `db:"rule_id"`
	Action string      `db:"action"`
	Level  authz.Level `db:"access_level"`
}

func (s *Service) groupRules(ctx context.Context, at authz.Place) ([]*Rule, error) {
	rows, err := db.Select[ruleRow](ctx, s.DB, "SELECT "+groupRuleColumns+groupRuleTables+" WHERE r.group_id = ? ORDER BY r.name, r.id, l.id", at.Namespace)
	if err != nil {
		return nil, fmt.Errorf("read protection rules of group: %w", err)
	}
	return gatherRules(rows), nil
}

func (s *Service) groupRule(ctx context.Context, at authz.Place, name string) (*Rule, error) {
	rules, err := s.groupRules(ctx, at)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(rules, func(r *Rule) bool { return r.Name == name }); i >= 0 {
		return rules[i], nil
	}
	return nil, errNoGroupRule
}

var errNoGroupRule = errs.Missing("ProtectedBranch")

// GroupProtectedBranches lists the rules of a group for branches whose names contain the text.
func (s *Service) GroupProtectedBranches(ctx context.Context, as authz.Actor, at authz.Place, search string, part page.Range) (page.Page[*Rule], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadGroupProtectedBranch, at.Subject); err != nil {
		return page.Page[*Rule]{}, err
	}
	rules, err := s.groupRules(ctx, at)
	if err != nil {
		return page.Page[*Rule]{}, err
	}
	return sliceRules(rules, search, part)
}

// GroupProtectedBranch returns the rule of a group that has exactly this name.
func (s *Service) GroupProtectedBranch(ctx context.Context, as authz.Actor, at authz.Place, name string) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadGroupProtectedBranch, at.Subject); err != nil {
		return nil, err
	}
	return s.groupRule(ctx, at, name)
}

// ProtectGroupBranch adds a rule for the branches of all projects below a group. A second one of the same name is a Conflict.
func (s *Service) ProtectGroupBranch(ctx context.Context, as authz.Actor, at authz.Place, in Input) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminGroupProtectedBranch, at.Subject); err != nil {
		return nil, err
	}
	rule := Rule{Name: in.Name, AllowForcePush: in.AllowForcePush, CodeOwners: in.CodeOwners, Group: at.Namespace}
	var found []string
	switch {
	case strings.TrimSpace(in.Name) == "":
		found = append(found, "Name can't be blank")
	case utf8.RuneCountInString(in.Name) > 255:
		found = append(found, "Name is too long (maximum is 255 characters)")
	}
	for _, a := range []struct {
		action string
		levels []LevelInput
	}{{ActionPush, in.Push}, {ActionMerge, in.Merge}, {ActionUnprotect, in.Unprotect}} {
		if len(a.levels) == 0 {
			maintainer := authz.Maintainer
			a.levels = []LevelInput{{Level: &maintainer}}
		}
		for _, l := range a.levels {
			rule.Levels = append(rule.Levels, RuleLevel{Action: a.action, Level: l.Level, UserID: l.UserID, GroupID: l.GroupID, DeployKeyID: l.DeployKeyID})
		}
	}
	if found = append(found, groupLevelProblems(&rule)...); len(found) > 0 {
		return nil, errs.Sentences(errs.Unprocessable, found...)
	}
	now := db.At(s.Now())
	full := errs.Sentences(errs.Unprocessable, fmt.Sprintf("Maximum number of protected branches (%d) exceeded", maxGroupRules))
	bound := db.Bound{Table: "group_protected_branches", Most: maxGroupRules, Full: full}
	bound.Of.And("group_id = ?", at.Namespace)
	var made Rule
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		row := groupRuleRow{Rule: rule, GroupID: at.Namespace, CreatedAt: now}
		row.UpdatedAt = now
		if err := db.Create(ctx, s.DB, "group_protected_branches", &row, bound); err != nil {
			return err
		}
		made = row.Rule
		made.Levels = slices.Clone(rule.Levels)
		if _, err := s.storeGroupLevels(ctx, &made, nil); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, GroupBranchProtected{change.Created(as, s.Now(), at, &made)})
	})
	if db.Duplicate(err, "group_protected_branches") {
		return nil, errs.New(errs.Conflict, "Protected branch '"+in.Name+"' already exists")
	}
	if err != nil {
		return nil, errs.Wrap(err, "create protected branch of group")
	}
	return &made, nil
}

// UpdateGroupProtectedBranch changes a rule of a group. Levels without an id are added to those it has.
func (s *Service) UpdateGroupProtectedBranch(ctx context.Context, as authz.Actor, at authz.Place, name string, c Changes) (*Rule, error) {
	known, err := s.changeableGroupRule(ctx, as, at, name)
	if err != nil {
		return nil, err
	}
	row := db.Row{Table: "group_protected_branches", ID: known.ID, Now: s.Now, If: as.UnmodifiedAt, Missing: errNoGroupRule}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		var old []RuleLevel
		changed := false
		out, err := db.Update(ctx, s.DB, row, func(ctx context.Context, rule *Rule) error {
			var err error
			if old, err = s.groupLevels(ctx, rule.ID); err != nil {
				return err
			}
			rule.Levels = old
			if err := c.applyGroup(rule); err != nil {
				return err
			}
			if changed, err = s.storeGroupLevels(ctx, rule, old); changed {
				rule.UpdatedAt = db.At(s.Now())
			}
			return err
		})
		if err != nil || !out.Any() && !changed {
			return err
		}
		out.Before.Levels = old
		return s.Bus.Publish(ctx, GroupBranchProtectionUpdated{change.Updated(as, s.Now(), at, &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update protected branch of group")
	}
	return s.groupRule(ctx, at, name)
}

// applyGroup writes the changes into a rule of a group and checks it.
func (c *Changes) applyGroup(rule *Rule) error {
	old := rule.Levels
	rule.Levels = nil
	for _, a := range []struct {
		action string
		levels []LevelInput
	}{{ActionPush, c.Push}, {ActionMerge, c.Merge}, {ActionUnprotect, c.Unprotect}} {
		levels, err := merge(old, a.action, a.levels)
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
	if problems := groupLevelProblems(rule); len(problems) > 0 {
		return errs.Sentences(errs.Unprocessable, problems...)
	}
	return nil
}

// groupLevelProblems lists what is wrong with the levels of a rule of a group, each problem once.
func groupLevelProblems(rule *Rule) []string {
	var found []string
	seen := map[string]bool{}
	for i := range rule.Levels {
		l := &rule.Levels[i]
		key, problem := l.Action+levelKey(l), ""
		switch {
		case l.UserID != nil || l.GroupID != nil || l.DeployKeyID != nil:
			problem = levelNoun(l) + " must be blank"
		case l.Level == nil || !roleInRules(*l.Level):
			problem = "access level is not included in the list"
		case seen[key]:
			problem = "access level has already been taken"
		}
		seen[key] = true
		if problem = strings.ToUpper(l.Action[:1]) + l.Action[1:] + " access levels " + problem; !strings.HasSuffix(problem, " ") && !slices.Contains(found, problem) {
			found = append(found, problem)
		}
	}
	return found
}

func (s *Service) groupLevels(ctx context.Context, id RuleID) ([]RuleLevel, error) {
	rows, err := db.Select[groupLevelRow](ctx, s.DB, "SELECT "+db.Columns[groupLevelRow]("")+" FROM group_protected_branch_levels WHERE rule_id = ? ORDER BY id", id)
	if err != nil {
		return nil, fmt.Errorf("read levels of rule: %w", err)
	}
	out := make([]RuleLevel, len(rows))
	for i := range rows {
		out[i] = RuleLevel{ID: rows[i].ID, Action: rows[i].Action, Level: &rows[i].Level}
	}
	return out, nil
}

// storeGroupLevels writes the levels of a rule in place of those that it had, and reports whether any differs.
func (s *Service) storeGroupLevels(ctx context.Context, rule *Rule, old []RuleLevel) (changed bool, err error) {
	const table = "group_protected_branch_levels"
	for _, l := range old {
		if slices.ContainsFunc(rule.Levels, func(n RuleLevel) bool { return n.ID == l.ID }) {
			continue
		}
		if _, err := db.Drop(ctx, s.DB, db.Row{Table: table, ID: l.ID}); err != nil {
			return false, fmt.Errorf("drop level of rule: %w", err)
		}
		changed = true
	}
	for i := range rule.Levels {
		l := &rule.Levels[i]
		if l.ID == 0 {
			row := groupLevelRow{RuleID: rule.ID, Action: l.Action, Level: *l.Level}
			if err := db.Create(ctx, s.DB, table, &row); err != nil {
				return false, fmt.Errorf("store level of rule: %w", err)
			}
			l.ID, changed = row.ID, true
			continue
		}
		out, err := db.Update(ctx, s.DB, db.Row{Table: table, ID: l.ID}, func(_ context.Context, row *groupLevelRow) error {
			row.Level = *l.Level
			return nil
		})
		if err != nil {
			return false, fmt.Errorf("store level of rule: %w", err)
		}
		changed = changed || out.Any()
	}
	return changed, nil
}

// changeableGroupRule finds a rule that the actor may change or delete: an owner that the rule's own levels for that admit.
func (s *Service) changeableGroupRule(ctx context.Context, as authz.Actor, at authz.Place, name string) (*Rule, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminGroupProtectedBranch, at.Subject); err != nil {
		return nil, err
	}
	rule, err := s.groupRule(ctx, at, name)
	if err != nil {
		return nil, err
	}
	st := &Standing{admin: as.Admin, user: as.UserID}
	if st.Level, err = s.Policy.Level(ctx, as, at.Subject); err != nil {
		return nil, fmt.Errorf("read access: %w", err)
	}
	if !st.unprotects(rule) {
		return nil, errs.Denied("")
	}
	return rule, nil
}

// UnprotectGroupBranch deletes a rule of a group.
func (s *Service) UnprotectGroupBranch(ctx context.Context, as authz.Actor, at authz.Place, name string) error {
	rule, err := s.changeableGroupRule(ctx, as, at, name)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.Delete[stamped](ctx, s.DB, db.Row{Table: "group_protected_branches", ID: rule.ID, If: as.UnmodifiedAt, Missing: errNoGroupRule}, nil)
		if err != nil {
			return errs.Wrap(err, "delete rule of group")
		}
		return s.Bus.Publish(ctx, GroupBranchUnprotected{change.Deleted(as, s.Now(), at, rule)})
	})
}

// inherited refuses a change of a rule that a project has from a group, and says from which.
func (s *Service) inherited(ctx context.Context, rule *Rule) error {
	path, err := db.Get[string](ctx, s.DB, "SELECT r.path FROM routes r WHERE r.namespace_id = ?", rule.Group)
	if errors.Is(err, db.ErrNotFound) {
		return errs.Missing("")
	}
	if err != nil {
		return fmt.Errorf("read group of rule: %w", err)
	}
	return errs.Denied(fmt.Sprintf("Protected branch '%s' is inherited from the group %s", rule.Name, path))
}
