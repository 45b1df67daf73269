package hookevent

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/change"
	"tenon/internal/core/milestone"
	"tenon/internal/core/payload"
)

// goal is an event about a milestone, as it was at the time.
type goal struct {
	Milestone milestone.Milestone
	Project   bool // it is the project's, or else its group's
	Action    string
}

func (goal) kind() string { return "milestone" }

func (g *goal) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if g.Project && m.Project == nil {
		return errDeleted
	}
	body, err := s.Payloads.Milestone(ctx, m.Project, &g.Milestone, g.Action)
	return setBody(m, body, err)
}

func (s *Service) subscribeMilestones(b *event.Bus) {
	on(b, func(ctx context.Context, e milestone.Created) error { return s.milestone(ctx, e.Of, "create") })
	on(b, func(ctx context.Context, e milestone.Deleted) error { return s.milestone(ctx, e.Of, "delete") })
	on(b, func(ctx context.Context, e milestone.Updated) error {
		switch {
		case e.Before.State == e.After.State:
			return nil
		case e.After.State == milestone.Closed:
			return s.milestone(ctx, e.Of, "close")
		}
		return s.milestone(ctx, e.Of, "reopen")
	})
}

func (s *Service) milestone(ctx context.Context, e change.Of[milestone.Milestone], action string) error {
	return s.record(ctx, e.Place, e.Stamp, candidate{payload.Milestone, func() source { return &goal{*e.Row(), e.Place.IsProject(), action} }})
}
