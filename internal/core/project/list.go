package project

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/attribute"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
)

// Filter selects from a list of projects; the zero value selects all that the actor
// may see.
type Filter struct {
	Parent           *authz.NamespaceID // standing in this namespace
	Subgroups        bool               // and in what is below it
	Ancestors        bool               // and in what is above it
	Shared           bool               // and those it is invited to
	OnlyShared       bool               // only those it is invited to
	Search           string
	SearchNamespaces bool
	Visibility       *authz.Visibility
	Archived         *bool
	Active           *bool // neither archived nor marked for deletion
	Unmarked         bool  // not marked for deletion
	Owned            bool
	Membership       bool
	Starred          bool
	ForkedFrom       ID           // forks of this project
	StarredBy        authz.UserID // by this user, who has an open profile or is the actor
	ContributedBy    authz.UserID // something happened here by this user, on the same condition
	Imported         bool
	MinLevel         authz.Level
	Language         string
	Issues           bool // enabled and open to the actor
	MergeRequests    bool
	IDs              []ID         // one of these; nil for all
	Paths            []string     // one of these full paths, without regard to case; nil for all
	PersonalOf       authz.UserID // in the personal namespace of this user
	Topics           []string     // all of them
	TopicID          TopicID
	Attributes       map[string]string // all of them, by key; administrators only
	MarkedOn         string            // YYYY-MM-DD
	Nothing          bool              // asks for what no project has
	PendingDelete    bool              // with those being deleted; administrators only
	Storage          string            // administrators only
	IDAfter          ID
	IDBefore         ID
	ActiveAfter      *time.Time
	ActiveBefore     *time.Time
	UpdatedAfter     *time.Time
	UpdatedBefore    *time.Time
	Part             bool   // of an answer about something else, so that it is not counted as a list of projects
	OrderBy          string // a key of orders or sizeOrders, similarity, or filter.ByRelevance, its form for any number of rows; "" is created_at
	Asc              bool
	page.Range
}

// everywhere reports whether the filter is of a list of the projects of the instance.
func (f *Filter) everywhere() bool {
	return !f.Part && f.Parent == nil && f.StarredBy == 0 && f.ContributedBy == 0 && f.ForkedFrom == 0 && f.IDs == nil && f.Paths == nil
}

// orders are the orders of a list. Created_at is the order of the ids.
var orders = page.Orders{
	"":                 {page.ID("p.id")},
	"name":             {page.Text("name", "p.name_fold"), page.ID("p.id")},
	"path":             {page.Text("path", "p.path"), page.ID("p.id")},
	"updated_at":       {page.Time("updated_at", "p.updated_at"), page.ID("p.id")},
	"last_activity_at": {page.Time("last_activity_at", "p.last_activity_at"), page.ID("p.id")},
	"star_count":       {page.Int("star_count", "p.star_count"), page.ID("p.id")},
}

const sizeOfRepository = "COALESCE((SELECT z.repository_size FROM project_measures z WHERE z.project_id = p.id), 0)"

const (
	sizeOfPackages = `COALESCE((SELECT SUM(y.size) FROM package_files y WHERE y.project_id = p.id), 0)`

	sizeOfWiki = `COALESCE((SELECT y.size FROM wikis z JOIN attached_repositories y ON y.name = z.repository WHERE z.project_id = p.id), 0)`

	sizeOfSnippets = `COALESCE((SELECT SUM(y.size) FROM snippets z JOIN attached_repositories y ON y.name = z.repository WHERE z.project_id = p.id), 0)`
)

// sizeOrders are those for administrators.
var sizeOrders = page.Orders{
	"packages_size":   {page.Computed(sizeOfPackages), page.ID("p.id")},
	"wiki_size":       {page.Computed(sizeOfWiki), page.ID("p.id")},
	"repository_size": {page.Computed(sizeOfRepository), page.ID("p.id")},
	"storage_size":    {page.Computed(storage), page.ID("p.id")},
}

// relevance is filter.ByRelevance.
const relevance = "relevance"

