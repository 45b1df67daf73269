package lfs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/lfs"
	"tenon/internal/core/project"
	"tenon/internal/core/sshkey"
	"tenon/internal/core/token"
)

func TestService_Redeem(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token, err := w.Token(lfs.Grant{Actor: w.dave, ProjectID: w.shop, Operation: lfs.Upload, OID: "x"})
		if err != nil {
			t.Fatal(err)
		}
		g, err := w.Redeem(t.Context(), token)
		if err != nil || g.Actor.UserID != w.dave.UserID || g.ProjectID != w.shop || g.Operation != lfs.Upload || g.OID != "x" {
			t.Errorf("grant: %+v, %v", g, err)
		}
		_, err = w.Redeem(t.Context(), token+"x")
		wants(t, err, errs.Unauthorized)
		w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.dave.UserID)
		_, err = w.Redeem(t.Context(), token)
		wants(t, err, errs.Forbidden)
		w.exec("UPDATE users SET state = 'active' WHERE id = ?", w.dave.UserID)
		w.later = lfs.TokenLife
		_, err = w.Redeem(t.Context(), token)
		wants(t, err, errs.Unauthorized)

		w.later = 0
		if token, err = w.Token(lfs.Grant{Actor: w.admin, ProjectID: w.shop, Operation: lfs.Download}); err != nil {
			t.Fatal(err)
		}
		w.exec("UPDATE users SET admin = ? WHERE id = ?", false, w.admin.UserID)
		if g, err = w.Redeem(t.Context(), token); err != nil || g.Actor.Admin {
			t.Errorf("an administrator of the past: %+v, %v", g.Actor, err)
		}
	})
}

// The attack: a token is revoked because it leaked, and what it was changed into before
// goes on for half an hour.
func TestService_Redeem_revoked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		tokens := w.tokens
		tok, _, err := tokens.Create(t.Context(), w.admin, w.dave.UserID, token.Input{Name: "ci", Scopes: authz.Scopes{authz.ScopeAPI}})
		if err != nil {
			t.Fatal(err)
		}
		deploy := token.DeployToken{NamespaceID: w.of(w.admin, w.shop).NamespaceID, Name: "mirror", ScopeText: string(authz.ScopeReadRepository)}
		if err := w.World.DB.InTx(t.Context(), func(ctx context.Context) error {
			_, err := tokens.KeepDeployToken(ctx, &deploy)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		own := w.dave
		own.TokenID = int64(tok.ID)
		for name, tt := range map[string]struct {
			as  authz.Actor
			end string
			id  token.ID
		}{
			"revoked": {own, "UPDATE access_tokens SET revoked = true WHERE id = ?", tok.ID},
			"deleted deploy token": {
				authz.Actor{Deploy: authz.Deploy{TokenID: int64(deploy.ID), Place: deploy.NamespaceID}}, "DELETE FROM access_tokens WHERE id = ?", deploy.ID,
			},
		} {
			token, err := w.Token(lfs.Grant{Actor: tt.as, ProjectID: w.shop, Operation: lfs.Download})
			if err != nil {
				t.Fatal(err)
			}
			if g, err := w.Redeem(t.Context(), token); err != nil || g.Actor.Deploy != tt.as.Deploy || g.Actor.UserID != tt.as.UserID {
				t.Errorf("%s, before: %+v, %v", name, g.Actor, err)
			}
			w.exec(tt.end, tt.id)
			_, err = w.Redeem(t.Context(), token)
			wants(t, err, errs.Unauthorized)
		}
	})
}

