package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/account"
	"tenon/internal/core/systemnote"
)

// discussion is a discussion as clients read it.
type discussion struct {
	ID         string
	Individual bool `json:"individual_note"`
	Notes      []struct {
		ID                                     int
		Type                                   *string
		Body                                   string
		Resolvable, Resolved, Internal, System bool
		ResolvedBy                             *struct{ Username string } `json:"resolved_by"`
		ResolvedAt                             *string                    `json:"resolved_at"`
	}
}

// String says "thread: a b+" of a thread with the notes a, which is open, and b, which is resolved.
func (d discussion) String() string {
	kind := "thread:"
	if d.Individual {
		kind = "note:"
	}
	for _, n := range d.Notes {
		kind += " " + strings.ReplaceAll(n.Body, " ", "_")
		switch {
		case n.Resolved:
			kind += "+"
		case n.Resolvable:
			kind += "-"
		}
		if n.Internal {
			kind += "!"
		}
	}
	return kind
}

func (p *planning) discussions(as, path string) string {
	p.t.Helper()
	w := p.send(as, "GET", path, "")
	var list []discussion
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		return w.Body.String()
	}
	return strings.Trim(fmt.Sprint(list), "[]") + " of " + w.Header().Get("X-Total")
}

// discussion sends a request that answers with a discussion.
func (p *planning) discussion(as, method, path, body string) discussion {
	p.t.Helper()
	w := p.send(as, method, path, body)
	var d discussion
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code > 201 {
		p.t.Fatalf("%s: %s %s %s: %d %s", as, method, path, body, w.Code, w.Body)
	}
	return d
}

func (p *planning) checkCounters() {
	p.t.Helper()
	if found, err := p.Notes.Check(p.t.Context()); err != nil || len(found) > 0 {
		p.t.Errorf("counters: %q, %v", found, err)
	}
}

