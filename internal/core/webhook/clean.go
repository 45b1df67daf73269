package webhook

import (
	"context"
	"fmt"
	"math"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
)

const (
	// piece is how many attempts are deleted at a time, so that others write in between.
	piece = 100

	// hookShare is the part of the limit of all logs that one hook may have.
	hookShare = 16

	// all is more bytes than there are.
	all = math.MaxInt64

	cleanSoon  = time.Minute // after a call
	cleanLater = time.Hour   // while there are attempts
)

// cleanLog is the job that deletes attempts that are too old or too many, and bodies that nothing names.
type cleanLog struct{}

// Kind names the job.
func (cleanLog) Kind() string { return "clean_hook_log" }

// cleanAfterCalls has the log cleaned soon. It asks for that once a minute in this process.
func (s *Service) cleanAfterCalls(ctx context.Context) error {
	now := s.Now()
	last := s.cleaned.Load()
	if now.UnixNano()-last < int64(cleanSoon) || !s.cleaned.CompareAndSwap(last, now.UnixNano()) {
		return nil
	}
	return s.Jobs.Enqueue(ctx, cleanLog{}, job.At(now.Add(cleanSoon)))
}

// clean does the job. It comes again while there are attempts.
func (s *Service) clean(ctx context.Context, _ cleanLog) error {
	old := db.At(s.Now().Add(-keptFor))
	for {
		cut, err := s.deleteAttempts(ctx, all, "t.created_at < ? ORDER BY t.created_at, t.id", old)
		if err != nil {
			return err
		}
		if cut.attempts == 0 {
			break
		}
	}
	if err := s.deleteBodies(ctx, old); err != nil {
		return err
	}
	if err := s.shrink(ctx, s.Settings.Current().WebhookLogSizeLimit); err != nil {
		return err
	}
	left, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM webhook_bodies)")
	if err != nil || !left {
		return err
	}
	return s.Jobs.Enqueue(ctx, cleanLog{}, job.At(s.Now().Add(cleanLater)))
}

// shrink deletes the oldest attempts of hooks, and of all, that have more bytes than the limit.
func (s *Service) shrink(ctx context.Context, limit int64) error {
	if limit <= 0 {
		return nil
	}
	large, err := db.Select[ID](ctx, s.DB, "SELECT h.id FROM webhooks h WHERE h.log_bytes > ? ORDER BY h.id", limit/hookShare)
	if err != nil {
		return fmt.Errorf("logs of webhooks: %w", err)
	}
	for _, id := range large {
		for after := int64(0); ; {
			bytes, err := db.Get[int64](ctx, s.DB, "SELECT COALESCE(MAX(h.log_bytes), 0) FROM webhooks h WHERE h.id = ?", id)
			if err != nil {
				return fmt.Errorf("log of webhook: %w", err)
			}
			if bytes <= limit/hookShare {
				break
			}
			cut, err := s.deleteAttempts(ctx, bytes-limit/hookShare, "t.webhook_id = ? AND t.id > ? ORDER BY t.id", id, after)
			if err != nil {
				return err
			}
			if cut.attempts == 0 {
				break
			}
			after = cut.last
		}
	}
	for {
		over, err := s.over(ctx, limit)
		if err != nil || over <= 0 {
			return err
		}
		for over > 0 {
			cut, err := s.deleteAttempts(ctx, over, "1 = 1 ORDER BY t.created_at, t.id")
			if err != nil {
				return err
			}
			if cut.attempts == 0 {
				return s.deleteBodies(ctx, db.At(s.Now()))
			}
			over -= cut.bytes
		}
	}
}

// over is by how many bytes all logs together are larger than the limit, 0 or less where they are not. What the hooks count is no less, because each counts the bodies
// that it shares with others.
func (s *Service) over(ctx context.Context, limit int64) (int64, error) {
	counted, err := db.Get[int64](ctx, s.DB, "SELECT CAST(COALESCE(SUM(h.log_bytes), 0) AS BIGINT) FROM webhooks h")
	if err != nil || counted <= limit {
		return 0, err
	}
	bytes, err := db.Get[int64](ctx, s.DB, `SELECT CAST(COALESCE((SELECT SUM(t.bytes) FROM webhook_attempts t), 0) + COALESCE((SELECT SUM(b.bytes) FROM webhook_bodies b), 0) AS BIGINT)`)
	if err != nil {
		return 0, fmt.Errorf("size of the logs of webhooks: %w", err)
	}
	return bytes - limit, nil
}

// used is an attempt that may be deleted.
type used struct {
	ID     int64 `db:"id"`
	HookID ID    `db:"webhook_id"`
	BodyID int64 `db:"body_id"`
	Bytes  int64 `db:"bytes"` // with those of its body
}

// deleted is what has been deleted.
type deleted struct {
	attempts int
	bytes    int64 // with those of bodies, which others may name
	last     int64 // the id of the last attempt
}

