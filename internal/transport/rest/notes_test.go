package rest

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/transport/rest/api"
)

func TestNotes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		p.do("owner", "POST", appIssues, `{"title":"open"}`)
		p.do("owner", "POST", appIssues, `{"title":"hidden","confidential":true}`)
		const (
			notes        = appIssues + "/1/notes"
			hidden       = appIssues + "/2/notes"
			unauthorized = `{"message":"401 Unauthorized"}`
			forbidden    = `{"message":"403 Forbidden"}`
			notFound     = `{"message":"404 Not found"}`
		)
		w := p.send("stranger", "POST", notes, `{"body":"hello"}`)
		if w.Code != 201 {
			t.Fatal(w.Code, w.Body)
		}
		const fields = "id type body attachment author created_at updated_at system noteable_id noteable_type project_id" +
			" resolvable confidential internal noteable_iid commands_changes"
		if got := strings.Join(keys(t, w.Body.String()), " "); got != fields {
			t.Errorf("fields\n got %s\nwant %s", got, fields)
		}
		for _, want := range []string{
			`"type":null,"body":"hello","attachment":null,"author":{"id":`, `"system":false`, `"noteable_type":"Issue"`, `"resolvable":false`,
			`"noteable_iid":1,"commands_changes":{}`, `"email":""`, // the private address is not shown
		} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s is not in %s", want, w.Body)
			}
		}
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "GET", notes, "", 401, unauthorized},
			{"", "GET", "/projects/99/issues/1/notes", "", 401, unauthorized},
			{"guest", "GET", "/projects/99/issues/1/notes", "", 404, `{"message":"404 Project Not Found"}`},
			{"guest", "GET", appIssues + "/99/notes", "", 404, notFound},
			{"guest", "GET", appIssues + "/x/notes", "", 400, `{"error":"noteable_id is invalid"}`},
			{"guest", "GET", hidden, "", 404, notFound},
			{"guest", "POST", hidden, `{"body":"x"}`, 404, notFound},
			{"guest", "GET", notes + "/99", "", 404, notFound},
			{"guest", "GET", notes + "?sort=up", "", 400, `{"error":"sort does not have a valid value"}`},
			{"guest", "POST", notes, `{}`, 400, `{"error":"body is missing"}`},
			{"guest", "POST", notes, `{"body":" "}`, 400, `{"message":"400 Bad request - Note {:note=>[\"can't be blank\"]}"}`},
			{"guest", "POST", notes, `{"body":"` + strings.Repeat("x", 1_000_001) + `"}`, 400, `{"message":"400 Bad request - Note {:note=>[\"is too long (maximum is 1000000 characters)\"]}"}`},
			{"owner", "POST", notes, `{"body":"x","created_at":"1969-01-01"}`, 400, `{"message":"400 Bad request - Note {:created_at=>[\"The created date provided is too far in the past.\"]}"}`},
			{"guest", "PUT", notes + "/1", `{"body":"x"}`, 403, forbidden},
			{"stranger", "PUT", notes + "/1", `{"body":""}`, 400, `{"error":"body is empty"}`},
			{"stranger", "PUT", notes + "/1", `{"confidential":true}`, 400, `{"message":"400 Bad request - Note {:confidential=>[\"can not be changed for existing notes\"]}"}`},
			{"stranger", "PUT", notes + "/1", `{}`, 200, ""},
			{"stranger", "PUT", notes + "/1", `{"body":"changed"}`, 200, ""},
			{"guest", "DELETE", notes + "/1", "", 403, forbidden},
			{"owner", "POST", notes, `{"body":"inside","internal":true}`, 201, ""},
			{"owner", "POST", notes, `{"body":"old name","internal":false,"confidential":true}`, 201, ""},
			{"guest", "GET", notes + "/2", "", 404, notFound},
			{"guest", "PUT", notes + "/2", `{"body":"x"}`, 404, notFound},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		for as, want := range map[string]string{"guest": "changed", "planner": "old name inside changed"} {
			if got := p.pick(as, notes, "body"); got != want {
				t.Errorf("%s reads %s, want %s", as, got, want)
			}
			total := p.send(as, "GET", notes, "").Header().Get("X-Total")
			count := p.do(as, "GET", appIssues+"/1", "")["user_notes_count"]
			if n := map[string]string{"guest": "1", "planner": "3"}[as]; total != n || fmt.Sprint(count) != n {
				t.Errorf("%s: X-Total %s, user_notes_count %v, want %s", as, total, count, n)
			}
		}
		if got := p.pick("planner", notes+"?sort=asc&order_by=updated_at&activity_filter=only_comments", "body"); got != "changed inside old name" {
			t.Errorf("oldest first: %s", got)
		}
		if got := p.pick("planner", notes+"?activity_filter=only_activity", "body"); got != "" {
			t.Errorf("history: %s", got)
		}

		r := httptest.NewRequestWithContext(t.Context(), "DELETE", api.Prefix+notes+"/1", nil)
		r.Header.Set("Private-Token", "stranger")
		r.Header.Set("If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT")
		late := httptest.NewRecorder()
		p.kit.ServeHTTP(late, r)
		if late.Code != 412 || late.Body.String() != `{"message":"412 Precondition Failed"}` {
			t.Errorf("If-Unmodified-Since: %d %s", late.Code, late.Body)
		}
		p.want("stranger", "DELETE", notes+"/1", "", 204, "")
		p.want("stranger", "DELETE", notes+"/1", "", 404, notFound)
	})
}

func TestNotes_emoji(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newPlanning(t, d)
		p.do("owner", "POST", appIssues, `{"title":"x"}`)
		w := p.send("guest", "POST", appIssues+"/1/notes", `{"body":":+1:"}`)
		if got := strings.Join(keys(t, w.Body.String()), " "); w.Code != 201 || got != "id name user created_at updated_at awardable_id awardable_type url" {
			t.Errorf("%d, fields %s", w.Code, got)
		}
		if !strings.Contains(w.Body.String(), `"name":"thumbsup"`) || !strings.Contains(w.Body.String(), `"awardable_type":"Issue"`) {
			t.Errorf("award = %s", w.Body)
		}
		p.want("guest", "POST", appIssues+"/1/notes", `{"body":":thumbsup:"}`, 404, `{"message":"404 Award Emoji Name has already been taken Not Found"}`)
		i := p.do("guest", "GET", appIssues+"/1", "")
		if fmt.Sprint(i["upvotes"], i["downvotes"], i["user_notes_count"]) != "1 0 0" {
			t.Errorf("upvotes, downvotes, notes = %v %v %v", i["upvotes"], i["downvotes"], i["user_notes_count"])
		}
		if got := p.pick("guest", appIssues+"?my_reaction_emoji=thumbsup", "iid") + p.pick("guest", appIssues+"?my_reaction_emoji=None", "iid"); got != "1" {
			t.Errorf("by reaction: %s", got)
		}
	})
}
