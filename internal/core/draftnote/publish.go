package draftnote

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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
	return s.publish(ctx, as, on, t, func(ctx context.Context) ([]quickaction.Text, error) {
		drafts, err := s.take(ctx, as, t, id)
		if err != nil {
			return nil, err
		}
		if len(drafts) == 0 {
			return nil, errs.Missing("")
		}
		return s.notes.Publish(ctx, as, on, t, pending(drafts))
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
	return s.publish(ctx, as, on, t, func(ctx context.Context) ([]quickaction.Text, error) {
		drafts, err := s.take(ctx, as, t, 0)
		if err != nil {
			return nil, err
		}
		notes := pending(drafts)
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

// publish takes drafts and writes their notes in one transaction, and runs their quick actions
// after it: what was taken is published once, or is a draft still.
func (s *Service) publish(ctx context.Context, as authz.Actor, on note.On, t noteable.Target, do func(ctx context.Context) ([]quickaction.Text, error)) error {
	var texts []quickaction.Text
	err := s.db.InTx(ctx, func(ctx context.Context) error {
		var err error
		texts, err = do(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("publish draft notes: %w", ofDraft(err))
	}
	return s.notes.RunCommands(ctx, as.Unconditional(), on, t, texts)
}

// take removes a draft of the actor, or all where the id is 0, and gives what it removed in the
// order of its making.
func (s *Service) take(ctx context.Context, as authz.Actor, t noteable.Target, id ID) ([]Draft, error) {
	var w db.Where
	w.And("merge_request_id = ? AND author_id = ?", t.ID, as.UserID)
	if id != 0 {
		w.And("id = ?", id)
	}
	drafts, err := db.Select[Draft](ctx, s.db, "DELETE FROM draft_notes"+w.SQL()+" RETURNING "+db.Columns[Draft](""), w.Args()...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(drafts, func(a, b Draft) int { return cmp.Compare(a.ID, b.ID) })
	return drafts, nil
}

func pending(drafts []Draft) []note.Pending {
	out := make([]note.Pending, len(drafts))
	for i, d := range drafts {
		out[i] = note.Pending{Body: d.Note, Resolve: d.Resolve, CommitID: d.CommitID, Position: d.Position, LineCode: d.LineCode}
		if d.DiscussionID != nil {
			out[i].Discussion = *d.DiscussionID
		}
	}
	return out
}
