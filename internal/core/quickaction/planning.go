package quickaction

import (
	"context"
	"strconv"
	"strings"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/reference"
)

var (
	all    = []noteable.Kind{noteable.Issue, noteable.MergeRequest, noteable.Epic}
	both   = []noteable.Kind{noteable.Issue, noteable.MergeRequest}
	plans  = []noteable.Kind{noteable.Issue, noteable.Epic}
	issues = []noteable.Kind{noteable.Issue}
	epics  = []noteable.Kind{noteable.Epic}
	merges = []noteable.Kind{noteable.MergeRequest}
)

// update is an action for those who may change the text and the state.
func update(kinds []noteable.Kind, run func(ctx context.Context, c *Call) error, names ...string) Action {
	return Action{Names: names, Kinds: kinds, Issue: authz.UpdateIssue, Merge: authz.UpdateMergeRequest, Epic: authz.UpdateEpic, Run: run}
}

// metadata is an action for those who may change everything else.
func metadata(kinds []noteable.Kind, run func(ctx context.Context, c *Call) error, names ...string) Action {
	return Action{Names: names, Kinds: kinds, Issue: authz.SetIssueMetadata, Merge: authz.SetMergeRequestMetadata, Epic: authz.UpdateEpic, Run: run}
}

// planning are the commands for state, text, labels, milestones and times.
func (s *Service) planning() []Action {
	return []Action{
		update(all, closes, "close"),
		update(all, reopens, "reopen"),
		update(all, retitles, "title"),
		metadata(all, s.labels, "label", "labels"),
		metadata(all, s.unlabel, "unlabel", "remove_label"),
		metadata(all, s.relabel, "relabel"),
		metadata(both, s.milestone, "milestone"),
		metadata(both, s.removeMilestone, "remove_milestone"),
		metadata(issues, s.due, "due"),
		metadata(issues, removeDue, "remove_due_date"),
		metadata(issues, weight, "weight"),
		metadata(issues, clearWeight, "clear_weight"),
		metadata(both, locks(true), "lock"),
		metadata(both, locks(false), "unlock"),
		metadata(plans, confidential, "confidential"),
	}
}

func closes(_ context.Context, c *Call) error {
	if c.state() != string(issue.StateOpened) {
		return nil
	}
	c.Issue.StateEvent, c.Request.Event, c.Epic.StateEvent = "close", mergerequest.Close, "close"
	c.Say("Closed this %s.", c.thing())
	return nil
}

func reopens(_ context.Context, c *Call) error {
	if c.state() != string(issue.StateClosed) {
		return nil
	}
	c.Issue.StateEvent, c.Request.Event, c.Epic.StateEvent = "reopen", mergerequest.Reopen, "reopen"
	c.Say("Reopened this %s.", c.thing())
	return nil
}

func retitles(_ context.Context, c *Call) error {
	if c.Argument != "" {
		title := c.Argument
		c.Issue.Title, c.Request.Title, c.Epic.Title = &title, &title, &title
		c.Say("Changed the title to %q.", title)
	}
	return nil
}

// found returns what the argument of a command refers to of a kind, each once.
func (s *Service) found(ctx context.Context, c *Call, kind reference.Kind) ([]*reference.Target, error) {
	return s.foundIn(ctx, c, c.Argument, kind)
}

func (s *Service) foundIn(ctx context.Context, c *Call, words string, kind reference.Kind) ([]*reference.Target, error) {
	refs := s.References.Words(words)
	targets, err := s.References.Resolve(ctx, c.As, c.place(), refs)
	if err != nil {
		return nil, err
	}
	var out []*reference.Target
	seen := map[int64]bool{}
	for i, t := range targets {
		if t != nil && refs[i].Kind == kind && !seen[t.ID] {
			seen[t.ID] = true
			out = append(out, t)
		}
	}
	return out, nil
}

