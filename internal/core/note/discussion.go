package note

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// discussionNote is the type of a note of a thread that is not about a line.
const discussionNote = "DiscussionNote"

// Discussion is the notes of a thing with one discussion id, oldest first: a thread, or one
// note that stands alone.
type Discussion struct {
	ID    string
	Notes []Note // at least one
}

// Individual reports whether it is a note that stands alone and no thread.
func (d *Discussion) Individual() bool { return d.Notes[0].Type == nil }

// Resolvable reports whether it is a thread that can be resolved.
func (d *Discussion) Resolvable() bool {
	return slices.ContainsFunc(d.Notes, func(n Note) bool { return n.Resolvable() })
}

// Resolved returns the note that was resolved last, of a thread with no open ones; nil otherwise.
func (d *Discussion) Resolved() *Note {
	var last *Note
	for i := range d.Notes {
		n := &d.Notes[i]
		switch {
		case !n.Resolvable():
		case n.ResolvedAt == nil:
			return nil
		case last == nil || n.ResolvedAt.After(last.ResolvedAt.Time):
			last = n
		}
	}
	return last
}

// repliable reports whether there can be replies to a discussion that begins with the note.
func (s *Service) repliable(n *Note) bool {
	return !n.System && (n.Type != nil || s.Kinds.Of(n.Kind).Replies)
}

// ListDiscussions returns a page of the discussions on a thing that the actor may read, in
// the order in which they began, with all their notes, and what they are on.
func (s *Service) ListDiscussions(ctx context.Context, as authz.Actor, on On, r page.Range) (page.Page[Discussion], noteable.Target, error) {
	return s.ListDiscussionsOf(ctx, as, on, Everything, r)
}

// ListDiscussionsOf is ListDiscussions for those that began with a comment, or with a line of history.
func (s *Service) ListDiscussionsOf(ctx context.Context, as authz.Actor, on On, of Activity, r page.Range) (page.Page[Discussion], noteable.Target, error) {
	var none page.Page[Discussion]
	t, seen, err := s.readable(ctx, as, on)
	if err != nil {
		return none, t, err
	}
	w := seen.where()
	of.where(&w)
	w.Raw(`NOT EXISTS (SELECT 1 FROM notes e WHERE e.noteable_type = n.noteable_type AND e.noteable_id = n.noteable_id
		AND e.discussion_id = n.discussion_id AND e.id < n.id)`)
	type first struct {
		ID         ID     `db:"id"`
		Discussion string `db:"discussion_id"`
	}
	firsts, err := page.Select[first](ctx, s.DB, page.Query{
		Columns: "n.id, n.discussion_id", From: "notes n", Where: w, Order: page.Order{page.ID("n.id")},
	}, r)
	if err != nil {
		return none, t, fmt.Errorf("list discussions: %w", err)
	}
	ids := make([]string, len(firsts.Items))
	for i := range firsts.Items {
		ids[i] = firsts.Items[i].Discussion
	}
	notes, err := s.inDiscussions(ctx, seen, ids)
	if err != nil {
		return none, t, err
	}
	return page.Map(firsts, func(f *first) Discussion { return Discussion{ID: f.Discussion, Notes: notes[f.Discussion]} }), t, nil
}

// FindDiscussion returns a discussion on a thing with the notes that the actor may read. One
// with none of these is not found.
func (s *Service) FindDiscussion(ctx context.Context, as authz.Actor, on On, id string) (*Discussion, noteable.Target, error) {
	t, seen, err := s.readable(ctx, as, on)
	if err != nil {
		return nil, t, err
	}
	notes, err := s.inDiscussions(ctx, seen, []string{id})
	if err != nil {
		return nil, t, err
	}
	if len(notes[id]) == 0 {
		return nil, t, errs.Missing("Discussion")
	}
	return &Discussion{ID: id, Notes: notes[id]}, t, nil
}

// ListInDiscussion returns the notes of a discussion that the actor may read, oldest first.
// They are not found where there are none.
func (s *Service) ListInDiscussion(ctx context.Context, as authz.Actor, on On, id string) ([]Note, noteable.Target, error) {
	t, seen, err := s.readable(ctx, as, on)
	if err != nil {
		return nil, t, err
	}
	notes, err := s.inDiscussions(ctx, seen, []string{id})
	if err == nil && len(notes[id]) == 0 {
		err = errs.Missing("Notes")
	}
	return notes[id], t, err
}

