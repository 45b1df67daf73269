package iteration

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
)

// CadenceFilter selects cadences; the zero value selects those of the place itself.
type CadenceFilter struct {
	IDs       []CadenceID
	Title     string // part of the title, without regard to case
	Weeks     int64  // 0 for all
	Automatic *bool
	Active    *bool
	Ancestors bool // those of the groups above as well

	page.Range
}

// CadenceChanges are those of UpdateCadence; nil leaves alone.
type CadenceChanges struct {
	Title, Description *string
	Active, Automatic  *bool
	StartDate          *string // YYYY-MM-DD
	Weeks, Advance     *int64
}

var cadenceColumns = db.Columns[Cadence]("c")

// cadenceOrder is by title.
var cadenceOrder = page.Order{page.Text("title", "c.title_fold"), page.ID("c.id")}

// Cadences returns a page of the cadences of a place by title.
func (s *Service) Cadences(ctx context.Context, as authz.Actor, at authz.Place, f CadenceFilter) (page.Page[Cadence], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadIteration, at.Subject); err != nil {
		return page.Page[Cadence]{}, err
	}
	var w db.Where
	switch {
	case f.Ancestors:
		w.And("c.namespace_id IN "+namespace.AboveSQL, at.Namespace)
	case at.IsProject():
		w.And("c.namespace_id = (SELECT x.parent_id FROM namespaces x WHERE x.id = ?)", at.Namespace)
	default:
		w.And("c.namespace_id = ?", at.Namespace)
	}
	if len(f.IDs) > 0 {
		w.In("c.id", f.IDs)
	}
	if f.Title != "" {
		w.And(`c.title_fold LIKE ? ESCAPE '\'`, "%"+db.LikePattern(db.Fold(f.Title))+"%")
	}
	if f.Weeks != 0 {
		w.And("c.duration_in_weeks = ?", f.Weeks)
	}
	for _, flag := range []struct {
		column string
		want   *bool
	}{{"c.automatic", f.Automatic}, {"c.active", f.Active}} {
		if flag.want != nil {
			w.And(flag.column+" = ?", *flag.want)
		}
	}
	list, err := page.Select[Cadence](ctx, s.DB, page.Query{Columns: cadenceColumns, From: "iteration_cadences c", Where: w, Order: cadenceOrder}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list cadences: %w", err)
	}
	return list, nil
}

// CadencesByIDs returns those of the cadences with these ids whose group the actor may read, in one
// statement.
func (s *Service) CadencesByIDs(ctx context.Context, as authz.Actor, ids []CadenceID) (map[CadenceID]*Cadence, error) {
	out := make(map[CadenceID]*Cadence, len(ids))
	may, err := s.Policy.Can(ctx, as, authz.ReadIteration, authz.Subject{})
	if err != nil || !may || len(ids) == 0 {
		return out, err
	}
	var w db.Where
	w.In("c.id", ids)
	place, args := s.Policy.VisiblePlacesSQL(as, "n")
	w.And(place, args...)
	list, err := db.Select[Cadence](ctx, s.DB, "SELECT "+cadenceColumns+" FROM iteration_cadences c JOIN namespaces n ON n.id = c.namespace_id"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("cadences by id: %w", err)
	}
	for i := range list {
		out[list[i].ID] = &list[i]
	}
	return out, nil
}

// UpdateCadence changes a cadence of the group. Iterations that exist keep their dates; an automatic
// cadence gets those that it lacks in advance.
func (s *Service) UpdateCadence(ctx context.Context, as authz.Actor, at authz.Place, id CadenceID, c CadenceChanges) (*Cadence, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminIteration, at.Subject); err != nil {
		return nil, err
	}
	var out db.Change[Cadence]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, db.Row{Table: "iteration_cadences", ID: id, Now: s.Now, Missing: errs.Missing("Iteration Cadence")}, func(_ context.Context, cadence *Cadence) error {
			if cadence.NamespaceID != at.Namespace {
				return db.ErrNotFound
			}
			c.apply(cadence)
			return cadence.check().Err()
		})
		if err != nil {
			return err
		}
		return s.advance(ctx, as, &out.After)
	})
	if err != nil {
		return nil, errs.Wrap(err, "update cadence")
	}
	return &out.After, nil
}

// apply writes the changes into a cadence.
func (c CadenceChanges) apply(to *Cadence) {
	if c.Title != nil {
		to.Title = strings.TrimSpace(*c.Title)
	}
	if c.Description != nil {
		to.Description = c.Description
	}
	if c.StartDate != nil {
		to.StartDate = c.StartDate
	}
	for _, flag := range []struct{ to, of *bool }{{&to.Active, c.Active}, {&to.Automatic, c.Automatic}} {
		if flag.of != nil {
			*flag.to = *flag.of
		}
	}
	for _, number := range []struct{ to, of *int64 }{{&to.Weeks, c.Weeks}, {&to.Advance, c.Advance}} {
		if number.of != nil {
			*number.to = *number.of
		}
	}
}

// advance makes the iterations that an automatic cadence lacks in advance.
func (s *Service) advance(ctx context.Context, as authz.Actor, c *Cadence) error {
	if !c.Automatic {
		return nil
	}
	type present struct {
		Ahead int64   `db:"ahead"`
		Last  *string `db:"last"`
	}
	has, err := db.Get[present](ctx, s.DB, "SELECT COALESCE(SUM(CASE WHEN start_date > ? THEN 1 ELSE 0 END), 0) AS ahead, MAX(due_date) AS last FROM iterations WHERE cadence_id = ?",
		s.Now().UTC().Format(time.DateOnly), c.ID)
	if err != nil {
		return err
	}
	start := *c.StartDate
	if has.Last != nil && *has.Last >= start {
		last, err := time.Parse(time.DateOnly, *has.Last)
		if err != nil {
			return fmt.Errorf("due date of iteration: %w", err)
		}
		start = last.AddDate(0, 0, 1).Format(time.DateOnly)
	}
	return s.fill(ctx, as, c, start, c.Advance-has.Ahead)
}

// DeleteCadence removes a cadence of the group with its iterations; their issues have none afterwards.
func (s *Service) DeleteCadence(ctx context.Context, as authz.Actor, at authz.Place, id CadenceID) error {
	if err := s.Policy.Require(ctx, as, authz.AdminIteration, at.Subject); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		row := db.Row{Table: "iteration_cadences", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("Iteration Cadence")}
		row.And.And("namespace_id = ?", at.Namespace)
		_, err := db.Delete(ctx, s.DB, row, func(ctx context.Context, _ *Cadence) error {
			gone, err := db.Select[Iteration](ctx, s.DB, "SELECT "+columns+" FROM "+tables+" WHERE i.cadence_id = ? ORDER BY i.id", id)
			if err != nil {
				return err
			}
			for _, i := range gone {
				if err := s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), i.place(), &i)}); err != nil {
					return err
				}
			}
			return nil
		})
		return err
	})
	return errs.Wrap(err, "delete cadence")
}
