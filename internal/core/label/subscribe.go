package label

import (
	"context"
	"fmt"

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

// OnTransferred replaces the labels of former groups on what is in a project that was transferred.
func (s *Service) OnTransferred(ctx context.Context, e project.Transferred) error {
	return s.replaceFormer(ctx, e.By, In(&e.Project))
}

// OnGroupTransferred replaces the labels of former groups on what is in a group that was transferred and all below it.
func (s *Service) OnGroupTransferred(ctx context.Context, e namespace.GroupTransferred) error {
	return s.replaceFormer(ctx, e.By, Of(&e.Group))
}

// replaceFormer replaces the labels of former groups on the epics, issues and merge requests of a place: by the
// label of that title which the place may use now, or by a copy in the place.
func (s *Service) replaceFormer(ctx context.Context, as authz.Actor, at Place) error {
	const carried = `(ll.target_type = ? AND ll.target_id IN (SELECT x.id FROM epics x WHERE x.group_id IN ` + namespace.InsideSQL + `)
		OR ll.target_type = ? AND ll.target_id IN (SELECT x.id FROM issues x JOIN projects p ON p.id = x.project_id WHERE p.namespace_id IN ` + namespace.InsideSQL + `)
		OR ll.target_type = ? AND ll.target_id IN (SELECT x.id FROM merge_requests x JOIN projects p ON p.id = x.target_project_id WHERE p.namespace_id IN ` + namespace.InsideSQL + "))"
	things := []any{noteable.Epic, at.Namespace, noteable.Issue, at.Namespace, noteable.MergeRequest, at.Namespace}
	successors := func(ctx context.Context, ids []ID) ([]namespace.Successor[ID], error) {
		return s.Successors(ctx, as, at, ids)
	}
	return namespace.Replace(ctx, s.db, "SELECT DISTINCT ll.label_id FROM label_links ll WHERE "+carried+" ORDER BY ll.label_id", things, successors,
		func(ctx context.Context, from, to ID) error {
			args := append([]any{to, from}, things...)
			if _, err := s.db.Exec(ctx, `INSERT INTO label_links (target_type, target_id, label_id)
				SELECT ll.target_type, ll.target_id, CAST(? AS BIGINT) FROM label_links ll WHERE ll.label_id = ? AND `+carried+` ON CONFLICT DO NOTHING`, args...); err != nil {
				return fmt.Errorf("replace label: %w", err)
			}
			if _, err := s.db.Exec(ctx, "DELETE FROM label_links AS ll WHERE ll.label_id = ? AND "+carried, args[1:]...); err != nil {
				return fmt.Errorf("replace label: %w", err)
			}
			return s.movePriority(ctx, at, from, to)
		})
}

// Successors gives for those of the labels that a project or group cannot use after its transfer the ones that
// take their places. Call it in the transaction of the transfer. It asks for no permission.
func (s *Service) Successors(ctx context.Context, as authz.Actor, at Place, ids []ID) ([]namespace.Successor[ID], error) {
	return namespace.Successors(ctx, s.db, at.Namespace, ids, namespace.Titled[Label, ID]{
		Table: "labels", Alias: "l", Columns: columns, From: "labels l",
		Key: func(l *Label) (ID, string) { return l.ID, l.Title },
		Copy: func(ctx context.Context, l Label) (ID, error) {
			next, err := s.copyTo(ctx, as, at, l)
			return next.ID, err
		},
	})
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
