package webhook

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/payload"
)

// Sampler makes events up, for tests of hooks.
type Sampler interface {
	// Sample returns an event of a place as the actor sees it, or an Unprocessable error where there is nothing to make it of.
	Sample(ctx context.Context, as authz.Actor, at authz.Place, trigger payload.Trigger) (*payload.Message, error)
}

// systemSample is what Probe sends.
const systemSample = `{"event_name":"project_create","name":"Ruby","path":"ruby","project_id":1,"owner_name":"Someone","owner_email":"example@gitlabhq.com"}`

// Probe calls a hook of the instance with a sample of an event, and returns the body that was sent. A call without an answer is
// recorded as any other.
func (s *Service) Probe(ctx context.Context, as authz.Actor, id ID) ([]byte, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminSystemHooks, authz.Subject{}); err != nil {
		return nil, err
	}
	h, err := s.find(ctx, authz.Place{}, id)
	if err != nil {
		return nil, err
	}
	if err := s.Limits.CheckIn(limit.WebhookTest, as, int64(h.ID), ""); err != nil {
		return nil, err
	}
	m := &payload.Message{Trigger: payload.System, At: s.Now(), By: as.UserID, Chain: uuid.NewString(), JSON: []byte(systemSample)}
	b, err := s.newBody(m)
	if err != nil {
		return nil, err
	}
	_, err = s.now(ctx, h, b, uuid.NewString())
	if known, ok := errors.AsType[*errs.Error](err); ok && known.Code == CodeFailed {
		err = nil
	}
	return m.JSON, err
}

// Test calls a hook with a sample of an event, whatever the hook asks for, and returns the body that was sent. A call without an
// answer is an Unprocessable error.
func (s *Service) Test(ctx context.Context, as authz.Actor, at authz.Place, id ID, trigger payload.Trigger) ([]byte, error) {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return nil, err
	}
	h, err := s.find(ctx, at, id)
	if err != nil {
		return nil, err
	}
	if err := s.Limits.CheckIn(limit.WebhookTest, as, int64(h.ID), ""); err != nil {
		return nil, err
	}
	m, err := s.Samples.Sample(ctx, as, at, trigger)
	if err != nil {
		return nil, err
	}
	if m.Chain == "" {
		m.Chain = uuid.NewString()
	}
	b, err := s.newBody(m)
	if err != nil {
		return nil, err
	}
	if _, err := s.now(ctx, h, b, uuid.NewString()); err != nil {
		return nil, err
	}
	return m.JSON, nil
}
