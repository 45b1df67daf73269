package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/db/dbtest"
	"tenon/test/servertest"
)

const (
	killedJobs   = 60 // of the pipeline
	killedPieces = 6  // of each log
	fleetSize    = 8  // runners at work
)

// fleet is runners that work through a pipeline, and go on as the official one does when a request fails.
type fleet struct {
	*world
	token string
	asks  sync.RWMutex // read-locked by a runner from its request for a job until it noted the answer

	mu    sync.Mutex
	given map[int64]int    // how often each job was given to a runner
	logs  map[int64]string // what the server said it has of the log of each job
	ended atomic.Int64     // jobs whose end was answered
}

// newFleet registers the runners of a project, and commits a configuration of pipelines to its branch ci.
func newFleet(w *world, message, config string) *fleet {
	w.t.Helper()
	f := &fleet{world: w, given: map[int64]int{}, logs: map[int64]string{}}
	f.token = w.want(201, w.ann, "POST", "/user/runners", fmt.Sprintf(`{"runner_type":"project_type","project_id":%d,"run_untagged":true}`, w.project)).text("token")
	content, err := json.Marshal(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/repository/commits", w.project), fmt.Sprintf(
		`{"branch":"ci","start_branch":"main","commit_message":%q,"actions":[{"action":"create","file_path":".gitlab-ci.yml","content":%s}]}`, message, content))
	return f
}

// newKilledFleet makes a fleet and the pipeline that it works through.
func newKilledFleet(w *world) *fleet {
	w.t.Helper()
	var config strings.Builder
	for i := range killedJobs {
		fmt.Fprintf(&config, "job-%d: {script: make}\n", i)
	}
	return newFleet(w, "Configure", config.String())
}

// send sends a request of a runner; an error means that no whole answer came.
func (f *fleet) send(ctx context.Context, method, path string, header map[string]string, body []byte) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, *f.url.Load()+"/api/v4"+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, text, err
}

// work takes jobs until ctx ends. do works on one and reports whether it is to be ended.
func (f *fleet) work(ctx context.Context, do func(ctx context.Context, id int64, token string) bool) {
	for ctx.Err() == nil {
		id, token := f.ask(ctx)
		if id == 0 {
			pause(ctx)
			continue
		}
		if do(ctx, id, token) {
			f.end(ctx, id, token)
		}
	}
}

// ask asks for a job and notes which one it is; the id is 0 where there was none.
func (f *fleet) ask(ctx context.Context) (id int64, token string) {
	f.asks.RLock()
	defer f.asks.RUnlock()
	resp, text, err := f.send(ctx, "POST", "/jobs/request", map[string]string{"Content-Type": "application/json"}, fmt.Appendf(nil, `{"token":%q,"system_id":"s"}`, f.token))
	if err != nil || resp.StatusCode != http.StatusCreated {
		return 0, ""
	}
	var job struct {
		ID    int64
		Token string
	}
	if err := json.Unmarshal(text, &job); err != nil {
		f.t.Errorf("a job: %v: %s", err, text)
		return 0, ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given[job.ID]++
	return job.ID, job.Token
}

// lost returns the jobs of the project that run although no runner has them, as the answer was lost, and how many have ended. It looks while no
// request for a job is under way.
func (f *fleet) lost() (ids []int64, ended int) {
	f.t.Helper()
	f.asks.Lock()
	defer f.asks.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range all[found](f.world, "/jobs") {
		switch {
		case j.Status == "success", j.Status == "canceled":
			ended++
		case j.Status == "running" && f.given[j.ID] == 0:
			ids = append(ids, j.ID)
		}
	}
	return ids, ended
}

func pause(ctx context.Context) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
}

// logOf is what a job writes.
func logOf(id int64) string {
	var out strings.Builder
	for i := range killedPieces {
		fmt.Fprintf(&out, "job %d, piece %d of a log that nobody may lose\n", id, i)
	}
	return out.String()
}

// writeLog sends the log of a job in pieces, and again from where the server says that it is.
func (f *fleet) writeLog(ctx context.Context, id int64, token string) bool {
	whole := logOf(id)
	piece := len(whole)/killedPieces + 1
	for at := 0; at < len(whole); {
		end := min(at+piece, len(whole))
		resp, text, err := f.send(ctx, "PATCH", fmt.Sprintf("/jobs/%d/trace", id), map[string]string{
			"Job-Token": token, "Content-Type": "text/plain", "Content-Range": fmt.Sprintf("%d-%d", at, end-1),
		}, []byte(whole[at:end]))
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil, resp.StatusCode == http.StatusServiceUnavailable:
			pause(ctx)
		case resp.StatusCode == http.StatusAccepted:
			at = end
			f.mu.Lock()
			f.logs[id] = whole[:at]
			f.mu.Unlock()
		case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable: // an answer was lost
			_, size, _ := strings.Cut(resp.Header.Get("Range"), "-")
			if at, err = strconv.Atoi(size); err != nil || at > len(whole) {
				f.t.Errorf("log of job %d: the server is at %q", id, resp.Header.Get("Range"))
				return false
			}
		default:
			f.t.Errorf("log of job %d: %s: %s", id, resp.Status, text)
			return false
		}
	}
	return true
}

