package issue_test

import (
	"context"
	"net/url"
	"strconv"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/limit"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// subscribed is who is subscribed to every issue.
type subscribed authz.UserID

func (s subscribed) Of(_ context.Context, as authz.Actor, things ...noteable.Ref) (map[noteable.Ref]bool, error) {
	out := map[noteable.Ref]bool{}
	for _, ref := range things {
		out[ref] = as.UserID == authz.UserID(s)
	}
	return out, nil
}

// A part of a view is there for the callers that may see it, what a part holds is nowhere else in
// the view, and many issues take no more statements than one.
func TestService_Views(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		urls := weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, "")
		milestones := milestone.New(milestone.Deps{DB: d, Policy: f.Policy, Bus: f.Bus, Now: f.Now})
		at := f.Now() // people are cached for some seconds, and each look at the clock of the world moves it
		still := func() time.Time { return at }
		issues := issue.New(issue.Deps{
			Limits: &limit.Service{}, DB: d, Policy: f.Policy, Bus: f.Bus, Projects: f.Projects, Labels: f.labels, Milestones: milestones, Now: f.Now, URLs: urls,
			Iterations: iteration.New(iteration.Deps{DB: d, Policy: f.Policy, Bus: f.Bus, Now: f.Now}),
			Accounts:   account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: f.Policy, Bus: f.Bus, Settings: setting.New(d, f.Now), Now: still, URLs: urls}),
		})
		issues.Connect(issue.Above{Subscriptions: subscribed(f.planner.UserID), Commands: alonetest.Commands{}})
		root := f.Admin("root")
		due, err := milestones.Create(ctx, f.owner, f.Find(f.owner, f.id).Place(), milestone.Input{Title: "v1"})
		if err != nil {
			t.Fatal(err)
		}
		hidden := f.Project("secret/hidden", authz.Private, f.Group("secret", authz.Private, 0))
		f.Join(hidden, f.owner, authz.Owner)
		var target issue.ID
		if i, err := f.issues.Create(ctx, f.owner, f.Find(f.owner, hidden), issue.Input{Title: "there"}); err == nil {
			target = i.ID
		} else {
			t.Fatal(err)
		}
		for n := range 3 {
			i := f.create(f.guest, issue.Input{Title: strconv.Itoa(n), AssigneeIDs: []authz.UserID{f.planner.UserID, f.guest.UserID}})
			f.set("UPDATE issues SET moved_to_id = ?, milestone_id = ?, notes_count = 5, public_notes_count = 2, user_agent = 'curl', user_address = '::1', closed_by_id = ?, state = 'closed' WHERE id = ?",
				target, due.ID, f.reporter.UserID, i.ID)
		}
		for name, want := range map[string]struct {
			as         authz.Actor
			notes      int64
			moved, due bool
			subscribed bool
		}{
			"anonymous": {as: authz.Actor{}, notes: 2, due: true},
			"guest":     {as: f.guest, notes: 2, due: true},
			"planner":   {as: f.planner, notes: 5, due: true, subscribed: true},
			"owner":     {as: f.owner, notes: 5, due: true, moved: true},
			"admin":     {as: root, notes: 5, due: true, moved: true},
		} {
			p := f.Find(want.as, f.id)
			list, err := issues.List(ctx, want.as, p.Place(), issue.Filter{})
			if err != nil {
				t.Fatal(name, err)
			}
			cost := func(n int, o issue.ViewOptions) (views []issue.View, statements uint64) {
				before := d.Statements()
				views, err := issues.Views(ctx, want.as, list.Items[:n], o)
				if err != nil || len(views) != n {
					t.Fatalf("%s: got %d views, %v, want %d", name, len(views), err, n)
				}
				return views, d.Statements() - before
			}
			options := issue.ViewOptions{Subscribed: true}
			cost(1, options) // people are cached
			_, one := cost(1, options)
			views, many := cost(3, options)
			if many != one || many > 4 {
				t.Errorf("%s: three views took %d statements, one %d", name, many, one)
			}
			v := views[0]
			if v.UserNotes != want.notes || (v.Related.MovedTo != nil) != want.moved || (v.Milestone != nil) != want.due || *v.Subscribed != want.subscribed {
				t.Errorf("%s: got %d notes, moved to %v, milestone %v, subscribed %v, want %+v", name, v.UserNotes, v.Related.MovedTo, v.Milestone, *v.Subscribed, want)
			}
			if v.Author.Username != "guest" || v.ClosedBy.Username != "reporter" || len(v.Assignees) != 2 || v.URL != "https://tenon.example/team/app/-/issues/3" {
				t.Errorf("%s: got %+v", name, v)
			}
			if v.UserAgent != nil || v.UserAddress != nil || v.MovedToID != nil || v.NotesCount+v.PublicNotesCount != 0 || v.MilestoneID != nil || v.Issue.Assignees != nil {
				t.Errorf("%s: the issue of the view keeps what a part holds: %+v", name, v.Issue)
			}
			if v, _ := cost(1, issue.ViewOptions{}); v[0].Subscribed != nil {
				t.Errorf("%s: got subscribed %v, which nothing asked for", name, *v[0].Subscribed)
			}
			if v, err := issues.Views(ctx, want.as, list.Items, issue.ViewOptions{Projects: map[project.ID]*project.Project{}}); err != nil || len(v) != 0 {
				t.Errorf("%s: got %d views of issues whose project is gone, %v", name, len(v), err)
			}
		}
	})
}

// Only the two thumbs are votes: names that sort between them are none.
func TestService_Find_votes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		first, second := f.create(f.planner, issue.Input{}), f.create(f.planner, issue.Input{})
		for _, v := range []struct {
			on   *issue.Issue
			by   authz.Actor
			name string
		}{
			{first, f.owner, "thumbsup"},
			{first, f.guest, "thumbsup"},
			{first, f.guest, "thumbsdown"},
			{first, f.guest, "thumbsdown_tone1"},
			{first, f.guest, "thumbsup_tone1"},
			{first, f.guest, "tada"},
			{second, f.guest, "thumbsdown"},
		} {
			f.Insert("award_emoji", coretest.Row{"name": v.name, "user_id": v.by.UserID, "awardable_type": "Issue", "awardable_id": v.on.ID})
		}
		p := f.Find(f.guest, f.id)
		one, err := f.issues.Find(ctx, f.guest, p, first.IID)
		if err != nil {
			t.Fatal(err)
		}
		list, err := f.issues.List(ctx, f.guest, p.Place(), issue.Filter{Asc: true})
		if err != nil || len(list.Items) != 2 {
			t.Fatalf("got %d issues, %v, want 2", len(list.Items), err)
		}
		for name, got := range map[string]issue.Related{"alone": one.Related, "in a list": list.Items[0].Related} {
			if got.Upvotes != 2 || got.Downvotes != 1 {
				t.Errorf("%s: got %d up, %d down, want 2 and 1", name, got.Upvotes, got.Downvotes)
			}
		}
		if got := list.Items[1].Related; got.Upvotes != 0 || got.Downvotes != 1 {
			t.Errorf("the second: got %d up, %d down, want 0 and 1", got.Upvotes, got.Downvotes)
		}
	})
}
