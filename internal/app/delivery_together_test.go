package app

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"tenon/internal/base/db/dbtest"
	"tenon/internal/core"
	"tenon/internal/core/payload"
)

// atOnce is how many equal requests are sent together.
const atOnce = 50

// atOnce sends a request many times together, and returns how often each status came back.
func (s *server) atOnce(q request) map[int]int {
	s.tb.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	out := map[int]int{}
	for range atOnce {
		all.Go(func() {
			a := s.send(s.tb.Context(), q)
			if a.Code >= http.StatusInternalServerError {
				s.tb.Errorf("%s %s: %d %s", q.method, q.path, a.Code, a.Body)
			}
			mu.Lock()
			defer mu.Unlock()
			out[a.Code]++
		})
	}
	all.Wait()
	return out
}

// countedHooks counts the messages of a trigger that hooks receive.
type countedHooks struct {
	hooked

	mu    sync.Mutex
	count map[payload.Trigger]int
}

// Receive counts a message.
func (h *countedHooks) Receive(_ context.Context, m *payload.Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count[m.Trigger]++
	return nil
}

// eachHooked runs fn on both engines, with hooks that count.
func eachHooked(t *testing.T, fn func(t *testing.T, s *server, h *countedHooks)) {
	run := func(name string, database func(t *testing.T) string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &countedHooks{count: map[payload.Trigger]int{}}
			s := newServerOf(t, database(t), Build{Version: "test", Revision: "unknown", Subjects: []core.Subject{func(*core.Build) any { return h }}})
			fn(t, s, h)
		})
	}
	run("sqlite", func(*testing.T) string { return "" })
	run("postgres", func(t *testing.T) string { return dbtest.PostgresURL(t) })
}

const stoppedByJob = `
ship: {script: x, environment: {name: review/$CI_COMMIT_REF_SLUG, on_stop: unship}}
unship: {script: x, when: manual, environment: {name: review/$CI_COMMIT_REF_SLUG, action: stop}}
`

// The attack of impatience: the same stop is asked for fifty times at once. The job that stops the environment runs once, also where it has run before and
// is retried, and never again after the environment is stopped.
func TestEnvironments_stop_together(t *testing.T) {
	t.Parallel()
	eachHooked(t, func(t *testing.T, s *server, _ *countedHooks) {
		d := s.deployer()
		d.commit("topic", ".gitlab-ci.yml", stoppedByJob)
		d.run("success")
		stop := request{as: "dave", method: http.MethodPost, path: d.at + "/environments/" + number(d.environment("review/topic"), "id") + "/stop"}
		jobs := func(name string) (out []map[string]any) {
			for _, j := range d.all("/jobs?include_retried=true&per_page=100") {
				if j["name"] == name {
					out = append(out, j)
				}
			}
			return out
		}
		for round := 1; round <= 2; round++ {
			if got := s.atOnce(stop); got[http.StatusOK] != atOnce {
				t.Errorf("stops of round %d: %v", round, got)
			}
			d.expect("state while its job waits", d.environment("review/topic")["state"], "stopping")
			if list := jobs("unship"); len(list) != round || list[0]["status"] != "pending" {
				t.Fatalf("jobs of round %d that stop: %v", round, list)
			}
			d.run("success")
			d.expect("state after its job", d.environment("review/topic")["state"], "stopped")
			s.atOnce(stop)
			if list := jobs("unship"); len(list) != round {
				t.Errorf("jobs that stop what is stopped: %v", list)
			}
			if a := s.send(t.Context(), request{method: http.MethodPost, path: "/jobs/request", body: obj{"token": d.runner}}); a.Code != http.StatusNoContent {
				t.Errorf("the runner got %d %s", a.Code, a.Body)
			}
			s.do("mona", "POST", d.at+"/jobs/"+number(jobs("ship")[0], "id")+"/retry", nil)
			d.run("success")
			d.expect("state after it was deployed to again", d.environment("review/topic")["state"], "available")
		}
	})
}

