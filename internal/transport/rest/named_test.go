package rest

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/noteable"
	"tenon/internal/core/systemnote"
)

// TestNamed links, copies, moves and marks issues as duplicates: a user who may not read the
// other issue sees no line that names it.
func TestNamed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		systemnote.New(systemnote.Deps{Times: p.Times, Notes: p.Notes, Kinds: p.Kinds, Users: p.Accounts, References: p.References}).Subscribe(p.Bus)
		secret := p.Project("far/secret", authz.Private, p.Group("far", authz.Private, 0))
		p.Join(secret, p.users["owner"], authz.Owner)
		const far = "/projects/far%2Fsecret/issues"
		p.do("owner", "POST", appIssues, `{"title":"x"}`)
		p.do("owner", "POST", appIssues, `{"title":"Hidden","confidential":true}`)
		p.do("owner", "POST", appIssues, `{"title":"Open"}`)
		p.do("owner", "POST", far, `{"title":"Far"}`)
		link := func(number, target string) string {
			w := p.send("owner", "POST", appIssues+"/1/links", `{"target_project_id":"`+target+`","target_issue_iid":`+number+`}`)
			if w.Code != 201 {
				t.Fatalf("link with %s of %s: %d %s", number, target, w.Code, w.Body)
			}
			return w.Body.String()
		}
		link("3", "team/app")
		answers := func(as string) string {
			var out strings.Builder
			for _, path := range []string{"", "/notes", "/notes?activity_filter=only_activity&per_page=1", "/discussions", "/links"} {
				w := p.send(as, "GET", appIssues+"/1"+path, "")
				fmt.Fprintln(&out, path, w.Code, w.Header().Get("X-Total"), w.Body)
			}
			return out.String()
		}
		before := answers("stranger")

		link("2", "team/app")
		link("1", "far/secret")
		p.do("owner", "POST", appIssues+"/1/clone", fmt.Sprintf(`{"to_project_id":%d}`, secret))
		p.do("owner", "POST", far+"/1/clone", fmt.Sprintf(`{"to_project_id":%d}`, p.id))
		p.do("owner", "POST", far+"/2/move", fmt.Sprintf(`{"to_project_id":%d}`, p.id))
		want := func(as, issue string, lines ...string) {
			t.Helper()
			path := appIssues + "/" + issue + "/notes?activity_filter=only_activity&sort=asc"
			total := p.send(as, "GET", path, "").Header().Get("X-Total")
			if got := p.pick(as, path, "body"); got != strings.Join(lines, " ") || total != fmt.Sprint(len(lines)) {
				t.Errorf("%s reads %q, %s in all, on #%s, want %q", as, got, total, issue, lines)
			}
		}
		const open, hidden = "marked this issue as related to #3", "marked this issue as related to #2"
		want("owner", "1", open, hidden, "marked this issue as related to far/secret#1", "cloned to far/secret#2")
		want("root", "1", open, hidden, "marked this issue as related to far/secret#1", "cloned to far/secret#2")
		want("planner", "1", open, hidden)
		want("stranger", "1", open)
		want("owner", "4", "cloned from far/secret#1")
		want("planner", "4")
		want("owner", "5", "moved from far/secret#2")
		if after := answers("stranger"); after != before {
			t.Errorf("a stranger reads\n%s\nwhere it was\n%s", after, before)
		}
		ids := strings.Fields(p.pick("owner", appIssues+"/1/notes?sort=asc", "id"))
		p.want("stranger", "GET", appIssues+"/1/notes/"+ids[1], "", 404, `{"message":"404 Not found"}`)
		p.want("stranger", "GET", appIssues+"/1/notes/"+ids[1]+"/award_emoji", "", 404, "")
		threads := strings.Fields(p.pick("owner", appIssues+"/1/discussions", "id"))
		p.want("stranger", "POST", appIssues+"/1/discussions/"+threads[1]+"/notes", `{"body":"x"}`, 404, `{"message":"404 Discussion Not Found"}`)
		p.want("owner", "POST", appIssues+"/1/discussions/"+threads[1]+"/notes", `{"body":"x"}`, 400, `{"message":"400 Bad request - Discussion can not be replied to."}`)

		// The same happens once more, and duplicates are told as well.
		if _, err := p.Issues.MarkDuplicate(t.Context(), p.users["owner"], p.Find(p.users["owner"], p.id), 2, issue.Other{Project: "far/secret", IID: 1}); err != nil {
			t.Fatal(err)
		}
		want("owner", "2", "marked this issue as related to #1", "marked this issue as related to far/secret#1", "marked this issue as a duplicate of far/secret#1")
		want("planner", "2", "marked this issue as related to #1")
		if err := p.Notes.Clear(t.Context(), noteable.Ref{Kind: noteable.Issue, ID: 2}); err != nil {
			t.Fatal(err)
		}
		want("owner", "1", open, "marked this issue as related to far/secret#1", "cloned to far/secret#2")
	})
}
