package todo

import (
	"context"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/quickaction"
)

// Commands are the quick actions of to-do items.
func (s *Service) Commands() []quickaction.Action {
	all := s.Kinds.Where(func(d *noteable.Description) bool { return d.Todos && d.Table != "" })
	return []quickaction.Action{
		{Names: []string{"todo"}, Kinds: all, Issue: authz.CreateTodo, Merge: authz.CreateTodo, Epic: authz.CreateTodo, Run: s.addCommand},
		{Names: []string{"done"}, Kinds: all, Issue: authz.CreateTodo, Merge: authz.CreateTodo, Epic: authz.CreateTodo, Run: s.doneCommand},
	}
}

// pending returns the ids of the actor's to-do items that wait for a thing.
func (s *Service) pending(ctx context.Context, as authz.Actor, t noteable.Ref) ([]ID, error) {
	return db.Select[ID](ctx, s.DB, "SELECT id FROM todos WHERE user_id = ? AND target_type = ? AND target_id = ? AND state = ? ORDER BY id",
		as.UserID, t.Kind, t.ID, Pending)
}

func (s *Service) addCommand(ctx context.Context, c *quickaction.Call) error {
	waiting, err := s.pending(ctx, c.As, c.Target.Ref)
	if err != nil || len(waiting) > 0 {
		return err
	}
	c.After(func(ctx context.Context) error {
		_, err := s.Add(ctx, c.As, c.On())
		if errs.Is(err, errs.NotModified) {
			return nil
		}
		return err
	})
	c.Set("todo_event", "add")
	c.Say("Added a to-do item.")
	return nil
}

func (s *Service) doneCommand(ctx context.Context, c *quickaction.Call) error {
	waiting, err := s.pending(ctx, c.As, c.Target.Ref)
	if err != nil || len(waiting) == 0 {
		return err
	}
	c.After(func(ctx context.Context) error {
		for _, id := range waiting {
			if _, err := s.MarkDone(ctx, c.As.Unconditional(), id); err != nil && !errs.Is(err, errs.NotFound) {
				return err
			}
		}
		return nil
	})
	c.Set("todo_event", "done")
	c.Say("Marked to-do item as done.")
	return nil
}
