package label

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Subscribe registers what happens with labels when something else happens.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "labels of former groups", s.OnTransferred)
}

// OnTransferred replaces the labels of former groups on the issues and merge requests of a
// project that was transferred: by the label of that title which the project may use now, or
// by a copy in the project.
func (s *Service) OnTransferred(ctx context.Context, e project.Transferred) error {
	const carried = `(ll.target_type = ? AND ll.target_id IN (SELECT id FROM issues WHERE project_id = ?)
		OR ll.target_type = ? AND ll.target_id IN (SELECT id FROM merge_requests WHERE target_project_id = ?))`
	p := &e.Project
	things := []any{noteable.Issue, p.ID, noteable.MergeRequest, p.ID}
	former, err := db.Select[Label](ctx, s.db, "SELECT "+columns+` FROM labels l
		WHERE l.id IN (SELECT ll.label_id FROM label_links ll WHERE `+carried+`)
		AND l.namespace_id NOT IN (SELECT a.ancestor_id FROM namespace_ancestors a WHERE a.namespace_id = ?) ORDER BY l.id`,
		append(things, p.NamespaceID)...)
	if err != nil {
		return fmt.Errorf("labels of former groups: %w", err)
	}
	titles := make([]string, len(former))
	for i := range former {
		titles[i] = former[i].Title
	}
	known := make(map[string]Label, len(titles))
	for chunk := range slices.Chunk(titles, db.MaxArgs) {
		found, err := s.named(ctx, p.NamespaceID, chunk)
		if err != nil {
			return fmt.Errorf("labels by name: %w", err)
		}
		maps.Copy(known, found)
	}
	for _, old := range former {
		next, ok := known[old.Title]
		if !ok {
			if next, err = s.copyTo(ctx, e.By, In(p), old); err != nil {
				return err
			}
			known[next.Title] = next
		}
		args := append([]any{next.ID, old.ID}, things...)
		if _, err := s.db.Exec(ctx, `INSERT INTO label_links (target_type, target_id, label_id)
			SELECT ll.target_type, ll.target_id, CAST(? AS BIGINT) FROM label_links ll WHERE ll.label_id = ? AND `+carried+` ON CONFLICT DO NOTHING`, args...); err != nil {
			return fmt.Errorf("replace label: %w", err)
		}
		if _, err := s.db.Exec(ctx, "DELETE FROM label_links AS ll WHERE ll.label_id = ? AND "+carried, args[1:]...); err != nil {
			return fmt.Errorf("replace label: %w", err)
		}
	}
	return nil
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
