// Package link keeps the links between two things of one kind, issues with issues and epics with epics. Who may
// read or link them is decided by the packages of these things.
package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// Type says how one thing relates to another.
type Type string

// The types of links. A link that is stored has one of the first two.
const (
	RelatesTo Type = "relates_to"
	Blocks    Type = "blocks"
	BlockedBy Type = "is_blocked_by"
)

// most bounds the links of one thing.
const most = 100

// Row is a link as it is stored.
type Row[ID ~int64] struct {
	ID        int64   `db:"id"`
	SourceID  ID      `db:"source_id"`
	TargetID  ID      `db:"target_id"`
	Type      Type    `db:"link_type"`
	CreatedAt db.Time `db:"created_at"`
	UpdatedAt db.Time `db:"updated_at"`
}

// New returns the row of a link of one thing with another, of a type as seen from the first.
func New[ID ~int64](from, to ID, t Type, at time.Time) Row[ID] {
	if t == BlockedBy {
		from, to, t = to, from, Blocks
	}
	now := db.At(at)
	return Row[ID]{SourceID: from, TargetID: to, Type: t, CreatedAt: now, UpdatedAt: now}
}

// Other returns the end that is not the thing with an id.
func (r *Row[ID]) Other(than ID) ID {
	if r.TargetID == than {
		return r.SourceID
	}
	return r.TargetID
}

// SeenFrom returns the type as seen from the thing with an id.
func (r *Row[ID]) SeenFrom(id ID) Type {
	if r.Type == Blocks && r.TargetID == id {
		return BlockedBy
	}
	return r.Type
}

// Table is where the links of one kind of thing are.
type Table[ID ~int64] struct {
	Links   string // name of the table of links
	Targets string // name of the table of what they link

	Assigned error  // refuses a second link between two things
	Full     string // refuses more links than one thing may have
	Missing  error  // says that a link is not there any more
}

// Columns are those of a row whose table is named l.
func (t *Table[ID]) Columns() string { return db.Columns[Row[ID]]("l") }

// Of lists the links of a thing, the oldest first.
func (t *Table[ID]) Of(ctx context.Context, d *db.DB, id ID) ([]Row[ID], error) {
	rows, err := db.Select[Row[ID]](ctx, d, "SELECT "+t.Columns()+" FROM "+t.Links+` l
		WHERE l.source_id = ? OR l.target_id = ? ORDER BY l.created_at, l.id LIMIT ?`, id, id, 2*most)
	if err != nil {
		return nil, fmt.Errorf("list links in %s: %w", t.Links, err)
	}
	return rows, nil
}

// Find returns a link of a thing, or missing where there is none with this id.
func (t *Table[ID]) Find(ctx context.Context, d *db.DB, id int64, of ID, missing error) (*Row[ID], error) {
	r, err := db.Get[Row[ID]](ctx, d, "SELECT "+t.Columns()+" FROM "+t.Links+` l
		WHERE l.id = ? AND (l.source_id = ? OR l.target_id = ?)`, id, of, of)
	if errors.Is(err, db.ErrNotFound) {
		return nil, missing
	}
	if err != nil {
		return nil, fmt.Errorf("find link in %s: %w", t.Links, err)
	}
	return &r, nil
}

// Add stores a link, gives it an id, and runs then in the same transaction. A link in either direction is a Conflict.
func (t *Table[ID]) Add(ctx context.Context, d *db.DB, r *Row[ID], then func(ctx context.Context) error) error {
	err := d.InTx(ctx, func(ctx context.Context) error {
		if err := t.room(ctx, d, r.SourceID, r.TargetID); err != nil {
			return err
		}
		if err := db.Create(ctx, d, t.Links, r); err != nil {
			return err
		}
		return then(ctx)
	})
	if db.Duplicate(err, t.Links) {
		return t.Assigned
	}
	return errs.Wrap(err, "add to "+t.Links)
}

// room locks two things, the one with the smaller id first, and refuses a link between them where there is one
// already, or where one has as many as it may have.
func (t *Table[ID]) room(ctx context.Context, d *db.DB, a, b ID) error {
	for _, id := range []ID{min(a, b), max(a, b)} {
		type key struct {
			ID int64 `db:"id"`
		}
		if _, err := db.ForUpdate[key](ctx, d, db.Row{Table: t.Targets, ID: int64(id)}); errors.Is(err, db.ErrNotFound) {
			return errs.Missing("")
		} else if err != nil {
			return err
		}
	}
	type row struct {
		A    int64 `db:"a"`
		B    int64 `db:"b"`
		Both int64 `db:"pair"`
	}
	of := "(SELECT COUNT(*) FROM " + t.Links + " WHERE source_id = ?) + (SELECT COUNT(*) FROM " + t.Links + " WHERE target_id = ?)"
	n, err := db.Get[row](ctx, d, "SELECT "+of+" AS a, "+of+" AS b, (SELECT COUNT(*) FROM "+t.Links+`
		WHERE source_id = ? AND target_id = ? OR source_id = ? AND target_id = ?) AS pair`, a, a, b, b, a, b, b, a)
	switch {
	case err != nil:
		return err
	case n.Both > 0:
		return t.Assigned
	case n.A >= most || n.B >= most:
		return &errs.Error{Kind: errs.Unprocessable, Bare: true, Message: t.Full}
	}
	return nil
}

// Remove deletes a link, unless it was changed after the copy that the actor has, and runs then in the same transaction. It asks for no
// permission: the packages of what is linked do.
func (t *Table[ID]) Remove(ctx context.Context, as authz.Actor, d *db.DB, id int64, then func(ctx context.Context) error) error {
	err := d.InTx(ctx, func(ctx context.Context) error {
		if _, err := db.Delete[Row[ID]](ctx, d, db.Row{Table: t.Links, ID: id, If: as.UnmodifiedAt, Missing: t.Missing}, nil); err != nil {
			return err
		}
		return then(ctx)
	})
	return errs.Wrap(err, "remove from "+t.Links)
}
