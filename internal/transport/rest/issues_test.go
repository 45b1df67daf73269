package rest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

const appIssues = "/projects/team%2Fapp/issues"

func TestIssues_entity(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		w := p.send("planner", "POST", appIssues, `{"title":"First","description":"- [x] a\n- [ ] b","labels":"bug,p1",
			"assignee_ids":[`+fmt.Sprint(p.users["guest"].UserID)+`],"due_date":"2023-06-01","weight":3}`)
		if w.Code != 201 {
			t.Fatal(w.Code, w.Body)
		}
		const fields = "id iid project_id title description state created_at updated_at closed_at closed_by labels milestone" +
			" assignees author type assignee user_notes_count merge_requests_count upvotes downvotes start_date due_date" +
			" confidential discussion_locked issue_type web_url time_stats task_completion_status weight blocking_issues_count" +
			" has_tasks task_status _links references severity subscribed moved_to_id imported imported_from" +
			" service_desk_reply_to epic_iid epic iteration health_status"
		if got := strings.Join(keys(t, w.Body.String()), " "); got != fields {
			t.Errorf("fields\n got %s\nwant %s", got, fields)
		}
		var got map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		base := fmt.Sprintf("https://tenon.example/api/v4/projects/%d", p.id)
		for path, want := range map[string]string{
			"iid": "1", "state": `"opened"`, "labels": `["bug","p1"]`, "type": `"ISSUE"`, "due_date": `"2023-06-01"`, "weight": "3",
			"closed_at": "null", "milestone": "null", "discussion_locked": "null", "user_notes_count": "0", "has_tasks": "true",
			"task_status": `"1 of 2 checklist items completed"`, "task_completion_status": `{"completed_count":1,"count":2}`,
			"web_url":    `"https://tenon.example/team/app/-/issues/1"`,
			"references": `{"full":"team/app#1","relative":"#1","short":"#1"}`,
			"_links": fmt.Sprintf(`{"award_emoji":"%[1]s/issues/1/award_emoji","closed_as_duplicate_of":null,"notes":"%[1]s/issues/1/notes","project":"%[1]s","self":"%[1]s/issues/1"}`,
				base),
			"time_stats": `{"human_time_estimate":null,"human_total_time_spent":null,"time_estimate":0,"total_time_spent":0}`,
			"subscribed": "true", "severity": `"UNKNOWN"`,
		} {
			b, err := json.Marshal(got[path])
			if err != nil || string(b) != want {
				t.Errorf("%s = %s, want %s", path, b, want)
			}
		}
		if author := got["author"].(map[string]any); author["username"] != "planner" || author["web_url"] != "https://tenon.example/planner" {
			t.Errorf("author = %v", author)
		}
		if a := got["assignee"].(map[string]any); a["username"] != "guest" || len(got["assignees"].([]any)) != 1 {
			t.Errorf("assignees = %v", got["assignees"])
		}
		if at := got["created_at"].(string); !regexp.MustCompile(`^2023-05-22T12:\d\d:\d\d\.\d{3}Z$`).MatchString(at) {
			t.Errorf("created_at = %s", at)
		}
		list := p.send("", "GET", appIssues+"?with_labels_details=true", "").Body.String()
		if strings.Contains(list, `"subscribed"`) || !strings.Contains(list, `"labels":[{"id":`) {
			t.Errorf("list = %s", list)
		}
		p.do("planner", "POST", appIssues, `{"title":"Second","issue_type":"task"}`)
		second := p.send("", "GET", "/groups/team/issues?iids[]=2", "").Body.String()
		for _, want := range []string{`"description":null`, `"labels":[]`, `"assignees":[]`, `"assignee":null`, `"relative":"app#2"`, `/-/work_items/2"`} {
			if !strings.Contains(second, want) {
				t.Errorf("%s is not in %s", want, second)
			}
		}
	})
}

