package workitem

import (
	"context"
	"reflect"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/subscription"
	"tenon/internal/core/todo"
)

// Changes is what becomes of a work item; the zero value of a field leaves alone.
type Changes struct {
	Widgets []Widget // that are changed, for the types that lack some

	Issue issue.Changes // of an issue
	Epic  epic.Changes  // of an epic

	Children   []Key // that an epic gets
	Beside     *Beside
	Award      *Award
	Subscribed *bool // the actor
	Todos      *Todos
}

// Award is an emoji of the actor.
type Award struct {
	Name   string
	Remove bool // instead of adding
}

// Todos are to-do items of the actor: one is added, or one or all of the work item are done.
type Todos struct {
	Add  bool
	Done todo.ID // 0 for all
}

// target is a work item where it is written.
type target struct {
	Item

	group *namespace.Group // of an epic
}

// on names the work item below its place.
func (w *target) on() subscription.On {
	if w.Epic == nil {
		return subscription.On{Place: w.Project.Place(), Kind: noteable.Issue, Key: noteable.Key{Number: int64(w.Issue.IID)}}
	}
	return subscription.On{Place: w.group.Place(), Kind: noteable.Epic, Key: noteable.Key{IID: int64(w.Epic.IID)}}
}

// Update changes a work item and what the actor has of it, all or nothing. The quick actions of a new description run
// after that: they may write to the repository, and what they cannot do undoes nothing. Each part requires
// what it requires alone.
func (s *Service) Update(ctx context.Context, as authz.Actor, item Item, c Changes) error {
	if err := item.Type().Accepts(c.Widgets); err != nil {
		return err
	}
	w := target{Item: item}
	if item.Epic != nil {
		var err error
		if w.group, err = s.Namespaces.FindByID(ctx, as, item.Epic.GroupID); err != nil {
			return err
		}
	}
	run := s.cut(&w, &c)
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		for _, step := range []func(context.Context, authz.Actor, *target, *Changes) error{s.write, s.arrange, s.award, s.subscribe, s.todos} {
			if err := step(ctx, as, &w, &c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || run == nil {
		return err
	}
	var in noteable.Locator = s.Issues
	if w.Epic != nil {
		in = s.Epics
	}
	on := w.on()
	return run.On(ctx, as, in, on.Place, on.Key)
}

// cut takes the quick actions out of the new description.
func (s *Service) cut(w *target, c *Changes) noteable.Run {
	if w.Epic != nil {
		return s.Epics.Cut(&c.Epic)
	}
	return s.Issues.Cut(&c.Issue)
}

// write changes the columns.
func (s *Service) write(ctx context.Context, as authz.Actor, w *target, c *Changes) error {
	var err error
	switch {
	case w.Epic != nil && !reflect.ValueOf(c.Epic).IsZero():
		_, err = s.Epics.Change(ctx, as, w.group, w.Epic.IID, c.Epic)
	case w.Epic == nil && !reflect.ValueOf(c.Issue).IsZero():
		_, err = s.Issues.Change(ctx, as, w.Project, w.Issue.IID, c.Issue)
	}
	return err
}

// award awards an emoji, or takes the award back.
func (s *Service) award(ctx context.Context, as authz.Actor, w *target, c *Changes) error {
	if c.Award == nil {
		return nil
	}
	at := w.on()
	to, err := s.Notes.Target(ctx, as, note.On{Place: at.Place, Kind: at.Kind, Key: at.Key})
	if err != nil {
		return err
	}
	if c.Award.Remove {
		return s.Awards.RemoveByName(ctx, as, to, c.Award.Name)
	}
	_, err = s.Awards.Add(ctx, as, to, c.Award.Name)
	return err
}

// subscribe subscribes the actor or ends that; what is so already is no error.
func (s *Service) subscribe(ctx context.Context, as authz.Actor, w *target, c *Changes) error {
	if c.Subscribed == nil {
		return nil
	}
	return s.Subscriptions.Set(ctx, as, w.on(), *c.Subscribed)
}

// todos adds a to-do item, unless one waits already, or marks some done.
func (s *Service) todos(ctx context.Context, as authz.Actor, w *target, c *Changes) (err error) {
	t := c.Todos
	switch {
	case t == nil:
	case t.Add:
		if _, err = s.Todos.Add(ctx, as, w.on()); errs.Is(err, errs.NotModified) {
			return nil
		}
	case t.Done == 0:
		_, err = s.Todos.MarkDoneOn(ctx, as, w.Ref())
	default:
		_, err = s.Todos.MarkDone(ctx, as, t.Done)
	}
	return err
}
