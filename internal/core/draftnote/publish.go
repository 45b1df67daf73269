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
	t, err := s.notes.MayComment(ctx, as, on)
	if err != nil {
		return err
	}
	return s.publish(ctx, as, on, t, id, func(ctx context.Context, notes []note.Pending) ([]quickaction.Text, error) {
		if len(notes) == 0 {
			return nil, errs.Missing("")
		}
		return s.notes.Publish(ctx, as, on, t, notes)
	})
}

// PublishAll makes notes of all the actor's drafts on a merge request, as one review. Without
// drafts it publishes the summary alone, if there is one.
func (s *Service) PublishAll(ctx context.Context, as authz.Actor, on note.On, r Review) error {
	t, err := s.notes.MayComment(ctx, as, on)
	if err != nil {
		return err
	}
	if r.Summary != "" {
		if err := note.CheckBody(r.Summary); err != nil {
			return ofDraft(err)
		}
	}
	return s.publish(ctx, as, on, t, 0, func(ctx context.Context, notes []note.Pending) ([]quickaction.Text, error) {
		if r.Summary != "" {
			notes = append(notes, note.Pending{Body: r.Summary})
		}
		if len(notes) == 0 && r.State == "" {
			return nil, nil
		}
		if err := s.requests.Reviewed(ctx, mergerequest.ID(t.ID), as.UserID, cmp.Or(r.State, mergerequest.ReviewDone)); err != nil {
			return nil, err
		}
		return s.notes.Publish(ctx, as, on, t, notes)
	})
}

// errStale is a draft that was changed between the look at its suggestions and its publication.
var errStale = errors.New("draft note was changed")

// publish takes a draft, or all where the id is 0, and writes their notes in one transaction,
// and runs their quick actions after it: what was taken is published once, or is a draft still.
func (s *Service) publish(ctx context.Context, as authz.Actor, on note.On, t noteable.Target, id ID, do func(ctx context.Context, notes []note.Pending) ([]quickaction.Text, error)) error {
	for try := 0; ; try++ {
		suggested, err := s.suggested(ctx, as, on, t, id)
		if err != nil {
			return err
		}
		var texts []quickaction.Text
		err = s.db.InTx(ctx, func(ctx context.Context) error {
			drafts, err := s.take(ctx, as, t, id)
			if err != nil {
				return err
			}
			notes, err := pending(drafts, suggested)
			if err == nil {
				texts, err = do(ctx, notes)
			}
			return err
		})
		switch {
		case errors.Is(err, errStale) && try < 3:
			continue
		case errors.Is(err, errStale):
			return errs.New(errs.Conflict, "")
		case err != nil:
			return fmt.Errorf("publish draft notes: %w", ofDraft(err))
		}
		return s.notes.RunCommands(ctx, as.Unconditional(), on, t, texts)
	}
}

// which selects a draft of the actor, or all where the id is 0.
func which(as authz.Actor, t noteable.Target, id ID) db.Where {
	var w db.Where
	w.And("merge_request_id = ? AND author_id = ?", t.ID, as.UserID)
	if id != 0 {
		w.And("id = ?", id)
	}
	return w
}

// suggestions are those of one draft, with the text that they were read from.
type suggestions struct {
	note string
	list []note.Suggestion
}

// suggested reads the suggestions of drafts that may have some.
func (s *Service) suggested(ctx context.Context, as authz.Actor, on note.On, t noteable.Target, id ID) (map[ID]suggestions, error) {
	w := which(as, t, id)
	w.Raw("note LIKE '%suggestion%'")
	drafts, err := db.Select[Draft](ctx, s.db, "SELECT "+db.Columns[Draft]("")+" FROM draft_notes"+w.SQL()+" ORDER BY id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("suggestions of draft notes: %w", err)
	}
	out := map[ID]suggestions{}
	for _, d := range drafts {
		at := d.Position
		if d.DiscussionID != nil {
			found, _, err := s.notes.FindDiscussion(ctx, as, on, *d.DiscussionID)
			if err != nil && !errs.Is(err, errs.NotFound) {
				return nil, err
			}
			if err == nil {
				at = found.Notes[0].Position
			}
		}
		list, err := s.notes.SuggestionsIn(ctx, on, at, d.Note)
		if err != nil {
			return nil, err
		}
		out[d.ID] = suggestions{d.Note, list}
	}
	return out, nil
}

// take removes drafts, and gives what it removed in the order of its making.
func (s *Service) take(ctx context.Context, as authz.Actor, t noteable.Target, id ID) ([]Draft, error) {
	w := which(as, t, id)
	drafts, err := db.Select[Draft](ctx, s.db, "DELETE FROM draft_notes"+w.SQL()+" RETURNING "+db.Columns[Draft](""), w.Args()...)
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
