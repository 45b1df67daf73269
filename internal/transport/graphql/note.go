package graphql

import (
	"context"
	"strings"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// spot is what notes are on.
type spot struct {
	on    note.On
	url   string // of its page
	thing any    // itself, for NoteableType; nil for what that does not name
}

// comment is a note with what it is on.
type comment struct {
	note.View
	spot
}

// thread is a discussion with what it is on.
type thread struct {
	note.Discussion
	spot
}

// about says what the notes of things are on, for all of them at once: one for each thing.
type about[P any] func(ctx context.Context, as authz.Actor, things []P) ([]spot, error)

// each is about for things that say it of themselves.
func each[P any](of func(thing P) spot) about[P] {
	return func(_ context.Context, _ authz.Actor, things []P) ([]spot, error) {
		out := make([]spot, len(things))
		for i, thing := range things {
			out[i] = of(thing)
		}
		return out, nil
	}
}

// notes binds notes and discussions.
func (b *binder) notes() {
	notesOf(b, "Issue", each(onIssue))
	notesOf(b, "MergeRequest", each(onRequest))
	notesOf(b, "Epic", b.onEpics)
	exec.Root(b.Schema, "note", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (*comment, error) {
		found, at, err := b.note(ctx, c.As, c.Args.ID)
		if err != nil {
			return nil, hidden(err)
		}
		return b.comment(ctx, found, at)
	})
	b.noteFields()
	b.positions()
	b.discussions()
	b.notePermissions()
}

func (b *binder) noteFields() {
	value(b, "Note.id", func(n *comment) string { return gid(noteModel(&n.Note), n.ID) })
	value(b, "Note.confidential", func(n *comment) bool { return n.Internal })
	value(b, "Note.author", func(n *comment) *user { return n.Author })
	value(b, "Note.url", func(n *comment) string { return n.url + "#note_" + plainID(n.ID) })
	value(b, "Note.project", func(n *comment) *project.Project { return project.Of(n.on.Place) })
	value(b, "Note.noteableType", func(n *comment) string { return string(n.Kind) })
	value(b, "Note.noteableId", func(n *comment) int64 { return n.TargetID })
	value(b, "Note.resolvable", func(n *comment) bool { return n.Resolution != nil })
	value(b, "Note.resolved", func(n *comment) bool { return n.Resolution != nil && n.Resolution.Resolved })
	value(b, "Note.resolvedBy", func(n *comment) *user {
		if n.Resolution == nil {
			return nil
		}
		return n.Resolution.By
	})
	value(b, "Note.systemNoteIconName", func(n *comment) *string { return text(n.Icon()) })
	one(b, "Note.lastEditedBy", "users", func(n *comment) authz.UserID { return zeroOr(n.LastEditedByID) }, b.usersByIDs)
	value(b, "Note.position", func(n *comment) *note.Position { return n.Position })
	rendered(b, "Note.bodyHtml", func(n *comment) (reference.Scope, *string) {
		if g := namespace.Of(n.on.Place); g != nil {
			return inGroup(g), &n.Body
		}
		return reference.Of(project.Of(n.on.Place)), &n.Body
	})
	exec.Batch(b.Schema, "Note.discussion", func(ctx context.Context, c *exec.Call[exec.None], of []*comment) ([]*thread, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, n *comment) (*thread, error) {
			d, _, err := b.Notes.FindDiscussion(ctx, c.As, n.on, n.DiscussionID)
			if err != nil {
				return nil, err
			}
			return &thread{*d, n.spot}, nil
		})
	})
	exec.Connection[*comment](b.Schema, "Note")
	exec.Struct[*comment](b.Schema, "Note")
}

func (b *binder) positions() {
	value(b, "DiffPosition.diffRefs", func(p *note.Position) *diffRefs { return &diffRefs{p.BaseSHA, p.HeadSHA, p.StartSHA} })
	value(b, "DiffPosition.filePath", func(p *note.Position) string {
		if p.NewPath != "" {
			return p.NewPath
		}
		return p.OldPath
	})
	value(b, "DiffPosition.positionType", func(p *note.Position) string { return string(p.Type) })
	value(b, "DiffPosition.x", func(p *note.Position) *int64 { return whole(p.X) })
	value(b, "DiffPosition.y", func(p *note.Position) *int64 { return whole(p.Y) })
	exec.Struct[*note.Position](b.Schema, "DiffPosition")
}

