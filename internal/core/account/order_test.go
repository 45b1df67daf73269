package account_test

import (
	"context"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
)

// TestService_Delete_lockOrder deletes an administrator whose row another transaction holds.
// The deletion must not hold the lock of the last administrator meanwhile: the other
// transaction takes it next, as every change of an administrator does.
func TestService_Delete_lockOrder(t *testing.T) {
	t.Parallel()
	d := dbtest.OpenPostgres(t)
	h := accounttest.New(t, d)
	departing(h)
	ann, _ := h.User("ann", func(in *account.Input) { in.Admin = true })
	done := make(chan error, 1)
	err := d.InTx(t.Context(), func(ctx context.Context) error {
		if _, err := db.Get[int64](ctx, d, "SELECT id FROM users WHERE id = ? FOR UPDATE", ann.ID); err != nil {
			return err
		}
		go func() { done <- h.Delete(t.Context(), h.Root, ann.ID, account.Removal{}) }()
		dbtest.Waiting(t, d)
		free, err := db.Get[bool](ctx, d, "SELECT pg_try_advisory_xact_lock(hashtextextended(CAST(? AS TEXT), 0))", "last administrator")
		if !free {
			t.Error("who waits for the row of an administrator holds the lock of the last one: a deadlock")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestService_Update_addressDeleted makes an address public that is deleted before the update
// gets the row.
func TestService_Update_addressDeleted(t *testing.T) {
	t.Parallel()
	d := dbtest.OpenPostgres(t)
	h := accounttest.New(t, d)
	ann, _ := h.User("ann")
	if _, err := h.AddEmail(t.Context(), h.Root, ann.ID, account.EmailInput{Address: "other@example.com", Confirmed: true}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	err := d.InTx(t.Context(), func(ctx context.Context) error {
		if _, err := d.Exec(ctx, "UPDATE users SET bio = 'held' WHERE id = ?", ann.ID); err != nil {
			return err
		}
		go func() {
			address := "other@example.com"
			_, err := h.Update(t.Context(), h.Root, ann.ID, account.Changes{PublicEmail: &address})
			done <- err
		}()
		dbtest.Waiting(t, d)
		_, err := d.Exec(ctx, "DELETE FROM emails WHERE email = 'other@example.com'")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	accounttest.WantError(t, <-done, errs.Invalid, "public_email must be an email you have verified")
	if u, err := h.Find(t.Context(), h.Root, ann.ID); err != nil || u.PublicEmail != "" {
		t.Errorf("shows %q (%v), want no address", u.PublicEmail, err)
	}
}
