package protection

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// exportedEnvironment is a protected environment as it moves.
type exportedEnvironment struct {
	Name      string  `db:"name" tree:"name,max=255"`
	GroupID   *int64  `db:"group_id" tree:"group_id,group"`
	CreatedAt db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt db.Time `db:"updated_at" tree:"updated_at"`
}

func (s *Service) importEnvironments(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedEnvironment]) error {
	names, err := s.namesIn(ctx, "protected_environments", w.At.ID)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if reason := importedName(r.Value.Name, names); reason != "" {
			r.Fail(reason)
			continue
		}
		if len(names) > maxEnvironments {
			r.Lose("there are too many protected environments")
			continue
		}
		e := ProtectedEnvironment{ProjectID: new(project.ID(w.At.ID)), Name: r.Value.Name, CreatedAt: r.Value.CreatedAt, UpdatedAt: r.Value.UpdatedAt}
		if err := db.Create(ctx, s.DB, "protected_environments", &e); err != nil {
			return fmt.Errorf("insert protected environment: %w", err)
		}
		r.ID = int64(e.ID)
	}
	return nil
}

// importDeployers writes who may deploy. Where a user was not found, and instead of a group, that is a Maintainer.
func (s *Service) importDeployers(ctx context.Context, _ *tree.Writing, rows []*tree.Row[exportedLevel]) error {
	for _, r := range rows {
		level, user := &r.Value.AccessLevel, r.Value.UserID
		switch {
		case user != nil && !r.Unmatched("user_id"):
			level = nil
		case user != nil || r.Value.GroupID != nil:
			*level, user = int64(authz.Maintainer), nil
			r.Change("a Maintainer may: " + r.NotFound("the user or group", "user_id"))
		case authz.Level(*level) != authz.Developer && authz.Level(*level) != authz.Maintainer && authz.Level(*level) != authz.AdminLevel:
			*level = int64(authz.Maintainer)
			r.Change("the role is none that may: a Maintainer may")
		}
		_, err := db.InsertRow(ctx, s.DB, "protected_environment_levels", db.Values{
			"protected_environment_id": r.Parent, "access_level": level, "user_id": user, "group_inheritance_type": 0,
		}, "")
		if err != nil {
			return fmt.Errorf("insert levels of protected environments: %w", err)
		}
	}
	return nil
}
