package namespace

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// Place is a group or project as somewhere to be a member of.
type Place struct {
	Namespace ID
	Parent    *ID   // nil for a top-level group
	Group     bool  // or else a project
	ID        int64 // of the group or project
	Name      string
	Path      string // full path
	Personal  bool   // a project in a personal namespace, whose user is its owner
	Requests  bool   // strangers may ask for membership
	Subject   authz.Subject
}

// Member is one user's membership, as it counts at the place it was read for.
type Member struct {
	ID          int64         `db:"id"`
	NamespaceID ID            `db:"namespace_id"` // where the membership is
	UserID      authz.UserID  `db:"user_id"`
	Level       authz.Level   `db:"access_level"`
	ExpiresOn   *string       `db:"expires_on"` // YYYY-MM-DD
	CreatedByID *authz.UserID `db:"created_by_id"`
	CreatedAt   db.Time       `db:"created_at"`
	UpdatedAt   db.Time       `db:"updated_at"`
	Depth       int64         `db:"depth,readonly"` // 0 direct, n inherited from the n-th ancestor, -1 through a share
	Bot         bool          `db:"bot,readonly"`   // acts for an access token of the place
}

// MemberFilter selects from a list of members.
type MemberFilter struct {
	Inherited bool // with those of ancestors and of invited groups, each user's highest
	Awaiting  bool // those whose membership does not count yet: none
	Query     string
	UserIDs   []authz.UserID // nil is everybody
	Skip      []authz.UserID
	page.Range
}

func readAbility(p Place) authz.Ability {
	if p.Group {
		return authz.ReadGroupMembers
	}
	return authz.ReadMembers
}

func adminAbility(p Place) authz.Ability {
	if p.Group {
		return authz.AdminGroupMembers
	}
	return authz.AdminMembers
}

// membersSQL selects the memberships that count at a place, one row for each user. Who
// belongs to it through a hidden group that was invited shows to those who see the group
// or belong to the place themselves.
func (s *Service) membersSQL(as authz.Actor, p Place, inherited bool) (query string, args []any) {
	today := s.today()
	if !inherited {
		places, ids := "m.namespace_id = ?", []any{p.Namespace}
		if p.Personal {
			places, ids = "m.namespace_id IN (?, ?)", []any{p.Namespace, *p.Parent}
		}
		return `SELECT m.namespace_id, m.user_id, m.access_level, m.expires_on, m.created_by_id, m.created_at, 0 AS depth,
			ROW_NUMBER() OVER (PARTITION BY m.user_id ORDER BY m.access_level DESC, m.id) AS rank
			FROM members m WHERE ` + places + ` AND (m.expires_on IS NULL OR m.expires_on > ?)`, append(ids, today)
	}
	seen, visible := s.policy.VisibleGroupsSQL(as, "n")
	if p.Subject.Visibility == authz.Private || p.Subject.Known && p.Subject.Level > authz.NoAccess {
		seen, visible = "true", nil
	}
	return `SELECT y.namespace_id, y.user_id, y.access_level, y.expires_on, y.created_by_id, y.created_at, y.depth,
		ROW_NUMBER() OVER (PARTITION BY y.user_id ORDER BY y.access_level DESC, y.near, y.id) AS rank FROM (
		SELECT m.id, m.namespace_id, m.user_id, m.access_level, m.expires_on, m.created_by_id, m.created_at, a.depth, a.depth AS near
		FROM namespace_ancestors a JOIN members m ON m.namespace_id = a.ancestor_id
		WHERE a.namespace_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)
		UNION ALL
		SELECT m.id, m.namespace_id, m.user_id, CASE WHEN s.access_level < m.access_level THEN s.access_level ELSE m.access_level END,
			m.expires_on, m.created_by_id, m.created_at, -1, 1000
		FROM namespace_ancestors a JOIN shares s ON s.namespace_id = a.ancestor_id JOIN namespaces n ON n.id = s.group_id
		JOIN namespace_ancestors g ON g.namespace_id = s.group_id
		JOIN members m ON m.namespace_id = g.ancestor_id
		WHERE a.namespace_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?) AND (s.expires_on IS NULL OR s.expires_on > ?) AND ` + seen + `
	) y`, append([]any{p.Namespace, today, p.Namespace, today, today}, visible...)
}

// Members lists who belongs to a place, by user id.
func (s *Service) Members(ctx context.Context, as authz.Actor, p Place, f MemberFilter) (page.Page[Member], error) {
	if err := s.policy.Require(ctx, as, readAbility(p), p.Subject); err != nil {
		return page.Page[Member]{}, err
	}
	inner, args := s.membersSQL(as, p, f.Inherited)
	var w db.Where
	w.Raw("z.rank = 1")
	if f.Awaiting {
		w.Raw("1 = 0")
	}
	if f.UserIDs != nil {
		w.In("z.user_id", f.UserIDs)
	}
	if len(f.Skip) > 0 {
		w.NotIn("z.user_id", f.Skip)
	}
	if f.Query != "" {
		pattern := "%" + db.LikePattern(db.Fold(f.Query)) + "%"
		w.And(`(u.username_fold LIKE ? ESCAPE '\' OR u.name_fold LIKE ? ESCAPE '\')`, pattern, pattern)
	}
	list, err := page.Select[Member](ctx, s.db, page.Query{
		Columns: `z.namespace_id, z.user_id, z.access_level, z.expires_on, z.created_by_id, z.created_at, z.depth,
			u.user_type = 'bot' AS bot`,
		From: "(" + inner + ") z JOIN users u ON u.id = z.user_id", FromArgs: args, Where: w, Order: page.Order{page.ID("z.user_id")},
	}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list members: %w", err)
	}
	return list, nil
}