// The attack of impatience: the same release is asked for fifty times at once, with its tag and of a tag that is there. One call makes it, with one tag, one
// piece of evidence, one message to hooks and one event.
func TestReleases_together(t *testing.T) {
	t.Parallel()
	eachHooked(t, func(t *testing.T, s *server, h *countedHooks) {
		d := s.deployer()
		s.do("mona", "POST", d.at+"/repository/tags", obj{"tag_name": "v0", "ref": "main"})
		d.drained()
		clear(h.count)
		for i, tag := range []string{"v0", "v1"} {
			got := s.atOnce(request{as: "dave", method: http.MethodPost, path: d.at + "/releases", body: obj{
				"tag_name": tag, "ref": "main", "tag_message": "New", "assets": obj{"links": []obj{{"name": "tool", "url": "https://example.com/tool"}}},
			}})
			if got[http.StatusCreated] != 1 || got[http.StatusCreated]+got[http.StatusConflict]+got[http.StatusUnprocessableEntity] != atOnce {
				t.Errorf("answers of %s: %v", tag, got)
			}
			d.drained()
			d.expect("messages of releases", h.count[payload.Release], i+1)
			d.expect("messages of tags", h.count[payload.TagPush], i)
			s.want("rita", "GET", d.at+"/repository/tags/"+tag, nil, 200, `"release":{"tag_name":"`+tag)
			for query, want := range map[string]int{
				"SELECT COUNT(*) FROM releases":                                                    i + 1,
				"SELECT COUNT(*) FROM release_links":                                               i + 1,
				"SELECT COUNT(*) FROM release_evidences":                                           i + 1,
				"SELECT COUNT(*) FROM releases WHERE pending IS NOT NULL":                          0,
				"SELECT COUNT(*) FROM audit_events WHERE event_name = 'release_created'":           i + 1,
				"SELECT COUNT(*) FROM (SELECT release_id FROM release_evidences GROUP BY 1) AS of": i + 1,
			} {
				d.expect(query, s.one("SELECT CAST(("+query+") AS VARCHAR)"), fmt.Sprint(want))
			}
		}
		tags := d.all("/repository/tags")
		d.expect("tags", len(tags), 2)
	})
}

// A job ends while its environment is stopped by force, or deleted. Each order leaves what it leaves by itself: a deployment that succeeded last has its
// environment available, and one that is gone with its environment comes back in no way.
func TestEnvironments_end_together(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		for i := range 20 {
			name := fmt.Sprint("live-", i)
			d.commit(name, ".gitlab-ci.yml", "ship: {script: x, environment: {name: "+name+"}}\n")
			id, token, _ := d.take()
			at := d.at + "/environments/" + number(d.environment(name), "id")
			end := request{method: http.MethodPut, path: "/jobs/" + id, body: obj{"token": token, "state": "success"}}
			other := request{as: "mona", method: http.MethodPost, path: at + "/stop", body: obj{"force": true}}
			if i%2 == 1 {
				s.do("mona", "POST", at+"/stop", nil)
				d.expect("state while its job runs", d.environment(name)["state"], "stopped")
				other = request{as: "mona", method: http.MethodDelete, path: at}
			}
			var both sync.WaitGroup
			var answers [2]int
			for i, q := range []request{end, other} {
				both.Go(func() { answers[i] = s.send(t.Context(), q).Code })
			}
			both.Wait()
			d.drained()
			d.expect("the end of the job", answers[0], http.StatusOK)
			s.want("mona", "GET", d.at+"/jobs/"+id, nil, 200, `"status":"success"`)
			state := ""
			if list := d.all("/environments?name=" + name); len(list) == 1 {
				state = list[0]["state"].(string)
			}
			switch got := fmt.Sprintln(answers[1], state, d.states(name)); got {
			case "200 available success\n", "200 stopped success\n": // stopped before and after
				d.expect("the other call", other.method, http.MethodPost)
			case "403 available success\n", "204  \n": // deleted after, and before
				d.expect("the other call", other.method, http.MethodDelete)
			default:
				t.Errorf("%s %s: %s", other.method, other.path, got)
			}
		}

		// One that fails changes nothing of an environment that was stopped meanwhile.
		d.commit("last", ".gitlab-ci.yml", "ship: {script: x, environment: {name: last}}\n")
		id, token, _ := d.take()
		s.do("mona", "POST", d.at+"/environments/"+number(d.environment("last"), "id")+"/stop", nil)
		s.do("", "PUT", "/jobs/"+id, obj{"token": token, "state": "failed"})
		d.drained()
		d.expect("state after a failure", d.environment("last")["state"], "stopped")
		d.expect("deployments", d.states("last"), "failed")
	})
}
