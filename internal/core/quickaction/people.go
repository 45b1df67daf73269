package quickaction

import (
	"context"
	"slices"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/reference"
)

// people are the commands for those who work on a thing, and for reactions.
func (s *Service) people() []Action {
	return []Action{
		metadata(both, s.assign, "assign"),
		metadata(both, s.unassign, "unassign"),
		metadata(both, s.reassign, "reassign"),
		metadata(merges, s.review, "assign_reviewer", "reviewer", "request_review"),
		metadata(merges, s.rereview, "reassign_reviewer"),
		metadata(merges, s.unreview, "unassign_reviewer", "remove_reviewer"),
		{Names: []string{"award", "react"}, Kinds: all, Issue: authz.AwardEmoji, Merge: authz.AwardEmoji, Epic: authz.AwardEmoji, Run: s.award},
	}
}

// users returns the users that the argument of a command names, "me" for the actor.
func (s *Service) users(ctx context.Context, c *Call) (ids []authz.UserID, names []string, err error) {
	found, err := s.found(ctx, c, reference.Mention)
	if err != nil {
		return nil, nil, err
	}
	if slices.Contains(strings.Fields(strings.ToLower(c.Argument)), "me") {
		ids, names = append(ids, c.As.UserID), append(names, "@"+c.As.Username)
	}
	for _, t := range found {
		if id := authz.UserID(t.ID); !t.Group && !slices.Contains(ids, id) {
			ids, names = append(ids, id), append(names, "@"+t.Path)
		}
	}
	return ids, names, nil
}

// sentence writes names as summaries do: "@a, @b, and @c".
func sentence(names []string) string {
	switch n := len(names); n {
	case 0, 1, 2:
		return strings.Join(names, " and ")
	default:
		return strings.Join(names[:n-1], ", ") + ", and " + names[n-1]
	}
}

// assignees are those that the thing has once the commands so far are done.
func (c *Call) assignees() []authz.UserID {
	switch {
	case c.Issue.AssigneeIDs != nil:
		return slices.Clone(*c.Issue.AssigneeIDs)
	case c.Merge():
		return slices.Clone(c.WasRequest.Assignees)
	}
	return slices.Clone(c.Was.Assignees)
}

func (c *Call) setAssignees(ids []authz.UserID) {
	if ids == nil {
		ids = []authz.UserID{}
	}
	forRequest := slices.Clone(ids)
	c.Issue.AssigneeIDs, c.Request.Assignees = &ids, &forRequest
	c.Set("assignee_ids", slices.Clone(ids))
}

func (s *Service) assign(ctx context.Context, c *Call) error {
	ids, names, err := s.users(ctx, c)
	if err != nil || len(ids) == 0 {
		return err
	}
	all := c.assignees()
	for _, id := range ids {
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	c.setAssignees(all)
	c.Say("Assigned %s.", sentence(names))
	return nil
}

func (s *Service) unassign(ctx context.Context, c *Call) error {
	present := c.assignees()
	ids, names, err := s.leaving(ctx, c, present)
	if err != nil || len(ids) == 0 {
		return err
	}
	c.setAssignees(without(present, ids))
	c.Say("Removed assignee%s %s.", plural(ids), sentence(names))
	return nil
}

// reassign makes the users that the argument names the only assignees.
func (s *Service) reassign(ctx context.Context, c *Call) error {
	ids, _, err := s.users(ctx, c)
	if err != nil || len(ids) == 0 {
		return err
	}
	c.setAssignees(ids)
	c.Say("Changed assignee(s).")
	return nil
}

// leaving returns those of the present users that a command names, all where it names none.
func (s *Service) leaving(ctx context.Context, c *Call, present []authz.UserID) (ids []authz.UserID, names []string, err error) {
	if c.Argument != "" {
		named, _, err := s.users(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		present = slices.DeleteFunc(slices.Clone(present), func(id authz.UserID) bool { return !slices.Contains(named, id) })
	}
	users, err := s.Accounts.ByIDs(ctx, present)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range present {
		if u := users[id]; u != nil {
			ids, names = append(ids, id), append(names, "@"+u.Username)
		}
	}
	return ids, names, nil
}

func without(all, gone []authz.UserID) []authz.UserID {
	return slices.DeleteFunc(slices.Clone(all), func(id authz.UserID) bool { return slices.Contains(gone, id) })
}

func plural(ids []authz.UserID) string {
	if len(ids) == 1 {
		return ""
	}
	return "s"
}

// reviewers are those that a merge request has once the commands so far are done.
func (c *Call) reviewers() []authz.UserID {
	if c.Request.Reviewers != nil {
		return slices.Clone(*c.Request.Reviewers)
	}
	out := make([]authz.UserID, len(c.WasRequest.Reviewers))
	for i, r := range c.WasRequest.Reviewers {
		out[i] = r.UserID
	}
	return out
}

func (c *Call) setReviewers(ids []authz.UserID) {
	if ids == nil {
		ids = []authz.UserID{}
	}
	c.Request.Reviewers = &ids
	c.Set("reviewer_ids", slices.Clone(ids))
}

func (s *Service) review(ctx context.Context, c *Call) error {
	ids, names, err := s.users(ctx, c)
	if err != nil || len(ids) == 0 {
		return err
	}
	all := c.reviewers()
	for _, id := range ids {
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	c.setReviewers(all)
	c.Say("Assigned %s as reviewer%s.", sentence(names), plural(ids))
	return nil
}

// rereview makes the users in the argument the only reviewers.
func (s *Service) rereview(ctx context.Context, c *Call) error {
	ids, _, err := s.users(ctx, c)
	if err != nil || len(ids) == 0 {
		return err
	}
	c.setReviewers(ids)
	c.Say("Changed reviewer(s).")
	return nil
}

func (s *Service) unreview(ctx context.Context, c *Call) error {
	present := c.reviewers()
	ids, names, err := s.leaving(ctx, c, present)
	if err != nil || len(ids) == 0 {
		return err
	}
	c.setReviewers(without(present, ids))
	c.Say("Removed reviewer%s %s.", plural(ids), sentence(names))
	return nil
}

func (s *Service) award(_ context.Context, c *Call) error {
	name, ok := award.Only(c.Argument)
	if !ok {
		return nil
	}
	c.After(func(ctx context.Context) error {
		_, err := s.Awards.Toggle(ctx, c.As, c.Target, name)
		return err
	})
	c.Set("emoji_award", name)
	c.Say("Toggled :%s: emoji award.", name)
	return nil
}
