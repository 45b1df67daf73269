package hookevent

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/payload"
	"tenon/internal/core/repo"
)

// push is a branch or tag that was pushed.
type push struct {
	Change  repo.RefChange
	Options []string `json:",omitempty"`
}

func (push) kind() string { return "push" }

func (e *push) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	body, err := s.Payloads.Push(ctx, m.Project, payload.PushEvent{By: m.By, Change: e.Change, Options: e.Options})
	if err != nil {
		return err
	}
	m.Ref, m.Body = string(e.Change.Ref), body
	return nil
}

// update is a whole push.
type update struct {
	Changes []repo.RefChange
}

func (update) kind() string { return "repository_update" }

func (e *update) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	body, err := s.Payloads.RepositoryUpdate(ctx, m.Project, m.By, e.Changes)
	if err != nil {
		return err
	}
	m.Body = body
	return nil
}

func (s *Service) subscribePushes(b *event.Bus) { on(b, s.pushed) }

// pushed records each branch and tag that a push has moved, unless it has moved more than the setting allows, and the push itself.
func (s *Service) pushed(ctx context.Context, e repo.Pushed) error {
	var all []repo.RefChange
	for _, c := range e.Changes {
		if c.Ref.IsBranch() || c.Ref.IsTag() {
			all = append(all, c.RefChange)
		}
	}
	if len(all) == 0 {
		return nil
	}
	candidates := []candidate{{payload.RepositoryUpdate, func() source { return &update{all} }}}
	if len(all) <= s.Settings.Current().PushEventHooksLimit {
		for _, c := range all {
			trigger := payload.Push
			if c.Ref.IsTag() {
				trigger = payload.TagPush
			}
			candidates = append(candidates, candidate{trigger, func() source { return &push{c, e.Options} }})
		}
	}
	return s.record(ctx, e.Project.Place(), e.Stamp, candidates...)
}
