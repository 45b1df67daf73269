package live

import (
	"context"
	"slices"
	"strconv"

	"tenon/internal/base/event"
	"tenon/internal/core/approval"
	"tenon/internal/core/ci"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// Part is what of a thing has changed.
type Part string

// The parts. All others are Other.
const (
	Title       Part = "title"
	Description Part = "description"
	Dates       Part = "dates"
	Assignees   Part = "assignees"
	Reviewers   Part = "reviewers"
	Labels      Part = "labels"
	Milestone   Part = "milestone"
	Iteration   Part = "iteration"
	Epic        Part = "epic"
	Health      Part = "health"
	Weight      Part = "weight"
	Approvals   Part = "approvals"
	MergeStatus Part = "merge_status"
	Other       Part = "other"

	NoteCreated Part = "note_created"
	NoteUpdated Part = "note_updated"
	NoteDeleted Part = "note_deleted"
)

// AllParts are the parts that are not notes.
var AllParts = []Part{Title, Description, Dates, Assignees, Reviewers, Labels, Milestone, Iteration, Epic, Health, Weight, Approvals, MergeStatus, Other}

// Pipeline is the kind of what streams are of that has no notes.
const Pipeline noteable.Kind = "Ci::Pipeline"

// Status is the part of a pipeline that says how it goes.
const Status Part = "status"

// JobStatus is the part of a pipeline that says how one of its jobs goes.
func JobStatus(id ci.StatusID) Part { return Part("status of job " + strconv.FormatInt(int64(id), 10)) }

// Change says that parts of an issue, a merge request, an epic or a pipeline have changed, or its notes.
type Change struct {
	Kind  noteable.Kind `json:"kind"`
	ID    int64         `json:"id"` // of the database
	Parts []Part        `json:"parts"`
	Gone  bool          `json:"gone,omitempty"` // it was deleted: every stream is told
	Note  *Note         `json:"note,omitempty"` // nil where no note has changed
}

// Note is the note that a change is about.
type Note struct {
	ID         note.ID `json:"id"`
	Discussion string  `json:"discussion"`
	Type       *string `json:"type,omitempty"` // as in package note
	Internal   bool    `json:"internal,omitempty"`
}

// when adds a part where a condition holds.
func (c *Change) when(is bool, part Part) {
	if is {
		c.Parts = append(c.Parts, part)
	}
}

// ofIssue says what an update of an issue has changed.
func ofIssue(e issue.Updated) Change {
	c := Change{Kind: noteable.Issue, ID: int64(e.Issue.ID)}
	d := &e.Diff
	c.when(d.OldTitle != nil, Title)
	c.when(d.Description, Description)
	c.when(d.DueDate, Dates)
	c.when(len(d.Assigned)+len(d.Unassigned) > 0, Assignees)
	c.when(len(d.LabelsAdded)+len(d.LabelsRemoved) > 0, Labels)
	c.when(d.Milestone, Milestone)
	c.when(d.Iteration, Iteration)
	c.when(d.Health, Health)
	c.when(d.Weight, Weight)
	c.when(len(c.Parts) == 0, Other)
	return c
}

// ofRequest says what an update of a merge request has changed.
func ofRequest(e mergerequest.Updated) Change {
	c := Change{Kind: noteable.MergeRequest, ID: int64(e.MergeRequest.ID)}
	d := &e.Diff
	c.when(d.OldTitle != nil, Title)
	c.when(d.Description, Description)
	c.when(len(d.Assigned)+len(d.Unassigned) > 0, Assignees)
	c.when(len(d.Asked)+len(d.Released) > 0, Reviewers)
	c.when(slices.Contains(e.Fields, "labels"), Labels)
	c.when(d.Milestone, Milestone)
	c.when(d.OldTitle != nil || d.OldTarget != nil, MergeStatus) // a title can make a draft
	c.when(len(c.Parts) == 0, Other)
	return c
}

// ofEpic says what an update of an epic has changed.
func ofEpic(e epic.Updated) Change {
	c := Change{Kind: noteable.Epic, ID: int64(e.Epic.ID)}
	before, after := e.Before, &e.Epic
	c.when(len(e.LabelsAdded)+len(e.LabelsRemoved) > 0, Labels)
	if before != nil {
		c.when(before.Title != after.Title, Title)
		c.when(text(before.Description) != text(after.Description), Description)
		from, to := before.Dates(), after.Dates()
		c.when(text(from.Start) != text(to.Start) || text(from.Due) != text(to.Due), Dates)
	}
	c.when(len(c.Parts) == 0, Other)
	return c
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// on has streams told what an event means, once it is committed.
func on[E event.Event](b *event.Bus, s *Service, means func(e E) Change) {
	event.On(b, "live streams", func(ctx context.Context, e E) error {
		c := means(e)
		s.db.AfterCommit(ctx, func() { s.send(c) })
		return nil
	})
}

func changed[T ~int64](kind noteable.Kind, id T, parts ...Part) Change {
	return Change{Kind: kind, ID: int64(id), Parts: parts}
}

func gone[T ~int64](kind noteable.Kind, id T) Change {
	return Change{Kind: kind, ID: int64(id), Gone: true}
}

func ofNote(f note.Fact, part Part) Change {
	n := &f.Note
	return Change{Kind: n.Kind, ID: n.TargetID, Parts: []Part{part}, Note: &Note{n.ID, n.DiscussionID, n.Type, n.Internal}}
}

// Subscribe hears of everything that streams are told.
func (s *Service) Subscribe(b *event.Bus) {
	on(b, s, ofIssue)
	on(b, s, func(e issue.Closed) Change { return changed(noteable.Issue, e.Issue.ID, Other) })
	on(b, s, func(e issue.Reopened) Change { return changed(noteable.Issue, e.Issue.ID, Other) })
	on(b, s, func(e issue.Deleted) Change { return gone(noteable.Issue, e.Issue.ID) })
	on(b, s, func(e epic.IssueAdded) Change { return changed(noteable.Issue, e.Issue.ID, Epic) })
	on(b, s, func(e epic.IssueRemoved) Change { return changed(noteable.Issue, e.Issue.ID, Epic) })

	on(b, s, ofEpic)
	on(b, s, func(e epic.Closed) Change { return changed(noteable.Epic, e.Epic.ID, Other) })
	on(b, s, func(e epic.Reopened) Change { return changed(noteable.Epic, e.Epic.ID, Other) })
	on(b, s, func(e epic.Deleted) Change { return gone(noteable.Epic, e.Epic.ID) })

	on(b, s, func(e note.Created) Change { return ofNote(e.Fact, NoteCreated) })
	on(b, s, func(e note.Updated) Change { return ofNote(e.Fact, NoteUpdated) })
	on(b, s, func(e note.Deleted) Change { return ofNote(e.Fact, NoteDeleted) })
	on(b, s, func(e note.ThreadChanged) Change { return changed(e.Target.Kind, e.Target.ID, Other) })
	on(b, s, func(e note.ThreadsResolved) Change { return changed(e.Target.Kind, e.Target.ID, MergeStatus) })
	s.subscribeRequests(b)

	on(b, s, func(e ci.PipelineChanged) Change { return changed(Pipeline, e.Pipeline.ID, Status) })
	on(b, s, func(e ci.PipelineDeleted) Change { return gone(Pipeline, e.Pipeline.ID) })
	on(b, s, func(e ci.JobChanged) Change { return changed(Pipeline, e.Pipeline.ID, JobStatus(e.Job.ID)) })
	on(b, s, func(e ci.StatusReported) Change { return changed(Pipeline, e.Pipeline.ID, JobStatus(e.Status.ID)) })
}

func (s *Service) subscribeRequests(b *event.Bus) {
	request := func(f mergerequest.Fact, parts ...Part) Change {
		return changed(noteable.MergeRequest, f.MergeRequest.ID, parts...)
	}
	on(b, s, ofRequest)
	on(b, s, func(e mergerequest.Closed) Change { return request(e.Fact, MergeStatus, Other) })
	on(b, s, func(e mergerequest.Reopened) Change { return request(e.Fact, MergeStatus, Other) })
	on(b, s, func(e mergerequest.Merged) Change { return request(e.Fact, MergeStatus, Other) })
	on(b, s, func(e mergerequest.NewVersion) Change { return request(e.Fact, MergeStatus, Other) })
	on(b, s, func(e mergerequest.ReviewerStateChanged) Change { return request(e.Fact, Reviewers) })
	on(b, s, func(e mergerequest.Tried) Change { return changed(noteable.MergeRequest, e.ID, MergeStatus) })
	on(b, s, func(e mergerequest.Deleted) Change { return gone(noteable.MergeRequest, e.MergeRequest.ID) })
	on(b, s, func(e approval.Approved) Change { return request(e.Fact.Fact, Approvals, MergeStatus) })
	on(b, s, func(e approval.Unapproved) Change { return request(e.Fact.Fact, Approvals, MergeStatus) })
	on(b, s, func(e approval.Reset) Change { return request(e.Fact.Fact, Approvals, MergeStatus) })
}
