package notify

import (
	"context"
	"strconv"
	"strings"

	"tenon/internal/base/mail"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/todo"
)

// topic is what a mailing is about, as it is when its mails are sent.
type topic struct {
	noteable.MailContent

	ref        noteable.Ref
	noun, sign string // "issue", "#"
	root       string // names the thread, such as "issue_7"; "" where nobody answers or subscribes, as to a pipeline
	header     string // of the thing, such as "Issue"; "" for a project, which has headers anyway
	references reference.Scope
	rows       []string      // what failed, one line each
	headers    []mail.Header // of its own

	note  *note.Note // nil where the event is no note
	more  []string   // texts of the notes that were published together with it
	first note.ID    // of the discussion of the note; 0 where the note is the first

	actor authz.Actor   // who did it, as far as permissions go
	by    *account.User // the same; nil for the server and for users who are gone
}

// scopeOf is where the texts of a place are read.
func scopeOf(at authz.Place) reference.Scope {
	if p := project.Of(at); p != nil {
		return reference.Of(p)
	}
	return reference.Scope{Group: at.Namespace, GroupPath: at.Path}
}

// projectID is 0 for a group.
func (t *topic) projectID() project.ID {
	if !t.Place.IsProject() {
		return 0
	}
	return project.ID(t.Place.ID)
}

func (t *topic) target() noteable.Target {
	out := noteable.Target{Ref: t.ref, Title: t.Title, Subject: t.Place.Subject}
	out.Subject.Confidential = t.Confidential
	if t.Place.Group {
		out.GroupID, out.GroupPath, out.EpicIID = t.Place.Namespace, t.Place.Path, t.Number
		return out
	}
	out.ProjectID, out.ProjectPath = t.Place.ID, t.Place.Path
	if t.Number != 0 {
		out.IID = &t.Number
	}
	return out
}

// id names the thing in headers: a commit by its hash.
func (t *topic) id() string {
	if t.ref.Commit != "" {
		return t.ref.Commit
	}
	return strconv.FormatInt(t.ref.ID, 10)
}

// shownHash is how many digits of a hash stand in a text.
const shownHash = 8

// short names the thing in texts.
func (t *topic) short() string {
	switch {
	case t.ref.Commit != "":
		return t.ref.Commit[:min(shownHash, len(t.ref.Commit))]
	case t.Number == 0:
		return t.sign + t.id()
	}
	return t.sign + strconv.FormatInt(t.Number, 10)
}

// topic reads what a mailing is about. It returns nil where that is gone.
func (s *Service) topic(ctx context.Context, m Mailing) (*topic, error) {
	t, err := s.about(ctx, m.ref())
	if t == nil || err != nil {
		return nil, err
	}
	users, err := s.Accounts.Load(ctx, []authz.UserID{m.By})
	if err != nil {
		return nil, err
	}
	if u := users[m.By]; u != nil {
		t.by, t.actor = u, u.Actor()
	}
	if m.Note == 0 {
		return t, nil
	}
	notes, err := s.Notes.ByIDs(ctx, authz.System(), append([]note.ID{m.Note}, m.Review...))
	if err != nil {
		return nil, err
	}
	for _, id := range append([]note.ID{m.Note}, m.Review...) {
		switch n := notes[id]; {
		case n == nil: // deleted since
		case t.note == nil:
			t.note = n
		default:
			t.more = append(t.more, n.Body)
		}
	}
	if t.note == nil {
		return nil, nil
	}
	t.first, err = s.Notes.First(ctx, t.note)
	return t, err
}

// about reads a thing, nil where it is gone, or where there are no mails about things of its kind.
func (s *Service) about(ctx context.Context, ref noteable.Ref) (*topic, error) {
	switch ref.Kind {
	case ofPipeline:
		return s.findPipeline(ctx, ref)
	case todo.OfProject:
		return s.findProject(ctx, ref)
	case todo.OfGroup:
		return s.findGroup(ctx, ref)
	case ofHook:
		return s.findHook(ctx, ref)
	case ofRelease:
		return s.findRelease(ctx, ref)
	}
	kind := s.Kinds.Find(ref.Kind)
	if kind == nil {
		return nil, nil
	}
	mailed, ok := kind.Provider.(noteable.Mailed)
	if !ok {
		return nil, nil
	}
	l, err := mailed.MailContent(ctx, ref)
	if l == nil || err != nil {
		return nil, err
	}
	return &topic{
		MailContent: *l, ref: ref, noun: kind.Noun, sign: kind.Mark, root: strings.ReplaceAll(kind.Noun, " ", "_") + "_", header: string(kind.Kind),
		references: scopeOf(l.Place),
	}, nil
}

// readable reports whether a user may read what a mailing is about, and its note.
func (s *Service) readable(ctx context.Context, as authz.Actor, t *topic) (bool, error) {
	if t.note != nil {
		notes, err := s.Notes.ByIDs(ctx, as, []note.ID{t.note.ID})
		return notes[t.note.ID] != nil, err
	}
	switch t.ref.Kind {
	case ofPipeline:
		return s.pipelineReadable(ctx, as, t)
	case ofHook:
		return s.hookReadable(ctx, as, t)
	case ofRelease:
		return s.releaseReadable(ctx, as, t)
	case todo.OfProject:
		return s.Policy.Can(ctx, as, authz.ReadProject, t.Place.Subject)
	case todo.OfGroup:
		return s.Policy.Can(ctx, as, authz.ReadGroup, t.Place.Subject)
	}
	kind := s.Kinds.Find(t.ref.Kind)
	if kind == nil {
		return false, nil
	}
	found, err := kind.Provider.Subjects(ctx, as, []noteable.Ref{t.ref})
	_, ok := found[t.ref]
	return ok, err
}

// project reads a project, nil where it is gone.
func (s *Service) project(ctx context.Context, id project.ID) (*project.Project, error) {
	found, err := s.Projects.Load(ctx, []project.ID{id})
	return found[id], err
}
