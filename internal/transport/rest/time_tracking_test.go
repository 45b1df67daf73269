package rest

import (
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// Time is estimated and spent on issues and merge requests alike, by planners on the ones
// and developers on the others.
func TestTimeTracking(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.do("guest", "POST", appIssues, `{"title":"x"}`)
		p.open("feature")
		const (
			none      = `{"time_estimate":0,"total_time_spent":0,"human_time_estimate":null,"human_total_time_spent":null}`
			estimated = `{"time_estimate":144000,"total_time_spent":0,"human_time_estimate":"1w","human_total_time_spent":null}`
			spent     = `{"time_estimate":144000,"total_time_spent":7200,"human_time_estimate":"1w","human_total_time_spent":"2h"}`
			less      = `{"time_estimate":144000,"total_time_spent":3600,"human_time_estimate":"1w","human_total_time_spent":"1h"}`
			badSpent  = `{"message":"Time spent must be formatted correctly. For example: 1h 30m."}`
			badTime   = `{"message":"400 Bad request - {:reason=>\"Time estimate must have a valid format and be greater than or equal to zero.\"}"}`
		)
		for base, who := range map[string]struct{ may, mayNot string }{appIssues + "/1": {"planner", "guest"}, requestsPath + "/1": {"dev", "guest"}} {
			for _, tt := range []struct {
				as, method, path, body string
				status                 int
				answer                 string
			}{
				{who.mayNot, "GET", "/time_stats", "", 200, none},
				{who.may, "POST", "/time_estimate", `{"duration":"1w"}`, 200, estimated},
				{who.may, "POST", "/time_estimate", `{"duration":"soon"}`, 400, badTime},
				{who.may, "POST", "/time_estimate", `{"duration":"-1h"}`, 400, badTime},
				{who.may, "POST", "/time_estimate", `{}`, 400, `{"error":"duration is missing"}`},
				{who.may, "POST", "/add_spent_time", `{"duration":"2h","summary":"Read"}`, 201, spent},
				{who.may, "POST", "/add_spent_time", `{"duration":"-1h"}`, 201, less},
				{who.may, "POST", "/add_spent_time", `{"duration":"-2h"}`, 400, `{"message":{"base":["Time to subtract exceeds the total time spent"]}}`},
				{who.may, "POST", "/add_spent_time", `{"duration":"soon"}`, 400, badSpent},
				{who.may, "POST", "/add_spent_time", `{"duration":""}`, 400, badSpent},
				{who.mayNot, "POST", "/add_spent_time", `{"duration":"1h"}`, 403, `{"message":"403 Forbidden"}`},
				{"", "POST", "/add_spent_time", `{"duration":"1h"}`, 401, `{"message":"401 Unauthorized"}`},
				{who.mayNot, "GET", "/time_stats", "", 200, less},
				{who.may, "POST", "/reset_spent_time", "", 200, estimated},
				{who.may, "POST", "/reset_time_estimate", "", 200, none},
			} {
				p.want(tt.as, tt.method, base+tt.path, tt.body, tt.status, tt.answer)
			}
			p.do(who.may, "POST", base+"/time_estimate", `{"duration":"1w"}`)
			stats, ok := p.do(who.mayNot, "GET", base, "")["time_stats"].(map[string]any)
			if !ok || stats["human_time_estimate"] != "1w" || stats["total_time_spent"] != 0.0 {
				t.Errorf("%s: time_stats = %v, want an estimate of 1w", base, stats)
			}
		}
		entries, err := db.Select[int64](t.Context(), d, "SELECT time_spent FROM timelogs WHERE issue_id IS NOT NULL ORDER BY id")
		if err != nil || len(entries) != 3 || entries[0] != 7200 || entries[1] != -3600 || entries[2] != -3600 {
			t.Errorf("entries = %v, %v, want 7200, -3600 and what takes back the rest", entries, err)
		}
		p.do("owner", "POST", appIssues, `{"title":"y"}`)
		p.want("owner", "DELETE", appIssues+"/1", "", 204, "")
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM timelogs WHERE issue_id IS NOT NULL"); err != nil || n != 0 {
			t.Errorf("%d entries of a deleted issue are left (%v)", n, err)
		}
	})
}
