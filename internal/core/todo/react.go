package todo

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/change"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// Subscribe registers what creates and resolves to-do items.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "to-do items"
	event.On(b, name, s.issueCreated)
	event.On(b, name, s.issueUpdated)
	event.On(b, name, func(ctx context.Context, e issue.Closed) error { return s.acted(ctx, e) })
	event.On(b, name, func(ctx context.Context, e noteable.Deleted) error { return s.clear(ctx, e.Noteable()) })
	event.On(b, name, s.requestCreated)
	event.On(b, name, s.requestUpdated)
	event.On(b, name, func(ctx context.Context, e mergerequest.Closed) error { return s.acted(ctx, e) })
	event.On(b, name, func(ctx context.Context, e mergerequest.Merged) error { return s.acted(ctx, e) })
	event.On(b, name, func(ctx context.Context, e mergerequest.NewVersion) error { return s.acted(ctx, e) })
	event.On(b, name, func(ctx context.Context, e mergerequest.Unmergeable) error { return s.heldUp(ctx, e.Fact, Unmergeable) })
	event.On(b, name, func(ctx context.Context, e mergerequest.PipelineFailed) error {
		return s.heldUp(ctx, e.Fact, BuildFailed)
	})
	event.On(b, name, s.recovered)
	event.On(b, name, func(ctx context.Context, e approval.Reset) error { return s.approvalsLost(ctx, e.Fact.Fact) })
	event.On(b, name, func(ctx context.Context, e approval.Approved) error { return s.acted(ctx, e) })
	event.On(b, name, s.epicCreated)
	event.On(b, name, s.epicUpdated)
	event.On(b, name, func(ctx context.Context, e epic.Closed) error {
		return s.acted(ctx, e)
	})
	event.On(b, name, func(ctx context.Context, e note.Created) error { return s.noted(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e note.Updated) error { return s.noted(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e award.Added) error { return s.resolve(ctx, e.By.UserID, e.Target.Ref, e.At) })
	event.On(b, name, s.accessRequested)
	event.On(b, name, func(ctx context.Context, e namespace.AccessDenied) error {
		return s.decided(ctx, e.Place, e.UserID, e.At)
	})
	event.On(b, name, func(ctx context.Context, e namespace.MemberAdded) error {
		return s.decided(ctx, e.Place, e.Row().UserID, e.At)
	})
}

func (s *Service) clear(ctx context.Context, on noteable.Ref) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM todos WHERE target_type = ? AND target_id = ?", on.Kind, on.ID); err != nil {
		return fmt.Errorf("clear to-do items: %w", err)
	}
	return nil
}

// ofIssue is what to-do items about an issue are made of.
func ofIssue(f issue.Fact) making {
	i, iid := f.Row(), int64(f.Row().IID)
	t := noteable.Target{
		Ref: noteable.Ref{Kind: noteable.Issue, ID: int64(i.ID)}, IID: &iid, ProjectID: int64(i.ProjectID), Title: i.Title, AuthorID: i.AuthorID,
		Subject: f.Project.Subject(),
	}
	t.Subject.Feature, t.Subject.Confidential = authz.Issues, i.Confidential
	return making{target: t, by: f.By.UserID, at: f.At}
}

func (m making) with(action Action) making { m.action = action; return m }

func (s *Service) issueCreated(ctx context.Context, e issue.Created) error {
	m := ofIssue(e.Fact)
	if err := s.create(ctx, m.with(Assigned), e.Row().Assignees); err != nil {
		return err
	}
	return s.mention(ctx, e.By, m, []string{e.Row().Title, text(e.Row().Description)}, nil)
}

func (s *Service) issueUpdated(ctx context.Context, e issue.Updated) error {
	m := ofIssue(e.Fact)
	if e.Has("title", "description", "assignees", "labels") {
		if err := s.resolve(ctx, m.by, m.target.Ref, m.at); err != nil {
			return err
		}
	}
	assigned, _ := e.Assigned()
	if err := s.create(ctx, m.with(Assigned), assigned); err != nil || !e.Has("title", "description") {
		return err
	}
	return s.mention(ctx, e.By, m, []string{e.Row().Title, text(e.Row().Description)}, []string{e.Before.Title, text(e.Before.Description)})
}

func (s *Service) acted(ctx context.Context, on change.Event) error {
	f := on.Changed()
	return s.resolve(ctx, f.By.UserID, noteable.Subject(f), f.At)
}

