package resourceevent

import (
	"context"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
)

// Subscribe registers all that is recorded.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "resource events"
	event.On(b, name, func(ctx context.Context, e label.Promoted) error {
		return promoted(ctx, s.db, "label_id", e.Label.ID, e.Replaces)
	})
	event.On(b, name, func(ctx context.Context, e milestone.Promoted) error {
		return promoted(ctx, s.db, "milestone_id", e.Milestone.ID, e.Replaces)
	})
	event.On(b, name, func(ctx context.Context, e issue.Created) error { return s.issueChanged(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e issue.Updated) error { return s.issueChanged(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e issue.Closed) error { return s.stateOfIssue(ctx, e.Fact, "closed") })
	event.On(b, name, func(ctx context.Context, e issue.Reopened) error { return s.stateOfIssue(ctx, e.Fact, "reopened") })
	event.On(b, name, func(ctx context.Context, e issue.Deleted) error {
		return s.clear(ctx, noteable.Ref{Kind: noteable.Issue, ID: int64(e.Issue.ID)})
	})
	event.On(b, name, func(ctx context.Context, e mergerequest.Created) error { return s.requestChanged(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e mergerequest.Updated) error { return s.requestChanged(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e mergerequest.Closed) error { return s.stateOfRequest(ctx, e.Fact, "closed") })
	event.On(b, name, func(ctx context.Context, e mergerequest.Reopened) error {
		return s.stateOfRequest(ctx, e.Fact, "reopened")
	})
	event.On(b, name, func(ctx context.Context, e mergerequest.Merged) error { return s.stateOfRequest(ctx, e.Fact, "merged") })
	event.On(b, name, func(ctx context.Context, e mergerequest.Deleted) error {
		return s.clear(ctx, noteable.Ref{Kind: noteable.MergeRequest, ID: int64(e.MergeRequest.ID)})
	})
}

// stamped begins an event of what an actor did; no user where the server itself did it.
func stamped(st authz.Stamp) Event {
	e := Event{CreatedAt: db.At(st.At)}
	if st.By.SignedIn() {
		e.UserID = &st.By.UserID
	}
	return e
}

func ofIssue(f issue.Fact) Event {
	e := stamped(f.Stamp)
	e.Type, e.TargetID, e.ProjectID = noteable.Issue, int64(f.Issue.ID), &f.Issue.ProjectID
	return e
}

func ofRequest(f mergerequest.Fact) Event {
	e := stamped(f.Stamp)
	e.Type, e.TargetID, e.ProjectID = noteable.MergeRequest, int64(f.MergeRequest.ID), &f.MergeRequest.ProjectID
	return e
}

// issueChanged records what differs between an issue and what it was; all of a new one.
func (s *Service) issueChanged(ctx context.Context, f issue.Fact) error {
	before := f.Before
	if before == nil {
		before = &issue.Issue{}
	}
	like := ofIssue(f)
	events := labels(like, before.Labels, f.Issue.Labels)
	if !same(before.Weight, f.Issue.Weight) {
		e := like
		e.Kind, e.Weight = Weight, f.Issue.Weight
		events = append(events, e)
	}
	return s.record(ctx, events...)
}

func (s *Service) requestChanged(ctx context.Context, f mergerequest.Fact) error {
	before := f.Before
	if before == nil {
		before = &mergerequest.MergeRequest{}
	}
	return s.record(ctx, labels(ofRequest(f), before.Labels, f.MergeRequest.Labels)...)
}

func (s *Service) stateOfIssue(ctx context.Context, f issue.Fact, state string) error {
	e := ofIssue(f)
	e.Kind, e.State = State, &state
	return s.record(ctx, e)
}

func (s *Service) stateOfRequest(ctx context.Context, f mergerequest.Fact, state string) error {
	e := ofRequest(f)
	e.Kind, e.State = State, &state
	return s.record(ctx, e)
}

// labels gives an event for each label that was added or removed.
func labels(like Event, before, after []label.Label) []Event {
	var out []Event
	like.Kind = Label
	for _, side := range []struct {
		action   Action
		has, had []label.Label
	}{{Add, after, before}, {Remove, before, after}} {
		for i := range side.has {
			id := side.has[i].ID
			if slices.ContainsFunc(side.had, func(l label.Label) bool { return l.ID == id }) {
				continue
			}
			e := like
			e.Action, e.LabelID = side.action, &id
			out = append(out, e)
		}
	}
	return out
}

// same compares what two pointers point to; nil equals nil alone.
func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
