package note

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
)

// Resolution says whether a thread is to be resolved or open.
type Resolution struct{ Resolved bool }

// ThreadsResolved is published when the last open thread of a thing was resolved.
type ThreadsResolved struct {
	authz.Stamp

	Target noteable.Target
}

// ThreadChanged is published when a thread was resolved, or opened again; before it was the other.
type ThreadChanged struct {
	authz.Stamp

	Target       noteable.Target
	DiscussionID string
	Resolved     bool
}

// threads counts the threads of a thing that can be resolved, or of one discussion where
// that is not "".
func (s *Service) threads(ctx context.Context, on noteable.Ref, discussion string) (noteable.Counts, error) {
	var w db.Where
	w.And("n.noteable_type = ? AND n.noteable_id = ? AND n.type IS NOT NULL", on.Kind, on.ID)
	if discussion != "" {
		w.And("n.discussion_id = ?", discussion)
	}
	n, err := db.Get[noteable.Counts](ctx, s.DB, `SELECT COUNT(*) AS resolvable_discussions_count,
			COALESCE(SUM(x.open), 0) AS unresolved_discussions_count
		FROM (SELECT MAX(CASE WHEN n.resolved_at IS NULL THEN 1 ELSE 0 END) AS open FROM notes n`+w.SQL()+` GROUP BY n.discussion_id) x`, w.Args()...)
	if err != nil {
		return n, fmt.Errorf("count threads: %w", err)
	}
	return n, nil
}

// counted runs a change of notes of a discussion in the caller's transaction, which has
// locked the thing, and counts what it does to the thread. The change is told how the thread
// was before. It returns the thing's counters where they changed, zero otherwise.
func (s *Service) counted(ctx context.Context, as authz.Actor, t noteable.Target, discussion string, at time.Time, change func(before noteable.Counts) error) (after noteable.Counts, err error) {
	on := t.Ref
	if !s.Kinds.Of(on.Kind).Threads {
		return after, change(after)
	}
	before, err := s.threads(ctx, on, discussion)
	if err != nil {
		return after, err
	}
	if err := change(before); err != nil {
		return after, err
	}
	now, err := s.threads(ctx, on, discussion)
	if err != nil || now == before {
		return after, err
	}
	if after, err = s.count(ctx, on, now.Less(before), at); err != nil || now.Threads != before.Threads {
		return after, err // it is new, or gone
	}
	return after, s.Bus.Publish(ctx, ThreadChanged{Stamp: as.Stamp(at), Target: t, DiscussionID: discussion, Resolved: now.Unresolved == 0})
}

// requireResolve asks for the ability to resolve a thread: developers have it, and who wrote
// the thing or the note.
func (s *Service) requireResolve(ctx context.Context, as authz.Actor, t noteable.Target, n *Note) error {
	subject := t.Subject
	subject.Own = as.Is(t.AuthorID) || as.Is(n.AuthorID)
	if err := s.Policy.Require(ctx, as, authz.ResolveNote, subject); err != nil {
		return err
	}
	if t.Locked {
		return s.Policy.Require(ctx, as, authz.CreateNoteLocked, subject)
	}
	return nil
}

// Thread returns the first note of the thread of a merge request with an id, which the actor may read. It is
// NotFound where there is none.
func (s *Service) Thread(ctx context.Context, as authz.Actor, id string) (*Note, error) {
	first, err := db.Get[ID](ctx, s.DB, "SELECT id FROM notes WHERE discussion_id = ? AND type IS NOT NULL AND noteable_type = 'MergeRequest' ORDER BY id LIMIT 1", id)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Discussion")
	}
	if err != nil {
		return nil, fmt.Errorf("find thread: %w", err)
	}
	found, err := s.ByIDs(ctx, as, []ID{first})
	if err != nil {
		return nil, err
	}
	if found[first] == nil {
		return nil, errs.Missing("Discussion")
	}
	return found[first], nil
}

