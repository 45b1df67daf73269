package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// TestDB_Room fails without a lock: fifty transactions that count at one moment see none of
// the others' rows.
func TestDB_Room(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	for name, first := range map[string]bool{"counted first": false, "written first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Empty(t, func(t *testing.T, d *db.DB) {
				if _, err := d.Exec(t.Context(), "CREATE TABLE places (owner BIGINT NOT NULL, seat BIGINT NOT NULL)"); err != nil {
					t.Fatal(err)
				}
				take := func(owner, seat int64) error {
					b := db.Bound{Table: "places", Most: 7, Full: full}
					b.Of.And("owner = ?", owner)
					return d.InTx(t.Context(), func(ctx context.Context) error {
						if !first {
							if err := d.Room(ctx, b, 1); err != nil {
								return err
							}
						}
						if _, err := d.Exec(ctx, "INSERT INTO places (owner, seat) VALUES (?, ?)", owner, seat); err != nil || !first {
							return err
						}
						return d.Room(ctx, b, 0)
					})
				}
				var all sync.WaitGroup
				for seat := range int64(50) {
					all.Go(func() {
						if err := take(1+seat%2, seat); err != nil && !errors.Is(err, full) {
							t.Error(err)
						}
					})
				}
				all.Wait()
				for owner := range 2 {
					n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM places WHERE owner = ?", owner+1)
					if err != nil || n != 7 {
						t.Errorf("owner %d has %d places (%v), want 7", owner+1, n, err)
					}
				}
			})
		})
	}
	d := dbtest.Open(t, false)
	if err := d.Room(t.Context(), db.Bound{Table: "users", Most: 1, Full: full}, 1); err == nil || errors.Is(err, full) {
		t.Errorf("outside a transaction: got %v, want an error", err)
	}
}
