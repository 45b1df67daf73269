package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// TestRelatedEpics links epics of two groups: a user who may not read one of them does not see the link.
func TestRelatedEpics(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newEpics(t, d)
		for _, body := range []string{`{"title":"a"}`, `{"title":"b"}`, `{"title":"secret","confidential":true}`} {
			p.do("planner", "POST", teamEpics, body)
		}
		p.do("planner", "POST", "/groups/team%2Fquiet/epics", `{"title":"quiet"}`)
		const related, links = teamEpics + "/1/related_epics", "/groups/team/related_epic_links"
		made := p.send("planner", "POST", related, `{"target_group_id":"team","target_epic_iid":2,"link_type":"is_blocked_by"}`)
		if got, want := strings.Join(keys(t, made.Body.String()), " "), "id created_at updated_at link_type source_epic target_epic"; made.Code != 201 || got != want {
			t.Fatalf("got %d %s, want the fields %s", made.Code, made.Body, want)
		}
		const no = `{"message":"No matching epic found. Make sure that you are adding a valid epic URL."}`
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"guest", "POST", related, `{"target_group_id":"team/quiet","target_epic_iid":1}`, 201, ""},
			{"planner", "POST", related, `{"target_group_id":"team","target_epic_iid":3,"link_type":"blocks"}`, 201, ""},
			{"planner", "POST", teamEpics + "/2/related_epics", `{"target_group_id":"team","target_epic_iid":1}`, 409, `{"message":"Epic(s) already assigned"}`},
			{"planner", "POST", related, `{"target_group_id":"team","target_epic_iid":1}`, 422, `{"message":"&1 cannot be added: cannot be related to itself"}`},
			{"planner", "POST", related, `{"target_group_id":"team","target_epic_iid":99}`, 404, no},
			{"guest", "POST", teamEpics + "/2/related_epics", `{"target_group_id":"team","target_epic_iid":3}`, 404, no}, // confidential
			{"guest", "POST", teamEpics + "/3/related_epics", `{"target_group_id":"team","target_epic_iid":2}`, 404, `{"message":"404 Not found"}`},
			{"stranger", "POST", related, `{"target_group_id":"team","target_epic_iid":2}`, 403, `{"message":"403 Forbidden"}`},
			{"", "POST", related, `{"target_group_id":"team","target_epic_iid":2}`, 401, `{"message":"401 Unauthorized"}`},
			{"planner", "POST", related, `{"target_group_id":"none","target_epic_iid":2}`, 404, `{"message":"404 Group Not Found"}`},
			{"planner", "POST", related, `{"target_group_id":"team","target_epic_iid":2,"link_type":"no"}`, 400, `{"error":"link_type does not have a valid value"}`},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		for as, want := range map[string][]string{
			"planner": {"b quiet secret", "is_blocked_by relates_to blocks", "3"}, "guest": {"b quiet", "is_blocked_by relates_to", "2"},
			"stranger": {"b", "is_blocked_by", "1"}, "": {"b", "is_blocked_by", "1"},
		} {
			if got := []string{p.pick(as, related, "title"), p.pick(as, related, "link_type"), p.send(as, "GET", links, "").Header().Get("X-Total")}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("links for %q: got %q, want %q", as, got, want)
			}
		}
		if got := p.pick("planner", teamEpics+"/3/related_epics", "link_type"); got != "is_blocked_by" {
			t.Errorf("from the other side: got %q", got)
		}
		p.want("guest", "GET", teamEpics+"/3/related_epics", "", 404, `{"message":"404 Not found"}`)
		if got, want := p.pick("guest", "/groups/team%2Fquiet/related_epic_links?created_after=2001-01-01T00:00:00Z", "link_type"), "relates_to"; got != want {
			t.Errorf("links of the subgroup: got %q, want %q", got, want)
		}
		if got := p.pick("guest", links+"?updated_before=2001-01-01T00:00:00Z", "id"); got != "" {
			t.Errorf("links of long ago: got %q", got)
		}
		ids := strings.Fields(p.pick("planner", related, "related_epic_link_id"))
		const gone = `{"message":"No Related Epic Link found"}`
		for _, tt := range []struct {
			as, id string
			status int
			answer string
		}{
			{"stranger", ids[0], 403, `{"message":"403 Forbidden"}`},
			{"guest", ids[2], 404, gone},
			{"guest", ids[0], 200, ""},
			{"guest", ids[0], 404, gone},
		} {
			p.want(tt.as, "DELETE", related+"/"+tt.id, "", tt.status, tt.answer)
		}
		p.want("planner", "DELETE", teamEpics+"/3", "", 204, "")
		if got := p.pick("planner", related, "title"); got != "quiet" {
			t.Errorf("links after deletions: got %q", got)
		}
	})
}