// TestDiscussions_mergeRequest begins threads on a merge request, replies, resolves them and
// opens them again, while the project asks for all threads to be resolved.
func TestDiscussions_mergeRequest(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		event.On(p.Bus, "system notes", systemnote.New(systemnote.Deps{Times: p.Times, Notes: p.Notes, Users: p.Accounts}).ThreadsResolved)
		p.open("topic")
		if _, err := d.Exec(t.Context(), "UPDATE projects SET only_allow_merge_if_all_discussions_are_resolved = true"); err != nil {
			t.Fatal(err)
		}
		const request, path = requestsPath + "/1", requestsPath + "/1/discussions"
		blocked := func(want string) {
			t.Helper()
			m := p.do("dev", "GET", request, "")
			if got := fmt.Sprint(m["blocking_discussions_resolved"], " ", m["detailed_merge_status"]); got != want {
				t.Errorf("merge request is %s, want %s", got, want)
			}
			p.checkCounters()
		}
		blocked("true mergeable")

		made := p.discussion("guest", "POST", path, `{"body":"Why?"}`)
		if len(made.ID) != 40 || made.String() != "thread: Why?-" || *made.Notes[0].Type != "DiscussionNote" {
			t.Errorf("created %+v", made)
		}
		blocked("false discussions_not_resolved")
		for _, step := range []struct{ query, want string }{ // a group above may ask for it as well
			{"UPDATE projects SET only_allow_merge_if_all_discussions_are_resolved = false", "true mergeable"},
			{"UPDATE groups SET only_allow_merge_if_all_discussions_are_resolved = true", "false discussions_not_resolved"},
			{"UPDATE groups SET only_allow_merge_if_all_discussions_are_resolved = false", "true mergeable"},
			{"UPDATE projects SET only_allow_merge_if_all_discussions_are_resolved = true", "false discussions_not_resolved"},
		} {
			if _, err := d.Exec(t.Context(), step.query); err != nil {
				t.Fatal(err)
			}
			blocked(step.want)
		}
		p.want("maint", "PUT", request+"/merge", "", 405, "")
		one, noteOne := path+"/"+made.ID, fmt.Sprintf("%s/%s/notes/%d", path, made.ID, made.Notes[0].ID)
		if got := p.do("dev", "POST", one+"/notes", `{"body":"Because"}`); got["type"] != "DiscussionNote" || got["resolved"] != false || got["resolved_by"] != nil {
			t.Errorf("reply = %v", got)
		}
		const forbidden, noDiscussion = `{"message":"403 Forbidden"}`, `{"message":"404 Discussion Not Found"}`
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "GET", path, "", 401, `{"message":"401 Unauthorized"}`},
			{"guest", "GET", requestsPath + "/x/discussions", "", 404, `{"message":"404 Not found"}`},
			{"guest", "GET", path + "/none", "", 404, noDiscussion},
			{"guest", "GET", path + "/none/notes", "", 404, `{"message":"404 Notes Not Found"}`},
			{"guest", "GET", fmt.Sprint(path, "/none/notes/", made.Notes[0].ID), "", 404, `{"message":"404 Not found"}`},
			{"guest", "GET", noteOne, "", 200, ""},
			{"guest", "POST", path, `{}`, 400, `{"error":"body is missing"}`},
			{"guest", "POST", path, `{"body":" "}`, 400, `{"message":"400 Bad request - Note {:note=>[\"can't be blank\"]}"}`},
			{"guest", "POST", path + "/none/notes", `{"body":"x"}`, 404, noDiscussion},
			{"guest", "PUT", one, `{}`, 400, `{"error":"resolved is missing"}`},
			{"stranger", "PUT", one, `{"resolved":true}`, 403, forbidden},
			{"stranger", "PUT", noteOne, `{"resolved":true}`, 403, forbidden},
			{"stranger", "PUT", noteOne, `{"body":"x"}`, 403, forbidden},
			{"stranger", "DELETE", noteOne, "", 403, forbidden},
			{"guest", "PUT", path + "/none", `{"resolved":true}`, 404, noDiscussion},
			{"guest", "PUT", noteOne, `{}`, 400, `{"error":"body, resolved are missing, exactly one parameter must be provided"}`},
			{"guest", "PUT", noteOne, `{"body":"x","resolved":true}`, 400, `{"error":"body, resolved are mutually exclusive"}`},
			{"guest", "PUT", noteOne, `{"body":"Why so?"}`, 200, ""},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}

		// Who began the thread resolves it, with all its notes; a reply to it is resolved.
		if got := p.discussion("guest", "PUT", one, `{"resolved":true}`); got.String() != "thread: Why_so?+ Because+" || got.Notes[1].ResolvedBy.Username != "guest" || got.Notes[1].ResolvedAt == nil {
			t.Errorf("resolved %+v", got)
		}
		blocked("true mergeable")
		if got := p.pick("guest", request+"/notes?activity_filter=only_activity", "body"); got != "resolved all threads" {
			t.Errorf("history = %s", got)
		}
		p.do("stranger", "POST", one+"/notes", `{"body":"Late"}`)
		if got := p.discussion("guest", "GET", one, ""); got.String() != "thread: Why_so?+ Because+ Late+" || got.Notes[2].ResolvedBy.Username != "stranger" {
			t.Errorf("after a reply: %+v", got)
		}
		// One open note opens the thread.
		if got := p.do("dev", "PUT", noteOne, `{"resolved":false}`); got["resolved"] != false || got["resolved_at"] != nil {
			t.Errorf("opened %v", got)
		}
		blocked("false discussions_not_resolved")
		p.do("dev", "PUT", noteOne, `{"resolved":true}`)
		blocked("true mergeable")
		if got := p.discussion("dev", "PUT", one, `{"resolved":false}`); got.String() != "thread: Why_so?- Because- Late-" {
			t.Errorf("opened again: %s", got)
		}
		// A change of a note has a text; resolving goes by the thread alone.
		plain := fmt.Sprintf("%s/notes/%d", request, made.Notes[0].ID)
		for body, answer := range map[string]string{
			`{}`: `{"error":"body is missing"}`, `{"confidential":false}`: `{"error":"body is missing"}`, `{"resolved":true}`: `{"error":"body is missing"}`,
			`{"body":" "}`: `{"error":"body is empty"}`, `{"body":null}`: `{"error":"body is empty"}`,
		} {
			p.want("guest", "PUT", plain, body, 400, answer)
		}
		p.want("guest", "PUT", plain, `{"body":"Why so?"}`, 200, "")
		// The attack: an internal thread on a merge request that everybody reads (CVE-2024-8650). There are none.
		for _, flag := range []string{"internal", "confidential"} {
			p.want("maint", "POST", request+"/notes", fmt.Sprintf(`{"body":"for us alone","%s":true}`, flag), 400,
				`{"message":"400 Bad request - Note {:confidential=>[\"can not be set for this resource\"]}"}`)
		}
		p.want("maint", "PUT", plain, `{"body":"Why so?","confidential":true}`, 400, `{"message":"400 Bad request - Note {:confidential=>[\"can not be changed for existing notes\"]}"}`)
		if got := p.discussions("stranger", path); strings.Contains(got, "alone") || strings.Contains(got, "!") {
			t.Errorf("a stranger reads %s", got)
		}
		p.want("guest", "DELETE", noteOne, "", 204, "")
		blocked("false discussions_not_resolved")

		// A note that stands alone is no thread until a user replies; history never is.
		p.do("dev", "POST", request+"/notes", `{"body":"alone"}`)
		if got := p.discussions("dev", path); got != "thread: Because- Late- note: resolved_all_threads note: resolved_all_threads note: alone of 4" {
			t.Errorf("discussions = %s", got)
		}
		var list []discussion
		if err := json.Unmarshal(p.send("dev", "GET", path, "").Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		alone, history := list[3], list[1]
		p.want("dev", "PUT", path+"/"+alone.ID, `{"resolved":true}`, 403, forbidden)
		p.want("dev", "PUT", fmt.Sprintf("%s/%s/notes/%d", path, alone.ID, alone.Notes[0].ID), `{"resolved":true}`, 400, `{"message":"400 Bad request - Note is not resolvable"}`)
		p.want("dev", "POST", path+"/"+history.ID+"/notes", `{"body":"x"}`, 400, `{"message":"400 Bad request - Discussion can not be replied to."}`)
		p.do("guest", "POST", path+"/"+alone.ID+"/notes", `{"body":"not now"}`)
		if got := p.discussion("dev", "GET", path+"/"+alone.ID, ""); got.String() != "thread: alone- not_now-" {
			t.Errorf("after a reply: %s", got)
		}
		p.checkCounters()

		// Only members go on where the discussion is locked.
		p.do("maint", "PUT", request, `{"discussion_locked":true}`)
		p.want("stranger", "POST", path, `{"body":"x"}`, 403, forbidden)
		p.want("stranger", "POST", one+"/notes", `{"body":"x"}`, 403, forbidden)
		p.do("dev", "PUT", one, `{"resolved":true}`)
		p.do("dev", "PUT", path+"/"+alone.ID, `{"resolved":true}`)
		blocked("true mergeable")
		if got := p.send("maint", "PUT", request+"/merge", ""); got.Code != 200 {
			t.Errorf("merge: %d %s", got.Code, got.Body)
		}

		// The notes of a user who is deleted with all that the user made are counted off.
		p.discussion("guest", "POST", path, `{"body":"open"}`)
		e := account.Estate{Departure: account.Departure{UserID: p.users["guest"].UserID, Hard: true}, Ghost: p.users["root"].UserID}
		for more := true; more; {
			var err error
			if more, err = p.Notes.Depart(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if m := p.do("dev", "GET", request, ""); m["user_notes_count"] != 3.0 {
			t.Errorf("%v notes are left, want 3", m["user_notes_count"])
		}
		p.checkCounters()
	})
}

