package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/note"
	"tenon/internal/transport/graphql/exec"
)

// noted is the payload of a mutation of notes.
type noted struct{ Note *comment }

// noteMutations binds what is done with notes of issues and merge requests.
func (b *binder) noteMutations() {
	exec.Mutation(b.Schema, "createNote", func(ctx context.Context, c *exec.Call[struct {
		NoteableID              globalID
		Body                    string
		Internal, Confidential  bool
		DiscussionID            *globalID
		MergeRequestDiffHeadSha string
	}],
	) (noted, error) {
		on, url, err := b.noteableOf(ctx, c.As, c.Args.NoteableID)
		if err == nil {
			err = b.Limits.Check(limit.NotesCreate, c.As)
		}
		if err != nil {
			return noted{}, err
		}
		in := note.Input{Body: c.Args.Body, Internal: c.Args.Internal || c.Args.Confidential, HeadSHA: c.Args.MergeRequestDiffHeadSha}
		var made note.Result
		if c.Args.DiscussionID != nil {
			made, _, err = b.Notes.ReplyWithCommands(ctx, c.As, on, c.Args.DiscussionID.Text, in)
		} else {
			made, _, err = b.Notes.CreateWithCommands(ctx, c.As, on, in)
		}
		if err != nil || made.Note == nil {
			return noted{}, err
		}
		return b.noted(ctx, made.Note, on, url)
	})
	exec.Mutation(b.Schema, "createDiscussion", func(ctx context.Context, c *exec.Call[struct {
		NoteableID globalID
		Body       string
		Internal   bool
	}],
	) (noted, error) {
		on, url, err := b.noteableOf(ctx, c.As, c.Args.NoteableID)
		if err == nil {
			err = b.Limits.Check(limit.NotesCreate, c.As)
		}
		if err != nil {
			return noted{}, err
		}
		begun, _, err := b.Notes.CreateDiscussionWithCommands(ctx, c.As, on, note.Input{Body: c.Args.Body, Internal: c.Args.Internal})
		if err != nil || begun.Discussion == nil {
			return noted{}, err
		}
		return b.noted(ctx, &begun.Discussion.Notes[0], on, url)
	})
	exec.Mutation(b.Schema, "updateNote", func(ctx context.Context, c *exec.Call[struct {
		ID           globalID
		Body         *string
		Confidential *bool
	}],
	) (noted, error) {
		on, url, err := b.placeOf(ctx, c.As, c.Args.ID)
		if err != nil {
			return noted{}, err
		}
		changed, _, err := b.Notes.UpdateWithCommands(ctx, c.As, on, note.ID(c.Args.ID.ID), note.Changes{Body: c.Args.Body, Internal: c.Args.Confidential})
		if err != nil || changed.Note == nil {
			return noted{}, err
		}
		return b.noted(ctx, changed.Note, on, url)
	})
	exec.Mutation(b.Schema, "destroyNote", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (noted, error) {
		on, _, err := b.placeOf(ctx, c.As, c.Args.ID)
		if err != nil {
			return noted{}, err
		}
		return noted{}, b.Notes.Delete(ctx, c.As, on, note.ID(c.Args.ID.ID))
	})
}

// placeOf finds what a note is on.
func (b *binder) placeOf(ctx context.Context, as authz.Actor, id globalID) (note.On, string, error) {
	n, err := needed(ctx, as, id, b.Notes.ByIDs)
	if err != nil {
		return note.On{}, "", err
	}
	return b.noteableOf(ctx, as, globalID{Model: string(n.Kind), ID: n.TargetID})
}

func (b *binder) noted(ctx context.Context, n *note.Note, on note.On, url string) (noted, error) {
	rows, err := b.comments(ctx, []*comment{{View: note.View{Note: *n}, on: on, url: url}})
	if err != nil {
		return noted{}, err
	}
	return noted{rows[0]}, nil
}
