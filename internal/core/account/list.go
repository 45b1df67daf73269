package account

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
)

// Filter selects users; the zero value selects all that the actor may list.
type Filter struct {
	Search      *string        // nil for no search; a blank one finds nothing
	Username    *string        // without regard to case
	Usernames   []string       // any of them, without regard to case; nil for all
	IDs         []authz.UserID // nil for all
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
	In                             authz.NamespaceID // members of this project or group, of groups above it and of what the actor sees below it; 0 for all
	CreatedAfter, CreatedBefore    *time.Time
	OrderBy                        string // id, name, username, created_at, updated_at; "" is id, or the best match, which has no cursors
	Asc                            bool
	page.Range
}

// List returns users, newest first unless the filter says otherwise. A user who is not signed
// in may only look for one username. Administrators get whole profiles, others
// summaries without private addresses meant for anybody's eyes.
func (s *Service) List(ctx context.Context, as authz.Actor, f Filter) (page.Page[*User], error) {
	none := page.None[*User](f.Range)
	if err := s.Policy.Require(ctx, as, authz.ListUsers, authz.Subject{}); err != nil {
		return none, err
	}
	switch {
	case s.Hidden(as), !as.SignedIn() && !as.Admin && f.Username == nil:
		return none, errs.Denied("Not authorized to access /api/v4/users")
	case !as.Admin && (f.Provider != "" || f.ExternUID != ""):
		return none, errs.Denied("")
	case f.Search != nil && strings.TrimSpace(*f.Search) == "":
		return none, nil
	case f.Search != nil:
		if err := s.countSearch(as, *f.Search); err != nil {
			return none, err
		}
	}
	if !as.Admin {
		f.Admins, f.Auditors, f.TwoFactor, f.WithoutProjects, f.SAMLProvider = false, false, "", false, 0
		f.CreatedAfter, f.CreatedBefore, f.OrderBy, f.Asc = nil, nil, "", false
	}
	columns := summaryColumns
	if as.Admin {
		columns = userColumns()
	}
	list, err := page.Select[User](ctx, s.DB, page.Query{
		Columns: columns, From: usersTables, Where: *s.where(as, &f), Order: f.order(), Key: "u.id", Narrow: "users u",
		Candidates: s.candidates(f),
	}, f.Range)
	if err != nil {
		return none, fmt.Errorf("list users: %w", err)
	}
	return page.Pointers(list), nil
}

// countSearch counts a search, and one for an email address as such.
func (s *Service) countSearch(as authz.Actor, text string) error {
	if strings.Contains(text, "@") {
		if err := s.Limits.Check(limit.UserEmails, as); err != nil {
			return err
		}
	}
	return s.Limits.Check(limit.Search, as)
}

// texts are searched.
var texts = db.Trigrams{Table: "users", Columns: []string{"name_fold", "username_fold"}}

// Indexed returns the texts that lists search.
func (s *Service) Indexed() db.Trigrams { return texts }

// candidates are the users that an index finds by their names.
func (s *Service) candidates(f Filter) []page.Candidates {
	if f.Search == nil {
		return nil
	}
	term := db.Fold(f.term())
	query, args, ok := s.DB.Holding(texts, []string{term})
	if !ok || strings.Contains(term, "@") { // which is looked for in addresses as well
		return nil
	}
	return []page.Candidates{{SQL: query, Args: args}}
}

// where is the condition of the filter, with the members of a place.
func (s *Service) where(as authz.Actor, f *Filter) *db.Where {
	w := f.where(as)
	if f.In == 0 {
		return w
	}
	visible, args := s.Policy.VisiblePlacesSQL(as, "n")
	today := s.Now().UTC().Format(time.DateOnly)
	w.And(`u.id IN (SELECT m.user_id FROM namespace_ancestors a JOIN members m ON m.namespace_id = a.ancestor_id
			WHERE a.namespace_id = ? AND m.access_level >= ? AND (m.expires_on IS NULL OR m.expires_on > ?)
		UNION SELECT m.user_id FROM namespace_ancestors a JOIN namespaces n ON n.id = a.namespace_id JOIN members m ON m.namespace_id = n.id
			WHERE a.ancestor_id = ? AND m.access_level >= ? AND (m.expires_on IS NULL OR m.expires_on > ?) AND `+visible+")",
		append([]any{f.In, authz.Guest, today, f.In, authz.Guest, today}, args...)...)
	return w
}

// where says which users u the filter selects for this actor.
func (f *Filter) where(as authz.Actor) *db.Where {
	w := &db.Where{}
	if !as.Admin {
		w.NotIn("u.state", barred)
	}
	attribute.Having(w, as, attribute.User, "u.id", f.Attributes)
	if f.Search != nil {
		f.search(w, as)
	}
	if f.Username != nil {
		w.And("u.username_fold = ?", db.Fold(*f.Username))
	}
	if f.Usernames != nil {
		folded := make([]string, len(f.Usernames))
		for i, name := range f.Usernames {
			folded[i] = db.Fold(name)
		}
		w.In("u.username_fold", folded)
	}
	if f.IDs != nil {
		w.In("u.id", f.IDs)
	}
	if f.PublicEmail != nil {
		w.And("u.public_email = ?", strings.ToLower(strings.TrimSpace(*f.PublicEmail)))
		w.Raw("u.public_email <> ''")
	}
	for _, c := range []struct {
		on   bool
		cond string
	}{
		{f.Active, "(u.state = 'active' AND u.user_type IN ('human', 'bot', 'service_account'))"},
		{f.ExcludeActive, "NOT (u.state = 'active' AND u.user_type IN ('human', 'bot', 'service_account'))"},
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
		{f.TwoFactor == "enabled", "1 = 0"}, // no user has a second factor yet
		{f.WithoutProjects, withoutProjects},
	} {
		if c.on {
			w.Raw(c.cond)
		}
	}
	if f.Provider != "" {
		w.And("u.id IN (SELECT i.user_id FROM identities i WHERE i.provider = ? AND i.extern_uid = ?)", f.Provider, f.ExternUID)
	}
	w.Since("u.created_at", f.CreatedAfter)
	w.Until("u.created_at", f.CreatedBefore)
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
	if db.Partial(term) {
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

// orders are the orders of a list.
var orders = page.Orders{
	"":           {page.ID("u.id")},
	"name":       {page.Text("name", "u.name"), page.ID("u.id")},
	"username":   {page.Text("username", "u.username"), page.ID("u.id")},
	"created_at": {page.Time("created_at", "u.created_at"), page.ID("u.id")},
	"updated_at": {page.Time("updated_at", "u.updated_at"), page.ID("u.id")},
}

// order returns the order of the list.
func (f *Filter) order() page.Order {
	if f.Search != nil && f.OrderBy == "" {
		term := db.Fold(f.term())
		return page.Order{page.Computed(`CASE WHEN u.public_email = ? AND u.public_email <> '' THEN 0 WHEN u.username_fold = ? THEN 1
			WHEN u.name_fold = ? THEN 2 ELSE 3 END`, term, term, term), page.Text("name", "u.name"), page.ID("u.id")}
	}
	if f.Asc {
		return orders.By(f.OrderBy)
	}
	return orders.By(f.OrderBy).Desc()
}
