package instance

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

var began = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

func TestJoin(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		folder := t.TempDir()
		first, err := Join(t.Context(), d, folder, This(folder, began))
		if err != nil || first == "" {
			t.Fatalf("got %q, %v, want an id", first, err)
		}
		again, err := Join(t.Context(), d, folder, Server{Host: "other", Folder: folder, PID: 7, Since: began})
		if err != nil || again != first {
			t.Errorf("the second start: got %q, %v, want %q", again, err, first)
		}
		if id, err := ReadID(folder); err != nil || id != first {
			t.Errorf("the folder has %q, %v, want %q", id, err, first)
		}
		row, err := Find(t.Context(), d)
		if err != nil || row == nil || row.ID != first || row.Holder() == nil || row.Holder().PID != 7 {
			t.Errorf("the database has %+v, %v, want the id %q and the process 7", row, err, first)
		}
		// The id of a database goes to a folder that has none.
		empty := t.TempDir()
		if id, err := Join(t.Context(), d, empty, This(empty, began)); err != nil || id != first {
			t.Errorf("an empty folder: got %q, %v, want %q", id, err, first)
		}
	})
}

func TestMatch(t *testing.T) {
	t.Parallel()
	const none, ours, other = "", "ours", "other"
	for _, tt := range []struct {
		name             string
		folder, database string // ids
		used, filled     bool
		want             string // of the error, "" for none
	}{
		{"a new instance", none, none, false, false, ""},
		{"of an older version", none, none, true, true, ""},
		{"the two belong together", ours, ours, true, true, ""},
		{"a crash at the first start", ours, none, false, false, ""},
		{"a crash at the update to this version, or an older dump", ours, none, true, true, ""},
		{"a crash before the first user", none, ours, false, false, ""},
		{"two instances", ours, other, true, true, "belongs to the instance ours, and the database"},
		{"two instances without anything in them", ours, other, false, false, "belongs to the instance ours, and the database"},
		{"another folder", none, other, true, false, "the database SQL belongs to the instance other (last used by process 7 on host with the data folder /data"},
		{"another database", ours, none, false, true, "and the database SQL is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				folder := t.TempDir()
				if tt.folder != none {
					if err := WriteID(folder, tt.folder); err != nil {
						t.Fatal(err)
					}
				}
				if tt.database != none {
					if _, err := d.Exec(t.Context(), `INSERT INTO instance (one, id, server, created_at) VALUES (1, ?, '', ?)`, tt.database, db.At(began)); err != nil {
						t.Fatal(err)
					}
					if err := note(t.Context(), d, Server{Host: "host", Folder: "/data", PID: 7, Since: began}); err != nil {
						t.Fatal(err)
					}
				}
				err := Match(t.Context(), d, Facts{Folder: folder, Database: "SQL", Used: tt.used, Filled: tt.filled})
				switch {
				case tt.want == "" && err != nil:
					t.Errorf("got %v, want no error", err)
				case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
					t.Errorf("got %v, want %q", err, tt.want)
				}
				if id, err := ReadID(folder); err != nil || id != tt.folder {
					t.Errorf("the folder has %q, %v afterwards, want %q", id, err, tt.folder)
				}
			})
		})
	}
}

// A database from before this version has no table.
func TestMatch_oldSchema(t *testing.T) {
	t.Parallel()
	dbtest.Empty(t, func(t *testing.T, d *db.DB) {
		if err := Match(t.Context(), d, Facts{Folder: t.TempDir(), Used: true, Filled: true}); err != nil {
			t.Error(err)
		}
	})
}

func TestReadID_damaged(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, File), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadID(folder); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

// The second server on a database is refused with the name of the first one.
func TestTake(t *testing.T) {
	t.Parallel()
	d := dbtest.OpenPostgres(t)
	log := slog.New(slog.DiscardHandler)
	one, two := Server{Host: "one", Folder: "/srv/one", PID: 11, Since: began}, Server{Host: "two", Folder: "/srv/two", PID: 22, Since: began}
	held, err := Take(t.Context(), d, one, "DB", 0, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(t.Context(), d, two, "DB", 0, log); err == nil || !strings.Contains(err.Error(), "another server uses the database DB") {
		t.Errorf("before the first one is noted: got %v, want a refusal", err)
	}
	if _, err := Join(t.Context(), d, t.TempDir(), one); err != nil {
		t.Fatal(err)
	}
	_, err = Take(t.Context(), d, two, "DB", 0, log)
	for _, want := range []string{"process 11", "on one", "/srv/one", "database DB", "--database"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err := held.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	held, err = Take(t.Context(), d, two, "DB", time.Minute, log)
	if err != nil {
		t.Fatalf("after the first one ended: %v", err)
	}
	if err := held.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A lock whose connection is cut is taken again, unless another server was faster.
func TestHold_Watch(t *testing.T) {
	t.Parallel()
	d := dbtest.OpenPostgres(t)
	log := slog.New(slog.DiscardHandler)
	one, two := Server{Host: "one", Folder: "/srv/one", PID: 11, Since: began}, Server{Host: "two", Folder: "/srv/two", PID: 22, Since: began}
	if _, err := Join(t.Context(), d, t.TempDir(), two); err != nil {
		t.Fatal(err)
	}
	held, err := Take(t.Context(), d, one, "DB", 0, log)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	watching, stop := context.WithCancel(t.Context())
	go func() { ended <- held.Watch(watching) }()
	cut(t, d)
	for { // the lock is back when this server is noted as its holder
		row, err := Find(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if row.Holder().same(one) {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the watch ended with %v", err)
		default:
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the end of a watch: %v", err)
	}
}

// A server that lost its lock to another one ends.
func TestHold_Watch_taken(t *testing.T) {
	t.Parallel()
	d := dbtest.OpenPostgres(t)
	log := slog.New(slog.DiscardHandler)
	one, two := Server{Host: "one", Folder: "/srv/one", PID: 11, Since: began}, Server{Host: "two", Folder: "/srv/two", PID: 22, Since: began}
	held, err := Take(t.Context(), d, one, "DB", 0, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := Take(t.Context(), d, two, "DB", 0, log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := Join(t.Context(), d, t.TempDir(), two); err != nil {
		t.Fatal(err)
	}
	if err := held.Watch(t.Context()); err == nil || !strings.Contains(err.Error(), "/srv/two") {
		t.Errorf("got %v, want a refusal that names the other server", err)
	}
}

// cut ends the sessions that hold an advisory lock on the database.
func cut(t *testing.T, d *db.DB) {
	t.Helper()
	if _, err := d.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks
		WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); err != nil {
		t.Fatal(err)
	}
}
