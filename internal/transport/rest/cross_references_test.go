package rest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/job"
	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/reference"
	"tenon/internal/core/systemnote"
)

// TestCrossReferences mentions an issue in others, in merge requests and in notes, of its own
// project and of one that not everybody sees: who does not see where it was mentioned learns
// nothing of that.
func TestCrossReferences(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		refs := reference.New(reference.Deps{
			Settings: p.Settings, DB: d, Policy: p.World.Policy, Accounts: p.Accounts, Projects: p.World.Projects, Repos: p.Repos, URLs: p.URLs,
		})
		refs.Connect(reference.Above{Finders: []reference.Finder{p.Issues, p.MergeRequests}})
		systemnote.New(systemnote.Deps{
			Times: p.Times, Notes: p.Notes, Kinds: p.Kinds, Users: p.Accounts, References: refs,
			Code: systemnote.Code{Jobs: job.EnqueuerFunc(func(context.Context, job.Args, ...job.Option) error { return nil })},
		}).Subscribe(p.Bus)
		secret := p.Project("far/secret", authz.Private, p.Group("far", authz.Private, 0))
		p.Join(secret, p.users["owner"], authz.Owner)
		const issue, history, elsewhere = appIssues + "/1", appIssues + "/1/notes?activity_filter=only_activity&sort=asc", "/projects/far%2Fsecret/issues"
		p.do("guest", "POST", appIssues, `{"title":"x"}`)
		p.do("planner", "POST", appIssues, `{"title":"About #1","description":"See #1, #99 and `+"`#1`"+`"}`)
		p.do("guest", "POST", appIssues, `{"title":"Plain"}`)
		p.do("guest", "PUT", appIssues+"/3", `{"description":"Like #1 and #3"}`)
		p.do("planner", "POST", appIssues+"/2/notes", `{"body":"again #1"}`)
		p.do("planner", "POST", appIssues+"/3/notes", `{"body":"inside: #2","internal":true}`)
		p.open("topic")
		p.do("dev", "POST", requestsPath+"/1/notes", `{"body":"For https://tenon.example/team/app/-/issues/1"}`)
		p.do("dev", "POST", appIssues+"/1/notes", `{"body":"done in !1"}`)
		open := []string{"mentioned in issue #2", "mentioned in issue #3", "mentioned in merge request !1"}
		want := func(as string, lines ...string) {
			t.Helper()
			w := p.send(as, "GET", history, "")
			if got := p.pick(as, history, "body"); got != strings.Join(lines, " ") || w.Header().Get("X-Total") != fmt.Sprint(len(lines)) {
				t.Errorf("%s reads %s of %s, want %q", as, got, w.Header().Get("X-Total"), lines)
			}
		}
		want("stranger", open...)
		if got := p.pick("stranger", requestsPath+"/1/notes?activity_filter=only_activity", "body"); got != "mentioned in issue #1" {
			t.Errorf("history of the merge request: %s", got)
		}
		if got := p.pick("planner", appIssues+"/2/notes?activity_filter=only_activity", "body"); got != "" {
			t.Errorf("an internal note is told of: %s", got)
		}
		before := p.send("stranger", "GET", issue, "").Body.String() + p.send("stranger", "GET", issue+"/discussions", "").Body.String()

		// A confidential issue, and one of a private project that the owner alone may read.
		p.do("planner", "POST", appIssues, `{"title":"Hidden","description":"#1","confidential":true}`)
		p.do("owner", "POST", elsewhere, `{"title":"Far","description":"team/app#1"}`)
		want("owner", append(open, "mentioned in issue #4", "mentioned in issue far/secret#1")...)
		want("root", append(open, "mentioned in issue #4", "mentioned in issue far/secret#1")...)
		want("planner", append(open, "mentioned in issue #4")...)
		want("stranger", open...)
		if after := p.send("stranger", "GET", issue, "").Body.String() + p.send("stranger", "GET", issue+"/discussions", "").Body.String(); after != before {
			t.Errorf("a stranger reads\n%s\nwhere it was\n%s", after, before)
		}
		ids := strings.Fields(p.pick("owner", history, "id"))
		hidden := issue + "/notes/" + ids[len(ids)-1]
		p.want("planner", "GET", hidden, "", 404, `{"message":"404 Not found"}`)
		p.want("planner", "GET", hidden+"/award_emoji", "", 404, "")
		p.want("owner", "GET", hidden, "", 200, "")
		notes, err := p.Notes.ByIDs(t.Context(), p.users["planner"], []note.ID{noteID(t, ids[0]), noteID(t, ids[len(ids)-1])})
		if err != nil || len(notes) != 1 {
			t.Errorf("by ids: %v, %v, want the first", notes, err)
		}
		// It is seen as long as it can be seen, and goes with what mentions it.
		p.do("planner", "PUT", appIssues+"/4", `{"confidential":false}`)
		want("stranger", append(open, "mentioned in issue #4")...)
		p.do("planner", "PUT", appIssues+"/3", `{"confidential":true}`)
		want("stranger", open[0], open[2], "mentioned in issue #4")
		p.want("owner", "DELETE", appIssues+"/4", "", 204, "")
		if err := p.Notes.Clear(t.Context(), noteable.Ref{Kind: noteable.Issue, ID: 4}); err != nil {
			t.Fatal(err)
		}
		want("root", append(open, "mentioned in issue far/secret#1")...)
	})
}

func noteID(t *testing.T, text string) note.ID {
	t.Helper()
	var id note.ID
	if _, err := fmt.Sscan(text, &id); err != nil {
		t.Fatal(err)
	}
	return id
}
