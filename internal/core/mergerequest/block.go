package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// BlockID identifies a merge request dependency.
type BlockID int64

// Block is a merge request dependency: Blocked cannot be merged before Blocking is.
type Block struct {
	ID       BlockID
	Blocking *MergeRequest // nil where the caller may not read it
	Blocked  *MergeRequest
}

// maxBlocks bounds how many merge requests block one, and how many one blocks.
const maxBlocks = 10

// blockRow is a dependency as it is stored.
type blockRow struct {
	ID         BlockID `db:"id"`
	BlockingID ID      `db:"blocking_id"`
	BlockedID  ID      `db:"blocked_id"`
	CreatedAt  db.Time `db:"created_at"`
}

// blockRows reads dependencies (b), the oldest first.
func (s *Service) blockRows(ctx context.Context, cond string, args ...any) ([]blockRow, error) {
	rows, err := db.Select[blockRow](ctx, s.DB, "SELECT "+db.Columns[blockRow]("b")+" FROM merge_request_blocks b WHERE "+cond+" ORDER BY b.id", args...)
	if err != nil {
		return nil, fmt.Errorf("read merge request dependencies: %w", err)
	}
	return rows, nil
}

// Blocks lists the dependencies of a request: what has to be merged before it. Those that the
// actor may not read have no Blocking. It requires ReadMergeRequest.
func (s *Service) Blocks(ctx context.Context, as authz.Actor, p *project.Project, iid IID) ([]Block, error) {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	rows, err := s.blockRows(ctx, "b.blocked_id = ?", m.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids := make([]ID, len(rows))
	for i, r := range rows {
		ids[i] = r.BlockingID
	}
	found, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	out := make([]Block, len(rows))
	for i, r := range rows {
		out[i] = Block{ID: r.ID, Blocking: found[r.BlockingID], Blocked: m}
	}
	return out, nil
}

// Blockees lists the dependencies of other requests on this one, but for those that the actor
// may not read. It requires ReadMergeRequest.
func (s *Service) Blockees(ctx context.Context, as authz.Actor, p *project.Project, iid IID) ([]Block, error) {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	rows, err := s.blockRows(ctx, "b.blocking_id = ?", m.ID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids := make([]ID, len(rows))
	for i, r := range rows {
		ids[i] = r.BlockedID
	}
	found, err := s.ByIDs(ctx, as, ids)
	if err != nil {
		return nil, err
	}
	var out []Block
	for _, r := range rows {
		if blocked := found[r.BlockedID]; blocked != nil {
			out = append(out, Block{ID: r.ID, Blocking: m, Blocked: blocked})
		}
	}
	return out, nil
}

// AddBlock makes a request wait for another one to be merged, which may stand in any project
// that the actor may read. It requires UpdateMergeRequest; the other is NotFound to callers who
// may not read it. A dependency that is there is a Conflict, one that could never be met Invalid.
func (s *Service) AddBlock(ctx context.Context, as authz.Actor, p *project.Project, iid IID, blocking ID) (*Block, error) {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return nil, err
	}
	if err := s.requireOn(ctx, as, authz.UpdateMergeRequest, p, m); err != nil {
		return nil, err
	}
	found, err := s.ByIDs(ctx, as, []ID{blocking})
	if err != nil {
		return nil, err
	}
	other := found[blocking]
	if other == nil {
		return nil, errs.Missing("Merge Request")
	}
	row := blockRow{BlockingID: other.ID, BlockedID: m.ID, CreatedAt: s.stamp()}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		now, err := s.roomForBlock(ctx, m.ID, other.ID)
		if err != nil {
			return err
		}
		if err := db.Create(ctx, s.DB, "merge_request_blocks", &row); err != nil {
			return err
		}
		return s.publishBlock(ctx, as, p, m, now, func(f Fact) event.Event {
			return DependencyAdded{Fact: f, Blocking: *other}
		})
	})
	if db.Duplicate(err, "merge_request_blocks") {
		return nil, errs.New(errs.Conflict, "Block already exists")
	}
	var known *errs.Error
	if err != nil && !errors.As(err, &known) {
		err = fmt.Errorf("add merge request dependency: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if err := s.readObstacle(ctx, p, m); err != nil {
		return nil, err
	}
	return &Block{ID: row.ID, Blocking: other, Blocked: m}, nil
}

// publishBlock publishes a change of the dependencies of m, whose row is now.
func (s *Service) publishBlock(ctx context.Context, as authz.Actor, p *project.Project, m, now *MergeRequest, made func(Fact) event.Event) error {
	now.Assignees, now.Reviewers, now.Labels = m.Assignees, m.Reviewers, m.Labels
	return s.Bus.Publish(ctx, made(s.changed(as, p, now, now)))
}