// Resolve resolves a thread of a merge request with all its notes, or opens it again. What
// cannot be resolved is Forbidden.
func (s *Service) Resolve(ctx context.Context, as authz.Actor, on On, id string, r Resolution) (*Discussion, noteable.Target, error) {
	d, t, err := s.FindDiscussion(ctx, as, on, id)
	if err != nil {
		return nil, t, err
	}
	first := &d.Notes[0]
	if err := s.requireResolve(ctx, as, t, first); err != nil {
		return nil, t, err
	}
	if !first.Resolvable() {
		return nil, t, errs.Denied("")
	}
	err = s.resolve(ctx, as, t, id, r, func(ctx context.Context, at time.Time) error {
		set, args := "resolved_at = NULL, resolved_by_id = NULL", []any(nil)
		cond := " AND resolved_at IS NOT NULL"
		if r.Resolved {
			set, args = "resolved_at = ?, resolved_by_id = ?", []any{db.At(at), as.UserID}
			cond = " AND resolved_at IS NULL"
		}
		_, err := s.DB.Exec(ctx, "UPDATE notes SET "+set+` WHERE noteable_type = ? AND noteable_id = ? AND discussion_id = ?
			AND type IS NOT NULL`+cond, append(args, t.Kind, t.ID, id)...)
		return err
	})
	if err != nil {
		return nil, t, fmt.Errorf("resolve discussion: %w", err)
	}
	return s.FindDiscussion(ctx, as, on, id)
}

// ResolveNote resolves one note of a thread, or opens it again. The thread is resolved when
// all its notes are.
func (s *Service) ResolveNote(ctx context.Context, as authz.Actor, on On, id ID, r Resolution) (*Note, noteable.Target, error) {
	n, t, err := s.Find(ctx, as, on, id)
	if err != nil {
		return nil, t, err
	}
	if err := s.requireResolve(ctx, as, t, n); err != nil {
		return nil, t, err
	}
	if !n.Resolvable() {
		return nil, t, errs.Bad("Note is not resolvable")
	}
	var out db.Change[Note]
	err = s.resolve(ctx, as, t, n.DiscussionID, r, func(ctx context.Context, at time.Time) error {
		out, err = db.Update(ctx, s.DB, db.Row{Table: "notes", ID: n.ID, If: as.UnmodifiedAt, Missing: errs.Missing("")}, func(_ context.Context, n *Note) error {
			if r.Resolved != (n.ResolvedAt != nil) {
				n.resolve(as, at, r)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, t, fmt.Errorf("resolve note: %w", err)
	}
	return &out.After, t, nil
}

// resolve marks the note as resolved, or as open.
func (n *Note) resolve(as authz.Actor, at time.Time, r Resolution) {
	n.ResolvedAt, n.ResolvedByID = nil, nil
	if r.Resolved {
		now := db.At(at)
		n.ResolvedAt, n.ResolvedByID = &now, &as.UserID
	}
}

// resolve runs a change of who resolved notes of a discussion, and says where that was the
// last open one.
func (s *Service) resolve(ctx context.Context, as authz.Actor, t noteable.Target, discussion string, r Resolution, change func(ctx context.Context, at time.Time) error) error {
	now := s.Now()
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := s.count(ctx, t.Ref, noteable.Counts{}, now); err != nil {
			return err
		}
		after, err := s.counted(ctx, as, t, discussion, now, func(noteable.Counts) error { return change(ctx, now) })
		if err != nil || !r.Resolved || after.Threads == 0 || after.Unresolved > 0 {
			return err
		}
		return s.Bus.Publish(ctx, ThreadsResolved{Target: t, Stamp: as.Stamp(now)})
	})
}

// First returns the first comment of the discussion of a note; 0 where the note itself is that.
// It asks for no permission and is for core.
func (s *Service) First(ctx context.Context, n *Note) (ID, error) {
	first, err := db.Get[ID](ctx, s.DB, `SELECT COALESCE(MIN(id), 0) FROM notes
		WHERE noteable_type = ? AND noteable_id = ? AND discussion_id = ? AND id < ?`, n.Kind, n.TargetID, n.DiscussionID, n.ID)
	if err != nil {
		return 0, fmt.Errorf("find first note of discussion: %w", err)
	}
	return first, nil
}
