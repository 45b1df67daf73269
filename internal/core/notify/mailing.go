package notify

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"tenon/internal/base/event"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// Mailing asks for the mails about one event. It names what happened by ids: texts, and who
// may read them, are read when the mails are sent.
type Mailing struct {
	ID      string         `json:"id"`    // of the event
	Event   string         `json:"event"` // of Events, or one of those below
	On      noteable.Kind  `json:"on"`
	Target  int64          `json:"target"`            // 0 for a commit
	Project int64          `json:"project,omitempty"` // of a commit or a pipeline; of a group that has moved the last one that is done
	Commit  string         `json:"commit,omitempty"`  // hash, of a commit only
	Note    note.ID        `json:"note,omitempty"`
	Review  []note.ID      `json:"review,omitempty"` // published together with the note
	By      authz.UserID   `json:"by"`
	Users   []authz.UserID `json:"users,omitempty"`   // now assigned, or asked for a review; who started the pipeline
	Former  []authz.UserID `json:"former,omitempty"`  // no longer so
	Names   []string       `json:"names,omitempty"`   // now mentioned, folded
	Labels  []label.ID     `json:"labels,omitempty"`  // now added
	Day     string         `json:"day,omitempty"`     // that an issue is due on, or a project is deleted on, YYYY-MM-DD
	Path    string         `json:"path,omitempty"`    // that a project or group had, full
	Failure string         `json:"failure,omitempty"` // why an export failed
}

func (m *Mailing) ref() noteable.Ref {
	return noteable.Ref{Kind: m.On, ID: m.Target, Project: m.Project, Commit: m.Commit}
}

// Kind names the job.
func (Mailing) Kind() string { return "notification_mail" }

// Events that no user chooses: they are for those who are named or concerned, for those who
// subscribed to a label, or for those who take part.
const (
	newMention  = "new_mention"
	relabeled   = "relabeled"
	unmergeable = "unmergeable"
	closeEpic   = "close_epic"
	reopenEpic  = "reopen_epic"
	approved    = "approve_merge_request"
	unapproved  = "unapprove_merge_request"
)

// newEpic is the event of epics that users choose for a group.
const newEpic = "new_epic"

// begins reports whether the event is that something was made.
func (m *Mailing) begins() bool {
	return m.Event == "new_issue" || m.Event == "new_merge_request" || m.Event == newEpic
}

// Subscribe registers what mail tells of, if any is sent.
func (s *Service) Subscribe(b *event.Bus) {
	const name = "mail"
	event.On(b, name, func(ctx context.Context, e issue.Created) error { return s.mail(ctx, about("new_issue", e)) })
	event.On(b, name, s.issueUpdated)
	event.On(b, name, func(ctx context.Context, e issue.Closed) error { return s.mail(ctx, about("close_issue", e)) })
	event.On(b, name, func(ctx context.Context, e issue.Reopened) error { return s.mail(ctx, about("reopen_issue", e)) })
	event.On(b, name, func(ctx context.Context, e mergerequest.Created) error {
		return s.mail(ctx, about("new_merge_request", e))
	})
	event.On(b, name, s.requestUpdated)
	event.On(b, name, func(ctx context.Context, e mergerequest.Closed) error {
		return s.mail(ctx, about("close_merge_request", e))
	})
	event.On(b, name, func(ctx context.Context, e mergerequest.Reopened) error {
		return s.mail(ctx, about("reopen_merge_request", e))
	})
	event.On(b, name, func(ctx context.Context, e mergerequest.Merged) error {
		return s.mail(ctx, about("merge_merge_request", e))
	})
	event.On(b, name, func(ctx context.Context, e mergerequest.NewVersion) error {
		if e.CommitsCount == 0 {
			return nil
		}
		return s.mail(ctx, about("push_to_merge_request", e))
	})
	event.On(b, name, func(ctx context.Context, e mergerequest.Unmergeable) error {
		m := about(unmergeable, e)
		m.Users = e.Concerned()
		return s.mail(ctx, m)
	})
	event.On(b, name, func(ctx context.Context, e epic.Created) error { return s.mail(ctx, about(newEpic, e)) })
	event.On(b, name, s.epicUpdated)
	event.On(b, name, func(ctx context.Context, e epic.Closed) error { return s.mail(ctx, about(closeEpic, e)) })
	event.On(b, name, func(ctx context.Context, e epic.Reopened) error { return s.mail(ctx, about(reopenEpic, e)) })
	event.On(b, name, func(ctx context.Context, e approval.Approved) error {
		return s.mail(ctx, about(approved, e))
	})
	event.On(b, name, func(ctx context.Context, e approval.Unapproved) error {
		return s.mail(ctx, about(unapproved, e))
	})
	event.On(b, name, s.noted)
	event.On(b, name, s.reviewed)
	event.On(b, name, s.pipelineChanged)
	event.On(b, name, s.releaseCreated)
	event.On(b, name, func(ctx context.Context, e project.Transferred) error { return s.projectMoved(ctx, e.Fact) })
	event.On(b, name, func(ctx context.Context, e project.Updated) error { return s.projectMoved(ctx, e.Fact) })
	event.On(b, name, s.projectInactive)
	event.On(b, name, func(ctx context.Context, e namespace.GroupTransferred) error { return s.groupMoved(ctx, e.GroupFact) })
	event.On(b, name, func(ctx context.Context, e namespace.GroupUpdated) error { return s.groupMoved(ctx, e.GroupFact) })
}

