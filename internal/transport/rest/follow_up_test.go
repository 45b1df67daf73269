package rest

import (
	"fmt"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// TestFollowUp makes issues that follow up the threads of a merge request: those that their
// author may resolve are resolved, and say which issue goes on with them.
func TestFollowUp(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.Notes.Subscribe(p.Bus)
		p.open("topic")
		const at = requestsPath + "/1/discussions"
		one := p.do("maint", "POST", at, `{"body":"One"}`)["id"].(string)
		p.do("maint", "POST", at, `{"body":"Two"}`)
		p.do("maint", "POST", requestsPath+"/1/notes", `{"body":"No thread"}`)
		open := func(want int) {
			t.Helper()
			n, err := db.Get[int](t.Context(), d, "SELECT unresolved_discussions_count FROM merge_requests")
			if err != nil || n != want {
				t.Errorf("%d open threads, %v, want %d", n, err, want)
			}
		}
		last := func(as, want string) {
			t.Helper()
			if got := p.pick(as, requestsPath+"/1/notes?activity_filter=only_activity&sort=asc", "body"); got != want {
				t.Errorf("%s reads %q, want %q", as, got, want)
			}
		}
		p.do("planner", "POST", appIssues, `{"title":"x","merge_request_to_resolve_discussions_of":1}`)
		p.do("dev", "POST", appIssues, `{"title":"x","merge_request_to_resolve_discussions_of":99}`)
		p.do("dev", "POST", appIssues, `{"title":"x","discussion_to_resolve":"`+one+`"}`)
		open(2)
		last("dev", "")
		p.do("dev", "POST", appIssues, fmt.Sprintf(`{"title":"x","merge_request_to_resolve_discussions_of":1,"discussion_to_resolve":%q,"confidential":true}`, one))
		open(1)
		last("dev", "created #4 to continue this discussion")
		last("stranger", "")
		p.do("dev", "POST", appIssues, `{"title":"x","merge_request_to_resolve_discussions_of":1}`)
		open(0)
		last("stranger", "created #5 to continue this discussion")
		w := p.send("dev", "GET", at+"/"+one, "")
		if got := p.do("dev", "GET", at+"/"+one, ""); len(got["notes"].([]any)) != 2 || got["notes"].([]any)[0].(map[string]any)["resolved"] != true {
			t.Errorf("thread %s, want it resolved with a line", w.Body)
		}
	})
}
