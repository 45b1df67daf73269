package notify

import (
	"context"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// thing is what a mailing is about, as it is when its mails are sent.
type thing struct {
	ref          noteable.Ref
	project      *project.Project
	iid          int64
	noun, sign   string // "issue", "#"
	root         string // names the thread, such as "issue_7"
	header       string // of the thing, such as "Issue"
	url          string
	title        string
	description  string
	state        string
	confidential bool
	assignees    []authz.UserID
	reviewers    []authz.UserID
	labels       []label.Label

	note  *note.Note // nil where the event is no note
	first note.ID    // of the discussion of the note; 0 where the note is the first

	actor authz.Actor   // who did it, as far as permissions go
	by    *account.User // the same; nil for the server and for users who are gone
}

func (t *thing) target() noteable.Target {
	subject := t.project.Subject()
	subject.Confidential = t.confidential
	return noteable.Target{Ref: t.ref, IID: &t.iid, ProjectID: int64(t.project.ID), ProjectPath: t.project.FullPath, Title: t.title, Subject: subject}
}

// thing reads what a mailing is about. It gives nil where that is gone.
func (s *Service) thing(ctx context.Context, m Mailing) (*thing, error) {
	t, err := s.about(ctx, noteable.Ref{Kind: m.On, ID: m.Target})
	if t == nil || err != nil {
		return nil, err
	}
	users, err := s.accounts.Load(ctx, []authz.UserID{m.By})
	if err != nil {
		return nil, err
	}
	if u := users[m.By]; u != nil {
		t.by, t.actor = u, u.Actor()
	}
	if m.Note == 0 {
		return t, nil
	}
	notes, err := s.notes.ByIDs(ctx, authz.System(), []note.ID{m.Note})
	if err != nil || notes[m.Note] == nil {
		return nil, err
	}
	t.note = notes[m.Note]
	t.first, err = s.notes.First(ctx, t.note)
	return t, err
}

// about reads an issue or a merge request, nil where it is gone.
func (s *Service) about(ctx context.Context, ref noteable.Ref) (*thing, error) {
	if ref.Kind == noteable.Issue {
		return s.findIssue(ctx, ref)
	}
	id := mergerequest.ID(ref.ID)
	found, err := s.requests.ByIDs(ctx, authz.System(), []mergerequest.ID{id})
	if err != nil || found[id] == nil {
		return nil, err
	}
	r := found[id]
	projects, err := s.projects.Load(ctx, []project.ID{r.ProjectID})
	if err != nil || projects[r.ProjectID] == nil {
		return nil, err
	}
	p := projects[r.ProjectID]
	t := &thing{
		ref: ref, project: p, iid: int64(r.IID), noun: "merge request", sign: "!", root: "merge_request_", header: "MergeRequest",
		url: s.urls.MergeRequest(p.FullPath, int64(r.IID)), title: r.Title, description: r.Text(), state: string(r.State),
		assignees: r.Assignees, reviewers: r.ReviewerIDs(), labels: r.Labels,
	}
	return t, nil
}

func (s *Service) findIssue(ctx context.Context, ref noteable.Ref) (*thing, error) {
	id := issue.ID(ref.ID)
	found, err := s.issues.ByIDs(ctx, authz.System(), []issue.ID{id})
	if err != nil || found[id] == nil {
		return nil, err
	}
	i := found[id]
	projects, err := s.projects.Load(ctx, []project.ID{i.ProjectID})
	if err != nil || projects[i.ProjectID] == nil {
		return nil, err
	}
	p := projects[i.ProjectID]
	t := &thing{
		ref: ref, project: p, iid: int64(i.IID), noun: "issue", sign: "#", root: "issue_", header: "Issue",
		url: i.Type.URL(s.urls, p.FullPath, i.IID), title: i.Title, description: text(i.Description), state: string(i.State),
		confidential: i.Confidential, assignees: i.Assignees, labels: i.Labels,
	}
	return t, nil
}

// readable reports whether a user may read what a mailing is about, and its note.
func (s *Service) readable(ctx context.Context, as authz.Actor, t *thing) (bool, error) {
	if t.note != nil {
		notes, err := s.notes.ByIDs(ctx, as, []note.ID{t.note.ID})
		return notes[t.note.ID] != nil, err
	}
	var found map[noteable.Ref]authz.Subject
	var err error
	if t.ref.Kind == noteable.Issue {
		found, err = s.issues.Subjects(ctx, as, []noteable.Ref{t.ref})
	} else {
		found, err = s.requests.Subjects(ctx, as, []noteable.Ref{t.ref})
	}
	_, ok := found[t.ref]
	return ok, err
}
