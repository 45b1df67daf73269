package sshkey_test

import (
	"context"
	"crypto/dsa" //nolint:staticcheck // a key of a type that settings may forbid
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
	"tenon/internal/core/sshkey"
)

// house is a service over a fresh database with an administrator.
type house struct {
	*sshkey.Service
	sshkey.Deps // of the service
	world       *accounttest.World
	t           *testing.T
	d           *db.DB
	root        authz.Actor

	mu     sync.Mutex
	events []any
}

func newHouse(t *testing.T, d *db.DB) *house {
	t.Helper()
	w := accounttest.New(t, d)
	h := &house{world: w, t: t, d: d, root: w.Root}
	event.On(w.Bus, "test", func(_ context.Context, e sshkey.Added) error { h.record(e); return nil })
	event.On(w.Bus, "test", func(_ context.Context, e sshkey.Removed) error { h.record(e); return nil })
	h.Deps = sshkey.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Settings: w.Settings, Accounts: w.Service, Now: w.Now}
	h.Service = sshkey.New(h.Deps)
	return h
}

func (h *house) record(e any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func (h *house) user(name string) authz.Actor {
	h.t.Helper()
	_, as := h.world.User(name, func(in *account.Input) { in.Name, in.SkipConfirmation = "The "+name, true })
	return as
}

// add gives the actor a key.
func (h *house) add(as authz.Actor, line string, change ...func(in *sshkey.Input)) *sshkey.Key {
	h.t.Helper()
	in := sshkey.Input{Title: "laptop", Key: line}
	for _, c := range change {
		c(&in)
	}
	k, err := h.Create(h.t.Context(), as, in)
	if err != nil {
		h.t.Fatalf("add key: %v", err)
	}
	return k
}

// line is a public key as ssh-keygen prints it.
func line(t testing.TB, public any, comment string) string {
	t.Helper()
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + comment
}

func publicOf(t testing.TB, text string) ssh.PublicKey {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ed(t testing.TB) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return line(t, public, " me@home")
}

func ecKey(t testing.TB, curve elliptic.Curve) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return line(t, &key.PublicKey, "")
}

// rsaKey is a key of so many bits that no user can sign with.
func rsaKey(t testing.TB, bits int) string {
	t.Helper()
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return line(t, &rsa.PublicKey{N: n.Add(n, big.NewInt(12345)), E: 65537}, " me@home")
}

// dsaKey is a key of the right size that no user can sign with.
func dsaKey(t testing.TB) string {
	t.Helper()
	p := new(big.Int).Lsh(big.NewInt(1), 1023)
	q := new(big.Int).Lsh(big.NewInt(1), 159)
	return line(t, &dsa.PublicKey{Parameters: dsa.Parameters{P: p.Add(p, big.NewInt(1)), Q: q.Add(q, big.NewInt(1)), G: big.NewInt(2)}, Y: big.NewInt(7)}, "")
}

// wantErr compares kind and text of a refusal.
func wantErr(t *testing.T, err error, kind errs.Kind, text string) {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want %v %q", err, kind, text)
	}
	if e.Kind != kind || e.Error() != text {
		t.Errorf("got %v %q, want %v %q", e.Kind, e.Error(), kind, text)
	}
}