func (b *binder) discussions() {
	value(b, "Discussion.id", func(d *thread) string { return gid("Discussion", d.ID) })
	value(b, "Discussion.replyId", func(d *thread) string { return gid("Discussion", d.ID) })
	value(b, "Discussion.noteable", func(d *thread) any { return d.thing })
	value(b, "Discussion.resolvable", func(d *thread) bool { return d.Resolvable() })
	value(b, "Discussion.resolved", func(d *thread) bool { return d.Resolved() != nil })
	value(b, "Discussion.resolvedAt", func(d *thread) *time.Time {
		if last := d.Resolved(); last != nil {
			return last.ResolvedAt.Ptr()
		}
		return nil
	})
	one(b, "Discussion.resolvedBy", "users", func(d *thread) authz.UserID {
		if last := d.Resolved(); last != nil {
			return zeroOr(last.ResolvedByID)
		}
		return 0
	}, b.usersByIDs)
	value(b, "Discussion.createdAt", func(d *thread) any { return d.Notes[0].CreatedAt })
	exec.Batch(b.Schema, "Discussion.notes", func(ctx context.Context, c *exec.Call[paging], of []*thread) ([]*exec.Page[*comment], error) {
		return lists(ctx, part(b, c, c.Args, 2*maxPage), of, func(_ context.Context, d *thread, r page.Range) (page.Page[*comment], error) {
			if r.Keyset {
				return page.Page[*comment]{}, page.ErrOrder
			}
			all := d.Notes[min(r.Offset, len(d.Notes)):]
			if r.Limit > 0 {
				all = all[:min(r.Limit, len(all))]
			}
			rows := make([]*comment, len(all))
			for i := range all {
				rows[i] = &comment{note.View{Note: all[i]}, d.spot}
			}
			return page.Page[*comment]{Items: rows, Total: len(d.Notes)}, nil
		}, b.comments)
	})
	exec.Connection[*thread](b.Schema, "Discussion")
	exec.Struct[*thread](b.Schema, "Discussion")
}

// noteModel is the model in the global id of a note.
func noteModel(n *note.Note) string {
	if n.Type != nil {
		return *n.Type
	}
	return "Note"
}

func plainID[T ~int64](id T) string { return strings.TrimPrefix(gid("", id), gidPrefix+"/") }

func whole(f *float64) *int64 {
	if f == nil {
		return nil
	}
	n := int64(*f)
	return &n
}

// comments reads what belongs to notes, for all of them at once.
func (b *binder) comments(ctx context.Context, rows []*comment) ([]*comment, error) {
	notes := make([]note.Note, len(rows))
	for i, c := range rows {
		notes[i] = c.Note
	}
	views, err := b.Notes.Views(ctx, notes, note.ViewOptions{})
	if err != nil {
		return nil, err
	}
	for i := range views {
		rows[i].View = views[i]
	}
	return rows, nil
}

// activities are the filters of notes.
var activities = map[string]note.Activity{"ALL_NOTES": note.Everything, "ONLY_COMMENTS": note.Comments, "ONLY_ACTIVITY": note.History}

// notesOf binds the notes and discussions of things of one type, oldest first.
func notesOf[P any](b *binder, typ string, on about[P]) {
	exec.Batch(b.Schema, typ+".notes", func(ctx context.Context, c *exec.Call[struct {
		paging
		Filter string
	}], of []P,
	) ([]*exec.Page[*comment], error) {
		spots, err := on(ctx, c.As, of)
		if err != nil {
			return nil, err
		}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), spots, func(ctx context.Context, at spot, r page.Range) (page.Page[*comment], error) {
			found, _, err := b.Notes.List(ctx, c.As, at.on, note.Filter{Activity: activities[c.Args.Filter], Asc: true, Range: r})
			return page.Map(found, func(n *note.Note) *comment { return &comment{note.View{Note: *n}, at} }), err
		}, b.comments)
	})
	exec.Batch(b.Schema, typ+".discussions", func(ctx context.Context, c *exec.Call[paging], of []P) ([]*exec.Page[*thread], error) {
		spots, err := on(ctx, c.As, of)
		if err != nil {
			return nil, err
		}
		return lists(ctx, part(b, c, c.Args, maxPage), spots, func(ctx context.Context, at spot, r page.Range) (page.Page[*thread], error) {
			found, _, err := b.Notes.ListDiscussions(ctx, c.As, at.on, r)
			return page.Map(found, func(d *note.Discussion) *thread { return &thread{*d, at} }), err
		}, same)
	})
}
