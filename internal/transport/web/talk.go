package web

import (
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// talk is a page of the comments and the history of a thing, in order.
type talk struct {
	Hidden       bool // from people who are not signed on
	Lines        []noteView
	Elsewhere    []jump // comments on other pages
	Older, Newer string
}

// noteView is one comment or line of history.
type noteView struct {
	System, Internal bool
	AuthorID         userID
	HTML, Anchor, On string
	CreatedAt        time.Time
}

// jump leads to a comment on another page. It has the anchor of the comment, which an address from elsewhere may name.
type jump struct {
	Anchor, URL string
	Page        int
}

// anchor is the one of a note in the address of its page.
func anchor(id note.ID) string { return "note_" + itoa(int64(id)) }

// talk reads the notes of a thing in a project and who wrote them, and formats them with its description.
func (x *visit) talk(p *project.Project, kind noteable.Kind, number int64, description *string) (string, *talk, []userID, error) {
	return x.said(note.On{Place: p.Place(), Kind: kind, Key: noteable.Key{Number: number}}, ofProject(p), description)
}

// said is talk for things anywhere. The notes of what is public are for people who are signed on.
func (x *visit) said(on note.On, in place, description *string) (string, *talk, []userID, error) {
	ctx := x.r.Context()
	texts := []string{""}
	if description != nil {
		texts[0] = *description
	}
	part := page.Range{Limit: perPage, Offset: (x.number() - 1) * perPage, Uncounted: true}
	list, _, err := x.Notes.List(ctx, x.as, on, note.Filter{Asc: true, Range: part})
	hidden := errs.Is(err, errs.Unauthorized) && x.as.Session == 0
	if err != nil && !hidden {
		return "", nil, nil, err
	}
	for i := range list.Items {
		texts = append(texts, list.Items[i].Body)
	}
	formatted, err := x.texts(in, texts...)
	if err != nil || hidden {
		return formatted[0], &talk{Hidden: true}, nil, err
	}
	out := &talk{}
	var ids []userID
	for i, n := range list.Items {
		ids = append(ids, n.AuthorID)
		v := noteView{System: n.System, Internal: n.Internal, AuthorID: n.AuthorID, Anchor: anchor(n.ID), HTML: formatted[i+1], CreatedAt: n.CreatedAt.Time}
		if n.Position != nil {
			v.On = textOf(n.Position.NewPath)
		}
		out.Lines = append(out.Lines, v)
	}
	out.Older, out.Newer = around(x, &list)
	if out.Older == "" && out.Newer == "" {
		return formatted[0], out, ids, nil
	}
	ranks, err := x.Notes.Ranks(ctx, x.as, on)
	if err != nil {
		return "", nil, nil, err
	}
	for _, r := range ranks {
		if n := (r.Place-1)/perPage + 1; n != x.number() {
			out.Elsewhere = append(out.Elsewhere, jump{anchor(r.ID), x.numbered(n) + "#" + anchor(r.ID), n})
		}
	}
	return formatted[0], out, ids, nil
}
