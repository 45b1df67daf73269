package token_test

import (
	"errors"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
	"tenon/internal/core/token"
)

func TestService_Create_invalid(t *testing.T) {
	t.Parallel()
	h := accounttest.New(t, dbtest.Open(t, false))
	_, plain := h.User("plain")
	api := authz.Scopes{authz.ScopeAPI}
	for _, c := range []struct {
		name string
		as   authz.Actor
		user authz.UserID
		in   token.Input
		kind errs.Kind
		want string
	}{
		{"anonymous", authz.Actor{}, 1, token.Input{Name: "x", Scopes: api}, errs.Unauthorized, "unauthorized"},
		{"not an administrator", plain, plain.UserID, token.Input{Name: "x", Scopes: api}, errs.Forbidden, "forbidden"},
		{"no such user", h.Root, 99, token.Input{Name: "x", Scopes: api}, errs.NotFound, "User not found"},
		{"blank name", h.Root, 1, token.Input{Name: "  ", Scopes: api}, errs.Unprocessable, "Name can't be blank"},
		{"no scopes", h.Root, 1, token.Input{Name: "x"}, errs.Unprocessable, "Scopes can't be blank"},
		{"blank name, no scopes", h.Root, 1, token.Input{}, errs.Unprocessable, "Name can't be blank and Scopes can't be blank"},
		{"unknown scope", h.Root, 1, token.Input{Name: "x", Scopes: authz.Scopes{"all"}}, errs.Unprocessable, "Scopes can only contain available scopes"},
		{"no day", h.Root, 1, token.Input{Name: "x", Scopes: api, ExpiresOn: new("soon")}, errs.Unprocessable, "Expires at is invalid"},
		{"too late", h.Root, 1, token.Input{Name: "x", Scopes: api, ExpiresOn: new("2027-05-05")}, errs.Unprocessable, "Expires at must be before 2027-05-04"},
	} {
		_, _, err := h.Tokens.Create(t.Context(), c.as, c.user, c.in)
		t.Run(c.name, func(t *testing.T) { accounttest.WantError(t, err, c.kind, c.want) })
	}
	tok, _ := h.Token(1, "x")
	if tok.ExpiresOn == nil || *tok.ExpiresOn != "2027-05-04" {
		t.Errorf("got last day %v, want 2027-05-04", tok.ExpiresOn)
	}
	set := func(name string, value any) {
		t.Helper()
		if err := h.Settings.Set(t.Context(), name, value); err != nil {
			t.Fatal(err)
		}
	}
	set("require_personal_access_token_expiry", false)
	if tok, _ = h.Token(1, "for ever"); tok.ExpiresOn != nil {
		t.Errorf("got last day %s where none is needed", *tok.ExpiresOn)
	}
	set("max_personal_access_token_lifetime", 30)
	if tok, _ = h.Token(1, "y"); *tok.ExpiresOn != "2026-06-03" {
		t.Errorf("got last day %s, want thirty days", *tok.ExpiresOn)
	}
}

func TestService_Find(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		mona, asMona := h.User("mona")
		_, asVan := h.User("vincent")
		tok, key := h.Token(mona.ID, "ci")
		for _, as := range []authz.Actor{asMona, h.Root} {
			if got, err := h.Tokens.Find(t.Context(), as, tok.ID); err != nil || got.Name != "ci" || got.LastUsedAt != nil {
				t.Errorf("got %+v, %v, want the token, not used yet", got, err)
			}
		}
		if _, _, err := h.Tokens.Authenticate(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Tokens.Find(t.Context(), asMona, tok.ID); err != nil || got.LastUsedAt == nil || !got.LastUsedAt.Equal(h.Now()) {
			t.Errorf("got %+v, %v, want its use known at once", got, err)
		}
		_, err := h.Tokens.Find(t.Context(), asVan, tok.ID)
		accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")
		_, err = h.Tokens.Find(t.Context(), asVan, 999)
		accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")
		_, err = h.Tokens.Find(t.Context(), h.Root, 999)
		accounttest.WantError(t, err, errs.NotFound, "not found")

		err = h.Tokens.Revoke(t.Context(), asVan, tok.ID)
		accounttest.WantError(t, err, errs.BadRequest, "bad request")
		if err := h.Tokens.Revoke(t.Context(), h.Root, tok.ID); err != nil {
			t.Fatal(err)
		}
		err = h.Tokens.Revoke(t.Context(), asMona, tok.ID)
		accounttest.WantError(t, err, errs.BadRequest, "bad request")
		if got, err := h.Tokens.Find(t.Context(), asMona, tok.ID); err != nil || !got.Revoked {
			t.Errorf("got %+v, %v, want it readable still, revoked", got, err)
		}
	})
}