// roomForBlock locks both requests, the one with the smaller id first, and refuses a dependency
// that is one too many, or with which requests would wait for each other. It returns the row of
// the blocked one.
func (s *Service) roomForBlock(ctx context.Context, blocked, blocking ID) (*MergeRequest, error) {
	var now *MergeRequest
	for _, id := range slices.Compact([]ID{min(blocked, blocking), max(blocked, blocking)}) {
		m, err := db.ForUpdate[MergeRequest](ctx, s.DB, s.row(id))
		if errors.Is(err, db.ErrNotFound) {
			return nil, errs.Missing("Merge Request")
		}
		if err != nil {
			return nil, err
		}
		if id == blocked {
			now = &m
		}
	}
	circle, err := db.Get[bool](ctx, s.DB, `WITH RECURSIVE ahead (id) AS (
			SELECT m.id FROM merge_requests m WHERE m.id = ?
			UNION SELECT b.blocking_id FROM merge_request_blocks b JOIN ahead ON b.blocked_id = ahead.id)
		SELECT EXISTS (SELECT 1 FROM ahead WHERE ahead.id = ?)`, blocking, blocked)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look for circle of dependencies: %w", err)
	case blocked == blocking:
		return nil, errs.Plain("A merge request cannot block itself")
	case circle:
		return nil, errs.Plain("Merge requests cannot block each other")
	}
	type row struct {
		Blocking int64 `db:"blocking"`
		Blocked  int64 `db:"blocked"`
	}
	n, err := db.Get[row](ctx, s.DB, `SELECT (SELECT COUNT(*) FROM merge_request_blocks b WHERE b.blocked_id = ? AND b.blocking_id <> ?) AS blocking,
		(SELECT COUNT(*) FROM merge_request_blocks b WHERE b.blocking_id = ? AND b.blocked_id <> ?) AS blocked`, blocked, blocking, blocking, blocked)
	switch {
	case err != nil:
		return nil, fmt.Errorf("count merge request dependencies: %w", err)
	case n.Blocking >= maxBlocks:
		return nil, errs.Plain(fmt.Sprintf("A merge request can be blocked by at most %d merge requests", maxBlocks))
	case n.Blocked >= maxBlocks:
		return nil, errs.Plain(fmt.Sprintf("A merge request can block at most %d merge requests", maxBlocks))
	}
	return now, nil
}

// RemoveBlock takes a dependency of a request away. It requires UpdateMergeRequest, and the
// right to read the blocking one.
func (s *Service) RemoveBlock(ctx context.Context, as authz.Actor, p *project.Project, iid IID, id BlockID) error {
	m, err := s.Find(ctx, as, p, iid)
	if err != nil {
		return err
	}
	if err := s.requireOn(ctx, as, authz.UpdateMergeRequest, p, m); err != nil {
		return err
	}
	rows, err := s.blockRows(ctx, "b.id = ? AND b.blocked_id = ?", id, m.ID)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return errs.Missing("")
	}
	found, err := s.ByIDs(ctx, as, []ID{rows[0].BlockingID})
	if err != nil {
		return err
	}
	other := found[rows[0].BlockingID]
	if other == nil {
		return errs.Denied("") // the caller knows already that it is there
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		now, err := db.ForUpdate[MergeRequest](ctx, s.DB, s.row(m.ID))
		if errors.Is(err, db.ErrNotFound) {
			return errs.Missing("")
		}
		if err != nil {
			return err
		}
		row := db.Row{Table: "merge_request_blocks", ID: id, If: as.UnmodifiedAt, Missing: errs.Missing("")}
		if _, err := db.Delete[blockRow](ctx, s.DB, row, nil); err != nil {
			return err
		}
		if err := s.publishBlock(ctx, as, p, m, &now, func(f Fact) event.Event { return DependencyRemoved{Fact: f, Blocking: *other} }); err != nil {
			return err
		}
		return s.Unblock(ctx, m.ID)
	})
	var known *errs.Error
	if err != nil && !errors.As(err, &known) {
		err = fmt.Errorf("remove merge request dependency: %w", err)
	}
	return err
}

// readBlockers fills Blockers of one request.
func (s *Service) readBlockers(ctx context.Context, m *MergeRequest) error {
	n, err := db.Get[int64](ctx, s.DB, `SELECT COUNT(*) FROM merge_request_blocks b
		JOIN merge_requests o ON o.id = b.blocking_id AND o.state <> 'merged' WHERE b.blocked_id = ?`, m.ID)
	if err != nil {
		return fmt.Errorf("count blocking merge requests: %w", err)
	}
	m.Blockers = n
	return nil
}

// blockedBy returns the requests that wait for one to be merged.
func (s *Service) blockedBy(ctx context.Context, id ID) ([]ID, error) {
	ids, err := db.Select[ID](ctx, s.DB, "SELECT b.blocked_id FROM merge_request_blocks b WHERE b.blocking_id = ? ORDER BY b.id", id)
	if err != nil {
		return nil, fmt.Errorf("read blocked merge requests: %w", err)
	}
	return ids, nil
}

// release has those requests merged that are set to merge by themselves and have one blocking
// request less, in the caller's transaction.
func (s *Service) release(ctx context.Context, ids []ID) error {
	for _, id := range ids {
		if err := s.Unblock(ctx, id); err != nil && !errs.Is(err, errs.NotFound) {
			return err
		}
	}
	return nil
}

// OnProjectDeleted ends the dependencies on merge requests of a project that is gone.
func (s *Service) OnProjectDeleted(ctx context.Context, e project.Deleted) error {
	const inside = "FROM merge_request_blocks b JOIN merge_requests o ON o.id = b.blocking_id WHERE o.target_project_id = ?"
	ids, err := db.Select[ID](ctx, s.DB, `SELECT m.id FROM merge_requests m WHERE m.merge_when_pipeline_succeeds AND m.target_project_id <> ?
		AND m.id IN (SELECT b.blocked_id `+inside+") ORDER BY m.id", e.Row().ID, e.Row().ID)
	if err != nil {
		return fmt.Errorf("read merge requests blocked from a deleted project: %w", err)
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM merge_request_blocks WHERE id IN (SELECT b.id "+inside+")", e.Row().ID); err != nil {
		return fmt.Errorf("end dependencies on a deleted project: %w", err)
	}
	return s.release(ctx, ids)
}
