package secret

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
	"pgregory.net/rapid"
)

func box(t *testing.T) *Box {
	t.Helper()
	b, err := NewBox(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBox(t *testing.T) {
	t.Parallel()
	b := box(t)
	rapid.Check(t, func(t *rapid.T) {
		text, place := rapid.String().Draw(t, "text"), rapid.String().Draw(t, "place")
		sealed := b.Seal(place, text)
		if got, err := b.Open(place, sealed); err != nil || got != text {
			t.Fatalf("Open(Seal(%q)) = %q, %v", text, got, err)
		}
		if len(text) > 6 && strings.Contains(sealed, text) {
			t.Fatalf("%q shows %q", sealed, text)
		}
		if _, err := b.Open(place+"x", sealed); !errors.Is(err, ErrSealed) {
			t.Fatalf("Open in another place: %v, want ErrSealed", err)
		}
	})
}

func TestBox_Seal_differs(t *testing.T) {
	t.Parallel()
	b := box(t)
	if x, y := b.Seal("a", "same"), b.Seal("a", "same"); x == y {
		t.Errorf("two seals of one text are equal: %q", x)
	}
}

func TestBox_Open_refuses(t *testing.T) {
	t.Parallel()
	b := box(t)
	sealed := b.Seal("hooks.token:7", "s3cret")
	broken := []byte(sealed)
	broken[len(broken)/2] ^= 1
	for _, tt := range []struct{ name, place, sealed string }{
		{"another row", "hooks.token:8", sealed},
		{"changed", "hooks.token:7", string(broken)},
		{"cut", "hooks.token:7", sealed[:len(sealed)-4]},
		{"clear text", "hooks.token:7", "s3cret"},
		{"empty", "hooks.token:7", ""},
		{"version alone", "hooks.token:7", "v1."},
		{"another version", "hooks.token:7", "v2" + sealed[2:]},
		{"not base64", "hooks.token:7", "v1.!!!!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := b.Open(tt.place, tt.sealed); !errors.Is(err, ErrSealed) || got != "" {
				t.Errorf("Open = %q, %v, want ErrSealed", got, err)
			}
		})
	}
	if _, err := box(t).Open("hooks.token:7", sealed); !errors.Is(err, ErrSealed) {
		t.Errorf("another key: %v, want ErrSealed", err)
	}
}

func FuzzBox_Open(f *testing.F) {
	b, err := NewBox(make([]byte, KeySize))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("place", b.Seal("place", "text"))
	f.Add("place", "v1.AAAA")
	f.Fuzz(func(t *testing.T, place, sealed string) {
		text, err := b.Open(place, sealed)
		if err != nil && (!errors.Is(err, ErrSealed) || text != "") {
			t.Errorf("Open(%q) = %q, %v", sealed, text, err)
		}
	})
}

