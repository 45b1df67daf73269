package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/transport/graphql/exec"
)

// diffPosition is what inputs say of the diff of a note.
type diffPosition struct {
	BaseSHA           string
	HeadSHA, StartSHA string
	Paths             struct{ OldPath, NewPath string }
}

func (p *diffPosition) position(kind note.PositionType) *note.Position {
	return &note.Position{BaseSHA: p.BaseSHA, StartSHA: p.StartSHA, HeadSHA: p.HeadSHA, OldPath: p.Paths.OldPath, NewPath: p.Paths.NewPath, Type: kind}
}

const errPaths argumentError = "At least one of [oldPath, newPath] arguments is required."

// diffNote is the input of a note on a diff.
type diffNote struct {
	NoteableID             globalID
	Body                   string
	Internal, Confidential bool
}

// diffNoteMutations binds the notes on diffs. Each note begins a thread.
func (b *binder) diffNoteMutations() {
	exec.Mutation(b.Schema, "createDiffNote", func(ctx context.Context, c *exec.Call[struct {
		diffNote
		Position struct {
			diffPosition
			OldLine, NewLine *int
		}
	}],
	) (noted, error) {
		at := c.Args.Position.position(note.TextPosition)
		at.OldLine, at.NewLine = c.Args.Position.OldLine, c.Args.Position.NewLine
		return b.diffNote(ctx, c.As, c.Args.diffNote, at)
	})
	exec.Mutation(b.Schema, "createImageDiffNote", func(ctx context.Context, c *exec.Call[struct {
		diffNote
		Position struct {
			diffPosition
			X, Y, Width, Height int
		}
	}],
	) (noted, error) {
		at, in := c.Args.Position.position(note.ImagePosition), c.Args.Position
		x, y := float64(in.X), float64(in.Y)
		at.X, at.Y, at.Width, at.Height = &x, &y, &in.Width, &in.Height
		return b.diffNote(ctx, c.As, c.Args.diffNote, at)
	})
}

func (b *binder) diffNote(ctx context.Context, as authz.Actor, in diffNote, position *note.Position) (noted, error) {
	if position.OldPath == "" && position.NewPath == "" {
		return noted{}, errPaths
	}
	at, err := b.noteableOf(ctx, as, in.NoteableID)
	if err != nil {
		return noted{}, err
	}
	begun, _, err := b.Notes.CreateDiscussion(ctx, as, at.on, note.Input{Body: in.Body, Internal: in.Internal || in.Confidential, Position: position})
	if err != nil || begun.Discussion == nil {
		return noted{}, err
	}
	return b.noted(ctx, &begun.Discussion.Notes[0], at)
}
