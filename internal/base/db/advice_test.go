package db_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// What a database cannot be opened for is one line that names it and says what to do.
func TestOpen_advice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, url string
		want      []string
	}{
		{"no folder", "sqlite:" + dir + "/none/tenon.db", []string{dir + "/none/tenon.db", "make the folder " + dir + "/none"}},
		{"no database", "sqlite:" + text, []string{text, "not a database of SQLite"}},
		{"a folder", "sqlite:" + dir, []string{dir, "name a file"}},
		{"nothing listens", "postgres://ann:geheim@127.0.0.1:1/app", []string{`"app" on 127.0.0.1:1 as user "ann"`, "connection refused", "start PostgreSQL there"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refused(t, tt.url, tt.want...)
		})
	}
}

func TestOpen_advice_postgres(t *testing.T) {
	t.Parallel()
	server := dbtest.PostgresURL(t)
	for _, tt := range []struct {
		name   string
		change func(u *url.URL)
		want   []string
	}{
		{"no such database", func(u *url.URL) { u.Path = "/no-such-app" }, []string{`"no-such-app"`, `CREATE DATABASE "no-such-app" OWNER "`, "ENCODING 'UTF8'"}},
		{"no such user", func(u *url.URL) {
			u.User = url.User("no-such-ann")
			q := u.Query()
			q.Del("user")
			u.RawQuery = q.Encode()
		}, []string{`"no-such-ann"`, "pg_hba.conf"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(server)
			if err != nil {
				t.Fatal(err)
			}
			tt.change(u)
			refused(t, u.String(), tt.want...)
		})
	}
	t.Run("another encoding", func(t *testing.T) {
		t.Parallel()
		refused(t, dbtest.PostgresEncoded(t, "SQL_ASCII"), "has the encoding SQL_ASCII, and UTF8 is needed", "ENCODING 'UTF8'")
	})
}

// A file that is named by mistake stays as it is, its rights too.
func TestOpen_foreignFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "passwd")
	const content = "root:x:0:0:root:/root:/bin/bash\n"
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, "sqlite:"+name, "not a database of SQLite")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != content || info.Mode().Perm() != 0o644 {
		t.Errorf("got %q with mode %04o, %v; want it unchanged", got, info.Mode().Perm(), err)
	}
}

func refused(t *testing.T, address string, want ...string) {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: address})
	if err == nil {
		t.Fatalf("opened, want a refusal (%v)", d.Close())
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got %q, want %q in it", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "geheim") {
		t.Errorf("got %q, want one line without the password", err)
	}
}

// Rights that are missing are named with what grants them.
func TestDB_Explain(t *testing.T) {
	t.Parallel()
	d := dbtest.OpenPostgres(t)
	err := d.InTx(t.Context(), func(ctx context.Context) error {
		for _, statement := range []string{"SET LOCAL ROLE pg_monitor", "CREATE TABLE no_right (id BIGINT)"} {
			if _, err := d.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		t.Fatal("the role may create tables")
	}
	explained := d.Explain(err)
	for _, want := range []string{err.Error(), "OWNER TO", "GRANT USAGE, CREATE ON SCHEMA public", d.Place()} {
		if !strings.Contains(explained.Error(), want) {
			t.Errorf("got %q, want %q in it", explained, want)
		}
	}
	if !errors.Is(explained, err) {
		t.Error("the error itself is gone")
	}
}
