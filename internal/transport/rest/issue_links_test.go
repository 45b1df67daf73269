package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
)

// Issues are linked across projects; a caller who may not read one of them learns nothing of the link.
func TestIssueLinks(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		secret := p.Project("team/secret", authz.Private, p.Find(p.users["owner"], p.id).ParentID)
		p.Join(secret, p.users["owner"], authz.Owner)
		secrets := fmt.Sprintf("/projects/%d/issues", secret)
		for i := 1; i <= 3; i++ {
			p.do("planner", "POST", appIssues, fmt.Sprintf(`{"title":"%d"}`, i))
		}
		p.do("owner", "POST", secrets, `{"title":"hidden"}`)
		one, links := appIssues+"/1", appIssues+"/1/links"
		to := func(project any, iid, more string) string {
			return fmt.Sprintf(`{"target_project_id":"%v","target_issue_iid":%s%s}`, project, iid, more)
		}
		made := p.do("guest", "POST", links, to("team/app", "2", ""))
		if made["link_type"] != "relates_to" || made["source_issue"].(map[string]any)["iid"] != 1.0 || made["target_issue"].(map[string]any)["iid"] != 2.0 {
			t.Errorf("link = %v, want one from 1 to 2 that relates them", made)
		}
		p.do("owner", "POST", links, to(secret, `"1"`, `,"link_type":"blocks"`))
		blocked := p.do("owner", "POST", links, to("team/app", "3", `,"link_type":"is_blocked_by"`))
		if blocked["link_type"] != "blocks" || blocked["source_issue"].(map[string]any)["iid"] != 3.0 {
			t.Errorf("link = %v, want that 3 blocks 1", blocked)
		}
		const conflict, forbidden = `{"message":"Issue(s) already assigned"}`, `{"message":"403 Forbidden"}`
		const unmatched = `{"message":"No matching issue found. Make sure that you are adding a valid issue URL."}`
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"guest", "POST", links, to("team/app", "2", ""), 409, conflict},
			{"guest", "POST", appIssues + "/2/links", to("team/app", "1", ""), 409, conflict},
			{"guest", "POST", links, to("team/app", "1", ""), 422, `{"message":"#1 cannot be added: cannot be related to itself"}`},
			{"guest", "POST", links, to(secret, "1", ""), 404, `{"message":"404 Project Not Found"}`},
			{"guest", "POST", links, to("team/app", "99", ""), 404, `{"message":"404 Not found"}`},
			{"guest", "POST", links, `{}`, 400, `{"error":"target_project_id is missing, target_issue_iid is missing"}`},
			{"guest", "POST", links, to("team/app", "2", `,"link_type":"likes"`), 400, `{"error":"link_type does not have a valid value"}`},
			{"stranger", "POST", links, to("team/app", "3", ""), 403, forbidden},
			{"guest", "GET", links + "/99", "", 404, `{"message":"404 Not found"}`},
			{"guest", "GET", links + "/2", "", 404, `{"message":"404 Not found"}`}, // the hidden one
			{"guest", "DELETE", links + "/2", "", 404, `{"message":"404 Not found"}`},
			{"stranger", "DELETE", links + "/1", "", 403, forbidden},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		public := p.Project("team/public", authz.Public, p.Find(p.users["owner"], p.id).ParentID)
		p.Join(public, p.users["owner"], authz.Owner)
		p.do("owner", "POST", fmt.Sprintf("/projects/%d/issues", public), `{"title":"seen"}`)
		p.want("guest", "POST", links, to(public, "1", ""), 404, unmatched)
		for _, tt := range []struct{ as, types, blocking string }{{"owner", "relates_to blocks is_blocked_by", "1"}, {"guest", "relates_to is_blocked_by", "0"}, {"", "relates_to is_blocked_by", "0"}} {
			if got := p.pick(tt.as, links, "link_type"); got != tt.types {
				t.Errorf("links for %q = %s, want %s", tt.as, got, tt.types)
			}
			if got := p.pick(tt.as, appIssues+"?iids[]=1", "blocking_issues_count"); got != tt.blocking {
				t.Errorf("issues that #1 blocks, for %q = %s, want %s", tt.as, got, tt.blocking)
			}
		}
		if got := p.pick("guest", appIssues+"/3/links", "link_type"); got != "blocks" {
			t.Errorf("3 to 1 = %s, want blocks", got)
		}
		p.do("owner", "PUT", secrets+"/1", `{"state_event":"close"}`)
		if got := fmt.Sprint(p.do("owner", "GET", one, "")["blocking_issues_count"]); got != "0" {
			t.Errorf("a closed issue is blocked: count = %s, want 0", got)
		}
		if w := p.send("guest", "DELETE", links+"/1", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"link_type":"relates_to"`) {
			t.Errorf("deletion = %d %s, want 200 and the link", w.Code, w.Body)
		}
		if got := p.pick("guest", links, "link_type"); got != "is_blocked_by" {
			t.Errorf("links after a deletion = %s, want is_blocked_by", got)
		}
	})
}

// An issue is made again in another project, where its links and time go as well; the first is
// closed and names the second to those who may read it.
func TestIssues_moveAndClone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		group := p.Find(p.users["owner"], p.id).ParentID
		p.Issues.Subscribe(p.Bus)
		other := p.Project("team/other", authz.Private, group)
		p.Join(other, p.users["owner"], authz.Owner)
		p.Join(other, p.users["planner"], authz.Guest)
		p.do("owner", "POST", appIssues, `{"title":"first","description":"text","labels":"bug","weight":3}`)
		p.do("owner", "POST", appIssues, `{"title":"second"}`)
		p.want("owner", "POST", appIssues+"/1/links", `{"target_issue_iid":2}`, 400, `{"error":"target_project_id is missing"}`)
		p.want("owner", "POST", appIssues+"/1/links", `{"target_project_id":null,"target_issue_iid":99}`, 404, `{"message":"404 Not found"}`)
		p.do("owner", "POST", appIssues+"/1/links", `{"target_project_id":"team/app","target_issue_iid":2}`)
		p.do("owner", "POST", appIssues+"/1/add_spent_time", `{"duration":"2h"}`)
		p.do("owner", "POST", fmt.Sprintf("/projects/%d/labels", other), `{"name":"bug","color":"#ff0000"}`)
		const refused = `{"message":"Unable to move. You have insufficient permissions."}`
		move := fmt.Sprintf(`{"to_project_id":%d}`, other)
		p.want("planner", "POST", appIssues+"/1/move", move, 400, refused)
		p.want("planner", "POST", appIssues+"/1/clone", move, 400, strings.Replace(refused, "move", "clone", 1))
		p.want("guest", "POST", appIssues+"/1/move", move, 404, `{"message":"404 Project Not Found"}`)
		p.want("owner", "POST", appIssues+"/1/move", `{}`, 400, `{"error":"to_project_id is missing"}`)
		p.want("owner", "POST", appIssues+"/1/move", fmt.Sprintf(`{"to_project_id":%d}`, p.id), 400, `{"message":"Cannot move issue to project it originates from!"}`)
		made := p.do("owner", "POST", appIssues+"/1/move", move)
		if made["title"] != "first" || made["project_id"] != float64(other) || made["iid"] != 1.0 || made["weight"] != 3.0 || fmt.Sprint(made["labels"]) != "[bug]" ||
			made["time_stats"].(map[string]any)["total_time_spent"] != 7200.0 {
			t.Errorf("moved issue = %v", made)
		}
		was := p.do("owner", "GET", appIssues+"/1", "")
		if was["state"] != "closed" || was["moved_to_id"] != made["id"] {
			t.Errorf("the issue that was moved: state %v, moved_to_id %v, want closed and %v", was["state"], was["moved_to_id"], made["id"])
		}
		if hidden := p.do("guest", "GET", appIssues+"/1", ""); hidden["moved_to_id"] != nil {
			t.Errorf("moved_to_id for who may not read the other = %v, want null", hidden["moved_to_id"])
		}
		if got := p.pick("owner", fmt.Sprintf("/projects/%d/issues/1/links", other), "iid"); got != "2" {
			t.Errorf("links of the moved issue = %s, want 2", got)
		}
		p.want("owner", "POST", appIssues+"/1/move", move, 400, refused)
		clone := p.do("planner", "POST", appIssues+"/2/clone", fmt.Sprintf(`{"to_project_id":%d}`, p.id))
		if clone["title"] != "second" || clone["iid"] != 3.0 || clone["author"].(map[string]any)["username"] != "planner" {
			t.Errorf("clone = %v, want a third issue of the planner's", clone)
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT open_issues_count FROM projects WHERE id = ?", p.id); err != nil || n != 2 {
			t.Errorf("open issues = %d, %v, want 2", n, err)
		}
	})
}
