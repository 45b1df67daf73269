package job_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/job"
)

// TestSave brings jobs that wait into another queue: one that is due, one that failed once,
// one for later, and a unique one. What is done does not come along.
func TestSave(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		var r job.Registry
		fails := true
		job.Register(&r, func(ctx context.Context, m mail) error {
			if fails && m.To == "failed" {
				return errors.New("not yet")
			}
			return did(d, func(m mail) string { return m.To })(ctx, m)
		})
		job.Register(&r, did(d, func(c check) string { return c.Branch }), job.Unique())
		q := queue(t, d, &r, nil)
		enqueue := func(args job.Args, options ...job.Option) {
			t.Helper()
			if err := q.Enqueue(t.Context(), args, options...); err != nil {
				t.Fatal(err)
			}
		}
		enqueue(mail{"done"})
		enqueue(mail{"failed"})
		_ = q.Drain(t.Context()) // one fails
		enqueue(mail{"due"})
		enqueue(mail{"later"}, job.At(time.Now().Add(time.Hour)))
		enqueue(check{"main", "why"})
		var saved []job.Saved
		if err := d.Snapshot(t.Context(), func(ctx context.Context) error {
			return job.Save(ctx, d, func(s job.Saved) error {
				var args bytes.Buffer
				if err := json.Compact(&args, s.Args); err != nil {
					return err
				}
				s.Args = args.Bytes()
				saved = append(saved, s)
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		if len(saved) != 4 || saved[0].Kind != "mail" || string(saved[0].Args) != `{"to":"failed"}` || time.Until(saved[2].Due) < 50*time.Minute {
			t.Fatalf("got %+v", saved)
		}
		fails = false
		for _, query := range []string{"DELETE FROM river_job", "DELETE FROM done"} {
			if _, err := d.Exec(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		saved[0].Due = time.Now()
		unknown, err := q.Resume(t.Context(), append(saved, job.Saved{Kind: "gone", Args: json.RawMessage("{}")}))
		if err != nil || !slices.Equal(unknown, []string{"gone"}) {
			t.Errorf("got %v, %v", unknown, err)
		}
		enqueue(check{"main", "another reason"}) // the same one, which waits
		drain(t, q)
		if got := done(t, d); got != "due failed main" {
			t.Errorf("got %q", got)
		}
		waiting, err := job.Waiting[mail](t.Context(), d)
		if err != nil || !slices.Equal(waiting, []mail{{"later"}}) {
			t.Errorf("got %v, %v", waiting, err)
		}
		if _, err := q.Resume(t.Context(), []job.Saved{{Kind: "mail", Args: json.RawMessage(`[]`)}}); err == nil {
			t.Error("arguments of another kind were taken")
		}
	})
}
