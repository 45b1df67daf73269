package account_test

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
)

// A link sets the password of its user once, within its time, and is not stored.
func TestService_UseLink(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		ctx := t.Context()
		u, err := h.Create(ctx, h.Root, account.Input{Username: "ann", Name: "Ann", Email: "ann@example.com", ResetPassword: true, SkipConfirmation: true})
		if err != nil {
			t.Fatal(err)
		}
		link := func() string {
			t.Helper()
			key, expires, err := h.PasswordLink(ctx, h.Root, u.ID)
			if err != nil || !expires.Equal(h.Now().Add(account.LinkLife)) {
				t.Fatalf("PasswordLink: got %v, %v; want %v from now", expires, err, account.LinkLife)
			}
			return key
		}
		const chosen = "a passphrase of ann's"
		use := func(name, key, password string, want errs.Kind) {
			t.Helper()
			if err := h.UseLink(ctx, key, password, ""); want == 0 && err != nil || want != 0 && !errs.Is(err, want) {
				t.Errorf("%s: got %v, want %v", name, err, want)
			}
		}
		for _, as := range []authz.Actor{{}, u.Actor()} {
			if _, _, err := h.PasswordLink(ctx, as, u.ID); !errs.Is(err, errs.Forbidden) && !errs.Is(err, errs.Unauthorized) {
				t.Errorf("PasswordLink as %d: got %v, want a refusal", as.UserID, err)
			}
		}
		first, second := link(), link()
		use("an older link", first, chosen, errs.NotFound)
		use("no link", "", chosen, errs.NotFound)
		use("a guess", "tnlk-00000000000000000000", chosen, errs.NotFound)
		use("a short password", second, "short", errs.Invalid)
		if n, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM password_links WHERE digest LIKE ?", "%"+second+"%"); err != nil || n != 0 {
			t.Errorf("the secret is stored: %d rows, %v", n, err)
		}
		if got, err := h.LinkedUser(ctx, second); err != nil || got.Username != "ann" {
			t.Errorf("LinkedUser: got %v, %v; want ann", got, err)
		}
		use("a good link", second, chosen, 0)
		use("a used link", second, "another passphrase", errs.NotFound)
		if _, err := h.AuthenticatePassword(ctx, "ann", chosen, ""); err != nil {
			t.Errorf("sign on with the password: got %v", err)
		}
		third := link()
		h.Pass(account.LinkLife)
		use("an expired link", third, "another passphrase", errs.NotFound)
		fourth := link()
		text := "given by an administrator"
		if _, err := h.Update(ctx, h.Root, u.ID, account.Changes{Password: &text}); err != nil {
			t.Fatal(err)
		}
		use("a link from before another password", fourth, "another passphrase", errs.NotFound)
	})
}
