package approval

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
	"tenon/internal/core/protection"
)

// RuleID identifies a rule.
type RuleID int64

// RuleType says who can satisfy a rule.
type RuleType string

// The types of rules.
const (
	AnyApprover    RuleType = "any_approver" // everyone who may approve
	Regular        RuleType = "regular"      // its users and the direct members of its groups
	CodeOwner      RuleType = "code_owner"   // the owners of changed files
	ReportApprover RuleType = "report_approver"
)

// Rule asks for approvals of the merge requests of a project, or of one merge request.
type Rule struct {
	ID         RuleID           `db:"id"`
	ProjectID  *project.ID      `db:"project_id"`       // nil for the rule of a merge request
	RequestID  *mergerequest.ID `db:"merge_request_id"` // nil for the rule of a project
	SourceID   *RuleID          `db:"source_rule_id"`   // the project's rule that this one was made of
	Name       string           `db:"name"`
	Type       RuleType         `db:"rule_type"`
	ReportType *string          `db:"report_type"`
	Section    string           `db:"section"` // of CODEOWNERS, "" outside of one
	Required   int64            `db:"approvals_required"`
	// AllProtected makes the rule speak of merge requests into protected branches alone.
	AllProtected bool    `db:"applies_to_all_protected_branches"`
	CreatedAt    db.Time `db:"created_at"`
	UpdatedAt    db.Time `db:"updated_at"`

	Source *Rule `db:"-"` // that SourceID names, where it was read

	Users    []authz.UserID      `db:"-" change:"users"`              // named one by one, by id
	Groups   []authz.NamespaceID `db:"-" change:"groups"`             // by id
	Branches []protection.RuleID `db:"-" change:"protected_branches"` // protected branches it speaks of; of all branches where empty
	Members  []authz.UserID      `db:"-"`                             // active users who can satisfy it: Users and members of Groups, by id
}

// Overrides reports whether the rule differs from that of the project which it was made of.
func (r *Rule) Overrides(source *Rule) bool {
	return r.Name != source.Name || r.Required != source.Required || !slices.Equal(r.Users, source.Users) || !slices.Equal(r.Groups, source.Groups)
}

// userDefined says that people made the rule rather than CODEOWNERS or a report.
func (r *Rule) userDefined() bool { return r.Type == AnyApprover || r.Type == Regular }

// rules reads rules by a condition on r, and what hangs on them, in two statements.
func (s *Service) rules(ctx context.Context, w db.Where) ([]*Rule, error) {
	rows, err := db.Select[Rule](ctx, s.DB, "SELECT "+db.Columns[Rule]("r")+" FROM approval_rules r"+w.SQL()+" ORDER BY r.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read approval rules: %w", err)
	}
	out := make([]*Rule, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out, s.attach(ctx, out)
}

// parts of a rule, as attach reads them.
const (
	partUser = iota + 1
	partGroup
	partBranch
	partMember
)

// attach reads users, groups, branches and members of rules, of a thousand with each statement.
func (s *Service) attach(ctx context.Context, rules []*Rule) error {
	for chunk := range slices.Chunk(rules, 1000) {
		if err := s.attachSome(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) attachSome(ctx context.Context, rules []*Rule) error {
	byID := make(map[RuleID]*Rule, len(rules))
	ids := make([]RuleID, len(rules))
	for i, r := range rules {
		byID[r.ID], ids[i] = r, r.ID
		r.Users, r.Groups, r.Branches, r.Members = nil, nil, nil, nil
	}
	type row struct {
		Rule RuleID `db:"rule_id"`
		Part int    `db:"part"`
		ID   int64  `db:"id"`
	}
	marks, args := db.Marks(ids)
	var all []any
	for range 3 {
		all = append(all, args...)
	}
	all = append(all, args...)
	all = append(all, args...)
	all = append(all, authz.Reporter, s.today())
	rows, err := db.Select[row](ctx, s.DB, `SELECT rule_id, 1 AS part, user_id AS id FROM approval_rule_users WHERE rule_id IN (`+marks+`)
		UNION ALL SELECT rule_id, 2, group_id FROM approval_rule_groups WHERE rule_id IN (`+marks+`)
		UNION ALL SELECT rule_id, 3, protected_branch_id FROM approval_rule_branches WHERE rule_id IN (`+marks+`)
		UNION ALL SELECT x.rule_id, 4, u.id FROM (SELECT rule_id, user_id FROM approval_rule_users WHERE rule_id IN (`+marks+`)
			UNION SELECT g.rule_id, m.user_id FROM approval_rule_groups g JOIN members m ON m.namespace_id = g.group_id
			WHERE g.rule_id IN (`+marks+`) AND m.access_level >= ? AND (m.expires_on IS NULL OR m.expires_on > ?)) x
			JOIN users u ON u.id = x.user_id AND u.state = 'active'
		ORDER BY rule_id, part, id`, all...)
	if err != nil {
		return fmt.Errorf("read approvers: %w", err)
	}
	for _, part := range rows {
		r := byID[part.Rule]
		switch part.Part {
		case partUser:
			r.Users = append(r.Users, authz.UserID(part.ID))
		case partGroup:
			r.Groups = append(r.Groups, authz.NamespaceID(part.ID))
		case partBranch:
			r.Branches = append(r.Branches, protection.RuleID(part.ID))
		case partMember:
			r.Members = append(r.Members, authz.UserID(part.ID))
		}
	}
	return nil
}

func (s *Service) today() string { return s.Now().UTC().Format("2006-01-02") }