// The attack: who guesses the number of a token with which administrators act for them
// rotates it, and holds its secret instead of them.
func TestService_Find_impersonation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		mona, asMona := h.User("mona")
		tok, key, err := h.Tokens.CreateImpersonation(t.Context(), h.Root, mona.ID, token.Input{Name: "support", Scopes: authz.Scopes{authz.ScopeAPI}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.Tokens.Find(t.Context(), asMona, tok.ID)
		accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")
		_, _, err = h.Tokens.Rotate(t.Context(), asMona, tok.ID, nil)
		accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")
		err = h.Tokens.Revoke(t.Context(), asMona, tok.ID)
		accounttest.WantError(t, err, errs.BadRequest, "bad request")
		as, _, err := h.Tokens.Authenticate(t.Context(), key)
		if err != nil {
			t.Fatalf("after all that it is of no use: %v", err)
		}
		for name, of := range map[string]func() (*token.Token, error){
			"an administrator": func() (*token.Token, error) { return h.Tokens.Find(t.Context(), h.Root, tok.ID) },
			"its holder":       func() (*token.Token, error) { return h.Tokens.Own(t.Context(), as) },
		} {
			if got, err := of(); err != nil || got.Name != "support" {
				t.Errorf("%s: got %+v, %v", name, got, err)
			}
		}
	})
}

func TestService_Rotate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		mona, as := h.User("mona")
		_, other := h.User("other")
		first, firstKey := h.Token(mona.ID, "ci", authz.ScopeReadAPI)

		_, _, err := h.Tokens.Rotate(t.Context(), other, first.ID, nil)
		accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")
		second, secondKey, err := h.Tokens.Rotate(t.Context(), as, first.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		if second.ID == first.ID || second.Name != "ci" || second.ScopeText != "read_api" || *second.ExpiresOn != "2026-05-11" {
			t.Errorf("got %+v, want the same rights for a week", second)
		}
		if _, _, err := h.Tokens.Authenticate(t.Context(), firstKey); !errors.Is(err, token.ErrRevoked) {
			t.Errorf("old secret: got %v", err)
		}
		if _, _, err := h.Tokens.Authenticate(t.Context(), secondKey); err != nil {
			t.Errorf("new secret: got %v", err)
		}
		third, thirdKey, err := h.Tokens.Rotate(t.Context(), as, second.ID, new("2026-12-24"))
		if err != nil || *third.ExpiresOn != "2026-12-24" {
			t.Fatalf("got %+v, %v, want the day asked for", third, err)
		}
		if _, _, err := h.Tokens.Authenticate(t.Context(), thirdKey); err != nil {
			t.Errorf("third secret: got %v", err)
		}
		_, _, err = h.Tokens.Rotate(t.Context(), as, third.ID, new("2027-12-24"))
		accounttest.WantError(t, err, errs.BadRequest, "Expires at must be before 2027-05-04")

		// A user who rotates a token that was rotated before holds a stolen copy, or was
		// stolen from: all tokens of the family are revoked.
		_, _, err = h.Tokens.Rotate(t.Context(), as, first.ID, nil)
		accounttest.WantError(t, err, errs.BadRequest, "Token already revoked")
		if _, _, err := h.Tokens.Authenticate(t.Context(), thirdKey); !errors.Is(err, token.ErrRevoked) {
			t.Errorf("after reuse: got %v, want the family revoked", err)
		}
	})
}

