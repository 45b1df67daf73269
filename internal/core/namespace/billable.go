package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// How somebody comes to use a seat of a group: as a member of it, of a group or of a project
// inside, or of a group that was invited to one.
const (
	ByGroup         = "group_member"
	ByProject       = "project_member"
	ByGroupInvite   = "group_invite"
	ByProjectInvite = "project_invite"
)

// Billable is somebody who uses a seat of a top-level group.
type Billable struct {
	UserID         authz.UserID `db:"user_id"`
	Means          string       `db:"means"` // the nearest of ByGroup and the others
	LastActivityOn *string      `db:"last_activity_on"`
	LastSignInAt   *db.Time     `db:"last_sign_in_at"`
	CreatedAt      db.Time      `db:"created_at"` // of the account
	LastOwner      bool         `db:"-"`          // of the group itself
}

// Removable reports whether the person may be taken out of the group one by one.
func (b *Billable) Removable() bool { return b.Means == ByGroup || b.Means == ByProject }

// BillableFilter selects from a list of people who use seats.
type BillableFilter struct {
	Search        string // part of a name or username, or a whole public address
	Sort          string // a key of billableSorts; "" is by id
	UserID        authz.UserID
	Limit, Offset int
}

var billableSorts = map[string]string{
	"":                      "u.id",
	"access_level_asc":      "y.level, u.id",
	"access_level_desc":     "y.level DESC, u.id",
	"last_joined":           "y.joined DESC, u.id DESC",
	"oldest_joined":         "y.joined, u.id",
	"name_asc":              "u.name_fold, u.id",
	"name_desc":             "u.name_fold DESC, u.id DESC",
	"oldest_sign_in":        "u.last_sign_in_at NULLS FIRST, u.id",
	"recent_sign_in":        "u.last_sign_in_at DESC NULLS LAST, u.id",
	"last_activity_on_asc":  "u.last_activity_on NULLS FIRST, u.id",
	"last_activity_on_desc": "u.last_activity_on DESC NULLS LAST, u.id",
}

// requireBillable checks that the actor may see who uses seats of a group, which must
// stand at the top.
func (s *Service) requireBillable(ctx context.Context, as authz.Actor, p Place) error {
	if err := s.policy.Require(ctx, as, authz.ReadBillable, p.Subject); err != nil {
		return err
	}
	if p.Parent != nil {
		return errs.Bad("")
	}
	return nil
}

// billableSQL selects who uses a seat of a group and its arguments: people who may act and
// are at least guests somewhere inside. The ranks are those of ByGroup and the others.
func (s *Service) billableSQL(p Place) (query string, args []any) {
	today := s.today()
	return `SELECT x.user_id, MIN(x.rank) AS rank, MAX(x.level) AS level, MIN(x.joined) AS joined FROM (
		SELECT m.user_id, CASE WHEN n.kind = 'group' THEN 0 ELSE 1 END AS rank, m.access_level AS level, m.created_at AS joined
		FROM namespace_ancestors d JOIN members m ON m.namespace_id = d.namespace_id JOIN namespaces n ON n.id = d.namespace_id
		WHERE d.ancestor_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)
		UNION ALL
		SELECT m.user_id, CASE WHEN n.kind = 'group' THEN 2 ELSE 3 END,
			CASE WHEN s.access_level < m.access_level THEN s.access_level ELSE m.access_level END, m.created_at
		FROM namespace_ancestors d JOIN shares s ON s.namespace_id = d.namespace_id JOIN namespaces n ON n.id = d.namespace_id
		JOIN namespace_ancestors g ON g.namespace_id = s.group_id JOIN members m ON m.namespace_id = g.ancestor_id
		WHERE d.ancestor_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?) AND (s.expires_on IS NULL OR s.expires_on > ?)
	) x WHERE x.level >= ? GROUP BY x.user_id`, []any{p.Namespace, today, p.Namespace, today, today, authz.Guest}
}

// Billable lists who uses a seat of a top-level group; total counts them without limit. Its
// owners may see it.
func (s *Service) Billable(ctx context.Context, as authz.Actor, p Place, f BillableFilter) (list []Billable, total int, err error) {
	if err := s.requireBillable(ctx, as, p); err != nil {
		return nil, 0, err
	}
	return s.billable(ctx, p, f)
}

