package activity

import (
	"context"
	"strings"

	"tenon/internal/base/event"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/wiki"
)

const name = "activity"

// Subscribe registers all that is recorded.
func (r *Recorder) Subscribe(b *event.Bus) {
	record[project.Created](b, r, Created)
	event.On(b, name, r.MemberAdded)
	event.On(b, name, r.MemberRemoved)
	event.On(b, name, r.Pushed)
	record[issue.Created](b, r, Created)
	record[issue.Closed](b, r, Closed)
	record[issue.Reopened](b, r, Reopened)
	event.On(b, name, r.NoteCreated)
	record[epic.Created](b, r, Created)
	record[epic.Closed](b, r, Closed)
	record[epic.Reopened](b, r, Reopened)
	record[mergerequest.Created](b, r, Created)
	record[mergerequest.Closed](b, r, Closed)
	record[mergerequest.Reopened](b, r, Reopened)
	record[mergerequest.Merged](b, r, Merged)
	record[approval.Approved](b, r, Approved)
	event.On(b, name, r.MilestoneCreated)
	event.On(b, name, r.MilestonesCopied)
	event.On(b, name, r.MilestoneUpdated)
	event.On(b, name, r.MilestoneDeleted)
	event.On(b, name, r.WikiChanged)
	act(b, r, change.Acted.Action)
}

// record has an action on the subject of each event of a type recorded.
func record[E change.Event](b *event.Bus, r *Recorder, action string) {
	act(b, r, func(E) string { return action })
}

// act is record for actions that depend on the event.
func act[E change.Event](b *event.Bus, r *Recorder, of func(e E) string) {
	event.On(b, name, func(ctx context.Context, e E) error {
		f := e.Changed()
		out := Entry{
			AuthorID: f.By.UserID, Action: of(e), TargetType: f.Subject.Type, TargetID: f.Subject.ID, TargetIID: f.Subject.IID, TargetTitle: f.Subject.Title,
		}
		if f.Place.Group {
			out.GroupID = f.Place.Namespace
		} else {
			out.ProjectID = project.ID(f.Place.ID)
		}
		return r.Record(ctx, out)
	})
}

// MemberAdded records that a user joined.
func (r *Recorder) MemberAdded(ctx context.Context, e namespace.MemberAdded) error {
	return r.member(ctx, e.Place, e.Row().UserID, Joined)
}

// MemberRemoved records that a user left.
func (r *Recorder) MemberRemoved(ctx context.Context, e namespace.MemberRemoved) error {
	return r.member(ctx, e.Place, e.Row().UserID, Left)
}

func (r *Recorder) member(ctx context.Context, at authz.Place, user authz.UserID, action string) error {
	e := Entry{AuthorID: user, Action: action}
	if at.Group {
		e.GroupID = at.Namespace
	} else {
		e.ProjectID = project.ID(at.ID)
	}
	return r.Record(ctx, e)
}

// maxShown is how much of a comment is in the feed, in bytes.
const maxShown = 200

// NoteCreated records a comment.
func (r *Recorder) NoteCreated(ctx context.Context, e note.Created) error {
	body := e.Row().Body
	if len(body) > maxShown {
		body = strings.ToValidUTF8(body[:maxShown], "")
	}
	out := Entry{
		AuthorID: e.By.UserID, Action: Commented, TargetType: "Note", TargetID: int64(e.Row().ID), TargetTitle: body,
	}
	if e.Row().ProjectID != nil {
		out.ProjectID = *e.Row().ProjectID
	}
	if e.Row().GroupID != nil {
		out.GroupID = authz.NamespaceID(*e.Row().GroupID)
	}
	return r.Record(ctx, out)
}

