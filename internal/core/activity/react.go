package activity

import (
	"context"
	"strings"

	"tenon/internal/base/event"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/approval"
	"tenon/internal/core/authz"
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

// Subscribe registers all that is recorded.
func (r *Recorder) Subscribe(b *event.Bus) {
	const name = "activity"
	event.On(b, name, r.ProjectCreated)
	event.On(b, name, r.MemberAdded)
	event.On(b, name, r.MemberRemoved)
	event.On(b, name, r.Pushed)
	event.On(b, name, r.IssueCreated)
	event.On(b, name, r.IssueClosed)
	event.On(b, name, r.IssueReopened)
	event.On(b, name, r.NoteCreated)
	event.On(b, name, r.EpicCreated)
	event.On(b, name, r.EpicClosed)
	event.On(b, name, r.EpicReopened)
	event.On(b, name, r.RequestCreated)
	event.On(b, name, r.RequestClosed)
	event.On(b, name, r.RequestReopened)
	event.On(b, name, r.RequestMerged)
	event.On(b, name, r.RequestApproved)
	event.On(b, name, r.MilestoneCreated)
	event.On(b, name, r.MilestonesCopied)
	event.On(b, name, r.MilestoneUpdated)
	event.On(b, name, r.MilestoneDeleted)
	event.On(b, name, r.WikiChanged)
}

// ProjectCreated records a new project.
func (r *Recorder) ProjectCreated(ctx context.Context, e project.Created) error {
	return r.Record(ctx, Entry{
		ProjectID: e.Project.ID, AuthorID: e.By.UserID, Action: Created, TargetType: "Project",
		TargetID: int64(e.Project.ID), TargetTitle: e.Project.Name,
	})
}

// MemberAdded records that a user joined.
func (r *Recorder) MemberAdded(ctx context.Context, e namespace.MemberAdded) error {
	return r.member(ctx, e.Place, e.Member.UserID, Joined)
}

// MemberRemoved records that a user left.
func (r *Recorder) MemberRemoved(ctx context.Context, e namespace.MemberRemoved) error {
	return r.member(ctx, e.Place, e.Member.UserID, Left)
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

func (r *Recorder) issue(ctx context.Context, f issue.Fact, action string) error {
	i := &f.Issue
	return r.Record(ctx, Entry{
		ProjectID: i.ProjectID, AuthorID: f.By.UserID, Action: action, TargetType: "Issue",
		TargetID: int64(i.ID), TargetIID: int64(i.IID), TargetTitle: i.Title,
	})
}

// IssueCreated records a new issue.
func (r *Recorder) IssueCreated(ctx context.Context, e issue.Created) error {
	return r.issue(ctx, e.Fact, Created)
}

// IssueClosed records that an issue was closed.
func (r *Recorder) IssueClosed(ctx context.Context, e issue.Closed) error {
	return r.issue(ctx, e.Fact, Closed)
}

// IssueReopened records that an issue was opened again.
func (r *Recorder) IssueReopened(ctx context.Context, e issue.Reopened) error {
	return r.issue(ctx, e.Fact, Reopened)
}

// maxShown is how much of a comment stands in the feed, in bytes.
const maxShown = 200

// NoteCreated records a comment.
func (r *Recorder) NoteCreated(ctx context.Context, e note.Created) error {
	body := e.Note.Body
	if len(body) > maxShown {
		body = strings.ToValidUTF8(body[:maxShown], "")
	}
	out := Entry{
		AuthorID: e.By.UserID, Action: Commented, TargetType: "Note", TargetID: int64(e.Note.ID), TargetTitle: body,
	}
	if e.Note.ProjectID != nil {
		out.ProjectID = *e.Note.ProjectID
	}
	if e.Note.GroupID != nil {
		out.GroupID = authz.NamespaceID(*e.Note.GroupID)
	}
	return r.Record(ctx, out)
}

func (r *Recorder) epic(ctx context.Context, f epic.Fact, action string) error {
	e := &f.Epic
	return r.Record(ctx, Entry{
		GroupID: e.GroupID, AuthorID: f.By.UserID, Action: action, TargetType: "Epic",
		TargetID: int64(e.ID), TargetIID: int64(e.IID), TargetTitle: e.Title,
	})
}

// EpicCreated records a new epic.
func (r *Recorder) EpicCreated(ctx context.Context, e epic.Created) error {
	return r.epic(ctx, e.Fact, Created)
}

// EpicClosed records that an epic was closed.
func (r *Recorder) EpicClosed(ctx context.Context, e epic.Closed) error {
	return r.epic(ctx, e.Fact, Closed)
}

// EpicReopened records that an epic was opened again.
func (r *Recorder) EpicReopened(ctx context.Context, e epic.Reopened) error {
	return r.epic(ctx, e.Fact, Reopened)
}

func (r *Recorder) request(ctx context.Context, f mergerequest.Fact, action string) error {
	return r.Record(ctx, Entry{
		ProjectID: f.Project.ID, AuthorID: f.By.UserID, Action: action, TargetType: "MergeRequest",
		TargetID: int64(f.MergeRequest.ID), TargetIID: int64(f.MergeRequest.IID), TargetTitle: f.MergeRequest.Title,
	})
}

// RequestCreated records a new merge request.
func (r *Recorder) RequestCreated(ctx context.Context, e mergerequest.Created) error {
	return r.request(ctx, e.Fact, Created)
}

// RequestClosed records that a merge request was closed.
func (r *Recorder) RequestClosed(ctx context.Context, e mergerequest.Closed) error {
	return r.request(ctx, e.Fact, Closed)
}

// RequestReopened records that a merge request was opened again.
func (r *Recorder) RequestReopened(ctx context.Context, e mergerequest.Reopened) error {
	return r.request(ctx, e.Fact, Reopened)
}

// RequestMerged records a merge.
func (r *Recorder) RequestMerged(ctx context.Context, e mergerequest.Merged) error {
	return r.request(ctx, e.Fact, Merged)
}

// RequestApproved records an approval.
func (r *Recorder) RequestApproved(ctx context.Context, e approval.Approved) error {
	return r.request(ctx, e.Fact.Fact, Approved)
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
	return r.milestones(ctx, e.By.UserID, []milestone.Milestone{e.Milestone}, Created)
}

// MilestoneUpdated records that a milestone of a project was closed or opened again.
func (r *Recorder) MilestoneUpdated(ctx context.Context, e milestone.Updated) error {
	switch {
	case e.Before.State == e.After.State:
		return nil
	case e.After.State == milestone.Closed:
		return r.milestones(ctx, e.By.UserID, []milestone.Milestone{e.After}, Closed)
	}
	return r.milestones(ctx, e.By.UserID, []milestone.Milestone{e.After}, Reopened)
}

// MilestoneDeleted records that a milestone of a project was deleted.
func (r *Recorder) MilestoneDeleted(ctx context.Context, e milestone.Deleted) error {
	return r.milestones(ctx, e.By.UserID, []milestone.Milestone{e.Milestone}, Destroyed)
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
