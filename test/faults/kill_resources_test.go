package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/test/servertest"
)

// TestKill_resources kills the server while runners work through jobs of a resource group: two of them never run at once, and the group is
// passed on to every one.
func TestKill_resources(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		const jobs, kills = 12, 3
		f := &fleet{world: newWorld(t, database), given: map[int64]int{}, logs: map[int64]string{}}
		f.token = f.want(201, f.ann, "POST", "/user/runners", fmt.Sprintf(`{"runner_type":"project_type","project_id":%d,"run_untagged":true}`, f.project)).text("token")
		at := fmt.Sprintf("/projects/%d", f.project)
		config, err := json.Marshal(fmt.Sprintf("deploy: {script: make, parallel: %d, resource_group: production}\n", jobs))
		if err != nil {
			t.Fatal(err)
		}
		f.want(201, f.ann, "POST", at+"/repository/commits", fmt.Sprintf(
			`{"branch":"ci","start_branch":"main","commit_message":"Configure [skip ci]","actions":[{"action":"create","file_path":".gitlab-ci.yml","content":%s}]}`, config))
		pipeline := f.want(201, f.ann, "POST", at+"/pipeline", `{"ref":"ci"}`).number("id")

		working, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var holding atomic.Int64
		for range 4 {
			all.Go(func() { f.work(working, f.alone(&holding)) })
		}
		lost := f.watchLost(fmt.Sprintf("%s/pipelines/%d/jobs?per_page=100", at, pipeline))
		for i := range kills {
			f.await(t, func() bool {
				lost.look(t)
				return f.ended.Load() >= int64(2*i+1)
			})
			f.s.Kill()
			f.s.Restart()
			f.moved()
		}
		// The server shows the end of a job before its runner has the answer.
		f.await(t, func() bool { return lost.look(t) == jobs && int(f.ended.Load())+lost.count >= jobs })
		stop()
		all.Wait()
		if lost.count > kills {
			t.Errorf("%d jobs went to nobody, want at most %d", lost.count, kills)
		}
		for id, times := range f.given {
			if times != 1 {
				t.Errorf("job %d was given %d times", id, times)
			}
		}
		if got := int(f.ended.Load()); got+lost.count != jobs {
			t.Errorf("%d jobs have ended, %d were lost, of %d", got, lost.count, jobs)
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

// lostJobs are those of a pipeline that no runner got, since the answer was lost. As the only one of its group such a job holds up all others.
type lostJobs struct {
	*fleet
	list  string              // path of the jobs of the pipeline
	since map[int64]time.Time // when jobs that no runner has were seen first
	count int
}

func (f *fleet) watchLost(list string) *lostJobs {
	return &lostJobs{fleet: f, list: list, since: map[int64]time.Time{}}
}

// look cancels jobs that no runner got, as a user would, and gives how many of all have ended.
func (l *lostJobs) look(t *testing.T) (done int) {
	t.Helper()
	var jobs []struct {
		ID     int64
		Status string
	}
	a, err := l.call(t.Context(), l.ann, "GET", l.list, "")
	if err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &jobs) != nil {
		return 0
	}
	for _, j := range jobs {
		l.mu.Lock()
		given := l.given[j.ID] > 0
		l.mu.Unlock()
		switch first := l.since[j.ID]; {
		case slices.Contains([]string{"success", "canceled"}, j.Status):
			done++
		case j.Status != "running" || given:
		case first.IsZero():
			l.since[j.ID] = time.Now()
		case time.Since(first) > 3*time.Second:
			l.want(201, l.ann, "POST", fmt.Sprintf("/projects/%d/jobs/%d/cancel", l.project, j.ID), "")
			l.count++
		}
	}
	return done
}
