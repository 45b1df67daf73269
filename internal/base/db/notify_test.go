package db_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// TestDB_Notify sends texts to a listener: PostgreSQL gives them all, in their order, and SQLite,
// which has no other process, none.
func TestDB_Notify(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		ready, heard, done := make(chan struct{}), make(chan string, 10), make(chan error, 1)
		go func() {
			done <- d.Listen(ctx, "changes of things", func() { close(ready) }, func(text string) { heard <- text })
		}()
		<-ready
		want := []string{"one", "two", "it's \"three\""}
		if err := d.Notify(ctx, "changes of things", want); err != nil {
			t.Fatal(err)
		}
		if err := d.Notify(ctx, "another", []string{"not heard"}); err != nil {
			t.Fatal(err)
		}
		if !d.Shared() {
			want = nil
		}
		var got []string
		for range want {
			select {
			case text := <-heard:
				got = append(got, text)
			case <-ctx.Done():
				t.Fatalf("heard %q, want %q", got, want)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the listener ended with %v", err)
		}
		if len(heard) > 0 {
			t.Errorf("heard %q as well", <-heard)
		}
	})
}
