package token_test

import (
	"context"
	"errors"
	"strings"
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

func TestService_Authenticate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		u, _ := h.User("mona", func(in *account.Input) { in.External = new(true) })
		tok, key := h.Token(u.ID, "ci", authz.ScopeReadAPI, authz.ScopeReadUser)
		if !strings.HasPrefix(key, "glpat-") || len(key) != 26 {
			t.Errorf("got secret %q, want glpat- and 20 characters", key)
		}
		as, got, err := h.Tokens.Authenticate(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if as.UserID != u.ID || as.Username != "mona" || as.Admin || !as.External || as.TokenID != int64(tok.ID) {
			t.Errorf("got actor %+v", as)
		}
		if got.ID != tok.ID || got.Scopes().String() != "read_api read_user" {
			t.Errorf("got token %+v", got)
		}
		if n := dbtest.Count(t, d, func() {
			if _, _, err := h.Tokens.Authenticate(t.Context(), key); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("got %d statements the second time, want none", n)
		}
		h.Pass(10 * time.Second)
		if n := dbtest.Count(t, d, func() {
			if _, _, err := h.Tokens.Authenticate(t.Context(), key); err != nil {
				t.Error(err)
			}
		}); n != 1 {
			t.Errorf("got %d statements after ten seconds, want 1", n)
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM access_tokens WHERE digest = ?", key); err != nil || n != 0 {
			t.Errorf("got %d rows with the secret itself, %v, want none", n, err)
		}
	})
}

func TestService_Authenticate_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		u, as := h.User("mona")
		for _, key := range []string{"", "nothing", "glpat-00000000000000000000", strings.Repeat("x", 10_000)} {
			if _, _, err := h.Tokens.Authenticate(t.Context(), key); !errs.Is(err, errs.Unauthorized) {
				t.Errorf("%.30q: got %v, want Unauthorized", key, err)
			}
		}

		revoked, key := h.Token(u.ID, "revoked")
		if _, _, err := h.Tokens.Authenticate(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if err := h.Tokens.Revoke(t.Context(), as, revoked.ID); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.Tokens.Authenticate(t.Context(), key); !errors.Is(err, token.ErrRevoked) || !errs.Is(err, errs.Unauthorized) {
			t.Errorf("revoked: got %v", err)
		}

		_, key, err := h.Tokens.Create(t.Context(), h.Root, u.ID, token.Input{
			Name: "short", Scopes: authz.Scopes{authz.ScopeAPI}, ExpiresOn: new("2026-05-05"),
		})
		if err != nil {
			t.Fatal(err)
		}
		h.Pass(13*time.Hour + 29*time.Minute + 55*time.Second) // 23:59:55
		if _, _, err := h.Tokens.Authenticate(t.Context(), key); err != nil {
			t.Errorf("on its last evening: got %v", err)
		}
		before := h.Tokens.CacheStats()
		if _, _, err := h.Tokens.Authenticate(t.Context(), key); err != nil {
			t.Errorf("again: got %v", err)
		}
		if after := h.Tokens.CacheStats(); after.Hits != before.Hits+1 || after.Misses != before.Misses || after.Misses == 0 || after.Bytes == 0 {
			t.Errorf("the cache: got %+v after %+v, want one more hit", after, before)
		}
		h.Pass(5 * time.Second) // within the ten seconds of the cache
		if _, _, err := h.Tokens.Authenticate(t.Context(), key); !errors.Is(err, token.ErrExpired) {
			t.Errorf("expired: got %v", err)
		}
	})
}

func TestService_Authenticate_states(t *testing.T) {
	t.Parallel()
	const blocked = "Your account has been blocked."
	for state, want := range map[account.State]string{
		account.Blocked:         blocked,
		account.LDAPBlocked:     blocked,
		account.Banned:          blocked,
		account.PendingApproval: "Your account is pending approval from your administrator and hence blocked.",
		account.Deactivated: "Your account has been deactivated by your administrator. " +
			"Please log back in from a web browser to reactivate your account at https://tenon.example",
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			h := accounttest.New(t, dbtest.Open(t, false))
			u, _ := h.User("mona", func(in *account.Input) { in.ForceRandomPassword = false; in.Password = "zebra-crossing-42" })
			_, key := h.Token(u.ID, "ci")
			if _, err := h.DB.Exec(t.Context(), "UPDATE users SET state = ? WHERE id = ?", state, u.ID); err != nil {
				t.Fatal(err)
			}
			_, _, err := h.Tokens.Authenticate(t.Context(), key)
			accounttest.WantError(t, err, errs.Forbidden, want)
			_, _, err = h.Tokens.AuthenticateGit(t.Context(), "any", key, "")
			accounttest.WantError(t, err, errs.Forbidden, want)
			_, err = h.AuthenticatePassword(t.Context(), "mona", "zebra-crossing-42", "")
			accounttest.WantError(t, err, errs.Forbidden, want)
			_, err = h.AuthenticatePassword(t.Context(), "mona", "wrong", "")
			accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")
		})
	}
}

