package note

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

const columns = `n.id, n.discussion_id, n.noteable_type, n.noteable_id, n.commit_id, n.project_id, n.group_id, n.author_id,
	n.type, n.position, n.original_position, n.change_position, n.line_code, n.body, n.system, n.internal, n.resolved_at, n.resolved_by_id, n.created_at, n.updated_at,
	n.last_edited_at, n.last_edited_by_id`

// where selects the notes on a thing.
func where(on noteable.Ref) db.Where {
	var w db.Where
	w.And("n.noteable_type = ? AND n.noteable_id = ?", on.Kind, on.ID)
	if on.Kind == noteable.Commit {
		w.And("n.project_id = ? AND n.commit_id = ?", on.Project, on.Commit)
	}
	return w
}

// order returns the order of the list.
func (f Filter) order() page.Order {
	order := page.Order{page.ID("n.id")}
	if f.ByUpdate {
		order = page.Order{page.Time("updated_at", "n.updated_at"), page.ID("n.id")}
	}
	if f.Asc {
		return order
	}
	return order.Desc()
}

// sight is what an actor may read of the notes on a thing.
type sight struct {
	on       noteable.Ref
	internal bool // internal notes as well

	// Which lines that name something, "" for all.
	sources    string
	sourceArgs []any
}

// where selects what the actor may read.
func (v sight) where() db.Where {
	w := where(v.on)
	if !v.internal {
		w.Raw("NOT n.internal")
	}
	if v.sources != "" {
		w.And(v.sources, v.sourceArgs...)
	}
	return w
}

// where selects comments or history.
func (a Activity) where(w *db.Where) {
	switch a {
	case Comments:
		w.Raw("NOT n.system")
	case History:
		w.Raw("n.system")
	}
}

// list reads a page of the notes on a thing.
func (s *Service) list(ctx context.Context, seen sight, f Filter) (page.Page[Note], error) {
	w := seen.where()
	f.Activity.where(&w)
	found, err := page.Select[shortened](ctx, s.DB, page.Query{Columns: shortColumns, From: "notes n", Where: w, Order: f.order()}, f.Range)
	if err == nil {
		err = s.lengthen(ctx, found.Items)
	}
	return page.Map(found, func(n *shortened) Note { return n.Note }), err
}

// one reads a note on a thing, of a discussion where that is not "".
func (s *Service) one(ctx context.Context, seen sight, id ID, discussion string) (*Note, error) {
	w := seen.where()
	w.And("n.id = ?", id)
	if discussion != "" {
		w.And("n.discussion_id = ?", discussion)
	}
	n, err := db.Get[Note](ctx, s.DB, "SELECT "+columns+" FROM notes n"+w.SQL(), w.Args()...)
	if err != nil {
		return nil, err
	}
	return &n, nil
}

// System is a line of history.
type System struct {
	On        noteable.Ref
	ProjectID project.ID        // zero for what belongs to a group
	GroupID   authz.NamespaceID // zero for what belongs to a project
	AuthorID  authz.UserID      // whose deed it tells
	At        time.Time
	Names     Named // what the lines name; the zero value for none

	Discussion  string   // that the lines are part of; "" where each begins one
	Discussions []string // that of each line, in place of Discussion
}

// Named is a thing that lines of history name. Only users who may read it see them, and they
// go with it.
type Named struct {
	Ref       noteable.Ref
	ProjectID project.ID // zero for what belongs to a group
}

// Record writes lines of history in the caller's transaction. They are no comments:
// nothing is counted and nothing published.
func (s *Service) Record(ctx context.Context, h System, bodies ...string) error {
	if len(bodies) == 0 {
		return nil
	}
	at := db.At(h.At)
	var args []any
	for i, body := range bodies {
		discussion := h.Discussion
		if h.Discussions != nil {
			discussion = h.Discussions[i]
		}
		if discussion == "" {
			discussion = discussionID()
		}
		args = append(args, discussion, h.On.Kind, h.On.ID, orNull(h.ProjectID), orNull(h.GroupID), h.AuthorID, body, at, at)
		if named := h.Names; named.Ref.Kind != "" {
			args = append(args, named.Ref.Kind, named.Ref.ID, orNull(named.ProjectID), discussion)
		} else {
			args = append(args, nil, nil, nil, "")
		}
	}
	const row = "(?, ?, ?, ?, ?, ?, ?, true, false, ?, ?, ?, ?, ?, ?)"
	_, err := s.DB.Exec(ctx, `INSERT INTO notes (discussion_id, noteable_type, noteable_id, project_id, group_id, author_id, body,
		system, internal, created_at, updated_at, source_type, source_id, source_project_id, source_key) VALUES `+
		strings.Repeat(row+", ", len(bodies)-1)+row, args...)
	if err != nil {
		return fmt.Errorf("record system note: %w", err)
	}
	return nil
}

// orNull is nil for zero.
func orNull[T project.ID | authz.NamespaceID](id T) *T {
	if id == 0 {
		return nil
	}
	return &id
}

// Clear removes all notes on a thing that is being deleted, the reactions to the thing and
// its notes, and the lines of history that name it, in the caller's transaction.
func (s *Service) Clear(ctx context.Context, on noteable.Ref) error {
	if err := s.Awards.ClearNotes(ctx, on); err != nil {
		return err
	}
	if err := s.Awards.Clear(ctx, on); err != nil {
		return err
	}
	for _, columns := range []string{"noteable_type = ? AND noteable_id = ?", "source_type = ? AND source_id = ?"} {
		if _, err := s.DB.Exec(ctx, "DELETE FROM notes WHERE "+columns, on.Kind, on.ID); err != nil {
			return fmt.Errorf("clear notes: %w", err)
		}
	}
	return nil
}

// forget deletes the lines of history whose source is about to be deleted.
func (s *Service) forget(ctx context.Context, sources string, args ...any) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM notes WHERE system AND "+sources, args...); err != nil {
		return fmt.Errorf("clear lines of history: %w", err)
	}
	return nil
}
