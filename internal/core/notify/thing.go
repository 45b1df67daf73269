package notify

import (
	"context"
	"strconv"

	"tenon/internal/base/mail"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/todo"
)

// thing is what a mailing is about, as it is when its mails are sent.
type thing struct {
	ref          noteable.Ref
	place        place
	iid          int64  // 0 for a snippet and a commit
	noun, sign   string // "issue", "#"
	root         string // names the thread, such as "issue_7"; "" where nobody answers or subscribes, as to a pipeline
	header       string // of the thing, such as "Issue"; "" for a project, which has headers anyway
	url          string
	title        string
	description  string
	state        string
	due          string // day that an issue is due on, YYYY-MM-DD; "" for none
	confidential bool
	assignees    []authz.UserID
	reviewers    []authz.UserID
	committers   []authz.UserID // who wrote and committed a commit
	labels       []label.Label
	rows         []string      // what failed, one line each
	headers      []mail.Header // of its own

	note  *note.Note // nil where the event is no note
	more  []string   // texts of the notes that were published together with it
	first note.ID    // of the discussion of the note; 0 where the note is the first

	actor authz.Actor   // who did it, as far as permissions go
	by    *account.User // the same; nil for the server and for users who are gone
}

// place is the project or group of a thing.
type place struct {
	namespace  authz.NamespaceID
	project    *project.Project // nil for a group
	name       string
	fullName   string
	path       string // full
	subject    authz.Subject
	references reference.Scope
}

func ofProject(p *project.Project) place {
	return place{
		namespace: p.NamespaceID, project: p, name: p.Name, fullName: p.FullName, path: p.FullPath, subject: p.Subject(), references: reference.Of(p),
	}
}

func ofGroup(n *namespace.Namespace) place {
	return place{
		namespace: n.ID, name: n.Name, fullName: n.FullName, path: n.FullPath,
		subject:    authz.Subject{Thing: "Group", Namespace: n.ID, Visibility: n.Visibility},
		references: reference.Scope{Group: n.ID, GroupPath: n.FullPath},
	}
}

// projectID is 0 for a group.
func (p *place) projectID() project.ID {
	if p.project == nil {
		return 0
	}
	return p.project.ID
}

func (t *thing) target() noteable.Target {
	out := noteable.Target{Ref: t.ref, Title: t.title, Subject: t.place.subject}
	out.Subject.Confidential = t.confidential
	if t.place.project == nil {
		out.GroupID, out.GroupPath, out.EpicIID = t.place.namespace, t.place.path, t.iid
		return out
	}
	out.ProjectID, out.ProjectPath = int64(t.place.projectID()), t.place.path
	if t.iid != 0 {
		out.IID = &t.iid
	}
	return out
}

// id names the thing in headers: a commit by its hash.
func (t *thing) id() string {
	if t.ref.Commit != "" {
		return t.ref.Commit
	}
	return strconv.FormatInt(t.ref.ID, 10)
}

// shownHash is how many digits of a hash stand in a text.
const shownHash = 8

// short names the thing in texts.
func (t *thing) short() string {
	switch {
	case t.ref.Commit != "":
		return t.ref.Commit[:min(shownHash, len(t.ref.Commit))]
	case t.iid == 0:
		return t.sign + t.id()
	}
	return t.sign + strconv.FormatInt(t.iid, 10)
}