func (r *Recorder) milestones(ctx context.Context, by authz.UserID, all []milestone.Milestone, action string) error {
	var entries []Entry
	for i := range all {
		m := &all[i]
		if m.ProjectID == nil {
			continue // those of groups are not in the feed
		}
		entries = append(entries, Entry{
			ProjectID: *m.ProjectID, AuthorID: by, Action: action, TargetType: milestoneKind,
			TargetID: int64(m.ID), TargetIID: int64(m.IID), TargetTitle: m.Title,
		})
	}
	return r.RecordAll(ctx, entries)
}

// MilestonesCopied records the new milestones of a project that was transferred.
func (r *Recorder) MilestonesCopied(ctx context.Context, e milestone.Copied) error {
	return r.milestones(ctx, e.By.UserID, e.Milestones, Created)
}

// MilestoneCreated records a new milestone of a project.
func (r *Recorder) MilestoneCreated(ctx context.Context, e milestone.Created) error {
	return r.milestones(ctx, e.By.UserID, []milestone.Milestone{*e.Row()}, Created)
}

// MilestoneUpdated records that a milestone of a project was closed or opened again.
func (r *Recorder) MilestoneUpdated(ctx context.Context, e milestone.Updated) error {
	switch {
	case e.Before.State == e.After.State:
		return nil
	case e.After.State == milestone.Closed:
		return r.milestones(ctx, e.By.UserID, []milestone.Milestone{*e.After}, Closed)
	}
	return r.milestones(ctx, e.By.UserID, []milestone.Milestone{*e.After}, Reopened)
}

// MilestoneDeleted records that a milestone of a project was deleted.
func (r *Recorder) MilestoneDeleted(ctx context.Context, e milestone.Deleted) error {
	return r.milestones(ctx, e.By.UserID, []milestone.Milestone{*e.Row()}, Destroyed)
}

// maxPages is how many pages of one push stand in the feed.
const maxPages = 100

// WikiChanged records pages of a project's wiki that were written or deleted. What the server
// itself finds in the repository has no author and is not in the feed.
func (r *Recorder) WikiChanged(ctx context.Context, e wiki.Changed) error {
	if e.Wiki.ProjectID == nil || e.By.UserID == 0 {
		return nil
	}
	for _, c := range e.Pages[:min(len(e.Pages), maxPages)] {
		action := c.Action
		if action == "deleted" {
			action = Destroyed
		}
		err := r.Record(ctx, Entry{
			ProjectID: *e.Wiki.ProjectID, AuthorID: e.By.UserID, Action: action, TargetType: pageKind,
			TargetID: int64(c.ID), TargetTitle: c.Title(),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Pushed records moved branches and tags: each by itself, or all of a kind as one entry
// where one push has more of them than the settings say.
func (r *Recorder) Pushed(ctx context.Context, e repo.Pushed) error {
	kinds := map[repo.PushKind]int{}
	for _, c := range e.Changes {
		kinds[c.Kind()]++
	}
	limit := r.settings.Current().PushEventActivitiesLimit
	for _, c := range e.Changes {
		kind := c.Kind()
		n := kinds[kind]
		if kind.RefType == "" || n == 0 {
			continue
		}
		p := Push{Action: kind.Action, RefType: kind.RefType}
		if n > limit {
			kinds[kind] = 0 // the others are in this entry
			p.RefCount = &n
		} else {
			name := c.Ref.Short()
			p.Ref, p.CommitCount, p.CommitTitle = &name, c.CommitCount, some(c.CommitTitle)
			p.CommitFrom, p.CommitTo = id(c.Old), id(c.New)
		}
		if err := r.pushed(ctx, e, p); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recorder) pushed(ctx context.Context, e repo.Pushed, p Push) error {
	action := Pushed
	if p.Action == "removed" && p.RefCount == nil {
		action = Destroyed
	}
	return r.Record(ctx, Entry{ProjectID: e.ProjectID, AuthorID: e.By.UserID, Action: action, Payload: p})
}

func id(o gitstore.ObjectID) *string {
	if o.IsZero() {
		return nil
	}
	text := o.String()
	return &text
}
