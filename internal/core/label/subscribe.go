package label

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
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
	return s.replaceFormer(ctx, e.By, e.Row().Place())
}

// OnGroupTransferred replaces the labels of former groups on what is in a group that was transferred and all below it.
func (s *Service) OnGroupTransferred(ctx context.Context, e namespace.GroupTransferred) error {
	return s.replaceFormer(ctx, e.By, e.Row().Place())
}

// carriedSQL is a condition that holds for links ll of labels to what is in a place.
func (s *Service) carriedSQL(at authz.Place) (cond string, args []any) {
	var all []string
	for _, kind := range s.Kinds.All() {
		if !kind.Labels {
			continue
		}
		in := "SELECT x.id FROM " + kind.Table + " x JOIN projects p ON p.id = x." + kind.Project + " WHERE p.namespace_id IN "
		if kind.InGroup() {
			in = "SELECT x.id FROM " + kind.Table + " x WHERE x." + kind.Group + " IN "
		}
		all, args = append(all, "ll.target_type = ? AND ll.target_id IN ("+in+namespace.InsideSQL+")"), append(args, kind.Kind, at.Namespace)
	}
	return "(" + strings.Join(all, " OR ") + ")", args
}

// replaceFormer replaces the labels of former groups on what is in a place: by the
// label of that title which the place may use now, or by a copy in the place.
func (s *Service) replaceFormer(ctx context.Context, as authz.Actor, at authz.Place) error {
	carried, things := s.carriedSQL(at)
	successors := func(ctx context.Context, ids []ID) ([]namespace.Successor[ID], error) {
		return s.Successors(ctx, as, at, ids)
	}
	return namespace.Replace(ctx, s.DB, "SELECT DISTINCT ll.label_id FROM label_links ll WHERE "+carried+" ORDER BY ll.label_id", things, successors,
		func(ctx context.Context, all []namespace.Successor[ID]) error {
			with, pairs := db.Pairs(namespace.Pairs(all))
			args := slices.Concat(pairs, things)
			if _, err := s.DB.Exec(ctx, with+`INSERT INTO label_links (target_type, target_id, label_id)
				SELECT DISTINCT ll.target_type, ll.target_id, pairs.b FROM label_links ll JOIN pairs ON pairs.a = ll.label_id WHERE `+carried+` ON CONFLICT DO NOTHING`, args...); err != nil {
				return fmt.Errorf("replace labels: %w", err)
			}
			if _, err := s.DB.Exec(ctx, with+"DELETE FROM label_links AS ll WHERE ll.label_id IN (SELECT a FROM pairs) AND "+carried, args...); err != nil {
				return fmt.Errorf("replace labels: %w", err)
			}
			return s.movePriorities(ctx, at, with, pairs)
		})
}

// Successors returns for those of the labels that a project or group cannot use after its transfer the ones that
// take their places. Call it in the transaction of the transfer. It asks for no permission.
func (s *Service) Successors(ctx context.Context, as authz.Actor, at authz.Place, ids []ID) ([]namespace.Successor[ID], error) {
	return namespace.Successors(ctx, s.DB, at.Namespace, ids, namespace.Titled[Label, ID]{
		Table: "labels", Alias: "l", Columns: columns, From: "labels l",
		Key: func(l *Label) (ID, string) { return l.ID, l.Title },
		Copy: func(ctx context.Context, all []Label) ([]ID, error) {
			copies, err := s.copiesIn(ctx, as, at, all)
			ids := make([]ID, len(copies))
			for i := range copies {
				ids[i] = copies[i].ID
			}
			return ids, err
		},
	})
}

// copiesIn creates labels with the titles, colors and descriptions of others.
func (s *Service) copiesIn(ctx context.Context, as authz.Actor, at authz.Place, from []Label) ([]Label, error) {
	now := db.At(s.Now())
	out := make([]Label, len(from))
	for i, l := range from {
		out[i] = Label{NamespaceID: at.Namespace, Title: l.Title, Color: l.Color, Description: l.Description, CreatedAt: now, UpdatedAt: now}
	}
	ids, err := db.InsertAll(ctx, s.DB, "labels", out)
	if err != nil {
		return nil, fmt.Errorf("copy labels: %w", err)
	}
	for i := range out {
		out[i].ID = ID(ids[i])
		if err := s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), at, &out[i])}); err != nil {
			return nil, err
		}
	}
	return out, nil
}
