package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
)

const teamEpics = "/groups/team/epics"

// newEpics is a world in which planner and guest are members of the group team and of a private
// subgroup, team/quiet.
func newEpics(t *testing.T, d *db.DB) *planning {
	t.Helper()
	p := newPlanning(t, d)
	team := p.Find(p.users["root"], p.id).ParentID
	for name, level := range map[string]authz.Level{"owner": authz.Owner, "planner": authz.Planner, "guest": authz.Guest} {
		p.Member(team, p.users[name], level)
	}
	p.Group("team/quiet", authz.Private, team)
	return p
}

// id returns a number of an answer as text.
func id(answer map[string]any, key string) string { return fmt.Sprint(answer[key]) }

func TestEpics(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newEpics(t, d)
		made := p.send("planner", "POST", teamEpics, `{"title":" Sail ","description":"Far @guest","labels":"sea,ship","start_date_fixed":"2023-06-01","start_date_is_fixed":true,"due_date_fixed":"2023-07-01"}`)
		const fields = "id work_item_id iid color text_color group_id parent_id parent_iid imported imported_from title description confidential author" +
			" start_date start_date_is_fixed start_date_fixed start_date_from_inherited_source start_date_from_milestones end_date due_date" +
			" due_date_is_fixed due_date_fixed due_date_from_inherited_source due_date_from_milestones state web_edit_url web_url references reference" +
			" created_at updated_at closed_at labels upvotes downvotes subscribed _links"
		if got := strings.Join(keys(t, made.Body.String()), " "); made.Code != 201 || got != fields {
			t.Fatalf("got %d %s, want the fields %s", made.Code, made.Body, fields)
		}
		sail := p.do("", "GET", teamEpics+"/1", "")
		team := id(sail, "group_id")
		for key, want := range map[string]any{
			"title": "Sail", "iid": 1.0, "state": "opened", "color": "#1068bf", "text_color": "#FFFFFF", "confidential": false, "start_date": "2023-06-01",
			"start_date_fixed": "2023-06-01", "start_date_is_fixed": true, "due_date": nil, "end_date": nil, "due_date_fixed": "2023-07-01",
			"start_date_from_inherited_source": nil, "parent_id": nil, "web_url": "https://tenon.example/groups/team/-/epics/1",
			"web_edit_url": "https://tenon.example/groups/team/-/epics/1/edit", "reference": "&1", "closed_at": nil, "subscribed": false,
		} {
			if sail[key] != want {
				t.Errorf("%s = %v, want %v", key, sail[key], want)
			}
		}
		if got, want := fmt.Sprint(sail["references"], sail["labels"], sail["_links"]), "map[full:team&1 relative:&1 short:&1] [sea ship] map[epic_issues:https://tenon.example/api/v4/groups/"+
			team+"/epics/1/issues group:https://tenon.example/api/v4/groups/"+team+" parent:<nil> self:https://tenon.example/api/v4/groups/"+team+"/epics/1]"; got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		p.do("planner", "POST", teamEpics, `{"title":"Anchor","confidential":true,"color":"red","created_at":"2001-01-01T00:00:00Z"}`)
		p.do("planner", "POST", "/groups/team%2Fquiet/epics", `{"title":"Dive"}`)
		p.do("owner", "POST", teamEpics, `{"title":"Old","created_at":"2001-01-01T00:00:00Z"}`)

		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "POST", teamEpics, `{"title":"x"}`, 401, `{"message":"401 Unauthorized"}`},
			{"guest", "POST", teamEpics, `{"title":"x"}`, 403, `{"message":"403 Forbidden"}`},
			{"guest", "PUT", teamEpics + "/1", `{"title":"x"}`, 403, `{"message":"403 Forbidden"}`},
			{"guest", "DELETE", teamEpics + "/1", "", 403, `{"message":"403 Forbidden"}`},
			{"planner", "POST", teamEpics, `{}`, 400, `{"error":"title is missing"}`},
			{"planner", "POST", teamEpics, `{"title":" "}`, 400, `{"message":{"title":["can't be blank"]}}`},
			{"planner", "POST", teamEpics, `{"title":"x","color":"no"}`, 400, `{"message":{"color":["must be a valid color code"]}}`},
			{"planner", "POST", teamEpics, `{"title":"x","parent_id":99}`, 404, `{"message":"404 Epic Not Found"}`},
			{"planner", "GET", teamEpics + "/99", "", 404, `{"message":"404 Not found"}`},
			{"guest", "GET", teamEpics + "/2", "", 404, `{"message":"404 Not found"}`}, // confidential
			{"", "GET", teamEpics + "/2", "", 404, `{"message":"404 Not found"}`},
			{"guest", "PUT", teamEpics + "/2", `{"title":"x"}`, 404, `{"message":"404 Not found"}`},
			{"guest", "DELETE", teamEpics + "/2", "", 404, `{"message":"404 Not found"}`},
			{"stranger", "GET", "/groups/team%2Fquiet/epics", "", 404, `{"message":"404 Group Not Found"}`},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		for query, want := range map[string]string{
			"": "Dive Anchor Sail Old", "?sort=asc": "Old Sail Anchor Dive", "?order_by=title&sort=asc": "Anchor Dive Old Sail",
			"?include_descendant_groups=false": "Anchor Sail Old", "?search=FAR": "Sail", "?labels=sea,ship": "Sail", "?labels=None": "Dive Anchor Old",
			"?confidential=true": "Anchor", "?author_username=owner": "Old", "?not[author_username]=owner": "Dive Anchor Sail", "?not[labels]=sea": "Dive Anchor Old",
			"?created_before=2002-01-01T00:00:00Z": "Old", "?state=closed": "", "?iids[]=1": "Dive Sail",
		} {
			if got := p.pick("planner", teamEpics+query, "title"); got != want {
				t.Errorf("GET %s: got %q, want %q", query, got, want)
			}
		}
		for as, want := range map[string]string{"": "Sail Old", "stranger": "Sail Old", "guest": "Dive Sail Old"} {
			a := p.send(as, "GET", teamEpics, "")
			if got := p.pick(as, teamEpics, "title"); got != want || a.Header().Get("X-Total") != fmt.Sprint(len(strings.Fields(want))) {
				t.Errorf("list of %q: got %q of %s, want %q", as, got, a.Header().Get("X-Total"), want)
			}
		}
		if got := p.pick("planner", "/groups/team%2Fquiet/epics?include_ancestor_groups=true&sort=asc", "title"); got != "Old Sail Anchor Dive" {
			t.Errorf("with ancestors: got %q", got)
		}

		changed := p.do("planner", "PUT", teamEpics+"/1", `{"title":"Sail on","add_labels":"new","remove_labels":"sea","due_date_is_fixed":true,"state_event":"close","start_date_fixed":""}`)
		if got, want := fmt.Sprintln(changed["title"], changed["labels"], changed["due_date"], changed["start_date"], changed["state"], changed["closed_at"] != nil), "Sail on [new ship] 2023-07-01 <nil> closed true\n"; got != want {
			t.Errorf("changed: got %s, want %s", got, want)
		}
		if again := p.do("planner", "PUT", teamEpics+"/1", `{"state_event":"reopen","labels":""}`); again["state"] != "opened" || again["closed_at"] != nil || fmt.Sprint(again["labels"]) != "[]" {
			t.Errorf("reopened: got %v", again)
		}
		p.want("planner", "DELETE", teamEpics+"/3", "", 204, "")
		p.want("planner", "GET", teamEpics+"/3", "", 404, `{"message":"404 Not found"}`)
		if fresh := p.do("owner", "POST", teamEpics, `{"title":"After"}`); fresh["iid"] != 4.0 {
			t.Errorf("number after a deletion: got %v, want 4", fresh["iid"])
		}
		p.do("guest", "POST", teamEpics+"/1/award_emoji", `{"name":"thumbsup"}`)
		if got := p.pick("guest", teamEpics+"?my_reaction_emoji=thumbsup", "upvotes"); got != "1" {
			t.Errorf("upvotes of what the guest likes: got %q", got)
		}
	})
}