// inDiscussions reads the notes of discussions by the ids of these, unless there is too much
// of them for one answer.
func (s *Service) inDiscussions(ctx context.Context, seen sight, ids []string) (map[string][]Note, error) {
	out := make(map[string][]Note, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	w := seen.where()
	w.In("n.discussion_id", ids)
	bytes, err := db.Get[int64](ctx, s.DB, "SELECT COALESCE(SUM(octet_length(n.body)), 0) FROM notes n"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("measure discussions: %w", err)
	}
	if bytes > budget.MaxList && len(ids) > 1 {
		return nil, budget.ErrList
	}
	if bytes > budget.MaxList {
		return nil, errs.New(errs.Unprocessable, "The discussion has more than 32 MiB of text. Read its notes one by one.")
	}
	notes, err := db.Select[Note](ctx, s.DB, "SELECT "+columns+" FROM notes n"+w.SQL()+" ORDER BY n.created_at, n.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("notes of discussions: %w", err)
	}
	for i := range notes {
		out[notes[i].DiscussionID] = append(out[notes[i].DiscussionID], notes[i])
	}
	return out, nil
}

// createDiscussion begins a thread on a thing.
func (s *Service) createDiscussion(ctx context.Context, as authz.Actor, on On, in Input) (*Discussion, noteable.Target, error) {
	t, err := s.mayAdd(ctx, as, on)
	if err != nil {
		return nil, t, err
	}
	n, err := s.build(ctx, as, t, in)
	if err != nil {
		return nil, t, err
	}
	kind := discussionNote
	n.Type = &kind
	if err := s.prepare(ctx, as, on, t, &in, n); err != nil {
		return nil, t, err
	}
	if err := s.write(ctx, as, on, t, n, nil); err != nil {
		return nil, t, fmt.Errorf("create discussion: %w", err)
	}
	return &Discussion{ID: n.DiscussionID, Notes: []Note{*n}}, t, nil
}

// reply adds a note to a discussion that the actor may read. It is internal where the
// discussion is. A note that stood alone is a thread from then on, and the reply to a resolved
// thread is resolved.
func (s *Service) reply(ctx context.Context, as authz.Actor, on On, id string, in Input) (*Note, noteable.Target, error) {
	t, err := s.mayAdd(ctx, as, on)
	if err != nil {
		return nil, t, err
	}
	seen, err := s.sight(ctx, as, t)
	if err != nil {
		return nil, t, err
	}
	first, err := s.first(ctx, seen, id)
	if err != nil {
		return nil, t, err
	}
	if !s.repliable(first) {
		return nil, t, errs.Bad("Discussion can not be replied to.")
	}
	in.Internal = false
	n, err := s.build(ctx, as, t, in)
	if err != nil {
		return nil, t, err
	}
	n.DiscussionID, n.Internal = id, first.Internal
	if err := s.prepare(ctx, as, on, t, &Input{}, n); err != nil {
		return nil, t, err
	}
	if n.Suggested, err = s.SuggestionsIn(ctx, on, first.Position, n.Body); err != nil {
		return nil, t, err
	}
	if err := s.write(ctx, as, on, t, n, s.joining(as, seen, n)); err != nil {
		return nil, t, fmt.Errorf("reply: %w", err)
	}
	return n, t, nil
}

// joins makes the note one of the discussion that begins with first.
func (n *Note) joins(first *Note) {
	n.Type, n.Position, n.Original, n.Changed, n.LineCode = first.Type, first.Position, first.Original, first.Changed, first.LineCode
	if n.Kind == noteable.MergeRequest {
		n.CommitID = first.CommitID
	}
}

// joining makes a new note one of its discussion, in the transaction that writes it. The reply to
// a resolved thread is resolved.
func (s *Service) joining(as authz.Actor, seen sight, n *Note) func(ctx context.Context, before noteable.Counts) error {
	return func(ctx context.Context, before noteable.Counts) error {
		first, err := s.first(ctx, seen, n.DiscussionID) // it may be another one now
		if err != nil {
			return err
		}
		if first.Type == nil {
			kind := discussionNote
			first.Type = &kind
			if _, err := s.DB.Exec(ctx, "UPDATE notes SET type = ? WHERE id = ?", kind, first.ID); err != nil {
				return err
			}
		}
		n.joins(first)
		n.resolve(as, n.UpdatedAt.Time, Resolution{before.Threads > 0 && before.Unresolved == 0})
		return nil
	}
}

// first reads the note that a discussion begins with, as far as the actor may read it.
func (s *Service) first(ctx context.Context, seen sight, id string) (*Note, error) {
	w := seen.where()
	w.And("n.discussion_id = ?", id)
	n, err := db.Get[Note](ctx, s.DB, "SELECT "+columns+" FROM notes n"+w.SQL()+" ORDER BY n.id LIMIT 1", w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Discussion")
	}
	if err != nil {
		return nil, fmt.Errorf("find discussion: %w", err)
	}
	return &n, nil
}
