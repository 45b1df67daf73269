package namespace

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// exportedMember is a membership as it moves.
type exportedMember struct {
	AccessLevel       int64   `db:"access_level" tree:"access_level"`
	SourceType        string  `db:"source_type" tree:"source_type,names=Project|Namespace"`
	UserID            int64   `db:"user_id" tree:"user_id,user" child:"user"`
	NotificationLevel int64   `db:"notification_level" tree:"notification_level"`
	CreatedByID       *int64  `db:"created_by_id" tree:"created_by_id,user"`
	ExpiresOn         *string `db:"expires_on" tree:"expires_at,date"`
	CreatedAt         db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt         db.Time `db:"updated_at" tree:"updated_at"`
	LDAP              bool    `tree:"ldap"`
	Override          bool    `tree:"override"`
}

// exportedGroupMember is a membership of a group as it moves.
type exportedGroupMember struct {
	exportedMember
	SourceID int64 `db:"source_id" tree:"source_id,group"`
}

// globalNotifications is the level of members who chose none for the project.
const globalNotifications = "3 AS notification_level"

const exportedMemberColumns = "m.access_level, m.user_id, m.created_by_id, m.expires_on, m.created_at, m.updated_at, " + globalNotifications

// Relations describes groups, and members: those of the group or project, and for a user who may administer the members of the group of a
// project those of the groups above as well, as members of the project. Bots do not move, as their tokens do not.
func (s *Service) Relations() []tree.Relation {
	absent := []string{"invite_email", "invite_accepted_at", "requested_at"}
	return append(groupRelations(),
		tree.Rows(tree.Relation{Name: "members", In: tree.Groups, Children: []string{"user"}, Absent: absent}, tree.Query[exportedGroupMember]{
			Columns: "'Namespace' AS source_type, m.namespace_id AS source_id, " + exportedMemberColumns, From: "members m JOIN users u ON u.id = m.user_id", ID: "m.id",
			Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return r.Within(ctx, authz.ReadGroupMembers, "m.namespace_id = ? AND u.user_type = 'human'", r.At.Namespace)
			},
		}),
		tree.Rows(tree.Relation{
			Name: "project_members", Children: []string{"user"}, Tables: []string{"members"}, Absent: absent,
		}, tree.Query[exportedMember]{
			Columns: "'Project' AS source_type, " + exportedMemberColumns,
			From: `members m JOIN users u ON u.id = m.user_id
				JOIN namespace_ancestors a ON a.ancestor_id = m.namespace_id`,
			ID: "m.id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				w, err := r.Within(ctx, authz.ReadMembers, "a.namespace_id = ? AND u.user_type = 'human'", r.At.Namespace)
				if w == nil || err != nil {
					return nil, err
				}
				above, err := tree.Once(r, "members above", func() (bool, error) { return s.exportsAbove(ctx, r) })
				if err != nil {
					return nil, err
				}
				if !above {
					w.Raw("a.depth = 0")
					return w, nil
				}
				// Of the memberships of a user the nearest one moves, and of one place there is one.
				w.Raw(`NOT EXISTS (SELECT 1 FROM members o JOIN namespace_ancestors b ON b.ancestor_id = o.namespace_id
					WHERE b.namespace_id = a.namespace_id AND o.user_id = m.user_id AND b.depth < a.depth)`)
				return w, nil
			},
		}),
	)
}

// exportsAbove reports whether the reader may administer the members of the group that the project is in.
func (s *Service) exportsAbove(ctx context.Context, r *tree.Reading) (bool, error) {
	if r.At.Personal || r.At.Parent == nil {
		return false, nil
	}
	groups, err := s.Load(ctx, []ID{*r.At.Parent})
	g := groups[*r.At.Parent]
	if g == nil || err != nil {
		return false, err
	}
	return s.Policy.Can(ctx, r.As, authz.AdminGroupMembers, g.Place().Subject.Reading())
}
