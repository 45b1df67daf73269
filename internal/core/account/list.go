package account

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
)

// maxCount is where counting ends: a total above it is told as more than it.
const maxCount = 10_000

// Filter selects users; the zero value selects all that the actor may list.
type Filter struct {
	Search      *string // nil for no search; a blank one finds nothing
	Username    *string // without regard to case
	PublicEmail *string

	Active, Blocked, External      bool
	ExcludeActive, ExcludeExternal bool
	ExcludeInternal, ExcludeHumans bool
	Humans, WithoutProjectBots     bool
	SkipLDAP                       bool              // without those known to a directory
	Provider, ExternUID            string            // administrators only, else Forbidden
	Admins, Auditors               bool              // this and what follows only counts for administrators
	Attributes                     map[string]string // all of them, by key
	TwoFactor                      string            // enabled or disabled
	SAMLProvider                   int64             // of a group's single sign-on
	WithoutProjects                bool
	CreatedAfter, CreatedBefore    *time.Time
	OrderBy                        string // id, name, username, created_at, updated_at; "" is id, or the best match
	Ascending                      bool
	Limit                          int // 20 where zero
	Offset                         int
	CountNothing                   bool  // leaves Total of the page at zero
	After                          *Edge // where set, the page next to this row instead of Offset
}

// Edge is a row at the edge of a page: its value in the column of order and its id.
type Edge struct {
	Value any // a string or a time; nothing where the order is that of ids
	ID    authz.UserID
	Back  bool // the page before it
}

// Page is a part of a list of users.
type Page struct {
	Users []*User
	Total int // of all that match; 10,001 stands for more than 10,000
}

// hiddenStates are kept from the lists of everybody but administrators.
var hiddenStates = []State{Blocked, LDAPBlocked, Banned}

// List gives users, newest first unless the filter says otherwise. Whoever is not signed
// in may only look for one username. Administrators get whole profiles, others
// summaries without private addresses meant for anybody's eyes.
func (s *Service) List(ctx context.Context, as authz.Actor, f Filter) (*Page, error) {
	if err := s.Policy.Require(ctx, as, authz.ListUsers, authz.Subject{}); err != nil {
		return nil, err
	}
	switch {
	case s.Hidden(as), !as.SignedIn() && !as.Admin && f.Username == nil:
		return nil, errs.Denied("Not authorized to access /api/v4/users")
	case !as.Admin && (f.Provider != "" || f.ExternUID != ""):
		return nil, errs.Denied("")
	case f.Search != nil && strings.TrimSpace(*f.Search) == "":
		return &Page{}, nil
	}
	if !as.Admin {
		f.Admins, f.Auditors, f.TwoFactor, f.WithoutProjects, f.SAMLProvider = false, false, "", false, 0
		f.CreatedAfter, f.CreatedBefore, f.OrderBy, f.Ascending = nil, nil, "", false
	}
	w := f.where(as)
	page := &Page{}
	var err error
	if !f.CountNothing {
		page.Total, err = db.Get[int](ctx, s.DB, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM users u%s LIMIT %d) c", w.SQL(), maxCount+1), w.Args()...)
		if err != nil {
			return nil, fmt.Errorf("count users: %w", err)
		}
	}
	columns := summaryColumns
	if as.Admin {
		columns = userColumns()
	}
	if f.After != nil {
		f.beyond(w)
	}
	limit := f.Limit
	if limit <= 0 {
		limit = 20
	}
	order, args := f.order(w.Args())
	sorted, last := f.order(nil)
	// What belongs to a user is read for the page only, not for all that comes before it.
	rows, err := db.Select[User](ctx, s.DB, "SELECT "+columns+fromUsers+" WHERE u.id IN (SELECT u.id FROM users u"+w.SQL()+order+" LIMIT ? OFFSET ?)"+sorted,
		slices.Concat(args, []any{limit, f.Offset}, last)...)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	page.Users = make([]*User, len(rows))
	for i := range rows {
		page.Users[i] = &rows[i]
	}
	if f.After != nil && f.After.Back {
		slices.Reverse(page.Users)
	}
	return page, nil
}

// beyond keeps the rows that follow an edge in the order of the list.
func (f *Filter) beyond(w *db.Where) {
	sign := " < "
	if f.Ascending != f.After.Back {
		sign = " > "
	}
	column, ok := orders[f.OrderBy]
	if !ok || column == "u.id" {
		w.And("u.id"+sign+"?", f.After.ID)
		return
	}
	w.And("("+column+", u.id)"+sign+"(?, ?)", f.After.Value, f.After.ID)
}