func TestIssues_refusals(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		p.do("owner", "POST", appIssues, `{"title":"open","iid":1}`)
		p.do("owner", "POST", appIssues, `{"title":"hidden","confidential":true}`)
		one, hidden := appIssues+"/1", appIssues+"/2"
		const (
			unauthorized = `{"message":"401 Unauthorized"}`
			forbidden    = `{"message":"403 Forbidden"}`
			notFound     = `{"message":"404 Not found"}`
			noProject    = `{"message":"404 Project Not Found"}`
			blank        = `{"message":{"title":["can't be blank"]}}`
		)
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "POST", appIssues, `{"title":"x"}`, 401, unauthorized},
			{"nobody", "GET", appIssues, "", 401, unauthorized},
			{"guest", "POST", "/projects/99/issues", `{"title":"x"}`, 404, noProject},
			{"guest", "GET", "/projects/app/issues", "", 404, noProject},
			{"guest", "POST", appIssues, `{}`, 400, `{"error":"title is missing"}`},
			{"guest", "POST", appIssues, `{"title":" "}`, 400, blank},
			{"guest", "POST", appIssues, `{"title":"` + strings.Repeat("x", 256) + `"}`, 400, `{"message":{"title":["is too long (maximum is 255 characters)"]}}`},
			{"guest", "POST", appIssues, `{"title":["x"]}`, 400, `{"error":"title is invalid"}`},
			{"guest", "POST", appIssues, `{"title":"x","due_date":"soon"}`, 400, `{"error":"due_date is invalid"}`},
			{"guest", "POST", appIssues, `{"title":"x","issue_type":"bug","confidential":"maybe"}`, 400, `{"error":"confidential is invalid, issue_type does not have a valid value"}`},
			{"owner", "POST", appIssues, `{"title":"x","iid":1}`, 409, `{"message":"Duplicated issue"}`},
			{"guest", "GET", appIssues + "/99", "", 404, notFound},
			{"guest", "GET", appIssues + "/x", "", 400, `{"error":"issue_iid is invalid"}`},
			{"guest", "GET", hidden, "", 404, notFound},
			{"", "GET", hidden, "", 404, notFound},
			{"stranger", "PUT", hidden, `{"title":"x"}`, 404, notFound},
			{"stranger", "DELETE", hidden, "", 404, notFound},
			{"stranger", "PUT", one, `{"title":"x"}`, 403, forbidden},
			{"", "PUT", one, `{"title":"x"}`, 401, unauthorized},
			{"owner", "PUT", one, `{"title":""}`, 400, blank},
			{"owner", "PUT", one, `{"state_event":"merge"}`, 400, `{"error":"state_event does not have a valid value"}`},
			{"owner", "PUT", one, `{}`, 400, `{"error":"assignee_id, assignee_ids, confidential, created_at, description, discussion_locked, due_date, labels, add_labels, remove_labels, milestone_id, state_event, title, issue_type, weight, severity, health_status, epic_id, epic_iid are missing, at least one parameter must be provided"}`},
			{"guest", "DELETE", one, "", 403, forbidden},
			{"", "GET", "/issues", "", 401, unauthorized},
			{"owner", "GET", "/issues/1", "", 403, forbidden},
			{"root", "GET", "/issues/99", "", 404, notFound},
			{"guest", "GET", appIssues + "?state=gone", "", 400, `{"error":"state does not have a valid value"}`},
			{"guest", "GET", appIssues + "?assignee_id=foo", "", 400, `{"error":"assignee_id should be an integer, none, or any, however got foo"}`},
			{"guest", "GET", appIssues + "?assignee_username[]=a&assignee_username[]=b", "", 400, `{"error":"assignee_username allows one value, but found 2: a, b"}`},
			{"guest", "GET", appIssues + "?author_id=1&author_username=a", "", 400, `{"error":"author_id, author_username are mutually exclusive"}`},
			{"guest", "GET", appIssues + "?per_page=0", "", 400, `{"error":"per_page has a value not allowed"}`},
			{"guest", "GET", "/groups/none/issues", "", 404, `{"message":"404 Group Not Found"}`},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		p.want("root", "GET", "/issues/1", "", 200, "")
		if got := p.pick("", appIssues, "iid"); got != "1" {
			t.Errorf("anonymous list = %s, want 1", got)
		}
	})
}

