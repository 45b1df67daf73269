package quickaction

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
)

// relations are the commands that bring things together, or to other places.
func (s *Service) relations() []Action {
	link := func(kind issue.LinkType, how string, names ...string) Action {
		return Action{Names: names, Kinds: plans, Issue: authz.LinkIssue, Epic: authz.LinkEpic, Run: func(ctx context.Context, c *Call) error {
			if c.WasEpic != nil {
				return s.relate(ctx, c, kind)
			}
			return s.link(ctx, c, kind, how)
		}}
	}
	return []Action{
		metadata(issues, s.duplicate, "duplicate"),
		metadata(issues, s.move, "move"),
		metadata(issues, s.clone, "clone"),
		link(issue.RelatesTo, "related to", "relate"),
		link(issue.Blocks, "blocked by", "blocks"),
		link(issue.BlockedBy, "blocking", "blocked_by"),
		metadata(issues, s.epic, "epic"),
		metadata(issues, s.removeEpic, "remove_epic"),
		{Names: []string{"unlink"}, Kinds: plans, Issue: authz.LinkIssue, Epic: authz.LinkEpic, Run: s.unlink},
		metadata(both, s.copyMetadata, "copy_metadata"),
	}
}

// short names an issue, a merge request or an epic as a text in the project or group does.
func (c *Call) short(t *reference.Target) string {
	if t.Kind == reference.Epic {
		text := epic.IID(t.Number).Reference()
		if c.Group == nil || t.GroupID != c.Group.ID {
			text = t.Path + text
		}
		return text
	}
	sign := "#"
	if t.Kind == reference.MergeRequest {
		sign = "!"
	}
	text := sign + strconv.FormatInt(t.Number, 10)
	if t.ProjectID != c.Project.ID {
		text = t.Path + text
	}
	return text
}

// other names an issue for the functions that relate issues.
func other(t *reference.Target) issue.Other {
	return issue.Other{Project: strconv.FormatInt(int64(t.ProjectID), 10), IID: issue.IID(t.Number)}
}

// others returns the issues that the argument of a command names, without the one it is on.
func (s *Service) others(ctx context.Context, c *Call) ([]*reference.Target, error) {
	found, err := s.found(ctx, c, reference.Issue)
	return slices.DeleteFunc(found, func(t *reference.Target) bool { return t.ID == c.Target.ID }), err
}

func (s *Service) duplicate(ctx context.Context, c *Call) error {
	found, err := s.others(ctx, c)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		c.Say("Failed to mark this issue as a duplicate because referenced issue was not found.")
		return nil
	}
	t := found[0]
	c.After(func(ctx context.Context) error {
		_, err := s.Issues.MarkDuplicate(ctx, c.As, c.Project, c.Was.IID, other(t))
		return err
	})
	c.Set("canonical_issue_id", t.ID)
	c.Say("Closed this issue. Marked as related to, and a duplicate of, %s.", c.short(t))
	return nil
}

// target finds the project that an issue is to go to, nil where the actor sees none of that
// path.
func (s *Service) target(ctx context.Context, c *Call, path string) (*project.Project, error) {
	if !strings.Contains(path, "/") {
		return nil, nil
	}
	p, err := s.Projects.Find(ctx, c.As, path)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	return p, err
}

func (s *Service) move(ctx context.Context, c *Call) error {
	to, err := s.target(ctx, c, c.Argument)
	if err != nil {
		return err
	}
	if to == nil {
		c.Say("Failed to move this issue because target project doesn't exist.")
		return nil
	}
	c.After(func(ctx context.Context) error {
		_, _, err := s.Issues.Move(ctx, c.As, c.Project, c.Was.IID, to.ID)
		return err
	})
	c.Say("Moved this issue to %s.", to.FullPath)
	return nil
}

func (s *Service) clone(ctx context.Context, c *Call) error {
	to, notes := c.Project, false
	for _, word := range strings.Fields(c.Argument) {
		if word == "--with_notes" {
			notes = true
			continue
		}
		var err error
		if to, err = s.target(ctx, c, word); err != nil {
			return err
		}
	}
	if to == nil {
		c.Say("Failed to clone this issue because target project doesn't exist.")
		return nil
	}
	c.After(func(ctx context.Context) error {
		_, _, err := s.Issues.Clone(ctx, c.As, c.Project, c.Was.IID, to.ID, issue.Copy{Notes: notes})
		return err
	})
	c.Set("clone_with_notes", notes)
	c.Say("Cloned this issue to %s.", to.FullPath)
	return nil
}

// maxRelated is how many issues one command relates.
const maxRelated = 20

