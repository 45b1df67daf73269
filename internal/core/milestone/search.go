package milestone

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// search adds the words that are looked for.
func (f Filter) search(w *db.Where) {
	if f.InTitle != "" {
		w.And(`m.title_fold LIKE ? ESCAPE '\'`, "%"+db.LikePattern(db.Fold(f.InTitle))+"%")
	}
	if f.Search != "" {
		pattern := "%" + db.LikePattern(db.Fold(f.Search)) + "%"
		w.And(`(m.title_fold LIKE ? ESCAPE '\' OR m.description_fold LIKE ? ESCAPE '\')`, pattern, pattern)
	}
}

// texts are searched.
var texts = db.Trigrams{Table: "milestones", Columns: []string{"title_fold", "description_fold"}}.Bounded("description_fold", "")

// Indexed returns the texts that lists search.
func (s *Service) Indexed() db.Trigrams { return texts }

// Search returns the milestones that hold a text, of a project or group and of what the actor
// sees below it, or of all that it sees where the namespace is 0. It requires ReadMilestone on
// no place in particular: the caller has required the place. Archived projects are left out
// where the filter says so. The best match comes first.
func (s *Service) Search(ctx context.Context, as authz.Actor, below authz.NamespaceID, f Filter) (page.Page[Milestone], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadMilestone, authz.Subject{}); err != nil {
		return page.Page[Milestone]{}, err
	}
	var w db.Where
	visible, args := s.Policy.VisiblePlacesSQL(as, "n")
	w.And(visible, args...)
	if below != 0 {
		w.And("m.namespace_id IN (SELECT d.namespace_id FROM namespace_ancestors d WHERE d.ancestor_id = ?)", below)
	}
	if f.NonArchived {
		w.Raw("NOT COALESCE(p.archived, false) AND NOT " + namespace.InArchived("m.namespace_id"))
	}
	f.search(&w)
	q := page.Query{Columns: columns, From: tables, Where: w, Key: "m.id", Narrow: tables, Order: f.order()}
	if f.OrderBy == "" {
		whole := db.Fold(f.Search)
		q.Common = page.Order{page.ID("m.id")}.Desc()
		q.Order = append(page.Order{page.Computed(`(CASE WHEN m.title_fold = ? THEN 2 WHEN m.title_fold LIKE ? ESCAPE '\' THEN 1 ELSE 0 END)`,
			whole, "%"+db.LikePattern(whole)+"%").Desc()}, q.Common...)
	}
	if query, args, ok := s.DB.Holding(texts, []string{db.Fold(f.Search)}); ok {
		q.Candidates = []page.Candidates{{SQL: query, Args: args}}
	}
	list, err := page.Select[Milestone](ctx, s.DB, q, f.Range)
	if err != nil {
		return list, fmt.Errorf("search milestones: %w", err)
	}
	return list, nil
}

// order returns the order of a search that asks for one.
func (f Filter) order() page.Order {
	order := page.Order{page.Time("created_at", "m.created_at"), page.ID("m.id")}
	if f.Asc {
		return order
	}
	return order.Desc()
}
