package activity_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/page"
	"tenon/internal/core/activity"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/issue"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// Events tell no user of what it may not read, and all filters select what they say.
func TestRecorder_List(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		w := coretest.New(t, d)
		issues := issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Now: w.Now})
		requests := mergerequest.New(mergerequest.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, ""), Now: w.Now})
		r := activity.New(activity.Deps{DB: d, Policy: w.Policy, Notes: note.New(note.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy}), Kinds: noteable.Collect(issues, requests), Settings: setting.New(d, w.Now), Now: w.Now})
		group := w.Group("team", authz.Public, 0)
		open := w.Project("team/open", authz.Public, group)
		closed := w.Project("team/closed", authz.Private, group)
		author, planner, guest, stranger := w.User("author"), w.User("planner"), w.User("guest"), w.User("stranger")
		for _, p := range []int64{int64(open), int64(closed)} {
			w.Join(project.ID(p), author, authz.Developer)
			w.Join(project.ID(p), planner, authz.Planner)
			w.Join(project.ID(p), guest, authz.Guest)
		}
		item := func(p int64, iid int, confidential bool) int64 {
			return w.Insert("issues", coretest.Row{"project_id": p, "iid": iid, "author_id": author.UserID, "title": fmt.Sprint("issue ", iid), "confidential": confidential, "state": "opened", "issue_type": "issue"})
		}
		comment := func(p, on int64, internal bool) int64 {
			return w.Insert("notes", coretest.Row{"project_id": p, "noteable_type": "Issue", "noteable_id": on, "author_id": author.UserID, "body": "text", "internal": internal})
		}
		record := func(p int64, action, kind string, target int64, payload any) {
			t.Helper()
			e := activity.Entry{ProjectID: project.ID(p), AuthorID: author.UserID, Action: action, TargetType: kind, TargetID: target, TargetTitle: kind, Payload: payload}
			if err := r.Record(ctx, e); err != nil {
				t.Fatal(err)
			}
		}
		push := activity.Push{Action: "removed", RefType: "branch"}
		for _, p := range []int64{int64(open), int64(closed)} {
			plain, secret := item(p, 1, false), item(p, 2, true)
			record(p, activity.Created, "Project", p, nil)
			record(p, activity.Created, "Issue", plain, nil)
			record(p, activity.Closed, "Issue", secret, nil)
			record(p, activity.Commented, "Note", comment(p, plain, false), nil)
			record(p, activity.Commented, "Note", comment(p, plain, true), nil)
			record(p, activity.Commented, "Note", comment(p, secret, false), nil)
			record(p, activity.Destroyed, "", 0, push)
		}
		names := func(as authz.Actor, f activity.Filter) string {
			t.Helper()
			f.Asc, f.Range = true, page.Range{Limit: 50}
			list, err := r.List(ctx, as, f)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for i := range list.Items {
				e := &list.Items[i]
				title := ""
				if e.TargetTitle != nil {
					title = " " + *e.TargetTitle
				}
				out = append(out, e.Name()+title)
			}
			if list.Total != len(out) {
				t.Errorf("%d events counted, %d listed", list.Total, len(out))
			}
			return strings.Join(out, ", ")
		}
		const all = "created Project, opened Issue, closed Issue, commented on issue 1, commented on issue 1, commented on issue 2, deleted"
		const some = "created Project, opened Issue, commented on issue 1"
		day := func(days int) *time.Time { at := w.Now().AddDate(0, 0, days); return &at }
		for _, c := range []struct {
			name string
			as   authz.Actor
			f    activity.Filter
			want string
		}{
			{"a planner", planner, activity.Filter{Project: closed}, all},
			{"a developer", author, activity.Filter{Project: closed}, all},
			{"a guest without code", guest, activity.Filter{Project: closed}, some},
			{"a guest of an open project", guest, activity.Filter{Project: open}, some + ", deleted"},
			{"a stranger", stranger, activity.Filter{Author: author.UserID}, some + ", deleted"},
			{"no user", authz.Actor{}, activity.Filter{Author: author.UserID}, "created Project, opened Issue, deleted"},
			{"another's", planner, activity.Filter{Author: guest.UserID}, ""},
			{"one's own projects", stranger, activity.Filter{Own: true}, ""},
			{"of members", guest, activity.Filter{Own: true, Action: activity.Commented}, "commented on issue 1, commented on issue 1"},
			{"pushes", planner, activity.Filter{Project: open, Action: activity.Pushed}, "deleted"},
			{"no pushes", planner, activity.Filter{Project: open, Action: activity.Destroyed}, ""},
			{"a kind", planner, activity.Filter{Project: open, TargetType: "Issue"}, "opened Issue, closed Issue"},
			{"before", planner, activity.Filter{Project: open, Before: day(-1)}, ""},
			{"after", planner, activity.Filter{Project: open, After: day(-1), TargetType: "Project"}, "created Project"},
			{"too late", planner, activity.Filter{Project: open, After: day(1)}, ""},
		} {
			if got := names(c.as, c.f); got != c.want {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
		}
		counted := func(as authz.Actor, since time.Time) (n int) {
			t.Helper()
			days, err := r.Calendar(ctx, as, author.UserID, since)
			if err != nil || len(days) > 2 { // midnight may have passed
				t.Fatal(days, err)
			}
			for _, each := range days {
				n += each
			}
			return n
		}
		for _, c := range []struct {
			name string
			as   authz.Actor
			want int
		}{{"a developer", author, 14}, {"a guest without code", guest, 7}, {"a stranger", stranger, 4}, {"no user", authz.Actor{}, 3}} {
			if got := counted(c.as, *day(-1)); got != c.want {
				t.Errorf("the calendar for %s: %d events, want %d", c.name, got, c.want)
			}
		}
		if got := counted(author, *day(1)); got != 0 {
			t.Errorf("the calendar since tomorrow: %d events", got)
		}
		if _, err := d.Exec(ctx, "UPDATE users SET private_profile = true WHERE id = ?", author.UserID); err != nil {
			t.Fatal(err)
		}
		if got := names(stranger, activity.Filter{Author: author.UserID}); got != "" {
			t.Errorf("a private profile: got %q, want nothing", got)
		}
		if got := counted(stranger, *day(-1)); got != 0 {
			t.Errorf("the calendar of a private profile: %d events", got)
		}
	})
}
