package protection

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// Writers says how protected branches and tags are imported.
func (s *Service) Writers() []tree.Writer {
	const branches, tags = "protected_branch_levels", "protected_tag_levels"
	return []tree.Writer{
		tree.Write("protected_branches", s.importBranches),
		tree.Write("merge_access_levels", s.importLevels("merge", branches, "protected_branch_id")),
		tree.Write("push_access_levels", s.importLevels("push", branches, "protected_branch_id")),
		tree.Write("unprotect_access_levels", s.importLevels("unprotect", branches, "protected_branch_id")),
		tree.Write("protected_tags", s.importTags),
		tree.Write("create_access_levels", s.importLevels("create", tags, "protected_tag_id")),
		tree.Write("protected_environments", s.importEnvironments),
		tree.Write("deploy_access_levels", s.importDeployers),
	}
}

// maxImportedName bounds the name of a rule, in bytes.
const maxImportedName = 255

// importedName returns why a rule of a name cannot be written, "" where it can. Names are those that are there, and is extended.
func importedName(name string, names map[string]bool) string {
	switch {
	case strings.TrimSpace(name) == "" || len(name) > maxImportedName:
		return "name is invalid"
	case names[name]:
		return "name has already been taken"
	}
	names[name] = true
	return ""
}

// namesIn are the names of the rules of a project.
func (s *Service) namesIn(ctx context.Context, table string, of int64) (map[string]bool, error) {
	found, err := db.Select[string](ctx, s.DB, "SELECT name FROM "+table+" WHERE project_id = ? ORDER BY id", of)
	if err != nil {
		return nil, fmt.Errorf("names of protected references: %w", err)
	}
	out := make(map[string]bool, len(found))
	for _, name := range found {
		out[name] = true
	}
	return out, nil
}

func (s *Service) importBranches(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedBranch]) error {
	type branch struct {
		ID             int64   `db:"id"`
		ProjectID      int64   `db:"project_id"`
		Name           string  `db:"name"`
		AllowForcePush bool    `db:"allow_force_push"`
		CodeOwners     bool    `db:"code_owner_approval_required"`
		CreatedAt      db.Time `db:"created_at"`
		UpdatedAt      db.Time `db:"updated_at"`
	}
	names, err := s.namesIn(ctx, "protected_branches", w.At.ID)
	if err != nil {
		return err
	}
	var made []branch
	var of []*tree.Row[exportedBranch]
	for _, r := range rows {
		v := r.Value
		if reason := importedName(v.Name, names); reason != "" {
			r.Fail(reason)
			continue
		}
		made = append(made, branch{0, w.At.ID, v.Name, v.AllowForcePush, v.CodeOwners, v.CreatedAt, v.UpdatedAt})
		of = append(of, r)
	}
	ids, err := db.InsertAll(ctx, s.DB, "protected_branches", made)
	if err != nil {
		return fmt.Errorf("insert protected branches: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}

func (s *Service) importTags(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedTag]) error {
	type tag struct {
		ID        int64   `db:"id"`
		ProjectID int64   `db:"project_id"`
		Name      string  `db:"name"`
		CreatedAt db.Time `db:"created_at"`
		UpdatedAt db.Time `db:"updated_at"`
	}
	names, err := s.namesIn(ctx, "protected_tags", w.At.ID)
	if err != nil {
		return err
	}
	var made []tag
	var of []*tree.Row[exportedTag]
	for _, r := range rows {
		if reason := importedName(r.Value.Name, names); reason != "" {
			r.Fail(reason)
			continue
		}
		made = append(made, tag{0, w.At.ID, r.Value.Name, r.Value.CreatedAt, r.Value.UpdatedAt})
		of = append(of, r)
	}
	ids, err := db.InsertAll(ctx, s.DB, "protected_tags", made)
	if err != nil {
		return fmt.Errorf("insert protected tags: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}

// importLevels writes who may do an action. Where a user was not found, and instead of a group, that is a Maintainer.
func (s *Service) importLevels(action, table, parent string) func(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedLevel]) error {
	return func(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedLevel]) error {
		for _, r := range rows {
			level, user := &r.Value.AccessLevel, r.Value.UserID
			switch {
			case user != nil && !r.Unmatched("user_id"):
				level = nil
			case user != nil || r.Value.GroupID != nil:
				*level, user = int64(authz.Maintainer), nil
				r.Change("a Maintainer may: " + r.NotFound("the user or group", "user_id"))
			default:
				switch authz.Level(*level) {
				case authz.NoAccess, authz.Developer, authz.Maintainer, authz.AdminLevel:
				default:
					*level = int64(authz.Maintainer)
					r.Change("the role is none that may: a Maintainer may")
				}
			}
			_, err := db.InsertRow(ctx, s.DB, table, db.Values{parent: r.Parent, "action": action, "access_level": level, "user_id": user}, "")
			if err != nil {
				return fmt.Errorf("insert levels of protected references: %w", err)
			}
		}
		return nil
	}
}
