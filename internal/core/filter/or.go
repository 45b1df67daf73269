package filter

import (
	"tenon/internal/base/db"
	"tenon/internal/core/label"
)

// Or selects rows that have at least one of several values of a property. Rows meet every list that is not empty.
type Or struct {
	Authors, Assignees []string // usernames
	Labels             []string // titles
}

// Or adds that a row meets every list.
func (r Rows) Or(w *db.Where, x Or) {
	r.OrByColumn(w, x)
	r.OrByID(w, x)
}

// OrByColumn adds the conditions of Or that a row has columns for.
func (r Rows) OrByColumn(w *db.Where, x Or) { r.Authors().HasAny(w, x.Authors) }

// OrByID adds the conditions of Or that ask for nothing but the id of a row.
func (r Rows) OrByID(w *db.Where, x Or) {
	r.Assignees().HasAny(w, x.Assignees)
	label.HavingAny(w, r.Kind, r.Alias+".id", x.Labels)
}
