package gpgkey_test

import (
	"bytes"
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/limit"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

func entity(t *testing.T, bits int) *openpgp.Entity {
	t.Helper()
	config := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC) }}
	if bits > 0 {
		config.Algorithm, config.RSABits = packet.PubKeyAlgoRSA, bits
	}
	e, err := openpgp.NewEntity("Ann", "", "ann@example.com", config)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func armored(t *testing.T, kind string, write func(b *bytes.Buffer) error) string {
	t.Helper()
	var raw, out bytes.Buffer
	if err := write(&raw); err != nil {
		t.Fatal(err)
	}
	w, err := armor.Encode(&out, kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(raw.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func public(t *testing.T, e *openpgp.Entity) string {
	t.Helper()
	return armored(t, openpgp.PublicKeyType, func(b *bytes.Buffer) error { return e.Serialize(b) })
}

func TestService(t *testing.T) {
	t.Parallel()
	ann, other := entity(t, 0), entity(t, 0)
	key := public(t, ann)
	wrapped := strings.Replace(key, "-----\n\n", "-----\nComment: of Ann\n\n", 1)
	secret := armored(t, openpgp.PrivateKeyType, func(b *bytes.Buffer) error { return ann.SerializePrivate(b, nil) })
	disguised := armored(t, openpgp.PublicKeyType, func(b *bytes.Buffer) error { return ann.SerializePrivate(b, nil) })
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		accounts := account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: setting.New(d, w.Now), Now: w.Now, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.test"}, "")})
		s := gpgkey.New(gpgkey.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: accounts, Now: w.Now})
		var events []any
		event.On(w.Bus, "test", func(_ context.Context, e gpgkey.Added) error { events = append(events, e); return nil })
		event.On(w.Bus, "test", func(_ context.Context, e gpgkey.Removed) error { events = append(events, e); return nil })
		ctx, root := t.Context(), w.Admin("root")
		as, bob := w.User("ann"), w.User("bob")

		garbage := "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----"
		for _, c := range []struct{ name, text string }{
			{"nothing", " \n"},
			{"no key", "hello"},
			{"a secret key", secret},
			{"a secret key under another title", disguised},
			{"two keys", key + "\n" + key},
			{"garbage", garbage},
			{"too long", "-----BEGIN PGP PUBLIC KEY BLOCK-----" + strings.Repeat("A", 300_000) + "-----END PGP PUBLIC KEY BLOCK-----"},
		} {
			_, err := s.Create(ctx, as, c.text)
			if !errs.Is(err, errs.Invalid) {
				t.Errorf("%s: got %v, want invalid", c.name, err)
			}
		}
		k, err := s.Create(ctx, as, "\n"+key+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if k.PublicKey != strings.TrimSpace(key) || k.KeyID != gpgkey.KeyID(ann.PrimaryKey.KeyId) || len(k.Fingerprint) != 40 {
			t.Errorf("got %+v", k)
		}
		for name, text := range map[string]string{"the same": key, "the same with other words": wrapped} {
			if _, err := s.Create(ctx, bob, text); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "has already been taken") {
				t.Errorf("%s: got %v, want taken", name, err)
			}
		}
		for _, id := range []uint64{ann.PrimaryKey.KeyId, ann.Subkeys[0].PublicKey.KeyId} {
			found, err := s.ByKeyID(ctx, gpgkey.KeyID(id))
			if err != nil || len(found) != 1 || found[0].ID != k.ID || (found[0].SubkeyID != nil) != (id != ann.PrimaryKey.KeyId) {
				t.Errorf("by key id: got %+v, %v", found, err)
			}
		}
		hers, err := s.CreateFor(ctx, root, bob.UserID, public(t, other))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateFor(ctx, as, bob.UserID, key); !errs.Is(err, errs.Forbidden) {
			t.Errorf("for somebody else: got %v, want forbidden", err)
		}
		if _, err := s.CreateFor(ctx, root, 999, key); err == nil || err.Error() != "User not found" {
			t.Errorf("for nobody: got %v", err)
		}
		if list, err := s.List(ctx, authz.Actor{}, "bob", page.Range{}); err != nil || list.Total != 1 || list.Items[0].ID != hers.ID {
			t.Errorf("list: got %+v, %v", list, err)
		}
		if _, err := s.Find(ctx, authz.Actor{}, "bob", k.ID); err == nil || err.Error() != "GPG Key not found" {
			t.Errorf("a key of another: got %v", err)
		}
		if err := s.Delete(ctx, as, hers.ID); err == nil || err.Error() != "GPG Key not found" {
			t.Errorf("delete a key of another: got %v", err)
		}
		if err := s.DeleteFor(ctx, root, bob.UserID, hers.ID); err != nil {
			t.Error(err)
		}
		if err := s.Delete(ctx, as, k.ID); err != nil {
			t.Error(err)
		}
		if list, err := s.ListOwn(ctx, as, page.Range{}); err != nil || list.Total != 0 {
			t.Errorf("own list: got %+v, %v, want nothing", list, err)
		}
		if len(events) != 4 || events[0].(gpgkey.Added).After.ID != k.ID || events[3].(gpgkey.Removed).Before.Fingerprint != k.Fingerprint {
			t.Errorf("published %+v", events)
		}
	})
}

// A key whose numbers are so large that it takes minutes to compute with them is refused
// before anything is.
func TestEntity_huge(t *testing.T) {
	t.Parallel()
	e := entity(t, 2048)
	raw := &bytes.Buffer{}
	if err := e.Serialize(raw); err != nil {
		t.Fatal(err)
	}
	if _, err := gpgkey.Entity(public(t, e)); err != nil {
		t.Errorf("a key of 2048 bits: %v", err)
	}
	modulus := bytes.Repeat([]byte{0xff}, 60_000/8)
	body := append([]byte{4, 0, 0, 0, 1, 1}, byte(len(modulus)*8>>8), byte(len(modulus)*8&0xff))
	body = append(append(body, modulus...), 0, 17, 1, 0, 1)
	header := []byte{0xc6, 0xff, 0, 0, byte(len(body) >> 8), byte(len(body) & 0xff)}
	huge := armored(t, openpgp.PublicKeyType, func(b *bytes.Buffer) error {
		b.Write(header)
		b.Write(body)
		b.Write(raw.Bytes())
		return nil
	})
	if _, err := gpgkey.Entity(huge); err == nil || err.Error() != "a key of more than 8192 bits" {
		t.Errorf("a key of 60,000 bits: got %v", err)
	}
}

func FuzzEntity(f *testing.F) {
	f.Add("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := gpgkey.Entity(text)
		if err == nil {
			gpgkey.Identities(e, time.Now())
		}
	})
}