// deleteAttempts deletes a piece of the attempts that a condition selects, but for those whose delivery waits for its repeat, with the
// bodies that no other names. It stops after so many bytes.
func (s *Service) deleteAttempts(ctx context.Context, most int64, cond string, args ...any) (deleted, error) {
	rows, err := db.Select[used](ctx, s.DB, `SELECT t.id, t.webhook_id, t.body_id, t.bytes + b.bytes AS bytes FROM webhook_attempts t JOIN webhook_bodies b ON b.id = t.body_id
		WHERE NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.body_id = t.body_id AND d.webhook_id = t.webhook_id) AND `+cond+" LIMIT ?", append(args, piece)...)
	if err != nil {
		return deleted{}, fmt.Errorf("old attempts: %w", err)
	}
	if len(rows) == 0 {
		return deleted{}, nil
	}
	bytes := map[ID]int64{}
	var ids, bodies []int64
	var out deleted
	for i, r := range rows {
		if out.bytes >= most {
			rows = rows[:i]
			break
		}
		out = deleted{i + 1, out.bytes + r.Bytes, r.ID}
		bytes[r.HookID] += r.Bytes
		ids, bodies = append(ids, r.ID), append(bodies, r.BodyID)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		for _, r := range rows {
			if n := bytes[r.HookID]; n > 0 {
				bytes[r.HookID] = 0
				if _, err := s.DB.Exec(ctx, "UPDATE webhooks SET log_bytes = log_bytes - ? WHERE id = ?", n, r.HookID); err != nil {
					return err
				}
			}
		}
		var w db.Where
		w.In("id", ids)
		if _, err := s.DB.Exec(ctx, "DELETE FROM webhook_attempts"+w.SQL(), w.Args()...); err != nil {
			return err
		}
		return s.deleteUnnamed(ctx, bodies)
	})
	if err != nil {
		return deleted{}, fmt.Errorf("delete attempts: %w", err)
	}
	return out, nil
}

// deleteLog deletes the attempts of a hook in pieces.
func (s *Service) deleteLog(ctx context.Context, id ID) error {
	for after := int64(0); ; {
		cut, err := s.deleteAttempts(ctx, all, "t.webhook_id = ? AND t.id > ? ORDER BY t.id", id, after)
		if err != nil || cut.attempts == 0 {
			return err
		}
		after = cut.last
	}
}

// Empty is part of project.Emptier: it deletes what the hooks of a group or project wait for, and their logs, in pieces.
func (s *Service) Empty(ctx context.Context, of authz.NamespaceID) error {
	hooks, err := db.Select[ID](ctx, s.DB, "SELECT h.id FROM webhooks h WHERE h.namespace_id = ? ORDER BY h.id", of)
	if err != nil {
		return fmt.Errorf("hooks of a place: %w", err)
	}
	for _, id := range hooks {
		for cut := int64(piece); cut == piece; {
			if cut, err = s.deleteDeliveries(ctx, id); err != nil {
				return fmt.Errorf("delete deliveries: %w", err)
			}
		}
		if err := s.deleteLog(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// deleteDeliveries deletes a piece of what a hook waits for.
func (s *Service) deleteDeliveries(ctx context.Context, id ID) (cut int64, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context) (err error) {
		cut, err = s.DB.Exec(ctx, `DELETE FROM webhook_deliveries WHERE id IN
			(SELECT d.id FROM webhook_deliveries d WHERE d.webhook_id = ? ORDER BY d.due_at, d.id LIMIT ?)`, id, piece)
		return err
	})
	return cut, err
}

// deleteUnnamed deletes those of some bodies that no delivery and no attempt names.
func (s *Service) deleteUnnamed(ctx context.Context, ids []int64) error {
	var w db.Where
	w.In("id", ids)
	w.Raw("NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.body_id = webhook_bodies.id)")
	w.Raw("NOT EXISTS (SELECT 1 FROM webhook_attempts t WHERE t.body_id = webhook_bodies.id)")
	_, err := s.DB.Exec(ctx, "DELETE FROM webhook_bodies"+w.SQL(), w.Args()...)
	return err
}

// deleteBodies deletes the bodies from before a time that nothing names, because their hooks were deleted.
func (s *Service) deleteBodies(ctx context.Context, before db.Time) error {
	for last := int64(0); ; {
		ids, err := db.Select[int64](ctx, s.DB, "SELECT b.id FROM webhook_bodies b WHERE b.created_at < ? AND b.id > ? ORDER BY b.id LIMIT ?", before, last, piece)
		if err != nil {
			return fmt.Errorf("old bodies: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.deleteUnnamed(ctx, ids) }); err != nil {
			return fmt.Errorf("delete bodies: %w", err)
		}
		last = ids[len(ids)-1]
	}
}
