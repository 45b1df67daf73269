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
	In            []string // where to search: title, description; empty means both
	TopLevel      bool     // leave out those with a parent

	Selection
	Not filter.Not

	OrderBy string // a key of orders, created_at where empty
	Asc     bool

	page.Range
}

// Selection is the part of a Filter that calls send as it is. A field is a parameter of REST by its tags, and an argument of a list
// of GraphQL that has one of its name. What has the tag db selects the rows with this value in the column.
type Selection struct {
	Search       string `param:"search" doc:"Search in titles and descriptions"`
	Confidential *bool  `db:"confidential" param:"confidential" doc:"Confidential or not"`
	Reaction     string `json:"myReactionEmoji" param:"my_reaction_emoji" doc:"Return items the current user reacted to with this emoji, None or Any"` // in any case; ignored without an actor
	Ancestors    bool   `json:"includeAncestorGroups" param:"include_ancestor_groups" default:"false" doc:"Include epics of ancestor groups"`
	Descendants  bool   `json:"includeDescendantGroups" param:"include_descendant_groups" default:"true" doc:"Include epics of subgroups"`
	filter.Times
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

// order returns the order of the list.
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
	w.Equal("e", f.Selection)
	rows.Reaction(w, as, f.Reaction)
	rows.Times(w, f.Times)
	rows.Not(w, as, f.Not, now)
}