func (s *Service) billable(ctx context.Context, p Place, f BillableFilter) (list []Billable, total int, err error) {
	inner, args := s.billableSQL(p)
	var w db.Where
	w.Raw("u.state = 'active' AND u.user_type = 'human'")
	if f.UserID != 0 {
		w.And("u.id = ?", f.UserID)
	}
	if f.Search != "" {
		term := db.Fold(f.Search)
		pattern := "%" + db.LikePattern(term) + "%"
		w.And(`(u.name_fold LIKE ? ESCAPE '\' OR u.username_fold LIKE ? ESCAPE '\' OR u.public_email = ?)`, pattern, pattern, term)
	}
	from := " FROM (" + inner + ") y JOIN users u ON u.id = y.user_id" + w.SQL()
	args = append(args, w.Args()...)
	if total, err = db.Get[int](ctx, s.db, "SELECT COUNT(*)"+from, args...); err != nil {
		return nil, 0, fmt.Errorf("count billable members: %w", err)
	}
	order, ok := billableSorts[f.Sort]
	if !ok {
		order = billableSorts[""]
	}
	list, err = db.Select[Billable](ctx, s.db, `SELECT u.id AS user_id, CASE y.rank WHEN 0 THEN 'group_member' WHEN 1 THEN 'project_member'
		WHEN 2 THEN 'group_invite' ELSE 'project_invite' END AS means, u.last_activity_on, u.last_sign_in_at, u.created_at`+from+
		" ORDER BY "+order+" LIMIT ? OFFSET ?", append(args, f.Limit, f.Offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list billable members: %w", err)
	}
	owners, err := db.Select[authz.UserID](ctx, s.db, "SELECT m.user_id FROM members m JOIN users u ON u.id = m.user_id WHERE m.namespace_id = ? AND "+
		lastingOwner+" ORDER BY m.user_id LIMIT 2", p.Namespace, authz.Owner)
	if err != nil {
		return nil, 0, fmt.Errorf("owners of group: %w", err)
	}
	for i := range list {
		list[i].LastOwner = len(owners) == 1 && owners[0] == list[i].UserID
	}
	return list, total, nil
}

// Seat is one membership by which somebody uses a seat.
type Seat struct {
	ID          int64       `db:"id"`
	NamespaceID ID          `db:"namespace_id"`
	SourceID    int64       `db:"source_id"` // of the group or project
	Group       bool        `db:"is_group"`
	FullName    string      `db:"full_name"`
	FullPath    string      `db:"full_path"`
	CreatedAt   db.Time     `db:"created_at"`
	ExpiresOn   *string     `db:"expires_on"` // YYYY-MM-DD
	Level       authz.Level `db:"access_level"`
}

// SeatFilter selects memberships of somebody who uses a seat.
type SeatFilter struct {
	Invited       bool // of groups that were invited, instead of those inside
	Limit, Offset int
}

// Seats lists the memberships by which somebody uses a seat of a top-level group; total
// counts them without limit. Whoever uses none is NotFound.
func (s *Service) Seats(ctx context.Context, as authz.Actor, p Place, user authz.UserID, f SeatFilter) (list []Seat, total int, err error) {
	if err := s.requireBillable(ctx, as, p); err != nil {
		return nil, 0, err
	}
	if err := s.seated(ctx, p, user); err != nil {
		return nil, 0, err
	}
	today := s.today()
	where, args := "m.namespace_id IN (SELECT d.namespace_id FROM namespace_ancestors d WHERE d.ancestor_id = ?)", []any{p.Namespace}
	if f.Invited {
		where = `m.namespace_id IN (SELECT g.ancestor_id FROM namespace_ancestors d JOIN shares s ON s.namespace_id = d.namespace_id
			JOIN namespace_ancestors g ON g.namespace_id = s.group_id WHERE d.ancestor_id = ? AND (s.expires_on IS NULL OR s.expires_on > ?))`
		args = append(args, today)
	}
	from := ` FROM members m JOIN namespaces n ON n.id = m.namespace_id JOIN routes r ON r.namespace_id = n.id
		LEFT JOIN projects p ON p.namespace_id = n.id
		WHERE ` + where + " AND m.user_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)"
	args = append(args, user, today)
	if f.Invited { // whoever owns this group need not see what others stand in
		seen, more := s.policy.VisibleGroupsSQL(as, "n")
		from, args = from+" AND "+seen, append(args, more...)
	}
	if total, err = db.Get[int](ctx, s.db, "SELECT COUNT(*)"+from, args...); err != nil {
		return nil, 0, fmt.Errorf("count seats: %w", err)
	}
	list, err = db.Select[Seat](ctx, s.db, `SELECT m.id, m.namespace_id, COALESCE(p.id, n.id) AS source_id, n.kind = 'group' AS is_group,
		r.name AS full_name, r.path AS full_path, m.created_at, m.expires_on, m.access_level`+from+" ORDER BY m.id LIMIT ? OFFSET ?",
		append(args, f.Limit, f.Offset)...)
	if err != nil {
		return nil, 0, fmt.Errorf("list seats: %w", err)
	}
	return list, total, nil
}

// seated refuses people who use no seat of the group.
func (s *Service) seated(ctx context.Context, p Place, user authz.UserID) error {
	_, n, err := s.billable(ctx, p, BillableFilter{UserID: user, Limit: 1})
	if err == nil && n == 0 {
		return errs.Missing("User")
	}
	return err
}

// Unseat ends all memberships of a user in a top-level group and inside it. Whoever is
// there only with an invited group stays, which is a BadRequest, and so does the last owner.
func (s *Service) Unseat(ctx context.Context, as authz.Actor, p Place, user authz.UserID) error {
	if err := s.policy.Require(ctx, as, authz.AdminGroupMembers, p.Subject); err != nil {
		return err
	}
	if p.Parent != nil {
		return errs.Bad("")
	}
	list, _, err := s.billable(ctx, p, BillableFilter{UserID: user, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return errs.Missing("User")
	case !list[0].Removable():
		return errs.Bad("")
	}
	if m, err := s.direct(ctx, p, user); err == nil {
		return s.leave(ctx, as, p, m, RemoveBelow)
	} else if !errs.Is(err, errs.NotFound) {
		return err
	}
	return s.db.InTx(ctx, func(ctx context.Context) error {
		level, err := db.Get[authz.Level](ctx, s.db, `SELECT COALESCE(MAX(access_level), 0) FROM members WHERE user_id = ? AND namespace_id IN
			(SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?)`, user, p.Namespace)
		if err != nil {
			return fmt.Errorf("level of member: %w", err)
		}
		return s.removeBelow(ctx, as, p, user, level)
	})
}
