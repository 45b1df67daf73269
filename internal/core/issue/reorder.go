package issue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// spacing is the distance of positions that are made again: issues that were created a
// microsecond apart are 1,024 apart.
const spacing = 1 << 10

// positionAt is the position of an issue that is created at a time: behind all others.
func positionAt(t time.Time) int64 { return t.UnixMicro() * spacing }

// Move says where an issue is put by hand. Where both are given, it is put between them.
type Move struct {
	After  ID // the issue that it follows; 0 for none
	Before ID // the issue that it comes before; 0 for none
}

// Reorder puts an issue beside others, in the order relative_position. The others may be in
// any project whose issues the actor may read. It requires UpdateIssue, and returns
// Unprocessable where the others are not found.
func (s *Service) Reorder(ctx context.Context, as authz.Actor, p *project.Project, iid IID, m Move) (*Issue, error) {
	i, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.UpdateIssue, i.subject(as, p)); err != nil {
		return nil, err
	}
	unknown := errs.New(errs.Unprocessable, "")
	var ids []ID
	for _, id := range []*ID{&m.After, &m.Before} {
		if *id == i.ID {
			*id = 0 // beside itself
		}
		if *id != 0 {
			ids = append(ids, *id)
		}
	}
	readable, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range []ID{m.After, m.Before} {
		if id != 0 && readable[id] == nil {
			return nil, unknown
		}
	}
	if len(ids) == 0 {
		return nil, unknown
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		at, err := s.between(ctx, p, i.ID, m)
		if err != nil {
			return err
		}
		_, err = db.Update(ctx, s.DB, s.row(as, p, i.ID).Provided(as.UnmodifiedAt), func(_ context.Context, row *Issue) error {
			row.Position = at
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reorder issue: %w", err)
	}
	return s.Find(ctx, as, p, iid)
}

// between returns the position for an issue of a project, and makes room where there is none.
func (s *Service) between(ctx context.Context, p *project.Project, id ID, m Move) (int64, error) {
	for reach := 50; ; reach *= 8 {
		low, high, err := s.gap(ctx, p, id, m)
		if err != nil {
			return 0, err
		}
		switch {
		case low == nil:
			return *high - spacing, nil
		case high == nil:
			return *low + spacing, nil
		case *high-*low > 1:
			return *low + (*high-*low)/2, nil
		case reach > maxSpread:
			return 0, errs.New(errs.Unprocessable, "")
		}
		if err := s.spread(ctx, p, *low, reach); err != nil {
			return 0, err
		}
	}
}

// maxSpread bounds the issues on each side that are moved to make room for one.
const maxSpread = 4000

// gap returns the positions that an issue of a project is put between; nil for an end.
func (s *Service) gap(ctx context.Context, p *project.Project, id ID, m Move) (low, high *int64, err error) {
	at := func(query string, args ...any) (*int64, error) {
		n, err := db.Get[int64](ctx, s.DB, query, args...)
		if errors.Is(err, db.ErrNotFound) {
			return nil, nil
		}
		return &n, err
	}
	const one = "SELECT relative_position FROM issues WHERE id = ?"
	const beside = "SELECT relative_position FROM issues WHERE project_id = ? AND id <> ? AND relative_position "
	switch {
	case m.After != 0 && m.Before != 0:
		if low, err = at(one, m.After); err == nil {
			high, err = at(one, m.Before)
		}
		if low != nil && high != nil && *low > *high {
			low, high = high, low
		}
	case m.After != 0:
		if low, err = at(one, m.After); err == nil && low != nil {
			high, err = at(beside+"> ? ORDER BY relative_position LIMIT 1", p.ID, id, *low)
		}
	default:
		if high, err = at(one, m.Before); err == nil && high != nil {
			low, err = at(beside+"< ? ORDER BY relative_position DESC LIMIT 1", p.ID, id, *high)
		}
	}
	if err == nil && low == nil && high == nil {
		err = errs.New(errs.Unprocessable, "") // deleted meanwhile
	}
	return low, high, err
}

// spread moves issues of a project at and around a position apart: those behind it are
// pushed back, as far as reach issues go.
func (s *Service) spread(ctx context.Context, p *project.Project, at int64, reach int) error {
	type row struct {
		ID       ID    `db:"id"`
		Position int64 `db:"relative_position"`
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT id, relative_position FROM issues WHERE project_id = ? AND relative_position >= ?
		ORDER BY relative_position, id LIMIT ?`, p.ID, at, reach)
	if err != nil || len(rows) == 0 {
		return err
	}
	step := int64(spacing)
	if len(rows) == reach { // the last one stays where it is
		step = (rows[reach-1].Position - at) / int64(reach)
		rows = rows[:reach-1]
	}
	if step < 4 {
		return nil // too crowded: the next try reaches further
	}
	pairs := make([]db.Pair, len(rows))
	for n, r := range rows {
		pairs[n] = db.Pair{A: int64(r.ID), B: at + int64(n)*step}
	}
	for part := range slices.Chunk(pairs, db.MaxArgs/2) {
		with, args := db.Pairs(part)
		if _, err := s.DB.Exec(ctx, with+"UPDATE issues SET relative_position = pairs.b FROM pairs WHERE pairs.a = issues.id", args...); err != nil {
			return err
		}
	}
	return nil
}