func TestIssues_update(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		p.do("guest", "POST", appIssues, `{"title":"mine"}`)
		one := appIssues + "/1"
		guest := fmt.Sprint(p.users["guest"].UserID)
		for _, tt := range []struct{ as, body, key, want string }{
			{"guest", `{"state_event":"close","labels":"ignored"}`, "state", `"closed"`},
			{"guest", `{"state_event":"reopen"}`, "closed_by", `null`},
			{"planner", `{"add_labels":"b,a"}`, "labels", `["a","b"]`},
			{"planner", `{"remove_labels":["a"],"add_labels":["c"]}`, "labels", `["b","c"]`},
			{"planner", `{"labels":["x"]}`, "labels", `["x"]`},
			{"planner", `{"labels":""}`, "labels", `[]`},
			{"planner", `{"due_date":"2023-07-01"}`, "due_date", `"2023-07-01"`},
			{"planner", `{"due_date":""}`, "due_date", `null`},
			{"planner", `{"weight":7}`, "weight", `7`},
			{"planner", `{"weight":null}`, "weight", `null`},
			{"planner", `{"discussion_locked":true}`, "discussion_locked", `true`},
			{"planner", `{"issue_type":"incident"}`, "type", `"INCIDENT"`},
			{"planner", `{"description":"text"}`, "description", `"text"`},
			{"planner", `{"milestone_id":0}`, "milestone", `null`},
		} {
			got := p.do(tt.as, "PUT", one, tt.body)[tt.key]
			if b, err := json.Marshal(got); err != nil || string(b) != tt.want {
				t.Errorf("%s: %s gives %s = %s, want %s", tt.as, tt.body, tt.key, b, tt.want)
			}
		}
		for body, want := range map[string]int{
			`{"assignee_ids":[` + guest + `]}`: 1, `{"assignee_id":` + guest + `}`: 1, `{"assignee_ids":[0]}`: 0, `{"assignee_ids":[]}`: 0, `{"assignee_ids":""}`: 0,
		} {
			p.do("planner", "PUT", one, `{"assignee_ids":[`+guest+`]}`)
			if got := len(p.do("planner", "PUT", one, body)["assignees"].([]any)); got != want {
				t.Errorf("%s leaves %d assignees, want %d", body, got, want)
			}
		}
		p.want("planner", "DELETE", one, "", 204, "")
		p.want("planner", "DELETE", one, "", 404, `{"message":"404 Not found"}`)
	})
}

