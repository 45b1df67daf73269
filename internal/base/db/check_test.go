package db_test

import (
	"slices"
	"testing"

	"tenon/internal/base/db/dbtest"
)

func TestDB_Check(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, true)
	if found, err := d.Check(t.Context()); err != nil || len(found) != 0 {
		t.Fatalf("a sound database: got %q, %v", found, err)
	}
	writer, _ := d.Pools()
	conn, err := writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"PRAGMA foreign_keys = OFF",
		"CREATE TABLE a (id INTEGER PRIMARY KEY)",
		"CREATE TABLE b (id INTEGER PRIMARY KEY, a_id INTEGER REFERENCES a (id))",
		"INSERT INTO b (id, a_id) VALUES (7, 1)",
	} {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := d.Check(t.Context())
	if want := []string{"database: row 7 of b names a row of a that is not there"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("got %q, %v, want %q", found, err, want)
	}
}
