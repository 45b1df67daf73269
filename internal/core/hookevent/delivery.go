package hookevent

import (
	"context"
	"slices"

	"tenon/internal/base/event"
	"tenon/internal/core/change"
	"tenon/internal/core/deploy"
	"tenon/internal/core/featureflag"
	"tenon/internal/core/payload"
	"tenon/internal/core/release"
)

// deployment is an event about a deployment, as it was at the time.
type deployment struct {
	Deployment  deploy.Deployment
	Environment deploy.Environment
}

func (deployment) kind() string { return "deployment" }

func (e *deployment) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	m.Ref = fullRef(e.Deployment.Ref, e.Deployment.Tag)
	body, err := s.Payloads.Deployment(ctx, m.Project, &e.Deployment, &e.Environment)
	return setBody(m, body, err)
}

// published is an event about a release, as it was at the time.
type published struct {
	Release release.Release
	Action  string
}

func (published) kind() string { return "release" }

func (e *published) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	m.Ref = fullRef(e.Release.Tag, true)
	body, err := s.Payloads.Release(ctx, m.Project, &e.Release, e.Action)
	return setBody(m, body, err)
}

// flag is an event about a feature flag that was switched, as it was then.
type flag struct {
	Flag featureflag.Flag
}

func (flag) kind() string { return "feature_flag" }

func (e *flag) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	body, err := s.Payloads.FeatureFlag(ctx, m.Project, &e.Flag, m.By)
	return setBody(m, body, err)
}

// announced are the states of deployments that hooks are notified of.
var announced = []deploy.State{deploy.Running, deploy.Success, deploy.Failed, deploy.Canceled}

func (s *Service) subscribeDelivery(b *event.Bus) {
	on(b, func(ctx context.Context, e deploy.DeploymentCreated) error {
		return s.deployment(ctx, e.Of, e.Environment)
	})
	on(b, func(ctx context.Context, e deploy.DeploymentUpdated) error {
		if e.Before.State == e.After.State {
			return nil
		}
		return s.deployment(ctx, e.Of, e.Environment)
	})
	on(b, func(ctx context.Context, e release.Created) error { return s.release(ctx, e.Of, "create") })
	on(b, func(ctx context.Context, e release.Updated) error { return s.release(ctx, e.Of, "update") })
	on(b, func(ctx context.Context, e release.Deleted) error { return s.release(ctx, e.Of, "delete") })
	on(b, func(ctx context.Context, e featureflag.Updated) error {
		if e.Before.Active == e.After.Active {
			return nil
		}
		return s.record(ctx, e.Place, e.Stamp, candidate{payload.FeatureFlag, func() source {
			out := &flag{*e.Row()}
			out.Flag.Strategies = nil
			return out
		}})
	})
}

func (s *Service) deployment(ctx context.Context, e change.Of[deploy.Deployment], to deploy.Environment) error {
	if !slices.Contains(announced, e.Row().State) {
		return nil
	}
	return s.record(ctx, e.Place, e.Stamp, candidate{payload.Deployment, func() source { return &deployment{*e.Row(), to} }})
}

func (s *Service) release(ctx context.Context, e change.Of[release.Release], action string) error {
	return s.record(ctx, e.Place, e.Stamp, candidate{payload.Release, func() source { return &published{*e.Row(), action} }})
}
