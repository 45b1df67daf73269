package account_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
)

func TestService_ByIDs_remembered(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		ctx := t.Context()
		u, _ := h.User("mona")
		// read returns the name and state of the user, and what it cost.
		read := func(ctx context.Context, ids ...authz.UserID) (string, uint64) {
			t.Helper()
			before := d.Statements()
			got, err := h.Load(ctx, append(ids, u.ID))
			if err != nil || got[u.ID] == nil {
				t.Fatalf("got %v, %v", got, err)
			}
			if got[99] != nil || len(got) > 2 {
				t.Errorf("got %v, want nobody else", got)
			}
			name := got[u.ID].Name + " " + string(got[u.ID].State) + " " + got[u.ID].Email
			got[u.ID].Name = "scribbled" // what callers do to theirs is no concern of others
			return name, d.Statements() - before
		}
		wants := func(ctx context.Context, name string, statements uint64, ids ...authz.UserID) {
			t.Helper()
			if got, n := read(ctx, ids...); got != name || n != statements {
				t.Errorf("got %q in %d statements, want %q in %d", got, n, name, statements)
			}
		}
		first := u.Name + " active " + u.Email
		wants(ctx, first, 1)
		wants(ctx, first, 0)
		wants(ctx, first, 0, u.ID)
		wants(ctx, first, 1, 99)
		wants(ctx, first, 1, 99) // no user is not remembered
		h.Pass(11 * time.Second)
		wants(ctx, first, 1)

		if _, err := h.Update(ctx, h.Root, u.ID, account.Changes{Name: new("Another")}); err != nil {
			t.Fatal(err)
		}
		wants(ctx, "Another active "+u.Email, 1)
		if _, err := h.Block(ctx, h.Root, u.ID); err != nil {
			t.Fatal(err)
		}
		wants(ctx, "Another blocked "+u.Email, 1)
		if _, err := h.Update(ctx, h.Root, u.ID, account.Changes{Email: new("new@example.com"), SkipReconfirmation: true}); err != nil {
			t.Fatal(err)
		}
		wants(ctx, "Another blocked new@example.com", 1)

		second, err := h.AddEmail(ctx, h.Root, u.ID, account.EmailInput{Address: "second@example.com", Confirmed: true})
		if err != nil {
			t.Fatal(err)
		}
		shown := func(want string) {
			t.Helper()
			if got, err := h.ByIDs(ctx, []authz.UserID{u.ID}); err != nil || got[u.ID].PublicEmail != want {
				t.Errorf("shows %v, %v, want %q", got[u.ID], err, want)
			}
		}
		if _, err := h.Update(ctx, h.Root, u.ID, account.Changes{PublicEmail: new("second@example.com")}); err != nil {
			t.Fatal(err)
		}
		shown("second@example.com")
		if err := h.DeleteEmail(ctx, h.Root, u.ID, second.ID); err != nil {
			t.Fatal(err)
		}
		shown("")

		undo := errors.New("undo")
		if err := d.InTx(ctx, func(ctx context.Context) error {
			if _, err := d.Exec(ctx, "UPDATE users SET name = 'Never' WHERE id = ?", u.ID); err != nil {
				return err
			}
			wants(ctx, "Never blocked new@example.com", 1)
			return undo
		}); !errors.Is(err, undo) {
			t.Fatal(err)
		}
		wants(ctx, "Another blocked new@example.com", 0)
	})
}
