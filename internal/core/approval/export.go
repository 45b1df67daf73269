package approval

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exported is an approval as it moves.
type exported struct {
	UserID    int64   `db:"user_id" tree:"user_id,user"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt db.Time `db:"updated_at" tree:"updated_at"`
}

// exportedRule is an approval rule of a project as it moves.
type exportedRule struct {
	ApprovalsRequired int64   `db:"approvals_required" tree:"approvals_required"`
	Name              string  `db:"name" tree:"name,max=255"`
	RuleType          string  `db:"rule_type" tree:"rule_type"`
	ReportType        *string `db:"report_type" tree:"report_type"`
	AllBranches       bool    `db:"applies_to_all_protected_branches" tree:"applies_to_all_protected_branches"`
}

// exportedBranch is a protected branch that a rule is for.
type exportedBranch struct {
	Name string `db:"name" tree:"branch_name"`
}

// exportedApprover is a user of a rule.
type exportedApprover struct {
	UserID int64 `db:"user_id" tree:"user_id,user"`
}

// exportedSettings are how approvals work in a project; false also where it says nothing.
type exportedSettings struct {
	AuthorApproval   bool `tree:"merge_requests_author_approval"`
	CommittersBarred bool `tree:"merge_requests_disable_committers_approval"`
	OverridesBarred  bool `tree:"disable_overriding_approvers_per_merge_request"`
	RequirePassword  bool `tree:"require_password_to_approve"`
	ResetOnPush      bool `tree:"reset_approvals_on_push"`
}

// Relations describes approvals, and the rules and settings of a project.
func (s *Service) Relations() []tree.Relation {
	rules := func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
		return r.Within(ctx, authz.ReadApprovalRules, "true")
	}
	return []tree.Relation{
		tree.Rows(tree.Relation{Name: "approvals", Tables: []string{"approvals"}}, tree.Query[exported]{
			Columns: "a.user_id, a.created_at, a.created_at AS updated_at", From: "approvals a", ID: "a.id",
			Parent: "a.merge_request_id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadMergeRequest, "true")
			},
		}),
		tree.Rows(tree.Relation{
			Name: "approval_rules", Tables: []string{"approval_rules"}, Children: []string{"approval_project_rules_protected_branches", "approval_project_rules_users"},
			Lacking: []string{"scanners", "severity_levels", "vulnerability_states"}, Absent: []string{"vulnerabilities_allowed", "orchestration_policy_idx"},
		}, tree.Query[exportedRule]{
			Columns: "a.approvals_required, a.name, a.rule_type, a.report_type, a.applies_to_all_protected_branches", From: "approval_rules a", ID: "a.id",
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadApprovalRules, "a.project_id = ? AND a.merge_request_id IS NULL", r.At.ID)
			},
		}),
		tree.Rows(tree.Relation{Name: "approval_project_rules_protected_branches", Tables: []string{"approval_rule_branches"}}, tree.Query[exportedBranch]{
			Columns: "b.name", From: "approval_rule_branches a JOIN protected_branches b ON b.id = a.protected_branch_id", ID: "b.id", Parent: "a.rule_id", Where: rules,
		}),
		tree.Rows(tree.Relation{Name: "approval_project_rules_users", Tables: []string{"approval_rule_users"}}, tree.Query[exportedApprover]{
			Columns: "a.user_id", From: "approval_rule_users a", ID: "a.user_id", Parent: "a.rule_id", Where: rules,
		}),
		tree.One(tree.Relation{Name: "approval_settings", Extends: "project", Tables: []string{"approval_settings"}}, func(ctx context.Context, r *tree.Reading) (*exportedSettings, error) {
			may, err := r.May(ctx, authz.ReadApprovalRules)
			if !may || err != nil {
				return nil, err
			}
			set, err := s.settingsAt(ctx, r.At.Namespace)
			if err != nil {
				return nil, err
			}
			return &exportedSettings{
				AuthorApproval: set.AuthorApproval.On, CommittersBarred: !set.CommitterApproval.On, OverridesBarred: !set.Overrides.On,
				RequirePassword: set.RequirePassword.On, ResetOnPush: !set.RetainOnPush.On,
			}, nil
		}),
	}
}
