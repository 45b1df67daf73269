package signature_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"tenon/internal/base/errs"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/signature"
	"tenon/internal/core/sshkey"
)

func TestService_OfCommit_ssh(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		own, login, foreign, expiring := w.sshKey("own"), w.sshKey("login"), w.sshKey("foreign"), w.sshKey("expiring")
		kept := w.adds(w.dave, own, sshkey.Input{Usage: sshkey.Signing})
		w.adds(w.dave, login, sshkey.Input{Usage: sshkey.Auth})
		soon := w.Now().Add(time.Hour)
		w.adds(w.dave, expiring, sshkey.Input{ExpiresAt: &soon})

		w.signs(own, "dave@example.com", "verified")
		sig := w.of(t, "verified", signature.SSH, signature.Verified)
		if sig.SSH == nil || sig.SSH.ID != kept.ID {
			t.Errorf("got key %+v, want %d", sig.SSH, kept.ID)
		}
		w.signs(own, "mary@example.com", "others")
		w.of(t, "others", signature.SSH, signature.OtherUser)
		w.signs(own, "nobody@example.com", "nobodys")
		w.of(t, "nobodys", signature.SSH, signature.OtherUser)
		w.signs(own, "1-dave@users.noreply.tenon.test", "private")
		w.of(t, "private", signature.SSH, signature.Verified)
		w.signs(foreign, "dave@example.com", "unknown")
		if sig := w.of(t, "unknown", signature.SSH, signature.UnknownKey); sig.SSH != nil {
			t.Errorf("got key %+v, want none", sig.SSH)
		}
		w.signs(login, "dave@example.com", "no-signing-key")
		w.of(t, "no-signing-key", signature.SSH, signature.UnknownKey)
		w.signs(expiring, "dave@example.com", "before-expiry")

		content := w.git(w.bare, nil, "cat-file", "commit", "verified") + "\n"
		head, rest, _ := strings.Cut(content, "\ngpgsig ")
		armour, message, _ := strings.Cut(rest, "\n\n")
		armour = strings.ReplaceAll(armour, "\n ", "\n")
		payload := head + "\n\n" + message
		w.of(t, w.commit([]byte(payload), armour), signature.SSH, signature.Verified)
		w.of(t, w.commit([]byte(strings.Replace(payload, "Sign", "Forge", 1)), armour), signature.SSH, signature.Unverified)
		w.of(t, w.commit([]byte(payload), armour, armour), signature.SSH, signature.MultipleSignatures)
		w.of(t, w.commit([]byte(payload), "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----"), signature.SSH, signature.Unverified)
		// A signature that the same key made for another purpose proves nothing.
		file := w.run(w.work, []byte(payload), "ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", own)
		if i := strings.Index(file, "-----BEGIN"); i >= 0 {
			file = file[i:]
		}
		w.of(t, w.commit([]byte(payload), file), signature.SSH, signature.Unverified)

		// What a key signed before it expired stays good; what came after does not.
		w.of(t, "before-expiry", signature.SSH, signature.Verified)
		late := payload
		for _, word := range strings.Fields(payload) {
			if len(word) == 10 && strings.Trim(word, "0123456789") == "" {
				late = strings.ReplaceAll(late, word, "1900000000")
				break
			}
		}
		after := w.run(w.work, []byte(late), "ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", expiring)
		w.of(t, w.commit([]byte(late), after[strings.Index(after, "-----BEGIN"):]), signature.SSH, signature.Unverified)

		// Nothing is remembered: a key that is gone proves nothing any more.
		check(t, w.ssh.Delete(ctx, w.dave, kept.ID))
		w.of(t, "verified", signature.SSH, signature.UnknownKey)

		p := w.Find(w.dave, w.id)
		unsigned := w.commit([]byte(payload))
		for name, ref := range map[string]string{"unsigned": unsigned, "X.509": w.commit([]byte(payload), "-----BEGIN SIGNED MESSAGE-----\nAAAA\n-----END SIGNED MESSAGE-----")} {
			if _, err := w.signatures.OfCommit(ctx, w.dave, p, ref); !errs.Is(err, errs.NotFound) || err.Error() != "Signature not found" {
				t.Errorf("%s: got %v, want no signature", name, err)
			}
		}
		if _, err := w.signatures.OfCommit(ctx, w.guest, w.Find(w.guest, w.id), "verified"); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a guest of a private project: got %v, want forbidden", err)
		}
	})
}

