package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/coretest"
	"tenon/internal/transport/rest/api"
)

// An incident has a severity, every issue a health status; lists filter by the latter and by
// weights that are not wanted.
func TestIssues_severityAndHealth(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		p.do("planner", "POST", appIssues, `{"title":"one","issue_type":"incident","severity":"high","health_status":"at_risk","weight":1}`)
		p.do("planner", "POST", appIssues, `{"title":"two","severity":"low","weight":2}`)
		p.do("planner", "POST", appIssues, `{"title":"three","health_status":"on_track"}`)
		for _, tt := range []struct{ path, key, want string }{
			{"?sort=asc", "severity", "HIGH UNKNOWN UNKNOWN"},
			{"?sort=asc", "type", "INCIDENT ISSUE ISSUE"},
			{"?sort=asc", "health_status", "at_risk null on_track"},
			{"?sort=asc&health_status=at_risk", "iid", "1"},
			{"?sort=asc&health_status=any", "iid", "1 3"},
			{"?sort=asc&health_status=None", "iid", "2"},
			{"?sort=asc&not[weight]=1", "iid", "2 3"},
			{"?weight=2", "iid", "2"},
			{"?weight=0", "iid", ""},
			{"?weight=", "iid", "3 2 1"},
			{"?sort=asc&health_status=any&pagination=keyset", "iid", "1 3"},
		} {
			if got := p.pick("guest", appIssues+tt.path, tt.key); got != tt.want {
				t.Errorf("%s of %s = %s, want %s", tt.key, tt.path, got, tt.want)
			}
		}
		p.want("guest", "GET", appIssues+"?health_status=bad", "", 400, `{"error":"health_status does not have a valid value"}`)
		p.want("planner", "POST", appIssues, `{"title":"x","severity":"bad"}`, 400, `{"error":"severity does not have a valid value"}`)
		if got := p.do("planner", "PUT", appIssues+"/1", `{"severity":"critical","health_status":""}`); got["severity"] != "CRITICAL" || got["health_status"] != nil {
			t.Errorf("after a change: severity %v, health %v, want CRITICAL and null", got["severity"], got["health_status"])
		}
		if got := p.do("planner", "PUT", appIssues+"/1", `{"issue_type":"issue"}`); got["severity"] != "UNKNOWN" {
			t.Errorf("severity of what is no incident any more = %v, want UNKNOWN", got["severity"])
		}
		// The author below planner changes text alone.
		p.do("guest", "POST", appIssues, `{"title":"mine"}`)
		if got := p.do("guest", "PUT", appIssues+"/4", `{"title":"own","health_status":"at_risk"}`); got["title"] != "own" || got["health_status"] != nil {
			t.Errorf("the author's change = %v %v, want own and null", got["title"], got["health_status"])
		}
	})
}

// Issues are ordered by hand: one is put behind, before or between others, also where these
// have no room between them.
func TestIssues_reorder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		ids := map[int]any{}
		for i := 1; i <= 5; i++ {
			ids[i] = int64(p.do("planner", "POST", appIssues, fmt.Sprintf(`{"title":"%d"}`, i))["id"].(float64))
		}
		order := func(want string) {
			t.Helper()
			for _, query := range []string{"?order_by=relative_position&sort=asc", "?order_by=relative_position&sort=asc&pagination=keyset&per_page=10"} {
				if got := p.pick("guest", appIssues+query, "iid"); got != want {
					t.Errorf("order of %s = %s, want %s", query, got, want)
				}
			}
		}
		order("1 2 3 4 5")
		move := func(iid int, format string, anchors ...any) {
			t.Helper()
			p.do("planner", "PUT", fmt.Sprintf("%s/%d/reorder", appIssues, iid), fmt.Sprintf(format, anchors...))
		}
		move(1, `{"move_after_id":%v}`, ids[3])
		order("2 3 1 4 5")
		move(5, `{"move_before_id":%v}`, ids[2])
		order("5 2 3 1 4")
		move(4, `{"move_after_id":%v,"move_before_id":%v}`, ids[5], ids[2])
		order("5 4 2 3 1")
		move(5, `{"move_after_id":%v}`, ids[1])
		order("4 2 3 1 5")
		if _, err := d.Exec(t.Context(), "UPDATE issues SET relative_position = 7"); err != nil { // no room at all
			t.Fatal(err)
		}
		move(5, `{"move_after_id":%v,"move_before_id":%v}`, ids[1], ids[2])
		order("1 5 2 3 4")
		const refused = `{"message":"422 Unprocessable Entity"}`
		p.want("planner", "PUT", appIssues+"/1/reorder", `{}`, 422, refused)
		p.want("planner", "PUT", appIssues+"/1/reorder", `{"move_after_id":99999}`, 422, refused)
		p.want("stranger", "PUT", appIssues+"/1/reorder", `{}`, 403, `{"message":"403 Forbidden"}`)
	})
}

// Participants are who wrote an issue, works on it or commented on it; whose only comment is
// internal shows to those who may read it.
func TestIssues_participants(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		one := int64(p.do("guest", "POST", appIssues, `{"title":"x"}`)["id"].(float64))
		p.do("planner", "PUT", appIssues+"/1", fmt.Sprintf(`{"assignee_ids":[%d]}`, p.users["planner"].UserID))
		p.do("stranger", "POST", appIssues+"/1/notes", `{"body":"words"}`)
		p.do("owner", "POST", appIssues+"/1/notes", `{"body":"between us","internal":true}`)
		names := func(as string) string { return p.pick(as, appIssues+"/1/participants", "username") }
		if got := names(""); strings.Contains(got, "owner") || !strings.Contains(got, "guest") || !strings.Contains(got, "stranger") || !strings.Contains(got, "planner") {
			t.Errorf("participants for others = %s, want guest, stranger and planner", got)
		}
		if got := names("planner"); !strings.Contains(got, "owner") {
			t.Errorf("participants for a planner = %s, want owner among them", got)
		}
		p.do("planner", "POST", appIssues, `{"title":"y"}`)
		p.Insert("award_emoji", coretest.Row{"name": "thumbsup", "user_id": p.users["guest"].UserID, "awardable_type": "Issue", "awardable_id": one})
		if got := p.pick("guest", appIssues+"?order_by=popularity", "iid"); got != "1 2" {
			t.Errorf("most popular first = %s, want 1 2", got)
		}
		if got := p.pick("guest", appIssues+"?order_by=popularity&sort=asc", "iid"); got != "2 1" {
			t.Errorf("least popular first = %s, want 2 1", got)
		}
	})
}

func TestIssues_userAgent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, api.Prefix+appIssues, strings.NewReader(`{"title":"x"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Private-Token", "guest")
		r.Header.Set("User-Agent", "curl/8\x01 "+strings.Repeat("x", 300))
		w := httptest.NewRecorder()
		p.kit.ServeHTTP(w, r)
		if w.Code != 201 {
			t.Fatal(w.Code, w.Body)
		}
		p.do("guest", "POST", appIssues, `{"title":"without"}`)
		p.want("root", "GET", appIssues+"/1/user_agent_detail", "", 200,
			`{"user_agent":"curl/8 `+strings.Repeat("x", 248)+`","ip_address":"192.0.2.1","akismet_submitted":false}`)
		p.want("root", "GET", appIssues+"/2/user_agent_detail", "", 404, `{"message":"404 UserAgentDetail Not Found"}`)
		p.want("owner", "GET", appIssues+"/1/user_agent_detail", "", 403, `{"message":"403 Forbidden"}`)
		p.want("", "GET", appIssues+"/1/user_agent_detail", "", 401, `{"message":"401 Unauthorized"}`)
	})
}
