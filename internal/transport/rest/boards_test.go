package rest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/resourceevent"
)

const appBoards = "/projects/team%2Fapp/boards"

// order returns the label names of the lists of the first board.
func (p *planning) order() string {
	p.t.Helper()
	var out []string
	for i, l := range p.do("", "GET", appBoards+"/1", "")["lists"].([]any) {
		list := l.(map[string]any)
		if list["position"] != float64(i) {
			p.t.Errorf("list %v is in place %d", list, i)
		}
		name := "-"
		if of, ok := list["label"].(map[string]any); ok {
			name = fmt.Sprint(of["name"])
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func TestBoards(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		p.Boards.Subscribe(p.Bus)
		group := p.Find(p.users["root"], p.id).ParentID
		const lists = appBoards + "/1/lists"
		made := p.send("planner", "POST", appBoards, `{"name":" Work "}`)
		const fields = "id name hide_backlog_list hide_closed_list project group lists milestone assignee labels weight"
		if got := strings.Join(keys(t, made.Body.String()), " "); made.Code != 201 || got != fields {
			t.Fatalf("got %d %s, want the fields %s", made.Code, made.Body, fields)
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			p.do("planner", "POST", "/projects/team%2Fapp/labels", `{"name":"`+name+`","color":"#112233"}`)
		}
		p.do("planner", "POST", appMilestones, `{"title":"v1"}`)
		for _, label := range []string{"1", "2", "3"} {
			p.do("planner", "POST", lists, `{"label_id":`+label+`}`)
		}
		guest := p.users["guest"].UserID
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "POST", appBoards, `{"name":"x"}`, 401, `{"message":"401 Unauthorized"}`},
			{"guest", "POST", appBoards, `{"name":"x"}`, 403, `{"message":"403 Forbidden"}`},
			{"planner", "POST", appBoards, `{}`, 400, `{"error":"name is missing"}`},
			{"planner", "POST", appBoards, `{"name":" "}`, 400, `{"message":{"name":["can't be blank"]}}`},
			{"planner", "GET", appBoards + "/9", "", 404, `{"message":"404 Not found"}`},
			{"planner", "GET", "/groups/team/boards/1", "", 404, `{"message":"404 Not found"}`},
			{"planner", "POST", lists, `{"label_id":99}`, 400, `{"message":{"error":"Label not found!"}}`},
			{"planner", "POST", lists, `{"milestone_id":99}`, 400, `{"message":{"error":"Milestone not found!"}}`},
			{"planner", "POST", lists, `{"assignee_id":99}`, 400, `{"message":{"error":"User not found!"}}`},
			{"planner", "POST", lists, `{"iteration_id":99}`, 400, `{"message":{"error":"Iteration not found!"}}`},
			{"planner", "POST", lists, `{"label_id":1}`, 400, `{"message":{"error":"Label has already been taken"}}`},
			{"planner", "PUT", lists + "/1", `{}`, 400, `{"error":"position is missing"}`},
			{"planner", "PUT", lists + "/1", `{"position":0}`, 400, `{"message":{"error":"List could not be moved!"}}`},
			{"planner", "PUT", lists + "/1", `{"position":3}`, 400, `{"message":{"error":"List could not be moved!"}}`},
			{"planner", "PUT", lists + "/9", `{"position":1}`, 404, `{"message":"404 Not found"}`},
			{"guest", "DELETE", lists + "/1", "", 403, `{"message":"403 Forbidden"}`},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		if b := p.do("planner", "PUT", appBoards+"/1", `{}`); b["id"] != 1.0 { // as of a client that changes the lists alone
			t.Errorf("board after no change: %v", b)
		}
		moved := p.do("planner", "PUT", lists+"/1", `{"position":2,"max_issue_count":5}`)
		if moved["position"] != 2.0 || moved["max_issue_count"] != 5.0 || moved["limit_metric"] != nil {
			t.Errorf("moved list: %v", moved)
		}
		if got := p.order(); got != "b c a" {
			t.Errorf("lists after a move: got %q", got)
		}
		p.do("planner", "POST", lists, `{"milestone_id":1}`)
		byPerson := p.do("planner", "POST", lists, fmt.Sprintf(`{"assignee_id":%d}`, guest))
		if byPerson["label"] != nil || byPerson["position"] != 4.0 || byPerson["assignee"].(map[string]any)["username"] != "guest" {
			t.Errorf("list of an assignee: %v", byPerson)
		}
		p.want("planner", "DELETE", lists+"/2", "", 204, "")
		p.want("planner", "DELETE", "/projects/team%2Fapp/labels/c", "", 204, "")
		if got := p.order(); got != "a - -" {
			t.Errorf("lists after deletions: got %q", got)
		}
		if got := p.pick("", lists, "id"); got != "1 4 5" {
			t.Errorf("lists: got %q", got)
		}

		scoped := p.do("planner", "PUT", appBoards+"/1", fmt.Sprintf(
			`{"name":"Scoped","hide_backlog_list":true,"milestone_id":1,"assignee_id":%d,"labels":"a,unknown","weight":3}`, guest))
		if scoped["name"] != "Scoped" || scoped["hide_backlog_list"] != true || scoped["weight"] != 3.0 || scoped["milestone"] == nil ||
			scoped["assignee"] == nil || len(scoped["labels"].([]any)) != 1 {
			t.Errorf("scoped board: %v", scoped)
		}
		cleared := p.do("planner", "PUT", appBoards+"/1", `{"milestone_id":0,"assignee_id":"","labels":"","weight":null}`)
		if cleared["milestone"] != nil || cleared["assignee"] != nil || cleared["weight"] != nil || len(cleared["labels"].([]any)) != 0 {
			t.Errorf("board without a scope: %v", cleared)
		}

		of := p.do("root", "POST", "/groups/team/boards", `{"name":"Group"}`)
		if of["project"] != nil || of["group"].(map[string]any)["id"] != float64(group) {
			t.Errorf("board of a group: %v", of)
		}
		p.want("root", "POST", fmt.Sprintf("/groups/team/boards/%v/lists", of["id"]), `{"label_id":1}`, 400, `{"message":{"error":"Label not found!"}}`)

		// The label of the list becomes the group's.
		promoted := p.do("root", "PUT", "/projects/team%2Fapp/labels/a/promote", "")
		if _, ok := promoted["is_project_label"]; ok || promoted["id"] == 1.0 {
			t.Errorf("promoted label: %v", promoted)
		}
		if got := p.order(); got != "a - -" {
			t.Errorf("lists after the promotion: got %q", got)
		}
		p.do("root", "POST", appMilestones+"/1/promote", "")
		if got := p.order(); got != "a - -" {
			t.Errorf("lists after the promotion of a milestone: got %q", got)
		}
		p.want("planner", "DELETE", appBoards+"/1", "", 204, "")
		p.want("", "GET", appBoards, "", 200, "[]")
	})
}

