package live

import (
	"context"
	"slices"

	"tenon/internal/base/event"
	"tenon/internal/core/approval"
	"tenon/internal/core/change"
	"tenon/internal/core/ci"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// columns are those of each part, of all subjects; a change of others alone is one of Other.
var columns = []struct {
	part    Part
	columns []string
}{
	{Title, []string{"title"}},
	{Description, []string{"description"}},
	{Dates, []string{"due_date", "start_date_is_fixed", "start_date_fixed", "due_date_is_fixed", "due_date_fixed"}},
	{Assignees, []string{"assignees"}},
	{Reviewers, []string{"reviewers"}},
	{Labels, []string{"labels"}},
	{Milestone, []string{"milestone_id"}},
	{Iteration, []string{"iteration_id"}},
	{Health, []string{"health_status"}},
	{Weight, []string{"weight"}},
	{MergeStatus, []string{"draft", "target_branch"}},
}

// Subscribe hears of everything that streams are told.
func (s *Service) Subscribe(b *event.Bus) {
	updated[issue.Updated](b, s)
	changed[issue.Closed](b, s, Other)
	changed[issue.Reopened](b, s, Other)
	on(b, s, func(e epic.IssueAdded) Change { return of(noteable.Issue, e.Issue.ID, Epic) })
	on(b, s, func(e epic.IssueRemoved) Change { return of(noteable.Issue, e.Issue.ID, Epic) })

	updated[epic.Updated](b, s)
	changed[epic.Closed](b, s, Other)
	changed[epic.Reopened](b, s, Other)

	updated[mergerequest.Updated](b, s)
	changed[mergerequest.Closed](b, s, MergeStatus, Other)
	changed[mergerequest.Reopened](b, s, MergeStatus, Other)
	changed[mergerequest.Merged](b, s, MergeStatus, Other)
	changed[mergerequest.NewVersion](b, s, MergeStatus, Other)
	changed[mergerequest.ReviewerStateChanged](b, s, Reviewers)
	on(b, s, func(e mergerequest.Tried) Change { return of(noteable.MergeRequest, e.ID, MergeStatus) })
	changed[approval.Approved](b, s, Approvals, MergeStatus)
	changed[approval.Unapproved](b, s, Approvals, MergeStatus)
	changed[approval.Reset](b, s, Approvals, MergeStatus)

	on(b, s, func(e noteable.Deleted) Change { return gone(e.Noteable().Kind, e.Noteable().ID) })
	on(b, s, func(e note.Created) Change { return ofNote(e.Fact, NoteCreated) })
	on(b, s, func(e note.Updated) Change { return ofNote(e.Fact, NoteUpdated) })
	on(b, s, func(e note.Deleted) Change { return ofNote(e.Fact, NoteDeleted) })
	on(b, s, func(e note.ThreadChanged) Change { return of(e.Target.Kind, e.Target.ID, Other) })
	on(b, s, func(e note.ThreadsResolved) Change { return of(e.Target.Kind, e.Target.ID, MergeStatus) })

	changed[ci.PipelineChanged](b, s, Status)
	on(b, s, func(e ci.PipelineDeleted) Change { return gone(Pipeline, e.Row().ID) })
	on(b, s, func(e ci.JobChanged) Change { return of(Pipeline, e.Pipeline.ID, JobStatus(e.Row().ID)) })
	on(b, s, func(e ci.StatusReported) Change { return of(Pipeline, e.Pipeline.ID, JobStatus(e.After.ID)) })
}

// on has streams told what an event means, once it is committed.
func on[E event.Event](b *event.Bus, s *Service, means func(e E) Change) {
	event.On(b, "live streams", func(ctx context.Context, e E) error {
		c := means(e)
		s.DB.AfterCommit(ctx, func() { s.send(c) })
		return nil
	})
}

// updated has streams told of the parts whose columns an event has changed.
func updated[E change.Event](b *event.Bus, s *Service) {
	on(b, s, func(e E) Change {
		f := e.Changed()
		changed := f.Columns()
		var parts []Part
		for _, c := range columns {
			if slices.ContainsFunc(c.columns, func(name string) bool { return slices.Contains(changed, name) }) {
				parts = append(parts, c.part)
			}
		}
		if parts == nil {
			parts = []Part{Other}
		}
		return about(f, parts...)
	})
}

// changed has streams told of these parts.
func changed[E change.Event](b *event.Bus, s *Service, parts ...Part) {
	on(b, s, func(e E) Change {
		return about(e.Changed(), parts...)
	})
}

// about is a change of the subject of an event.
func about(f change.Fact, parts ...Part) Change {
	on := noteable.Subject(f)
	return of(on.Kind, on.ID, parts...)
}

func of[T ~int64](kind noteable.Kind, id T, parts ...Part) Change {
	return Change{Kind: kind, ID: int64(id), Parts: parts}
}

func gone[T ~int64](kind noteable.Kind, id T) Change {
	return Change{Kind: kind, ID: int64(id), Deleted: true}
}

func ofNote(f note.Fact, part Part) Change {
	n := f.Row()
	return Change{Kind: n.Kind, ID: n.TargetID, Parts: []Part{part}, Note: &Note{n.ID, n.DiscussionID, n.Type, n.Internal}}
}
