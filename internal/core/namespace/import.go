package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// Writers says how groups and members are imported: for administrators, those who were found, in projects at most as Maintainers. For all
// others members only say who is who.
func (s *Service) Writers() []tree.Writer {
	return append(s.groupWriters(), tree.Write("project_members", s.importMembers))
}

// importedMember is a member of an archive. One who was invited or asks for access has no user.
type importedMember struct {
	AccessLevel int64   `tree:"access_level"`
	UserID      *int64  `tree:"user_id,user" child:"user"`
	CreatedByID *int64  `tree:"created_by_id,user"`
	ExpiresOn   *string `tree:"expires_at,date"`
	RequestedAt *string `tree:"requested_at"`
	CreatedAt   db.Time `tree:"created_at"`
	UpdatedAt   db.Time `tree:"updated_at"`
}

func (s *Service) importMembers(ctx context.Context, w *tree.Writing, rows []*tree.Row[importedMember]) error {
	type member struct {
		NamespaceID ID            `db:"namespace_id"`
		UserID      authz.UserID  `db:"user_id"`
		Level       authz.Level   `db:"access_level"`
		ExpiresOn   *string       `db:"expires_on"`
		CreatedByID *authz.UserID `db:"created_by_id"`
		CreatedAt   db.Time       `db:"created_at"`
		UpdatedAt   db.Time       `db:"updated_at"`
	}
	var out []member
	for _, r := range rows {
		v := r.Value
		level := authz.Level(v.AccessLevel)
		switch {
		case v.UserID == nil || v.RequestedAt != nil:
			r.Lose("invitations and requests for access do not move")
		case r.Unmatched("user_id"):
			r.Lose(r.NotFound("the user", "user_id"))
		case !w.As.Admin && !w.Transfer:
			r.Lose("members are imported by administrators alone")
		case v.ExpiresOn != nil && *v.ExpiresOn <= s.today():
			r.Lose("the membership has expired")
		case level == authz.Minimal:
			r.Lose("projects have no members with minimal access")
		case level != authz.Guest && level != authz.Planner && level != authz.Reporter && level != authz.Developer && level != authz.Maintainer && level != authz.Owner:
			r.Fail("access_level is not included in the list")
		default:
			if level > authz.Maintainer && !w.At.Group {
				level = authz.Maintainer
				r.Change("the role is that of a Maintainer")
			}
			by := w.As.UserID
			out = append(out, member{w.At.Namespace, authz.UserID(*v.UserID), level, v.ExpiresOn, &by, v.CreatedAt, v.UpdatedAt})
		}
	}
	if err := db.InsertRows(ctx, s.DB, "members", out, "ON CONFLICT DO NOTHING"); err != nil {
		return fmt.Errorf("insert members: %w", err)
	}
	return nil
}
