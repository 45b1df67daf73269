package milestone

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// Promote makes a project's milestone one of its group. It takes the place of the milestones
// of that title in all projects of the group. A project that is in no group is Forbidden.
func (s *Service) Promote(ctx context.Context, as authz.Actor, p *project.Project, id ID) (*Milestone, error) {
	at := p.Place()
	if err := s.Policy.Require(ctx, as, authz.AdminMilestone, at.Subject); err != nil {
		return nil, err
	}
	if p.Personal {
		return nil, errs.Denied("")
	}
	g, err := s.Namespaces.FindByID(ctx, as, p.ParentID)
	if err != nil {
		return nil, err
	}
	group := g.Place()
	if err := s.Policy.Require(ctx, as, authz.AdminMilestone, group.Subject); err != nil {
		return nil, err
	}
	var out Milestone
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		m, err := s.locked(ctx, at, id)
		if err != nil {
			return err
		}
		replaced, err := db.Select[ID](ctx, s.DB, `SELECT m.id FROM milestones m JOIN namespaces n ON n.id = m.namespace_id
			WHERE m.title = ? AND n.parent_id = ? AND n.kind = ? ORDER BY m.id`, m.Title, group.Namespace, namespace.ProjectKind)
		if err != nil {
			return err
		}
		now := db.At(s.Now())
		out = Milestone{
			NamespaceID: group.Namespace, Title: m.Title, Description: m.Description, State: m.State, StartDate: m.StartDate,
			DueDate: m.DueDate, CreatedAt: now, UpdatedAt: now, Path: group.Path,
		}
		if err := s.insert(ctx, &out); err != nil {
			return err
		}
		e := Promoted{Of: change.Created(as, s.Now(), group, &out), Replaces: replaced}
		if err := s.Bus.Publish(ctx, e); err != nil {
			return err
		}
		_, err = s.DB.Exec(ctx, `DELETE FROM milestones WHERE title = ? AND namespace_id IN
			(SELECT n.id FROM namespaces n WHERE n.parent_id = ? AND n.kind = ?)`, m.Title, group.Namespace, namespace.ProjectKind)
		return err
	})
	if db.Duplicate(err, "milestones", "namespace_id", "title") {
		return nil, errs.Plain("Promotion failed - Title " + taken)
	}
	if err != nil {
		return nil, missing(err, "promote milestone")
	}
	return &out, nil
}

// Successors returns for those of the milestones that a project or group cannot use after its transfer the ones that
// take their places. Call it in the transaction of the transfer. It asks for no permission.
func (s *Service) Successors(ctx context.Context, as authz.Actor, at authz.Place, ids []ID) ([]namespace.Successor[ID], error) {
	return namespace.Successors(ctx, s.DB, at.Namespace, ids, namespace.Titled[Milestone, ID]{
		Table: "milestones", Alias: "m", Columns: columns, From: tables,
		Key:  func(m *Milestone) (ID, string) { return m.ID, m.Title },
		Copy: func(ctx context.Context, all []Milestone) ([]ID, error) { return s.copiesIn(ctx, as, at, all) },
	})
}

// Table is one whose rows have milestones.
type Table struct {
	Update  string // "UPDATE" and the name, written by the package that owns the table
	Name    string
	Project string // the column of a row's project
}

// Promoted gives the rows of a table the milestone of the group for those that it replaces.
func (s *Service) Promoted(ctx context.Context, e Promoted, in Table) error {
	for ids := range slices.Chunk(e.Replaces, db.MaxArgs-1) {
		marks, args := db.Marks(ids)
		if _, err := s.DB.Exec(ctx, in.Update+" SET milestone_id = ? WHERE milestone_id IN ("+marks+")", append([]any{e.After.ID}, args...)...); err != nil {
			return fmt.Errorf("promoted milestone in %s: %w", in.Name, err)
		}
	}
	return nil
}

// ReplaceFormer replaces the milestones that a project or group cannot use after its transfer in the
// rows of a table. It asks for no permission.
func (s *Service) ReplaceFormer(ctx context.Context, as authz.Actor, at authz.Place, in Table) error {
	inside := " AND " + in.Project + " IN (SELECT p.id FROM projects p WHERE p.namespace_id IN " + namespace.InsideSQL + ")"
	successors := func(ctx context.Context, ids []ID) ([]namespace.Successor[ID], error) {
		return s.Successors(ctx, as, at, ids)
	}
	err := namespace.Replace(ctx, s.DB, "SELECT DISTINCT milestone_id FROM "+in.Name+" WHERE milestone_id IS NOT NULL"+inside+" ORDER BY milestone_id", []any{at.Namespace},
		successors, func(ctx context.Context, all []namespace.Successor[ID]) error {
			with, pairs := db.Pairs(namespace.Pairs(all))
			_, err := s.DB.Exec(ctx, with+in.Update+" SET milestone_id = pairs.b FROM pairs WHERE pairs.a = milestone_id"+inside, append(pairs, at.Namespace)...)
			return err
		})
	if err != nil {
		return fmt.Errorf("milestones of former groups in %s: %w", in.Name, err)
	}
	return nil
}

// copiesIn creates milestones like others.
func (s *Service) copiesIn(ctx context.Context, as authz.Actor, at authz.Place, from []Milestone) ([]ID, error) {
	last, err := namespace.NextIIDs(ctx, s.DB, at.Namespace, namespace.KindMilestone, len(from))
	if err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	out := slices.Clone(from)
	for i := range out {
		m := &out[i]
		m.ID, m.NamespaceID, m.ProjectID, m.Path, m.CreatedAt, m.UpdatedAt = 0, at.Namespace, project.IDOf(at), at.Path, now, now
		m.IID = IID(last - int64(len(out)-1-i))
	}
	rows, err := db.InsertAll(ctx, s.DB, "milestones", out)
	if err != nil {
		return nil, err
	}
	ids := make([]ID, len(rows))
	for i := range rows {
		ids[i], out[i].ID = ID(rows[i]), ID(rows[i])
	}
	return ids, s.Bus.Publish(ctx, Copied{Milestones: out, Place: at, Stamp: as.Stamp(s.Now())})
}