// named returns the labels that a command names: their ids, titles, ids as text, and how the
// summary lists them.
func (s *Service) named(ctx context.Context, c *Call) (ids []int64, titles, texts []string, list string, err error) {
	labels, err := s.foundIn(ctx, c, tildes(c.Argument), reference.Label)
	for _, l := range labels {
		ids, titles, texts = append(ids, l.ID), append(titles, l.Title), append(texts, strconv.FormatInt(l.ID, 10))
	}
	list = "~" + strings.Join(texts, " ~") + " label"
	if len(ids) > 1 {
		list += "s"
	}
	return ids, titles, texts, list, err
}

// tildes makes references of the titles of labels, which may stand without a tilde where all
// of them do: a "b c".
func tildes(titles string) string {
	if strings.Contains(titles, "~") {
		return titles
	}
	var b strings.Builder
	for rest := titles; rest != ""; {
		title, after, quoted := "", "", rest[0] == '"'
		if quoted {
			title, after, quoted = strings.Cut(rest[1:], `"`)
		}
		if !quoted {
			title, after, _ = strings.Cut(rest, " ")
		}
		if title = strings.ReplaceAll(title, `"`, ""); title != "" {
			b.WriteString(`~"` + title + `" `)
		}
		rest = after
	}
	return b.String()
}

func (s *Service) labels(ctx context.Context, c *Call) error {
	ids, titles, _, list, err := s.named(ctx, c)
	if err != nil || len(ids) == 0 {
		return err
	}
	c.addLabels(titles, ids)
	c.Say("Added %s.", list)
	return nil
}

// collect adds ids to those of a change.
func (c *Call) collect(key string, ids []int64) {
	before, _ := c.result.Changes[key].([]int64)
	c.Set(key, append(before, ids...))
}

func (s *Service) unlabel(ctx context.Context, c *Call) error {
	if c.Argument == "" {
		c.Issue.Labels.Set = &[]string{}
		c.Request.Labels.Set, c.Epic.Labels.Set = c.Issue.Labels.Set, c.Issue.Labels.Set
		c.Set("label_ids", []int64{})
		c.Say("Removed all labels.")
		return nil
	}
	ids, _, texts, list, err := s.named(ctx, c)
	if err != nil || len(ids) == 0 {
		return err
	}
	c.Issue.Labels.Remove = append(c.Issue.Labels.Remove, texts...)
	c.Request.Labels.Remove, c.Epic.Labels.Remove = c.Issue.Labels.Remove, c.Issue.Labels.Remove
	c.collect("remove_label_ids", ids)
	c.Say("Removed %s.", list)
	return nil
}

func (s *Service) relabel(ctx context.Context, c *Call) error {
	ids, titles, _, list, err := s.named(ctx, c)
	if err != nil || len(ids) == 0 {
		return err
	}
	c.Issue.Labels.Set, c.Issue.Labels.Add = &[]string{}, titles
	c.Request.Labels, c.Epic.Labels = c.Issue.Labels, c.Issue.Labels
	c.Set("label_ids", ids)
	c.Say("Replaced all labels with %s.", list)
	return nil
}

func (s *Service) milestone(ctx context.Context, c *Call) error {
	found, err := s.found(ctx, c, reference.Milestone)
	if err != nil || len(found) == 0 {
		return err
	}
	id := milestone.ID(found[0].ID)
	c.Issue.MilestoneID, c.Request.MilestoneID = &id, &id
	c.Set("milestone_id", id)
	c.Say("Set the milestone to %s.", quoted("%", found[0].Title))
	return nil
}

// quoted is a title as references name it.
func quoted(sign, title string) string {
	if strings.ContainsAny(title, " \t\"") {
		return sign + `"` + title + `"`
	}
	return sign + title
}

