package filter

import (
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/iteration"
)

// Iteration selects by the iteration of a row; the zero value selects all.
type Iteration struct {
	IDs   []iteration.ID // one of these; nil for all
	Title string
	Which Wildcard // None, Any or Current

	Cadences []iteration.CadenceID // in one of these; nil for all
}

// Current is the wildcard of iterations that run today.
const Current Wildcard = "current"

// Iteration adds that a row has the iteration. Now says which are current.
func (r Rows) Iteration(w *db.Where, x Iteration, now time.Time) {
	column := r.Alias + ".iteration_id"
	if x.Which == Current {
		today := now.UTC().Format(time.DateOnly)
		w.And(column+" IN (SELECT x.id FROM iterations x WHERE x.start_date <= ? AND x.due_date >= ?)", today, today)
	}
	if len(x.Cadences) > 0 {
		marks, args := db.Marks(x.Cadences)
		w.And(column+" IN (SELECT x.id FROM iterations x WHERE x.cadence_id IN ("+marks+"))", args...)
	}
	if len(x.IDs) > 0 {
		w.In(column, x.IDs)
	}
	if x.Title != "" {
		w.And(column+" IN (SELECT x.id FROM iterations x WHERE x.title = ?)", x.Title)
	}
	x.Which.Where(w, column+" IS NOT NULL")
}

// NotIteration adds that a row has none of the iterations.
func (r Rows) NotIteration(w *db.Where, x Iteration) {
	column := r.Alias + ".iteration_id"
	if len(x.IDs) > 0 {
		marks, args := db.Marks(x.IDs)
		w.And("("+column+" IS NULL OR "+column+" NOT IN ("+marks+"))", args...)
	}
	if x.Title != "" {
		w.And("("+column+" IS NULL OR "+column+" NOT IN (SELECT x.id FROM iterations x WHERE x.title = ?))", x.Title)
	}
	switch x.Which {
	case None:
		w.Raw(column + " IS NOT NULL")
	case Any:
		w.Raw(column + " IS NULL")
	}
}
