package quickaction

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/reference"
)

// hierarchy are the commands that put epics above and below each other, and make epics of issues.
func (s *Service) hierarchy() []Action {
	link := func(run func(ctx context.Context, c *Call) error, name string) Action {
		return Action{Names: []string{name}, Kinds: epics, Epic: authz.LinkEpic, Run: run}
	}
	return []Action{
		link(s.childEpic, "child_epic"),
		link(s.removeChildEpic, "remove_child_epic"),
		link(s.parentEpic, "parent_epic"),
		link(s.removeParentEpic, "remove_parent_epic"),
		metadata(issues, s.promoteToEpic, "promote"),
	}
}

const (
	noChild  = "Child epic doesn't exist."
	noParent = "Parent epic doesn't exist."
	noEpic   = "This epic does not exist or you don't have sufficient permission."
)

// otherEpics returns the epics that the argument of a command names, without the one it is on.
func (s *Service) otherEpics(ctx context.Context, c *Call) ([]*reference.Target, error) {
	found, err := s.found(ctx, c, reference.Epic)
	return slices.DeleteFunc(found, func(t *reference.Target) bool { return t.ID == c.Target.ID }), err
}

// denied reports whether the actor may not do what a command asks for, or not see what it names.
func denied(err error) bool { return errs.Is(err, errs.Forbidden) || errs.Is(err, errs.NotFound) }

// nested says what came of a change of parents: done where it was made.
func nested(c *Call, err error, done string, args ...any) error {
	var refused *errs.Error
	switch {
	case err == nil:
		c.Say(done, args...)
	case denied(err):
		c.Say(noEpic)
	case errs.Is(err, errs.Conflict):
		c.Say("Given epic is already related to this epic.")
	case errors.As(err, &refused) && len(refused.Fields) > 0:
		c.Say("%s", refused.Error())
	default:
		return err
	}
	return nil
}

func (s *Service) childEpic(ctx context.Context, c *Call) error {
	found, err := s.otherEpics(ctx, c)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		c.Say(noEpic)
		return nil
	}
	_, err = s.Epics.AddChild(ctx, c.As, c.Group, c.WasEpic.IID, epic.ID(found[0].ID))
	return nested(c, err, "Added %s as a child epic.", c.short(found[0]))
}

func (s *Service) removeChildEpic(ctx context.Context, c *Call) error {
	found, err := s.otherEpics(ctx, c)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		c.Say(noChild)
		return nil
	}
	_, err = s.Epics.RemoveChild(ctx, c.As, c.Group, c.WasEpic.IID, epic.ID(found[0].ID))
	if denied(err) {
		c.Say(noChild)
		return nil
	}
	return nested(c, err, "Removed %s from child epics.", c.short(found[0]))
}

func (s *Service) parentEpic(ctx context.Context, c *Call) error {
	found, err := s.otherEpics(ctx, c)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		c.Say(noParent)
		return nil
	}
	_, err = s.Epics.SetParent(ctx, c.As, c.Group, c.WasEpic.IID, epic.ID(found[0].ID))
	return nested(c, err, "Set %s as the parent epic.", c.short(found[0]))
}

func (s *Service) removeParentEpic(ctx context.Context, c *Call) error {
	parent := c.WasEpic.Parent
	if parent == nil {
		c.Say("Parent epic is not present.")
		return nil
	}
	known, err := s.Epics.ByIDs(ctx, c.As, []epic.ID{parent.ID})
	if err != nil || known[parent.ID] == nil {
		return err
	}
	name := parent.IID.Reference()
	if parent.GroupID != c.Group.ID {
		name = known[parent.ID].Path + name
	}
	_, err = s.Epics.SetParent(ctx, c.As, c.Group, c.WasEpic.IID, 0)
	return nested(c, err, "Removed parent epic %s.", name)
}

// relate links the epic with others.
func (s *Service) relate(ctx context.Context, c *Call, kind epic.LinkType) error {
	found, err := s.otherEpics(ctx, c)
	if err != nil || len(found) == 0 {
		return err
	}
	var names []string
	for _, t := range found[:min(len(found), maxRelated)] {
		other := epic.Other{Group: strconv.FormatInt(int64(t.GroupID), 10), IID: epic.IID(t.Number)}
		_, err := s.Epics.Relate(ctx, c.As, c.Group, c.WasEpic.IID, other, kind)
		if denied(err) || errs.Is(err, errs.Conflict) {
			continue
		}
		if err != nil {
			return err
		}
		names = append(names, c.short(t))
	}
	if len(names) == 0 {
		return nil
	}
	how := map[epic.LinkType]string{epic.RelatesTo: "related to", epic.Blocks: "blocked by", epic.BlockedBy: "blocking"}[kind]
	items := "a linked item"
	if len(names) > 1 {
		items = "linked items"
	}
	c.Say("Added %s as %s %s this epic.", sentence(names), items, how)
	return nil
}

// unrelate removes the link of the epic with another.
func (s *Service) unrelate(ctx context.Context, c *Call) error {
	found, err := s.otherEpics(ctx, c)
	if err != nil {
		return err
	}
	links, err := s.Epics.Related(ctx, c.As, c.Group, c.WasEpic.IID)
	if err != nil {
		return err
	}
	for _, t := range found {
		i := slices.IndexFunc(links, func(l epic.Related) bool { return int64(l.Target.ID) == t.ID })
		if i < 0 {
			continue
		}
		_, err := s.Epics.Unrelate(ctx, c.As, c.Group, c.WasEpic.IID, links[i].ID)
		if denied(err) {
			break
		}
		if err == nil {
			c.Say("Removed linked item %s.", c.short(t))
		}
		return err
	}
	c.Say("No linked epic matches the provided parameter.")
	return nil
}

// promoteToEpic makes an epic of the issue.
func (s *Service) promoteToEpic(ctx context.Context, c *Call) error {
	if c.state() != string(epic.StateOpened) {
		return nil
	}
	may, err := s.Epics.MayPromote(ctx, c.As, c.Project)
	if err != nil || !may {
		return err
	}
	c.After(func(ctx context.Context) error {
		_, err := s.Epics.Promote(ctx, c.As, c.Project, c.Was.IID)
		return err
	})
	c.Set("promote_to_epic", true)
	c.Say("Promoted issue to an epic.")
	return nil
}
