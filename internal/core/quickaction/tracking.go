package quickaction

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/board"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/reference"
)

// tracking are the commands for health, severity, iterations, boards and subscriptions.
func (s *Service) tracking() []Action {
	return []Action{
		metadata(issues, health, "health_status"),
		metadata(issues, clearHealth, "clear_health_status"),
		metadata(issues, severity, "severity"),
		metadata(issues, promote, "promote_to_incident"),
		metadata(issues, retype, "type"),
		metadata(issues, s.iteration, "iteration"),
		metadata(issues, s.removeIteration, "remove_iteration"),
		metadata(issues, s.boardMove, "board_move"),
		{Names: []string{"subscribe"}, Kinds: all, Issue: authz.UpdateSubscription, Merge: authz.UpdateSubscription, Epic: authz.UpdateSubscription, Run: s.subscribe(true)},
		{Names: []string{"unsubscribe"}, Kinds: all, Issue: authz.UpdateSubscription, Merge: authz.UpdateSubscription, Epic: authz.UpdateSubscription, Run: s.subscribe(false)},
	}
}

func health(_ context.Context, c *Call) error {
	status := issue.Health(strings.ToLower(c.Argument))
	if !slices.Contains([]issue.Health{issue.OnTrack, issue.NeedsAttention, issue.AtRisk}, status) {
		return nil
	}
	c.Issue.Health = &status
	c.Set("health_status", status)
	c.Say("Set health status to %s.", status)
	return nil
}

func clearHealth(_ context.Context, c *Call) error {
	if c.Was.Health == nil {
		return nil
	}
	none := issue.Health("")
	c.Issue.Health = &none
	c.Set("health_status", nil)
	c.Say("Cleared health status.")
	return nil
}

// severities are the words for severities beside their names.
var severities = map[string]issue.Severity{
	"1": issue.SeverityCritical, "s1": issue.SeverityCritical, "2": issue.SeverityHigh, "s2": issue.SeverityHigh,
	"3": issue.SeverityMedium, "s3": issue.SeverityMedium, "4": issue.SeverityLow, "s4": issue.SeverityLow,
	"0": issue.SeverityUnknown, "s0": issue.SeverityUnknown,
}

func severity(_ context.Context, c *Call) error {
	if c.Was.Type != issue.Incident {
		return nil
	}
	word := strings.ToLower(c.Argument)
	level, ok := severities[word]
	if !ok {
		level = issue.Severity(word)
	}
	for _, known := range severities {
		if level == known {
			c.Issue.Severity = &level
			c.Say("Severity updated to %s.", strings.ToUpper(string(level[:1]))+string(level[1:]))
			return nil
		}
	}
	c.Say("Provided argument does not represent a valid severity.")
	return nil
}

func promote(_ context.Context, c *Call) error {
	if c.Was.Type != issue.Plain {
		return nil
	}
	incident := issue.Incident
	c.Issue.Type = &incident
	c.Say("Issue has been promoted to incident.")
	return nil
}

// retype makes something else of an issue: an incident, a task or a test case, say.
func retype(_ context.Context, c *Call) error {
	kind := issue.Type(strings.ReplaceAll(strings.ToLower(c.Argument), " ", "_"))
	switch {
	case !slices.Contains([]issue.Type{issue.Plain, issue.Incident, issue.TestCase, issue.Task}, kind):
		c.Say("Failed to convert this work item: Provided type is not supported.")
	case kind == c.Was.Type:
		c.Say("Failed to convert this work item: Types are the same.")
	default:
		c.Issue.Type = &kind
		c.Set("issue_type", kind)
		c.Say("Type changed successfully.")
	}
	return nil
}

// iteration reads "*iteration:5", "*iteration:title", "[cadence:2] --next" and "--current".
func (s *Service) iteration(ctx context.Context, c *Call) error {
	var which iteration.Choice
	if name, ok := strings.CutPrefix(c.Argument, "*iteration:"); ok {
		id, err := strconv.ParseInt(name, 10, 64)
		if which.ID = iteration.ID(id); err != nil {
			which.ID, which.Title = 0, strings.Trim(name, `"`)
		}
	} else {
		rest := c.Argument
		if inner, ok := strings.CutPrefix(rest, "[cadence:"); ok {
			var name string
			if name, rest, ok = strings.Cut(inner, "]"); !ok {
				return nil
			}
			id, err := strconv.ParseInt(name, 10, 64)
			if which.Cadence = iteration.CadenceID(id); err != nil {
				which.Cadence, which.CadenceTitle = 0, strings.Trim(name, `"`)
			}
		}
		switch strings.TrimSpace(rest) {
		case "--current":
			which.State = iteration.Current
		case "--next":
			which.State = iteration.Upcoming
		default:
			return nil
		}
	}
	found, err := s.Iterations.Choose(ctx, c.As, c.Project.Place(), which)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	c.Issue.IterationID = &found.ID
	c.Set("iteration_id", found.ID)
	c.Say("Set the iteration to *iteration:%d.", found.ID)
	return nil
}

func (s *Service) removeIteration(_ context.Context, c *Call) error {
	if c.Was.IterationID == nil {
		return nil
	}
	none := iteration.ID(0)
	c.Issue.IterationID = &none
	c.Set("iteration_id", nil)
	c.Say("Removed *iteration:%d iteration.", *c.Was.IterationID)
	return nil
}

// boardMove puts an issue into another list of the only board of the project.
func (s *Service) boardMove(ctx context.Context, c *Call) error {
	found, err := s.found(ctx, c, reference.Label)
	if err != nil || len(found) != 1 {
		return err
	}
	at, one := c.Project.Place(), board.Filter{}
	one.Limit = 2
	boards, err := s.Boards.List(ctx, c.As, at, one)
	if errs.Is(err, errs.Forbidden) {
		return nil
	}
	if err != nil || len(boards.Items) != 1 {
		return err
	}
	to := label.ID(found[0].ID)
	var listed []label.ID
	for _, l := range boards.Items[0].Lists {
		if l.LabelID != nil {
			listed = append(listed, *l.LabelID)
		}
	}
	if !slices.Contains(listed, to) {
		return nil
	}
	var left []int64
	for _, l := range c.Was.Labels {
		if l.ID != to && slices.Contains(listed, l.ID) {
			left = append(left, int64(l.ID))
			c.Issue.Labels.Remove = append(c.Issue.Labels.Remove, strconv.FormatInt(int64(l.ID), 10))
		}
	}
	if len(left) > 0 {
		c.collect("remove_label_ids", left)
	}
	c.addLabels([]string{found[0].Title}, []int64{int64(to)})
	c.Say("Moved issue to ~%d column in the board.", to)
	return nil
}

func (s *Service) subscribe(want bool) func(ctx context.Context, c *Call) error {
	return func(ctx context.Context, c *Call) error {
		is, err := s.Subscriptions.Of(ctx, c.As, c.Target.Ref)
		if err != nil || is[c.Target.Ref] == want {
			return err
		}
		event, text := "subscribe", "Subscribed to notifications."
		if !want {
			event, text = "unsubscribe", "Unsubscribed from notifications."
		}
		c.After(func(ctx context.Context) error { return s.Subscriptions.Set(ctx, c.As, c.On(), want) })
		c.Set("subscription_event", event)
		c.Say("%s", text)
		return nil
	}
}