// order returns what a list is sorted by. What the actor may not sort by, and similarity
// to nothing, is the order of the ids.
func (f Filter) order(as authz.Actor) page.Order {
	if (f.OrderBy == "similarity" || f.OrderBy == relevance) && f.Search != "" {
		score, args := namespace.Similarity("p.name_fold", "p.path", f.Search)
		return page.Order{page.Computed(score, args...).Desc(), page.ID("p.id").Desc()}
	}
	order := orders.By(f.OrderBy)
	if size, ok := sizeOrders[f.OrderBy]; ok && as.Admin {
		order = size
	}
	if f.Asc {
		return order
	}
	return order.Desc()
}

// CodeUnpaired is the error of a list that is narrowed by the time of the last change and sorted by
// something else.
const CodeUnpaired errs.Code = "project_list_unpaired"

// List returns the projects that the actor may see, with the actor's level in each.
func (s *Service) List(ctx context.Context, as authz.Actor, f Filter) (page.Page[*Project], error) {
	none := page.Page[*Project]{}
	if err := s.Policy.Require(ctx, as, authz.ListProjects, authz.Subject{}); err != nil {
		return none, err
	}
	if f.Search != "" && f.Parent == nil {
		if err := s.Settings.Searchable(as.SignedIn() || as.Admin); err != nil {
			return none, err
		}
	}
	if f.everywhere() {
		if err := s.Limits.Check(limit.ProjectsList, as); err != nil {
			return none, err
		}
	}
	if (f.UpdatedAfter != nil || f.UpdatedBefore != nil) && f.OrderBy != "updated_at" {
		return none, errs.Coded(errs.BadRequest, CodeUnpaired, "a list narrowed by the last change is sorted by it too")
	}
	w, err := s.conditions(as, f)
	if err != nil {
		return none, err
	}
	candidates := s.candidates(as, f, w)
	policy := s.Policy.Listing()
	if least := f.least(); least > authz.NoAccess {
		reach, args := policy.ReachSQL(as, least)
		w.And("p.namespace_id IN ("+reach+")", args...)
	}
	if as.Admin || as.Auditor {
		policy.Within(as, "p.namespace_id", &w)
	}
	hidden := f.least() == authz.NoAccess && !as.Admin && !as.Auditor // members see what they belong to
	if hidden {
		seen, args := policy.VisibleProjectsSQL(as, "n")
		w.And(seen, args...)
		if f.Visibility == nil {
			w.Raw("n.id = p.namespace_id")
		}
	}
	level, args := s.Policy.LevelSQL(as, "p.namespace_id")
	q := page.Query{
		Columns: columns + ", " + level + " AS actor_level", ColumnArgs: args, From: tables,
		Where: w, Order: f.order(as), Key: "p.id", Narrow: f.tables(hidden), Candidates: candidates,
	}
	if f.OrderBy == relevance {
		q.Common = page.Order{page.ID("p.id")}.Desc()
	}
	rows, err := page.Select[row](ctx, s.DB, q, f.Range)
	if err != nil {
		return none, fmt.Errorf("list projects: %w", err)
	}
	return page.Map(rows, func(r *row) *Project { return r.project() }), nil
}

// texts are searched.
var texts = db.Trigrams{Table: "projects", Columns: []string{"name_fold", "LOWER(path)", "description_fold"}}

// Indexed returns the texts that lists search.
func (s *Service) Indexed() db.Trigrams { return texts }

// candidates are the conditions that an index serves beside the order of the list.
func (s *Service) candidates(as authz.Actor, f Filter, shown db.Where) []page.Candidates {
	var out []page.Candidates
	if f.Search != "" && !f.SearchNamespaces {
		if query, args, ok := s.DB.Holding(texts, []string{db.Fold(f.Search)}); ok {
			out = append(out, page.Candidates{SQL: query, Args: args})
		}
	}
	if f.Parent != nil {
		query, args := s.inPlace(f)
		return append(out, page.Candidates{SQL: query, Args: args})
	}
	var places, table string
	var args []any
	ok, policy := true, s.Policy.Listing()
	if least := f.least(); least > authz.NoAccess {
		reach, more := policy.ReachSQL(as, least)
		places, args, table = "SELECT DISTINCT namespace_id AS id FROM ("+reach+") reached", more, "projects p"
	} else {
		places, args, ok = policy.VisibleProjectIDsSQL(as)
	}
	if ok {
		shown.Raw("p.namespace_id = place.id")
		out = append(out, page.Candidates{
			SQL:  "SELECT p.id FROM (" + places + ") place CROSS JOIN " + f.tables(false) + shown.SQL(),
			Args: append(slices.Clip(args), shown.Args()...), Exact: true, Costly: true, Table: table,
		})
	}
	return out
}

