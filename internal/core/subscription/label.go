package subscription

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/project"
)

// AddLabel subscribes the actor to a label, by id or title, in the place that it is named in.
// It returns NotModified where it is already.
func (s *Service) AddLabel(ctx context.Context, as authz.Actor, at authz.Place, ref string) (*label.Label, error) {
	return s.setLabel(ctx, as, at, ref, func(l label.ID) (bool, error) {
		row := db.Values{"label_id": l, "user_id": as.UserID, "project_id": project.IDOf(at), "created_at": db.At(s.Now())}
		n, err := db.InsertRow(ctx, s.DB, "label_subscriptions", row, "ON CONFLICT DO NOTHING")
		return n > 0, err
	})
}

// RemoveLabel unsubscribes the actor from a label. It returns NotModified where it is not
// subscribed.
func (s *Service) RemoveLabel(ctx context.Context, as authz.Actor, at authz.Place, ref string) (*label.Label, error) {
	return s.setLabel(ctx, as, at, ref, func(l label.ID) (bool, error) {
		row := db.Row{Table: "label_subscriptions", Key: "label_id", ID: l}
		row.And.And("user_id = ? AND COALESCE(project_id, 0) = ?", as.UserID, number(at))
		return db.Drop(ctx, s.DB, row)
	})
}

func (s *Service) setLabel(ctx context.Context, as authz.Actor, at authz.Place, ref string, set func(l label.ID) (changed bool, err error)) (*label.Label, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateSubscription, at.Subject); err != nil {
		return nil, err
	}
	l, err := s.Labels.Find(ctx, as, at, ref)
	if err != nil {
		return nil, err
	}
	changed, err := set(l.ID)
	if err != nil {
		return nil, fmt.Errorf("change subscription to label: %w", err)
	}
	if !changed {
		return nil, errs.New(errs.NotModified, "")
	}
	return l, nil
}

// number is the id of the project that a place is, zero for a group.
func number(at authz.Place) project.ID {
	if id := project.IDOf(at); id != nil {
		return *id
	}
	return 0
}

// OfLabels reports which of the labels the actor is subscribed to in a place.
func (s *Service) OfLabels(ctx context.Context, as authz.Actor, at authz.Place, ids ...label.ID) (map[label.ID]bool, error) {
	out := make(map[label.ID]bool, len(ids))
	if !as.SignedIn() || len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.And("user_id = ? AND COALESCE(project_id, 0) = ?", as.UserID, number(at))
	w.In("label_id", ids)
	found, err := db.Select[label.ID](ctx, s.DB, "SELECT label_id FROM label_subscriptions"+w.SQL()+" ORDER BY label_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read subscriptions to labels: %w", err)
	}
	for _, id := range found {
		out[id] = true
	}
	return out, nil
}

// LabelAudience lists who is subscribed to one of the labels in a project, or in all of the
// group of the label. It asks for no permission and is for core.
func (s *Service) LabelAudience(ctx context.Context, p project.ID, ids []label.ID) ([]authz.UserID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var w db.Where
	w.And("(project_id IS NULL OR project_id = ?)", p)
	w.In("label_id", ids)
	out, err := db.Select[authz.UserID](ctx, s.DB, "SELECT DISTINCT user_id FROM label_subscriptions"+w.SQL()+" ORDER BY user_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read audience of labels: %w", err)
	}
	return out, nil
}

// labelPromoted subscribes those who were subscribed to labels in their projects to the
// group's label that replaces them, in the same projects.
func (s *Service) labelPromoted(ctx context.Context, e label.Promoted) error {
	for chunk := range slices.Chunk(e.Replaces, db.MaxArgs-1) {
		marks, args := db.Marks(chunk)
		if _, err := s.DB.Exec(ctx, `INSERT INTO label_subscriptions (label_id, user_id, project_id, created_at)
			SELECT CAST(? AS BIGINT), user_id, project_id, created_at FROM label_subscriptions WHERE label_id IN (`+marks+") ON CONFLICT DO NOTHING",
			append([]any{e.After.ID}, args...)...); err != nil {
			return fmt.Errorf("subscriptions to a promoted label: %w", err)
		}
	}
	return nil
}
