package milestone

import (
	"context"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Promote makes a project's milestone one of its group. It takes the place of the milestones
// of that title in all projects of the group. A project that stands in no group is Forbidden.
func (s *Service) Promote(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*Milestone, error) {
	at := In(p)
	if err := s.policy.Require(ctx, as, authz.AdminMilestone, at.Subject); err != nil {
		return nil, err
	}
	if p.Personal {
		return nil, errs.Denied("")
	}
	g, err := s.namespaces.FindByID(ctx, as, p.ParentID)
	if err != nil {
		return nil, err
	}
	group := Of(g)
	if err := s.policy.Require(ctx, as, authz.AdminMilestone, group.Subject); err != nil {
		return nil, err
	}
	var out Milestone
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		m, err := s.locked(ctx, at, id)
		if err != nil {
			return err
		}
		replaced, err := db.Select[ID](ctx, s.db, `SELECT m.id FROM milestones m JOIN namespaces n ON n.id = m.namespace_id
			WHERE m.title = ? AND n.parent_id = ? AND n.kind = ? ORDER BY m.id`, m.Title, group.Namespace, namespace.ProjectKind)
		if err != nil {
			return err
		}
		now := db.At(s.now())
		out = Milestone{
			NamespaceID: group.Namespace, Title: m.Title, Description: m.Description, State: m.State, StartDate: m.StartDate,
			DueDate: m.DueDate, CreatedAt: now, UpdatedAt: now, Path: group.Path,
		}
		if err := s.insert(ctx, &out); err != nil {
			return err
		}
		e := Promoted{Fact: Fact{Milestone: out, Place: group, Stamp: as.Stamp(s.now())}, Replaces: replaced}
		if err := s.bus.Publish(ctx, e); err != nil {
			return err
		}
		_, err = s.db.Exec(ctx, `DELETE FROM milestones WHERE title = ? AND namespace_id IN
			(SELECT n.id FROM namespaces n WHERE n.parent_id = ? AND n.kind = ?)`, m.Title, group.Namespace, namespace.ProjectKind)
		return err
	})
	if errors.Is(err, db.ErrDuplicate) {
		return nil, errs.Plain("Promotion failed - Title " + taken)
	}
	if err != nil {
		return nil, missing(err, "promote milestone")
	}
	return &out, nil
}

// Successor is what becomes of a milestone where a project is transferred.
type Successor struct{ From, To ID }

// Successors gives for those of the milestones that a project cannot use after its transfer
// the ones that take their places: of that title in the groups that it stands in now, or
// copies in the project. Call it in the transaction of the transfer. It asks for no permission.
func (s *Service) Successors(ctx context.Context, as authz.Actor, p *project.Project, ids []ID) ([]Successor, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In("m.id", ids)
	w.And("m.namespace_id NOT IN (SELECT a.ancestor_id FROM namespace_ancestors a WHERE a.namespace_id = ?)", p.NamespaceID)
	former, err := db.Select[Milestone](ctx, s.db, "SELECT "+columns+" FROM "+tables+w.SQL()+" ORDER BY m.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("milestones of former groups: %w", err)
	}
	titles := make([]string, len(former))
	for i := range former {
		titles[i] = former[i].Title
	}
	known, err := s.named(ctx, p.NamespaceID, titles)
	if err != nil {
		return nil, fmt.Errorf("milestones by title: %w", err)
	}
	out := make([]Successor, 0, len(former))
	for _, old := range former {
		next, ok := known[old.Title]
		if !ok {
			if next, err = s.copyTo(ctx, as, In(p), old); err != nil {
				return nil, fmt.Errorf("milestone for a former group's: %w", err)
			}
			known[old.Title] = next
		}
		out = append(out, Successor{old.ID, next})
	}
	return out, nil
}

// named reads the milestones that a place may use by title, the nearest of equal titles.
func (s *Service) named(ctx context.Context, ns authz.NamespaceID, titles []string) (map[string]ID, error) {
	out := make(map[string]ID, len(titles))
	if len(titles) == 0 {
		return out, nil
	}
	var w db.Where
	w.And("a.namespace_id = ?", ns)
	w.In("m.title", titles)
	rows, err := db.Select[Milestone](ctx, s.db, "SELECT m.id, m.title FROM milestones m JOIN namespace_ancestors a ON a.ancestor_id = m.namespace_id"+
		w.SQL()+" ORDER BY a.depth DESC, m.id", w.Args()...)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		out[rows[i].Title] = rows[i].ID // the nearest comes last
	}
	return out, nil
}

// copyTo creates a milestone like another one.
func (s *Service) copyTo(ctx context.Context, as authz.Actor, at Place, m Milestone) (ID, error) {
	now := db.At(s.now())
	m.ID, m.NamespaceID, m.ProjectID, m.Path, m.CreatedAt, m.UpdatedAt = 0, at.Namespace, at.ProjectID, at.Path, now, now
	if err := s.insert(ctx, &m); err != nil {
		return 0, err
	}
	return m.ID, s.bus.Publish(ctx, Created{Fact{Milestone: m, Place: at, Stamp: as.Stamp(s.now())}})
}