// The attack: a user who is put out goes on with what is remembered of their credentials, or
// through another interface (CVE-2021-39866, CVE-2021-39872, CVE-2026-9807).
func TestService_Authenticate_putOut(t *testing.T) {
	t.Parallel()
	const password = "zebra-crossing-42"
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		h.Enqueue = job.EnqueuerFunc(func(context.Context, job.Args, ...job.Option) error { return nil })
		ctx := t.Context()
		for name, row := range map[string]struct{ out, back func(id authz.UserID) error }{
			"blocked": {
				func(id authz.UserID) error { _, err := h.Block(ctx, h.Root, id); return err },
				func(id authz.UserID) error { _, err := h.Unblock(ctx, h.Root, id); return err },
			},
			"banned": {
				func(id authz.UserID) error { return h.Ban(ctx, h.Root, id) },
				func(id authz.UserID) error { return h.Unban(ctx, h.Root, id) },
			},
			"expired": { // a password that an administrator set is to be changed first
				func(id authz.UserID) error {
					_, err := h.Update(ctx, h.Root, id, account.Changes{Password: new(password)})
					return err
				},
				func(id authz.UserID) error {
					_, err := h.Update(ctx, h.Root, id, account.Changes{Password: new(password), KeepPassword: true})
					return err
				},
			},
			"deleted": {out: func(id authz.UserID) error { return h.Delete(ctx, h.Root, id, account.Removal{}) }},
		} {
			u, _ := h.User(name, func(in *account.Input) { in.ForceRandomPassword = false; in.Password = password })
			_, key := h.Token(u.ID, "ci")
			doors := map[string]func() error{
				"token":           func() error { _, _, err := h.Tokens.Authenticate(ctx, key); return err },
				"token for git":   func() error { _, _, err := h.Tokens.AuthenticateGit(ctx, "x", key, ""); return err },
				"password":        func() error { _, err := h.AuthenticatePassword(ctx, name, password, ""); return err },
				"password of git": func() error { _, _, err := h.Tokens.AuthenticateGit(ctx, name, password, ""); return err },
				"SSH key":         func() error { _, err := h.Admit(ctx, u.ID); return err },
			}
			all := func(when string, want bool) {
				t.Helper()
				for door, try := range doors {
					if err := try(); (err == nil) != want || err != nil && !errs.Is(err, errs.Forbidden) {
						t.Errorf("%s, %s, by %s: got %v", name, when, door, err)
					}
				}
			}
			all("before", true)
			if err := row.out(u.ID); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all("put out", false)
			if row.back != nil {
				if err := row.back(u.ID); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				all("let in again", true)
			}
		}

		// Who was an administrator is none from the next request on.
		u, _ := h.User("chief", func(in *account.Input) { in.Admin = true })
		_, key := h.Token(u.ID, "ci", authz.ScopeAPI, authz.ScopeSudo)
		for _, want := range []bool{true, false} {
			if as, _, err := h.Tokens.Authenticate(ctx, key); err != nil || as.Admin != want {
				t.Errorf("got %+v, %v, want an administrator: %t", as, err, want)
			}
			if _, err := h.Update(ctx, h.Root, u.ID, account.Changes{Admin: new(false)}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestService_AuthenticateGit(t *testing.T) {
	t.Parallel()
	h := accounttest.New(t, dbtest.Open(t, false))
	u, as := h.User("mona", func(in *account.Input) { in.ForceRandomPassword = false; in.Password = "zebra-crossing-42" })
	key := func(name string, scopes ...authz.Scope) string {
		_, k := h.Token(u.ID, name, scopes...)
		return k
	}
	revoked, revokedKey := h.Token(u.ID, "revoked")
	if err := h.Tokens.Revoke(t.Context(), as, revoked.ID); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, login, password string
		read, write           bool
	}{
		{"api", "oauth2", key("a", authz.ScopeAPI), true, true},
		{"read_api", "mona", key("b", authz.ScopeReadAPI), true, false},
		{"read_repository", "x", key("c", authz.ScopeReadRepository), true, false},
		{"write_repository", "x", key("d", authz.ScopeWriteRepository), true, true},
		{"read_user", "x", key("e", authz.ScopeReadUser), false, false},
		{"no name", "", key("f", authz.ScopeAPI), false, false},
		{"password", "mona", "zebra-crossing-42", true, true},
		{"password by address", "Mona@example.com", "zebra-crossing-42", true, true},
		{"wrong password", "mona", "zebra-crossing-43", false, false},
		{"empty password", "mona", "", false, false},
		{"stranger", "nobody", "zebra-crossing-42", false, false},
		{"revoked", "mona", revokedKey, false, false},
	} {
		who, got, err := h.Tokens.AuthenticateGit(t.Context(), c.login, c.password, "")
		if want := (token.GitAccess{Read: c.read, Write: c.write}); got != want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, want)
		}
		if c.read && (err != nil || who.UserID != u.ID) || !c.read && !errs.Is(err, errs.Unauthorized) {
			t.Errorf("%s: got %+v, %v", c.name, who, err)
		}
	}
	if err := h.Settings.Set(t.Context(), "password_authentication_enabled_for_git", false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Tokens.AuthenticateGit(t.Context(), "mona", "zebra-crossing-42", ""); !errs.Is(err, errs.Unauthorized) {
		t.Errorf("passwords switched off: got %v", err)
	}
}
