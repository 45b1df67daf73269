package account_test

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
)

// A link sets the password of its user once, within its time, and is not stored.
func TestService_UseLink(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ctx := t.Context()
		u, err := h.Create(ctx, h.root, account.Input{Username: "ann", Name: "Ann", Email: "ann@example.com", ResetPassword: true, SkipConfirmation: true})
		if err != nil {
			t.Fatal(err)
		}
		link := func() string {
			t.Helper()
			key, expires, err := h.PasswordLink(ctx, h.root, u.ID)
			if err != nil || !expires.Equal(h.clock().Add(account.LinkLife)) {
				t.Fatalf("PasswordLink: got %v, %v; want %v from now", expires, err, account.LinkLife)
			}
			return key
		}
		const chosen = "a passphrase of ann's"
		use := func(name, key, password string, want errs.Kind) {
			t.Helper()
			if err := h.UseLink(ctx, key, password); want == 0 && err != nil || want != 0 && !errs.Is(err, want) {
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
		if _, err := h.AuthenticatePassword(ctx, "ann", chosen); err != nil {
			t.Errorf("sign on with the password: got %v", err)
		}
		third := link()
		h.pass(account.LinkLife)
		use("an expired link", third, "another passphrase", errs.NotFound)
		fourth := link()
		text := "given by an administrator"
		if _, err := h.Update(ctx, h.root, u.ID, account.Changes{Password: &text}); err != nil {
			t.Fatal(err)
		}
		use("a link from before another password", fourth, "another passphrase", errs.NotFound)
	})
}

// A session makes tokens with the scopes of its person; a token makes none that way.
func TestService_CreateTokenInSession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		u, err := h.Create(t.Context(), h.root, account.Input{Username: "ann", Name: "Ann", Email: "ann@example.com", ForceRandomPassword: true, SkipConfirmation: true})
		if err != nil {
			t.Fatal(err)
		}
		session, token, admin := u.Actor(), u.Actor(), h.root
		session.Session, token.TokenID, token.Scopes = 7, 8, authz.AllScopes()
		admin.Session, admin.TokenID, admin.Scopes = 9, 0, nil
		for _, tt := range []struct {
			name   string
			as     authz.Actor
			scopes authz.Scopes
			want   errs.Kind
		}{
			{"nobody", authz.Actor{}, authz.Scopes{authz.ScopeAPI}, errs.Unauthorized},
			{"a token", token, authz.Scopes{authz.ScopeReadAPI}, errs.Forbidden},
			{"a session", session, authz.Scopes{authz.ScopeAPI, authz.ScopeWriteRepository}, 0},
			{"a session that wants sudo", session, authz.Scopes{authz.ScopeSudo}, errs.Invalid},
			{"an administrator's session", admin, authz.Scopes{authz.ScopeSudo}, 0},
			{"no scopes", session, nil, errs.Invalid},
			{"an unknown scope", session, authz.Scopes{"everything"}, errs.Invalid},
		} {
			got, key, err := h.CreateTokenInSession(t.Context(), tt.as, account.TokenInput{Name: "laptop", Scopes: tt.scopes})
			if tt.want != 0 {
				if !errs.Is(err, tt.want) || key != "" {
					t.Errorf("%s: got %q, %v; want %v", tt.name, key, err, tt.want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: got %v", tt.name, err)
				continue
			}
			if as, _, err := h.Authenticate(t.Context(), key); err != nil || as.UserID != tt.as.UserID || as.TokenID != int64(got.ID) {
				t.Errorf("%s: got the actor %+v, %v; want user %d", tt.name, as, err, tt.as.UserID)
			}
		}
	})
}
