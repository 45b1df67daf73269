package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/change"
	"tenon/internal/core/coretest"
	issues "tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/milestone"
	"tenon/internal/core/resourceevent"
)

// TestResourceEvents changes labels, weight and state of an issue and a merge request and
// reads who did so; none of it is among the notes.
func TestResourceEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.Events = resourceevent.New(resourceevent.Deps{DB: d, Policy: p.World.Policy, Notes: p.Notes, MergeRequests: p.MergeRequests})
		p.Events.Subscribe(p.Bus)
		events := func(as, path string) string {
			t.Helper()
			w := p.send(as, "GET", path, "")
			var list []struct {
				User   struct{ Username string }
				Action string
				State  *string
				Label  *struct{ Name string }
				Weight *int
			}
			if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
				return w.Body.String()
			}
			var out []string
			for _, e := range list {
				text := e.User.Username + " " + e.Action
				switch {
				case e.State != nil:
					text += *e.State
				case strings.Contains(path, "weight") && e.Weight != nil:
					text += fmt.Sprint(*e.Weight)
				case e.Label != nil:
					text += " " + e.Label.Name
				default:
					text += " none"
				}
				out = append(out, text)
			}
			return strings.Join(out, ", ")
		}
		p.do("planner", "POST", appIssues, `{"title":"x","labels":"bug,new","weight":2}`)
		p.do("planner", "POST", appIssues, `{"title":"hidden","confidential":true}`)
		const issue = appIssues + "/1"
		p.do("owner", "PUT", issue, `{"labels":"bug,ready","weight":5,"state_event":"close"}`)
		p.do("planner", "PUT", issue, `{"state_event":"reopen","weight":null}`)
		p.do("planner", "PUT", issue, `{"title":"Other"}`)
		at := p.Find(p.users["owner"], p.id).Place()
		m, err := p.Milestones.Create(t.Context(), p.users["owner"], at, milestone.Input{Title: "v1"})
		if err != nil {
			t.Fatal(err)
		}
		p.do("planner", "PUT", issue, fmt.Sprintf(`{"milestone_id":%d}`, m.ID))
		p.do("owner", "PUT", issue, `{"milestone_id":0}`)
		cadence := p.Insert("iteration_cadences", coretest.Row{"namespace_id": p.Find(p.users["owner"], p.id).ParentID, "title": "c"})
		sprint := iteration.ID(p.Insert("iterations", coretest.Row{"namespace_id": p.Find(p.users["owner"], p.id).ParentID, "cadence_id": cadence, "iid": 1}))
		for _, id := range []iteration.ID{sprint, 0} {
			if _, err := p.Issues.Update(t.Context(), p.users["planner"], p.Find(p.users["planner"], p.id), 1, issues.Changes{IterationID: &id}); err != nil {
				t.Fatal(err)
			}
		}
		p.open("topic")
		p.do("maint", "PUT", requestsPath+"/1", fmt.Sprintf(`{"milestone_id":%d}`, m.ID))
		p.do("maint", "PUT", requestsPath+"/1", `{"add_labels":"bug","state_event":"close"}`)
		p.do("maint", "PUT", requestsPath+"/1", `{"remove_labels":"bug","state_event":"reopen"}`)
		p.do("maint", "PUT", requestsPath+"/1/merge", "")
		for path, want := range map[string]string{
			issue + "/resource_label_events":               "planner add bug, planner add new, owner add ready, owner remove new",
			issue + "/resource_milestone_events":           "planner addopened, owner removeopened",
			issue + "/resource_iteration_events":           "planner add none, planner remove none",
			requestsPath + "/1/resource_milestone_events":  "maint addopened",
			issue + "/resource_weight_events":              "planner 2, owner 5, planner  none",
			issue + "/resource_state_events":               "owner closed, planner reopened",
			requestsPath + "/1/resource_label_events":      "maint add bug, maint remove bug",
			requestsPath + "/1/resource_state_events":      "maint closed, maint reopened, maint merged",
			issue + "/notes?activity_filter=only_activity": "[]",
		} {
			if got := events("stranger", path); got != want && p.send("stranger", "GET", path, "").Body.String() != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		first := p.send("guest", "GET", issue+"/resource_label_events", "")
		var list []map[string]any
		if err := json.Unmarshal(first.Body.Bytes(), &list); err != nil || first.Header().Get("X-Total") != "4" {
			t.Fatal(first.Body, first.Header(), err)
		}
		id := list[0]["id"]
		for path, want := range map[string]string{
			fmt.Sprint(issue, "/resource_label_events/", id):                          "id user created_at resource_type resource_id label action",
			fmt.Sprint(issue, "/resource_weight_events/", events0(p, "weight")):       "id user created_at issue_id weight",
			fmt.Sprint(issue, "/resource_iteration_events/", events0(p, "iteration")): "id user created_at resource_type resource_id iteration action",
			fmt.Sprint(issue, "/resource_milestone_events/", events0(p, "milestone")): "id user created_at resource_type resource_id milestone action state",
			fmt.Sprint(issue, "/resource_state_events/", events0(p, "state")):         "id user created_at resource_type resource_id source_commit source_merge_request_id state",
		} {
			w := p.send("guest", "GET", path, "")
			if got := strings.Join(keys(t, w.Body.String()), " "); w.Code != 200 || got != want {
				t.Errorf("%s: %d, fields %s, want %s", path, w.Code, got, want)
			}
		}
		const nothing = `{"message":"404 Not found"}`
		p.want("", "GET", issue+"/resource_label_events", "", 401, `{"message":"401 Unauthorized"}`)
		p.want("guest", "GET", appIssues+"/2/resource_state_events", "", 404, nothing)
		p.want("guest", "GET", fmt.Sprint(issue, "/resource_state_events/", id), "", 404, nothing)
		p.want("guest", "GET", fmt.Sprint(requestsPath, "/1/resource_label_events/", id), "", 404, nothing)
		p.want("guest", "GET", appIssues+"/x/resource_label_events", "", 400, `{"error":"eventable_id is invalid"}`)

		// A label that was deleted leaves its events; those of a label of a group that the
		// project does not stand in are not shown.
		if _, err := d.Exec(t.Context(), "DELETE FROM labels WHERE title = 'new'"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), "UPDATE labels SET namespace_id = ? WHERE title = 'ready'", p.Group("far", 0, 0)); err != nil {
			t.Fatal(err)
		}
		if got, want := events("guest", issue+"/resource_label_events"), "planner add bug, planner add none, owner remove none"; strings.ReplaceAll(got, "  ", " ") != want {
			t.Errorf("label events: %s, want %s", got, want)
		}
		// Events follow a milestone that is promoted, and go with it.
		ids := func() string { return p.pick("guest", issue+"/resource_milestone_events", "milestone") }
		if err := p.Bus.Publish(t.Context(), milestone.Promoted{
			Of: change.Of[milestone.Milestone]{Place: at, After: &milestone.Milestone{ID: m.ID + 1}}, Replaces: []milestone.ID{m.ID},
		}); err != nil {
			t.Fatal(err)
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM resource_events WHERE milestone_id = ?", m.ID+1); err != nil || n != 3 || ids() != "" {
			t.Errorf("%d events of the other milestone (%v), shown as %s, want 3 and none", n, err, ids())
		}
		if err := p.Bus.Publish(t.Context(), milestone.Deleted{Of: change.Of[milestone.Milestone]{Place: at, Before: &milestone.Milestone{ID: m.ID + 1}}}); err != nil {
			t.Fatal(err)
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM resource_events WHERE kind = 'milestone'"); err != nil || n != 0 {
			t.Errorf("%d events outlived their milestone, %v", n, err)
		}
		p.want("owner", "DELETE", issue, "", 204, "")
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM resource_events WHERE resource_type = 'Issue'"); err != nil || n != 0 {
			t.Errorf("%d events outlived their issue, %v", n, err)
		}
	})
}

// events0 returns the id of the first event of a kind on the first issue.
func events0(p *planning, kind string) string {
	p.t.Helper()
	return strings.Fields(p.pick("guest", appIssues+"/1/resource_"+kind+"_events", "id"))[0]
}
