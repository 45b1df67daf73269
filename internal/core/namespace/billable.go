package namespace

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// How a user comes to use a seat of a group: as a member of it, of a group or of a project
// inside, or of a group that was invited to one.
const (
	ByGroup         = "group_member"
	ByProject       = "project_member"
	ByGroupInvite   = "group_invite"
	ByProjectInvite = "project_invite"
)

// Billable is a user with a seat of a top-level group.
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
	Search string // part of a name or username, or a whole public address
	Sort   string // a key of billableSorts; "" is by id
	UserID authz.UserID
	page.Range
}

var billableSorts = page.Orders{
	"":                      {page.ID("u.id")},
	"access_level_asc":      {page.Int("access_level", "y.level"), page.ID("u.id")},
	"access_level_desc":     {page.Int("access_level", "y.level").Desc(), page.ID("u.id")},
	"last_joined":           {page.Time("joined", "y.joined").Desc(), page.ID("u.id").Desc()},
	"oldest_joined":         {page.Time("joined", "y.joined"), page.ID("u.id")},
	"name_asc":              {page.Text("name", "u.name_fold"), page.ID("u.id")},
	"name_desc":             {page.Text("name", "u.name_fold").Desc(), page.ID("u.id").Desc()},
	"oldest_sign_in":        {page.Time("last_sign_in_at", "u.last_sign_in_at").NullLow(), page.ID("u.id")},
	"recent_sign_in":        {page.Time("last_sign_in_at", "u.last_sign_in_at").NullLow().Desc(), page.ID("u.id")},
	"last_activity_on_asc":  {page.Text("last_activity_on", "u.last_activity_on").NullLow(), page.ID("u.id")},
	"last_activity_on_desc": {page.Text("last_activity_on", "u.last_activity_on").NullLow().Desc(), page.ID("u.id")},
}

// requireBillable checks that the actor may see who uses seats of a group, which must
// stand at the top.
func (s *Service) requireBillable(ctx context.Context, as authz.Actor, p authz.Place) error {
	if err := s.Policy.Require(ctx, as, authz.ReadBillable, p.Subject); err != nil {
		return err
	}
	if p.Parent != nil {
		return errs.Bad("")
	}
	return nil
}

