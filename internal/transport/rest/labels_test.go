package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		const labels = "/projects/team%2Fapp/labels"
		w := p.send("planner", "POST", labels, `{"name":"bug","color":"#FFAABB","description":"a <b>","priority":2}`)
		got := w.Body.String()
		id, _, _ := strings.Cut(strings.TrimPrefix(got, `{"id":`), ",")
		want := `{"id":` + id + `,"name":"bug","description":"a <b>","description_html":"a &lt;b&gt;","text_color":"#1F1E24","color":"#FFAABB",` +
			`"archived":false,"subscribed":false,"priority":2,"is_project_label":true}`
		if w.Code != 201 || got != want {
			t.Errorf("created %d %s\nwant %s", w.Code, got, want)
		}
		const noLabel = `{"message":"404 Label Not Found"}`
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "GET", labels + "/bug", "", 200, want},
			{"", "GET", labels + "/" + id, "", 200, want},
			{"", "GET", labels + "/none", "", 404, noLabel},
			{"", "POST", labels, `{"name":"x","color":"red"}`, 401, `{"message":"401 Unauthorized"}`},
			{"guest", "POST", labels, `{"name":"x","color":"red"}`, 403, `{"message":"403 Forbidden"}`},
			{"planner", "POST", labels, `{}`, 400, `{"error":"name is missing, color is missing"}`},
			{"planner", "POST", labels, `{"name":"bug","color":"red"}`, 409, `{"message":"Label already exists"}`},
			{"planner", "POST", labels, `{"name":"a,b","color":"reddish"}`, 400, `{"message":{"title":["is invalid"],"color":["must be a valid color code"]}}`},
			{"planner", "PUT", labels + "/bug", `{"name":"ignored"}`, 400, `{"error":"new_name, color, description, priority, archived are missing, at least one parameter must be provided"}`},
			{"planner", "PUT", labels + "/none", `{"new_name":"x"}`, 404, noLabel},
			{"planner", "PUT", labels + "/bug", `{"new_name":"a/b c","name":"ignored","priority":null}`, 200, ""},
			{"", "GET", labels + "/a%2Fb%20c", "", 200, ""},
			{"planner", "PUT", labels, `{"name":"a/b c","new_name":"bug","color":"navy"}`, 200, ""},
			{"planner", "PUT", labels, `{"new_name":"x"}`, 400, `{"error":"label_id, name are missing, exactly one parameter must be provided"}`},
			{"guest", "DELETE", labels + "/bug", "", 403, `{"message":"403 Forbidden"}`},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}

		p.Member(p.Find(p.users["owner"], p.id).ParentID, p.users["owner"], 50)
		p.want("owner", "POST", "/groups/team/labels", `{"name":"shared","color":"#fff"}`, 201, "")
		p.do("owner", "POST", appIssues, `{"title":"x","labels":"bug,shared"}`)
		p.do("owner", "POST", appIssues, `{"title":"x","labels":"bug","confidential":true}`)
		for _, tt := range []struct{ as, path, key, want string }{
			{"", labels, "name", "bug shared"},
			{"", labels, "is_project_label", "true false"},
			{"", labels, "color", "#000080 #fff"},
			{"", labels, "priority", "null null"},
			{"", labels + "?include_ancestor_groups=false", "name", "bug"},
			{"", labels + "?search=HAR", "name", "shared"},
			{"", labels + "?with_counts=true", "open_issues_count", "1 1"},
			{"planner", labels + "?with_counts=true", "open_issues_count", "2 1"},
			{"", "/groups/team/labels", "name", "shared"},
		} {
			if got := p.pick(tt.as, tt.path, tt.key); got != tt.want {
				t.Errorf("%q: GET %s: %s = %s, want %s", tt.as, tt.path, tt.key, got, tt.want)
			}
		}
		if got := p.send("", "GET", "/groups/team/labels/shared", "").Body.String(); strings.Contains(got, "priority") || strings.Contains(got, "is_project_label") {
			t.Errorf("a group's label = %s", got)
		}
		p.want("owner", "DELETE", labels+"?name=bug", "", 204, "")
		p.want("owner", "DELETE", labels+"/shared", "", 404, noLabel) // a label of a group changes there alone
		p.want("owner", "PUT", labels+"/shared", `{"priority":1}`, 404, noLabel)
		p.want("owner", "DELETE", "/groups/team/labels/shared", "", 204, "")
		if got := fmt.Sprint(p.do("owner", "GET", appIssues+"/1", "")["labels"]); got != "[]" {
			t.Errorf("labels of the issue = %s", got)
		}
	})
}
