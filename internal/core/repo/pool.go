package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/project"
)

// PoolLeaving is the job that makes the repository of a project independent of its pool.
type PoolLeaving struct {
	ProjectID project.ID `json:"project_id"`
}

// Kind names the job.
func (PoolLeaving) Kind() string { return "pool_leave" }

// PoolSweep is the job that removes the pools that no user needs.
type PoolSweep struct{}

// Kind names the job.
func (PoolSweep) Kind() string { return "pools_sweep" }

type poolID int64

// poolPath returns a pool's place below the root of repositories.
func poolPath(id poolID) string {
	sum := sha256.Sum256([]byte("pool " + strconv.FormatInt(int64(id), 10)))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(poolFolder, name[:2], name[2:4], name+".git")
}

const poolFolder = "@pools"

// errPoolBusy says that another fork makes the pool at this moment.
var errPoolBusy = errors.New("the pool is being made")

// joinPool links a fork to the pool of its source's forks, which the first of them makes;
// errPoolBusy while it does. What the source gets later never comes into the pool: a user who
// reads a fork may not be allowed to read the source any more.
func (s *Service) joinPool(ctx context.Context, fork, source *project.Project, to, from *gitcmd.Repo) error {
	id, err := s.member(ctx, fork.ID, source.ID)
	if err != nil {
		return err
	}
	pool := s.Git.Repo(poolPath(id))
	if err := s.makePool(ctx, id, pool, from); err != nil {
		return err
	}
	return to.Link(ctx, pool)
}

// makePool makes the repository of a pool that has none. A pool appears whole, so that
// no caller waits for one that is there.
func (s *Service) makePool(ctx context.Context, id poolID, pool, from *gitcmd.Repo) error {
	if pool.Exists() {
		return nil
	}
	unlock, ok := s.locks.try(lockKey{project.ID(id), "\x00pool"})
	if !ok {
		return errPoolBusy
	}
	defer unlock()
	if pool.Exists() {
		return nil
	}
	return pool.Pool(ctx, from)
}

// member records that a fork belongs to a pool: the one it has joined already, that of
// its source's forks, the one that its source has joined, or a new one.
func (s *Service) member(ctx context.Context, fork, source project.ID) (poolID, error) {
	var id poolID
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		id, err = db.Get[poolID](ctx, s.DB, `SELECT x.id FROM (
				SELECT m.pool_id AS id, 1 AS place FROM pool_members m WHERE m.project_id = ?
				UNION ALL SELECT p.id, 2 FROM pools p WHERE p.source_project_id = ?
				UNION ALL SELECT m.pool_id, 3 FROM pool_members m WHERE m.project_id = ?
			) x ORDER BY x.place LIMIT 1`, fork, source, source)
		if errors.Is(err, db.ErrNotFound) {
			// Of several forks at once one makes it, and all find it.
			_, err = db.InsertRow(ctx, s.DB, "pools", db.Values{"source_project_id": source, "created_at": db.At(s.Now())}, "ON CONFLICT (source_project_id) DO NOTHING")
			if err == nil {
				id, err = db.Get[poolID](ctx, s.DB, "SELECT id FROM pools WHERE source_project_id = ?", source)
			}
		}
		if err != nil {
			return err
		}
		_, err = db.InsertRow(ctx, s.DB, "pool_members", db.Values{"project_id": fork, "pool_id": id}, "ON CONFLICT DO NOTHING")
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("join pool: %w", err)
	}
	return id, nil
}

// retirePool has no user join the pool of a source any more where a fork had to copy much
// beside it, so that the next fork makes a newer one.
func (s *Service) retirePool(ctx context.Context, fork *gitcmd.Repo, source project.ID, copied int64) error {
	pool, err := fork.Linked()
	if err != nil || pool == nil {
		return err
	}
	state, err := pool.Storage(ctx)
	if err != nil {
		return fmt.Errorf("measure pool: %w", err)
	}
	if copied <= max(bitmapFrom, state.PackBytes/2) {
		return nil
	}
	if _, err := s.DB.Exec(ctx, "UPDATE pools SET source_project_id = NULL WHERE source_project_id = ?", source); err != nil {
		return fmt.Errorf("retire pool: %w", err)
	}
	return nil
}

// LeavePool gives the repository of a project all that it borrows, and ends its
// membership of the pool.
func (s *Service) LeavePool(ctx context.Context, args PoolLeaving) error {
	defer s.locks.lock(fillLock(args.ProjectID))()
	if r := s.Git.Repo(diskPath(args.ProjectID)); r.Exists() {
		if err := r.Unlink(ctx); err != nil {
			return fmt.Errorf("leave pool: %w", err)
		}
	}
	return s.quitPool(ctx, args.ProjectID)
}

// quitPool ends a membership; the repository reads nothing of the pool any more.
func (s *Service) quitPool(ctx context.Context, id project.ID) error {
	n, err := s.DB.Exec(ctx, "DELETE FROM pool_members WHERE project_id = ?", id)
	if err != nil {
		return fmt.Errorf("leave pool: %w", err)
	}
	if n == 0 {
		return nil
	}
	return s.SweepPools(ctx, PoolSweep{})
}

// SweepPools removes the pools without members, and what crashes left of others.
func (s *Service) SweepPools(ctx context.Context, _ PoolSweep) error {
	folders, err := filepath.Glob(filepath.Join(s.Git.Repo(poolFolder).Path(), "*", "*", "*"))
	if err != nil {
		return fmt.Errorf("look for pools: %w", err)
	}
	const unused = "NOT EXISTS (SELECT 1 FROM pool_members m WHERE m.pool_id = pools.id)"
	empty, err := db.Select[poolID](ctx, s.DB, "SELECT id FROM pools WHERE "+unused+" ORDER BY id")
	if err != nil {
		return fmt.Errorf("look for pools: %w", err)
	}
	for _, id := range empty {
		// A user may join meanwhile: then the row stays.
		row := db.Row{Table: "pools", ID: id}
		row.And.And(unused)
		if _, err := db.Drop(ctx, s.DB, row); err != nil && !errors.Is(err, db.ErrReference) {
			return fmt.Errorf("remove pool: %w", err)
		}
	}
	left, err := db.Select[poolID](ctx, s.DB, "SELECT id FROM pools ORDER BY id")
	if err != nil {
		return fmt.Errorf("look for pools: %w", err)
	}
	used := make(map[string]bool, len(left))
	for _, id := range left {
		used[s.Git.Repo(poolPath(id)).Path()] = true
	}
	for _, folder := range folders {
		if used[folder] || strings.HasPrefix(filepath.Base(folder), ".") && young(folder) {
			continue
		}
		if err := s.Git.Repo(folder).Remove(ctx); err != nil {
			return fmt.Errorf("remove pool: %w", err)
		}
	}
	return nil
}

// young reports whether a process may be at work in a folder whose name begins with a dot.
func young(folder string) bool {
	info, err := os.Stat(folder)
	return err != nil || time.Since(info.ModTime()) < 24*time.Hour
}
