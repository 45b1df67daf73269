package epic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
)

// Describe says what epics are to others.
func (s *Service) Describe() noteable.Description {
	return noteable.Description{
		Kind: noteable.Epic, Noun: "epic", An: "an epic", Path: "epics", Mark: "&", Reference: "epic", Code: 3,
		Table: "epics", Group: "group_id", Read: authz.ReadEpic,
		Open: true, History: true, Replies: true, Confidential: true, Awards: true, Labels: true, Todos: true,
	}
}

// Locate finds the epic with an id, or with an IID, in a group itself for those who comment on it.
// It requires ReadEpic.
func (s *Service) Locate(ctx context.Context, as authz.Actor, at authz.Place, key noteable.Key) (noteable.Target, error) {
	g := namespace.Of(at)
	if g == nil {
		return noteable.Target{}, errs.Missing("")
	}
	iid := IID(key.IID)
	if key.IID == 0 {
		if err := s.Policy.Require(ctx, as, authz.ReadEpic, g.Subject()); err != nil {
			return noteable.Target{}, err
		}
		var err error
		iid, err = db.Get[IID](ctx, s.DB, "SELECT iid FROM epics WHERE group_id = ? AND id = ?", g.ID, key.Number)
		if errors.Is(err, db.ErrNotFound) {
			return noteable.Target{}, errs.Missing("")
		}
		if err != nil {
			return noteable.Target{}, fmt.Errorf("locate epic: %w", err)
		}
	}
	e, err := s.bare(ctx, as, g, iid)
	if err != nil {
		return noteable.Target{}, err
	}
	return e.Target(as, g), nil
}

// Target is the epic as something to comment on.
func (e *Epic) Target(as authz.Actor, g *namespace.Group) noteable.Target {
	return noteable.Target{
		Ref: e.Ref(), GroupID: g.ID, GroupPath: g.FullPath, EpicIID: int64(e.IID), Title: e.Title, AuthorID: e.AuthorID, Subject: e.subject(as, g), HasInternal: true,
		Notes: e.NotesCount, PublicNotes: e.PublicNotesCount,
	}
}

// Subjects returns the permission subjects of those of the epics that the actor may read, in one
// statement.
func (s *Service) Subjects(ctx context.Context, as authz.Actor, refs []noteable.Ref) (map[noteable.Ref]authz.Subject, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	type row struct {
		ID           int64             `db:"id"`
		GroupID      authz.NamespaceID `db:"group_id"`
		AuthorID     authz.UserID      `db:"author_id"`
		Confidential bool              `db:"confidential"`
		Visibility   authz.Visibility  `db:"visibility"`
		Closed       bool              `db:"closed"`
		Level        authz.Level       `db:"level"`
	}
	level, args := s.Policy.LevelSQL(as, "n.id")
	var w db.Where
	w.In("e.id", noteable.IDs(refs))
	s.readable(&w, as)
	rows, err := db.Select[row](ctx, s.DB, "SELECT e.id, e.group_id, e.author_id, e.confidential, n.visibility, ("+namespace.ArchivedAbove("n.id")+" OR "+
		namespace.MarkedAbove("n.id")+") AS closed, "+level+" AS level FROM epics e JOIN namespaces n ON n.id = e.group_id"+w.SQL(), append(args, w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("subjects of epics: %w", err)
	}
	out := make(map[noteable.Ref]authz.Subject, len(rows))
	for _, r := range rows {
		out[noteable.Ref{Kind: noteable.Epic, ID: r.ID}] = authz.Subject{
			Noun: "Group", Namespace: r.GroupID, Visibility: r.Visibility, Closed: r.Closed, Level: r.Level, Known: true,
			Own: as.Is(r.AuthorID), Confidential: r.Confidential,
		}
	}
	return out, nil
}

// CountNotes changes an epic's counters of comments and the time of its last change in the caller's
// transaction, and returns the counters as they are then.
func (s *Service) CountNotes(ctx context.Context, on noteable.Ref, by noteable.Counts, at time.Time) (noteable.Counts, error) {
	return noteable.CountComments(ctx, s.DB, "UPDATE epics", on, by, at)
}