func (s *Service) link(ctx context.Context, c *Call, kind issue.LinkType, how string) error {
	found, err := s.others(ctx, c)
	if err != nil || len(found) == 0 {
		return err
	}
	var names []string
	for _, t := range found[:min(len(found), maxRelated)] {
		names = append(names, c.short(t))
		c.After(func(ctx context.Context) error {
			_, err := s.Issues.Link(ctx, c.As, c.Project, c.Was.IID, other(t), kind)
			if errs.Is(err, errs.Conflict) {
				return nil
			}
			return err
		})
	}
	items := "a linked item"
	if len(names) > 1 {
		items = "linked items"
	}
	c.Say("Added %s as %s %s this issue.", sentence(names), items, how)
	return nil
}

func (s *Service) unlink(ctx context.Context, c *Call) error {
	if c.WasEpic != nil {
		return s.unrelate(ctx, c)
	}
	found, err := s.others(ctx, c)
	if err != nil {
		return err
	}
	links, err := s.Issues.Links(ctx, c.As, c.Project, c.Was.IID)
	if err != nil {
		return err
	}
	for _, t := range found {
		i := slices.IndexFunc(links, func(l issue.Link) bool { return int64(l.Target.ID) == t.ID })
		if i < 0 {
			continue
		}
		id := links[i].ID
		c.After(func(ctx context.Context) error {
			_, err := s.Issues.Unlink(ctx, c.As, c.Project, c.Was.IID, id)
			return err
		})
		c.Say("Removed linked item %s.", c.short(t))
		return nil
	}
	c.Say("No linked issue matches the provided parameter.")
	return nil
}

func (s *Service) epic(ctx context.Context, c *Call) error {
	found, err := s.found(ctx, c, reference.Epic)
	if err != nil || len(found) == 0 || c.Was.Epic != nil && c.Was.Epic.ID == found[0].ID {
		return err
	}
	done, err := s.inEpic(ctx, c, issue.EpicChoice{ID: found[0].ID})
	if done {
		c.Set("epic_id", found[0].ID)
		c.Say("Added an issue to an epic.")
	}
	return err
}

func (s *Service) removeEpic(ctx context.Context, c *Call) error {
	if c.Was.Epic == nil {
		return nil
	}
	done, err := s.inEpic(ctx, c, issue.EpicChoice{})
	if done {
		c.Set("epic_id", nil)
		c.Say("Removed an issue from an epic.")
	}
	return err
}

// inEpic puts the issue into an epic at once: what the actor may do there is known then. It
// reports whether that was done.
func (s *Service) inEpic(ctx context.Context, c *Call, to issue.EpicChoice) (bool, error) {
	_, err := s.Issues.Update(ctx, c.As, c.Project, c.Was.IID, issue.Changes{Epic: &to})
	if errs.Is(err, errs.Forbidden) || errs.Is(err, errs.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// copyMetadata gives the thing the labels and the milestone of another one in the project.
func (s *Service) copyMetadata(ctx context.Context, c *Call) error {
	var labels []label.Label
	var due *milestone.ID
	var from *reference.Target
	for _, kind := range []reference.Kind{reference.Issue, reference.MergeRequest} {
		found, err := s.found(ctx, c, kind)
		if err != nil {
			return err
		}
		if len(found) > 0 && from == nil && found[0].ProjectID == c.Project.ID {
			from = found[0]
		}
	}
	if from == nil {
		return nil
	}
	if from.Kind == reference.Issue {
		i, err := s.Issues.Find(ctx, c.As, c.Project, issue.IID(from.Number))
		if err != nil {
			return fmt.Errorf("copy metadata: %w", err)
		}
		labels, due = i.Labels, i.MilestoneID
	} else {
		m, err := s.MergeRequests.Find(ctx, c.As, c.Project, mergerequest.IID(from.Number))
		if err != nil {
			return fmt.Errorf("copy metadata: %w", err)
		}
		labels, due = m.Labels, m.MilestoneID
	}
	if len(labels) == 0 && due == nil {
		return nil
	}
	ids := make([]int64, len(labels))
	for i := range labels {
		ids[i] = int64(labels[i].ID)
	}
	c.addLabels(label.Titles(labels), ids)
	if due != nil {
		c.Issue.MilestoneID, c.Request.MilestoneID = due, due
		c.Set("milestone_id", *due)
	}
	c.Say("Copied labels and milestone from %s.", c.short(from))
	return nil
}

// addLabels adds labels to those that the thing gets.
func (c *Call) addLabels(titles []string, ids []int64) {
	c.Issue.Labels.Add = append(c.Issue.Labels.Add, titles...)
	c.Request.Labels.Add, c.Epic.Labels.Add = c.Issue.Labels.Add, c.Issue.Labels.Add
	if len(ids) > 0 {
		c.collect("add_label_ids", ids)
	}
}