func TestService_OfCommit_pgp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.Insert("emails", map[string]any{
			"user_id": w.dave.UserID, "email": "second@example.com", "email_fold": "second@example.com", "confirmed_at": w.Now(),
		})
		e := w.entity("dave@example.com", "dave@elsewhere.example")
		key, err := w.pgp.Create(ctx, w.dave, armored(t, e))
		check(t, err)
		payload := w.payload("dave@example.com")
		good := w.sign(e, payload)
		sig := w.of(t, w.commit(payload, good), signature.PGP, signature.Verified)
		if sig.PGP.ID == nil || *sig.PGP.ID != key.ID || sig.PGP.KeyID != gpgkey.KeyID(e.PrimaryKey.KeyId) || sig.PGP.SubkeyID == nil ||
			*sig.PGP.Name != "Dave Key" || *sig.PGP.Email != "dave@example.com" {
			t.Errorf("got %+v", sig.PGP)
		}
		subkeys := e.Subkeys
		e.Subkeys = nil // the primary key signs
		if sig := w.of(t, w.commit(payload, w.sign(e, payload)), signature.PGP, signature.Verified); sig.PGP.SubkeyID != nil {
			t.Errorf("signed by the primary key: got subkey %d", *sig.PGP.SubkeyID)
		}
		e.Subkeys = subkeys
		for _, c := range []struct {
			email string
			want  signature.Status
		}{
			{"Dave@Example.com", signature.Verified},
			{"second@example.com", signature.SameUser},
			{"dave@elsewhere.example", signature.OtherUser}, // the key claims it, but no user has proved it
			{"mary@example.com", signature.OtherUser},
		} {
			other := w.payload(c.email)
			w.of(t, w.commit(other, w.sign(e, other)), signature.PGP, c.want)
		}
		w.of(t, w.commit(w.payload("mary@example.com"), good), signature.PGP, signature.Unverified)
		w.of(t, w.commit(payload, good, good), signature.PGP, signature.MultipleSignatures)

		claims := w.entity("mary@example.com")
		_, err = w.pgp.Create(ctx, w.dave, armored(t, claims))
		check(t, err)
		hers := w.payload("mary@example.com")
		if sig := w.of(t, w.commit(hers, w.sign(claims, hers)), signature.PGP, signature.UnverifiedKey); *sig.PGP.Email != "mary@example.com" {
			t.Errorf("got %+v", sig.PGP)
		}
		foreign := w.entity("dave@example.com")
		if sig := w.of(t, w.commit(payload, w.sign(foreign, payload)), signature.PGP, signature.UnknownKey); sig.PGP.ID != nil || sig.PGP.Name != nil ||
			len(sig.PGP.KeyID) != 16 {
			t.Errorf("got %+v", sig.PGP)
		}
		garbage := w.commit(payload, "-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----")
		if _, err := w.signatures.OfCommit(ctx, w.dave, w.Find(w.dave, w.id), garbage); !errs.Is(err, errs.NotFound) {
			t.Errorf("garbage: got %v, want no signature", err)
		}

		// A key that its owner took back proves nothing, not even what is older.
		check(t, e.RevokeKey(packet.NoReason, "", &packet.Config{Time: w.Now}))
		check(t, w.pgp.Delete(ctx, w.dave, key.ID))
		w.of(t, w.commit(payload, good), signature.PGP, signature.UnknownKey)
		_, err = w.pgp.Create(ctx, w.dave, armored(t, e))
		check(t, err)
		w.of(t, w.commit(payload, good), signature.PGP, signature.Unverified)
	})
}

func TestService_OfTag(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		own := w.sshKey("own")
		w.adds(w.dave, own, sshkey.Input{})
		w.signs(own, "dave@example.com", "main")
		w.git(w.work, nil, "-c", "gpg.format=ssh", "-c", "user.signingkey="+own, "tag", "-s", "-m", "One", "v1")
		w.git(w.work, nil, "tag", "-a", "-m", "Two", "v2")
		w.git(w.work, nil, "tag", "v3")
		w.take()
		p := w.Find(w.dave, w.id)
		sig, err := w.signatures.OfTag(ctx, w.dave, p, "v1")
		if err != nil || sig.Kind != signature.SSH || sig.Status != signature.Verified {
			t.Errorf("signed tag: got %+v, %v", sig, err)
		}
		for _, name := range []string{"v2", "v3"} {
			if _, err := w.signatures.OfTag(ctx, w.dave, p, name); !errs.Is(err, errs.NotFound) || err.Error() != "Signature not found" {
				t.Errorf("%s: got %v, want no signature", name, err)
			}
		}
		if _, err := w.signatures.OfTag(ctx, w.dave, p, "v4"); err == nil || err.Error() != "Tag not found" {
			t.Errorf("got %v, want no tag", err)
		}
		e := w.entity("dave@example.com")
		_, err = w.pgp.Create(ctx, w.dave, armored(t, e))
		check(t, err)
		head := w.git(w.bare, nil, "rev-parse", "main")
		payload := "object " + head + "\ntype commit\ntag v5\ntagger Dave <dave@example.com> 1684757000 +0000\n\nFive\n"
		id := w.git(w.bare, []byte(payload+w.sign(e, []byte(payload))+"\n"), "hash-object", "-t", "tag", "-w", "--stdin")
		w.git(w.bare, nil, "update-ref", "refs/tags/v5", id)
		if sig, err := w.signatures.OfTag(ctx, w.dave, p, "v5"); err != nil || sig.Kind != signature.PGP || sig.Status != signature.Verified {
			t.Errorf("tag signed with OpenPGP: got %+v, %v", sig, err)
		}
	})
}
