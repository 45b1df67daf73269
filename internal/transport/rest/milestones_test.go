package rest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

const appMilestones = "/projects/team%2Fapp/milestones"

// day returns the date some days from the world's today.
func (p *planning) day(from int) string {
	return p.World.Now().UTC().AddDate(0, 0, from).Format(time.DateOnly)
}

func TestMilestones(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		group := p.Find(p.users["root"], p.id).ParentID
		p.Member(group, p.users["planner"], authz.Planner)
		made := p.send("planner", "POST", appMilestones, fmt.Sprintf(`{"title":" v1 ","description":"First","due_date":"%sT10:00:00Z","start_date":"%s"}`, p.day(3), p.day(-3)))
		const fields = "id iid project_id title description state created_at updated_at due_date start_date expired web_url"
		if got := strings.Join(keys(t, made.Body.String()), " "); made.Code != 201 || got != fields {
			t.Fatalf("got %d %s, want the fields %s", made.Code, made.Body, fields)
		}
		v1 := p.do("planner", "GET", appMilestones+"/1", "")
		for key, want := range map[string]any{
			"title": "v1", "state": "active", "due_date": p.day(3), "start_date": p.day(-3), "expired": false, "iid": 1.0,
			"web_url": "https://tenon.example/team/app/-/milestones/1", "description": "First",
		} {
			if v1[key] != want {
				t.Errorf("%s = %v, want %v", key, v1[key], want)
			}
		}
		above := p.do("planner", "POST", "/groups/team/milestones", `{"title":"above"}`)
		if above["group_id"] != float64(group) || above["web_url"] != "https://tenon.example/groups/team/-/milestones/1" || above["due_date"] != nil {
			t.Errorf("milestone of a group: %v", above)
		}
		p.do("planner", "POST", appMilestones, `{"title":"old","due_date":"`+p.day(-1)+`"}`)
		p.do("planner", "PUT", appMilestones+"/3", `{"state_event":"close"}`)
		p.do("planner", "POST", appMilestones, `{"title":"later","due_date":"`+p.day(9)+`"}`)

		const failed = `{"message":"Failed to create milestone {:title=>[\"%s\"]}"}`
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "POST", appMilestones, `{"title":"x"}`, 401, `{"message":"401 Unauthorized"}`},
			{"guest", "POST", appMilestones, `{"title":"x"}`, 403, `{"message":"403 Forbidden"}`},
			{"guest", "DELETE", appMilestones + "/1", "", 403, `{"message":"403 Forbidden"}`},
			{"planner", "POST", appMilestones, `{}`, 400, `{"error":"title is missing"}`},
			{"planner", "POST", appMilestones, `{"title":" "}`, 400, fmt.Sprintf(failed, "can't be blank")},
			{"planner", "POST", appMilestones, `{"title":"v1"}`, 400, fmt.Sprintf(failed, "has already been taken")},
			{"planner", "POST", appMilestones, `{"title":"above"}`, 400, fmt.Sprintf(failed, "already being used for another group or project milestone.")},
			{"planner", "POST", "/groups/team/milestones", `{"title":"v1"}`, 400, fmt.Sprintf(failed, "already being used for another group or project milestone.")},
			{
				"planner", "POST", appMilestones, `{"title":"x","start_date":"2023-05-02","due_date":"2023-05-01"}`, 400,
				`{"message":"Failed to create milestone {:due_date=>[\"must be greater than start date\"]}"}`,
			},
			{"planner", "PUT", appMilestones + "/1", `{"title":"old"}`, 400, `{"message":"Failed to update milestone {:title=>[\"has already been taken\"]}"}`},
			{
				"planner", "PUT", appMilestones + "/1", `{}`, 400,
				`{"error":"title, description, due_date, start_date, state_event are missing, at least one parameter must be provided"}`,
			},
			{"planner", "GET", appMilestones + "/99", "", 404, `{"message":"404 Not found"}`},
			{"planner", "GET", appMilestones + "/2", "", 404, `{"message":"404 Not found"}`}, // the group's
			{"planner", "PUT", "/groups/team/milestones/1", `{"title":"x"}`, 404, `{"message":"404 Not found"}`},
			{"planner", "GET", "/groups/team/milestones/1/issues", "", 404, `{"message":"404 Not found"}`},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}

		for query, want := range map[string]string{
			"": "old v1 later", "?state=active": "v1 later", "?state=closed": "old", "?iids[]=1&iids[]=3": "v1 later", "?title=old": "old",
			"?search=FIRST": "v1", "?include_ancestors=true": "old v1 later above", "?include_parent_milestones=true&title=above": "above",
			"?updated_before=2001-01-01T00:00:00Z": "",
		} {
			if got := p.pick("", appMilestones+query, "title"); got != want {
				t.Errorf("GET %s: got %q, want %q", query, got, want)
			}
		}
		if got := p.pick("", "/groups/team/milestones?include_descendants=true", "title"); got != "old v1 later above" {
			t.Errorf("with descendants: got %q", got)
		}

		// The first issue has no milestone, the others one each.
		p.do("guest", "POST", appIssues, `{"title":"plain"}`)
		for _, id := range []string{"1", "2", "3", "4"} {
			got := p.do("planner", "POST", appIssues, `{"title":"of `+id+`","milestone_id":`+id+`}`)
			if m, ok := got["milestone"].(map[string]any); !ok || fmt.Sprint(m["id"]) != id {
				t.Errorf("milestone of a new issue: got %v, want %s", got["milestone"], id)
			}
		}
		p.do("planner", "POST", appIssues, `{"title":"unknown","milestone_id":99}`)
		for query, want := range map[string]string{
			"milestone=v1": "2", "milestone=above": "3", "milestone=None": "6 1", "milestone=any": "5 4 3 2", "milestone_id=Upcoming": "2",
			"milestone_id=Started": "2", "milestone=%23started": "2", "not[milestone]=v1": "6 5 4 3 1", "not[milestone_id]=Upcoming": "",
			"milestone_id=None": "6 1", "not[milestone_id]=None": "5 4 3 2", "not[milestone_id]=Any": "6 1", "order_by=milestone_due&sort=asc&milestone=any": "4 2 5 3", "milestone=nothing": "",
		} {
			if got := p.pick("planner", appIssues+"?"+query, "iid"); got != want {
				t.Errorf("issues of %s: got %q, want %q", query, got, want)
			}
		}
		if got := p.pick("", appMilestones+"/1/issues", "iid"); got != "2" {
			t.Errorf("issues of the milestone: got %q", got)
		}
		if got := p.pick("", "/groups/team/milestones/2/issues", "iid"); got != "3" {
			t.Errorf("issues of the group's milestone: got %q", got)
		}
		p.do("planner", "PUT", appIssues+"/2", `{"state_event":"close"}`)
		if got := p.pick("", appMilestones+"/1/burndown_events", "action"); !strings.HasPrefix(got, "created") {
			t.Errorf("burndown events: got %q", got)
		}
		p.want("", "GET", "/groups/team/milestones/2/burndown_events", "", 200, "[]")

		for _, tt := range []struct{ body, want string }{
			{`{"milestone_id":0}`, "<nil>"}, {`{"milestone_id":4}`, "4"}, {`{"milestone_id":99}`, "4"}, {`{"milestone_id":""}`, "<nil>"}, {`{"milestone_id":1}`, "1"},
		} {
			got := p.do("planner", "PUT", appIssues+"/2", tt.body)["milestone"]
			if m, ok := got.(map[string]any); ok {
				got = m["id"]
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("milestone after %s: got %v, want %s", tt.body, got, tt.want)
			}
		}

		p.want("planner", "DELETE", appMilestones+"/4", "", 204, "")
		if got := p.pick("planner", appIssues+"?milestone=None", "iid"); got != "6 5 1" {
			t.Errorf("without a milestone after its deletion: got %q", got)
		}

		p.do("planner", "POST", appMilestones, `{"title":"n1"}`)
		p.do("planner", "POST", appMilestones, `{"title":"n2"}`)
		if got := p.pick("", appMilestones+"?state=active", "title"); got != "v1 n2 n1" {
			t.Errorf("two without a due date: got %q, want the newest first", got)
		}
	})
}

