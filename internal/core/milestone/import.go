package milestone

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/tree"
)

// Writers says how milestones are imported: one of a group that is not here becomes the project's, with a number of its own. A group gets its own ones.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("milestones", s.importAll), tree.Write("milestone", s.importAll)}
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[exported]) error {
	titles := make([]string, len(rows))
	for i, r := range rows {
		r.Value.Title = strings.TrimSpace(r.Value.Title)
		titles[i] = r.Value.Title
	}
	known, err := s.titled(ctx, w, titles)
	if err != nil {
		return err
	}
	var made []Milestone
	var of [][]*tree.Row[exported] // rows that are one milestone
	places := map[string]int{}
	for _, r := range rows {
		if m, ok := known[r.Value.Title]; ok && (m.NamespaceID == w.At.Namespace || !w.Owns(r.Value.GroupID)) {
			r.Merge(int64(m.ID))
			continue
		}
		if at, ok := places[r.Value.Title]; ok {
			of[at] = append(of[at], r)
			continue
		}
		m := r.Value.milestone(w)
		if bad := m.check(); len(bad) > 0 {
			r.Fail(bad.Err().Error())
			continue
		}
		if r.Value.ProjectID == nil && r.Value.GroupID != nil && !w.At.Group {
			m.IID = 0
			r.Change("the group's milestone became one of the project")
		}
		places[m.Title] = len(made)
		made, of = append(made, m), append(of, []*tree.Row[exported]{r})
	}
	if err := s.importNumbers(ctx, w, made); err != nil {
		return err
	}
	ids, err := db.InsertAll(ctx, s.DB, "milestones", made)
	if err != nil {
		return fmt.Errorf("insert milestones: %w", err)
	}
	for i, id := range ids {
		of[i][0].ID = id
		for _, again := range of[i][1:] {
			again.Merge(id)
		}
	}
	return nil
}

func (e *exported) milestone(w *tree.Writing) Milestone {
	return Milestone{
		IID: IID(e.IID), NamespaceID: w.At.Namespace, Title: e.Title, Description: e.Description, State: State(e.State), StartDate: e.StartDate, DueDate: e.DueDate,
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
}

// titled is a milestone that a row may mean.
type titled struct {
	ID          ID                `db:"id"`
	NamespaceID authz.NamespaceID `db:"namespace_id"`
	Title       string            `db:"title"`
}

// titled finds the milestones of titles in the project and the groups above it, the nearest of each.
func (s *Service) titled(ctx context.Context, w *tree.Writing, titles []string) (map[string]titled, error) {
	var where db.Where
	where.And("a.namespace_id = ?", w.At.Namespace)
	where.In("m.title", titles)
	list, err := db.Select[titled](ctx, s.DB, "SELECT m.id, m.namespace_id, m.title FROM milestones m JOIN namespace_ancestors a ON a.ancestor_id = m.namespace_id"+where.SQL()+
		" ORDER BY a.depth DESC, m.id", where.Args()...)
	if err != nil {
		return nil, fmt.Errorf("milestones by title: %w", err)
	}
	out := make(map[string]titled, len(list))
	for _, m := range list {
		out[m.Title] = m // the nearest comes last
	}
	return out, nil
}

// importNumbers gives milestones their numbers. One that has the number of another one already moves to a fresh number.
func (s *Service) importNumbers(ctx context.Context, w *tree.Writing, made []Milestone) error {
	wanted, highest := map[IID]bool{}, int64(0)
	var iids []IID
	for i := range made {
		m := &made[i]
		if m.IID <= 0 || wanted[m.IID] {
			m.IID = 0
			continue
		}
		wanted[m.IID], highest, iids = true, max(highest, int64(m.IID)), append(iids, m.IID)
	}
	if highest > 0 {
		if err := namespace.RaiseIID(ctx, s.DB, w.At.Namespace, namespace.KindMilestone, highest); err != nil {
			return err
		}
		var where db.Where
		where.And("namespace_id = ?", w.At.Namespace)
		where.In("iid", iids)
		taken, err := db.Select[ID](ctx, s.DB, "SELECT id FROM milestones"+where.SQL()+" ORDER BY id", where.Args()...)
		if err != nil {
			return fmt.Errorf("numbers of milestones: %w", err)
		}
		for _, id := range taken {
			iid, err := namespace.NextIID(ctx, s.DB, w.At.Namespace, namespace.KindMilestone)
			if err != nil {
				return err
			}
			if _, err := s.DB.Exec(ctx, "UPDATE milestones SET iid = ? WHERE id = ?", iid, id); err != nil {
				return fmt.Errorf("number milestone: %w", err)
			}
		}
	}
	for i := range made {
		if made[i].IID != 0 {
			continue
		}
		iid, err := namespace.NextIID(ctx, s.DB, w.At.Namespace, namespace.KindMilestone)
		if err != nil {
			return err
		}
		made[i].IID = IID(iid)
	}
	return nil
}