// archived is the condition that a project is read-only.
var archived = "(p.archived OR " + namespace.InArchived("p.namespace_id") + ")"

// marked is the condition that a project is to be deleted.
var marked = "(p.marked_for_deletion_on IS NOT NULL OR " + namespace.InMarked("p.namespace_id") + ")"

// conditions are those of the filter, but for what the actor may see.
func (s *Service) conditions(as authz.Actor, f Filter) (db.Where, error) {
	var w db.Where
	if f.SearchNamespaces {
		w.Raw("r.namespace_id = p.namespace_id")
	}
	if !f.PendingDelete || !as.Admin {
		w.Raw("NOT p.pending_delete")
	}
	if f.Parent != nil {
		place, args := s.inPlace(f)
		w.And("p.id IN ("+place+")", args...)
	}
	s.membership(&w, as, f)
	f.search(&w)
	if f.Visibility != nil {
		w.And("n.id = p.namespace_id AND n.visibility = ?", *f.Visibility)
	}
	if f.Archived != nil {
		w.Raw(map[bool]string{true: "", false: "NOT "}[*f.Archived] + archived)
	}
	if f.Active != nil {
		if *f.Active {
			w.Raw("NOT " + archived + " AND NOT " + marked)
		} else {
			w.Raw("(" + archived + " OR " + marked + ")")
		}
	}
	if f.Unmarked {
		w.Raw("NOT " + marked)
	}
	if f.Nothing {
		w.Raw("1 = 0")
	}
	f.named(&w)
	if f.MarkedOn != "" {
		w.And("p.marked_for_deletion_on = ?", f.MarkedOn)
	}
	f.topics(&w)
	if f.TopicID != 0 {
		w.And("p.id IN (SELECT project_id FROM project_topics WHERE topic_id = ?)", f.TopicID)
	}
	attribute.Having(&w, as, attribute.Project, "p.id", f.Attributes)
	if f.Storage != "" && as.Admin {
		w.And("p.storage = ?", f.Storage)
	}
	f.window(&w)
	return w, nil
}

// search looks into names, paths and descriptions, as a whole where fewer than three letters are
// given.
func (f Filter) search(w *db.Where) {
	if f.Search == "" {
		return
	}
	term, match := db.Fold(strings.TrimSpace(f.Search)), " = ?"
	if db.Partial(term) {
		term, match = "%"+db.LikePattern(term)+"%", ` LIKE ? ESCAPE '\'`
	}
	cond, args := "p.name_fold"+match+" OR LOWER(p.path)"+match+" OR p.description_fold"+match, []any{term, term, term}
	if f.SearchNamespaces {
		cond, args = cond+" OR r.path_fold"+match, append(args, term)
	}
	w.And("("+cond+")", args...)
}

// named adds that a project is one of those that the filter names.
func (f Filter) named(w *db.Where) {
	if f.IDs != nil {
		w.In("p.id", f.IDs)
	}
	if f.Paths != nil {
		folded := make([]string, len(f.Paths))
		for i, path := range f.Paths {
			folded[i] = db.Fold(path)
		}
		marks, args := db.Marks(folded)
		w.And("p.namespace_id IN (SELECT x.namespace_id FROM routes x WHERE x.path_fold IN ("+marks+"))", args...)
	}
	if f.PersonalOf != 0 {
		w.And("p.parent_id = (SELECT x.namespace_id FROM users x WHERE x.id = ?)", f.PersonalOf)
	}
}