func TestMilestones_promote(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		p.Issues.Subscribe(p.Bus)
		group := p.Find(p.users["root"], p.id).ParentID
		other := p.Project("team/other", authz.Public, group)
		p.do("planner", "POST", appMilestones, `{"title":"both","due_date":"2023-06-01"}`)
		p.want("planner", "POST", appMilestones+"/1/promote", "", 403, `{"message":"403 Forbidden"}`)
		p.do("root", "POST", fmt.Sprintf("/projects/%d/milestones", other), `{"title":"both"}`)
		p.do("planner", "POST", appIssues, `{"title":"one","milestone_id":1}`)
		p.do("root", "POST", fmt.Sprintf("/projects/%d/issues", other), `{"title":"two","milestone_id":2}`)
		p.Insert("merge_requests", coretest.Row{
			"iid": 1, "target_project_id": p.id, "source_project_id": p.id, "target_branch": "a", "source_branch": "b", "author_id": p.users["root"].UserID,
			"title": "One", "title_fold": "one", "description_fold": "", "state": "opened", "milestone_id": 1, "base_sha": "", "start_sha": "", "head_sha": "",
			"trial_result": "", "trial_source_sha": "", "trial_target_sha": "",
		})
		mergerequest.New(mergerequest.Deps{Limits: &limit.Service{}, DB: d, Milestones: p.Milestones, URLs: p.URLs}).Subscribe(p.Bus)
		p.want("root", "POST", appMilestones+"/99/promote", "", 404, `{"message":"404 Not found"}`)
		got := p.do("root", "POST", appMilestones+"/1/promote", "")
		made := got["id"]
		if got["group_id"] != float64(group) || got["title"] != "both" || got["due_date"] != "2023-06-01" {
			t.Errorf("promoted: %v", got)
		}
		if got := p.pick("", "/groups/team/issues?milestone=both&order_by=title&sort=asc", "title"); got != "one two" {
			t.Errorf("issues of the promoted milestone: got %q", got)
		}
		if got, err := db.Get[int64](t.Context(), d, "SELECT milestone_id FROM merge_requests"); err != nil || float64(got) != made {
			t.Errorf("milestone of the merge request: got %v %v, want %v", got, err, made)
		}
		for _, path := range []string{appMilestones, fmt.Sprintf("/projects/%d/milestones", other)} {
			p.want("", "GET", path, "", 200, "[]")
		}
	})
}

