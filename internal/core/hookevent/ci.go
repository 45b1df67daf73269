package hookevent

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/ci"
	"tenon/internal/core/payload"
)

// pipeline is an event about a pipeline, as it was at the time.
type pipeline struct {
	Pipeline ci.Pipeline
}

func (pipeline) kind() string { return "pipeline" }

func (e *pipeline) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	body, err := s.Payloads.Pipeline(ctx, m.Project, &e.Pipeline)
	m.Ref = ref(&e.Pipeline)
	return setBody(m, body, err)
}

// build is an event about a job, as it was at the time.
type build struct {
	Job      ci.Job
	Pipeline ci.Pipeline
}

func (build) kind() string { return "job" }

func (e *build) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	body, err := s.Payloads.Job(ctx, m.Project, &e.Job, &e.Pipeline)
	m.Ref = ref(&e.Pipeline)
	return setBody(m, body, err)
}

// ref is the full name of what a pipeline runs for.
func ref(of *ci.Pipeline) string {
	if of.OfMergeRequest() {
		return of.Ref
	}
	return fullRef(of.Ref, of.Tag)
}

// fullRef is the full name of a branch or tag.
func fullRef(name string, tag bool) string {
	if tag {
		return "refs/tags/" + name
	}
	return "refs/heads/" + name
}

func (s *Service) subscribePipelines(b *event.Bus) {
	on(b, func(ctx context.Context, e ci.PipelineChanged) error {
		return s.record(ctx, e.Place, e.Stamp, candidate{payload.Pipeline, func() source { return &pipeline{*e.Row()} }})
	})
	on(b, func(ctx context.Context, e ci.JobChanged) error {
		if e.Row().Kind == ci.BridgeKind {
			return nil // a trigger job sends none
		}
		return s.record(ctx, e.Place, e.Stamp, candidate{payload.Job, func() source {
			out := &build{*e.Row(), e.Pipeline}
			out.Job.Definition, out.Job.TokenDigest = "", nil
			return out
		}})
	})
}
