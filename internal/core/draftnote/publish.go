package draftnote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/quickaction"
)

// Review is what else is said when all drafts are published.
type Review struct {
	Summary string                     // a note of its own after the drafts; "" for none
	State   mergerequest.ReviewerState // of the author, where that is a reviewer; "" is reviewed
}

// Publish makes a note of one draft.
func (s *Service) Publish(ctx context.Context, as authz.Actor, on note.On, id ID) error {
	t, err := s.Notes.MayComment(ctx, as, on)
	if err != nil {
		return err
	}
	_, err = s.publish(ctx, as, on, t, selection{id: id}, func(ctx context.Context, notes []note.Pending, _ bool) ([]quickaction.Text, error) {
		if len(notes) == 0 {
			return nil, errs.Missing("")
		}
		return s.Notes.Publish(ctx, as, on, t, notes)
	})
	return err
}

// publishPiece is how many drafts one transaction publishes.
const publishPiece = 50

// PublishAll makes notes of all the actor's drafts on a merge request, as one review; 50 at a time
// where there are more, so that what was interrupted leaves drafts. Without drafts it publishes the
// summary alone, if there is one.
func (s *Service) PublishAll(ctx context.Context, as authz.Actor, on note.On, r Review) error {
	t, err := s.Notes.MayComment(ctx, as, on)
	if err != nil {
		return err
	}
	if r.Summary != "" {
		if err := note.CheckBody(r.Summary); err != nil {
			return ofDraft(err)
		}
	}
	last, err := db.Get[ID](ctx, s.DB, "SELECT COALESCE(MAX(id), 0) FROM draft_notes WHERE merge_request_id = ? AND author_id = ?", t.ID, as.UserID)
	if err != nil {
		return fmt.Errorf("last draft note: %w", err)
	}
	do := func(ctx context.Context, notes []note.Pending, end bool) ([]quickaction.Text, error) {
		if !end {
			return s.Notes.Publish(ctx, as, on, t, notes)
		}
		if r.Summary != "" {
			notes = append(notes, note.Pending{Body: r.Summary})
		}
		if len(notes) == 0 && r.State == "" {
			return nil, nil
		}
		if err := s.MergeRequests.Reviewed(ctx, mergerequest.ID(t.ID), as.UserID, cmp.Or(r.State, mergerequest.ReviewDone)); err != nil {
			return nil, err
		}
		return s.Notes.Publish(ctx, as, on, t, notes)
	}
	for more := true; more; {
		if more, err = s.publish(ctx, as, on, t, selection{last: last}, do); err != nil {
			return err
		}
	}
	return nil
}

// selection is one draft of the actor, or those up to an id.
type selection struct {
	id, last ID
}

// errStale is a draft that was changed between the look at its suggestions and its publication.
var errStale = errors.New("draft note was changed")

// publish takes the first selected drafts and writes their notes in one transaction, and runs their quick actions after it:
// what was taken is published once, or is a draft still. It reports whether there are more, which do gets as well: end is
// true for the last ones.
func (s *Service) publish(ctx context.Context, as authz.Actor, on note.On, t noteable.Target, of selection,
	do func(ctx context.Context, notes []note.Pending, end bool) ([]quickaction.Text, error),
) (more bool, err error) {
	for try := 0; ; try++ {
		suggested, err := s.suggested(ctx, as, on, t, of)
		if err != nil {
			return false, err
		}
		var texts []quickaction.Text
		err = s.DB.InTx(ctx, func(ctx context.Context) error {
			drafts, err := s.take(ctx, as, t, of)
			if err != nil {
				return err
			}
			w := which(as, t, of)
			if more, err = db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM draft_notes"+w.SQL()+")", w.Args()...); err != nil {
				return err
			}
			notes, err := pending(drafts, suggested)
			if err == nil {
				texts, err = do(ctx, notes, !more)
			}
			return err
		})
		switch {
		case errors.Is(err, errStale) && try < 3:
			continue
		case errors.Is(err, errStale):
			return false, errs.New(errs.Conflict, "")
		case err != nil:
			return false, fmt.Errorf("publish draft notes: %w", ofDraft(err))
		}
		return more, s.Notes.RunCommands(ctx, as.Unconditional(), on, t, texts)
	}
}

// which selects drafts of the actor.
func which(as authz.Actor, t noteable.Target, of selection) db.Where {
	var w db.Where
	w.And("merge_request_id = ? AND author_id = ?", t.ID, as.UserID)
	if of.id != 0 {
		w.And("id = ?", of.id)
	} else {
		w.And("id <= ?", of.last)
	}
	return w
}

// suggestions are those of one draft, with the text that they were read from.
type suggestions struct {
	note string
	list []note.Suggestion
}

// suggested reads the suggestions of the first selected drafts, where they may have some.
func (s *Service) suggested(ctx context.Context, as authz.Actor, on note.On, t noteable.Target, of selection) (map[ID]suggestions, error) {
	w := which(as, t, of)
	drafts, err := db.Select[Draft](ctx, s.DB, "SELECT "+db.Columns[Draft]("")+" FROM (SELECT * FROM draft_notes"+w.SQL()+" ORDER BY id LIMIT ?) d WHERE note LIKE '%suggestion%' ORDER BY id",
		append(w.Args(), publishPiece)...)
	if err != nil {
		return nil, fmt.Errorf("suggestions of draft notes: %w", err)
	}
	out := map[ID]suggestions{}
	for _, d := range drafts {
		at := d.Position
		if d.DiscussionID != nil {
			found, _, err := s.Notes.FindDiscussion(ctx, as, on, *d.DiscussionID)
			if err != nil && !errs.Is(err, errs.NotFound) {
				return nil, err
			}
			if err == nil {
				at = found.Notes[0].Position
			}
		}
		list, err := s.Notes.SuggestionsIn(ctx, on, at, d.Note)
		if err != nil {
			return nil, err
		}
		out[d.ID] = suggestions{d.Note, list}
	}
	return out, nil
}

// take removes the first selected drafts, and returns them in the order of their making.
func (s *Service) take(ctx context.Context, as authz.Actor, t noteable.Target, of selection) ([]Draft, error) {
	w := which(as, t, of)
	drafts, err := db.Select[Draft](ctx, s.DB, "DELETE FROM draft_notes WHERE id IN (SELECT id FROM draft_notes"+w.SQL()+" ORDER BY id LIMIT ?) RETURNING "+db.Columns[Draft](""),
		append(w.Args(), publishPiece)...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(drafts, func(a, b Draft) int { return cmp.Compare(a.ID, b.ID) })
	return drafts, nil
}

func pending(drafts []Draft, suggested map[ID]suggestions) ([]note.Pending, error) {
	out := make([]note.Pending, len(drafts))
	for i, d := range drafts {
		g := suggested[d.ID]
		if g.note != d.Note && strings.Contains(d.Note, "suggestion") {
			return nil, errStale
		}
		out[i] = note.Pending{Body: d.Note, Resolve: d.Resolve, CommitID: d.CommitID, Position: d.Position, LineCode: d.LineCode, Suggested: g.list}
		if d.DiscussionID != nil {
			out[i].Discussion = *d.DiscussionID
		}
	}
	return out, nil
}
