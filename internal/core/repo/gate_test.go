package repo

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tenon/internal/core/authz"
)

func nobody(address string) authz.Actor { return authz.Actor{Address: address} }

// Signed-in callers wait and go before others; others are refused by address and in all,
// and do not wait for long.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(FetchLimits{Running: 2, PerAddress: 2})
		ann := authz.Actor{UserID: 1}
		first, err := g.enter(t.Context(), nobody("10.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		second, err := g.enter(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		enter := func(who string, as authz.Actor) {
			go func() {
				leave, err := g.enter(t.Context(), as)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					order = append(order, who+" busy")
					return
				}
				order = append(order, who)
				leave()
			}()
			synctest.Wait()
		}
		enter("other", nobody("10.0.0.2"))
		enter("ann", ann)
		enter("same address", nobody("10.0.0.1"))
		if _, err := g.enter(t.Context(), nobody("10.0.0.1")); !errors.Is(err, errBusy) {
			t.Errorf("a third of one address: %v", err)
		}
		if !g.full(nobody("10.0.0.1")) || g.full(nobody("10.0.0.3")) || g.full(ann) {
			t.Error("full for the wrong ones")
		}
		for i := range 2 {
			enter("more", nobody([]string{"fd00:1::1", "fd00:2::1"}[i]))
		}
		if _, err := g.enter(t.Context(), nobody("10.0.0.9")); !errors.Is(err, errBusy) {
			t.Errorf("one more than may wait: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.enter(gone, ann); !errors.Is(err, context.Canceled) {
			t.Errorf("gone: %v", err)
		}
		second()
		synctest.Wait()
		said := func() string {
			mu.Lock()
			defer mu.Unlock()
			return strings.Join(order, ",")
		}
		if said() != "ann" {
			t.Fatalf("got %v, want ann before the others; one of them runs already", said())
		}
		<-time.After(turn + time.Second) // by the clock of the bubble
		synctest.Wait()
		if strings.Count(said(), "busy") != 4 {
			t.Errorf("got %v, want the others sent away", said())
		}
		first()
		if leave, err := g.enter(t.Context(), nobody("10.0.0.1")); err != nil {
			t.Error(err)
		} else {
			leave()
		}
		if g.running != 0 || g.anonymous != 0 || len(g.from) != 0 || len(g.others) != 0 {
			t.Errorf("left over: %+v", g)
		}
	})
}

// The attack: one user holds more connections open than there are places, and says nothing.
func TestGate_one_actor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(FetchLimits{Running: 4, PerActor: 2})
		eve := authz.Actor{UserID: 1}
		gone, cancel := context.WithCancel(t.Context())
		var held, waiting sync.WaitGroup
		for range 10 {
			waiting.Add(1)
			held.Go(func() {
				leave, err := g.enter(gone, eve)
				waiting.Done()
				if err == nil {
					<-gone.Done()
					leave()
				}
			})
		}
		synctest.Wait()
		for _, as := range []authz.Actor{{UserID: 2}, {Deploy: authz.Deploy{KeyID: 1}}} {
			leave, err := g.enter(t.Context(), as)
			if err != nil {
				t.Fatal(err)
			}
			leave()
		}
		if g.running != 2 || g.full(authz.Actor{Deploy: authz.Deploy{TokenID: 1}, Address: "10.0.0.1"}) {
			t.Errorf("running %d", g.running)
		}
		cancel()
		waiting.Wait()
		held.Wait()
		if g.running != 0 || len(g.inside) != 0 || len(g.known) != 0 {
			t.Errorf("left over: %+v", g)
		}
	})
}
