package sshkey_test

import (
	"crypto/elliptic"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/sshkey"
)

const vagrant = "ssh-rsa AAAAB3NzaC1yc2EAAAABIwAAAQEA6NF8iallvQVp22WDkTkyrtvp9eWW6A8YVr+kz4TjGYe7gHzIw+niNltGEFHzD8+v1I2YJ6oXevct1YeS0o9HZyN1Q9qgCgzUFtdOKLv6IedplqoPkcmF0aYet2PkEDo3MlTBckFXPITAMzF8dJSIFo9D8HfdOV0IAdx4O7PtixWKn5y2hMNG0zQPyUecp4pzC6kivAIhyfHilFR61RGL+GPXQ2MWZWFYbAGjyiYJnAmCP3NOTd0jMZEnDkbUvxhMmBYSdETk1rRgm+R4LOzFUGaHqHDLKLX+FIPKcF96hrucXzcWyLbIbEgE98OHlnVYCzRdK8jlqm8tehUc9c9WhQ=="

func TestService_Create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ann := h.user("ann")
		text := ed(t)
		k := h.add(ann, "  "+text+"\n", func(in *sshkey.Input) { in.Title = " laptop " })
		if k.Title != "laptop" || k.Usage != sshkey.AuthAndSigning || k.ExpiresAt != nil || k.LastUsedAt != nil {
			t.Errorf("got %+v", k)
		}
		if got, want := k.Line("tenon.example"), strings.TrimSuffix(text, "me@home")+"The ann (tenon.example)"; got != want {
			t.Errorf("got line %q, want %q", got, want)
		}
		if len(h.events) != 1 || h.events[0].(sshkey.Added).After.OwnerUsername != "ann" {
			t.Errorf("got events %+v, want one of an added key", h.events)
		}
		later := h.Now().Add(time.Hour)
		signs := h.add(ann, ed(t), func(in *sshkey.Input) { in.Usage, in.ExpiresAt = sshkey.Signing, &later })
		if signs.Usage != sshkey.Signing || signs.ExpiresAt == nil || !signs.ExpiresAt.Equal(later) {
			t.Errorf("got %+v, want one for signing until %v", signs, later)
		}
		_, err := h.Create(t.Context(), authz.Actor{}, sshkey.Input{Title: "x", Key: ed(t)})
		wantErr(t, err, errs.Unauthorized, "unauthorized")
	})
}

func TestService_Create_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ann, ben := h.user("ann"), h.user("ben")
		taken := ed(t)
		h.add(ben, taken)
		const garbage = "key is invalid, fingerprint_sha256 cannot be generated"
		good := ed(t)
		algorithm, rest, _ := strings.Cut(good, " ")
		past := h.Now()
		for _, tt := range []struct {
			name, title, key string
			expires          *time.Time
			want             string
		}{
			{"garbage", "t", "ssh-rsa nonsense", nil, garbage},
			{"nothing", "t", " ", nil, "key can't be blank, is invalid, fingerprint_sha256 cannot be generated"},
			{"with options", "t", `command="sh" ` + good, nil, garbage},
			{"two keys", "t", good + "\n" + ed(t), nil, garbage},
			{"another algorithm than it says", "t", "ssh-rsa " + rest, nil, garbage},
			{"unknown algorithm", "t", "ssh-ed448 " + rest, nil, garbage},
			{"certificate", "t", "ssh-ed25519-cert-v01@openssh.com " + rest, nil, garbage},
			{"cut short", "t", algorithm + " " + rest[:20], nil, garbage},
			{"private key", "t", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\n-----END OPENSSH PRIVATE KEY-----", nil, garbage},
			{"blank title", " ", good, nil, "title can't be blank"},
			{"long title", strings.Repeat("t", 256), good, nil, "title is too long (maximum is 255 characters)"},
			{"long key", "t", good + strings.Repeat("x", 5000), nil, "key is too long (maximum is 5000 characters)"},
			{"taken", "t", taken, nil, "fingerprint_sha256 has already been taken"},
			{"expired", "t", good, &past, "key has expired"},
			{"too small for anybody", "t", rsaKey(t, 768), nil, "key must be at least 1024 bits"},
			{"too large", "t", rsaKey(t, 8200), nil, "key must be at most 8192 bits"},
			{"known to everybody", "t", vagrant, nil, "key cannot be used because it belongs to a compromised private key. Stop using this key and generate a new one."},
		} {
			_, err := h.Create(t.Context(), ann, sshkey.Input{Title: tt.title, Key: tt.key, ExpiresAt: tt.expires})
			t.Run(tt.name, func(t *testing.T) { wantErr(t, err, errs.Invalid, tt.want) })
		}
	})
}