func TestService_RevokeReused(t *testing.T) {
	t.Parallel()
	h := accounttest.New(t, dbtest.Open(t, false))
	mona, as := h.User("mona")
	first, firstKey := h.Token(mona.ID, "ci")
	_, secondKey, err := h.Tokens.Rotate(t.Context(), as, first.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, bystander := h.Token(mona.ID, "other")
	if err := h.Tokens.RevokeReused(t.Context(), bystander); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Tokens.Authenticate(t.Context(), secondKey); err != nil {
		t.Errorf("got %v, want a good token to revoke nothing", err)
	}
	if err := h.Tokens.RevokeReused(t.Context(), firstKey); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Tokens.Authenticate(t.Context(), secondKey); !errors.Is(err, token.ErrRevoked) {
		t.Errorf("got %v, want the successor revoked", err)
	}
	if _, _, err := h.Tokens.Authenticate(t.Context(), bystander); err != nil {
		t.Errorf("got %v, want other tokens untouched", err)
	}
}

func TestService_List(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		mona, as := h.User("mona")
		h.Token(mona.ID, "alpha")
		h.Pass(time.Hour)
		beta, _ := h.Token(mona.ID, "Beta")
		h.Pass(time.Hour)
		gamma, key := h.Token(mona.ID, "gamma_x")
		if err := h.Tokens.Revoke(t.Context(), as, beta.ID); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.Tokens.Authenticate(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(h.Tokens.Flush(t.Context()), h.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		day, err := db.Get[string](t.Context(), d, "SELECT last_activity_on FROM users WHERE id = ?", mona.ID)
		if err != nil || day != "2026-05-04" {
			t.Errorf("got last activity %q, %v", day, err)
		}
		for _, c := range []struct {
			name string
			as   authz.Actor
			f    token.Filter
			want []string
		}{
			{"own", as, token.Filter{}, []string{"alpha", "Beta", "gamma_x"}},
			{"everybody's", h.Root, token.Filter{}, []string{"initial root token", "alpha", "Beta", "gamma_x"}},
			{"one user's", h.Root, token.Filter{UserID: &mona.ID}, []string{"alpha", "Beta", "gamma_x"}},
			{"active", as, token.Filter{Active: true}, []string{"alpha", "gamma_x"}},
			{"inactive", as, token.Filter{Inactive: true}, []string{"Beta"}},
			{"revoked", as, token.Filter{Revoked: new(true)}, []string{"Beta"}},
			{"not revoked", as, token.Filter{Revoked: new(false)}, []string{"alpha", "gamma_x"}},
			{"search", as, token.Filter{Search: "BET"}, []string{"Beta"}},
			{"search for a wildcard", as, token.Filter{Search: "a_"}, []string{"gamma_x"}},
			{"used", as, token.Filter{LastUsedAfter: new(h.Now().Add(-time.Minute))}, []string{"gamma_x"}},
			{"created after", as, token.Filter{CreatedAfter: new(gamma.CreatedAt.Add(-time.Second))}, []string{"gamma_x"}},
			{"created before", as, token.Filter{CreatedBefore: new(beta.CreatedAt.Add(-time.Second))}, []string{"alpha"}},
			{"expires before", as, token.Filter{ExpiresBefore: "2026-05-05"}, []string{}},
			{"by name", as, token.Filter{Sort: "name_desc"}, []string{"gamma_x", "Beta", "alpha"}},
			{"newest", as, token.Filter{Sort: "created_desc"}, []string{"gamma_x", "Beta", "alpha"}},
			{"newest by its other name", as, token.Filter{Sort: "created_at_desc"}, []string{"gamma_x", "Beta", "alpha"}},
			{"by number, backwards", as, token.Filter{Sort: "id_desc"}, []string{"gamma_x", "Beta", "alpha"}},
			{"changed last", as, token.Filter{Sort: "updated_desc", Range: page.Range{Limit: 1}}, []string{"gamma_x"}},
			{"an order that there is not", as, token.Filter{Sort: "odd"}, []string{"alpha", "Beta", "gamma_x"}},
			{"last used", as, token.Filter{Sort: "last_used_desc"}, []string{"gamma_x", "Beta", "alpha"}},
			{"second page", as, token.Filter{Range: page.Range{Limit: 2, Offset: 2}}, []string{"gamma_x"}},
		} {
			list, err := h.Tokens.List(t.Context(), c.as, c.f)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			got := []string{}
			for _, tok := range list.Items {
				got = append(got, tok.Name)
			}
			accounttest.SameList(t, c.name, got, c.want)
			if c.f.Limit == 0 && list.Total != len(c.want) {
				t.Errorf("%s: got total %d, want %d", c.name, list.Total, len(c.want))
			}
		}
		_, err = h.Tokens.List(t.Context(), as, token.Filter{UserID: &h.Root.UserID})
		accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")
		_, err = h.Tokens.List(t.Context(), authz.Actor{}, token.Filter{})
		accounttest.WantError(t, err, errs.Unauthorized, "unauthorized")
	})
}

func TestService_Start(t *testing.T) {
	t.Parallel()
	h := accounttest.New(t, dbtest.Open(t, false))
	h.Tokens.Start()
	if _, _, err := h.Tokens.Authenticate(t.Context(), accounttest.RootToken); err != nil {
		t.Fatal(err)
	}
	if err := h.Tokens.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	at, err := db.Get[db.Time](t.Context(), h.DB, "SELECT last_used_at FROM access_tokens WHERE id = 1")
	if err != nil || !at.Equal(h.Now()) {
		t.Errorf("got %v, %v, want the use written down at the end", at, err)
	}
}

// A session makes tokens with the scopes of its person; a token makes none that way.
func TestService_CreateInSession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		u, err := h.Create(t.Context(), h.Root, account.Input{Username: "ann", Name: "Ann", Email: "ann@example.com", ForceRandomPassword: true, SkipConfirmation: true})
		if err != nil {
			t.Fatal(err)
		}
		session, other, admin := u.Actor(), u.Actor(), h.Root
		session.Session, other.TokenID, other.Scopes = 7, 8, authz.AllScopes()
		admin.Session, admin.TokenID, admin.Scopes = 9, 0, nil
		for _, tt := range []struct {
			name   string
			as     authz.Actor
			scopes authz.Scopes
			want   errs.Kind
		}{
			{"nobody", authz.Actor{}, authz.Scopes{authz.ScopeAPI}, errs.Unauthorized},
			{"a token", other, authz.Scopes{authz.ScopeReadAPI}, errs.Forbidden},
			{"a session", session, authz.Scopes{authz.ScopeAPI, authz.ScopeWriteRepository}, 0},
			{"a session that wants sudo", session, authz.Scopes{authz.ScopeSudo}, errs.Invalid},
			{"an administrator's session", admin, authz.Scopes{authz.ScopeSudo}, 0},
			{"no scopes", session, nil, errs.Invalid},
			{"an unknown scope", session, authz.Scopes{"everything"}, errs.Invalid},
		} {
			got, key, err := h.Tokens.CreateInSession(t.Context(), tt.as, token.Input{Name: "laptop", Scopes: tt.scopes})
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
			if as, _, err := h.Tokens.Authenticate(t.Context(), key); err != nil || as.UserID != tt.as.UserID || as.TokenID != int64(got.ID) {
				t.Errorf("%s: got the actor %+v, %v; want user %d", tt.name, as, err, tt.as.UserID)
			}
		}
	})
}