// TestDiscussions_internal has internal threads on an issue; guests learn nothing of them,
// and threads on a commit.
func TestDiscussions_internal(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.do("guest", "POST", appIssues, `{"title":"x"}`)
		const path = appIssues + "/1/discussions"
		secret := p.do("planner", "POST", appIssues+"/1/notes", `{"body":"inside","internal":true}`)
		open := p.discussion("stranger", "POST", path, `{"body":"open"}`)
		var list []discussion
		if err := json.Unmarshal(p.send("planner", "GET", path, "").Body.Bytes(), &list); err != nil || len(list) != 2 {
			t.Fatal(list, err)
		}
		hidden := path + "/" + list[0].ID
		p.want("planner", "POST", hidden+"/notes", `{"body":"deeper"}`, 201, "")
		for as, want := range map[string]string{"guest": "thread: open of 1", "planner": "thread: inside! deeper! thread: open of 2"} {
			if got := p.discussions(as, path); got != want {
				t.Errorf("%s reads %s, want %s", as, got, want)
			}
		}
		const noDiscussion = `{"message":"404 Discussion Not Found"}`
		p.want("guest", "GET", hidden, "", 404, noDiscussion)
		p.want("guest", "GET", hidden+"/notes", "", 404, `{"message":"404 Notes Not Found"}`)
		p.want("guest", "GET", fmt.Sprintf("%s/notes/%v", hidden, secret["id"]), "", 404, `{"message":"404 Not found"}`)
		p.want("guest", "POST", hidden+"/notes", `{"body":"x"}`, 404, noDiscussion)
		p.want("guest", "GET", fmt.Sprintf("%s/1/notes/%v/award_emoji", appIssues, secret["id"]), "", 404, `{"message":"404 Not found"}`)
		p.want("guest", "POST", fmt.Sprintf("%s/1/notes/%v/award_emoji", appIssues, secret["id"]), `{"name":"tada"}`, 404, `{"message":"404 Not found"}`)
		begun := p.discussion("planner", "POST", path, `{"body":"begun inside","internal":true}`)
		p.want("planner", "GET", path+"/"+begun.ID, "", 200, "")
		p.want("guest", "GET", path+"/"+begun.ID, "", 404, noDiscussion)
		if begun := p.discussion("planner", "POST", path, `{"body":"begun open","internal":false}`); p.discussion("guest", "GET", path+"/"+begun.ID, "").ID != begun.ID {
			t.Error("a guest does not read a discussion that is not internal")
		}
		p.want("planner", "DELETE", fmt.Sprintf("%s/%s/notes/%d", path, begun.ID, begun.Notes[0].ID), "", 204, "")
		if i := p.do("guest", "GET", appIssues+"/1", ""); fmt.Sprint(i["user_notes_count"]) != "2" {
			t.Errorf("user_notes_count of a guest = %v, want 2", i["user_notes_count"])
		}
		// Threads of issues are not resolved.
		p.want("planner", "PUT", path+"/"+open.ID, `{"resolved":true}`, 405, `{"error":"405 Not Allowed"}`)
		p.want("planner", "PUT", fmt.Sprintf("%s/%s/notes/%d", path, open.ID, open.Notes[0].ID), `{"resolved":true}`, 403, "")
		p.want("owner", "PUT", fmt.Sprintf("%s/%s/notes/%d", path, open.ID, open.Notes[0].ID), `{"resolved":true}`, 400, `{"message":"400 Bad request - Note is not resolvable"}`)
		p.checkCounters()

		// A page with too much text is refused rather than read.
		if _, err := d.Exec(t.Context(), `INSERT INTO notes (discussion_id, noteable_type, noteable_id, project_id, author_id, body, system, internal, created_at, updated_at)
			WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 33)
			SELECT 'long' || CAST(n AS TEXT), 'Issue', i.id, i.project_id, i.author_id, ?, false, false, i.created_at, i.created_at FROM x, issues i`,
			strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
		p.want("guest", "GET", path+"?per_page=100", "", 422, "")
		p.want("guest", "GET", path+"?per_page=2", "", 200, "")

		const commit = "/projects/team%2Fapp/repository/commits/main"
		made := p.discussion("guest", "POST", commit+"/discussions", `{"body":"whole"}`)
		p.want("dev", "POST", commit+"/discussions/"+made.ID+"/notes", `{"body":"reply"}`, 201, "")
		p.want("dev", "POST", commit+"/comments", `{"note":"comment"}`, 201, "")
		if got := p.discussions("stranger", commit+"/discussions"); got != "thread: whole reply note: comment of 2" {
			t.Errorf("discussions of a commit = %s", got)
		}
		p.want("", "GET", commit+"/discussions", "", 401, "")
		if err := json.Unmarshal(p.send("dev", "GET", commit+"/discussions", "").Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		p.want("dev", "POST", commit+"/discussions/"+list[1].ID+"/notes", `{"body":"x"}`, 400, `{"message":"400 Bad request - Discussion can not be replied to."}`)
		p.want("guest", "DELETE", fmt.Sprintf("%s/discussions/%s/notes/%d", commit, made.ID, made.Notes[0].ID), "", 204, "")
	})
}

