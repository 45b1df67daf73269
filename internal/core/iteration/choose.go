package iteration

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// Choice names one iteration: by its id, by its title, or as the current or the next one of a
// cadence.
type Choice struct {
	ID           ID
	Title        string
	State        State     // Current, or Upcoming for the next one
	Cadence      CadenceID // 0 for any
	CadenceTitle string    // "" for any
}

// Choose finds the iteration that a choice names among those of the groups of a place, the
// first by date of several. It returns NotFound for none.
func (s *Service) Choose(ctx context.Context, as authz.Actor, at authz.Place, c Choice) (*Iteration, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadIteration, at.Subject); err != nil {
		return nil, err
	}
	var w db.Where
	w.And("i.namespace_id IN "+namespace.AboveSQL, at.Namespace)
	switch {
	case c.ID != 0:
		w.And("i.id = ?", c.ID)
	case c.Title != "":
		w.And("i.title = ?", c.Title)
	default:
		InState(&w, "i", c.State, s.Now())
	}
	if c.Cadence != 0 {
		w.And("c.id = ?", c.Cadence)
	}
	if c.CadenceTitle != "" {
		w.And("c.title = ?", c.CadenceTitle)
	}
	i, err := db.Get[Iteration](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL()+" ORDER BY i.start_date, i.id LIMIT 1", w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Iteration")
	}
	if err != nil {
		return nil, fmt.Errorf("choose iteration: %w", err)
	}
	return &i, nil
}