func TestNewBox_size(t *testing.T) {
	t.Parallel()
	if _, err := NewBox(make([]byte, 16)); err == nil {
		t.Error("a key of 16 bytes was taken")
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Load(dir); !errors.Is(err, ErrNoKey) {
		t.Errorf("an empty folder: got %v, want ErrNoKey", err)
	}
	first, err := Make(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != KeySize {
		t.Fatalf("key file: %v, %v, want mode 0600 and %d bytes", info, err, KeySize)
	}
	second, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := second.Open("p", first.Seal("p", "kept")); err != nil || got != "kept" {
		t.Errorf("after a restart: %q, %v", got, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the folder: %v, %v, want the key alone", entries, err)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if kept, err := Replace(dir); err != nil || kept != "" {
		t.Fatalf("without a key: got %q, %v", kept, err)
	}
	first, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(filepath.Join(dir, KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		kept, err := Replace(dir)
		if err != nil {
			t.Fatal(err)
		}
		if old, err := os.ReadFile(kept); err != nil || !bytes.Equal(old, was) {
			t.Errorf("the old key was not kept in %q: %v", kept, err)
		}
		second, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := second.Open("p", first.Seal("p", "secret")); !errors.Is(err, ErrSealed) {
			t.Errorf("the new key opens what the old one sealed: %v", err)
		}
		if was, err = os.ReadFile(filepath.Join(dir, KeyFile)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLoad_together(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	boxes := make([]*Box, 16)
	var wg sync.WaitGroup
	for i := range boxes {
		wg.Go(func() {
			b, err := Make(dir)
			if err != nil {
				t.Error(err)
			}
			boxes[i] = b
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	sealed := boxes[0].Seal("p", "one key")
	for i, b := range boxes {
		if _, err := b.Open("p", sealed); err != nil {
			t.Errorf("box %d has another key: %v", i, err)
		}
	}
}

func TestLoad_refuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		key  []byte
		mode os.FileMode
		want string
	}{
		{"group may read", NewKey(), 0o640, "chmod 600"},
		{"world may read", NewKey(), 0o604, "chmod 600"},
		{"group may write", NewKey(), 0o620, "chmod 600"},
		{"short", make([]byte, 31), 0o600, "31 bytes instead of 32"},
		{"empty", nil, 0o600, "restore it from a backup"},
		{"long", make([]byte, 64), 0o600, "64 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			name := filepath.Join(dir, KeyFile)
			if err := os.WriteFile(name, tt.key, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(name, tt.mode); err != nil {
				t.Fatal(err)
			}
			_, err := Load(dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load: %v, want %q in it", err, tt.want)
			}
			if now, _ := os.ReadFile(name); !bytes.Equal(now, tt.key) {
				t.Error("the key file was changed")
			}
		})
	}
	t.Run("a folder", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, KeyFile), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil {
			t.Error("a folder was taken for a key")
		}
	})
	t.Run("no data folder", func(t *testing.T) {
		t.Parallel()
		if _, err := Make(filepath.Join(t.TempDir(), "missing")); err == nil {
			t.Error("a missing data folder passed")
		}
	})
}

func TestNewToken(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`^glpat-[A-Za-z0-9_-]{20}$`)
	seen := map[string]bool{}
	for range 1000 {
		token := NewToken(AccessTokenPrefix)
		if !shape.MatchString(token) {
			t.Fatalf("NewToken = %q, want %s", token, shape)
		}
		if seen[token] {
			t.Fatalf("%q came twice", token)
		}
		seen[token] = true
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-2, appendix B.1
	if got := Digest("abc"); got != want {
		t.Errorf("Digest(abc) = %s, want %s", got, want)
	}
}

func TestHasher(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), NewHasher()
	hash, err := h.Hash(ctx, "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash = %q", hash)
	}
	old, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, hash, password string
		want                 bool
	}{
		{"right", hash, "correct horse", true},
		{"wrong", hash, "correct horsf", false},
		{"empty password", hash, "", false},
		{"bcrypt, right", string(old), "correct horse", true},
		{"bcrypt, wrong", string(old), "wrong", false},
		{"no hash", "", "", false},
		{"too long", hash, strings.Repeat("x", MaxPassword+1), false},
		// Made with the reference program of the algorithm's authors.
		{"cheaper cost", "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc", "password", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := h.Verify(ctx, tt.hash, tt.password)
			if err != nil || got != tt.want {
				t.Errorf("Verify = %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestHasher_Verify_damaged(t *testing.T) {
	t.Parallel()
	h := NewHasher()
	for _, hash := range []string{
		"plain", "$argon2id$", "$argon2i$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA",
		"$argon2id$v=16$m=19456,t=2,p=1$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA",
		"$argon2id$v=19$m=99999999,t=2,p=1$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA",
		"$argon2id$v=19$m=19456,t=0,p=1$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA",
		"$argon2id$v=19$m=19456,t=2,p=0$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA",
		"$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$", "$argon2id$v=19$m=19456,t=2,p=1$$c29tZXNhbHRzb21lc2FsdA",
		"$2a$31$abcdefghijklmnopqrstuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu", "$2a$", "$2",
	} {
		if ok, err := h.Verify(t.Context(), hash, "password"); ok || err == nil {
			t.Errorf("Verify(%q) = %v, %v, want an error", hash, ok, err)
		}
	}
}

func TestHasher_limits(t *testing.T) {
	t.Parallel()
	h := NewHasher()
	if _, err := h.Hash(t.Context(), strings.Repeat("x", MaxPassword+1)); err == nil {
		t.Error("a password over the limit was hashed")
	}
	if err := h.slots.Acquire(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := h.Hash(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Hash with both places taken: %v, want the deadline", err)
	}
	if err := h.VerifyNobody(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("VerifyNobody with both places taken: %v, want the deadline", err)
	}
	h.slots.Release(2)
	if err := h.VerifyNobody(t.Context(), "x"); err != nil {
		t.Errorf("VerifyNobody: %v", err)
	}
}

// A flood of sign-ons is refused at once beyond a short queue; those in it are served.
func TestHasher_Verify_flood(t *testing.T) {
	t.Parallel()
	h := NewHasher()
	if err := h.slots.Acquire(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	const flood = 3 * maxWaiting
	results := make(chan error, flood)
	for range flood {
		go func() { _, err := h.Verify(t.Context(), "", "guess"); results <- err }()
	}
	for range flood - maxWaiting { // no caller in the queue comes back before there is a slot
		if err := <-results; !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want busy", err)
		}
	}
	if n := h.waiting.Load(); n != maxWaiting {
		t.Errorf("%d wait, want %d", n, maxWaiting)
	}
	h.slots.Release(2)
	for range maxWaiting {
		if err := <-results; err != nil {
			t.Errorf("in the queue: got %v", err)
		}
	}
	if n := h.waiting.Load(); n != 0 {
		t.Errorf("%d wait in the end, want none", n)
	}
}

func BenchmarkHasher_Hash(b *testing.B) {
	h := NewHasher()
	for b.Loop() {
		if _, err := h.Hash(b.Context(), "correct horse battery staple"); err != nil {
			b.Fatal(err)
		}
	}
}
