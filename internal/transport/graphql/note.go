package graphql

import (
	"context"
	"strings"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/transport/graphql/exec"
)

// comment is a note with what it is on.
type comment struct {
	note.View
	on  note.On
	url string // of the page of what it is on
}

// thread is a discussion with what it is on.
type thread struct {
	note.Discussion
	on  note.On
	url string
}

// about says what the notes of a thing are on, and where its page is.
type about[P any] func(thing P) (on note.On, url string)

func onIssue(i *issue.View) (note.On, string) {
	return note.On{Project: i.Project, Kind: noteable.Issue, Key: noteable.Key{Number: int64(i.IID)}}, i.URL
}

func onRequest(m *mergerequest.View) (note.On, string) {
	return note.On{Project: m.Project, Kind: noteable.MergeRequest, Key: noteable.Key{Number: int64(m.IID)}}, m.URL
}

// notes binds notes and discussions.
func (b *binder) notes() {
	notesOf(b, "Issue", onIssue)
	notesOf(b, "MergeRequest", onRequest)
	value(b, "Note.id", func(n *comment) string { return gid(noteModel(&n.Note), n.ID) })
	value(b, "Note.confidential", func(n *comment) bool { return n.Internal })
	value(b, "Note.author", func(n *comment) *user { return n.Author })
	value(b, "Note.url", func(n *comment) string { return n.url + "#note_" + plainID(n.ID) })
	value(b, "Note.project", func(n *comment) *project.Project { return n.on.Project })
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
	value(b, "Note.position", func(n *comment) *note.Position { return n.Position })
	rendered(b, "Note.bodyHtml", func(n *comment) (reference.Place, *string) { return reference.Of(n.on.Project), &n.Body })
	exec.Connection[*comment](b.Schema, "Note")
	exec.Struct[*comment](b.Schema, "Note")

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

	value(b, "Discussion.id", func(d *thread) string { return gid("Discussion", d.ID) })
	value(b, "Discussion.replyId", func(d *thread) string { return gid("Discussion", d.ID) })
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
				rows[i] = &comment{View: note.View{Note: all[i]}, on: d.on, url: d.url}
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
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, thing P, r page.Range) (page.Page[*comment], error) {
			at, url := on(thing)
			found, _, err := b.Notes.List(ctx, c.As, at, note.Filter{Activity: activities[c.Args.Filter], Asc: true, Range: r})
			return page.Map(found, func(n *note.Note) *comment { return &comment{View: note.View{Note: *n}, on: at, url: url} }), err
		}, b.comments)
	})
	exec.Batch(b.Schema, typ+".discussions", func(ctx context.Context, c *exec.Call[paging], of []P) ([]*exec.Page[*thread], error) {
		return lists(ctx, part(b, c, c.Args, maxPage), of, func(ctx context.Context, thing P, r page.Range) (page.Page[*thread], error) {
			at, url := on(thing)
			found, _, err := b.Notes.ListDiscussions(ctx, c.As, at, r)
			return page.Map(found, func(d *note.Discussion) *thread { return &thread{*d, at, url} }), err
		}, same)
	})
}

// noteableOf finds what a global id names, as something to comment on.
func (b *binder) noteableOf(ctx context.Context, as authz.Actor, id globalID) (note.On, string, error) {
	switch id.Model {
	case "Issue", "WorkItem":
		found, err := b.issuesByIDs(ctx, as, []issue.ID{issue.ID(id.ID)})
		if i := found[issue.ID(id.ID)]; i != nil {
			on, url := onIssue(i)
			return on, url, nil
		}
		return note.On{}, "", missingOr(err)
	case "MergeRequest":
		found, err := b.Requests.ByIDs(ctx, as, []mergerequest.ID{mergerequest.ID(id.ID)})
		if m := found[mergerequest.ID(id.ID)]; err == nil && m != nil {
			views, err := b.requestViews(as)(ctx, []*mergerequest.MergeRequest{m})
			if err == nil && views[0] != nil {
				on, url := onRequest(views[0])
				return on, url, nil
			}
			return note.On{}, "", missingOr(err)
		}
		return note.On{}, "", missingOr(err)
	}
	return note.On{}, "", errNoPlace
}

// missingOr gives an error, or that nothing is there.
func missingOr(err error) error {
	if err != nil {
		return err
	}
	return errNoPlace
}