// thing reads what a mailing is about. It gives nil where that is gone.
func (s *Service) thing(ctx context.Context, m Mailing) (*thing, error) {
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

// about reads what notes are on, nil where it is gone.
func (s *Service) about(ctx context.Context, ref noteable.Ref) (*thing, error) {
	switch ref.Kind {
	case noteable.Issue:
		return s.findIssue(ctx, ref)
	case noteable.Epic:
		return s.findEpic(ctx, ref)
	case noteable.Snippet:
		return s.findSnippet(ctx, ref)
	case noteable.Commit:
		return s.findCommit(ctx, ref)
	case ofPipeline:
		return s.findPipeline(ctx, ref)
	case todo.OfProject:
		return s.findProject(ctx, ref)
	case noteable.MergeRequest:
		return s.findRequest(ctx, ref)
	}
	return nil, nil
}

func (s *Service) findRequest(ctx context.Context, ref noteable.Ref) (*thing, error) {
	id := mergerequest.ID(ref.ID)
	found, err := s.MergeRequests.ByIDs(ctx, authz.System(), []mergerequest.ID{id})
	if err != nil || found[id] == nil {
		return nil, err
	}
	r := found[id]
	projects, err := s.Projects.Load(ctx, []project.ID{r.ProjectID})
	if err != nil || projects[r.ProjectID] == nil {
		return nil, err
	}
	p := projects[r.ProjectID]
	t := &thing{
		ref: ref, place: ofProject(p), iid: int64(r.IID), noun: "merge request", sign: "!", root: "merge_request_", header: "MergeRequest",
		url: s.URLs.MergeRequest(p.FullPath, int64(r.IID)), title: r.Title, description: r.Text(), state: string(r.State),
		assignees: r.Assignees, reviewers: r.ReviewerIDs(), labels: r.Labels,
	}
	return t, nil
}

func (s *Service) findIssue(ctx context.Context, ref noteable.Ref) (*thing, error) {
	id := issue.ID(ref.ID)
	found, err := s.Issues.ByIDs(ctx, authz.System(), []issue.ID{id})
	if err != nil || found[id] == nil {
		return nil, err
	}
	i := found[id]
	projects, err := s.Projects.Load(ctx, []project.ID{i.ProjectID})
	if err != nil || projects[i.ProjectID] == nil {
		return nil, err
	}
	p := projects[i.ProjectID]
	t := &thing{
		ref: ref, place: ofProject(p), iid: int64(i.IID), noun: "issue", sign: "#", root: "issue_", header: "Issue",
		url: i.Type.URL(s.URLs, p.FullPath, i.IID), title: i.Title, description: text(i.Description), state: string(i.State),
		due: text(i.DueDate), confidential: i.Confidential, assignees: i.Assignees, labels: i.Labels,
	}
	return t, nil
}

func (s *Service) findEpic(ctx context.Context, ref noteable.Ref) (*thing, error) {
	id := epic.ID(ref.ID)
	found, err := s.Epics.ByIDs(ctx, authz.System(), []epic.ID{id})
	if err != nil || found[id] == nil {
		return nil, err
	}
	e := found[id]
	groups, err := s.Namespaces.Load(ctx, []namespace.ID{e.GroupID})
	if err != nil || groups[e.GroupID] == nil {
		return nil, err
	}
	return &thing{
		ref: ref, place: ofGroup(groups[e.GroupID]), iid: int64(e.IID), noun: "epic", sign: "&", root: "epic_", header: "Epic",
		url: s.URLs.Epic(e.Path, int64(e.IID)), title: e.Title, description: text(e.Description), state: string(e.State),
		confidential: e.Confidential, labels: e.Labels,
	}, nil
}

// readable reports whether a user may read what a mailing is about, and its note.
func (s *Service) readable(ctx context.Context, as authz.Actor, t *thing) (bool, error) {
	if t.note != nil {
		notes, err := s.Notes.ByIDs(ctx, as, []note.ID{t.note.ID})
		return notes[t.note.ID] != nil, err
	}
	var found map[noteable.Ref]authz.Subject
	var err error
	switch t.ref.Kind {
	case ofPipeline:
		return s.pipelineReadable(ctx, as, t)
	case todo.OfProject:
		return s.Policy.Can(ctx, as, authz.ReadProject, t.place.subject)
	case noteable.Issue:
		found, err = s.Issues.Subjects(ctx, as, []noteable.Ref{t.ref})
	case noteable.Epic:
		found, err = s.Epics.Subjects(ctx, as, []noteable.Ref{t.ref})
	default:
		found, err = s.MergeRequests.Subjects(ctx, as, []noteable.Ref{t.ref})
	}
	_, ok := found[t.ref]
	return ok, err
}