func TestService_Create_restricted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ann := h.user("ann")
		for _, text := range []string{rsaKey(t, 1024), dsaKey(t), ecKey(t, elliptic.P256()), ecKey(t, elliptic.P521())} {
			h.add(ann, text)
		}
		for name, least := range map[string]int{
			"rsa_key_restriction": 3072, "dsa_key_restriction": -1, "ecdsa_key_restriction": 384, "ed25519_sk_key_restriction": -1,
		} {
			if err := h.Settings.Set(t.Context(), name, least); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct{ name, key, want string }{
			{"RSA", rsaKey(t, 2048), "key must be at least 3072 bits"},
			{"DSA", dsaKey(t), "key type is forbidden. Must be RSA, ECDSA, ED25519, or ECDSA_SK"},
			{"ECDSA", ecKey(t, elliptic.P256()), "key must be at least 384 bits"},
		} {
			_, err := h.Create(t.Context(), ann, sshkey.Input{Title: "t", Key: tt.key})
			t.Run(tt.name, func(t *testing.T) { wantErr(t, err, errs.Invalid, tt.want) })
		}
		h.add(ann, rsaKey(t, 4096))
		h.add(ann, ecKey(t, elliptic.P384()))
	})
}

func TestService_Create_race(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		people := []authz.Actor{h.user("ann"), h.user("ben"), h.user("cal"), h.user("dan")}
		text := ed(t)
		results := make([]error, len(people))
		var wg sync.WaitGroup
		for i, as := range people {
			wg.Go(func() { _, results[i] = h.Create(t.Context(), as, sshkey.Input{Title: "t", Key: text}) })
		}
		wg.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
				continue
			}
			wantErr(t, err, errs.Invalid, "fingerprint_sha256 has already been taken")
		}
		if won != 1 {
			t.Errorf("got %d keys, want one", won)
		}
	})
}

func TestService_others(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ctx := t.Context()
		ann, ben := h.user("ann"), h.user("ben")
		k := h.add(ann, ed(t))
		made, err := h.CreateFor(ctx, h.root, ben.UserID, sshkey.Input{Title: "given", Key: ed(t)})
		if err != nil || *made.UserID != ben.UserID {
			t.Fatalf("got %+v, %v, want a key of ben", made, err)
		}
		_, err = h.CreateFor(ctx, ann, ben.UserID, sshkey.Input{Title: "given", Key: ed(t)})
		wantErr(t, err, errs.Forbidden, "forbidden")
		_, err = h.CreateFor(ctx, h.root, 999, sshkey.Input{Title: "given", Key: ed(t)})
		wantErr(t, err, errs.NotFound, "User not found")

		for _, ref := range []string{"ann", "ANN", "2"} { // root is 1
			list, err := h.List(ctx, authz.Actor{}, ref, page.Range{})
			if err != nil || list.Total != 1 || len(list.Items) != 1 || list.Items[0].ID != k.ID {
				t.Errorf("keys of %s: got %+v, %v, want one", ref, list, err)
			}
		}
		_, err = h.List(ctx, ann, "nobody", page.Range{})
		wantErr(t, err, errs.NotFound, "User not found")
		if got, err := h.Find(ctx, authz.Actor{}, "ann", k.ID); err != nil || got.ID != k.ID {
			t.Errorf("got %+v, %v", got, err)
		}
		_, err = h.Find(ctx, h.root, "ann", made.ID) // of another user
		wantErr(t, err, errs.NotFound, "Key not found")
		_, err = h.FindOwn(ctx, ann, made.ID)
		wantErr(t, err, errs.NotFound, "Key not found")

		wantErr(t, h.Delete(ctx, ann, made.ID), errs.NotFound, "Key not found")
		wantErr(t, h.DeleteFor(ctx, ann, ben.UserID, made.ID), errs.Forbidden, "forbidden")
		wantErr(t, h.DeleteFor(ctx, h.root, ann.UserID, made.ID), errs.NotFound, "Key not found")
		if err := h.DeleteFor(ctx, h.root, ben.UserID, made.ID); err != nil {
			t.Error(err)
		}
		if err := h.Delete(ctx, ann, k.ID); err != nil {
			t.Error(err)
		}
		wantErr(t, h.Delete(ctx, ann, k.ID), errs.NotFound, "Key not found")
		if list, err := h.ListOwn(ctx, ann, page.Range{}); err != nil || list.Total != 0 {
			t.Errorf("got %+v, %v, want no key", list, err)
		}
		if last := h.events[len(h.events)-1].(sshkey.Removed); last.Before.ID != k.ID || last.Before.SHA256 != k.SHA256 {
			t.Errorf("got %+v, want the removal of %s", last, k.SHA256)
		}
	})
}

