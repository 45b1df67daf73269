package live

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/issue"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// server is one of several that share a database.
func server(t *testing.T, d *db.DB) (*Service, *event.Bus) {
	t.Helper()
	s, bus := New(Deps{DB: d, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}), &event.Bus{}
	s.Subscribe(bus)
	s.Start()
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, bus
}

func open(t *testing.T, s *Service, as authz.Actor, id int64, parts ...Part) *Stream {
	t.Helper()
	st, err := s.Open(t.Context(), as, noteable.Issue, id, parts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return st
}

func next(t *testing.T, st *Stream) (Change, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, ok := st.Next(ctx)
	if !ok && ctx.Err() != nil {
		t.Fatal("nothing came")
	}
	return c, ok
}

func closed(id issue.ID) issue.Closed {
	return issue.Closed{Fact: issue.Fact{Of: change.Of[issue.Issue]{After: &issue.Issue{ID: id}}, Project: &project.Project{}}}
}

// TestService: a change is told once it is committed, on every server that shares the database, and
// one that was undone never.
func TestService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		here, bus := server(t, d)
		streams := []*Stream{open(t, here, authz.Actor{UserID: 1}, 7, Other)}
		if d.Shared() {
			there, _ := server(t, d)
			streams = append(streams, open(t, there, authz.Actor{UserID: 1}, 7, Other))
		}
		undone := errors.New("undone")
		err := d.InTx(t.Context(), func(ctx context.Context) error {
			if err := bus.Publish(ctx, closed(7)); err != nil {
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		err = d.InTx(t.Context(), func(ctx context.Context) error {
			if err := bus.Publish(ctx, closed(8)); err != nil {
				return err
			}
			if err := bus.Publish(ctx, issue.Deleted{Fact: issue.Fact{Of: change.Of[issue.Issue]{Before: &issue.Issue{ID: 7}}, Project: &project.Project{}}}); err != nil {
				return err
			}
			for _, st := range streams {
				if len(st.waiting) > 0 {
					t.Error("told before it is committed")
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, st := range streams {
			if c, ok := next(t, st); !ok || !c.Deleted || c.ID != 7 {
				t.Errorf("stream %d was told %+v, %v", i, c, ok)
			}
		}
	})
}

// TestService_bounds: a reader has so many streams, one that falls behind ends, and all end with
// the server.
func TestService_bounds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, _ := server(t, d)
		user, stranger := authz.Actor{UserID: 1}, authz.Actor{Address: "127.0.0.9"}
		var streams []*Stream
		for range MaxStreams {
			streams = append(streams, open(t, s, user, 7, NoteCreated, Title))
		}
		if _, err := s.Open(t.Context(), user, noteable.Issue, 7, Title); !errors.Is(err, ErrTooMany) {
			t.Errorf("one more: %v", err)
		}
		open(t, s, stranger, 7, Title)
		streams[0].Close()
		open(t, s, user, 7, Title)

		for range 3 {
			s.local(Change{Kind: noteable.Issue, ID: 7, Parts: []Part{Title}})
			s.local(Change{Kind: noteable.Issue, ID: 7, Parts: []Part{Labels}})
		}
		if n := len(streams[1].waiting); n != 1 {
			t.Errorf("%d changes wait, want them told as one", n)
		}
		for i := range maxWaiting {
			s.local(Change{Kind: noteable.Issue, ID: 7, Parts: []Part{NoteCreated}, Note: &Note{ID: 1}})
			if ended := streams[1].ended; ended != (i == maxWaiting-1) {
				t.Fatalf("after %d changes ended is %v", i+2, ended)
			}
		}
		if _, ok := next(t, streams[1]); ok {
			t.Error("a stream that missed something goes on")
		}

		s.EndAll()
		if _, ok := next(t, streams[2]); ok {
			t.Error("a stream outlives its server")
		}
		if _, err := s.Open(t.Context(), stranger, noteable.Issue, 7, Title); !errors.Is(err, ErrStopping) {
			t.Errorf("a new stream of a server that stops: %v", err)
		}
	})
}

// TestService_deaf: streams end where another server may have said something that was not heard.
func TestService_deaf(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if !d.Shared() {
			t.Skip("SQLite has one server")
		}
		s, _ := server(t, d)
		st := open(t, s, authz.Actor{UserID: 1}, 7, Title)
		if _, err := d.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"); err != nil {
			t.Fatal(err)
		}
		if _, ok := next(t, st); ok {
			t.Error("the stream goes on")
		}
		st.Close()
		s.local(Change{Kind: noteable.Issue, ID: 7, Parts: []Part{Title}})
		again := open(t, s, authz.Actor{UserID: 1}, 7, Title)
		s.local(Change{Kind: noteable.Issue, ID: 7, Parts: []Part{Title}})
		if c, ok := next(t, again); !ok || c.ID != 7 {
			t.Errorf("told %+v, %v", c, ok)
		}
	})
}
