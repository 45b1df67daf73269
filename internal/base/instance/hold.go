package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tenon/internal/base/db"
)

// lockName is the lock that the server of a database holds.
const lockName = "tenon server"

// Times of a lock on a database.
const (
	takeEvery = 50 * time.Millisecond // while a server that was killed is still there for the database
	againWait = time.Second           // between attempts to take a lost lock again
)

// Hold keeps other servers off a database until Close.
type Hold struct {
	d    *db.DB
	by   Server
	name string // of the database, as it may be printed
	log  *slog.Logger

	mu   sync.Mutex
	lock *db.SessionLock
}

// Take keeps other servers off a database that is printed as name. Where another server has
// it for longer than patience, the error names that server.
func Take(ctx context.Context, d *db.DB, by Server, name string, patience time.Duration, log *slog.Logger) (*Hold, error) {
	h := &Hold{d: d, by: by, name: name, log: log}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		lock, err := d.LockSession(ctx, lockName)
		if err == nil {
			h.lock = lock
			return h, nil
		}
		if !errors.Is(err, db.ErrLocked) {
			return nil, fmt.Errorf("keep other servers off the database: %w", err)
		}
		if err := pause(ctx, takeEvery); err != nil {
			return nil, err
		}
		select {
		case <-deadline.C:
			_, err := h.taken(ctx)
			return nil, err
		default:
		}
	}
}

// taken returns the server that has the database, and the refusal that names it.
func (h *Hold) taken(ctx context.Context) (*Server, error) {
	row, err := Find(ctx, h.d)
	if err != nil {
		return nil, err
	}
	other := row.Holder()
	who := "another server"
	if other != nil {
		who = "another server, " + other.String() + ","
	}
	return other, fmt.Errorf("%s uses the database %s: stop that one, or name another database with --database", who, h.name)
}

// Watch waits for the loss of the lock, which comes with the loss of its connection, and takes
// it again. It fails where another server took it meanwhile, and returns nil when ctx ends.
func (h *Hold) Watch(ctx context.Context) error {
	for {
		err := h.lock.Wait(ctx) // only Watch replaces it
		if ctx.Err() != nil {
			return nil
		}
		h.log.Warn("lost the lock on the database with its connection, taking it again", "error", err)
		if err := h.again(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		h.log.Info("took the lock on the database again")
	}
}

// again takes a lost lock. The session that had it may be there for the database a while.
func (h *Hold) again(ctx context.Context) error {
	for {
		lock, err := h.d.LockSession(ctx, lockName)
		if err == nil {
			h.mu.Lock()
			h.lock = lock
			h.mu.Unlock()
			if err := note(ctx, h.d, h.by); err != nil {
				h.log.Warn("note which server uses the database", "error", err)
			}
			return nil
		}
		if errors.Is(err, db.ErrLocked) {
			other, err := h.taken(ctx)
			if other != nil && !other.same(h.by) {
				return fmt.Errorf("the connection that kept other servers off the database was lost: %w", err)
			}
		}
		if pause(ctx, againWait) != nil {
			return nil
		}
	}
}

// Close lets other servers have the database.
func (h *Hold) Close(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lock.Close(ctx)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
