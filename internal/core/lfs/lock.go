package lfs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Lock says that one user alone may change a path.
type Lock struct {
	ID        int64        `db:"id"`
	ProjectID project.ID   `db:"project_id"`
	UserID    authz.UserID `db:"user_id"`
	Path      string       `db:"path"`
	LockedAt  db.Time      `db:"locked_at"`
}

// LockFilter selects locks; zero values select all.
type LockFilter struct {
	ID    int64
	Path  string
	After int64 // only those whose id is larger
	Limit int   // 0 is the most there may be
}

// MaxLocks is how many locks one answer holds at most.
const MaxLocks = 100

// LockExists is the cause of the Conflict where a path is locked already.
type LockExists struct{ Lock Lock }

// Error says so.
func (e *LockExists) Error() string { return "already locked" }

const maxLockPath = 4096

// Lock locks a path for the actor, who must be a user that may push.
func (s *Service) Lock(ctx context.Context, as authz.Actor, p *project.Project, at string) (*Lock, error) {
	if err := s.mayLock(ctx, as, p); err != nil {
		return nil, err
	}
	if len(at) > maxLockPath || !gitstore.ValidPath(at) {
		return nil, errs.New(errs.Unprocessable, "Invalid path")
	}
	lock := Lock{ProjectID: p.ID, UserID: as.UserID, Path: at, LockedAt: db.At(s.Now())}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		there, err := db.Select[Lock](ctx, s.DB, "SELECT "+db.Columns[Lock]("")+" FROM lfs_locks WHERE project_id = ? AND path = ?", p.ID, at)
		if err != nil {
			return err
		}
		if len(there) > 0 {
			return locked(there[0])
		}
		return db.Create(ctx, s.DB, "lfs_locks", &lock)
	})
	if db.Duplicate(err, "lfs_locks") { // another request was first
		var there []Lock
		again := s.DB.InTx(ctx, func(ctx context.Context) error {
			var err error
			there, err = s.locks(ctx, p.ID, LockFilter{Path: at})
			return err
		})
		if again != nil || len(there) == 0 {
			return nil, errors.Join(err, again)
		}
		return nil, locked(there[0])
	}
	if err != nil {
		return nil, fmt.Errorf("lock path: %w", err)
	}
	return &lock, nil
}

func locked(l Lock) error {
	return &errs.Error{Kind: errs.Conflict, Message: "already locked", Err: &LockExists{l}}
}

// mayLock asks for the right to lock, which users have and deploy keys have not.
func (s *Service) mayLock(ctx context.Context, as authz.Actor, p *project.Project) error {
	if err := s.Require(ctx, as, p, Upload); err != nil {
		return err
	}
	if !as.SignedIn() {
		return errs.Denied(textForbidden)
	}
	return nil
}

// Locks lists locks in the order they were made, to callers who may download.
func (s *Service) Locks(ctx context.Context, as authz.Actor, p *project.Project, f LockFilter) ([]Lock, error) {
	if err := s.Require(ctx, as, p, Download); err != nil {
		return nil, err
	}
	return s.locks(ctx, p.ID, f)
}

// VerifyLocks is Locks for callers who may push, to tell its own from those of others.
func (s *Service) VerifyLocks(ctx context.Context, as authz.Actor, p *project.Project, f LockFilter) ([]Lock, error) {
	if err := s.Require(ctx, as, p, Upload); err != nil {
		return nil, err
	}
	return s.locks(ctx, p.ID, f)
}

func (s *Service) locks(ctx context.Context, id project.ID, f LockFilter) ([]Lock, error) {
	if f.Path != "" && !gitstore.ValidPath(f.Path) {
		return nil, nil // no user could lock it
	}
	var w db.Where
	w.And("project_id = ?", id)
	w.And("id > ?", f.After)
	if f.ID != 0 {
		w.And("id = ?", f.ID)
	}
	if f.Path != "" {
		w.And("path = ?", f.Path)
	}
	limit := f.Limit
	if limit <= 0 || limit > MaxLocks {
		limit = MaxLocks
	}
	out, err := db.Select[Lock](ctx, s.DB, "SELECT "+db.Columns[Lock]("")+" FROM lfs_locks"+w.SQL()+" ORDER BY id LIMIT ?", append(w.Args(), limit)...)
	if err != nil {
		return nil, fmt.Errorf("list locks: %w", err)
	}
	return out, nil
}

// Unlock removes a lock of the actor's own; with force, which needs a maintainer, also
// one of another user.
func (s *Service) Unlock(ctx context.Context, as authz.Actor, p *project.Project, id int64, force Force) (*Lock, error) {
	if err := s.mayLock(ctx, as, p); err != nil {
		return nil, err
	}
	found, err := s.locks(ctx, p.ID, LockFilter{ID: id})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errs.Missing("Lock")
	}
	lock := found[0]
	if !as.Is(lock.UserID) {
		if force != ByForce {
			return nil, errs.Denied(fmt.Sprintf("%q is locked by another user", lock.Path))
		}
		if err := s.Policy.Require(ctx, as, authz.ForceUnlock, p.Subject()); errs.Is(err, errs.Forbidden) {
			return nil, errs.Denied("You must have maintainer access to force delete a lock")
		} else if err != nil {
			return nil, err
		}
	}
	if _, err := db.Drop(ctx, s.DB, db.Row{Table: "lfs_locks", ID: lock.ID}); err != nil {
		return nil, fmt.Errorf("unlock path: %w", err)
	}
	return &lock, nil
}

// Force says whether locks of others go too.
type Force bool

// The two ways to unlock.
const (
	OwnOnly Force = false
	ByForce Force = true
)

// LockedByOthers returns who has locked which paths against the actor, "" for none; among
// many it is the first of the paths. It asks for no permission.
func (s *Service) LockedByOthers(ctx context.Context, as authz.Actor, id project.ID, paths []string) (at, owner string, err error) {
	type row struct {
		Path string `db:"path"`
		Name string `db:"name"`
	}
	for chunk := range slices.Chunk(paths, db.MaxArgs) {
		var w db.Where
		w.And("l.project_id = ?", id)
		w.And("l.user_id <> ?", as.UserID)
		w.In("l.path", chunk)
		rows, err := db.Select[row](ctx, s.DB, "SELECT l.path, u.name FROM lfs_locks l JOIN users u ON u.id = l.user_id"+w.SQL()+
			" ORDER BY l.path LIMIT 1", w.Args()...)
		if err != nil {
			return "", "", fmt.Errorf("look for locks: %w", err)
		}
		if len(rows) > 0 {
			return rows[0].Path, rows[0].Name, nil
		}
	}
	return "", "", nil
}

// Restrains reports whether anybody but the actor has locked anything in the project. It
// asks for no permission.
func (s *Service) Restrains(ctx context.Context, as authz.Actor, id project.ID) (bool, error) {
	others, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM lfs_locks WHERE project_id = ? AND user_id <> ?)", id, as.UserID)
	if err != nil {
		return false, fmt.Errorf("look for locks: %w", err)
	}
	return others, nil
}
