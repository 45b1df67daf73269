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
		begun := p.do("maint", "POST", at, `{"body":"One"}`)
		one := begun["id"].(string)
		two := p.do("maint", "POST", at, `{"body":"Two\nlines"}`)
		p.do("dev", "POST", at+"/"+two["id"].(string)+"/notes", `{"body":"More"}`)
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
		describes := func(got map[string]any, want string) {
			t.Helper()
			if got["description"] != want {
				t.Errorf("description %v, want %s", got["description"], want)
			}
		}
		task := func(note any, rest string) string {
			return fmt.Sprintf("- [ ] @maint started a [discussion](/team/app/-/merge_requests/1#note_%v):%s", note, rest)
		}
		firstOf := func(d map[string]any) any { return d["notes"].([]any)[0].(map[string]any)["id"] }
		made := p.do("dev", "POST", appIssues, fmt.Sprintf(`{"title":"x","merge_request_to_resolve_discussions_of":1,"discussion_to_resolve":%q,"confidential":true}`, one))
		describes(made, "The following discussion from !1 should be addressed:\n\n"+task(firstOf(begun), "\n\n    > One"))
		open(1)
		last("dev", "created #4 to continue this discussion")
		last("stranger", "")
		made = p.do("dev", "POST", appIssues, `{"title":"x","merge_request_to_resolve_discussions_of":1}`)
		describes(made, "The following discussion from !1 should be addressed:\n\n"+task(firstOf(two), " (+1 comment)\n\n    > Two\n    > lines"))
		open(0)
		last("stranger", "created #5 to continue this discussion")
		w := p.send("dev", "GET", at+"/"+one, "")
		if got := p.do("dev", "GET", at+"/"+one, ""); len(got["notes"].([]any)) != 2 || got["notes"].([]any)[0].(map[string]any)["resolved"] != true {
			t.Errorf("thread %s, want it resolved with a line", w.Body)
		}
	})
}
