package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// The conditions of a merge, each with who can have it met, and the answer of the merge call
// that gives the same reason.
func TestMergeability(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.open("one")
		const one = requestsPath + "/1"
		exec := func(query string, args ...any) {
			p.t.Helper()
			if _, err := d.Exec(t.Context(), query, args...); err != nil {
				t.Fatal(err)
			}
		}
		// shows compares the message, and the conditions that have one of the states.
		shows := func(as, status, message, conditions string) {
			p.t.Helper()
			got := p.do(as, "GET", one+"/mergeability", "")
			var list []string
			for _, c := range got["conditions"].([]any) {
				c := c.(map[string]any)
				word := map[any]string{"success": "", "inactive": "", "failed": "failed", "checking": "checking"}[c["status"]]
				if word == "" {
					if c["message"] != nil || c["changed_by"] != nil {
						p.t.Errorf("%v: got %v", c["identifier"], c)
					}
					continue
				}
				line := fmt.Sprint(c["identifier"], " ", word)
				if by, ok := c["changed_by"].(map[string]any); ok {
					var names []string
					for _, u := range by["users"].([]any) {
						names = append(names, u.(map[string]any)["username"].(string))
					}
					line += fmt.Sprint(" ", by["permission"], " ", by["access_level"], " ", strings.Join(names, "+"), " ", by["current_user"])
				}
				list = append(list, line)
			}
			if text := strings.Join(list, ", "); got["detailed_merge_status"] != status || fmt.Sprint(got["message"]) != message || text != conditions {
				p.t.Errorf("as %s: got %v, %v, %q; want %s, %s, %q", as, got["detailed_merge_status"], got["message"], text, status, message, conditions)
			}
		}
		refused := func(status int, message string) {
			p.t.Helper()
			p.want("maint", "PUT", one+"/merge", "", status, `{"message":"`+message+`"}`)
		}
		shows("planner", "mergeable", "<nil>", "")
		if got := p.do("maint", "GET", one+"/mergeability", ""); fmt.Sprintf("%v %v %v", got["user"], got["iid"], got["merge_status"]) != "map[can_merge:true] 1 can_be_merged" {
			t.Errorf("got %v", got)
		}
		p.do("dev", "PUT", one, `{"title":"Draft: one"}`)
		const draft = "draft_status failed update_merge_request 30 dev "
		shows("planner", "draft_status", "the merge request is a draft", draft+"false")
		shows("dev", "draft_status", "the merge request is a draft", draft+"true")
		refused(405, "405 Method Not Allowed - the merge request is a draft")
		p.do("dev", "PUT", one, `{"title":"one"}`)

		p.want("planner", "POST", one+"/discussions", `{"body":"Why?"}`, 201, "")
		shows("dev", "mergeable", "<nil>", "")
		exec("UPDATE projects SET only_allow_merge_if_all_discussions_are_resolved = true")
		shows("dev", "discussions_not_resolved", "unresolved threads remain", "discussions_not_resolved failed resolve_discussions 30 dev true")
		list := p.do("dev", "GET", one+"/mergeability", "")["conditions"].([]any)[5].(map[string]any)["discussions"].([]any)
		if len(list) != 1 || len(list[0].(string)) != 40 {
			t.Errorf("threads: got %v", list)
		}
		// An internal thread is one of those that a merge waits for; who may not read it learns no more (CVE-2024-8650).
		exec("UPDATE notes SET internal = true WHERE type IS NOT NULL")
		for as, want := range map[string]int{"dev": 1, "guest": 0, "stranger": 0} {
			if list := p.do(as, "GET", one+"/mergeability", "")["conditions"].([]any)[5].(map[string]any)["discussions"].([]any); len(list) != want {
				t.Errorf("internal threads for %s: got %v, want %d", as, list, want)
			}
		}
		exec("UPDATE notes SET internal = false")
		refused(405, "405 Method Not Allowed - unresolved threads remain")
		exec("UPDATE projects SET only_allow_merge_if_pipeline_succeeds = true")
		shows("planner", "discussions_not_resolved", "unresolved threads remain",
			"discussions_not_resolved failed resolve_discussions 30 dev false, ci_must_pass failed run_pipelines 30  false")
		exec("UPDATE projects SET only_allow_merge_if_all_discussions_are_resolved = false")
		shows("dev", "ci_must_pass", "the pipeline must succeed", "ci_must_pass failed run_pipelines 30  true")
		refused(405, "405 Method Not Allowed - the pipeline must succeed")
		exec("UPDATE projects SET only_allow_merge_if_pipeline_succeeds = false, merge_method = 'ff'")

		p.commit("maint", "main", "", "update", "a.txt", "ours\n")
		shows("dev", "mergeable", "the source branch must be rebased onto the target branch", "need_rebase failed push_to_source_branch 30  true")
		refused(422, "Branch cannot be merged")
		exec("UPDATE projects SET merge_method = 'merge'")
		p.commit("dev", "one", "", "update", "a.txt", "theirs\n")
		const branch = " failed push_to_source_branch 30  "
		shows("planner", "broken_status", "the source branch is in conflict with the target branch", "conflict"+branch+"false")
		refused(422, "Branch cannot be merged")
		p.do("dev", "PUT", one, `{"state_event":"close"}`)
		shows("guest", "not_open", "the merge request is not open", "not_open failed update_merge_request 30 dev false, conflict"+branch+"false")
		refused(405, "405 Method Not Allowed - the merge request is not open")
		p.do("dev", "POST", requestsPath, `{"source_branch":"nowhere","target_branch":"main","title":"Early"}`)
		got := p.do("dev", "GET", requestsPath+"/2/mergeability", "")
		if got["message"] != "the source or target branch does not exist" || got["detailed_merge_status"] != "broken_status" {
			t.Errorf("without a branch: got %v", got)
		}
		p.want("dev", "GET", requestsPath+"/9/mergeability", "", 404, `{"message":"404 Not found"}`)
	})
}
