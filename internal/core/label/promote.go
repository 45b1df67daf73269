package label

import (
	"context"
	"errors"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Promoted is published when a project's label became one of its group, before those that it
// replaces are deleted.
type Promoted struct {
	change.Of[Label] // in the group

	Replaces []ID // labels of the title in the projects of the group
}

// Promote makes a label of a project one of the group that the project is in, or finds
// the group's of that title. It takes the place of the labels of that title in all projects
// of the group, on everything that they are attached to.
func (s *Service) Promote(ctx context.Context, as authz.Actor, from, group authz.Place, ref string) (*Label, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminLabel, from.Subject); err != nil {
		return nil, err
	}
	named, err := s.find(ctx, from, ref, Filter{OwnOnly: true})
	if err != nil {
		return nil, err
	}
	if group.Namespace == 0 {
		return nil, errs.Plain("Failed to promote project label to group label")
	}
	if err := s.Policy.Require(ctx, as, authz.AdminLabel, group.Subject); err != nil {
		return nil, err
	}
	var out Label
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		const same = "title = ? AND namespace_id IN (SELECT n.id FROM namespaces n WHERE n.parent_id = ? AND n.kind = 'project')"
		l, err := db.ForUpdate[Label](ctx, s.DB, db.Row{Table: "labels", ID: named.ID, If: as.UnmodifiedAt})
		if err != nil {
			return err
		}
		args := []any{l.Title, group.Namespace}
		replaced, err := db.Select[ID](ctx, s.DB, "SELECT id FROM labels WHERE "+same+" ORDER BY id", args...)
		if err != nil {
			return err
		}
		found, err := s.one(ctx, group, Filter{}, "l.title = ?", l.Title)
		switch {
		case err == nil:
			out = *found
		case !errors.Is(err, db.ErrNotFound):
			return err
		default:
			copies, err := s.copiesIn(ctx, as, group, []Label{l})
			if err != nil {
				return err
			}
			out = copies[0]
		}
		if _, err := s.DB.Exec(ctx, `INSERT INTO label_links (target_type, target_id, label_id)
			SELECT DISTINCT ll.target_type, ll.target_id, CAST(? AS BIGINT) FROM label_links ll WHERE ll.label_id IN (SELECT id FROM labels WHERE `+same+`)
			ON CONFLICT DO NOTHING`, append([]any{out.ID}, args...)...); err != nil {
			return err
		}
		if _, err := s.DB.Exec(ctx, `INSERT INTO label_priorities (label_id, project_id, priority)
			SELECT CAST(? AS BIGINT), lp.project_id, lp.priority FROM label_priorities lp WHERE lp.label_id IN (SELECT id FROM labels WHERE `+same+`)
			ON CONFLICT DO NOTHING`, append([]any{out.ID}, args...)...); err != nil {
			return err
		}
		if err := s.Bus.Publish(ctx, Promoted{Of: change.Created(as, s.Now(), group, &out), Replaces: replaced}); err != nil {
			return err
		}
		_, err = s.DB.Exec(ctx, "DELETE FROM labels WHERE "+same, args...)
		return err
	})
	if errors.Is(err, db.ErrNotFound) { // deleted meanwhile
		return nil, errs.Missing("Label")
	}
	if err != nil {
		return nil, errs.Wrap(err, "promote label")
	}
	return &out, nil
}