// The attack: a key that was lost is deleted, and a user who found it goes on for half an
// hour with what it was changed into before. The same with one that expires meanwhile.
func TestService_Redeem_key(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f lost"
		ends := w.World.Now().Add(10 * time.Minute)
		for name, tt := range map[string]struct {
			in  sshkey.Input
			end func(*sshkey.Key) error
		}{
			"deleted": {sshkey.Input{Title: "lost", Key: line}, func(k *sshkey.Key) error { return w.keys.Delete(t.Context(), w.dave, k.ID) }},
			"expired": {sshkey.Input{Title: "short", Key: line, ExpiresAt: &ends}, func(*sshkey.Key) error { w.later = 10 * time.Minute; return nil }},
		} {
			key, err := w.keys.Create(t.Context(), w.dave, tt.in)
			if err != nil {
				t.Fatal(err)
			}
			token, err := w.Token(lfs.Grant{Actor: w.dave, ProjectID: w.shop, Operation: lfs.Download, KeyID: key.ID})
			if err != nil {
				t.Fatal(err)
			}
			if g, err := w.Redeem(t.Context(), token); err != nil || g.Actor.UserID != w.dave.UserID || g.KeyID != key.ID {
				t.Errorf("%s, before: %+v, %v", name, g, err)
			}
			if err := tt.end(key); err != nil {
				t.Fatal(err)
			}
			_, err = w.Redeem(t.Context(), token)
			wants(t, err, errs.Unauthorized)
			if w.later > 0 {
				w.later = 0
				if err := w.keys.Delete(t.Context(), w.dave, key.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestService_Lock(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, at := t.Context(), func(as authz.Actor) *project.Project { return w.of(as, w.shop) }
		lock, err := w.Lock(ctx, w.dave, at(w.dave), "art/logo.psd")
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Lock(ctx, w.mary, at(w.mary), "art/logo.psd")
		if taken, ok := errors.AsType[*lfs.LockExists](err); !ok || taken.Lock.ID != lock.ID {
			t.Errorf("a second lock: %v", err)
		}
		for _, path := range []string{"", "/art", "../art", "art/../x", "art/", ".", "..", "a//b", strings.Repeat("a", 5000)} {
			_, err = w.Lock(ctx, w.dave, at(w.dave), path)
			wants(t, err, errs.Unprocessable)
		}
		_, err = w.Lock(ctx, w.rita, at(w.rita), "x")
		wants(t, err, errs.Forbidden)
		_, err = w.Lock(ctx, w.stan, at(w.stan), "x")
		wants(t, err, errs.NotFound)
		_, err = w.VerifyLocks(ctx, w.rita, at(w.rita), lfs.LockFilter{})
		wants(t, err, errs.Forbidden)
		_, err = w.Locks(ctx, w.stan, at(w.stan), lfs.LockFilter{})
		wants(t, err, errs.NotFound)
		if _, err = w.Lock(ctx, w.mary, at(w.mary), "b"); err != nil {
			t.Fatal(err)
		}
		for name, row := range map[string]struct {
			f    lfs.LockFilter
			want int
		}{
			"all": {lfs.LockFilter{}, 2}, "path": {lfs.LockFilter{Path: "b"}, 1}, "id": {lfs.LockFilter{ID: lock.ID}, 1},
			"after": {lfs.LockFilter{After: lock.ID}, 1}, "one": {lfs.LockFilter{Limit: 1}, 1}, "no": {lfs.LockFilter{Path: "c"}, 0},
			"no path": {lfs.LockFilter{Path: "\xff\x00"}, 0},
		} {
			if got, err := w.Locks(ctx, w.rita, at(w.rita), row.f); err != nil || len(got) != row.want {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}

		if path, who, err := w.LockedByOthers(ctx, w.mary, w.shop, []string{"a", "art/logo.psd", "b"}); err != nil || path != "art/logo.psd" || who != "Dave" {
			t.Errorf("locked against mary: %q by %q, %v", path, who, err)
		}
		if path, _, err := w.LockedByOthers(ctx, w.dave, w.shop, []string{"art/logo.psd"}); err != nil || path != "" {
			t.Errorf("locked against dave: %q, %v", path, err)
		}
		if is, err := w.Restrains(ctx, w.dave, w.shop); err != nil || !is {
			t.Errorf("restrains: %v, %v", is, err)
		}

		b, err := w.Locks(ctx, w.mary, at(w.mary), lfs.LockFilter{Path: "b"})
		if err != nil || len(b) != 1 {
			t.Fatal(b, err)
		}
		_, err = w.Unlock(ctx, w.dave, at(w.dave), b[0].ID, lfs.OwnOnly)
		wants(t, err, errs.Forbidden)
		_, err = w.Unlock(ctx, w.dave, at(w.dave), b[0].ID, lfs.ByForce)
		wants(t, err, errs.Forbidden)
		_, err = w.Unlock(ctx, w.dora, w.of(w.dora, w.den), lock.ID, lfs.ByForce) // of another project
		wants(t, err, errs.NotFound)
		_, err = w.Unlock(ctx, w.mary, at(w.mary), lock.ID, lfs.OwnOnly)
		wants(t, err, errs.Forbidden)
		if _, err = w.Unlock(ctx, w.mary, at(w.mary), lock.ID, lfs.ByForce); err != nil {
			t.Error(err)
		}
		if _, err = w.Unlock(ctx, w.mary, at(w.mary), b[0].ID, lfs.OwnOnly); err != nil {
			t.Error(err)
		}
		_, err = w.Unlock(ctx, w.mary, at(w.mary), lock.ID, lfs.OwnOnly)
		wants(t, err, errs.NotFound)
	})
}
