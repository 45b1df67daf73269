package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/limit"
)

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

// About names the membership by its user, as the contract does.
func (m Member) About() change.Subject {
	return change.Subject{Type: "User", ID: int64(m.UserID)}
}

// MemberFilter selects from a list of members.
type MemberFilter struct {
	Inherited bool          // with those of ancestors and of invited groups, each user's highest
	Ways      []Way         // in place of Inherited, where not nil: those who came one of these ways
	Levels    []authz.Level // one of these levels; nil is any
	OrderBy   string        // a key of memberOrders; "" is the user's id
	Desc      bool
	State     string // StateAwaiting or StateActive; "" is any
	Query     string
	UserIDs   []authz.UserID // nil is everybody
	Skip      []authz.UserID
	page.Range
}

// The states of memberships: those of users whose account awaits approval, and all others.
const (
	StateAwaiting = "awaiting"
	StateActive   = "active"
)

// Way is how a user came to be a member of a place.
type Way int

// The ways.
const (
	DirectMember     Way = iota // of the place itself
	InheritedMember             // of a group above
	InvitedMember               // of a group that was invited to the place
	InvitedAbove                // of a group that was invited to a group above
	DescendantMember            // of a group below
)

// memberOrders are the orders of members.
var memberOrders = page.Orders{
	"":             {page.ID("z.user_id")},
	"access_level": {page.Int("access_level", "z.access_level"), page.ID("z.user_id")},
	"created_at":   {page.Time("created_at", "z.created_at"), page.ID("z.user_id")},
	"updated_at":   {page.Time("updated_at", "z.updated_at"), page.ID("z.user_id")},
	"name":         {page.Text("name", "u.name_fold"), page.ID("z.user_id")},
}

func readAbility(p authz.Place) authz.Ability {
	if p.Group {
		return authz.ReadGroupMembers
	}
	return authz.ReadMembers
}

func adminAbility(p authz.Place) authz.Ability {
	if p.Group {
		return authz.AdminGroupMembers
	}
	return authz.AdminMembers
}

// memberColumns are what membersSQL selects of a membership m.
const memberColumns = "m.id, m.namespace_id, m.user_id, m.access_level, m.expires_on, m.created_by_id, m.created_at, m.updated_at"

// membersSQL selects the memberships that count at a place, one row for each user. Who
// belongs to it through a hidden group that was invited shows to those who see the group
// or belong to the place themselves.
func (s *Service) membersSQL(as authz.Actor, p authz.Place, f MemberFilter) (query string, args []any) {
	today := s.today()
	if f.Ways == nil && !f.Inherited || len(f.Ways) == 1 && f.Ways[0] == DirectMember {
		places, ids := "m.namespace_id = ?", []any{p.Namespace}
		if p.Personal {
			places, ids = "m.namespace_id IN (?, ?)", []any{p.Namespace, *p.Parent}
		}
		return "SELECT " + memberColumns + `, 0 AS depth, ROW_NUMBER() OVER (PARTITION BY m.user_id ORDER BY m.access_level DESC, m.id) AS rank
			FROM members m WHERE ` + places + ` AND (m.expires_on IS NULL OR m.expires_on > ?)`, append(ids, today)
	}
	ways := f.Ways
	if ways == nil {
		ways = []Way{DirectMember, InheritedMember, InvitedMember, InvitedAbove}
	}
	seen, visible := s.Policy.VisibleGroupsSQL(as, "n")
	below, belowArgs := seen, visible
	if p.Subject.Visibility == authz.Private || p.Subject.Known && p.Subject.Level > authz.NoAccess {
		seen, visible = "true", nil
	}
	var parts []string
	if depth, ok := depths(ways, DirectMember, InheritedMember); ok {
		parts = append(parts, "SELECT "+memberColumns+`, a.depth, a.depth AS near
			FROM namespace_ancestors a JOIN members m ON m.namespace_id = a.ancestor_id
			WHERE a.namespace_id = ? AND `+depth+` AND (m.expires_on IS NULL OR m.expires_on > ?)`)
		args = append(args, p.Namespace, today)
	}
	if depth, ok := depths(ways, InvitedMember, InvitedAbove); ok {
		parts = append(parts, `SELECT m.id, m.namespace_id, m.user_id, CASE WHEN s.access_level < m.access_level THEN s.access_level ELSE m.access_level END AS access_level,
				m.expires_on, m.created_by_id, m.created_at, m.updated_at, -1 AS depth, 1000 AS near
			FROM namespace_ancestors a JOIN shares s ON s.namespace_id = a.ancestor_id JOIN namespaces n ON n.id = s.group_id
			JOIN namespace_ancestors g ON g.namespace_id = s.group_id
			JOIN members m ON m.namespace_id = g.ancestor_id
			WHERE a.namespace_id = ? AND `+depth+` AND (m.expires_on IS NULL OR m.expires_on > ?) AND (s.expires_on IS NULL OR s.expires_on > ?) AND `+seen)
		args = append(append(args, p.Namespace, today, today), visible...)
	}
	if slices.Contains(ways, DescendantMember) {
		parts = append(parts, "SELECT "+memberColumns+`, -1 AS depth, 2000 AS near
			FROM namespace_ancestors a JOIN namespaces n ON n.id = a.namespace_id AND n.kind = 'group' JOIN members m ON m.namespace_id = n.id
			WHERE a.ancestor_id = ? AND a.depth > 0 AND (m.expires_on IS NULL OR m.expires_on > ?) AND `+below)
		args = append(append(args, p.Namespace, today), belowArgs...)
	}
	if parts == nil {
		parts = []string{"SELECT " + memberColumns + ", 0 AS depth, 0 AS near FROM members m WHERE 1 = 0"}
	}
	return `SELECT y.id, y.namespace_id, y.user_id, y.access_level, y.expires_on, y.created_by_id, y.created_at, y.updated_at, y.depth,
		ROW_NUMBER() OVER (PARTITION BY y.user_id ORDER BY y.access_level DESC, y.near, y.id) AS rank FROM (
		` + strings.Join(parts, "\n\t\tUNION ALL\n\t\t") + "\n\t) y", args
}

