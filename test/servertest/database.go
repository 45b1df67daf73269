package servertest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tenon/internal/base/db/dbtest/pgserver"
)

// Each runs fn as a subtest for each engine, with the database that Start takes: SQLite
// always, PostgreSQL where TENON_TEST_DATABASE_URL names a server or one is installed.
func Each(t *testing.T, fn func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { fn(t, "") })
	t.Run("postgres", func(t *testing.T) { fn(t, Postgres(t)) })
}

// Postgres returns the URL of a fresh database that is dropped when the test ends, or
// skips the test. Call it before Start, so that the server ends first.
func Postgres(tb testing.TB) string {
	tb.Helper()
	admin := os.Getenv("TENON_TEST_DATABASE_URL")
	if admin == "" {
		own, err := pgserver.Start()
		if errors.Is(err, pgserver.ErrMissing) {
			tb.Skipf("PostgreSQL: skipped (%v)", err)
		}
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := own.Stop(); err != nil {
				tb.Errorf("stop PostgreSQL: %v", err)
			}
		})
		admin = own.URL
	}
	at, err := url.Parse(admin)
	if err != nil {
		tb.Fatal(err)
	}
	name := "tenon_e2e_" + strings.ToLower(rand.Text()[:12])
	run := func(statement string) error {
		ctx := context.Background() // also used after the test's own has ended
		conn, err := pgx.Connect(ctx, admin)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, statement)
		return errors.Join(err, conn.Close(ctx))
	}
	if err := run("CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		tb.Fatalf("create database: %v", err)
	}
	tb.Cleanup(func() {
		if err := run("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			tb.Errorf("drop database: %v", err)
		}
	})
	at.Path = "/" + name
	return at.String()
}
