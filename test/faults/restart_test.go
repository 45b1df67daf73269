package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/db/dbtest/pgserver"
)

// lasting has what was committed survive, as it does where the cluster is not one for tests.
const lasting = "&synchronous_commit=on"

// ownCluster starts a PostgreSQL that a test may restart: the others use the shared one meanwhile.
func ownCluster(t *testing.T) *pgserver.Server {
	t.Helper()
	if os.Getenv("TENON_TEST_DATABASE_URL") == "" {
		t.Skip("PostgreSQL: skipped (not among the engines of this run)")
	}
	cluster, err := pgserver.Start()
	if errors.Is(err, pgserver.ErrMissing) {
		t.Skipf("PostgreSQL: skipped (%v)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	return cluster
}

// TestDatabaseRestart restarts PostgreSQL three times while eight people merge at once. What a lost connection leaves is
// settled within a minute: no merge request stays locked, each is merged or open as main says, and those that are open can
// be merged.
func TestDatabaseRestart(t *testing.T) {
	t.Parallel()
	cluster := ownCluster(t)
	w := newWorld(t, cluster.URL+lasting)
	iids := make([]int64, 40)
	for i := range iids {
		iids[i] = w.request(t, fmt.Sprintf("topic-%d", i))
	}
	answers := w.mergeAcross(t, iids, cluster)
	back := time.Now()
	locked := func() int { // -1 while callers are refused
		a, err := w.call(t.Context(), w.ann, "GET", fmt.Sprintf("/projects/%d/merge_requests?state=locked&per_page=100", w.project), "")
		if err != nil || a.status != 200 {
			return -1
		}
		return strings.Count(string(a.body), `"state":"locked"`)
	}
	left := locked()
	if left > 0 {
		out, _ := admin(t.Context(), t, w.s.Data, w.s.Database(), "check") // fails where it finds something
		if locked() > 0 && !strings.Contains(out, "is locked by a merge") {
			t.Errorf("admin check with locked merge requests: %s", out)
		}
	}
	for locked() != 0 {
		if time.Since(back) > 75*time.Second { // a minute, and what a busy machine takes
			t.Fatalf("%s after PostgreSQL is back %d merge requests are locked", time.Since(back), locked())
		}
		pause(t.Context())
	}
	if answers[503] == 0 || answers[200] == 0 {
		t.Errorf("answers %v, want merges and refusals", answers)
	}
	t.Logf("answers %v; %d locked after the last restart, none after %s", answers, left, time.Since(back).Round(time.Millisecond))
	for _, iid := range iids {
		path := fmt.Sprintf("/projects/%d/merge_requests/%d", w.project, iid)
		commits := func() int {
			return len(strings.Fields(w.git(w.repository(), "log", "--merges", "--format=%H", fmt.Sprintf("--grep=team/app!%d$", iid), "main")))
		}
		state := w.want(200, w.ann, "GET", path, "").text("state")
		if n := commits(); (state != "merged" || n != 1) && (state != "opened" || n != 0) {
			t.Errorf("!%d is %s, and main has %d merge commits of it", iid, state, n)
		}
		if state == "opened" {
			w.want(200, w.ann, "PUT", path+"/merge", `{}`)
			if n := commits(); n != 1 {
				t.Errorf("!%d, merged at last: main has %d merge commits of it", iid, n)
			}
		}
	}
	if out := adminDone(t, w.s.Data, w.s.Database(), "check"); !strings.Contains(out, "no problems found") {
		t.Errorf("admin check: %s", out)
	}
}

// mergeAcross merges with eight callers at once, who come again with what was not merged, and restarts PostgreSQL after each sixth
// merge, three times. It returns how often each status came back, 0 for a request without an answer.
func (w *world) mergeAcross(t *testing.T, iids []int64, cluster *pgserver.Server) map[int]int {
	t.Helper()
	queue, restarted := make(chan int64, len(iids)), make(chan error, 1)
	for _, iid := range iids {
		queue <- iid
	}
	over, stop := context.WithCancel(t.Context())
	defer stop()
	merged, out, lock := new(atomic.Int64), map[int]int{}, new(sync.Mutex)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for over.Err() == nil {
				iid := <-queue
				a, err := w.call(context.Background(), w.ann, "PUT", fmt.Sprintf("/projects/%d/merge_requests/%d/merge", w.project, iid), `{}`)
				status := 0
				if err == nil {
					status = a.status
				}
				if status == 200 {
					merged.Add(1)
				} else {
					queue <- iid
					pause(over)
				}
				lock.Lock()
				out[status]++
				lock.Unlock()
				if merged.Load() >= int64(len(iids)-8) {
					return // each of the others has one left
				}
			}
		})
	}
	go func() { // ends after the third restart
		defer stop()
		for i, mode := range []string{"immediate", "fast", "immediate"} {
			for merged.Load() < int64(6*(i+1)) && over.Err() == nil {
				pause(over)
			}
			if err := cluster.Restart(context.Background(), mode); err != nil {
				restarted <- err
				return
			}
		}
		restarted <- nil
	}()
	callers.Wait()
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	return out
}
