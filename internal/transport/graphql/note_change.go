package graphql

import (
	"context"

	"tenon/internal/core/note"
	"tenon/internal/core/quickaction"
	"tenon/internal/transport/graphql/exec"
)

// noted is the payload of a mutation of notes.
type noted struct{ Note *comment }

// commanded is that of one whose text may have quick actions.
type commanded struct {
	noted
	QuickActionsStatus *quickActions
}

// quickActions is what the quick actions of a text did.
type quickActions struct {
	Messages, CommandNames, ErrorMessages []string
	CommandsOnly                          bool
}

// noteMutations binds what is done with notes.
func (b *binder) noteMutations() {
	exec.Struct[*quickActions](b.Schema, "QuickActionsStatus")
	b.diffNoteMutations()
	type resolved struct{ Discussion *thread }
	exec.Mutation(b.Schema, "discussionToggleResolve", func(ctx context.Context, c *exec.Call[struct {
		ID      globalID
		Resolve bool
	}],
	) (resolved, error) {
		d, err := b.resolve(ctx, c.As, c.Args.ID, note.Resolution{Resolved: c.Args.Resolve})
		return resolved{d}, err
	})
	exec.Mutation(b.Schema, "createNote", func(ctx context.Context, c *exec.Call[struct {
		NoteableID              globalID
		Body                    string
		Internal, Confidential  bool
		DiscussionID            *globalID
		MergeRequestDiffHeadSha string
	}],
	) (commanded, error) {
		at, err := b.noteableOf(ctx, c.As, c.Args.NoteableID)
		if err != nil {
			return commanded{}, err
		}
		in := note.Input{Body: c.Args.Body, Internal: c.Args.Internal || c.Args.Confidential, HeadSHA: c.Args.MergeRequestDiffHeadSha}
		var made note.Result
		if c.Args.DiscussionID != nil {
			made, _, err = b.Notes.Reply(ctx, c.As, at.on, c.Args.DiscussionID.Text, in)
		} else {
			made, _, err = b.Notes.Create(ctx, c.As, at.on, in)
		}
		return b.commanded(ctx, made.Note, made.Commands, at, err)
	})
	exec.Mutation(b.Schema, "createDiscussion", func(ctx context.Context, c *exec.Call[struct {
		NoteableID globalID
		Body       string
		Internal   bool
	}],
	) (commanded, error) {
		at, err := b.noteableOf(ctx, c.As, c.Args.NoteableID)
		if err != nil {
			return commanded{}, err
		}
		begun, _, err := b.Notes.CreateDiscussion(ctx, c.As, at.on, note.Input{Body: c.Args.Body, Internal: c.Args.Internal})
		var first *note.Note
		if err == nil && begun.Discussion != nil {
			first = &begun.Discussion.Notes[0]
		}
		return b.commanded(ctx, first, begun.Commands, at, err)
	})
	exec.Mutation(b.Schema, "updateNote", func(ctx context.Context, c *exec.Call[struct {
		ID           globalID
		Body         *string
		Confidential *bool
	}],
	) (noted, error) {
		_, at, err := b.note(ctx, c.As, c.Args.ID)
		if err != nil {
			return noted{}, err
		}
		changed, _, err := b.Notes.Update(ctx, c.As, at.on, note.ID(c.Args.ID.ID), note.Changes{Body: c.Args.Body, Internal: c.Args.Confidential})
		if err != nil || changed.Note == nil {
			return noted{}, err
		}
		return b.noted(ctx, changed.Note, at)
	})
	exec.Mutation(b.Schema, "destroyNote", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (noted, error) {
		_, at, err := b.note(ctx, c.As, c.Args.ID)
		if err != nil {
			return noted{}, err
		}
		return noted{}, b.Notes.Delete(ctx, c.As, at.on, note.ID(c.Args.ID.ID))
	})
}

func (b *binder) noted(ctx context.Context, n *note.Note, at spot) (noted, error) {
	shown, err := b.comment(ctx, n, at)
	return noted{shown}, err
}

// commanded shows a note, nil where the text had quick actions alone, and what these did.
func (b *binder) commanded(ctx context.Context, n *note.Note, done *quickaction.Result, at spot, err error) (out commanded, _ error) {
	if err != nil {
		return out, err
	}
	if done != nil {
		out.QuickActionsStatus = &quickActions{done.Summary, done.Names, done.Refused, n == nil}
	}
	if n != nil {
		out.noted, err = b.noted(ctx, n, at)
	}
	return out, err
}
