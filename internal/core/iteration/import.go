package iteration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/namespace"
	"tenon/internal/core/tree"
)

// Writers says how cadences of groups are imported, with their iterations. The format does not say that a cadence is automatic.
func (s *Service) Writers() []tree.Writer {
	return append(s.issueWriters(), tree.Write("iterations_cadences", s.importCadences), tree.Write("iterations", s.importIterations))
}

func (s *Service) importCadences(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedOfGroup]) error {
	var made []Cadence
	var of []*tree.State
	for _, r := range rows {
		c := Cadence{
			NamespaceID: w.At.Namespace, Title: strings.TrimSpace(r.Value.Title), Description: r.Value.Description, Active: r.Value.Active,
			StartDate: r.Value.StartDate, CreatedAt: r.Value.CreatedAt, UpdatedAt: r.Value.UpdatedAt,
		}
		if bad := c.check(); len(bad) > 0 {
			r.Fail(bad.Err().Error())
			continue
		}
		made, of = append(made, c), append(of, r.State)
	}
	ids, err := db.InsertAll(ctx, s.DB, "iteration_cadences", made)
	if err != nil {
		return fmt.Errorf("insert cadences: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}

// importIterations writes the iterations of cadences that were written just before: those of one cadence do not overlap.
func (s *Service) importIterations(ctx context.Context, w *tree.Writing, rows []*tree.Row[exportedOfCadence]) error {
	iids := make([]IID, len(rows))
	for i, r := range rows {
		iids[i] = IID(r.Value.IID)
	}
	var where db.Where
	where.And("namespace_id = ?", w.At.Namespace)
	where.In("iid", iids)
	list, err := db.Select[IID](ctx, s.DB, "SELECT iid FROM iterations"+where.SQL()+" ORDER BY iid", where.Args()...)
	if err != nil {
		return fmt.Errorf("numbers of iterations: %w", err)
	}
	taken := map[IID]bool{}
	for _, iid := range list {
		taken[iid] = true
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b *tree.Row[exportedOfCadence]) int {
		return strings.Compare(a.Value.StartDate, b.Value.StartDate)
	})
	var made []Iteration
	var of []*tree.State
	last, count, highest := map[int64]string{}, map[int64]int64{}, int64(0)
	for _, r := range rows {
		i := Iteration{
			IID: IID(r.Value.IID), CadenceID: CadenceID(r.Parent), NamespaceID: w.At.Namespace, Description: r.Value.Description, StartDate: r.Value.StartDate,
			DueDate: r.Value.DueDate, CreatedAt: r.Value.CreatedAt, UpdatedAt: r.Value.UpdatedAt,
		}
		switch bad := i.check(); {
		case len(bad) > 0:
			r.Fail(bad.Err().Error())
			continue
		case i.IID <= 0 || taken[i.IID]:
			r.Fail("iid has already been taken")
			continue
		case i.StartDate <= last[r.Parent]:
			r.Fail("its dates overlap with those of another iteration of the cadence")
			continue
		}
		taken[i.IID], last[r.Parent], highest = true, i.DueDate, max(highest, int64(i.IID))
		count[r.Parent]++
		i.Sequence = count[r.Parent]
		made, of = append(made, i), append(of, r.State)
	}
	if len(made) == 0 {
		return nil
	}
	if err := namespace.RaiseIID(ctx, s.DB, w.At.Namespace, namespace.KindIteration, highest); err != nil {
		return err
	}
	ids, err := db.InsertAll(ctx, s.DB, "iterations", made)
	if err != nil {
		return fmt.Errorf("insert iterations: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}