func TestLabels_promote(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		group := p.Find(p.users["root"], p.id).ParentID
		other := p.Project("team/other", authz.Public, group)
		const path = "/projects/team%2Fapp/labels"
		p.do("planner", "POST", path, `{"name":"bug","color":"#112233","archived":true}`)
		p.do("root", "POST", fmt.Sprintf("/projects/%d/labels", other), `{"name":"bug","color":"#445566"}`)
		p.do("planner", "POST", appIssues, `{"title":"one","labels":"bug"}`)
		p.do("root", "POST", fmt.Sprintf("/projects/%d/issues", other), `{"title":"two","labels":"bug"}`)
		for query, want := range map[string]string{"?archived=true": "bug", "?archived=false": "", "": "bug"} {
			if got := p.pick("", path+query, "name"); got != want {
				t.Errorf("labels %s: got %q, want %q", query, got, want)
			}
		}
		p.do("planner", "PUT", path+"/bug", `{"archived":false,"priority":4}`)
		p.Subscriptions.Subscribe(p.Bus)
		resourceevent.New(resourceevent.Deps{DB: d, Notes: p.Notes}).Subscribe(p.Bus)
		p.do("planner", "POST", path+"/bug/subscribe", "")
		p.do("planner", "PUT", appIssues+"/1", `{"remove_labels":"bug"}`)
		p.do("planner", "PUT", appIssues+"/1", `{"add_labels":"bug"}`)
		if got := p.pick("", "/groups/team/labels?only_group_labels=false", "id"); got != "1 2" {
			t.Errorf("labels of the group's projects: got %q", got)
		}
		p.want("planner", "PUT", path+"/bug/promote", "", 403, `{"message":"403 Forbidden"}`)
		p.want("root", "PUT", path+"/none/promote", "", 404, `{"message":"404 Label Not Found"}`)
		if got := p.do("root", "PUT", path+"/bug/promote", ""); got["color"] != "#112233" || got["archived"] != false {
			t.Errorf("promoted: %v", got)
		}
		if got := p.pick("", "/groups/team/issues?labels=bug&order_by=title&sort=asc", "title"); got != "one two" {
			t.Errorf("issues of the promoted label: got %q", got)
		}
		if got := p.pick("", "/groups/team/labels?only_group_labels=false", "id"); got != "3" {
			t.Errorf("labels after the promotion: got %q", got)
		}
		got := p.do("planner", "GET", path+"/bug", "")
		if got["priority"] != 4.0 || got["subscribed"] != true || got["is_project_label"] != false {
			t.Errorf("promoted label in its former project: %v", got)
		}
		if got := p.do("root", "GET", fmt.Sprintf("/projects/%d/labels/bug", other), ""); got["priority"] != nil || got["subscribed"] != false {
			t.Errorf("promoted label in another project: %v", got)
		}
		if got := p.pick("", "/groups/team/issues?order_by=label_priority&sort=asc", "title"); got != "one two" {
			t.Errorf("issues by the priority of the promoted label: got %q", got)
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM resource_events WHERE label_id = 3"); err != nil || n != 2 {
			t.Errorf("%d events of the promoted label, %v, want 2", n, err)
		}
		p.want("root", "PUT", path+"/bug/promote", "", 404, `{"message":"404 Label Not Found"}`)
	})
}

