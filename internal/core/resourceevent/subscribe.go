package resourceevent

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Subscribe registers all that is recorded.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "resource events"
	event.On(b, name, func(ctx context.Context, e label.Promoted) error {
		return promoted(ctx, s.DB, "label_id", e.After.ID, e.Replaces)
	})
	event.On(b, name, func(ctx context.Context, e milestone.Promoted) error {
		return promoted(ctx, s.DB, "milestone_id", e.After.ID, e.Replaces)
	})
	event.On(b, name, func(ctx context.Context, e issue.Created) error {
		if e.WithNotes {
			return s.copyIssue(ctx, e)
		}
		return s.issueChanged(ctx, e.Fact)
	})
	event.On(b, name, func(ctx context.Context, e issue.Updated) error { return s.issueChanged(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e issue.Closed) error { return s.stateOfIssue(ctx, e.Fact, "closed", e.Cause) })
	event.On(b, name, func(ctx context.Context, e issue.Reopened) error { return s.state(ctx, e, "reopened") })
	event.On(b, name, func(ctx context.Context, e noteable.Deleted) error { return s.clear(ctx, e.Noteable()) })
	event.On(b, name, func(ctx context.Context, e epic.Created) error { return s.epicChanged(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e epic.Updated) error { return s.epicChanged(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e epic.Closed) error { return s.state(ctx, e, "closed") })
	event.On(b, name, func(ctx context.Context, e epic.Reopened) error { return s.state(ctx, e, "reopened") })
	event.On(b, name, func(ctx context.Context, e mergerequest.Created) error { return s.requestChanged(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e mergerequest.Updated) error { return s.requestChanged(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e mergerequest.Closed) error { return s.state(ctx, e, "closed") })
	event.On(b, name, func(ctx context.Context, e mergerequest.Reopened) error { return s.state(ctx, e, "reopened") })
	event.On(b, name, func(ctx context.Context, e mergerequest.Merged) error { return s.state(ctx, e, "merged") })
	event.On(b, name, s.milestoneDeleted)
}

// copyIssue gives an issue that was moved or cloned the events of the other one.
func (s *Service) copyIssue(ctx context.Context, e issue.Created) error {
	const same = `user_id, action, state, label_id, milestone_id, iteration_id, weight, source_commit, source_merge_request_id, created_at`
	_, err := s.DB.Exec(ctx, "INSERT INTO resource_events (kind, resource_type, resource_id, project_id, "+same+`)
		SELECT kind, resource_type, CAST(? AS BIGINT), CAST(? AS BIGINT), `+same+` FROM resource_events
		WHERE resource_type = ? AND resource_id = ? ORDER BY id`, e.Row().ID, e.Row().ProjectID, noteable.Issue, e.CopyOf)
	if err != nil {
		return fmt.Errorf("copy resource events: %w", err)
	}
	return nil
}

// stamped begins an event of what an actor did; no user where the server itself did it.
func stamped(st authz.Stamp) Event {
	e := Event{CreatedAt: db.At(st.At)}
	if st.By.SignedIn() {
		e.UserID = &st.By.UserID
	}
	return e
}

// about begins an event about the subject of what happened.
func about(of change.Event) Event {
	f := of.Changed()
	e := stamped(f.Stamp)
	on := noteable.Subject(f)
	e.Type, e.TargetID, e.ProjectID = on.Kind, on.ID, project.IDOf(f.Place)
	if f.Place.Group {
		e.GroupID = &f.Place.Namespace
	}
	return e
}

// state records another state of a subject.
func (s *Service) state(ctx context.Context, of change.Event, state string) error {
	e := about(of)
	e.Kind, e.State = State, &state
	return s.record(ctx, e)
}

func (s *Service) epicChanged(ctx context.Context, f epic.Fact) error {
	return s.record(ctx, labels(about(f), change.Former(f.Before).Labels, f.Row().Labels)...)
}

// issueChanged records what differs between an issue and what it was; all of a new one.
func (s *Service) issueChanged(ctx context.Context, f issue.Fact) error {
	before := change.Former(f.Before)
	like := about(f)
	events := labels(like, before.Labels, f.Row().Labels)
	if !same(before.Weight, f.Row().Weight) {
		e := like
		e.Kind, e.Weight = Weight, f.Row().Weight
		events = append(events, e)
	}
	events = append(events, milestones(like, before.MilestoneID, f.Row().MilestoneID, string(f.Row().State))...)
	return s.record(ctx, append(events, iterations(like, before.IterationID, f.Row().IterationID)...)...)
}

func (s *Service) requestChanged(ctx context.Context, f mergerequest.Fact) error {
	before := change.Former(f.Before)
	like := about(f)
	events := labels(like, before.Labels, f.Row().Labels)
	return s.record(ctx, append(events, milestones(like, before.MilestoneID, f.Row().MilestoneID, string(f.Row().State))...)...)
}

// stateOfIssue records a state of an issue, and what closed it.
func (s *Service) stateOfIssue(ctx context.Context, f issue.Fact, state string, by noteable.Cause) error {
	e := about(f)
	e.Kind, e.State = State, &state
	if by.Commit != "" {
		e.SourceCommit = &by.Commit
	}
	if id := mergerequest.ID(by.MergeRequest); id != 0 {
		e.SourceRequestID = &id
	}
	return s.record(ctx, e)
}

// labels returns an event for each label that was added or removed.
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

// milestones returns the event of another milestone: that one where it was set, the former one where
// there is none any more.
func milestones(like Event, before, after *milestone.ID, state string) []Event {
	if same(before, after) {
		return nil
	}
	like.Kind, like.Action, like.State, like.MilestoneID = Milestone, Add, &state, after
	if after == nil {
		like.Action, like.MilestoneID = Remove, before
	}
	return []Event{like}
}

// iterations is milestones for iterations.
func iterations(like Event, before, after *iteration.ID) []Event {
	if same(before, after) {
		return nil
	}
	like.Kind, like.Action, like.IterationID = Iteration, Add, after
	if after == nil {
		like.Action, like.IterationID = Remove, before
	}
	return []Event{like}
}

// milestoneDeleted removes the events that name a milestone which is gone.
func (s *Service) milestoneDeleted(ctx context.Context, e milestone.Deleted) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM resource_events WHERE milestone_id = ?", e.Before.ID); err != nil {
		return fmt.Errorf("resource events of deleted milestone: %w", err)
	}
	return nil
}

// same compares what two pointers point to; nil equals nil alone.
func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