// Member returns one user's membership of a place: the direct one, or where inherited is
// wanted the one that counts.
func (s *Service) Member(ctx context.Context, as authz.Actor, p Place, user authz.UserID, f MemberFilter) (*Member, error) {
	f.UserIDs, f.Range = []authz.UserID{user}, page.Range{Limit: 1, Uncounted: true}
	list, err := s.Members(ctx, as, p, f)
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, errs.Missing("")
	}
	return &list.Items[0], nil
}

// inheritedLevel is the highest level the user has at a place without the direct
// membership there, and where it comes from.
func (s *Service) inheritedLevel(ctx context.Context, p Place, user authz.UserID) (level authz.Level, group string, err error) {
	type above struct {
		Level authz.Level `db:"access_level"`
		Name  string      `db:"name"`
	}
	got, err := db.Get[above](ctx, s.db, `SELECT m.access_level, n.name FROM namespace_ancestors a
		JOIN members m ON m.namespace_id = a.ancestor_id JOIN namespaces n ON n.id = a.ancestor_id
		WHERE a.namespace_id = ? AND a.depth > 0 AND m.user_id = ? AND (m.expires_on IS NULL OR m.expires_on > ?)
		ORDER BY m.access_level DESC, a.depth LIMIT 1`, p.Namespace, user, s.today())
	if errors.Is(err, db.ErrNotFound) {
		return authz.NoAccess, "", nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("inherited membership: %w", err)
	}
	return got.Level, got.Name, nil
}

// lastingOwner is a condition on a member m and its user u, with the level of owners as its
// argument: users who own a place today and tomorrow. Bots do not count, nor people who
// may not act, nor those whose membership has an end.
const lastingOwner = "m.access_level >= ? AND m.expires_on IS NULL AND u.user_type = 'human' AND u.state = 'active'"

// lastOwner reports whether the group would have no lasting owner, there or above, without
// the user's membership there.
func (s *Service) lastOwner(ctx context.Context, p Place, user authz.UserID) (bool, error) {
	others, err := db.Get[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM namespace_ancestors a
		JOIN members m ON m.namespace_id = a.ancestor_id JOIN users u ON u.id = m.user_id
		WHERE a.namespace_id = ? AND NOT (m.user_id = ? AND a.depth = 0) AND `+lastingOwner+")", p.Namespace, user, authz.Owner)
	if err != nil {
		return false, fmt.Errorf("other owners: %w", err)
	}
	return !others, nil
}

// Own is what an actor is at a place itself.
type Own struct {
	Level        authz.Level
	Notification string // level of notifications that the actor chose there; "" for none
}

// Held gives the membership, nil for none.
func (o Own) Held() *Own {
	if o.Level == authz.NoAccess {
		return nil
	}
	return &o
}

// Direct reads the actor's own membership at each of some places and above them, for
// the permissions that projects show. The first map holds direct levels by namespace,
// the second the highest ones inherited.
func (s *Service) Direct(ctx context.Context, as authz.Actor, ids []ID) (direct, above map[ID]Own, err error) {
	direct, above = map[ID]Own{}, map[ID]Own{}
	if len(ids) == 0 || !as.SignedIn() {
		return direct, above, nil
	}
	type one struct {
		ID    ID          `db:"namespace_id"`
		Kind  Kind        `db:"kind"`
		Depth int64       `db:"depth"`
		Level authz.Level `db:"access_level"`
		Notes string      `db:"notification"`
	}
	var w db.Where
	w.Raw("m.namespace_id = a.ancestor_id")
	w.In("a.namespace_id", ids)
	w.And("m.user_id = ?", as.UserID)
	w.And("(m.expires_on IS NULL OR m.expires_on > ?)", s.today())
	rows, err := db.Select[one](ctx, s.db, `SELECT a.namespace_id, n.kind, a.depth, m.access_level, COALESCE((SELECT x.level FROM notification_settings x
			WHERE x.user_id = m.user_id AND COALESCE(x.namespace_id, 0) = CASE WHEN n.kind = 'user' THEN a.namespace_id ELSE a.ancestor_id END), '') AS notification
		FROM namespace_ancestors a
		CROSS JOIN members m JOIN namespaces n ON n.id = a.ancestor_id`+w.SQL(), w.Args()...)
	if err != nil {
		return nil, nil, fmt.Errorf("own memberships: %w", err)
	}
	for _, r := range rows {
		into := above
		if r.Depth == 0 || r.Kind == UserKind {
			into = direct
		}
		if r.Level > into[r.ID].Level {
			into[r.ID] = Own{r.Level, r.Notes}
		}
	}
	return direct, above, nil
}
