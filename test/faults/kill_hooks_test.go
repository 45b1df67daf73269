package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tenon/test/servertest"
)

// hookReceiver is a server that hooks call. It remembers in which order issues came, and with which keys.
type hookReceiver struct {
	*httptest.Server

	lock   sync.Mutex
	order  []int64
	keys   map[int64]map[string]int // of each issue, and how often each came
	events map[int64]map[string]bool
}

// newHookReceiver answers after up to so long, so that faults hit calls that are on their way.
func newHookReceiver(t *testing.T, longest time.Duration) *hookReceiver {
	t.Helper()
	r := &hookReceiver{keys: map[int64]map[string]int{}, events: map[int64]map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		var e struct {
			Attributes struct {
				IID int64 `json:"iid"`
			} `json:"object_attributes"`
		}
		if err != nil || json.Unmarshal(body, &e) != nil || e.Attributes.IID == 0 {
			return // a call that was cut off while it was sent
		}
		r.got(e.Attributes.IID, q.Header)
		timer := time.NewTimer(rand.N(longest))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-q.Context().Done():
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *hookReceiver) got(iid int64, header http.Header) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.keys[iid] == nil {
		r.order = append(r.order, iid)
		r.keys[iid], r.events[iid] = map[string]int{}, map[string]bool{}
	}
	r.keys[iid][header.Get("Idempotency-Key")]++
	r.events[iid][header.Get("X-Gitlab-Event-UUID")] = true
}

// missing is how many of the issues have not come.
func (r *hookReceiver) missing(iids []int64) int {
	r.lock.Lock()
	defer r.lock.Unlock()
	n := 0
	for _, iid := range iids {
		if r.keys[iid] == nil {
			n++
		}
	}
	return n
}

// check holds what came against the rules: each event under one key, whatever became of its calls, and in the order of the events.
func (r *hookReceiver) check(t *testing.T, name string) (repeats int) {
	t.Helper()
	r.lock.Lock()
	defer r.lock.Unlock()
	for iid, keys := range r.keys {
		if len(keys) != 1 || len(r.events[iid]) != 1 || keys[""] != 0 {
			t.Errorf("%s: issue %d came under the keys %v of the events %v", name, iid, keys, r.events[iid])
		}
		for _, n := range keys {
			repeats += n - 1
		}
	}
	for i := range r.order[:max(len(r.order)-1, 0)] {
		if r.order[i] > r.order[i+1] {
			t.Errorf("%s: issue %d began before %d", name, r.order[i], r.order[i+1])
		}
	}
	return repeats
}

// hooked is a world with three hooks: a quick receiver, one that takes some time, and one that is slow.
func hooked(t *testing.T, database string) (*world, []*hookReceiver) {
	t.Helper()
	w := newWorld(t, database)
	w.http.Timeout = 20 * time.Second
	w.want(200, servertest.RootToken, "PUT", "/application/settings", `{"allow_local_requests_from_web_hooks_and_services":true}`)
	var out []*hookReceiver
	for _, longest := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond} {
		r := newHookReceiver(t, longest)
		out = append(out, r)
		w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/hooks", w.project), fmt.Sprintf(`{"url":%q,"push_events":false,"issues_events":true}`, r.URL))
	}
	return w, out
}

// report makes issues, one after the other, until it is stopped, and returns the numbers of those that were answered.
func (w *world) report(stop context.Context) []int64 {
	var out []int64
	for n := 1; stop.Err() == nil; n++ {
		a, err := w.call(context.Background(), w.ann, "POST", fmt.Sprintf("/projects/%d/issues", w.project), fmt.Sprintf(`{"title":"event %d"}`, n))
		if err != nil || a.status != 201 {
			pause(stop) // the server is away
			continue
		}
		out = append(out, a.number("iid"))
		pause(stop) // so that receivers keep up
	}
	return out
}

// arrived waits until all events have come.
func arrived(t *testing.T, receivers []*hookReceiver, iids []int64) {
	t.Helper()
	if len(iids) == 0 {
		t.Fatal("no issue was made")
	}
	for end := time.Now().Add(3 * time.Minute); ; pause(t.Context()) { // leases of a killed process last half a minute
		missing := make([]int, len(receivers))
		left := 0
		for i, r := range receivers {
			missing[i] = r.missing(iids)
			left += missing[i]
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("of %d events %d never came", len(iids), missing)
		}
	}
}

// TestKill_hooks kills the server at random moments while hooks are called. Each event whose change was answered comes at least once, repeats of
// it have the same Idempotency-Key, and hooks hear of events in their order.
func TestKill_hooks(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		w, receivers := hooked(t, database)
		stop, done := context.WithCancel(context.Background())
		defer done()
		made := make(chan []int64, 1)
		go func() { made <- w.report(stop) }()
		rounds := 0
		for end := time.Now().Add(killFor(t, 8*time.Second)); time.Now().Before(end); rounds++ {
			timer := time.NewTimer(100*time.Millisecond + rand.N(1500*time.Millisecond))
			<-timer.C
			w.s.Kill()
			w.s.Restart()
			w.moved()
		}
		done()
		iids := <-made
		arrived(t, receivers, iids)
		repeats := 0
		for i, r := range receivers {
			repeats += r.check(t, fmt.Sprint("hook ", i+1))
		}
		t.Logf("killed %d times, %d events for 3 hooks, %d repeats", rounds, len(iids), repeats)
	})
}

// TestDatabaseConnections_hooks ends all connections to PostgreSQL again and again while hooks are called: no event is lost, and repeats have the same key.
func TestDatabaseConnections_hooks(t *testing.T) {
	t.Parallel()
	w, receivers := hooked(t, servertest.Postgres(t))
	conn, err := pgx.Connect(t.Context(), w.s.Database())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	stop, done := context.WithCancel(context.Background())
	defer done()
	made := make(chan []int64, 1)
	go func() { made <- w.report(stop) }()
	ended := int64(0)
	for end := time.Now().Add(killFor(t, 5*time.Second)); time.Now().Before(end); {
		timer := time.NewTimer(50*time.Millisecond + rand.N(800*time.Millisecond))
		<-timer.C
		var n int64
		err := conn.QueryRow(t.Context(), `SELECT COUNT(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()) x`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		ended += n
	}
	done()
	iids := <-made
	arrived(t, receivers, iids)
	repeats := 0
	for i, r := range receivers {
		repeats += r.check(t, fmt.Sprint("hook ", i+1))
	}
	t.Logf("%d connections ended, %d events for 3 hooks, %d repeats", ended, len(iids), repeats)
}
