package ratelimit_test

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/ratelimit"
)

// clock stands until it is moved.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC).UnixNano())
	return c
}
func (c *clock) now() time.Time       { return time.Unix(0, c.at.Load()) }
func (c *clock) pass(d time.Duration) { c.at.Add(int64(d)) }

func perMinute(n int) ratelimit.Limit {
	return ratelimit.Limit{Name: "notes", Most: n, Every: time.Minute}
}

func TestCounter_Add(t *testing.T) {
	t.Parallel()
	at := newClock()
	c := ratelimit.New(at.now)
	at.pass(59 * time.Second)
	for i := 1; i <= 4; i++ {
		u := c.Add(perMinute(3), ratelimit.Key{Who: 1})
		if u.Observed != i || u.Exceeded() != (i > 3) || u.Wait != time.Second {
			t.Errorf("event %d: got %+v, exceeded: %t", i, u, u.Exceeded())
		}
	}
	for name, other := range map[string]struct {
		limit ratelimit.Limit
		key   ratelimit.Key
	}{
		"another caller":  {perMinute(3), ratelimit.Key{Who: 2}},
		"another thing":   {perMinute(3), ratelimit.Key{Who: 1, What: 7}},
		"another name":    {perMinute(3), ratelimit.Key{Who: 1, Text: "README"}},
		"another network": {perMinute(3), ratelimit.Key{From: ratelimit.NetworkOf("192.0.2.1")}},
		"another limit":   {ratelimit.Limit{Name: "issues", Most: 3, Every: time.Minute}, ratelimit.Key{Who: 1}},
		"another period":  {ratelimit.Limit{Name: "notes", Most: 3, Every: time.Hour}, ratelimit.Key{Who: 1}},
	} {
		if u := c.Add(other.limit, other.key); u.Observed != 1 {
			t.Errorf("%s: observed %d, want 1", name, u.Observed)
		}
	}
	if u := c.Add(perMinute(10), ratelimit.Key{Who: 1}); u.Exceeded() || u.Observed != 5 {
		t.Errorf("raised in the window: %+v", u)
	}
	if u := c.Add(perMinute(0), ratelimit.Key{Who: 1}); u.Exceeded() {
		t.Errorf("switched off: %+v", u)
	}
	at.pass(time.Second)
	if u := c.Add(perMinute(3), ratelimit.Key{Who: 1}); u.Exceeded() || u.Observed != 1 || u.Wait != time.Minute {
		t.Errorf("in the next window: %+v", u)
	}
}

