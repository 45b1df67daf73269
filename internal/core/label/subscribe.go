package label

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Subscribe registers what happens with labels when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "labels of former groups", s.OnTransferred)
	event.On(b, "labels", s.OnProjectRemoving)
	event.On(b, "labels", s.OnGroupRemoving)
	event.On(b, "labels of former groups", s.OnGroupTransferred)
}

// OnTransferred replaces the labels of former groups on the issues and merge requests of a
// project that was transferred: by the label of that title which the project may use now, or
// by a copy in the project.
func (s *Service) OnTransferred(ctx context.Context, e project.Transferred) error {
	const carried = `(ll.target_type = ? AND ll.target_id IN (SELECT id FROM issues WHERE project_id = ?)
		OR ll.target_type = ? AND ll.target_id IN (SELECT id FROM merge_requests WHERE target_project_id = ?))`
	p := &e.Project
	things := []any{noteable.Issue, p.ID, noteable.MergeRequest, p.ID}
	ids, err := db.Select[ID](ctx, s.db, "SELECT DISTINCT ll.label_id FROM label_links ll WHERE "+carried+" ORDER BY ll.label_id", things...)
	if err != nil {
		return fmt.Errorf("labels of the project's issues: %w", err)
	}
	for chunk := range slices.Chunk(ids, db.MaxArgs-1) {
		next, err := s.Successors(ctx, e.By, p, chunk)
		if err != nil {
			return err
		}
		for _, l := range next {
			args := append([]any{l.To, l.From}, things...)
			if _, err := s.db.Exec(ctx, `INSERT INTO label_links (target_type, target_id, label_id)
				SELECT ll.target_type, ll.target_id, CAST(? AS BIGINT) FROM label_links ll WHERE ll.label_id = ? AND `+carried+` ON CONFLICT DO NOTHING`, args...); err != nil {
				return fmt.Errorf("replace label: %w", err)
			}
			if _, err := s.db.Exec(ctx, "DELETE FROM label_links AS ll WHERE ll.label_id = ? AND "+carried, args[1:]...); err != nil {
				return fmt.Errorf("replace label: %w", err)
			}
			if err := s.movePriority(ctx, p.ID, l.From, l.To); err != nil {
				return err
			}
		}
	}
	return nil
}

// OnGroupTransferred replaces the labels of former groups on the epics, issues and merge requests of
// a group that was transferred and of all below it: by the label of that title which the group may use
// now, or by a copy in the group.
func (s *Service) OnGroupTransferred(ctx context.Context, e namespace.GroupTransferred) error {
	const inside = "(SELECT a.namespace_id FROM namespace_ancestors a WHERE a.ancestor_id = ?)"
	const carried = `(ll.target_type = ? AND ll.target_id IN (SELECT x.id FROM epics x WHERE x.group_id IN ` + inside + `)
		OR ll.target_type = ? AND ll.target_id IN (SELECT x.id FROM issues x JOIN projects p ON p.id = x.project_id WHERE p.namespace_id IN ` + inside + `)
		OR ll.target_type = ? AND ll.target_id IN (SELECT x.id FROM merge_requests x JOIN projects p ON p.id = x.target_project_id WHERE p.namespace_id IN ` + inside + "))"
	g := &e.Group
	things := []any{noteable.Epic, g.ID, noteable.Issue, g.ID, noteable.MergeRequest, g.ID}
	ids, err := db.Select[ID](ctx, s.db, "SELECT DISTINCT ll.label_id FROM label_links ll JOIN labels l ON l.id = ll.label_id WHERE "+carried+
		" AND l.namespace_id NOT IN "+inside+" ORDER BY ll.label_id", append(slices.Clip(things), g.ID)...)
	if err != nil {
		return fmt.Errorf("labels of the group's things: %w", err)
	}
	for chunk := range slices.Chunk(ids, db.MaxArgs-1) {
		next, err := s.successors(ctx, e.By, Of(g), chunk)
		if err != nil {
			return err
		}
		for _, l := range next {
			args := append([]any{l.To, l.From}, things...)
			if _, err := s.db.Exec(ctx, `INSERT INTO label_links (target_type, target_id, label_id)
				SELECT ll.target_type, ll.target_id, CAST(? AS BIGINT) FROM label_links ll WHERE ll.label_id = ? AND `+carried+` ON CONFLICT DO NOTHING`, args...); err != nil {
				return fmt.Errorf("replace label: %w", err)
			}
			if _, err := s.db.Exec(ctx, "DELETE FROM label_links AS ll WHERE ll.label_id = ? AND "+carried, args[1:]...); err != nil {
				return fmt.Errorf("replace label: %w", err)
			}
		}
	}
	return nil
}

// Successor is what becomes of a label where a project is transferred.
type Successor struct{ From, To ID }

// Successors gives for those of the labels that a project cannot use after its transfer the
// ones that take their places: of that title in the groups that it stands in now, or copies
// in the project. Call it in the transaction of the transfer. It asks for no permission.
func (s *Service) Successors(ctx context.Context, as authz.Actor, p *project.Project, ids []ID) ([]Successor, error) {
	return s.successors(ctx, as, In(p), ids)
}

// successors is Successors for a project or a group.
func (s *Service) successors(ctx context.Context, as authz.Actor, at Place, ids []ID) ([]Successor, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	w.In("l.id", ids)
	w.And("l.namespace_id NOT IN (SELECT a.ancestor_id FROM namespace_ancestors a WHERE a.namespace_id = ?)", at.Namespace)
	former, err := db.Select[Label](ctx, s.db, "SELECT "+columns+" FROM labels l"+w.SQL()+" ORDER BY l.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("labels of former groups: %w", err)
	}
	titles := make([]string, len(former))
	for i := range former {
		titles[i] = former[i].Title
	}
	known, err := s.named(ctx, at.Namespace, titles)
	if err != nil {
		return nil, fmt.Errorf("labels by name: %w", err)
	}
	out := make([]Successor, 0, len(former))
	for _, old := range former {
		next, ok := known[old.Title]
		if !ok {
			if next, err = s.copyTo(ctx, as, at, old); err != nil {
				return nil, err
			}
			known[next.Title] = next
		}
		out = append(out, Successor{old.ID, next.ID})
	}
	return out, nil
}

// copyTo creates a label with the title, color and description of another one.
func (s *Service) copyTo(ctx context.Context, as authz.Actor, at Place, from Label) (Label, error) {
	now := db.At(s.now())
	l := Label{NamespaceID: at.Namespace, Title: from.Title, Color: from.Color, Description: from.Description, CreatedAt: now, UpdatedAt: now}
	l.fold()
	id, err := db.Insert(ctx, s.db, "labels", l)
	if err != nil {
		return l, fmt.Errorf("copy label: %w", err)
	}
	l.ID = ID(id)
	return l, s.bus.Publish(ctx, Created{Stamp: as.Stamp(s.now()), Label: l, Place: at})
}
