package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/live"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/graphql/exec"
)

// subscriptions binds what can be followed.
func (b *binder) subscriptions() {
	for field, part := range map[string]live.Part{
		"issuableAssigneesUpdated": live.Assignees, "issuableDatesUpdated": live.Dates, "issuableEpicUpdated": live.Epic,
		"issuableHealthStatusUpdated": live.Health, "issuableIterationUpdated": live.Iteration, "issuableLabelsUpdated": live.Labels,
		"issuableMilestoneUpdated": live.Milestone, "issuableTitleUpdated": live.Title, "issuableWeightUpdated": live.Weight,
		"mergeRequestApprovalStateUpdated": live.Approvals, "mergeRequestMergeStatusUpdated": live.MergeStatus, "mergeRequestReviewersUpdated": live.Reviewers,
	} {
		b.issuableUpdated(field, part)
	}
	b.issuableUpdated("issuableDescriptionUpdated", live.Title, live.Description)
	type args struct{ WorkItemID globalID }
	exec.Subscription(b.Schema, "workItemUpdated", func(ctx context.Context, c *exec.Call[args]) (any, error) {
		return b.follow(ctx, c.As, c.Args.WorkItemID, live.AllParts...)
	}, func(ctx context.Context, c *exec.Call[args], _ live.Change) (*workItem, error) {
		key := keyOf(c.Args.WorkItemID)
		found, err := b.workItemsByKeys(ctx, c.As, []workItemKey{key})
		return found[key], hidden(err)
	})
	b.noteSubscriptions()
	b.pipelineSubscriptions()
}

// pipelineSubscriptions binds subscriptions to how pipelines and jobs go.
func (b *binder) pipelineSubscriptions() {
	type ofPipeline struct{ PipelineID globalID }
	exec.Subscription(b.Schema, "ciPipelineStatusUpdated", func(ctx context.Context, c *exec.Call[ofPipeline]) (any, error) {
		p, err := needed(ctx, c.As, c.Args.PipelineID, b.pipelinesByIDs)
		if err != nil {
			return nil, err
		}
		return b.Live.Open(ctx, c.As, live.Pipeline, int64(p.ID), live.Status)
	}, func(ctx context.Context, c *exec.Call[ofPipeline], _ live.Change) (*pipeline, error) {
		return byID(ctx, c.As, c.Args.PipelineID, b.pipelinesByIDs)
	})
	type ofJob struct{ JobID globalID }
	exec.Subscription(b.Schema, "ciJobStatusUpdated", func(ctx context.Context, c *exec.Call[ofJob]) (any, error) {
		j, err := needed(ctx, c.As, c.Args.JobID, b.jobsByIDs)
		if err != nil {
			return nil, err
		}
		return b.Live.Open(ctx, c.As, live.Pipeline, int64(j.PipelineID), live.JobStatus(j.ID))
	}, func(ctx context.Context, c *exec.Call[ofJob], _ live.Change) (*job, error) {
		return byID(ctx, c.As, c.Args.JobID, b.jobsByIDs)
	})
}

// issuableUpdated binds a subscription to parts of an issue, a merge request or an epic.
func (b *binder) issuableUpdated(field string, parts ...live.Part) {
	type args struct{ IssuableID globalID }
	exec.Subscription(b.Schema, field, func(ctx context.Context, c *exec.Call[args]) (any, error) {
		return b.follow(ctx, c.As, c.Args.IssuableID, parts...)
	}, func(ctx context.Context, c *exec.Call[args], _ live.Change) (any, error) {
		return b.issuable(ctx, c.As, c.Args.IssuableID)
	})
}

// follow opens a stream of changes of a thing that the caller may read.
func (b *binder) follow(ctx context.Context, as authz.Actor, id globalID, parts ...live.Part) (any, error) {
	thing, err := b.issuable(ctx, as, id)
	if err == nil && thing == nil {
		err = errNoPlace
	}
	if err != nil {
		return nil, err
	}
	return b.Live.Open(ctx, as, b.targetRef(id).Kind, id.ID, parts...)
}

// issuable reads an issue, a merge request or an epic: nil where the caller sees none.
func (b *binder) issuable(ctx context.Context, as authz.Actor, id globalID) (any, error) {
	ref := b.targetRef(id)
	found, err := b.targets(ctx, as, []noteable.Ref{ref})
	if t := found[ref]; t != nil {
		return t.value, err
	}
	return nil, hidden(err)
}

// noteSubscriptions binds subscriptions to notes of a thing.
func (b *binder) noteSubscriptions() {
	type args struct{ NoteableID *globalID }
	open := func(part live.Part) func(ctx context.Context, c *exec.Call[args]) (any, error) {
		return func(ctx context.Context, c *exec.Call[args]) (any, error) {
			return b.follow(ctx, c.As, zeroOr(c.Args.NoteableID), part)
		}
	}
	read := func(ctx context.Context, c *exec.Call[args], e live.Change) (*comment, error) {
		if e.Note == nil {
			return nil, nil
		}
		found, err := b.Notes.ByIDs(ctx, c.As, []note.ID{e.Note.ID})
		n := found[e.Note.ID]
		if err != nil || n == nil {
			return nil, b.skipWhileReadable(ctx, c.As, zeroOr(c.Args.NoteableID), err)
		}
		at, err := b.noteableOf(ctx, c.As, zeroOr(c.Args.NoteableID))
		if err != nil {
			return nil, err
		}
		return b.comment(ctx, n, at)
	}
	exec.Subscription(b.Schema, "workItemNoteCreated", open(live.NoteCreated), read)
	exec.Subscription(b.Schema, "workItemNoteUpdated", open(live.NoteUpdated), read)

	exec.Subscription(b.Schema, "workItemNoteDeleted", open(live.NoteDeleted), func(ctx context.Context, c *exec.Call[args], e live.Change) (*deletedNote, error) {
		if e.Note == nil {
			return nil, nil
		}
		seen, last, err := b.Notes.Deletion(ctx, c.As, note.Removed{
			On: noteable.Ref{Kind: e.Kind, ID: e.ID}, Discussion: e.Note.Discussion, Internal: e.Note.Internal,
		})
		if err != nil || !seen {
			return nil, b.skipWhileReadable(ctx, c.As, zeroOr(c.Args.NoteableID), err)
		}
		return &deletedNote{*e.Note, last}, nil
	})
	value(b, "DeletedNote.id", func(n *deletedNote) string { return gid(noteModel(&note.Note{Type: n.Type}), n.ID) })
	value(b, "DeletedNote.discussionId", func(n *deletedNote) string { return gid("Discussion", n.Discussion) })
	value(b, "DeletedNote.lastDiscussionNote", func(n *deletedNote) bool { return n.last })
}

// deletedNote is a note that is gone.
type deletedNote struct {
	live.Note
	last bool // of its discussion
}

// skipWhileReadable passes over a note that the caller may not read, and ends the subscription where
// the caller may not read what the note is on either.
func (b *binder) skipWhileReadable(ctx context.Context, as authz.Actor, id globalID, err error) error {
	if err != nil {
		return err
	}
	thing, err := b.issuable(ctx, as, id)
	if err == nil && thing != nil {
		err = exec.ErrSkip
	}
	return err
}