// depths is the condition on the depth of a place above, for what is at the place itself and
// what is above it.
func depths(ways []Way, here, above Way) (cond string, ok bool) {
	switch at, up := slices.Contains(ways, here), slices.Contains(ways, above); {
	case at && up:
		return "a.depth >= 0", true
	case at:
		return "a.depth = 0", true
	case up:
		return "a.depth > 0", true
	}
	return "", false
}

// Members lists who belongs to a place, by user id.
func (s *Service) Members(ctx context.Context, as authz.Actor, p authz.Place, f MemberFilter) (page.Page[Member], error) {
	if err := s.Policy.Require(ctx, as, readAbility(p), p.Subject); err != nil {
		return page.Page[Member]{}, err
	}
	if f.Query != "" { // as clients do for each letter of a mention
		if err := s.Limits.Check(limit.AutocompleteUsers, as); err != nil {
			return page.Page[Member]{}, err
		}
	}
	inner, args := s.membersSQL(as, p, f)
	var w db.Where
	w.Raw("z.rank = 1")
	switch f.State {
	case StateAwaiting:
		w.Raw(awaits)
	case StateActive:
		w.Raw("NOT (" + awaits + ")")
	}
	if f.Levels != nil {
		w.In("z.access_level", f.Levels)
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
	order := memberOrders.By(f.OrderBy)
	if f.Desc {
		order = order.Desc()
	}
	list, err := page.Select[Member](ctx, s.DB, page.Query{
		Columns: `z.id, z.namespace_id, z.user_id, z.access_level, z.expires_on, z.created_by_id, z.created_at, z.updated_at, z.depth,
			u.user_type = 'bot' AS bot`,
		From: "(" + inner + ") z JOIN users u ON u.id = z.user_id", FromArgs: args, Where: w, Order: order,
	}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list members: %w", err)
	}
	return list, nil
}

// Member returns one user's membership of a place: the direct one, or where inherited is
// wanted the one that counts.
func (s *Service) Member(ctx context.Context, as authz.Actor, p authz.Place, user authz.UserID, f MemberFilter) (*Member, error) {
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
func (s *Service) inheritedLevel(ctx context.Context, p authz.Place, user authz.UserID) (level authz.Level, group string, err error) {
	type above struct {
		Level authz.Level `db:"access_level"`
		Name  string      `db:"name"`
	}
	got, err := db.Get[above](ctx, s.DB, `SELECT m.access_level, n.name FROM namespace_ancestors a
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
func (s *Service) lastOwner(ctx context.Context, p authz.Place, user authz.UserID) (bool, error) {
	others, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM namespace_ancestors a
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

// OrNil returns the membership, nil for none.
func (o Own) OrNil() *Own {
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
	rows, err := db.Select[one](ctx, s.DB, `SELECT a.namespace_id, n.kind, a.depth, m.access_level, COALESCE((SELECT x.level FROM notification_settings x
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
