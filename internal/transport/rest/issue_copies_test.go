package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
	"tenon/internal/core/milestone"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/reference"
	"tenon/internal/core/resourceevent"
	"tenon/internal/core/subscription"
	"tenon/internal/core/systemnote"
)

type (
	saidNote struct {
		ID       int64
		Body     string
		System   bool
		Internal bool
	}
	saidThread struct {
		ID    string
		Notes []saidNote
	}
)

// TestIssueCopies moves and clones an issue with all that was said about it: notes, threads,
// reactions, history, mentions and resource events come along, and the milestone where the other
// project has one of that title.
func TestIssueCopies(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.Notes = note.New(note.Deps{
			Limits: &limit.Service{}, DB: d, Policy: p.World.Policy, Bus: p.Bus, Accounts: p.Accounts, Awards: p.Awards, Projects: p.World.Projects, Now: p.World.Now, Texts: reference.NewReader(p.URLs),
			Kinds: noteable.Collect(p.Issues, p.MergeRequests),
			Jobs:  job.EnqueuerFunc(func(context.Context, job.Args, ...job.Option) error { return nil }),
		})
		systemnote.New(systemnote.Deps{Times: p.Times, Notes: p.Notes, Kinds: p.Kinds, Users: p.Accounts, References: p.References}).Subscribe(p.Bus)
		p.Events = resourceevent.New(resourceevent.Deps{DB: d, Policy: p.World.Policy, Notes: p.Notes, MergeRequests: p.MergeRequests})
		p.Events.Subscribe(p.Bus)
		p.Notes.Subscribe(p.Bus)
		subscriptions := subscription.New(subscription.Deps{
			DB: d, Policy: p.World.Policy, Labels: p.Labels, Kinds: noteable.Collect(p.Issues), Now: p.World.Now,
		})
		subscriptions.Subscribe(p.Bus)
		owner := p.users["owner"]
		other := p.Project("far/other", authz.Public, p.Group("far", authz.Public, 0))
		p.Join(other, owner, authz.Owner)
		const there = "/projects/far%2Fother/issues"
		release := map[string]int64{}
		for _, at := range []authz.Place{p.Find(owner, p.id).Place(), p.Find(owner, other).Place()} {
			for _, title := range []string{"v1", "only " + at.Path} {
				m, err := p.Milestones.Create(t.Context(), owner, at, milestone.Input{Title: title})
				if err != nil {
					t.Fatal(err)
				}
				release[at.Path+" "+title] = int64(m.ID)
			}
		}
		p.do("owner", "POST", appIssues, `{"title":"Other"}`)
		p.do("guest", "POST", appIssues, `{"title":"x","description":"As in #1","labels":"bug"}`)
		p.do("owner", "PUT", appIssues+"/2", fmt.Sprintf(`{"milestone_id":%d,"state_event":"close"}`, release["team/app v1"]))
		p.do("owner", "PUT", appIssues+"/2", `{"title":"y","state_event":"reopen"}`)
		first := p.do("planner", "POST", appIssues+"/2/notes", `{"body":"See #1, `+"`#1`"+`"}`)
		p.do("owner", "POST", appIssues+"/2/notes", `{"body":"Between us","internal":true}`)
		thread := p.do("guest", "POST", appIssues+"/2/discussions", `{"body":"A thread"}`)
		p.do("owner", "POST", appIssues+"/2/discussions/"+thread["id"].(string)+"/notes", `{"body":"A reply"}`)
		const folded = "SELECT COUNT(*) FROM notes WHERE body_fold IS NOT NULL AND body_fold LIKE '%team/app#1%'"
		p.do("guest", "POST", appIssues+"/2/discussions/"+thread["id"].(string)+"/notes", `{"body":"\u00c4hnlich #1"}`)
		p.do("guest", "POST", appIssues+"/2/award_emoji", `{"name":"tada"}`)
		p.do("guest", "POST", fmt.Sprintf("%s/2/notes/%.0f/award_emoji", appIssues, first["id"]), `{"name":"heart"}`)
		target, err := p.Issues.Locate(t.Context(), owner, p.Find(owner, p.id).Place(), noteable.Key{Number: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := subscriptions.Mention(t.Context(), subscription.Mentioned{In: target, Users: []authz.UserID{p.users["dev"].UserID}}); err != nil {
			t.Fatal(err)
		}

		clone := p.do("owner", "POST", appIssues+"/2/clone", fmt.Sprintf(`{"to_project_id":%d,"with_notes":true}`, p.id))
		plain := p.do("owner", "POST", appIssues+"/2/clone", fmt.Sprintf(`{"to_project_id":%d}`, other))
		moved := p.do("owner", "POST", appIssues+"/2/move", fmt.Sprintf(`{"to_project_id":%d}`, other))
		for _, tt := range []struct {
			name      string
			issue     map[string]any
			path      string
			milestone int64
			lines     string
			comments  int
			text      string
		}{
			{"clone", clone, appIssues + "/3", release["team/app v1"], "See #1, %#1%|Between us|A thread|A reply|\u00c4hnlich #1|changed title from **{-x-}** to **{+y+}**|cloned from #2", 5, "As in #1"},
			{"clone without notes", plain, there + "/1", release["far/other v1"], `cloned from team/app#2`, 0, "As in team/app#1"},
			{"moved", moved, there + "/2", release["far/other v1"], "See team/app#1, %#1%|Between us|A thread|A reply|\u00c4hnlich team/app#1|changed title from **{-x-}** to **{+y+}**|cloned to team/app#3|cloned to far/other#1|moved from team/app#2", 5, "As in team/app#1"},
		} {
			if got, _ := tt.issue["milestone"].(map[string]any); got == nil || int64(got["id"].(float64)) != tt.milestone {
				t.Errorf("%s: milestone %v, want %d", tt.name, got, tt.milestone)
			}
			if got := p.do("owner", "GET", tt.path, ""); got["description"] != tt.text || int(got["user_notes_count"].(float64)) != tt.comments {
				t.Errorf("%s: %v, %v notes, want %s and %d", tt.name, got["description"], got["user_notes_count"], tt.text, tt.comments)
			}
			var bodies []string
			var list []saidNote
			if err := json.Unmarshal(p.send("owner", "GET", tt.path+"/notes?sort=asc&per_page=100", "").Body.Bytes(), &list); err != nil {
				t.Fatal(err)
			}
			for _, system := range []bool{false, true} {
				for _, n := range list {
					if n.System == system {
						bodies = append(bodies, strings.ReplaceAll(n.Body, "`", "%"))
					}
				}
			}
			if got := strings.Join(bodies, "|"); got != tt.lines {
				t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.lines)
			}
			if got := p.pick("owner", tt.path+"/award_emoji", "name"); got != "tada" {
				t.Errorf("%s: reactions %s, want tada", tt.name, got)
			}
			if tt.comments == 0 {
				continue
			}
			if got := p.pick("owner", fmt.Sprintf("%s/notes/%d/award_emoji", tt.path, list[slices.IndexFunc(list, func(n saidNote) bool { return strings.HasPrefix(n.Body, "See") })].ID), "name"); got != "heart" {
				t.Errorf("%s: reactions to the note: %s, want heart", tt.name, got)
			}
			if got := p.pick("owner", tt.path+"/resource_state_events", "state"); got != "closed reopened" {
				t.Errorf("%s: states %s", tt.name, got)
			}
			at := target
			at.ID = int64(tt.issue["id"].(float64))
			who, err := subscriptions.Participants(t.Context(), owner, at.Ref, at.Subject, page.Range{})
			if err != nil || !slices.Contains(who.Items, p.users["dev"].UserID) {
				t.Errorf("%s: participants %v, %v, want who was mentioned", tt.name, who.Items, err)
			}
			var discussions []saidThread
			if err := json.Unmarshal(p.send("stranger", "GET", tt.path+"/discussions?per_page=100", "").Body.Bytes(), &discussions); err != nil {
				t.Fatal(err)
			}
			n := slices.IndexFunc(discussions, func(d saidThread) bool { return d.Notes[0].Body == "A thread" })
			if n < 0 || len(discussions[n].Notes) != 3 || discussions[n].ID == thread["id"] || len(discussions[n].ID) != 40 {
				t.Errorf("%s: discussions %+v, want the thread with a reply", tt.name, discussions)
			}
			if slices.ContainsFunc(discussions, func(d saidThread) bool { return d.Notes[0].Internal }) {
				t.Errorf("%s: a stranger reads an internal note", tt.name)
			}
		}
		if got := p.do("owner", "GET", appIssues+"/2", ""); got["state"] != "closed" || got["user_notes_count"] != 5.0 {
			t.Errorf("left behind: %v", got)
		}
		if n, err := db.Get[int](t.Context(), d, folded); err != nil || n != 1 {
			t.Errorf("%d folds of the moved note, %v, want 1", n, err)
		}
		if lines, err := p.Notes.Check(t.Context()); err != nil || len(lines) > 0 {
			t.Errorf("counters: %q, %v", lines, err)
		}
	})
}
