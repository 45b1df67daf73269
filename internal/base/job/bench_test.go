package job_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
)

const noteSchema = `
CREATE TABLE issues (id {{id}}, notes_count BIGINT NOT NULL, updated_at {{time}} NOT NULL);
CREATE TABLE notes (id {{id}}, issue_id BIGINT NOT NULL REFERENCES issues (id), author_id BIGINT NOT NULL,
	body {{text}} NOT NULL, created_at {{time}} NOT NULL, updated_at {{time}} NOT NULL);
CREATE INDEX notes_issue ON notes (issue_id, id);
CREATE TABLE events (id {{id}}, author_id BIGINT NOT NULL, note_id BIGINT NOT NULL, action {{text}} NOT NULL, created_at {{time}} NOT NULL);
CREATE INDEX events_author ON events (author_id, id);
`

type note struct {
	ID      int64     `db:"id"`
	Issue   int64     `db:"issue_id"`
	Author  int64     `db:"author_id"`
	Body    string    `db:"body"`
	Created time.Time `db:"created_at"`
	Updated time.Time `db:"updated_at"`
}

type noteCreated struct{ Note note }

func (e noteCreated) Happened() time.Time { return e.Note.Created }

type deliver struct {
	NoteID int64 `json:"note_id"`
}

func (deliver) Kind() string { return "deliver" }

// BenchmarkNote writes a note, a counter, an event and a job in one durable
// transaction (SQLite, synchronous=FULL) over 200 issues, and reads its slowest times.
func BenchmarkNote(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(strconv.Itoa(callers)+"-callers", func(b *testing.B) { benchmarkNote(b, callers, false) })
	}
	b.Run("8-callers-working", func(b *testing.B) { benchmarkNote(b, 8, true) })
}

func benchmarkNote(b *testing.B, callers int, working bool) {
	ctx := b.Context()
	d, err := db.Open(ctx, db.Config{URL: b.TempDir() + "/bench.db"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close() })
	if err := d.Migrate(ctx, fstest.MapFS{"0001_notes.sql": {Data: []byte(noteSchema)}}); err != nil {
		b.Fatal(err)
	}
	if err := job.Migrate(ctx, d); err != nil {
		b.Fatal(err)
	}
	for range 200 {
		if _, err := d.Exec(ctx, "INSERT INTO issues (notes_count, updated_at) VALUES (0, ?)", time.Now()); err != nil {
			b.Fatal(err)
		}
	}
	var r job.Registry
	job.Register(&r, func(context.Context, deliver) error { return nil })
	q, err := job.New(d, &r, job.Config{})
	if err != nil {
		b.Fatal(err)
	}
	if working {
		if err := q.Start(ctx); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = q.Stop(context.WithoutCancel(ctx)) })
	}
	var bus event.Bus
	event.On(&bus, "activity", func(ctx context.Context, e noteCreated) error {
		_, err := d.Exec(ctx, "INSERT INTO events (author_id, note_id, action, created_at) VALUES (?, ?, ?, ?)",
			e.Note.Author, e.Note.ID, "commented", e.Note.Created)
		return err
	})
	event.On(&bus, "webhooks", func(ctx context.Context, e noteCreated) error {
		return q.Enqueue(ctx, deliver{NoteID: e.Note.ID})
	})

	times := make([][]time.Duration, callers)
	b.ResetTimer()
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := caller; i < b.N; i += callers {
				began := time.Now()
				if err := createNote(ctx, d, &bus, int64(i%200+1), int64(caller+1)); err != nil {
					b.Error(err)
					return
				}
				times[caller] = append(times[caller], time.Since(began))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	n, err := db.Get[int](ctx, d, "SELECT count(*) FROM notes")
	if err != nil || n != b.N {
		b.Fatalf("%d notes of %d are there (%v)", n, b.N, err)
	}
	sorted := slices.Concat(times...)
	slices.Sort(sorted)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notes/s")
	b.ReportMetric(float64(sorted[len(sorted)*99/100].Microseconds())/1000, "p99-ms")
}

func createNote(ctx context.Context, d *db.DB, bus *event.Bus, issue, author int64) error {
	return d.InTx(ctx, func(ctx context.Context) error {
		now := time.Now()
		n := note{Issue: issue, Author: author, Body: "A comment of the usual length, in one paragraph.", Created: now, Updated: now}
		var err error
		if err = db.Create(ctx, d, "notes", &n); err != nil {
			return err
		}
		if _, err = d.Exec(ctx, "UPDATE issues SET notes_count = notes_count + 1, updated_at = ? WHERE id = ?", now, issue); err != nil {
			return err
		}
		return bus.Publish(ctx, noteCreated{n})
	})
}