// about is a mailing about the subject of what happened.
func about(event string, of change.Event) Mailing {
	f := of.Changed()
	on := noteable.Subject(f)
	return Mailing{Event: event, On: on.Kind, Target: on.ID, By: f.By.UserID}
}

func (s *Service) epicUpdated(ctx context.Context, e epic.Updated) error {
	if s.Out.Sender == nil {
		return nil
	}
	var list []Mailing
	m := about(newMention, e)
	m.Names = s.Todos.Names([]string{e.Row().Title, text(e.Row().Description)}, []string{e.Before.Title, text(e.Before.Description)})
	if len(m.Names) > 0 {
		list = append(list, m)
	}
	if added, _ := e.Labelled(); len(added) > 0 {
		m := about(relabeled, e)
		for _, l := range added {
			m.Labels = append(m.Labels, l.ID)
		}
		list = append(list, m)
	}
	return s.mail(ctx, list...)
}

// mail enqueues mailings in the transaction of their event.
func (s *Service) mail(ctx context.Context, list ...Mailing) error {
	if s.Out.Sender == nil || s.Settings.Current().SilentModeEnabled {
		return nil
	}
	for _, m := range list {
		var id [16]byte
		rand.Read(id[:]) // never fails
		m.ID = hex.EncodeToString(id[:])
		if err := s.Jobs.Enqueue(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) issueUpdated(ctx context.Context, e issue.Updated) error {
	if s.Out.Sender == nil {
		return nil
	}
	var list []Mailing
	if e.Has("assignees") {
		m := about("reassign_issue", e)
		m.Users, m.Former = e.Assigned()
		list = append(list, m)
	}
	if e.Has("title", "description") {
		m := about(newMention, e)
		m.Names = s.Todos.Names([]string{e.Row().Title, text(e.Row().Description)}, []string{e.Before.Title, text(e.Before.Description)})
		if len(m.Names) > 0 {
			list = append(list, m)
		}
	}
	if added, _ := e.Labelled(); len(added) > 0 {
		m := about(relabeled, e)
		for _, l := range added {
			m.Labels = append(m.Labels, l.ID)
		}
		list = append(list, m)
	}
	return s.mail(ctx, list...)
}

func (s *Service) requestUpdated(ctx context.Context, e mergerequest.Updated) error {
	if s.Out.Sender == nil {
		return nil
	}
	var list []Mailing
	if e.Has("assignees") {
		m := about("reassign_merge_request", e)
		m.Users, m.Former = e.Assigned()
		list = append(list, m)
	}
	if asked, released := e.Asked(); len(asked)+len(released) > 0 {
		m := about("change_reviewer_merge_request", e)
		m.Users, m.Former = asked, released
		list = append(list, m)
	}
	if e.Has("title", "description") {
		m := about(newMention, e)
		m.Names = s.Todos.Names([]string{e.Row().Title, e.Row().Text()}, []string{e.Before.Title, e.Before.Text()})
		if len(m.Names) > 0 {
			list = append(list, m)
		}
	}
	return s.mail(ctx, list...)
}

func (s *Service) noted(ctx context.Context, e note.Created) error {
	if e.Reviewed || e.Row().System {
		return nil
	}
	return s.mail(ctx, Mailing{
		Event: "new_note", On: e.Target.Kind, Target: e.Target.ID, Project: e.Target.Ref.Project, Commit: e.Target.Commit, Note: e.Row().ID, By: e.By.UserID,
	})
}

// reviewed sends one mail about notes that were published together.
func (s *Service) reviewed(ctx context.Context, e note.Reviewed) error {
	return s.mail(ctx, Mailing{
		Event: "new_note", On: e.Target.Kind, Target: e.Target.ID, Note: e.Notes[0], Review: e.Notes[1:], By: e.By.UserID,
	})
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
