package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
)

func TestEpics_issues(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newEpics(t, d)
		p.Epics.Subscribe(p.Bus)
		hidden := p.Project("team/hidden", authz.Private, p.Find(p.users["root"], p.id).ParentID)
		p.Join(hidden, p.users["planner"], authz.Planner)
		p.do("planner", "POST", teamEpics, `{"title":"Sail"}`)
		secret := p.do("planner", "POST", teamEpics, `{"title":"Secret","confidential":true}`)
		m := p.do("planner", "POST", appMilestones, `{"title":"v1","start_date":"2023-06-01","due_date":"2023-06-30"}`)
		at := fmt.Sprintf("/projects/%d/issues", hidden)
		made := map[string]string{}
		links := map[string]string{}
		for _, i := range []struct{ path, body string }{
			{appIssues, `{"title":"a","milestone_id":` + id(m, "id") + `}`}, {appIssues, `{"title":"b"}`}, {appIssues, `{"title":"quiet","confidential":true}`}, {at, `{"title":"hidden"}`},
		} {
			e := p.do("planner", "POST", i.path, i.body)
			made[e["title"].(string)] = id(e, "id")
		}
		const list = teamEpics + "/1/issues"
		for _, title := range []string{"hidden", "quiet", "b", "a"} {
			got := p.do("planner", "POST", list+"/"+made[title], "")
			links[title] = id(got, "id")
			if e, i := got["epic"].(map[string]any), got["issue"].(map[string]any); e["title"] != "Sail" || i["title"] != title || i["epic_iid"] != 1.0 {
				t.Errorf("assigned: got %v", got)
			}
		}
		// What a reader may not read is neither listed nor counted.
		for as, want := range map[string]string{"planner": "a b quiet hidden", "guest": "a b hidden", "": "a b"} {
			a := p.send(as, "GET", list, "")
			got := p.pick(as, list, "title")
			if got != want || a.Header().Get("X-Total") != fmt.Sprint(len(strings.Fields(want))) {
				t.Errorf("issues for %q: got %q of %s, want %q", as, got, a.Header().Get("X-Total"), want)
			}
		}
		if got, want := p.pick("stranger", list+"?per_page=1&page=2", "epic_issue_id"), links["b"]; got != want {
			t.Errorf("second issue: got %q, want %q", got, want)
		}
		if e := p.do("", "GET", teamEpics+"/1", ""); e["start_date"] != "2023-06-01" || e["due_date_from_milestones"] != "2023-06-30" {
			t.Errorf("dates of milestones: got %v", e)
		}
		a := p.do("stranger", "GET", appIssues+"/1", "")
		if got, want := fmt.Sprint(a["epic"]), "map[group_id:"+id(secret, "group_id")+" id:1 iid:1 title:Sail url:/groups/team/-/epics/1]"; got != want {
			t.Errorf("epic of an issue: got %s, want %s", got, want)
		}
		p.want("planner", "PUT", list+"/"+links["a"], `{"move_before_id":`+links["b"]+`,"move_after_id":`+links["quiet"]+`}`, 200, "")
		if got := p.pick("planner", list, "title"); got != "b a quiet hidden" {
			t.Errorf("put in order: got %q", got)
		}
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "POST", list + "/" + made["a"], "", 401, `{"message":"401 Unauthorized"}`},
			{"stranger", "POST", list + "/" + made["a"], "", 403, `{"message":"403 Forbidden"}`},
			{"planner", "POST", list + "/" + made["a"], "", 409, `{"message":"Issue(s) already assigned"}`},
			{"planner", "POST", list + "/999", "", 404, `{"message":"404 Not found"}`},
			{"guest", "POST", list + "/" + made["quiet"], "", 404, `{"message":"404 Not found"}`},
			{"guest", "POST", teamEpics + "/2/issues/" + made["a"], "", 404, `{"message":"404 Not found"}`},
			{"guest", "GET", teamEpics + "/2/issues", "", 404, `{"message":"404 Not found"}`},
			{"guest", "PUT", list + "/" + links["a"], `{"move_before_id":` + links["quiet"] + `}`, 404, `{"message":"404 Not found"}`},
			{"guest", "DELETE", list + "/" + links["quiet"], "", 404, `{"message":"404 Not found"}`},
			{"planner", "DELETE", teamEpics + "/2/issues/" + links["a"], "", 404, `{"message":"404 Not found"}`},
			{"guest", "DELETE", list + "/" + links["a"], "", 200, ""},
			{"guest", "DELETE", list + "/" + links["a"], "", 404, `{"message":"404 Not found"}`},
			{"planner", "POST", appIssues, `{"title":"lost","epic_id":99}`, 404, `{"message":"404 Epic Not Found"}`},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		// The epic of an issue is null for users who may not read it, and their filters do not find it.
		c := p.do("planner", "POST", appIssues, `{"title":"c","epic_iid":2}`)
		if c["epic_iid"] != 2.0 {
			t.Errorf("new issue: got the epic %v", c["epic"])
		}
		iid := id(c, "iid")
		if c := p.do("guest", "GET", appIssues+"/"+iid, ""); c["epic"] != nil || c["epic_iid"] != nil {
			t.Errorf("hidden epic: got %v", c["epic"])
		}
		for as, want := range map[string]string{
			"planner epic_id=" + id(secret, "id"): "c", "guest epic_id=" + id(secret, "id"): "", "guest epic_id=None": "c a", "planner epic_id=None": "a",
			"planner epic_id=Any&sort=asc": "b quiet c", "guest epic_id=Any": "b", "planner not[epic_id]=1": "c a", " epic_id=1": "b",
		} {
			name, query, _ := strings.Cut(as, " ")
			if got := p.pick(name, appIssues+"?"+query, "title"); got != want {
				t.Errorf("issues of %s: got %q, want %q", as, got, want)
			}
		}
		if got := p.pick("planner", "/groups/team/issues?epic_id=1&sort=asc", "title"); got != "b quiet hidden" {
			t.Errorf("issues of the group in an epic: got %q", got)
		}
		if c = p.do("planner", "PUT", appIssues+"/"+iid, `{"epic_id":1}`); c["epic_iid"] != 1.0 {
			t.Errorf("another epic: got %v", c["epic"])
		}
		p.want("guest", "PUT", appIssues+"/2", `{"epic_id":0}`, 403, `{"message":"403 Forbidden"}`)
		moved, _, err := p.Issues.Move(t.Context(), p.users["planner"], p.Find(p.users["planner"], p.id), issue.IID(2), hidden)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.do("planner", "GET", fmt.Sprintf("%s/%d", at, moved.IID), ""); got["epic_iid"] != 1.0 {
			t.Errorf("moved issue: got %v", got["epic"])
		}
		if c = p.do("planner", "PUT", appIssues+"/"+iid, `{"epic_id":""}`); c["epic"] != nil {
			t.Errorf("without an epic: got %v", c["epic"])
		}
	})
}
