package hookevent

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/approval"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/payload"
)

// request is an event about a merge request, as it was at the time.
type request struct {
	Before *mergerequest.MergeRequest `json:",omitempty"` // nil where it was created
	After  mergerequest.MergeRequest
	Text   bool `json:",omitzero"` // the description has changed; Before has none otherwise
	Action string
	OldSHA string `json:",omitzero"` // the head before a push
	Time   int64  `json:",omitzero"` // seconds that were added
}

func newRequest(e mergerequest.Fact, action, oldSHA string, seconds int64) *request {
	out := &request{After: *e.Row(), Action: action, OldSHA: oldSHA, Time: seconds}
	if e.Before != nil && e.After != nil {
		before := *e.Before
		if out.Text = e.Has("description"); !out.Text {
			before.Description = nil
		}
		out.Before = &before
	}
	return out
}

func (request) kind() string { return "merge_request" }

func (r *request) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	if r.Before != nil && !r.Text {
		r.Before.Description = r.After.Description
	}
	body, err := s.Payloads.MergeRequest(ctx, m.Project, &r.After, payload.MergeRequestEvent{
		By: m.By, Action: r.Action, OldSHA: r.OldSHA, Before: r.Before, TimeChange: r.Time,
	})
	if err != nil {
		return err
	}
	m.Body = body
	return nil
}

func (s *Service) subscribeRequests(b *event.Bus) {
	on(b, func(ctx context.Context, e mergerequest.Created) error { return s.request(ctx, e.Fact, "open", "", 0) })
	on(b, func(ctx context.Context, e mergerequest.NewVersion) error {
		return s.request(ctx, e.Fact, "update", e.OldSHA, 0)
	})
	on(b, func(ctx context.Context, e mergerequest.Updated) error {
		if e.Before.State != e.After.State || e.DraftCommit != "" {
			return nil // the event of the new state, or that of the push, says what else has changed
		}
		return s.request(ctx, e.Fact, "update", "", e.Time.Spent)
	})
	on(b, func(ctx context.Context, e mergerequest.Closed) error { return s.request(ctx, e.Fact, "close", "", 0) })
	on(b, func(ctx context.Context, e mergerequest.Reopened) error {
		return s.request(ctx, e.Fact, "reopen", "", 0)
	})
	on(b, func(ctx context.Context, e mergerequest.Merged) error { return s.request(ctx, e.Fact, "merge", "", 0) })
	on(b, func(ctx context.Context, e approval.Approved) error {
		return s.request(ctx, e.Fact.Fact, e.Outcome(), "", 0)
	})
	on(b, func(ctx context.Context, e approval.Unapproved) error {
		return s.request(ctx, e.Fact.Fact, e.Outcome(), "", 0)
	})
}

func (s *Service) request(ctx context.Context, e mergerequest.Fact, action, oldSHA string, seconds int64) error {
	return s.record(ctx, e.Place, e.Stamp, candidate{payload.MergeRequest, func() source { return newRequest(e, action, oldSHA, seconds) }})
}
