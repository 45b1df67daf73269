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
			all.Go(func() { f.workAlone(working, &holding) })
		}
		for i := range kills {
			f.await(t, func() bool { return f.ended.Load() >= int64(2*i+1) })
			f.s.Kill()
			f.s.Restart()
			f.moved()
		}
		lost := f.untilDone(t, fmt.Sprintf("%s/pipelines/%d/jobs?per_page=100", at, pipeline), jobs)
		stop()
		all.Wait()
		if lost > kills {
			t.Errorf("%d jobs went to nobody, want at most %d", lost, kills)
		}
		for id, times := range f.given {
			if times != 1 {
				t.Errorf("job %d was given %d times", id, times)
			}
		}
		if got := int(f.ended.Load()); got+lost != jobs {
			t.Errorf("%d jobs have ended, %d were lost, of %d", got, lost, jobs)
		}
		group := f.want(200, f.ann, "GET", at+"/resource_groups/production/upcoming_jobs", "")
		if string(group.body) != "[]" {
			t.Errorf("jobs still wait: %s", group.body)
		}
	})
}

// workAlone takes jobs until ctx ends, and fails the test where another runner has one at the same time.
func (f *fleet) workAlone(ctx context.Context, holding *atomic.Int64) {
	for ctx.Err() == nil {
		resp, text, err := f.send(ctx, "POST", "/jobs/request", map[string]string{"Content-Type": "application/json"}, fmt.Appendf(nil, `{"token":%q,"system_id":"s"}`, f.token))
		if err != nil || resp.StatusCode != http.StatusCreated {
			pause(ctx)
			continue
		}
		var job struct {
			ID    int64
			Token string
		}
		if err := json.Unmarshal(text, &job); err != nil {
			f.t.Errorf("a job: %v: %s", err, text)
			return
		}
		f.mu.Lock()
		f.given[job.ID]++
		f.mu.Unlock()
		if n := holding.Add(1); n > 1 {
			f.t.Errorf("%d jobs of the resource group run at once", n)
		}
		wrote := f.writeLog(ctx, job.ID, job.Token)
		holding.Add(-1)
		if wrote {
			f.end(ctx, job.ID, job.Token)
		}
	}
}

// untilDone waits until all jobs have ended. One that no runner got, since the answer was lost, is canceled, as a user would; it gives how many were.
func (f *fleet) untilDone(t *testing.T, list string, count int) (lost int) {
	t.Helper()
	since := map[int64]time.Time{} // when jobs that no runner has were seen first
	f.await(t, func() bool {
		var jobs []struct {
			ID     int64
			Status string
		}
		a, err := f.call(t.Context(), f.ann, "GET", list, "")
		if err != nil || a.status != http.StatusOK || json.Unmarshal(a.body, &jobs) != nil || len(jobs) != count {
			return false
		}
		done := 0
		for _, j := range jobs {
			f.mu.Lock()
			given := f.given[j.ID] > 0
			f.mu.Unlock()
			switch {
			case slices.Contains([]string{"success", "canceled"}, j.Status):
				done++
			case j.Status == "running" && !given && since[j.ID].IsZero():
				since[j.ID] = time.Now()
			case j.Status == "running" && !given && time.Since(since[j.ID]) > 3*time.Second:
				f.want(201, f.ann, "POST", fmt.Sprintf("/projects/%d/jobs/%d/cancel", f.project, j.ID), "")
				lost++
			}
		}
		return done == count
	})
	return lost
}
