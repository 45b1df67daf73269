package ci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

const (
	maxLog   = 100 << 20 // bytes of a log
	maxPiece = 4 << 20   // bytes that come at once
)

// RangeError says that a piece of a log does not begin where the log ends.
type RangeError struct{ Size int64 } // bytes that are there

func (e *RangeError) Error() string {
	return "piece of log begins at another place than byte " + strconv.FormatInt(e.Size, 10)
}

// MaxPiece is how many bytes of a log may come at once.
const MaxPiece = maxPiece

// Append adds a piece to the log of a job, which begins at a byte of the whole, and returns how many bytes the log has then. A piece that begins
// anywhere but at the end is a *RangeError. Above 100 MB the job fails.
func (s *Service) Append(ctx context.Context, h *AuthenticatedJob, start int64, data []byte) (int64, State, error) {
	if start != h.LogSize {
		return h.LogSize, h.State, &RangeError{h.LogSize}
	}
	if len(data) == 0 {
		return h.LogSize, h.State, nil
	}
	if start+int64(len(data)) > maxLog {
		j, err := s.change(ctx, actorOf(h.Job), h.project, h.pipeline, h.ID, func(_ context.Context, j *Job) error {
			if j.State == Running {
				j.fail(LogTooLarge, s)
			}
			return nil
		})
		if err != nil {
			return h.LogSize, h.State, err
		}
		return h.LogSize, j.State, nil
	}
	size, state := int64(0), h.State
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		now := db.At(s.Now())
		out, err := db.Update(ctx, s.DB, jobRow(h.ID), func(_ context.Context, b *Build) error {
			if b.LogSize != start || b.LogKey != nil {
				return &RangeError{b.LogSize}
			}
			b.LogSize += int64(len(data))
			b.ContactedAt = &now
			return nil
		})
		if err != nil {
			return err
		}
		size = out.After.LogSize
		_, err = db.InsertRow(ctx, s.DB, "job_log_pieces", db.Values{"job_id": h.ID, "start": start, "data": data}, "")
		return err
	})
	var moved *RangeError
	if errors.As(err, &moved) {
		return moved.Size, h.State, moved
	}
	if err != nil {
		return h.LogSize, h.State, fmt.Errorf("append to log: %w", err)
	}
	return size, state, nil
}

// Log opens the log of a job as it is now. Close it. It requires the right to read jobs of the project.
func (s *Service) Log(ctx context.Context, as authz.Actor, p *project.Project, id StatusID) (*Log, error) {
	j, _, err := s.FindJob(ctx, as, p, id)
	if err != nil {
		return nil, err
	}
	if as.SignedIn() {
		s.watched.Note(id, s.Now())
	}
	return s.openLog(ctx, j)
}

// watchedFor is how long a runner sends the log more often after a user has read it.
const watchedFor = time.Minute

// Watched reports whether a user reads the log of a job at the moment.
func (s *Service) Watched(id StatusID) bool {
	at, ok := s.watched.Last(id)
	return ok && s.Now().Sub(at) < watchedFor
}

// Log is the log of a job, from its first byte or from wherever it was sought to.
type Log struct {
	io.ReadSeekCloser

	Size int64
}

// openLog opens a log that is joined, or reads the pieces of one that is not.
func (s *Service) openLog(ctx context.Context, j *Job) (*Log, error) {
	if j.LogKey != nil {
		o, err := s.Objects.Open(ctx, *j.LogKey)
		if errors.Is(err, blob.ErrNotFound) {
			return nil, errs.Missing("")
		}
		if err != nil {
			return nil, fmt.Errorf("open log: %w", err)
		}
		return &Log{ReadSeekCloser: o, Size: j.LogSize}, nil
	}
	if err := budget.Of(ctx).Hold(ctx, min(j.LogSize, window+maxPiece)); err != nil {
		return nil, err
	}
	return &Log{ReadSeekCloser: &pieces{s: s, ctx: budget.Apart(ctx), id: j.ID, size: j.LogSize}, Size: j.LogSize}, nil
}

// logEnd reads the last bytes of a log that is not joined yet.
func (s *Service) logEnd(ctx context.Context, j *Job, most int64) ([]byte, error) {
	type row struct {
		Start int64  `db:"start"`
		Data  []byte `db:"data"`
	}
	from := max(j.LogSize-most-maxPiece, 0)
	rows, err := db.Select[row](ctx, s.DB, "SELECT start, data FROM job_log_pieces WHERE job_id = ? AND start >= ? ORDER BY start", j.ID, from)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	var out []byte
	for _, r := range rows {
		out = append(out, r.Data...)
	}
	if n := int64(len(out)); n > most {
		out = out[n-most:]
	}
	return out, nil
}

// joinLog is the job that makes one object of the pieces of a log.
type joinLog struct {
	JobID StatusID `json:"job_id"`
}

// Kind names the job.
func (joinLog) Kind() string { return "join_job_log" }

// join puts the pieces of a log that has ended into one object.
func (s *Service) join(ctx context.Context, args joinLog) error {
	j, err := s.loadJob(ctx, args.JobID)
	if errors.Is(err, db.ErrNotFound) || err == nil && (!j.State.Complete() || j.LogKey != nil || j.LogSize == 0) {
		return nil
	}
	if err != nil {
		return err
	}
	key := fmt.Sprintf("jobs/%d/%d/log-%s", j.ProjectID, j.ID, blob.Random())
	if _, err := s.Objects.Put(ctx, key, &pieces{s: s, ctx: ctx, id: j.ID, size: j.LogSize}, blob.Wanted{Limit: maxLog + maxPiece}); err != nil {
		return fmt.Errorf("store log: %w", err)
	}
	kept := false
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		kept = false
		out, err := db.Update(ctx, s.DB, jobRow(j.ID), func(_ context.Context, b *Build) error {
			if b.LogKey == nil && b.LogSize == j.LogSize {
				b.LogKey = &key
			}
			return nil
		})
		if err != nil || !out.Any() {
			return err
		}
		kept = true
		_, err = s.DB.Exec(ctx, "DELETE FROM job_log_pieces WHERE job_id = ?", j.ID)
		return err
	})
	if !kept {
		s.forget(ctx, []string{key})
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("join log: %w", err)
	}
	return nil
}

// forgetLater is forget once the transaction of ctx is committed.
func (s *Service) forgetLater(ctx context.Context, keys []string) {
	s.DB.AfterCommit(ctx, func() { s.forget(context.WithoutCancel(ctx), keys) })
}

// forget deletes objects that nothing names any more. What cannot be deleted now is left to the next sweep.
func (s *Service) forget(ctx context.Context, keys []string) {
	for _, key := range keys {
		if err := s.Objects.Delete(ctx, key); err != nil && !errors.Is(err, blob.ErrNotFound) {
			s.Deps.Log.WarnContext(ctx, "delete object of job", "key", key, "error", err)
		}
	}
}
