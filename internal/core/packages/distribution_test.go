package packages

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/base/secret"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/setting"
)

type world struct {
	*coretest.World
	packages  *Service
	jobs      []makeKey
	at        authz.Place // a group
	developer authz.Actor
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	box, err := secret.NewBox(secret.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	w.packages = New(Deps{
		DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Settings: setting.New(d, w.Now), Box: box, Now: w.Now, Log: slog.New(slog.DiscardHandler), Email: "noreply@tenon.example",
		Jobs: job.EnqueuerFunc(func(_ context.Context, args job.Args, _ ...job.Option) error {
			mu.Lock()
			defer mu.Unlock()
			if args, ok := args.(makeKey); ok {
				w.jobs = append(w.jobs, args)
			}
			return nil
		}),
	})
	w.developer = w.User("developer")
	id := w.Group("tools", authz.Private, 0)
	w.Member(id, w.developer, authz.Developer)
	w.at = coretest.GroupAt(id, authz.Private)
	return w
}

// The signing key is made once, by a job; its private half is encrypted for its distribution.
func TestService_DistributionKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), context.Background()
		made, err := w.packages.CreateDistribution(ctx, w.developer, w.at, "sid", DistributionChanges{})
		if err != nil || len(w.jobs) != 1 {
			t.Fatalf("%v, %d jobs", err, len(w.jobs))
		}
		if _, _, err := w.packages.DistributionKey(ctx, w.developer, w.at, "sid"); !errs.Is(err, errs.NotFound) {
			t.Errorf("before the job: %v", err)
		}
		for range 2 {
			if err := w.packages.makeKey(ctx, w.jobs[0]); err != nil {
				t.Fatal(err)
			}
		}
		_, public, err := w.packages.DistributionKey(ctx, w.developer, w.at, "sid")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := db.Select[signingKey](ctx, d, "SELECT "+db.Columns[signingKey]("k")+" FROM debian_distribution_keys k ORDER BY k.id")
		if err != nil || len(rows) != 1 || strings.Contains(rows[0].Sealed, "PRIVATE") {
			t.Fatalf("%d keys, %v", len(rows), err)
		}
		if _, ok := w.packages.Box.Try(sealedFor(made.ID+1), rows[0].Sealed); ok {
			t.Error("the key of another distribution can be put in its place")
		}
		private, err := w.packages.Box.Open(sealedFor(made.ID), rows[0].Sealed)
		if err != nil {
			t.Fatal(err)
		}
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(private))
		if err != nil {
			t.Fatal(err)
		}
		var signature bytes.Buffer
		if err := openpgp.ArmoredDetachSign(&signature, ring[0], strings.NewReader("Release"), nil); err != nil {
			t.Fatal(err)
		}
		known, err := openpgp.ReadArmoredKeyRing(strings.NewReader(public))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openpgp.CheckArmoredDetachedSignature(known, strings.NewReader("Release"), &signature, nil); err != nil {
			t.Errorf("signature: %v", err)
		}
		if bits, _ := known[0].PrimaryKey.BitLength(); bits != 4096 || len(known[0].Subkeys) != 0 {
			t.Errorf("a key of %d bits with %d subkeys", bits, len(known[0].Subkeys))
		}
		// A job that comes after the end of its distribution has nothing to do.
		if err := w.packages.makeKey(ctx, makeKey{made.ID + 1}); err != nil {
			t.Error(err)
		}
	})
}

// A new key signs beside the old one for a month, and alone from then on; both are in key.asc until then.
func TestService_RotateKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), context.Background()
		w.packages.KeyBits = 2048
		made, err := w.packages.CreateDistribution(ctx, w.developer, w.at, "sid", DistributionChanges{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.packages.makeKey(ctx, makeKey{made.ID}); err != nil {
			t.Fatal(err)
		}
		// signed are the keys of key.asc and the signatures of a text.
		signed := func() (known openpgp.EntityList, signatures int) {
			t.Helper()
			_, public, err := w.packages.DistributionKey(ctx, w.developer, w.at, "sid")
			if err != nil {
				t.Fatal(err)
			}
			if known, err = openpgp.ReadArmoredKeyRing(strings.NewReader(public)); err != nil {
				t.Fatal(err)
			}
			keys, err := w.packages.signers(ctx, made.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				_, apart, err := sign("Release\n", openpgp.EntityList{key}, w.Now())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := openpgp.CheckArmoredDetachedSignature(known, strings.NewReader("Release\n"), strings.NewReader(apart), nil); err != nil {
					t.Errorf("signature: %v", err)
				}
			}
			return known, len(keys)
		}
		if _, err := w.packages.RotateKeys(ctx, w.developer, "", func(int, int) {}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("as a developer: %v", err)
		}
		for path, want := range map[string]int{"nowhere": 0, "tools": 1} {
			n, err := w.packages.RotateKeys(ctx, authz.System(), path, func(int, int) {})
			if n != want || (err != nil) != (want == 0) {
				t.Errorf("%s: %d keys, %v", path, n, err)
			}
		}
		if known, signatures := signed(); len(known) != 2 || signatures != 2 {
			t.Errorf("%d keys and %d signatures, want 2 of each", len(known), signatures)
		}
		if err := w.packages.dropRetiredKeys(ctx); err != nil {
			t.Fatal(err)
		}
		if known, _ := signed(); len(known) != 2 {
			t.Errorf("%d keys before the month is over", len(known))
		}
		if _, err := d.Exec(ctx, "UPDATE debian_distribution_keys SET retire_at = ? WHERE retire_at IS NOT NULL", db.At(w.Now())); err != nil {
			t.Fatal(err)
		}
		if err := w.packages.dropRetiredKeys(ctx); err != nil {
			t.Fatal(err)
		}
		if known, signatures := signed(); len(known) != 1 || signatures != 1 {
			t.Errorf("%d keys and %d signatures, want 1 of each", len(known), signatures)
		}
	})
}

// Of calls that take one name at a time, as codename and as suite, one has it.
func TestService_CreateDistribution_together(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), context.Background()
		const name, calls = "stable", 8
		var all sync.WaitGroup
		errors := make([]error, calls)
		for i := range calls {
			all.Go(func() {
				codename, c := name, DistributionChanges{}
				if i%2 == 1 {
					codename, c.Suite = fmt.Sprintf("code%d", i), Text{Set: true, Value: new(name)}
				}
				_, errors[i] = w.packages.CreateDistribution(ctx, w.developer, w.at, codename, c)
			})
		}
		all.Wait()
		won := 0
		for _, err := range errors {
			switch {
			case err == nil:
				won++
			case !errs.Is(err, errs.Invalid):
				t.Errorf("a call that lost: %v", err)
			}
		}
		list, err := w.packages.Distributions(ctx, w.developer, w.at, DistributionFilter{Range: page.Range{Limit: 100}})
		if err != nil || won != 1 || len(list.Items) != 1 {
			t.Errorf("%d calls had the name, %d distributions, %v", won, len(list.Items), err)
		}
	})
}