func (s *Service) removeMilestone(ctx context.Context, c *Call) error {
	var id *milestone.ID
	if c.Merge() {
		id = c.WasRequest.MilestoneID
	} else {
		id = c.Was.MilestoneID
	}
	if id == nil {
		return nil
	}
	known, err := s.Milestones.ByIDs(ctx, c.As, []milestone.ID{*id})
	if err != nil {
		return err
	}
	none := milestone.ID(0)
	c.Issue.MilestoneID, c.Request.MilestoneID = &none, &none
	c.Set("milestone_id", nil)
	if m := known[*id]; m != nil {
		c.Say("Removed %s milestone.", quoted("%", m.Title))
	} else {
		c.Say("Removed milestone.")
	}
	return nil
}

// shortDay is how summaries write days.
const shortDay = "Jan 2, 2006"

func (s *Service) due(_ context.Context, c *Call) error {
	at, ok := day(c.Argument, s.Now().UTC())
	if !ok {
		return nil
	}
	text := at.Format(time.DateOnly)
	c.Issue.DueDate = &text
	c.Set("due_date", text)
	c.Say("Set the due date to %s.", at.Format(shortDay))
	return nil
}

// day reads a day: a date, "today", "tomorrow" or "in 3 days".
func day(text string, now time.Time) (time.Time, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	switch text {
	case "today":
		return now, true
	case "tomorrow":
		return now.AddDate(0, 0, 1), true
	}
	for _, layout := range []string{time.DateOnly, "January 2 2006", "January 2, 2006", "Jan 2 2006", "Jan 2, 2006", "2006/01/02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	for _, layout := range []string{"January 2", "Jan 2"} {
		if at, err := time.Parse(layout, text); err == nil {
			at = at.AddDate(now.Year()-at.Year(), 0, 0)
			if at.Before(now.Truncate(24 * time.Hour)) {
				at = at.AddDate(1, 0, 0)
			}
			return at, true
		}
	}
	words := strings.Fields(strings.TrimPrefix(text, "in "))
	if len(words) != 2 {
		return now, false
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 0 || n > 10_000 {
		return now, false
	}
	switch strings.TrimSuffix(words[1], "s") {
	case "day":
		return now.AddDate(0, 0, n), true
	case "week":
		return now.AddDate(0, 0, 7*n), true
	case "month":
		return now.AddDate(0, n, 0), true
	case "year":
		return now.AddDate(n, 0, 0), true
	}
	return now, false
}

func removeDue(_ context.Context, c *Call) error {
	if c.Was.DueDate == nil {
		return nil
	}
	none := ""
	c.Issue.DueDate = &none
	c.Set("due_date", nil)
	c.Say("Removed the due date.")
	return nil
}

func weight(_ context.Context, c *Call) error {
	n, err := strconv.ParseInt(c.Argument, 10, 32)
	if valid := err == nil && n >= 0; !valid {
		return nil
	}
	c.Issue.Weight, c.Issue.ClearWeight = &n, false
	c.Set("weight", n)
	c.Say("Set weight to %d.", n)
	return nil
}

func clearWeight(_ context.Context, c *Call) error {
	if c.Was.Weight == nil {
		return nil
	}
	c.Issue.Weight, c.Issue.ClearWeight = nil, true
	c.Set("weight", nil)
	c.Say("Cleared weight.")
	return nil
}

func locks(locked bool) func(context.Context, *Call) error {
	return func(_ context.Context, c *Call) error {
		if c.Target.Locked == locked {
			return nil
		}
		c.Issue.DiscussionLocked, c.Request.DiscussionLocked = &locked, &locked
		c.Set("discussion_locked", locked)
		if locked {
			c.Say("Locked the discussion.")
		} else {
			c.Say("Unlocked the discussion.")
		}
		return nil
	}
}

func confidential(_ context.Context, c *Call) error {
	if c.Target.Subject.Confidential {
		return nil
	}
	yes := true
	c.Issue.Confidential, c.Epic.Confidential = &yes, &yes
	c.Set("confidential", true)
	c.Say("Made this %s confidential.", c.thing())
	return nil
}