// where says which users u the filter selects for this actor.
func (f *Filter) where(as authz.Actor) *db.Where {
	w := &db.Where{}
	if !as.Admin {
		w.NotIn("u.state", hiddenStates)
	}
	attribute.Having(w, as, attribute.User, "u.id", f.Attributes)
	if f.Search != nil {
		f.search(w, as)
	}
	if f.Username != nil {
		w.And("u.username_fold = ?", db.Fold(*f.Username))
	}
	if f.PublicEmail != nil {
		w.And("u.public_email = ?", strings.ToLower(strings.TrimSpace(*f.PublicEmail)))
		w.Raw("u.public_email <> ''")
	}
	for _, c := range []struct {
		on   bool
		cond string
	}{
		{f.Active, "(u.state = 'active' AND u.user_type IN ('human', 'bot'))"},
		{f.ExcludeActive, "NOT (u.state = 'active' AND u.user_type IN ('human', 'bot'))"},
		{f.Blocked, "u.state IN ('blocked', 'ldap_blocked')"},
		{f.External, "u.external"},
		{f.ExcludeExternal, "NOT u.external"},
		{f.ExcludeInternal, "u.user_type NOT IN ('internal', 'ghost')"},
		{f.WithoutProjectBots, "u.user_type <> 'bot'"},
		{f.Humans, "u.user_type = 'human'"},
		{f.ExcludeHumans, "u.user_type <> 'human'"},
		{f.SkipLDAP, "u.id NOT IN (SELECT i.user_id FROM identities i WHERE i.provider LIKE 'ldap%')"},
		{f.SAMLProvider != 0, "1 = 0"}, // there is none
		{f.Admins, "u.admin"},
		{f.Auditors, "u.auditor"},
		{f.TwoFactor == "enabled", "1 = 0"}, // nobody has a second factor yet
		{f.WithoutProjects, withoutProjects},
	} {
		if c.on {
			w.Raw(c.cond)
		}
	}
	if f.Provider != "" {
		w.And("u.id IN (SELECT i.user_id FROM identities i WHERE i.provider = ? AND i.extern_uid = ?)", f.Provider, f.ExternUID)
	}
	if f.CreatedAfter != nil {
		w.And("u.created_at >= ?", *f.CreatedAfter)
	}
	if f.CreatedBefore != nil {
		w.And("u.created_at <= ?", *f.CreatedBefore)
	}
	return w
}

// withoutProjects holds for users who are members of no project, directly, through a
// group or through a share.
const withoutProjects = `u.id NOT IN (
	SELECT m.user_id FROM projects p
	JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id
	JOIN members m ON m.namespace_id = a.ancestor_id
	UNION
	SELECT m.user_id FROM projects p
	JOIN namespace_ancestors a ON a.namespace_id = p.namespace_id
	JOIN shares h ON h.namespace_id = a.ancestor_id
	JOIN namespace_ancestors g ON g.namespace_id = h.group_id
	JOIN members m ON m.namespace_id = g.ancestor_id)`

// term is what is looked for: a leading @ of a username is dropped.
func (f *Filter) term() string { return strings.TrimPrefix(strings.TrimSpace(*f.Search), "@") }

// search looks into names and usernames, whole words where fewer than three letters are
// given, and for whole addresses: public ones, and any one for administrators.
func (f *Filter) search(w *db.Where, as authz.Actor) {
	term := db.Fold(f.term())
	cond, args := "u.name_fold = ? OR u.username_fold = ?", []any{term, term}
	if utf8.RuneCountInString(term) >= 3 {
		like := "%" + db.LikePattern(term) + "%"
		cond, args = `u.name_fold LIKE ? ESCAPE '\' OR u.username_fold LIKE ? ESCAPE '\'`, []any{like, like}
	}
	if strings.Contains(term, "@") {
		cond += " OR u.public_email = ?"
		args = append(args, term)
		if as.Admin {
			cond += " OR u.id IN (SELECT a.user_id FROM emails a WHERE a.email_fold = ?)"
			args = append(args, term)
		}
	}
	w.And("("+cond+")", args...)
}

// orders are the columns a list may be sorted by.
var orders = map[string]string{
	"id": "u.id", "name": "u.name", "username": "u.username", "created_at": "u.created_at", "updated_at": "u.updated_at",
}

// order gives the ORDER BY and all arguments: those given and its own.
func (f *Filter) order(args []any) (string, []any) {
	if f.Search != nil && f.OrderBy == "" && f.After == nil {
		term := db.Fold(f.term())
		return ` ORDER BY CASE WHEN u.public_email = ? AND u.public_email <> '' THEN 0 WHEN u.username_fold = ? THEN 1
			WHEN u.name_fold = ? THEN 2 ELSE 3 END, u.name, u.id`, slices.Concat(args, []any{term, term, term})
	}
	direction := " DESC"
	if f.Ascending != (f.After != nil && f.After.Back) {
		direction = ""
	}
	column, ok := orders[f.OrderBy]
	if !ok || column == "u.id" {
		return " ORDER BY u.id" + direction, args
	}
	return " ORDER BY " + column + direction + ", u.id" + direction, args
}
