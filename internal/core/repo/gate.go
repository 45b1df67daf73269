package repo

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// FetchLimits bound how many fetches git works on at a time. What is answered from the
// cache, or along with another that is the same, does not count.
type FetchLimits struct {
	Running    int // in all; 0 is 32. Three quarters of them may be for anonymous callers.
	PerAddress int // for anonymous callers from one address, those that wait included; 0 is 16
	PerActor   int // for one user, deploy key or deploy token; more of them wait, and let others by; 0 is half of Running
}

// turn is how long a user who is not signed in waits.
const turn = 10 * time.Second

// RetryAfter is how long clients that are told to come again should wait.
const RetryAfter = 5 * time.Second

// errBusy is told to anonymous callers while there is too much to do. Git sends credentials
// for a public project only when it is told to: by itself it waits for a 401.
var errBusy = &errs.Error{
	Kind: errs.Unavailable,
	Message: "The server is busy with other fetches. Please try again in a few seconds, or sign in: signed-in users wait their turn " +
		"(git sends credentials for a public project with http.proactiveAuth=basic, from 2.46 on, or an Authorization header in http.extraHeader).",
}

// gate lets in so many fetches at a time. Those who are known wait for their turn and go
// first, though no user takes every place; the others wait for a short time, and not too
// many of them.
type gate struct {
	limits FetchLimits

	mu        sync.Mutex
	running   int
	anonymous int                  // of those that run
	from      map[netip.Prefix]int // anonymous ones, waiting or running, by address
	inside    map[who]int          // known ones that run
	known     []*waiter
	others    []*waiter
}

// who tells known actors apart.
type who struct {
	user   authz.UserID
	deploy authz.Deploy
}

type waiter struct {
	who  who
	turn chan struct{} // closed when it is
}

func newGate(l FetchLimits) *gate {
	if l.Running <= 0 {
		l.Running = 32
	}
	if l.PerAddress <= 0 {
		l.PerAddress = 16
	}
	if l.PerActor <= 0 {
		l.PerActor = max(l.Running/2, 1)
	}
	return &gate{limits: l, from: map[netip.Prefix]int{}, inside: map[who]int{}}
}

// full reports whether an anonymous caller would be refused.
func (g *gate) full(as authz.Actor) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refuses(as, origin(as.Address))
}

func (g *gate) refuses(as authz.Actor, from netip.Prefix) bool {
	return !as.Known() && (g.from[from] >= g.limits.PerAddress || len(g.others) >= 2*g.limits.Running)
}

// enter waits for a turn and returns the function that ends it. Anonymous callers are
// refused with errBusy where it would be long.
func (g *gate) enter(ctx context.Context, as authz.Actor) (leave func(), err error) {
	from := origin(as.Address)
	w := &waiter{who: who{as.UserID, as.Deploy}, turn: make(chan struct{})}
	g.mu.Lock()
	if g.refuses(as, from) {
		g.mu.Unlock()
		return nil, errBusy
	}
	queue, patience := &g.known, (<-chan time.Time)(nil)
	if !as.Known() {
		queue = &g.others
		g.from[from]++
		timer := time.NewTimer(turn)
		defer timer.Stop()
		patience = timer.C
	}
	*queue = append(*queue, w)
	g.admit()
	g.mu.Unlock()
	leave = func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running--
		if as.Known() {
			if g.inside[w.who]--; g.inside[w.who] == 0 {
				delete(g.inside, w.who)
			}
		} else {
			g.anonymous--
			g.forget(from)
		}
		g.admit()
	}
	select {
	case <-w.turn:
		return leave, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-patience:
		err = errBusy
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range *queue {
		if other == w {
			*queue = append((*queue)[:i:i], (*queue)[i+1:]...)
			if !as.Known() {
				g.forget(from)
			}
			return nil, err
		}
	}
	return leave, nil // it was let in at the last moment
}

// forget counts an anonymous caller off; g.mu is held.
func (g *gate) forget(from netip.Prefix) {
	if g.from[from]--; g.from[from] <= 0 {
		delete(g.from, from)
	}
}

// admit lets in whose turn it is; g.mu is held.
func (g *gate) admit() {
	waiting := g.known[:0]
	for _, w := range g.known {
		if g.running == g.limits.Running || g.inside[w.who] >= g.limits.PerActor {
			waiting = append(waiting, w)
			continue
		}
		close(w.turn)
		g.running++
		g.inside[w.who]++
	}
	clear(g.known[len(waiting):])
	g.known = waiting
	for g.running < g.limits.Running && g.anonymous < max(g.limits.Running*3/4, 1) && len(g.others) > 0 {
		close(g.others[0].turn)
		g.others = g.others[1:]
		g.running++
		g.anonymous++
	}
}

// origin is what counts as one address: an address of IPv4, a network of 64 bits of IPv6.
func origin(address string) netip.Prefix {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := ip.Unmap().WithZone(""), 32
	if ip.Is6() {
		bits = 64
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
