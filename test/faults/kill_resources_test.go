package faults

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/test/servertest"
)

// TestKill_resources kills the server while runners work through jobs of a resource group: two of them never run at once, and the group is
// passed on to every one.
func TestKill_resources(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		const jobs, kills = 12, 3
		f := newFleet(newWorld(t, database), "Configure [skip ci]", fmt.Sprintf("deploy: {script: make, parallel: %d, resource_group: production}\n", jobs))
		at := fmt.Sprintf("/projects/%d", f.project)
		f.want(201, f.ann, "POST", at+"/pipeline", `{"ref":"ci"}`)

		working, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var holding atomic.Int64
		for range 4 {
			all.Go(func() { f.work(working, f.alone(&holding)) })
		}
		canceled := 0 // jobs that no runner got: as the only one of its group, such a job holds up all others
		for i := range kills {
			f.await(t, func() bool { return f.ended.Load() >= int64(2*i+1) })
			f.s.Kill()
			f.s.Restart()
			f.moved()
			lost, _ := f.lost()
			for _, id := range lost {
				f.want(201, f.ann, "POST", fmt.Sprintf("%s/jobs/%d/cancel", at, id), "")
				canceled++
			}
		}
		// The server shows the end of a job before its runner has the answer.
		f.await(t, func() bool { return int(f.ended.Load())+canceled >= jobs })
		stop()
		all.Wait()
		if _, ended := f.lost(); ended != jobs {
			t.Errorf("%d jobs have ended, want %d", ended, jobs)
		}
		if canceled > kills {
			t.Errorf("%d jobs went to nobody, want at most %d", canceled, kills)
		}
		for id, times := range f.given {
			if times != 1 {
				t.Errorf("job %d was given %d times", id, times)
			}
		}
		if got := int(f.ended.Load()); got+canceled != jobs {
			t.Errorf("%d jobs have ended, %d were lost, of %d", got, canceled, jobs)
		}
		group := f.want(200, f.ann, "GET", at+"/resource_groups/production/upcoming_jobs", "")
		if string(group.body) != "[]" {
			t.Errorf("jobs still wait: %s", group.body)
		}
	})
}

// alone writes the log of a job, and fails the test where another runner has one at the same time.
func (f *fleet) alone(holding *atomic.Int64) func(ctx context.Context, id int64, token string) bool {
	return func(ctx context.Context, id int64, token string) bool {
		if n := holding.Add(1); n > 1 {
			f.t.Errorf("%d jobs of the resource group run at once", n)
		}
		defer holding.Add(-1)
		return f.writeLog(ctx, id, token)
	}
}