// TestMilestones_transferred moves a project away from its group: what it contains, boards too,
// gets the milestones and labels of the new group with the same titles, or copies in the
// project, and loses the iterations.
func TestMilestones_transferred(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		into := p.Group("into", authz.Public, 0)
		for _, title := range []string{"shared", "old"} {
			p.do("root", "POST", "/groups/team/milestones", `{"title":"`+title+`"}`)
		}
		p.do("root", "POST", "/groups/into/milestones", `{"title":"shared"}`)
		p.do("root", "POST", "/groups/team/labels", `{"name":"former","color":"#112233"}`)
		sprint := p.Insert("iterations", coretest.Row{
			"iid": 1, "namespace_id": p.Find(p.users["root"], p.id).ParentID, "sequence": 1, "title_fold": "", "start_date": "2023-05-01", "due_date": "2023-05-08",
			"cadence_id": p.Insert("iteration_cadences", coretest.Row{
				"namespace_id": p.Find(p.users["root"], p.id).ParentID, "title": "c", "title_fold": "c", "active": true, "automatic": false, "duration_in_weeks": 0, "upcoming": 0,
			}),
		})
		p.do("root", "POST", appBoards, `{"name":"Work"}`)
		p.do("root", "PUT", appBoards+"/1", `{"milestone_id":2,"labels":"former"}`)
		for _, of := range []string{`"label_id":1`, `"milestone_id":1`, `"milestone_id":2`, fmt.Sprintf(`"iteration_id":%d`, sprint)} {
			p.do("root", "POST", appBoards+"/1/lists", "{"+of+"}")
		}
		p.do("planner", "POST", appMilestones, `{"title":"own"}`)
		for _, id := range []string{"1", "2", "4"} {
			p.do("planner", "POST", appIssues, `{"title":"issue","milestone_id":`+id+`}`)
		}
		within := iteration.ID(sprint)
		if _, err := p.Issues.Update(t.Context(), p.users["planner"], p.Find(p.users["planner"], p.id), 1, issue.Changes{IterationID: &within}); err != nil {
			t.Fatal(err)
		}
		p.Insert("merge_requests", coretest.Row{
			"iid": 1, "target_project_id": p.id, "source_project_id": p.id, "target_branch": "a", "source_branch": "b", "author_id": p.users["root"].UserID,
			"title": "One", "title_fold": "one", "description_fold": "", "state": "opened", "milestone_id": 2, "base_sha": "", "start_sha": "", "head_sha": "",
			"trial_result": "", "trial_source_sha": "", "trial_target_sha": "",
		})
		moved := p.Find(p.users["root"], p.id)
		requests := mergerequest.New(mergerequest.Deps{Limits: &limit.Service{}, DB: d, Milestones: p.Milestones, URLs: p.URLs})
		if err := d.InTx(t.Context(), func(ctx context.Context) error {
			for _, query := range []string{
				"UPDATE namespaces SET parent_id = ? WHERE id = ?",
				"UPDATE namespace_ancestors SET ancestor_id = ? WHERE namespace_id = ? AND depth = 1",
			} {
				if _, err := d.Exec(ctx, query, into, moved.NamespaceID); err != nil {
					return err
				}
			}
			e := project.Transferred{Fact: project.Fact{Stamp: p.users["root"].Stamp(p.World.Now()), After: moved, Before: moved}}
			if err := p.Issues.OnTransferred(ctx, e); err != nil {
				return err
			}
			if err := p.Boards.OnTransferred(ctx, e); err != nil {
				return err
			}
			return requests.OnTransferred(ctx, e)
		}); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]int64{
			"SELECT milestone_id FROM issues WHERE iid = 1":           3, // the new group's
			"SELECT milestone_id FROM issues WHERE iid = 2":           5, // the copy
			"SELECT milestone_id FROM issues WHERE iid = 3":           4,
			"SELECT milestone_id FROM merge_requests":                 5,
			"SELECT COUNT(*) FROM milestones WHERE title = 'old'":     2,
			"SELECT COUNT(*) FROM milestones WHERE title = 'shared'":  2,
			"SELECT milestone_id FROM boards":                         5,
			"SELECT label_id FROM board_labels":                       2, // the copy
			"SELECT label_id FROM board_lists WHERE position = 0":     2,
			"SELECT milestone_id FROM board_lists WHERE position = 1": 3,
			"SELECT milestone_id FROM board_lists WHERE position = 2": 5,
			"SELECT COUNT(*) FROM board_lists":                        3,
			"SELECT COUNT(*) FROM issues WHERE iteration_id IS NULL":  3,
		} {
			if got, err := db.Get[int64](t.Context(), d, query); err != nil || got != want {
				t.Errorf("%s: got %d %v, want %d", query, got, err, want)
			}
		}
	})
}