// topics adds that a project has all topics, which are looked up at once.
func (f Filter) topics(w *db.Where) {
	if len(f.Topics) == 0 {
		return
	}
	names := make([]string, len(f.Topics))
	for i, topic := range f.Topics {
		names[i] = db.Fold(topic)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	marks, args := db.Marks(names)
	w.And("p.id IN (SELECT l.project_id FROM project_topics l JOIN topics t ON t.id = l.topic_id WHERE t.name_fold IN ("+marks+
		") GROUP BY l.project_id HAVING COUNT(DISTINCT t.name_fold) = ?)", append(args, len(names))...)
}

// tables are what the conditions speak of, with the projects' namespaces where placed or
// the filter asks for them. SQLite reads the tables of a CROSS JOIN in their order, and so
// walks along the order of the list.
func (f Filter) tables(placed bool) string {
	tables := "projects p"
	if placed || f.Visibility != nil {
		tables += " CROSS JOIN namespaces n"
	}
	if f.SearchNamespaces {
		tables += " CROSS JOIN routes r"
	}
	return tables
}

// least is the level that the actor must have in the projects.
func (f Filter) least() authz.Level {
	least := f.MinLevel
	if f.Membership {
		least = max(least, authz.Guest)
	}
	if f.Owned {
		least = max(least, authz.Owner)
	}
	return least
}

// inPlace selects the projects of the group that the filter names, each once, as id. Each
// part of it has an index; PostgreSQL reads the whole table where OR joins them.
func (s *Service) inPlace(f Filter) (query string, args []any) {
	const below = "SELECT x.id FROM projects x WHERE x.parent_id "
	const shared = "SELECT x.id FROM shares s JOIN projects x ON x.namespace_id = s.namespace_id WHERE s.group_id = ? AND (s.expires_on IS NULL OR s.expires_on > ?)"
	today := s.Now().UTC().Format(time.DateOnly)
	if f.OnlyShared {
		return shared, []any{*f.Parent, today}
	}
	query, args = below+"= ?", []any{*f.Parent}
	if f.Subgroups {
		query = below + "IN (SELECT namespace_id FROM namespace_ancestors WHERE ancestor_id = ?)"
	}
	if f.Ancestors {
		query, args = query+" UNION "+below+"IN "+namespace.AboveSQL, append(args, *f.Parent)
	}
	if f.Shared {
		query, args = query+" UNION "+shared, append(args, *f.Parent, today)
	}
	return query, args
}

// membership adds what the actor must be to the projects.
func (s *Service) membership(w *db.Where, as authz.Actor, f Filter) {
	if f.Imported {
		w.And("(p.settings LIKE ? OR p.settings LIKE ?) AND p.creator_id = ?", `%"import_url":"%`, `%"import_type":"%`, as.UserID)
	}
	if f.Language != "" {
		w.And("p.id IN (SELECT project_id FROM project_languages WHERE name_fold = ?)", db.Fold(f.Language))
	}
	if f.ForkedFrom != 0 {
		w.And("p.forked_from_id = ?", f.ForkedFrom)
	}
	if f.Starred {
		w.And("p.id IN (SELECT project_id FROM stars WHERE user_id = ?)", as.UserID)
	}
	open := " AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = ? AND u.private_profile)"
	for _, by := range []struct {
		user  authz.UserID
		query string
	}{
		{f.StarredBy, "SELECT project_id FROM stars WHERE user_id = ?"},
		{f.ContributedBy, "SELECT project_id FROM events WHERE author_id = ? AND project_id IS NOT NULL"},
	} {
		switch {
		case by.user == 0:
		case as.Admin || as.Is(by.user) || !s.Settings.Current().MakeProfilePrivate:
			w.And("p.id IN ("+by.query+")", by.user)
		default:
			w.And("p.id IN ("+by.query+")"+open, by.user, by.user)
		}
	}
	for _, feature := range []struct {
		on     bool
		column string
	}{{f.Issues, "p.issues_access"}, {f.MergeRequests, "p.merge_requests_access"}} {
		if !feature.on {
			continue
		}
		if as.Admin || !as.SignedIn() {
			w.And(feature.column+" >= ?", map[bool]authz.FeatureAccess{true: authz.FeatureMembers, false: authz.FeatureEnabled}[as.Admin])
			continue
		}
		reach, args := s.Policy.Listing().ReachSQL(as, authz.Guest)
		w.And("("+feature.column+" >= 20 OR "+feature.column+" >= 10 AND p.namespace_id IN ("+reach+"))", args...)
	}
}

// window adds the bounds of ids and times.
func (f Filter) window(w *db.Where) {
	if f.IDAfter != 0 {
		w.And("p.id > ?", f.IDAfter)
	}
	if f.IDBefore != 0 {
		w.And("p.id < ?", f.IDBefore)
	}
	w.Since("p.last_activity_at", f.ActiveAfter)
	w.Until("p.last_activity_at", f.ActiveBefore)
	w.Since("p.updated_at", f.UpdatedAfter)
	w.Until("p.updated_at", f.UpdatedBefore)
}
