package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/note"
)

const draftsPath = requestsPath + "/1/draft_notes"

// TestDraftNotes_together writes a review: drafts of all forms, which only their author sees, and
// publishes them one by one and together.
func TestDraftNotes_together(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.reviewed()
		p.do("dev", "PUT", requestsPath+"/1", fmt.Sprintf(`{"reviewer_ids":[%d]}`, p.users["maint"].UserID))
		thread := p.discussion("dev", "POST", requestsPath+"/1/discussions", `{"body":"Why?"}`)
		other := p.discussion("dev", "POST", requestsPath+"/1/discussions", `{"body":"How?"}`)
		p.do("dev", "POST", requestsPath+"/1/notes", `{"body":"alone"}`)

		const missing = `{"message":"404 Not found"}`
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "GET", draftsPath, "", 401, `{"message":"401 Unauthorized"}`},
			{"maint", "GET", requestsPath + "/9/draft_notes", "", 404, missing},
			{"maint", "GET", draftsPath, "", 200, `[]`},
			{"maint", "POST", draftsPath, `{}`, 400, `{"error":"note is missing"}`},
			{"maint", "POST", draftsPath, `{"note":" "}`, 400, `{"message":{"note":["can't be blank"]}}`},
			{"maint", "POST", draftsPath, `{"note":"x","in_reply_to_discussion_id":"none"}`, 400, `{"message":{"base":["Thread to reply to cannot be found"]}}`},
			{"maint", "POST", draftsPath, `{"note":"x","in_reply_to_discussion_id":12}`, 400, `{"message":{"base":["Thread to reply to cannot be found"]}}`},
			{"maint", "POST", draftsPath, `{"note":"x","resolve_discussion":true}`, 400, `{"message":{"base":["User is not allowed to resolve thread"]}}`},
			{"stranger", "POST", draftsPath, `{"note":"x","resolve_discussion":true,"in_reply_to_discussion_id":"` + thread.ID + `"}`, 400, `{"message":{"base":["User is not allowed to resolve thread"]}}`},
			{"maint", "POST", draftsPath, `{"note":"x","commit_id":"nowhere"}`, 400, `{"message":{"commit_id":["is invalid"]}}`},
			{
				"maint", "POST", draftsPath, `{"note":"x","position":` + p.at(`"new_line":3`) + `}`, 400,
				`{"message":{"line_code":["can't be blank","must be a valid line code"]},"detail":"new_line 3 is not an added line; an unchanged line has old_line 3 as well"}`,
			},
			{"maint", "POST", draftsPath + "/bulk_publish", "", 204, ""},
			{"maint", "PUT", draftsPath + "/1/publish", "", 404, missing},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}

		plain := p.do("maint", "POST", draftsPath, `{"note":"Plain","commit_id":"undefined"}`)
		if got := mustJSON(t, plain["position"]); got != `{"base_sha":null,"head_sha":null,"line_range":null,"new_line":null,"new_path":null,"old_line":null,"old_path":null,"position_type":"text","start_sha":null}` ||
			plain["discussion_id"] != nil || plain["commit_id"] != nil || plain["line_code"] != nil || plain["resolve_discussion"] != false {
			t.Errorf("plain draft: %v", plain)
		}
		if got := p.pick("dev", requestsPath+"/1/reviewers", "state"); got != `"review_started"` && got != "review_started" {
			t.Errorf("state of the reviewer: %s", got)
		}
		line := p.do("maint", "POST", draftsPath, `{"note":"Line","position":`+p.at(`"new_line":5`)+`}`)
		p.do("maint", "POST", draftsPath, `{"note":"Because","resolve_discussion":true,"in_reply_to_discussion_id":"`+thread.ID+`"}`)
		p.want("maint", "POST", draftsPath, `{"note":"x","in_reply_to_discussion_id":"`+thread.ID+`"}`, 400, `{"message":{"author_id":["has already been taken"]}}`)
		p.want("guest", "POST", draftsPath, `{"note":"mine","in_reply_to_discussion_id":"`+thread.ID+`"}`, 201, "")
		p.do("maint", "POST", draftsPath, `{"note":"/title Better"}`)
		path := func(d map[string]any) string { return fmt.Sprint(draftsPath, "/", d["id"]) }

		// Nobody else sees a draft, not even an administrator, and nothing counts it.
		for _, as := range []string{"dev", "guest", "root"} {
			p.want(as, "GET", path(line), "", 404, missing)
			p.want(as, "PUT", path(line), `{"note":"x"}`, 404, missing)
			p.want(as, "DELETE", path(line), "", 404, missing)
			p.want(as, "PUT", path(line)+"/publish", "", 404, missing)
		}
		if got := p.discussions("maint", requestsPath+"/1/discussions"); got != "thread: Why?- thread: How?- note: alone of 3" {
			t.Errorf("discussions with drafts: %s", got)
		}
		w := p.send("maint", "GET", draftsPath, "")
		if got := p.pick("maint", draftsPath, "note"); got != `Plain Line Because /title Better` || w.Header().Get("X-Total") != "" || w.Header().Get("Link") != "" {
			t.Errorf("list: %s, %v", got, w.Header())
		}

		// An update without a position leaves it.
		p.want("maint", "PUT", path(line), `{}`, 400, `{"message":"400 Bad request - Missing params to modify"}`)
		p.want("maint", "PUT", path(line), `{"note":""}`, 400, `{"error":"note is empty"}`)
		changed := p.do("maint", "PUT", path(line), `{"note":"Line 5"}`)
		if changed["note"] != "Line 5" || fmt.Sprint(changed["position"]) != fmt.Sprint(line["position"]) || changed["line_code"] != line["line_code"] || line["line_code"] == nil {
			t.Errorf("update without a position: %v", changed)
		}
		p.want("maint", "PUT", path(line), `{"position":{}}`, 400, `{"message":"400 Bad request - Missing params to modify"}`)
		for _, none := range []string{`{}`, mustJSON(t, plain["position"]), `{"base_sha":"","start_sha":"","head_sha":"","position_type":"text"}`} {
			for _, d := range []map[string]any{line, plain} {
				changed = p.do("maint", "PUT", path(d), `{"note":"Line 5","position":`+none+`}`)
				if changed["note"] != "Line 5" || fmt.Sprint(changed["position"]) != fmt.Sprint(d["position"]) {
					t.Errorf("update with the position %s: %v", none, changed)
				}
			}
		}
		p.do("maint", "PUT", path(plain), `{"note":"Plain"}`)
		changed = p.do("maint", "PUT", path(line), `{"position":`+p.at(`"new_line":11`)+`}`)
		if at := changed["position"].(map[string]any); changed["note"] != "Line 5" || at["new_line"] != 11.0 {
			t.Errorf("update of a position: %v", changed)
		}

		// One is published: a note like any other.
		var heard []string
		event.On(p.Bus, "test", func(_ context.Context, e note.Created) error {
			heard = append(heard, fmt.Sprint(e.Row().Body, e.Reviewed))
			return nil
		})
		event.On(p.Bus, "test", func(_ context.Context, e note.Reviewed) error {
			heard = append(heard, fmt.Sprint("review of ", len(e.Notes)))
			return nil
		})
		p.want("maint", "PUT", path(plain)+"/publish", "", 204, "")
		p.want("maint", "PUT", path(plain)+"/publish", "", 404, missing)
		p.want("maint", "GET", path(plain), "", 404, missing)

		// What fails publishes nothing.
		failing := errors.New("no")
		fail := true
		event.On(p.Bus, "test", func(_ context.Context, e note.Created) error {
			if fail && e.Row().Body == "Because" {
				return failing
			}
			return nil
		})
		p.want("maint", "POST", draftsPath+"/bulk_publish", "", 500, "")
		fail = false
		if got := p.pick("maint", draftsPath, "note"); got != `Line 5 Because /title Better` {
			t.Errorf("drafts after a failure: %s", got)
		}
		p.checkCounters()

		// All the others at once, by eight callers: each once, with the summary of one of them.
		heard = nil
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if w := p.send("maint", "POST", draftsPath+"/bulk_publish", ""); w.Code != 204 {
					t.Errorf("bulk publish: %d %s", w.Code, w.Body)
				}
			})
		}
		wg.Wait()
		if got := strings.Join(heard, ", "); got != "Line 5true, Becausetrue, review of 2" {
			t.Errorf("published %s", got)
		}
		if got := p.discussions("maint", requestsPath+"/1/discussions"); got != "thread: Why?+ Because+ thread: How?- note: alone note: Plain thread: Line_5- of 5" {
			t.Errorf("discussions: %s", got)
		}
		m := p.do("dev", "GET", requestsPath+"/1", "")
		if got := fmt.Sprint(m["title"], m["user_notes_count"], p.pick("dev", requestsPath+"/1/reviewers", "state")); got != "Better6reviewed" {
			t.Errorf("merge request: %s", got)
		}
		var list []discussion
		if err := json.Unmarshal(p.send("dev", "GET", requestsPath+"/1/discussions", "").Body.Bytes(), &list); err != nil || *list[4].Notes[0].Type != "DiffNote" {
			t.Errorf("type of the note on a line: %v, %v", list, err)
		}
		p.checkCounters()

		// A reply that does not resolve opens the thread again; a summary comes last, with a verdict.
		p.do("maint", "POST", draftsPath, `{"note":"No","in_reply_to_discussion_id":"`+thread.ID+`"}`)
		gone := p.do("maint", "POST", draftsPath, `{"note":"gone","in_reply_to_discussion_id":"`+other.ID+`"}`)
		p.want("maint", "DELETE", path(gone), "", 204, "")
		p.want("maint", "POST", draftsPath+"/bulk_publish", `{"reviewer_state":"approved"}`, 400, `{"error":"reviewer_state does not have a valid value"}`)
		p.want("maint", "POST", draftsPath+"/bulk_publish", `{"note":"All in all","reviewer_state":"requested_changes"}`, 204, "")
		if got := p.discussions("maint", requestsPath+"/1/discussions"); got != "thread: Why?- Because- No- thread: How?- note: alone note: Plain thread: Line_5- note: All_in_all of 6" {
			t.Errorf("discussions: %s", got)
		}
		if got := p.pick("dev", requestsPath+"/1/reviewers", "state"); got != "requested_changes" {
			t.Errorf("state of the reviewer: %s", got)
		}
		p.checkCounters()

		// Only members go on where the discussion is locked; drafts go with the merge request.
		p.do("maint", "PUT", requestsPath+"/1", `{"discussion_locked":true}`)
		p.want("stranger", "POST", draftsPath, `{"note":"x"}`, 403, `{"message":"403 Forbidden"}`)
		p.want("owner", "DELETE", requestsPath+"/1", "", 204, "")
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM draft_notes"); err != nil || n != 0 {
			t.Errorf("%d drafts are left, %v", n, err)
		}
	})
}
