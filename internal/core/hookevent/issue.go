package hookevent

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/issue"
	"tenon/internal/core/payload"
)

// about is an event about an issue, as it was at the time.
type about struct {
	Before *issue.Issue `json:",omitempty"` // nil where it was created
	After  issue.Issue
	Text   bool `json:",omitzero"` // the description has changed; Before has none otherwise
	Action string
	Time   int64 `json:",omitzero"` // seconds that were added
}

func newAbout(e issue.Fact, action string, seconds int64) *about {
	out := &about{After: *e.Row(), Action: action, Time: seconds}
	out.After.UserAgent, out.After.UserAddress = nil, nil
	if e.Before == nil || e.After == nil {
		return out
	}
	before := *e.Before
	if before.Confidential && !e.After.Confidential {
		// What it was while it was confidential is not for those who are notified of it from now on.
		before = *e.After
		before.Confidential = true
	}
	before.UserAgent, before.UserAddress = nil, nil
	if out.Text = e.Has("description") && !(e.Before.Confidential && !e.After.Confidential); !out.Text {
		before.Description = nil
	}
	out.Before = &before
	return out
}

func (about) kind() string { return "issue" }

func (a *about) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	if a.Before != nil && !a.Text {
		a.Before.Description = a.After.Description
	}
	body, err := s.Payloads.Issue(ctx, m.Project, &a.After, payload.IssueEvent{By: m.By, Action: a.Action, Before: a.Before, TimeChange: a.Time})
	if err != nil {
		return err
	}
	m.Body = body
	return nil
}

func (s *Service) subscribeIssues(b *event.Bus) {
	on(b, func(ctx context.Context, e issue.Created) error { return s.issue(ctx, e.Fact, "open", 0) })
	on(b, func(ctx context.Context, e issue.Updated) error {
		if e.Before.State != e.After.State {
			return nil // the event of the new state says what else has changed
		}
		return s.issue(ctx, e.Fact, "update", e.Time.Spent)
	})
	on(b, func(ctx context.Context, e issue.Closed) error { return s.issue(ctx, e.Fact, "close", 0) })
	on(b, func(ctx context.Context, e issue.Reopened) error { return s.issue(ctx, e.Fact, "reopen", 0) })
}

func (s *Service) issue(ctx context.Context, e issue.Fact, action string, seconds int64) error {
	trigger := payload.Issue
	if e.Row().Confidential {
		trigger = payload.ConfidentialIssue
	}
	return s.record(ctx, e.Place, e.Stamp, candidate{trigger, func() source { return newAbout(e, action, seconds) }})
}
