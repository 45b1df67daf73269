package account_test

import (
	"context"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
	"tenon/internal/core/token"
)

// departing keeps what a house enqueues.
func departing(h *accounttest.World) func() {
	var waiting []account.Departure
	h.Enqueue = job.EnqueuerFunc(func(_ context.Context, args job.Args, _ ...job.Option) error {
		waiting = append(waiting, args.(account.Departure))
		return nil
	})
	return func() {
		h.T.Helper()
		for _, d := range waiting {
			if err := h.Depart(h.T.Context(), d); err != nil {
				h.T.Errorf("depart: %v", err)
			}
		}
		waiting = nil
	}
}

func TestService_Delete(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		finish := departing(h)
		ctx := t.Context()
		ann, asAnn := h.User("ann")
		h.User("ghost") // a user has the ghost's name already
		token, key, err := h.Tokens.Create(ctx, h.Root, ann.ID, token.Input{Name: "ci", Scopes: authz.Scopes{authz.ScopeAPI}})
		if err != nil || token == nil {
			t.Fatal(err)
		}
		if _, _, err := h.Tokens.Authenticate(ctx, key); err != nil {
			t.Fatal(err)
		}
		accounttest.WantError(t, h.Delete(ctx, asAnn, ann.ID, account.Removal{}), errs.Forbidden, "forbidden")
		accounttest.WantError(t, h.Delete(ctx, h.Root, 999, account.Removal{}), errs.NotFound, "User not found")
		accounttest.WantError(t, h.Delete(ctx, h.Root, h.Root.UserID, account.Removal{Hard: true}), errs.Forbidden,
			"The last administrator cannot be removed from office, blocked or deactivated")
		late := h.Root
		late.UnmodifiedSince = ann.UpdatedAt.Add(-time.Hour)
		accounttest.WantError(t, h.Delete(ctx, late, ann.ID, account.Removal{}), errs.PreconditionFailed, "precondition failed")

		if err := h.Delete(ctx, h.Root, ann.ID, account.Removal{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.Tokens.Authenticate(ctx, key); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a user on the way out signs on: got %v, want forbidden", err)
		}
		finish()
		if _, _, err := h.Tokens.Authenticate(ctx, key); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("a user who is gone signs on: got %v, want unauthorized", err)
		}
		_, err = h.Find(ctx, h.Root, ann.ID)
		accounttest.WantError(t, err, errs.NotFound, "User not found")
		ghost, err := h.ByUsername(ctx, h.Root, "ghost1")
		if err != nil || ghost.Type != account.Ghost || ghost.Name != "Ghost" || ghost.Email != "ghost1@example.com" {
			t.Fatalf("the ghost: got %+v, %v", ghost, err)
		}
		accounttest.WantError(t, h.Delete(ctx, h.Root, ghost.ID, account.Removal{Hard: true}), errs.Forbidden,
			"An internal user cannot be deleted")
		ann, _ = h.User("ann")
		if err := h.Delete(ctx, h.Root, ann.ID, account.Removal{}); err != nil {
			t.Fatal(err)
		}
		finish()
		if n, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM users WHERE user_type = 'ghost'"); err != nil || n != 1 {
			t.Errorf("got %d ghosts, %v, want one", n, err)
		}
	})
}

// An administrator may leave as long as another one stays; two who delete each other
// come one after the other.
func TestService_Delete_administrators(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		finish := departing(h)
		eve, asEve := h.User("eve", func(in *account.Input) { in.Admin = true })
		if err := h.Delete(t.Context(), asEve, eve.ID, account.Removal{}); err != nil {
			t.Fatalf("an administrator leaves: %v", err)
		}
		finish()
		if _, err := h.Find(t.Context(), h.Root, eve.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("got %v, want not found", err)
		}
		zoe, asZoe := h.User("zoe", func(in *account.Input) { in.Admin = true })
		failed := make(chan error, 2)
		go func() { failed <- h.Delete(t.Context(), h.Root, zoe.ID, account.Removal{}) }()
		go func() { failed <- h.Delete(t.Context(), asZoe, h.Root.UserID, account.Removal{}) }()
		refused := 0
		for range 2 {
			if err := <-failed; err != nil {
				refused++
				accounttest.WantError(t, err, errs.Forbidden, "The last administrator cannot be removed from office, blocked or deactivated")
			}
		}
		if refused != 1 {
			t.Errorf("%d of two were refused, want one", refused)
		}
	})
}

func TestService_Reject(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		finish := departing(h)
		ann, _ := h.User("ann")
		accounttest.WantError(t, h.Reject(t.Context(), h.Root, ann.ID), errs.Conflict, "User does not have a pending request")
		if _, err := d.Exec(t.Context(), "UPDATE users SET state = ? WHERE id = ?", account.PendingApproval, ann.ID); err != nil {
			t.Fatal(err)
		}
		if err := h.Reject(t.Context(), h.Root, ann.ID); err != nil {
			t.Fatal(err)
		}
		removed, _ := h.Events()[len(h.Events())-1].(account.UserRemoved)
		if !removed.Rejected || removed.Row().ID != ann.ID || removed.Row().State != account.PendingApproval {
			t.Errorf("published %+v, want the rejection", removed)
		}
		finish()
		_, err := h.Find(t.Context(), h.Root, ann.ID)
		accounttest.WantError(t, err, errs.NotFound, "User not found")
	})
}