func TestIssues_lists(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		p.Issues.Subscribe(p.Bus)
		guest := fmt.Sprint(p.users["guest"].UserID)
		p.do("owner", "POST", appIssues, `{"title":"one","labels":"bug","assignee_ids":[`+guest+`]}`)
		p.do("guest", "POST", appIssues, `{"title":"two","labels":"bug"}`)
		p.do("owner", "POST", appIssues, `{"title":"three","confidential":true}`)
		p.do("owner", "PUT", appIssues+"/2", `{"state_event":"close"}`)
		for _, tt := range []struct{ as, path, want string }{
			{"owner", appIssues, "3 2 1"},
			{"", appIssues, "2 1"},
			{"", appIssues + "?sort=asc&order_by=title", "1 2"},
			{"", appIssues + "?state=closed", "2"},
			{"", appIssues + "?labels=bug&state=opened", "1"},
			{"", appIssues + "?labels=None", ""},
			{"owner", appIssues + "?labels=none", "3"},
			{"owner", appIssues + "?labels[]=Any", "2 1"},
			{"owner", appIssues + "?not[labels]=bug", "3"},
			{"owner", appIssues + "?not[author_username]=owner&not[iids][]=9", "2"},
			{"owner", appIssues + "?assignee_id=None", "3 2"},
			{"owner", appIssues + "?assignee_id=any", "1"},
			{"owner", appIssues + "?assignee_id=" + guest, "1"},
			{"owner", appIssues + "?author_username=guest", "2"},
			{"owner", appIssues + "?iids=1,3", "3 1"},
			{"owner", appIssues + "?search=tHRee&in=title,description", "3"},
			{"owner", appIssues + "?milestone=None", "3 2 1"},
			{"owner", appIssues + "?milestone_id=Any", ""},
			{"owner", appIssues + "?milestone=v1", ""},
			{"owner", appIssues + "?confidential=true", "3"},
			{"owner", appIssues + "?due_date=0", "3 2 1"},
			{"owner", appIssues + "?created_after=2030-01-01", ""},
			{"owner", appIssues + "?my_reaction_emoji=Any", ""},
			{"owner", appIssues + "?scope=assigned_to_me", ""},
			{"guest", "/issues", "2"},
			{"guest", "/issues?scope=all", "2 1"},
			{"guest", "/issues?scope=assigned_to_me", "1"},
			{"stranger", "/groups/team/issues", "2 1"},
		} {
			if got := p.pick(tt.as, tt.path, "iid"); got != tt.want {
				t.Errorf("%q: GET %s gives %s, want %s", tt.as, tt.path, got, tt.want)
			}
		}
		w := p.send("owner", "GET", appIssues+"?per_page=2", "")
		if got := w.Header().Get("X-Total") + " " + w.Header().Get("X-Total-Pages") + " " + w.Header().Get("X-Next-Page"); got != "3 2 2" {
			t.Errorf("X-Total, X-Total-Pages, X-Next-Page = %s, want 3 2 2", got)
		}
		for _, tt := range []struct{ as, path, want string }{
			{"owner", "/projects/team%2Fapp/issues_statistics", `{"statistics":{"counts":{"all":3,"closed":1,"opened":2}}}`},
			{"", "/groups/team/issues_statistics?labels=bug", `{"statistics":{"counts":{"all":2,"closed":1,"opened":1}}}`},
			{"guest", "/issues_statistics", `{"statistics":{"counts":{"all":1,"closed":1,"opened":0}}}`},
		} {
			p.want(tt.as, "GET", tt.path, "", 200, tt.want)
		}
	})
}

// A list costs the same number of statements whatever its length, and few enough.
func TestPlanning_statements(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		guest := fmt.Sprint(p.users["guest"].UserID)
		for i := range 100 {
			p.do("owner", "POST", appIssues, `{"title":"x","labels":"bug,`+fmt.Sprint(i%3)+`","assignee_ids":[`+guest+`]}`)
			p.do([]string{"owner", "guest", "stranger"}[i%3], "POST", appIssues+"/1/notes", `{"body":"hello"}`)
		}
		for _, path := range []string{appIssues, "/groups/team/issues", "/issues?scope=all", appIssues + "/1/notes", "/projects/team%2Fapp/labels"} {
			for _, as := range []string{"owner", "stranger"} {
				cost := func(n int) int {
					sep := "?"
					if strings.Contains(path, "?") {
						sep = "&"
					}
					return dbtest.Count(t, d, func() { p.want(as, "GET", path+sep+"per_page="+fmt.Sprint(n), "", 200, "") })
				}
				// What is remembered of users runs out now and then, since each look at the
				// clock of these tests takes a second: the least of a few tries counts. A page
				// that is not full need not be counted.
				least := func(n int) int { return min(cost(n), cost(n), cost(n)) }
				if one, many := least(1), least(100); many > one || one > 8 {
					t.Errorf("%s: GET %s costs %d statements for 1 row and %d for 100, want 8 at most", as, path, one, many)
				}
			}
		}
	})
}