// Of fifty who come at once exactly as many pass as may.
func TestCounter_parallel(t *testing.T) {
	t.Parallel()
	c := ratelimit.New(newClock().now)
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 40 {
				if !c.Add(perMinute(333), ratelimit.Key{Who: 1}).Exceeded() {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if passed.Load() != 333 {
		t.Errorf("%d passed, want 333", passed.Load())
	}
}

// The attack: a million addresses take all memory, or push one's own counter out so that
// it begins again.
func TestCounter_flood(t *testing.T) {
	t.Parallel()
	at := newClock()
	c := ratelimit.New(at.now)
	mine := ratelimit.Key{Who: 42}
	for range 3 {
		c.Add(perMinute(3), mine)
	}
	for i := range int64(1_000_000) {
		c.Add(perMinute(3), ratelimit.Key{What: i})
	}
	if n := c.Len(); n > 400_000 {
		t.Errorf("%d counters are kept", n)
	}
	if u := c.Add(perMinute(3), mine); !u.Exceeded() || u.Observed != 4 {
		t.Errorf("after the flood my counter says %+v", u)
	}
	// Who comes late shares a counter with others, and is refused too early rather than never.
	refused := false
	for range 4 {
		refused = c.Add(perMinute(3), ratelimit.Key{Who: 43}).Exceeded()
	}
	if !refused {
		t.Error("a newcomer has no limit")
	}
	at.pass(10 * time.Minute)
	for i := range int64(10_000) {
		c.Add(perMinute(3), ratelimit.Key{What: i})
	}
	if n := c.Len(); n > 10_000 {
		t.Errorf("%d counters are kept after the flood is over", n)
	}
	if u := c.Add(perMinute(3), ratelimit.Key{Who: 43}); u.Observed != 1 {
		t.Errorf("the newcomer still shares: %+v", u)
	}
}

func TestCounter_allocatesNothing(t *testing.T) {
	c := ratelimit.New(newClock().now)
	l, k := perMinute(3), ratelimit.Key{Who: 1, What: 2, Text: "docs/README.md"}
	c.Add(l, k)
	if n := testing.AllocsPerRun(100, func() { c.Add(l, k) }); n != 0 {
		t.Errorf("an event allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { ratelimit.NetworkOf("2001:db8::1") }); n != 0 {
		t.Errorf("reading an address allocates %v times", n)
	}
	runtime.KeepAlive(c)
}

func TestNetworkOf(t *testing.T) {
	t.Parallel()
	for _, pair := range []struct {
		a, b     string
		same     bool
		loopback bool
	}{
		{"192.0.2.1", "192.0.2.1:5000", true, false},
		{"192.0.2.1", "::ffff:192.0.2.1", true, false},
		{"192.0.2.1", "192.0.2.2", false, false},
		{"2001:db8:0:1::1", "[2001:db8:0:1:ffff::9]:443", true, false},
		{"2001:db8:0:1::1", "2001:db8:0:2::1", false, false},
		{"fe80::1%eth0", "fe80::2", true, false},
		{"127.0.0.1", "127.0.0.2", false, true},
		{"::1", "[::1]:80", true, true},
		{"", "@", true, true},
	} {
		a, b := ratelimit.NetworkOf(pair.a), ratelimit.NetworkOf(pair.b)
		if (a == b) != pair.same || a.Loopback() != pair.loopback {
			t.Errorf("%q and %q: same %t, loopback %t", pair.a, pair.b, a == b, a.Loopback())
		}
	}
}

func TestExceeded(t *testing.T) {
	t.Parallel()
	reset := time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)
	e := &ratelimit.Exceeded{After: 61*time.Second + 1, Usage: ratelimit.Usage{
		Limit: ratelimit.Limit{Name: "throttle_authenticated_api", Most: 3601, Every: time.Hour}, Observed: 3602, Reset: reset,
	}}
	h := http.Header{}
	e.Headers(h)
	got := fmt.Sprint(h)
	if want := "map[Ratelimit-Limit:[61] Ratelimit-Name:[throttle_authenticated_api] Ratelimit-Observed:[3602] Ratelimit-Remaining:[0] " +
		"Ratelimit-Reset:[1795345200] Ratelimit-Resettime:[Sun, 22 Nov 2026 11:00:00 GMT] Retry-After:[62]]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if e.Body() != "Retry later\n" {
		t.Errorf("body %q", e.Body())
	}
}

func TestBans(t *testing.T) {
	t.Parallel()
	at := newClock()
	b := ratelimit.NewBans(at.now)
	mallory, ann := ratelimit.NetworkOf("192.0.2.66"), ratelimit.NetworkOf("192.0.2.1")
	b.Ban(mallory, time.Hour)
	at.pass(time.Hour - time.Second)
	if !b.Banned(mallory) || b.Banned(ann) {
		t.Errorf("before the end: %t and %t", b.Banned(mallory), b.Banned(ann))
	}
	at.pass(time.Second)
	if b.Banned(mallory) {
		t.Error("kept out for longer")
	}
	// A flood lets no caller in who is kept out.
	b.Ban(mallory, time.Hour)
	for i := range 20_000 {
		b.Ban(ratelimit.NetworkOf(fmt.Sprintf("10.0.%d.%d", i/256, i%256)), time.Minute)
	}
	if !b.Banned(mallory) || b.Banned(ratelimit.NetworkOf("10.0.78.31")) {
		t.Error("the flood changed who is kept out")
	}
	at.pass(time.Minute)
	b.Ban(ann, time.Minute)
	if !b.Banned(ann) {
		t.Error("no room after the flood is over")
	}
}

func BenchmarkCounter(b *testing.B) {
	c := ratelimit.New(time.Now)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Add(perMinute(300), ratelimit.Key{Who: 1, Text: "docs/README.md"})
		}
	})
}
