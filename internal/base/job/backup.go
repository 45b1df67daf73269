package job

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tenon/internal/base/db"
)

// Saved is a job that is not done yet, as a backup has it: what it is about and when it is
// due. How often it was tried is left out, so that it gets all its attempts again.
type Saved struct {
	Kind string          `json:"kind"`
	Args json.RawMessage `json:"args"`
	Due  time.Time       `json:"due"`
}

// Save hands all jobs that are not done yet to fn, in the order in which they were enqueued.
// A job that runs is among them: it is done again.
func Save(ctx context.Context, d *db.DB, fn func(s Saved) error) error {
	type row struct {
		ID   int64   `db:"id"`
		Kind string  `db:"kind"`
		Args string  `db:"args"`
		Due  db.Time `db:"scheduled_at"`
	}
	const page = 500
	for last := int64(0); ; {
		rows, err := db.Select[row](ctx, d, `SELECT id, kind, CAST(args AS TEXT) AS args, scheduled_at FROM river_job
			WHERE id > ? AND state NOT IN ('completed', 'cancelled', 'discarded') ORDER BY id LIMIT ?`, last, page)
		if err != nil {
			return fmt.Errorf("save jobs: %w", err)
		}
		for _, r := range rows {
			args, err := unpack([]byte(r.Args))
			if err != nil {
				return fmt.Errorf("save job of kind %s: %w", r.Kind, err)
			}
			if err := fn(Saved{r.Kind, json.RawMessage(args), r.Due.Time}); err != nil {
				return err
			}
			last = r.ID
		}
		if len(rows) < page {
			return ctx.Err()
		}
	}
}

// Resume enqueues saved jobs, with the options that their kinds have now. Kinds that are not
// registered any more are left out and named.
func (q *Queue) Resume(ctx context.Context, jobs []Saved) (unknown []string, err error) {
	now := time.Now()
	err = q.d.InTx(ctx, func(ctx context.Context) error {
		unknown = nil
		for _, j := range jobs {
			read, ok := q.registry.readers[j.Kind]
			if !ok {
				unknown = append(unknown, j.Kind)
				continue
			}
			args, err := read(j.Args)
			if err != nil {
				return fmt.Errorf("read job of kind %s: %w", j.Kind, err)
			}
			var options []Option
			if j.Due.After(now) {
				options = append(options, At(j.Due))
			}
			if err := q.Enqueue(ctx, args, options...); err != nil {
				return err
			}
		}
		return nil
	})
	return unknown, err
}