func TestEpics_children(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newEpics(t, d)
		ids := map[string]string{}
		for _, body := range []string{`{"title":"top"}`, `{"title":"a","start_date_fixed":"2023-03-01","start_date_is_fixed":true}`, `{"title":"b"}`, `{"title":"secret","confidential":true,"start_date_is_fixed":true,"start_date_fixed":"2020-01-01"}`} {
			e := p.do("planner", "POST", teamEpics, body)
			ids[e["title"].(string)] = id(e, "id")
		}
		quiet := p.do("planner", "POST", "/groups/team%2Fquiet/epics", `{"title":"quiet","due_date_fixed":"2023-09-01","due_date_is_fixed":true}`)
		ids["quiet"] = id(quiet, "id")
		const top = teamEpics + "/1/epics"
		for _, name := range []string{"quiet", "secret", "b", "a"} {
			p.do("planner", "POST", top+"/"+ids[name], "")
		}
		for as, want := range map[string]string{"planner": "a b secret quiet", "guest": "a b quiet", "": "a b"} {
			if got := p.pick(as, top, "title"); got != want {
				t.Errorf("children for %q: got %q, want %q", as, got, want)
			}
		}
		// A reader inherits the dates of what it reads.
		for as, want := range map[string]string{"planner": "2020-01-01 2023-09-01", "guest": "2023-03-01 2023-09-01", "": "2023-03-01 <nil>"} {
			e := p.do(as, "GET", teamEpics+"/1", "")
			if got := fmt.Sprint(e["start_date"], " ", e["due_date_from_inherited_source"]); got != want {
				t.Errorf("dates for %q: got %q, want %q", as, got, want)
			}
		}
		if b := p.do("", "GET", teamEpics+"/3", ""); id(b, "parent_id") != ids["top"] || b["parent_iid"] != 1.0 {
			t.Errorf("parent: got %v", b)
		}
		p.do("planner", "PUT", teamEpics+"/1", `{"confidential":true}`)
		if b := p.do("guest", "GET", teamEpics+"/3", ""); b["parent_id"] != nil || b["parent_iid"] != nil || strings.Contains(fmt.Sprint(b["_links"]), "epics/1") {
			t.Errorf("hidden parent: got %v", b)
		}
		p.want("guest", "GET", top, "", 404, `{"message":"404 Not found"}`)
		p.do("planner", "PUT", teamEpics+"/1", `{"confidential":false}`)

		p.want("planner", "PUT", top+"/"+ids["quiet"], `{"move_before_id":`+ids["a"]+`,"move_after_id":`+ids["b"]+`}`, 200, "")
		p.want("planner", "PUT", top+"/"+ids["a"], `{"move_before_id":`+ids["secret"]+`}`, 200, "")
		if got := p.pick("planner", top, "title"); got != "quiet b secret a" {
			t.Errorf("children put in order: got %q", got)
		}
		for range 30 { // until there is no room between
			p.want("planner", "PUT", top+"/"+ids["a"], `{"move_before_id":`+ids["quiet"]+`}`, 200, "")
			p.want("planner", "PUT", top+"/"+ids["b"], `{"move_before_id":`+ids["quiet"]+`}`, 200, "")
		}
		if got := p.pick("planner", top, "title"); got != "quiet b a secret" {
			t.Errorf("children after many moves: got %q", got)
		}
		const deep = `{"message":{"parent":["is too deep (maximum is 7 levels)"]}}`
		const circle = `{"message":{"parent":["cannot be the epic itself or one below it"]}}`
		above := "3"
		for level := 3; level <= 7; level++ {
			above = id(p.do("planner", "POST", teamEpics+"/"+above+"/epics", fmt.Sprintf(`{"title":"level %d"}`, level)), "iid")
		}
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"planner", "POST", teamEpics + "/" + above + "/epics", `{"title":"level 8"}`, 400, deep},
			{"planner", "POST", teamEpics + "/" + above + "/epics/" + ids["top"], "", 400, ""},
			{"planner", "PUT", teamEpics + "/1", `{"parent_id":` + ids["b"] + `}`, 400, ""},
			{"planner", "PUT", teamEpics + "/2", `{"parent_id":` + ids["a"] + `}`, 400, circle},
			{"planner", "POST", top + "/" + ids["a"], "", 409, `{"message":"Epic(s) already assigned"}`},
			{"planner", "POST", top + "/99", "", 404, `{"message":"404 Epic Not Found"}`},
			{"guest", "POST", top + "/" + ids["secret"], "", 404, `{"message":"404 Epic Not Found"}`},
			{"guest", "PUT", top + "/" + ids["a"], `{"move_before_id":` + ids["secret"] + `}`, 404, `{"message":"404 Not found"}`},
			{"guest", "DELETE", top + "/" + ids["secret"], "", 404, `{"message":"404 Epic Not Found"}`},
			{"stranger", "DELETE", top + "/" + ids["a"], "", 403, `{"message":"403 Forbidden"}`},
			{"", "DELETE", top + "/" + ids["a"], "", 401, `{"message":"401 Unauthorized"}`},
			{"guest", "DELETE", top + "/" + ids["a"], "", 200, ""},
			{"guest", "DELETE", top + "/" + ids["a"], "", 404, `{"message":"404 Not found"}`},
			{"planner", "PUT", teamEpics + "/3", `{"parent_id":0}`, 200, ""},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		if got := p.pick("planner", top, "title"); got != "quiet secret" {
			t.Errorf("children after removal: got %q", got)
		}
		p.want("planner", "DELETE", teamEpics+"/1", "", 204, "")
		if e := p.do("planner", "GET", teamEpics+"/4", ""); e["parent_id"] != nil {
			t.Errorf("child of a deleted epic: got %v", e["parent_id"])
		}
	})
}
