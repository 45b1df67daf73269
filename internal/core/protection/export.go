package protection

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exportedBranch is a protected branch of a project as it moves.
type exportedBranch struct {
	ProjectID      int64   `db:"project_id" tree:"project_id,project"`
	Name           string  `db:"name" tree:"name"`
	CreatedAt      db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt      db.Time `db:"updated_at" tree:"updated_at"`
	CodeOwners     bool    `db:"code_owner_approval_required" tree:"code_owner_approval_required"`
	AllowForcePush bool    `db:"allow_force_push" tree:"allow_force_push"`
}

// exportedTag is a protected tag as it moves.
type exportedTag struct {
	ProjectID int64   `db:"project_id" tree:"project_id,project"`
	Name      string  `db:"name" tree:"name"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt db.Time `db:"updated_at" tree:"updated_at"`
}

// exportedLevel says who may do something with a protected branch or tag.
type exportedLevel struct {
	AccessLevel int64   `db:"access_level" tree:"access_level"`
	CreatedAt   db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt   db.Time `db:"updated_at" tree:"updated_at"`
	UserID      *int64  `db:"user_id" tree:"user_id,user"`
	GroupID     *int64  `db:"group_id" tree:"group_id,group"`
}

// parentOfLevel is the column of each table of levels that names the branch or tag.
var parentOfLevel = map[string]string{"protected_branch_levels": "l.protected_branch_id", "protected_tag_levels": "l.protected_tag_id"}

// levels describes who may do an action. A level of a user or group is a Maintainer's for importers that do not find them, and those of
// deploy keys stay, as the keys do.
func levels(name, action, table, of string) tree.Relation {
	return tree.Rows(tree.Relation{Name: name, Tables: []string{table}}, tree.Query[exportedLevel]{
		Columns: "COALESCE(l.access_level, 40) AS access_level, b.created_at, b.updated_at, l.user_id, l.group_id",
		From:    table + " l JOIN " + of, ID: "l.id", Parent: parentOfLevel[table],
		Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
			return r.Within(ctx, authz.ReadProject, "l.action = ? AND l.deploy_key_id IS NULL", action)
		},
	})
}

// Relations describes the protected branches and tags of a project itself.
func (s *Service) Relations() []tree.Relation {
	const branches, tags = "protected_branch_levels", "protected_tag_levels"
	const ofBranch, ofTag = "protected_branches b ON b.id = l.protected_branch_id", "protected_tags b ON b.id = l.protected_tag_id"
	return []tree.Relation{
		tree.Rows(tree.Relation{
			Name: "protected_branches", Children: []string{"merge_access_levels", "push_access_levels", "unprotect_access_levels"}, Tables: []string{"protected_branches"},
		}, tree.Query[exportedBranch]{
			Columns: "b.project_id, b.name, b.created_at, b.updated_at, b.code_owner_approval_required, b.allow_force_push", From: "protected_branches b", ID: "b.id",
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadProtectedBranch, "b.project_id = ?", r.At.ID)
			},
		}),
		levels("merge_access_levels", "merge", branches, ofBranch),
		levels("push_access_levels", "push", branches, ofBranch),
		levels("unprotect_access_levels", "unprotect", branches, ofBranch),
		tree.Rows(tree.Relation{Name: "protected_tags", Children: []string{"create_access_levels"}, Tables: []string{"protected_tags"}}, tree.Query[exportedTag]{
			Columns: "g.project_id, g.name, g.created_at, g.updated_at", From: "protected_tags g", ID: "g.id",
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadProtectedTag, "g.project_id = ?", r.At.ID)
			},
		}),
		levels("create_access_levels", "create", tags, ofTag),
		tree.Rows(tree.Relation{Name: "protected_environments", Children: []string{"deploy_access_levels"}, Tables: []string{"protected_environments"}}, tree.Query[exportedEnvironment]{
			Columns: "e.name, e.group_id, e.created_at, e.updated_at", From: "protected_environments e", ID: "e.id",
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadProtectedEnvironment, "e.project_id = ?", r.At.ID)
			},
		}),
		tree.Rows(tree.Relation{Name: "deploy_access_levels", Tables: []string{"protected_environment_levels"}}, tree.Query[exportedLevel]{
			Columns: "COALESCE(l.access_level, 40) AS access_level, e.created_at, e.updated_at, l.user_id, l.group_id",
			From:    "protected_environment_levels l JOIN protected_environments e ON e.id = l.protected_environment_id", ID: "l.id", Parent: "l.protected_environment_id",
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadProtectedEnvironment, "l.required_approvals IS NULL")
			},
		}),
	}
}
