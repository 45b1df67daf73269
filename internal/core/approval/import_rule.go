package approval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
	"tenon/internal/core/tree"
)

// importedSettings are how approvals work in a project of an archive; nil leaves alone.
type importedSettings struct {
	AuthorApproval   *bool `tree:"merge_requests_author_approval"`
	CommittersBarred *bool `tree:"merge_requests_disable_committers_approval"`
	OverridesBarred  *bool `tree:"disable_overriding_approvers_per_merge_request"`
	RequirePassword  *bool `tree:"require_password_to_approve"`
	ResetOnPush      *bool `tree:"reset_approvals_on_push"`
}

// importSettings writes how approvals work. What the instance or a group above locks stays as it is.
func (s *Service) importSettings(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedSettings]) error {
	not := func(v *bool) *bool {
		if v == nil {
			return nil
		}
		return new(!*v)
	}
	for _, r := range rows {
		v := r.Value
		if *v == (importedSettings{}) {
			continue
		}
		before, err := s.settingsAt(ctx, w.At.Namespace)
		if err != nil {
			return err
		}
		row := initial(w.At.Namespace)
		row.CreatedAt, row.UpdatedAt = w.Now, w.Now
		row.apply(Changes{
			AuthorApproval: v.AuthorApproval, CommitterApproval: not(v.CommittersBarred), Overrides: not(v.OverridesBarred), RetainOnPush: not(v.ResetOnPush),
			RequirePassword: v.RequirePassword,
		}, before)
		if _, err := db.InsertRow(ctx, s.DB, "approval_settings", row, "ON CONFLICT DO NOTHING"); err != nil {
			return fmt.Errorf("insert approval settings: %w", err)
		}
	}
	return nil
}

// importRules writes the rules of a project.
func (s *Service) importRules(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedRule]) error {
	type key struct{ kind, name string }
	names := map[key]bool{}
	found, err := db.Select[Rule](ctx, s.DB, "SELECT "+db.Columns[Rule]("")+" FROM approval_rules WHERE project_id = ? ORDER BY id LIMIT ?", w.At.ID, maxRules+1)
	if err != nil {
		return fmt.Errorf("read approval rules: %w", err)
	}
	there := len(found)
	for i := range found {
		names[key{string(found[i].Type), found[i].Name}] = true
	}
	var made []Rule
	var of []*tree.Row[exportedRule]
	for _, r := range rows {
		v := r.Value
		name := strings.TrimSpace(v.Name)
		switch {
		case !slices.Contains([]RuleType{AnyApprover, Regular, ReportApprover}, RuleType(v.RuleType)):
			r.Fail("rule_type is not one of its words")
		case name == "" || names[key{v.RuleType, name}]:
			r.Fail("name is missing or has already been taken")
		case v.ApprovalsRequired < 0 || v.ApprovalsRequired > maxRequired:
			r.Fail("approvals_required is out of range")
		case there >= maxRules:
			r.Lose("there are too many approval rules")
		default:
			there++
			names[key{v.RuleType, name}] = true
			made = append(made, Rule{
				ProjectID: new(project.ID(w.At.ID)), Name: name, Type: RuleType(v.RuleType), ReportType: v.ReportType, Required: v.ApprovalsRequired, AllProtected: v.AllBranches,
				CreatedAt: w.Now, UpdatedAt: w.Now,
			})
			of = append(of, r)
		}
	}
	ids, err := db.InsertAll(ctx, s.DB, "approval_rules", made)
	if err != nil {
		return fmt.Errorf("insert approval rules: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}

// importRuleBranches ties rules to the protected branches of the project.
func (s *Service) importRuleBranches(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedBranch]) error {
	type named struct {
		ID   protection.RuleID `db:"id"`
		Name string            `db:"name"`
	}
	found, err := tree.Memo(w, "approval.branches", func() ([]named, error) {
		return db.Select[named](ctx, s.DB, "SELECT id, name FROM protected_branches WHERE project_id = ? ORDER BY id", w.At.ID)
	})
	if err != nil {
		return fmt.Errorf("protected branches of rules: %w", err)
	}
	type tie struct {
		RuleID   int64             `db:"rule_id"`
		BranchID protection.RuleID `db:"protected_branch_id"`
	}
	var out []tie
	for _, r := range rows {
		at := slices.IndexFunc(found, func(b named) bool { return b.Name == r.Value.Name })
		if at < 0 {
			r.Lose("the project has no such protected branch")
			continue
		}
		out = append(out, tie{r.Parent, found[at].ID})
	}
	if err := db.InsertRows(ctx, s.DB, "approval_rule_branches", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert branches of rules: %w", err)
	}
	return nil
}

// importRuleUsers adds approvers who were found and may approve.
func (s *Service) importRuleUsers(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedApprover]) error {
	var ids []authz.UserID
	for _, r := range rows {
		if !r.Unmatched("user_id") {
			ids = append(ids, authz.UserID(r.Value.UserID))
		}
	}
	slices.Sort(ids)
	subject := w.At.Subject
	subject.Known, subject.Closed = false, false // that is of the importing user
	able, err := s.Policy.Able(ctx, authz.ApproveMergeRequest, subject, slices.Compact(ids), nil)
	if err != nil {
		return fmt.Errorf("approvers: %w", err)
	}
	type approver struct {
		RuleID int64        `db:"rule_id"`
		UserID authz.UserID `db:"user_id"`
	}
	var out []approver
	for _, r := range rows {
		switch id := authz.UserID(r.Value.UserID); {
		case r.Unmatched("user_id"):
			r.Lose(r.NotFound("the user", "user_id"))
		case !slices.Contains(able, id):
			r.Lose("the user may not approve")
		default:
			out = append(out, approver{r.Parent, id})
		}
	}
	if err := db.InsertRows(ctx, s.DB, "approval_rule_users", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert approvers: %w", err)
	}
	return nil
}