// end says that a job has succeeded, again until it is answered. An end that was written but not answered makes the job's token invalid.
func (f *fleet) end(ctx context.Context, id int64, token string) {
	for again := false; ctx.Err() == nil; again = true {
		resp, text, err := f.send(ctx, "PUT", fmt.Sprintf("/jobs/%d", id), map[string]string{"Content-Type": "application/json"},
			fmt.Appendf(nil, `{"token":%q,"state":"success","output":{"bytesize":%d}}`, token, len(logOf(id))))
		switch {
		case err != nil, resp.StatusCode == http.StatusServiceUnavailable:
			pause(ctx)
			continue
		case resp.StatusCode == http.StatusOK, again && resp.StatusCode == http.StatusForbidden:
			f.ended.Add(1)
		case ctx.Err() == nil:
			f.t.Errorf("end of job %d: %s: %s", id, resp.Status, text)
		}
		return
	}
}

// check looks at what is left: a job that a runner got has ended once, with every byte of its log. One whose answer was lost on the way to
// its runner stays running until its timeout.
func (f *fleet) check(most int) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	at, lost := fmt.Sprintf("/projects/%d", f.project), 0
	for page := 1; page <= killedJobs/50+1; page++ {
		var jobs []struct {
			ID     int64
			Status string
		}
		if err := json.Unmarshal(f.want(200, f.ann, "GET", fmt.Sprintf("%s/jobs?per_page=50&page=%d", at, page), "").body, &jobs); err != nil {
			f.t.Fatal(err)
		}
		for _, j := range jobs {
			switch times := f.given[j.ID]; {
			case times == 0 && j.Status == "running":
				lost++
			case times != 1 || j.Status != "success":
				f.t.Errorf("job %d was given %d times and is %s", j.ID, times, j.Status)
			default:
				trace := string(f.want(200, f.ann, "GET", fmt.Sprintf("%s/jobs/%d/trace", at, j.ID), "").body)
				if trace != logOf(j.ID) || !strings.HasPrefix(trace, f.logs[j.ID]) {
					f.t.Errorf("log of job %d: %q", j.ID, trace)
				}
			}
		}
	}
	if lost > most {
		f.t.Errorf("%d jobs went to nobody, want at most %d", lost, most)
	}
	f.t.Logf("%d jobs ended, %d were on their way to a runner", f.ended.Load(), lost)
}

// runs lets the runners work until as many jobs have ended as can, while something breaks the server in between.
func (f *fleet) runs(t *testing.T, breaks int, breakIt func(i int)) {
	t.Helper()
	working, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range fleetSize {
		all.Go(func() { f.work(working, f.writeLog) })
	}
	for i := range breaks {
		// Each break comes while jobs run: after the next few have ended.
		until := min(int64((i+1)*killedJobs/(breaks+2)), killedJobs/2)
		f.await(t, func() bool { return f.ended.Load() >= until })
		breakIt(i)
	}
	f.await(t, func() bool {
		lost, ended := f.lost()
		return len(lost)+ended == killedJobs && int(f.ended.Load()) == ended
	})
	stop()
	all.Wait()
}

func (f *fleet) await(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); pause(t.Context()) {
		if time.Now().After(deadline) {
			t.Fatalf("%d jobs have ended after two minutes", f.ended.Load())
		}
	}
}

// TestKill_runners kills the server again and again while runners work through a pipeline.
func TestKill_runners(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		const kills = 4
		f := newKilledFleet(newWorld(t, database))
		f.runs(t, kills, func(int) {
			f.s.Kill()
			f.s.Restart()
			f.moved()
		})
		f.check(kills * fleetSize)
	})
}

// TestDatabaseAway_runners takes PostgreSQL away while runners work through a pipeline.
func TestDatabaseAway_runners(t *testing.T) {
	t.Parallel()
	proxy := dbtest.NewProxy(t, dbtest.PostgresURL(t))
	f := newKilledFleet(newWorld(t, proxy.URL))
	f.runs(t, 3, func(int) {
		proxy.Cut()
		for range 15 {
			pause(t.Context())
		}
		proxy.Restore()
	})
	f.check(3 * fleetSize)
}
