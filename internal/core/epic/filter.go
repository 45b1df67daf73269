package epic

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/noteable"
)

// Filter selects epics; the zero value selects those of the group itself that the actor may read.
type Filter struct {
	State         State // "" for both
	IDs           []ID
	IIDs          []IID
	Parents       []ID // any of them, as far as the actor may read them
	Author        filter.Person
	Labels        []string // all of them
	LabelWildcard filter.Wildcard
	Search        string   // words that all stand in one of the fields of In
	In            []string // title, description; empty means both
	Confidential  *bool
	Reaction      string // the actor's own; None or Any in any case. Ignored without an actor
	Ancestors     bool   // those of the groups above as well
	Descendants   bool   // those of the subgroups as well
	TopLevel      bool   // leave out those with a parent

	filter.Times
	Not filter.Not

	OrderBy string // a key of orders, created_at where empty
	Asc     bool

	page.Range
}

// rows are the epics of a list (e).
var rows = filter.Rows{Alias: "e", Kind: noteable.Epic}

var authors = rows.Authors()

// orders are the orders of a list.
var orders = page.Orders{
	"":           {page.Time("created_at", "e.created_at"), page.ID("e.id")},
	"updated_at": {page.Time("updated_at", "e.updated_at"), page.ID("e.id")},
	"title":      {page.Text("title", "e.title_fold"), page.ID("e.id")},
	byHand:       {page.Int("relative_position", "e.relative_position"), page.ID("e.id")},
}

// order gives the order of the list.
func (f Filter) order() page.Order {
	if f.Asc {
		return orders.By(f.OrderBy)
	}
	return orders.By(f.OrderBy).Desc()
}

// where collects the conditions of the filter on a row of epics (e); the place and the actor's
// rights are added by the caller.
func (f Filter) where(w *db.Where, as authz.Actor, now time.Time) {
	if f.State != "" {
		w.And("e.state = ?", f.State)
	}
	if f.TopLevel {
		w.Raw("e.parent_id IS NULL")
	}
	if len(f.IDs) > 0 {
		w.In("e.id", f.IDs)
	}
	if len(f.IIDs) > 0 {
		w.In("e.iid", f.IIDs)
	}
	authors.Is(w, f.Author)
	rows.Labels(w, f.Labels, f.LabelWildcard)
	rows.Search(w, filter.Words{Terms: filter.Terms(f.Search)}, f.In)
	if f.Confidential != nil {
		w.And("e.confidential = ?", *f.Confidential)
	}
	rows.Reaction(w, as, f.Reaction)
	rows.Times(w, f.Times)
	rows.Not(w, as, f.Not, now)
}