func TestIterations(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		root, ctx := p.users["root"], context.Background()
		g, err := p.Namespaces.Find(ctx, root, "team")
		if err != nil {
			t.Fatal(err)
		}
		at, start := g.Place(), p.day(-7)
		sprints, err := p.Iterations.CreateCadence(ctx, root, at, iteration.CadenceInput{Title: "Sprints", Automatic: true, StartDate: &start, Weeks: 1, Advance: 3})
		if err != nil {
			t.Fatal(err)
		}
		manual, err := p.Iterations.CreateCadence(ctx, root, at, iteration.CadenceInput{Title: "By hand"})
		if err != nil {
			t.Fatal(err)
		}
		title := "Later"
		in := iteration.Input{Cadence: manual.ID, Title: &title, StartDate: p.day(20), DueDate: p.day(27)}
		if _, err := p.Iterations.Create(ctx, root, at, in); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Iterations.Create(ctx, root, at, in); err == nil {
			t.Error("iterations of one cadence overlap")
		}
		in.Cadence = sprints.ID
		if _, err := p.Iterations.Create(ctx, root, at, in); err == nil {
			t.Error("an automatic cadence takes an iteration")
		}
		if _, err := p.Iterations.Create(ctx, p.users["stranger"], at, in); err == nil {
			t.Error("a stranger makes an iteration")
		}
		const fields = "id iid sequence group_id title description state created_at updated_at start_date due_date web_url"
		list := p.send("", "GET", "/groups/team/iterations", "").Body.String()
		if got := strings.Join(keys(t, strings.TrimSuffix(strings.TrimPrefix(list, "["), "]")), " "); got != fields {
			t.Errorf("fields\n got %s\nwant %s", got, fields)
		}
		if !strings.Contains(list, `"web_url":"https://tenon.example/groups/team/-/iterations/1"`) {
			t.Errorf("no web_url in %s", list)
		}
		for _, path := range []string{"/groups/team/iterations", "/projects/team%2Fapp/iterations"} {
			for query, want := range map[string]string{
				"": "3 2 1 1", "?state=closed": "3", "?state=current": "2", "?state=started": "2", "?state=upcoming": "1 1", "?state=opened": "2 1 1",
				"?search=later": "1", "?search=sprint": "", "?search=sprint&in=cadence_title": "3 2 1", "?include_ancestors=false&state=closed": "3",
			} {
				if got := p.pick("", path+query, "state"); got != want {
					t.Errorf("%s%s: got %q, want %q", path, query, got, want)
				}
			}
		}
		p.do("planner", "POST", appIssues, `{"title":"one"}`)
		p.do("planner", "POST", appIssues, `{"title":"two"}`)
		current := iteration.ID(2)
		if _, err := p.Issues.Update(ctx, p.users["planner"], p.Find(p.users["planner"], p.id), 1, issue.Changes{IterationID: &current}); err != nil {
			t.Fatal(err)
		}
		if got := p.do("", "GET", appIssues+"/1", "")["iteration"].(map[string]any); got["id"] != 2.0 || got["state"] != 2.0 {
			t.Errorf("iteration of the issue: %v", got)
		}
		for query, want := range map[string]string{
			"iteration_id=2": "1", "iteration_id=None": "2", "iteration_id=any": "1", "not[iteration_id]=2": "2", "iteration_title=Later": "",
			"not[iteration_title]=Later": "2 1",
		} {
			if got := p.pick("planner", appIssues+"?"+query, "iid"); got != want {
				t.Errorf("issues of %s: got %q, want %q", query, got, want)
			}
		}
		if err := p.Iterations.Delete(ctx, root, at, 2); err != nil {
			t.Fatal(err)
		}
		if got := p.do("", "GET", appIssues+"/1", "")["iteration"]; got != nil {
			t.Errorf("iteration after its deletion: %v", got)
		}
		if got := p.pick("", "/groups/team/iterations?search=sprint&in=cadence_title", "sequence"); got != "1 2" {
			t.Errorf("sequence numbers after a deletion: got %q", got)
		}
	})
}