// TestAwardEmoji reacts to issues, merge requests and notes.
func TestAwardEmoji(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.do("guest", "POST", appIssues, `{"title":"x"}`)
		p.do("guest", "POST", appIssues, `{"title":"hidden","confidential":true}`)
		p.open("topic")
		word := p.do("dev", "POST", requestsPath+"/1/notes", `{"body":"word"}`)
		const path = appIssues + "/1/award_emoji"
		onNote := fmt.Sprintf("%s/1/notes/%v/award_emoji", requestsPath, word["id"])
		given := fmt.Sprint("/", p.do("guest", "POST", onNote, `{"name":"tada"}`)["id"])
		w := p.send("stranger", "POST", path, `{"name":"+1"}`)
		if got := strings.Join(keys(t, w.Body.String()), " "); w.Code != 201 || got != "id name user created_at updated_at awardable_id awardable_type url" {
			t.Errorf("%d, fields %s", w.Code, got)
		}
		const nothing, taken = `{"message":"404 Not found"}`, `{"message":"404 Award Emoji Name has already been taken Not Found"}`
		for _, tt := range []struct {
			as, method, path, body string
			status                 int
			answer                 string
		}{
			{"", "GET", path, "", 401, `{"message":"401 Unauthorized"}`},
			{"stranger", "GET", appIssues + "/2/award_emoji", "", 404, nothing},
			{"stranger", "POST", appIssues + "/2/award_emoji", `{"name":"tada"}`, 404, nothing},
			{"stranger", "POST", path, `{}`, 400, `{"error":"name is missing"}`},
			{"stranger", "POST", path, `{"name":"nonesuch"}`, 404, `{"message":"404 Award Emoji Name is not a valid emoji name Not Found"}`},
			{"stranger", "POST", path, `{"name":"thumbsup"}`, 404, taken},
			{"guest", "POST", path, `{"name":"thumbsup"}`, 201, ""},
			{"guest", "POST", onNote, `{"name":"tada"}`, 404, taken},
			{"guest", "POST", requestsPath + "/1/award_emoji", `{"name":"thumbsdown"}`, 201, ""},
			{"guest", "GET", path + "/2", "", 200, ""},
			{"guest", "GET", path + given, "", 404, nothing}, // of the note
			{"guest", "GET", onNote + "/2", "", 404, nothing},
			{"guest", "GET", requestsPath + "/1/notes/0/award_emoji", "", 404, nothing},
			{"guest", "DELETE", path + "/2", "", 401, `{"message":"401 Unauthorized"}`},
			{"owner", "DELETE", path + "/2", "", 401, `{"message":"401 Unauthorized"}`},
			{"stranger", "DELETE", path + "/2", "", 204, ""},
			{"root", "DELETE", onNote + given, "", 204, ""},
			{"root", "DELETE", onNote + given, "", 404, nothing},
		} {
			p.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.answer)
		}
		if got := p.pick("stranger", path, "name") + " " + p.pick("stranger", requestsPath+"/1/award_emoji", "awardable_type"); got != "thumbsup MergeRequest" {
			t.Errorf("left: %s", got)
		}
		if m := p.do("guest", "GET", requestsPath+"/1", ""); fmt.Sprint(m["upvotes"], m["downvotes"]) != "0 1" {
			t.Errorf("votes = %v %v, want 0 1", m["upvotes"], m["downvotes"])
		}
		p.do("planner", "PUT", appIssues+"/1", `{"discussion_locked":true}`)
		p.want("stranger", "POST", path, `{"name":"tada"}`, 404, `{"message":"404 Award Emoji Not Found"}`)
		p.want("guest", "POST", path, `{"name":"tada"}`, 201, "")
	})
}
