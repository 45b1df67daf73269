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
	Before *mergerequest.MergeRequest
	After  mergerequest.MergeRequest
	Action string
	OldSHA string `json:",omitempty"` // the head before a push
}

func (request) kind() string { return "merge_request" }

func (r *request) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errGone
	}
	body, err := s.Payloads.MergeRequest(ctx, m.Project, &r.After, payload.MergeRequestEvent{
		By: m.By, Action: r.Action, OldSHA: r.OldSHA, Changes: s.Payloads.MergeRequestChanges(m.Project, r.Before, &r.After),
	})
	if err != nil {
		return err
	}
	for _, l := range r.After.Labels {
		m.Labels = append(m.Labels, l.Title)
	}
	m.Action, m.Body = r.Action, body
	return nil
}

func (s *Service) subscribeRequests(b *event.Bus) {
	const name = "hooks"
	event.On(b, name, func(ctx context.Context, e mergerequest.Created) error { return s.request(ctx, e.Fact, "open", "") })
	event.On(b, name, func(ctx context.Context, e mergerequest.NewVersion) error {
		return s.request(ctx, e.Fact, "update", e.OldSHA)
	})
	event.On(b, name, func(ctx context.Context, e mergerequest.Updated) error { return s.request(ctx, e.Fact, "update", "") })
	event.On(b, name, func(ctx context.Context, e mergerequest.Closed) error { return s.request(ctx, e.Fact, "close", "") })
	event.On(b, name, func(ctx context.Context, e mergerequest.Reopened) error { return s.request(ctx, e.Fact, "reopen", "") })
	event.On(b, name, func(ctx context.Context, e mergerequest.Merged) error { return s.request(ctx, e.Fact, "merge", "") })
	event.On(b, name, func(ctx context.Context, e approval.Approved) error {
		return s.request(ctx, e.Fact.Fact, e.Outcome(), "")
	})
	event.On(b, name, func(ctx context.Context, e approval.Unapproved) error {
		return s.request(ctx, e.Fact.Fact, e.Outcome(), "")
	})
}

func (s *Service) request(ctx context.Context, e mergerequest.Fact, action, oldSHA string) error {
	return s.record(ctx, e.Place, e.Stamp, candidate{payload.MergeRequest, &request{e.Before, *e.Row(), action, oldSHA}})
}
