package todo

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// ByIDs returns those of the actor's to-do items with these ids that are about what it may read,
// in one statement for them and one for their groups.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Todo, error) {
	out := make(map[ID]*Todo, len(ids))
	if may, err := s.Policy.Can(ctx, as, authz.ReadOwnTodos, authz.Subject{}); err != nil || !may || len(ids) == 0 {
		return out, err
	}
	w := s.mine(as)
	w.In("t.id", ids)
	columns, tables := s.from()
	list, err := db.Select[Todo](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL(), w.Args()...)
	if err == nil {
		err = s.fill(ctx, list)
	}
	if err != nil {
		return nil, fmt.Errorf("to-do items by id: %w", err)
	}
	for i := range list {
		out[list[i].ID] = &list[i]
	}
	return out, nil
}

// On returns the actor's to-do items about each of the things that it may read, in a state or in
// all where it is "", the newest first, in one statement. The things are no commits.
func (s *Service) On(ctx context.Context, as authz.Actor, things []noteable.Ref, state State) (map[noteable.Ref][]*Todo, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadOwnTodos, authz.Subject{}); err != nil {
		return nil, err
	}
	out := make(map[noteable.Ref][]*Todo, len(things))
	ids := map[noteable.Kind][]noteable.Ref{}
	for _, t := range things {
		ids[t.Kind] = append(ids[t.Kind], t)
	}
	var kinds []string
	var args []any
	for kind, list := range ids {
		marks, more := db.Marks(noteable.IDs(list))
		kinds, args = append(kinds, "t.target_type = ? AND t.target_id IN ("+marks+")"), append(append(args, kind), more...)
	}
	if len(kinds) == 0 {
		return out, nil
	}
	w := s.mine(as)
	w.And("("+strings.Join(kinds, " OR ")+")", args...)
	if state != "" {
		w.And("t.state = ?", state)
	}
	columns, tables := s.from()
	list, err := db.Select[Todo](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL()+" ORDER BY t.id DESC", w.Args()...)
	if err == nil {
		err = s.fill(ctx, list)
	}
	if err != nil {
		return nil, fmt.Errorf("to-do items about things: %w", err)
	}
	for i := range list {
		on := list[i].Target()
		out[on] = append(out[on], &list[i])
	}
	return out, nil
}

// Restore marks to-do items of the actor's own as pending again and returns them in the order of
// their ids. It returns NotFound where one is not there, and leaves those alone that another one
// about the same thing waits for.
func (s *Service) Restore(ctx context.Context, as authz.Actor, ids []ID) ([]*Todo, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateOwnTodos, authz.Subject{}); err != nil {
		return nil, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		mine, err := s.ByIDs(ctx, as, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if mine[id] == nil {
				return errs.Missing("")
			}
			if _, err := s.DB.Exec(ctx, `UPDATE todos SET state = 'pending', updated_at = ? WHERE id = ? AND state = 'done' AND NOT EXISTS (SELECT 1 FROM todos o
				WHERE o.user_id = todos.user_id AND o.target_type = todos.target_type AND o.target_id = todos.target_id AND o.commit_id = todos.commit_id
				AND COALESCE(o.project_id, 0) = COALESCE(todos.project_id, 0) AND (o.action <> ? OR o.author_id = todos.author_id)
				AND o.state = 'pending')`, db.At(s.Now()), id, AccessRequested); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errs.Wrap(err, "restore to-do items")
	}
	found, err := s.ByIDs(ctx, as, ids)
	out := make([]*Todo, 0, len(ids))
	for _, id := range ids {
		if t := found[id]; t != nil {
			out = append(out, t)
		}
	}
	return out, err
}

// MarkDoneOn marks the actor's to-do items about a thing as done, all of them for the zero value,
// and returns their ids.
func (s *Service) MarkDoneOn(ctx context.Context, as authz.Actor, on noteable.Ref) ([]ID, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateOwnTodos, authz.Subject{}); err != nil {
		return nil, err
	}
	var w db.Where
	w.And("user_id = ?", as.UserID)
	w.And("state = 'pending'")
	if on != (noteable.Ref{}) {
		w.And("target_type = ?", on.Kind)
		w.And("target_id = ?", on.ID)
	}
	ids, err := db.Select[ID](ctx, s.DB, "UPDATE todos SET state = 'done', updated_at = ?"+w.SQL()+" RETURNING id", append([]any{db.At(s.Now())}, w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("mark to-do items: %w", err)
	}
	return ids, nil
}
