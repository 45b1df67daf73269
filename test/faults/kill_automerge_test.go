package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/test/servertest"
)

// TestKill_automatic_merges kills the server right after it was told that the checks of many
// requests have succeeded, while it merges them: the next start merges the rest, and none
// twice.
func TestKill_automatic_merges(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		w := newWorld(t, database)
		const requests = 12
		at := fmt.Sprintf("/projects/%d", w.project)
		commit := func(branch, start, file string) string {
			return w.want(201, w.ann, "POST", at+"/repository/commits", fmt.Sprintf(`{"branch":%q,%s"commit_message":"Add %s","actions":[{"action":"create","file_path":%q,"content":"x"}]}`,
				branch, start, file, file)).text("id")
		}
		main := w.want(200, w.ann, "GET", at, "").text("default_branch")
		heads := map[string]string{}
		var iids []int64
		for i := range requests {
			branch := fmt.Sprintf("auto-%d", i)
			heads[branch] = commit(branch, fmt.Sprintf(`"start_branch":%q,`, main), branch)
			m := w.want(201, w.ann, "POST", at+"/merge_requests", fmt.Sprintf(`{"source_branch":%q,"target_branch":%q,"title":"Add %s"}`, branch, main, branch))
			iids = append(iids, m.number("iid"))
			w.want(201, w.ann, "POST", at+"/statuses/"+heads[branch], fmt.Sprintf(`{"state":"running","ref":%q}`, branch))
			set := w.want(200, w.ann, "PUT", fmt.Sprintf("%s/merge_requests/%d/merge", at, iids[i]), fmt.Sprintf(`{"auto_merge":true,"merge_commit_message":"Take %s"}`, branch))
			if set.text("state") != "opened" {
				t.Fatalf("set to merge: %s", set.body)
			}
		}
		for branch, head := range heads {
			w.want(201, w.ann, "POST", at+"/statuses/"+head, fmt.Sprintf(`{"state":"success","ref":%q}`, branch))
		}
		w.s.Kill()
		w.s.Restart()
		w.moved()
		for i, iid := range iids {
			one := fmt.Sprintf("%s/merge_requests/%d", at, iid)
			got := w.want(200, w.ann, "GET", one, "")
			for deadline := time.Now().Add(2 * time.Minute); got.text("state") != "merged" && time.Now().Before(deadline); got = w.want(200, w.ann, "GET", one, "") {
				select {
				case <-time.After(100 * time.Millisecond):
				case <-t.Context().Done():
				}
			}
			if got.text("state") != "merged" || got.text("sha") != heads[fmt.Sprintf("auto-%d", i)] {
				t.Errorf("request %d: %s", iid, got.body)
			}
		}
		log := w.git(w.repository(), "log", "--format=%s", main)
		for branch := range heads {
			if n := strings.Count("\n"+log+"\n", "\nTake "+branch+"\n"); n != 1 {
				t.Errorf("%s was merged %d times:\n%s", branch, n, log)
			}
		}
		w.git(w.repository(), "fsck", "--strict")
	})
}