func TestService_ByFingerprint(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ctx := t.Context()
		ann := h.user("ann")
		k := h.add(ann, ed(t))
		for _, text := range []string{
			k.SHA256, "sha256:" + strings.TrimPrefix(k.SHA256, "SHA256:"), k.SHA256 + "=", k.MD5, strings.ToUpper(k.MD5),
		} {
			if got, err := h.ByFingerprint(ctx, h.root, text); err != nil || got.ID != k.ID {
				t.Errorf("%s: got %+v, %v, want key %d", text, got, err, k.ID)
			}
		}
		for _, text := range []string{
			"", "x", "MD5:" + k.MD5, k.MD5[3:], strings.ReplaceAll(k.MD5, ":", ""), k.SHA256[:30], "SHA256:" + strings.Repeat("!", 43),
		} {
			_, err := h.ByFingerprint(ctx, h.root, text)
			wantErr(t, err, errs.Invalid, "Failed to return the key")
		}
		_, err := h.ByFingerprint(ctx, h.root, "SHA256:"+strings.Repeat("A", 43))
		wantErr(t, err, errs.NotFound, "Key not found")
		_, err = h.ByFingerprint(ctx, ann, k.SHA256)
		wantErr(t, err, errs.Forbidden, "forbidden")
		_, err = h.ByFingerprint(ctx, authz.Actor{}, k.SHA256)
		wantErr(t, err, errs.Unauthorized, "unauthorized")
		if got, err := h.ByID(ctx, h.root, k.ID); err != nil || got.MD5 != k.MD5 {
			t.Errorf("got %+v, %v", got, err)
		}
		_, err = h.ByID(ctx, ann, k.ID)
		wantErr(t, err, errs.Forbidden, "forbidden")
		_, err = h.ByID(ctx, h.root, 999)
		wantErr(t, err, errs.NotFound, "not found")
	})
}

// A key that was added before the settings forbade its like opens nothing any more.
func TestService_SignOn_restricted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ann := h.user("ann")
		weak, old, good := h.add(ann, rsaKey(t, 1024)), h.add(ann, dsaKey(t)), h.add(ann, ed(t))
		for _, k := range []*sshkey.Key{weak, old, good} {
			if _, err := h.SignOn(t.Context(), k.ID); err != nil {
				t.Fatal(err)
			}
		}
		for name, least := range map[string]int{"rsa_key_restriction": 3072, "dsa_key_restriction": -1} {
			if err := h.Settings.Set(t.Context(), name, least); err != nil {
				t.Fatal(err)
			}
		}
		_, err := h.SignOn(t.Context(), weak.ID)
		wantErr(t, err, errs.Forbidden, "Your SSH key must be at least 3072 bits.")
		_, err = h.SignOn(t.Context(), old.ID)
		wantErr(t, err, errs.Forbidden, "Your SSH key type is forbidden. Must be RSA, ECDSA, ED25519, ECDSA_SK, or ED25519_SK.")
		if _, err := h.SignOn(t.Context(), good.ID); err != nil {
			t.Errorf("a key of a good kind: %v", err)
		}
	})
}

func TestService_SignOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ctx := t.Context()
		ann := h.user("ann")
		text := ed(t)
		end := h.Now().Add(48 * time.Hour)
		k := h.add(ann, text, func(in *sshkey.Input) { in.Usage, in.ExpiresAt = sshkey.Auth, &end })
		signs := ed(t)
		h.add(ann, signs, func(in *sshkey.Input) { in.Usage = sshkey.Signing })

		id, err := h.Recognize(ctx, publicOf(t, text))
		if err != nil || id != k.ID {
			t.Fatalf("got key %d, %v, want %d", id, err, k.ID)
		}
		for _, other := range []string{signs, ed(t)} {
			_, err := h.Recognize(ctx, publicOf(t, other))
			wantErr(t, err, errs.Unauthorized, "unauthorized")
		}
		as, err := h.SignOn(ctx, id)
		if err != nil || as.UserID != ann.UserID || as.Username != "ann" || as.Admin {
			t.Errorf("got %+v, %v, want ann", as, err)
		}
		read := func() *db.Time {
			row, err := db.Get[*db.Time](ctx, d, "SELECT last_used_at FROM ssh_keys WHERE id = ?", id)
			if err != nil {
				t.Fatal(err)
			}
			return row
		}
		if got, err := h.FindOwn(ctx, ann, id); err != nil || got.LastUsedAt == nil || !got.LastUsedAt.Equal(h.Now()) {
			t.Errorf("got last use %v, %v, want now", got.LastUsedAt, err)
		}
		if at := read(); at != nil {
			t.Errorf("got %v written down, want nothing before the flush", at)
		}
		if err := h.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if at := read(); at == nil || !at.Equal(h.Now()) {
			t.Errorf("got %v written down, want now", at)
		}
		if err := h.Accounts.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if u, err := h.Accounts.Find(ctx, h.root, ann.UserID); err != nil || u.LastActivityOn == nil || *u.LastActivityOn != "2026-05-04" {
			t.Errorf("got last activity %v, %v, want today", u.LastActivityOn, err)
		}

		if _, err := h.Accounts.Block(ctx, h.root, ann.UserID); err != nil {
			t.Fatal(err)
		}
		_, err = h.SignOn(ctx, id)
		wantErr(t, err, errs.Forbidden, "Your account has been blocked.")
		if _, err := h.Accounts.Unblock(ctx, h.root, ann.UserID); err != nil {
			t.Fatal(err)
		}
		h.world.Pass(48 * time.Hour)
		_, err = h.SignOn(ctx, id)
		wantErr(t, err, errs.Forbidden, "Your SSH key has expired.")
		if err := h.Delete(ctx, ann, id); err != nil {
			t.Fatal(err)
		}
		_, err = h.SignOn(ctx, id)
		wantErr(t, err, errs.Unauthorized, "unauthorized")
	})
}
