package db

import (
	"context"
	"testing"
)

func TestDB_Trim(t *testing.T) {
	t.Parallel()
	d := openTemp(t)
	ctx := t.Context()
	if _, err := d.Exec(ctx, "CREATE TABLE t (a INT)"); err != nil {
		t.Fatal(err)
	}
	use := func(want int) {
		t.Helper()
		if _, err := d.Exec(ctx, "INSERT INTO t VALUES (?)", want); err != nil {
			t.Fatal(err)
		}
		if got, err := Get[int](ctx, d, "SELECT COUNT(*) FROM t"); err != nil || got != want {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
	}
	use(1)
	if got := d.reader.Stats().OpenConnections; got == 0 {
		t.Error("nobody reads")
	}
	if err := d.Trim(ctx); err != nil {
		t.Fatal(err)
	}
	if got := d.reader.Stats().OpenConnections; got != 0 {
		t.Errorf("%d connections still read", got)
	}
	use(2)
	if got := d.reader.Stats().OpenConnections; got != 1 {
		t.Errorf("%d connections read, want the one that was needed again to stay", got)
	}
}

func TestDB_Trim_amongRows(t *testing.T) {
	t.Parallel()
	d := openTemp(t)
	if _, err := d.Exec(t.Context(), "CREATE TABLE t (a INT)"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(t.Context(), "INSERT INTO t VALUES (1), (2), (3)"); err != nil {
		t.Fatal(err)
	}
	rows, err := d.reader.QueryContext(t.Context(), "SELECT a FROM t ORDER BY a")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	rows.Next()
	if err := d.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := 1
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil || n != 3 {
		t.Errorf("read %d rows, %v; trimming must not disturb who reads", n, err)
	}
}

func TestDB_InTransaction(t *testing.T) {
	t.Parallel()
	d, other := openTemp(t), openTemp(t)
	if d.InTransaction(t.Context()) {
		t.Error("outside")
	}
	if err := d.InTx(t.Context(), func(ctx context.Context) error {
		if !d.InTransaction(ctx) || other.InTransaction(ctx) {
			t.Error("inside, the database and the other one")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
