package pushrule

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exported is the push rule of a project as it moves.
type exported struct {
	MessageRegex     string `db:"commit_message_regex" tree:"commit_message_regex,max=511"`
	EmailRegex       string `db:"author_email_regex" tree:"author_email_regex,max=511"`
	FileRegex        string `db:"file_name_regex" tree:"file_name_regex,max=511"`
	BranchRegex      string `db:"branch_name_regex" tree:"branch_name_regex,max=511"`
	MessageNegative  string `db:"commit_message_negative_regex" tree:"commit_message_negative_regex,max=2047"`
	MaxFileSize      int64  `db:"max_file_size" tree:"max_file_size"`
	DenyDeleteTag    bool   `db:"deny_delete_tag" tree:"deny_delete_tag"`
	MemberCheck      bool   `db:"member_check" tree:"member_check"`
	IsSample         bool   `tree:"is_sample"`
	PreventSecrets   bool   `db:"prevent_secrets" tree:"prevent_secrets"`
	RejectUnsigned   bool   `db:"reject_unsigned_commits" tree:"reject_unsigned_commits"`
	CommitterCheck   bool   `db:"commit_committer_check" tree:"commit_committer_check"`
	RE2              bool   `db:"re2" tree:"regexp_uses_re2"`
	RejectWithoutDCO bool   `db:"reject_non_dco_commits" tree:"reject_non_dco_commits"`
}

// Relations describes the push rule of a project itself.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.One(tree.Relation{Name: "push_rule", Tables: []string{"push_rules"}}, func(ctx context.Context, r *tree.Reading) (*exported, error) {
			may, err := r.May(ctx, authz.ReadPushRule)
			if !may || err != nil {
				return nil, err
			}
			rule, err := db.Get[exported](ctx, s.DB, `SELECT commit_message_regex, author_email_regex, file_name_regex, branch_name_regex, commit_message_negative_regex,
				max_file_size, deny_delete_tag, member_check, prevent_secrets, reject_unsigned_commits, commit_committer_check, true AS re2,
				reject_non_dco_commits FROM push_rules WHERE project_id = ?`, r.At.ID)
			if errors.Is(err, db.ErrNotFound) {
				return nil, nil
			}
			if err != nil {
				return nil, fmt.Errorf("read push rule: %w", err)
			}
			return &rule, nil
		}),
	}
}