// billableSQL selects who uses a seat of a group and its arguments: people who may act and
// are at least guests somewhere inside. The ranks are those of ByGroup and the others.
func (s *Service) billableSQL(p authz.Place) (query string, args []any) {
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

// Billable lists who uses a seat of a top-level group. Its owners may see it.
func (s *Service) Billable(ctx context.Context, as authz.Actor, p authz.Place, f BillableFilter) (page.Page[Billable], error) {
	if err := s.requireBillable(ctx, as, p); err != nil {
		return page.Page[Billable]{}, err
	}
	return s.billable(ctx, p, f)
}

func (s *Service) billable(ctx context.Context, p authz.Place, f BillableFilter) (page.Page[Billable], error) {
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
	list, err := page.Select[Billable](ctx, s.DB, page.Query{
		Columns: `u.id AS user_id, CASE y.rank WHEN 0 THEN 'group_member' WHEN 1 THEN 'project_member'
			WHEN 2 THEN 'group_invite' ELSE 'project_invite' END AS means, u.last_activity_on, u.last_sign_in_at, u.created_at`,
		From: "(" + inner + ") y JOIN users u ON u.id = y.user_id", FromArgs: args, Where: w, Order: billableSorts.By(f.Sort),
	}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list billable members: %w", err)
	}
	owners, err := db.Select[authz.UserID](ctx, s.DB, "SELECT m.user_id FROM members m JOIN users u ON u.id = m.user_id WHERE m.namespace_id = ? AND "+
		lastingOwner+" ORDER BY m.user_id LIMIT 2", p.Namespace, authz.Owner)
	if err != nil {
		return list, fmt.Errorf("owners of group: %w", err)
	}
	for i := range list.Items {
		list.Items[i].LastOwner = len(owners) == 1 && owners[0] == list.Items[i].UserID
	}
	return list, nil
}

// Seat is one membership by which a user uses a seat.
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

// SeatFilter selects memberships of a user with a seat.
type SeatFilter struct {
	Invited bool // of groups that were invited, instead of those inside
	page.Range
}

// Seats lists the memberships by which a user uses a seat of a top-level group.
// A user who uses none is NotFound.
func (s *Service) Seats(ctx context.Context, as authz.Actor, p authz.Place, user authz.UserID, f SeatFilter) (page.Page[Seat], error) {
	if err := s.requireBillable(ctx, as, p); err != nil {
		return page.Page[Seat]{}, err
	}
	if err := s.seated(ctx, p, user); err != nil {
		return page.Page[Seat]{}, err
	}
	today := s.today()
	var w db.Where
	if f.Invited {
		w.And(`m.namespace_id IN (SELECT g.ancestor_id FROM namespace_ancestors d JOIN shares s ON s.namespace_id = d.namespace_id
			JOIN namespace_ancestors g ON g.namespace_id = s.group_id WHERE d.ancestor_id = ? AND (s.expires_on IS NULL OR s.expires_on > ?))`,
			p.Namespace, today)
		seen, args := s.Policy.VisibleGroupsSQL(as, "n") // a user who owns this group need not see what others stand in
		w.And(seen, args...)
	} else {
		w.And("m.namespace_id IN (SELECT d.namespace_id FROM namespace_ancestors d WHERE d.ancestor_id = ?)", p.Namespace)
	}
	w.And("m.user_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)", user, today)
	list, err := page.Select[Seat](ctx, s.DB, page.Query{
		Columns: `m.id, m.namespace_id, COALESCE(p.id, n.id) AS source_id, n.kind = 'group' AS is_group,
			r.name AS full_name, r.path AS full_path, m.created_at, m.expires_on, m.access_level`,
		From: `members m JOIN namespaces n ON n.id = m.namespace_id JOIN routes r ON r.namespace_id = n.id
			LEFT JOIN projects p ON p.namespace_id = n.id`,
		Where: w, Order: page.Order{page.ID("m.id")},
	}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list seats: %w", err)
	}
	return list, nil
}

// seated refuses people who use no seat of the group.
func (s *Service) seated(ctx context.Context, p authz.Place, user authz.UserID) error {
	list, err := s.billable(ctx, p, BillableFilter{UserID: user})
	if err == nil && len(list.Items) == 0 {
		return errs.Missing("User")
	}
	return err
}

// Unseat ends all memberships of a user in a top-level group and inside it. A user who is
// there only with an invited group stays, which is a BadRequest, and so does the last owner.
func (s *Service) Unseat(ctx context.Context, as authz.Actor, p authz.Place, user authz.UserID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminGroupMembers, p.Subject); err != nil {
		return err
	}
	if p.Parent != nil {
		return errs.Bad("")
	}
	list, err := s.billable(ctx, p, BillableFilter{UserID: user})
	switch {
	case err != nil:
		return err
	case len(list.Items) == 0:
		return errs.Missing("User")
	case !list.Items[0].Removable():
		return errs.Bad("")
	}
	if m, err := s.direct(ctx, p, user); err == nil {
		return s.leave(ctx, as, p, m, Removal{Below: true})
	} else if !errs.Is(err, errs.NotFound) {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, s.DB, `SELECT updated_at FROM members WHERE user_id = ? AND namespace_id IN
			(SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?)`, user, p.Namespace); err != nil {
			return err
		}
		level, err := db.Get[authz.Level](ctx, s.DB, `SELECT COALESCE(MAX(access_level), 0) FROM members WHERE user_id = ? AND namespace_id IN
			(SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?)`, user, p.Namespace)
		if err != nil {
			return fmt.Errorf("level of member: %w", err)
		}
		return s.removeBelow(ctx, as, p, Member{NamespaceID: p.Namespace, UserID: user, Level: level}, Removal{Below: true})
	})
}
