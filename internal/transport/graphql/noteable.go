package graphql

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/snippet"
)

// noteableOf finds what a global id names, as something to comment on. A snippet without a project has
// no notes.
func (b *binder) noteableOf(ctx context.Context, as authz.Actor, id globalID) (spot, error) {
	if id.Model == "Snippet" || id.Model == "ProjectSnippet" {
		return b.onSnippet(ctx, as, id)
	}
	t, _, err := b.targetOf(ctx, as, id)
	if err != nil {
		return spot{}, err
	}
	return t.spot, nil
}

func (b *binder) onSnippet(ctx context.Context, as authz.Actor, id globalID) (spot, error) {
	found, err := needed(ctx, as, id, b.Snippets.ByIDs)
	if err != nil || found.ProjectID == nil {
		return spot{}, missingOr(err)
	}
	places, err := b.Projects.ByIDs(ctx, as, []project.ID{*found.ProjectID})
	p := places[*found.ProjectID]
	if err != nil || p == nil {
		return spot{}, missingOr(err)
	}
	return spot{on: onSnippetOf(p, found), url: b.URLs.Snippet(p.FullPath, int64(found.ID))}, nil
}

func onSnippetOf(p *project.Project, sn *snippet.Snippet) note.On {
	return note.On{Place: p.Place(), Kind: noteable.Snippet, Key: noteable.Key{Number: int64(sn.ID)}}
}

// missingOr gives an error, or that nothing is there.
func missingOr(err error) error {
	if err != nil {
		return err
	}
	return errNoPlace
}

// note finds a note that the caller may read, and what it is on.
func (b *binder) note(ctx context.Context, as authz.Actor, id globalID) (*note.Note, spot, error) {
	n, err := needed(ctx, as, id, b.Notes.ByIDs)
	if err != nil {
		return nil, spot{}, err
	}
	at, err := b.noteableOf(ctx, as, globalID{Model: string(n.Kind), ID: n.TargetID})
	return n, at, err
}

// comment shows a note.
func (b *binder) comment(ctx context.Context, n *note.Note, at spot) (*comment, error) {
	rows, err := b.comments(ctx, []*comment{{note.View{Note: *n}, at}})
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// resolve resolves the thread that a global id names, or opens it again.
func (b *binder) resolve(ctx context.Context, as authz.Actor, id globalID, to note.Resolution) (*thread, error) {
	n, err := b.Notes.Thread(ctx, as, id.Text)
	if err != nil {
		return nil, err
	}
	at, err := b.noteableOf(ctx, as, globalID{Model: string(n.Kind), ID: n.TargetID})
	if err != nil {
		return nil, err
	}
	d, _, err := b.Notes.Resolve(ctx, as, at.on, id.Text, to)
	if err != nil {
		return nil, err
	}
	return &thread{*d, at}, nil
}
