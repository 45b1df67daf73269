package faults

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tenon/test/servertest"
)

// car is what a list of a merge train says of one merge request.
type car struct {
	Status       string `json:"status"`
	MergeRequest struct {
		IID int64 `json:"iid"`
	} `json:"merge_request"`
	Pipeline *struct {
		SHA    string `json:"sha"`
		Status string `json:"status"`
	} `json:"pipeline"`
}

// TestKill_merge_train kills the server again and again while a train makes commits and merges
// them, each as soon as its checks succeeded: every merge request is merged once, in the order of
// the train and as the commit that was checked.
func TestKill_merge_train(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		w := newWorld(t, database)
		const requests, kills = 8, 6
		at := fmt.Sprintf("/projects/%d", w.project)
		main := w.want(200, w.ann, "PUT", at, `{"merge_pipelines_enabled":true,"merge_trains_enabled":true}`).text("default_branch")
		heads := make([]string, requests)
		for i := range requests {
			branch := fmt.Sprintf("car-%d", i)
			heads[i] = w.want(201, w.ann, "POST", at+"/repository/commits", fmt.Sprintf(
				`{"branch":%q,"start_branch":%q,"commit_message":"Add %s","actions":[{"action":"create","file_path":%q,"content":"x"}]}`, branch, main, branch, branch)).text("id")
			iid := w.want(201, w.ann, "POST", at+"/merge_requests", fmt.Sprintf(`{"source_branch":%q,"target_branch":%q,"title":"Take %s"}`, branch, main, branch)).number("iid")
			w.want(201, w.ann, "POST", fmt.Sprintf("%s/merge_trains/merge_requests/%d", at, iid), "{}")
		}
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		checked, killed := map[int64]string{}, 0 // the last commit of each that was reported to succeed
		next := time.Now()
		for deadline := time.Now().Add(2 * time.Minute); ; {
			var cars []car
			if err := json.Unmarshal(w.want(200, w.ann, "GET", at+"/merge_trains?scope=active&sort=asc", "").body, &cars); err != nil {
				t.Fatal(err)
			}
			for _, c := range cars {
				if c.Status == "fresh" && c.Pipeline != nil && c.Pipeline.Status != "success" {
					w.want(201, w.ann, "POST", at+"/statuses/"+c.Pipeline.SHA, `{"state":"success","name":"check"}`)
					checked[c.MergeRequest.IID] = c.Pipeline.SHA
					break // the others later, so that the train does not arrive at once
				}
			}
			if len(cars) == 0 || time.Now().After(deadline) {
				break
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-t.Context().Done():
			}
			if killed < kills && time.Now().After(next) {
				w.s.Kill()
				w.s.Restart()
				w.moved()
				killed++
				next = time.Now().Add(time.Duration(random.IntN(300)) * time.Millisecond)
			}
		}
		t.Logf("killed %d times", killed)
		w.arrived(main, heads, checked)
	})
}

// arrived makes sure that merge requests 1 to n were merged in this order, each as the commit that
// was checked, and that the train left nothing.
func (w *world) arrived(main string, heads []string, checked map[int64]string) {
	t := w.t
	t.Helper()
	line := strings.Fields(w.git(w.repository(), "log", "--first-parent", "--reverse", "--merges", "--format=%H", main))
	if len(line) != len(heads) {
		t.Errorf("%d merges, want %d:\n%s", len(line), len(heads), w.git(w.repository(), "log", "--first-parent", "--format=%H %s", main))
	}
	for i, head := range heads {
		iid := int64(i + 1)
		m := w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d/merge_requests/%d", w.project, iid), "")
		if m.text("state") != "merged" || m.text("merge_commit_sha") != checked[iid] || i >= len(line) || line[i] != checked[iid] {
			t.Errorf("!%d: %s, checked was %s: %.300s", iid, m.text("state"), checked[iid], m.body)
			continue
		}
		if brought := w.git(w.repository(), "rev-parse", line[i]+"^2"); brought != head {
			t.Errorf("!%d brought %s, want %s", iid, brought, head)
		}
	}
	d := w.open()
	for _, query := range []string{
		"SELECT COUNT(*) FROM merge_leases", "SELECT COUNT(*) FROM merge_train_cars WHERE status <> 'merged'",
	} {
		if n := count(t, d, query); n != 0 {
			t.Errorf("%s: got %d, want none", query, n)
		}
	}
	w.await("the references of the train to go", func() bool {
		return !strings.Contains(w.git(w.repository(), "for-each-ref", "--format=%(refname)"), "/train")
	})
	w.git(w.repository(), "fsck", "--strict")
}