// ofRequest is what to-do items about a merge request are made of.
func ofRequest(f mergerequest.Fact) making {
	r, iid := f.Row(), int64(f.Row().IID)
	t := noteable.Target{
		Ref: noteable.Ref{Kind: noteable.MergeRequest, ID: int64(r.ID)}, IID: &iid, ProjectID: int64(r.ProjectID), Title: r.Title, AuthorID: r.AuthorID,
		Subject: f.Project.Subject(),
	}
	t.Subject.Feature = authz.MergeRequests
	return making{target: t, by: f.By.UserID, at: f.At}
}

func (s *Service) requestCreated(ctx context.Context, e mergerequest.Created) error {
	m := ofRequest(e.Fact)
	if err := s.askApprovers(ctx, e.Fact, m.by); err != nil {
		return err
	}
	if err := s.create(ctx, m.with(Assigned), e.Row().Assignees); err != nil {
		return err
	}
	if err := s.create(ctx, m.with(ReviewRequested), e.Row().ReviewerIDs()); err != nil {
		return err
	}
	return s.mention(ctx, e.By, m, []string{e.Row().Title, e.Row().Text()}, nil)
}

func (s *Service) requestUpdated(ctx context.Context, e mergerequest.Updated) error {
	m := ofRequest(e.Fact)
	if err := s.resolve(ctx, m.by, m.target.Ref, m.at); err != nil {
		return err
	}
	if e.Before.Draft {
		if err := s.askApprovers(ctx, e.Fact, m.by); err != nil {
			return err
		}
	}
	assigned, _ := e.Assigned()
	if err := s.create(ctx, m.with(Assigned), assigned); err != nil {
		return err
	}
	asked, _ := e.Asked()
	if err := s.create(ctx, m.with(ReviewRequested), asked); err != nil {
		return err
	}
	if !e.Has("title", "description") {
		return nil
	}
	return s.mention(ctx, e.By, m, []string{e.Row().Title, e.Row().Text()}, []string{e.Before.Title, e.Before.Text()})
}

// recovered marks the to-do items about a failed pipeline as done.
func (s *Service) recovered(ctx context.Context, e mergerequest.PipelineRecovered) error {
	_, err := s.DB.Exec(ctx, "UPDATE todos SET state = 'done', updated_at = ? WHERE action = ? AND state = 'pending' AND target_type = ? AND target_id = ?",
		db.At(e.At), BuildFailed, noteable.MergeRequest, e.Row().ID)
	if err != nil {
		return fmt.Errorf("resolve to-do items of a pipeline: %w", err)
	}
	return nil
}

// heldUp asks users whose merge request something keeps from being merged to see to it, each by itself.
func (s *Service) heldUp(ctx context.Context, f mergerequest.Fact, action Action) error {
	m := ofRequest(f).with(action)
	for _, id := range f.Concerned() {
		m.by = id
		if err := s.create(ctx, m, []authz.UserID{id}); err != nil {
			return err
		}
	}
	return nil
}

// ofEpic is what to-do items about an epic are made of.
func ofEpic(f epic.Fact) making {
	return making{target: f.Row().Target(f.By, f.Group), by: f.By.UserID, at: f.At}
}

func (s *Service) epicCreated(ctx context.Context, e epic.Created) error {
	return s.mention(ctx, e.By, ofEpic(e.Fact), []string{e.Row().Title, text(e.Row().Description)}, nil)
}

func (s *Service) epicUpdated(ctx context.Context, e epic.Updated) error {
	m := ofEpic(e.Fact)
	if err := s.resolve(ctx, m.by, m.target.Ref, m.at); err != nil {
		return err
	}
	return s.mention(ctx, e.By, m, []string{e.Row().Title, text(e.Row().Description)}, []string{e.Before.Title, text(e.Before.Description)})
}

// noted reacts to a comment that was written, or changed.
func (s *Service) noted(ctx context.Context, f note.Fact) error {
	if f.Row().System {
		return nil
	}
	if err := s.resolve(ctx, f.By.UserID, f.Target.Ref, f.At); err != nil {
		return err
	}
	id := int64(f.Row().ID)
	m := making{target: f.Target, by: f.By.UserID, noteID: &id, internal: f.Row().Internal, at: f.At}
	var older []string
	if f.Before != nil {
		older = []string{f.Before.Body}
	}
	return s.mention(ctx, f.By, m, []string{f.Row().Body}, older)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
