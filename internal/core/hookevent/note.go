package hookevent

import (
	"context"

	"tenon/internal/base/event"
	"tenon/internal/core/award"
	"tenon/internal/core/change"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/payload"
)

// comment is an event about a note, as it was at the time.
type comment struct {
	Note   note.Note
	On     noteable.Ref
	Action string // create or update
}

func (comment) kind() string { return "note" }

func (c *comment) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	on, err := s.Payloads.Noted(ctx, m.Project, c.On)
	if err != nil {
		return err
	}
	if on == nil {
		return errDeleted
	}
	body, err := s.Payloads.Note(ctx, m.Project, &c.Note, on, m.By, c.Action)
	if err != nil {
		return err
	}
	if on.Hidden {
		m.Trigger = payload.ConfidentialNote // also where the issue has become confidential since
	}
	m.Body = body
	return nil
}

// emoji is an event about a reaction.
type emoji struct {
	Award  award.Award
	On     noteable.Ref
	Action string // award or revoke
}

func (emoji) kind() string { return "emoji" }

func (e *emoji) fill(ctx context.Context, s *Service, m *payload.Message) error {
	if m.Project == nil {
		return errDeleted
	}
	body, err := s.Payloads.Emoji(ctx, m.Project, &e.Award, e.On, e.Action)
	return setBody(m, body, err)
}

func (s *Service) subscribeNotes(b *event.Bus) {
	on(b, func(ctx context.Context, e note.Created) error { return s.note(ctx, e.Fact, "create") })
	on(b, func(ctx context.Context, e note.Updated) error { return s.note(ctx, e.Fact, "update") })
	on(b, func(ctx context.Context, e award.Added) error { return s.award(ctx, e.Of, &e.Target, "award") })
	on(b, func(ctx context.Context, e award.Removed) error { return s.award(ctx, e.Of, &e.Target, "revoke") })
}

// award records a reaction to something in a project, but to what is confidential: no flag of a hook asks for that.
func (s *Service) award(ctx context.Context, e change.Of[award.Award], t *noteable.Target, action string) error {
	if !e.Place.IsProject() || t.Subject.Confidential {
		return nil
	}
	return s.record(ctx, e.Place, e.Stamp, candidate{payload.Emoji, func() source { return &emoji{*e.Row(), t.Ref, action} }})
}

// note records a comment on something in a project that a person has written.
func (s *Service) note(ctx context.Context, e note.Fact, action string) error {
	n := e.Row()
	if n.System || e.Project == nil || e.Target.Kind == noteable.Epic {
		return nil
	}
	trigger := payload.Note
	if n.Internal || e.Target.Subject.Confidential {
		trigger = payload.ConfidentialNote
	}
	return s.record(ctx, e.Place, e.Stamp, candidate{trigger, func() source { return &comment{*n, e.Target.Ref, action} }})
}
