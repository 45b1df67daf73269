package todo_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/coretest"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/reference"
	"tenon/internal/core/subscription"
	"tenon/internal/core/todo"
	"tenon/internal/core/weburl"
)

var ctx = context.Background()

// fixture is a private project with a member at each level, and a stranger.
type fixture struct {
	*coretest.World
	issues *issue.Service
	notes  *note.Service
	awards *award.Service
	subs   *subscription.Service
	todos  *todo.Service
	id     project.ID

	owner, planner, guest, other, stranger authz.Actor
}

func setUp(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	w := coretest.New(t, d)
	f := &fixture{World: w}
	labels := label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	f.issues = issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: labels, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, ""), Now: w.Now})
	f.issues.Connect(issue.Above{Commands: alonetest.Commands{}})
	requests := mergerequest.New(mergerequest.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: labels, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, ""), Now: w.Now})
	f.awards = award.New(award.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	f.notes = note.New(note.Deps{
		Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Awards: f.awards, Now: w.Now,
		Jobs:  job.EnqueuerFunc(func(context.Context, job.Args, ...job.Option) error { return nil }),
		Kinds: noteable.Collect(f.issues),
	})
	things := noteable.Collect(f.issues, requests, epic.New(epic.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy}))
	f.subs = subscription.New(subscription.Deps{DB: d, Policy: w.Policy, Labels: labels, Kinds: things, Now: w.Now})
	f.todos = todo.New(todo.Deps{
		DB: d, Policy: w.Policy, Subscriptions: f.subs, Texts: reference.NewReader(weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, "")), Kinds: things, Now: w.Now,
	})
	f.notes.Subscribe(w.Bus)
	f.subs.Subscribe(w.Bus)
	f.todos.Subscribe(w.Bus)
	group := w.Group("team", authz.Private, 0)
	f.id = w.Project("team/app", authz.Private, group)
	f.owner, f.planner, f.guest, f.other, f.stranger = w.User("owner"), w.User("planner"), w.User("guest"), w.User("other"), w.User("stranger")
	w.Join(f.id, f.owner, authz.Owner)
	w.Join(f.id, f.planner, authz.Planner)
	w.Join(f.id, f.guest, authz.Guest)
	w.Member(group, f.other, authz.Guest)
	return f
}

func (f *fixture) open(as authz.Actor, in issue.Input) *issue.Issue {
	f.T.Helper()
	i, err := f.issues.Create(ctx, as, f.Find(as, f.id), in)
	if err != nil {
		f.T.Fatal(err)
	}
	return i
}

func (f *fixture) change(as authz.Actor, i *issue.Issue, c issue.Changes) {
	f.T.Helper()
	if _, err := f.issues.Update(ctx, as, f.Find(as, f.id), i.IID, c); err != nil {
		f.T.Fatal(err)
	}
}

func (f *fixture) on(as authz.Actor, i *issue.Issue) note.On {
	return note.On{Place: f.Find(as, f.id).Place(), Kind: noteable.Issue, Key: noteable.Key{Number: int64(i.IID)}}
}

func (f *fixture) thing(as authz.Actor, i *issue.Issue) subscription.On {
	on := f.on(as, i)
	return subscription.On{Place: on.Place, Kind: on.Kind, Key: on.Key}
}

func (f *fixture) write(as authz.Actor, i *issue.Issue, in note.Input) *note.Note {
	f.T.Helper()
	made, _, err := f.notes.Create(ctx, as, f.on(as, i), in)
	if err != nil {
		f.T.Fatal(err)
	}
	return made.Note
}

// pending lists the actions of the to-do items that wait for users, by name.
func (f *fixture) pending(users ...authz.Actor) string {
	f.T.Helper()
	var out []string
	for _, as := range users {
		list, err := f.todos.List(ctx, as, todo.Filter{State: todo.Pending, Range: page.Range{Limit: 20}})
		if err != nil {
			f.T.Fatal(err)
		}
		n, err := f.todos.Count(ctx, as)
		if err != nil || n != len(list.Items) {
			f.T.Errorf("count of %s: %d, %v, want %d", as.Username, n, err, len(list.Items))
		}
		for _, t := range list.Items {
			out = append(out, as.Username+" "+string(t.Action))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (f *fixture) check(what, want string, users ...authz.Actor) {
	f.T.Helper()
	if len(users) == 0 {
		users = []authz.Actor{f.owner, f.planner, f.guest, f.other, f.stranger}
	}
	if got := f.pending(users...); got != want {
		f.T.Errorf("%s: pending %q, want %q", what, got, want)
	}
}

func (f *fixture) clear() {
	f.T.Helper()
	for _, as := range []authz.Actor{f.owner, f.planner, f.guest, f.other, f.stranger} {
		if _, err := f.todos.MarkDoneOn(ctx, as, noteable.Ref{}); err != nil {
			f.T.Fatal(err)
		}
	}
}

func words(s string) *string { return &s }

func TestService(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		i := f.open(f.owner, issue.Input{
			Title: "For @guest", AssigneeIDs: []authz.UserID{f.planner.UserID},
			Attributes: issue.Attributes{Description: words("@other: look at this, @stranger and @nobody-else\n\n> @planner")},
		})
		f.check("a new issue", "guest mentioned, other directly_addressed, planner assigned")
		f.change(f.owner, i, issue.Changes{Attributes: issue.Attributes{Description: words("@other: look at this @planner, @owner")}})
		f.check("a mention more", "guest mentioned, other directly_addressed, owner mentioned, planner assigned")
		f.write(f.guest, i, note.Input{Body: "done, @other"})
		f.check("who writes a note has acted", "other directly_addressed, owner mentioned, planner assigned")
		f.change(f.planner, i, issue.Changes{StateEvent: "close"})
		f.check("who closes it has acted", "other directly_addressed, owner mentioned")
		target, err := f.issues.Locate(ctx, f.other, f.Find(f.other, f.id).Place(), noteable.Key{Number: int64(i.IID)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.awards.Add(ctx, f.other, target, "tada"); err != nil {
			t.Fatal(err)
		}
		f.check("who reacts has acted", "owner mentioned")
		on := f.thing(f.guest, i)
		made, err := f.todos.Add(ctx, f.guest, on)
		if err != nil || made.Action != todo.Marked || made.Body != "For @guest" || made.AuthorID != f.guest.UserID {
			t.Errorf("added %+v, %v", made, err)
		}
		if _, err := f.todos.Add(ctx, f.guest, on); !errs.Is(err, errs.NotModified) {
			t.Errorf("added twice: %v, want not modified", err)
		}
		if _, err := f.todos.MarkDone(ctx, f.owner, made.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("marked another user's: %v, want not found", err)
		}
		for range 2 {
			if got, err := f.todos.MarkDone(ctx, f.guest, made.ID); err != nil || got.State != todo.Done || got.Body != "For @guest" {
				t.Errorf("marked %+v, %v", got, err)
			}
		}
		// What is done waits again, unless another one about the same thing does.
		if _, err := f.todos.Restore(ctx, f.owner, []todo.ID{made.ID}); !errs.Is(err, errs.NotFound) {
			t.Errorf("restored another user's: %v, want not found", err)
		}
		again, err := f.todos.Restore(ctx, f.guest, []todo.ID{made.ID})
		if err != nil || len(again) != 1 || again[0].State != todo.Pending {
			t.Errorf("restored %+v, %v", again, err)
		}
		first, err := f.todos.MarkDoneOn(ctx, f.guest, noteable.Ref{Kind: noteable.Issue, ID: int64(i.ID)})
		if err != nil || !slices.Equal(first, []todo.ID{made.ID}) {
			t.Errorf("marked %v, %v", first, err)
		}
		if _, err := f.todos.Add(ctx, f.guest, on); err != nil {
			t.Fatal(err)
		}
		if again, err := f.todos.Restore(ctx, f.guest, first); err != nil || again[0].State != todo.Done {
			t.Errorf("restored beside another: %+v, %v", again, err)
		}
		f.clear()

		n := f.write(f.owner, i, note.Input{Body: "@team: look at this, @planner"})
		f.check("a group", "other directly_addressed, planner mentioned")
		f.clear()
		if _, err := f.DB.Exec(t.Context(), "UPDATE groups SET mentions_disabled = true"); err != nil {
			t.Fatal(err)
		}
		f.write(f.owner, i, note.Input{Body: "@team: and at this, @planner"})
		f.check("a group that takes no mentions", "planner mentioned")
		f.clear()
		if _, _, err := f.notes.Update(ctx, f.owner, f.on(f.owner, i), n.ID, note.Changes{Body: words("hello @planner and @guest")}); err != nil {
			t.Fatal(err)
		}
		f.check("a changed note", "guest mentioned")
		list, err := f.todos.List(ctx, f.guest, todo.Filter{
			Kinds: []noteable.Kind{noteable.Issue}, Authors: []authz.UserID{f.owner.UserID}, Projects: []project.ID{f.id}, Actions: []todo.Action{todo.Mentioned}, State: todo.Pending,
		})
		if err != nil || len(list.Items) != 1 || list.Items[0].Body != "hello @planner and @guest" || list.Items[0].NoteID == nil {
			t.Errorf("filtered %+v, %v", list.Items, err)
		}
		if err := f.notes.Delete(ctx, f.owner, f.on(f.owner, i), n.ID); err != nil {
			t.Fatal(err)
		}
		f.check("a deleted note", "")

		// What a user may not read waits for no user, and hides when it becomes so.
		f.write(f.owner, i, note.Input{Body: "@planner @guest, between us", Internal: true})
		f.check("an internal note", "planner directly_addressed")
		secret := f.open(f.owner, issue.Input{Title: "Secret", AssigneeIDs: []authz.UserID{f.other.UserID}, Attributes: issue.Attributes{Confidential: new(true), Description: words("@guest @planner")}})
		f.check("a confidential issue", "other assigned, planner directly_addressed, planner directly_addressed")
		f.change(f.owner, secret, issue.Changes{AssigneeIDs: &[]authz.UserID{}})
		f.check("no longer theirs", "planner directly_addressed, planner directly_addressed")
		if _, err := d.Exec(ctx, "UPDATE members SET access_level = 10 WHERE user_id = ?", f.planner.UserID); err != nil {
			t.Fatal(err)
		}
		f.check("no longer a planner", "")
		if err := f.issues.Delete(ctx, f.owner, f.Find(f.owner, f.id), secret.IID); err != nil {
			t.Fatal(err)
		}
		if n, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM todos WHERE target_id = ?", secret.ID); n != 0 || err != nil {
			t.Errorf("%d to-do items of a deleted issue, %v", n, err)
		}
		f.clear()
		f.write(f.guest, i, note.Input{Body: "@owner"})
		ghost := f.User("ghost")
		for more := true; more; {
			if more, err = f.todos.Depart(ctx, account.Estate{Departure: account.Departure{UserID: f.guest.UserID}, Ghost: ghost.UserID}); err != nil {
				t.Fatal(err)
			}
		}
		list, err = f.todos.List(ctx, f.owner, todo.Filter{State: todo.Pending})
		if err != nil || len(list.Items) != 1 || list.Items[0].AuthorID != ghost.UserID {
			t.Errorf("after the departure of the author: %+v, %v", list.Items, err)
		}
	})
}

// A user hears of what it takes part in or subscribed to, and of nothing that it unsubscribed from.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		i := f.open(f.owner, issue.Input{Title: "An issue", AssigneeIDs: []authz.UserID{f.guest.UserID}, Attributes: issue.Attributes{Description: words("hello @planner")}})
		ref := noteable.Ref{Kind: noteable.Issue, ID: int64(i.ID)}
		check := func(what, want string) {
			t.Helper()
			var got []string
			for _, as := range []authz.Actor{f.owner, f.planner, f.guest, f.other} {
				is, err := f.subs.Of(ctx, as, ref)
				if err != nil {
					t.Fatal(err)
				}
				if is[ref] {
					got = append(got, as.Username)
				}
			}
			if fmt.Sprint(got) != want {
				t.Errorf("%s: subscribed %v, want %s", what, got, want)
			}
		}
		check("author, mentioned and assigned", "[owner planner guest]")
		on := func(as authz.Actor) subscription.On { return f.thing(as, i) }
		for _, step := range []struct {
			name   string
			change func(context.Context, authz.Actor, subscription.On) error
			as     authz.Actor
			want   error
		}{
			{"again", f.subs.Add, f.owner, errs.New(errs.NotModified, "")},
			{"not before", f.subs.Remove, f.other, errs.New(errs.NotModified, "")},
			{"of one's own", f.subs.Remove, f.owner, nil},
			{"new", f.subs.Add, f.other, nil},
		} {
			if err := step.change(ctx, step.as, on(step.as)); errs.KindOf(err) != errs.KindOf(step.want) || (err == nil) != (step.want == nil) {
				t.Errorf("%s: %v, want %v", step.name, err, step.want)
			}
		}
		check("chosen", "[planner guest other]")
		f.write(f.owner, i, note.Input{Body: "a note does not bring it back"})
		check("a note of one who unsubscribed", "[planner guest other]")
		target, err := f.issues.Locate(ctx, f.guest, f.Find(f.guest, f.id).Place(), noteable.Key{Number: int64(i.IID)})
		if err != nil {
			t.Fatal(err)
		}
		f.write(f.planner, i, note.Input{Body: "psst @owner", Internal: true})
		people, err := f.subs.Participants(ctx, f.guest, target.Ref, target.Subject, page.Range{Limit: 20})
		if err != nil || fmt.Sprint(people.Items) != fmt.Sprint([]authz.UserID{f.owner.UserID, f.planner.UserID, f.guest.UserID}) {
			t.Errorf("participants %v, %v", people.Items, err)
		}
		heard, err := f.subs.AudienceOf(ctx, ref)
		if err != nil || len(heard.Participants) != 3 || fmt.Sprint(heard.Chosen) != fmt.Sprint(map[authz.UserID]bool{f.owner.UserID: false, f.other.UserID: true}) {
			t.Errorf("audience %+v, %v", heard, err)
		}

		p := f.Find(f.planner, f.id)
		labels := label.New(label.Deps{DB: d, Policy: f.Policy, Bus: f.Bus, Now: f.Now})
		l, err := labels.Create(ctx, f.owner, f.Find(f.owner, f.id).Place(), label.Input{Title: "bug", Color: "#ff0000"})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err = f.subs.AddLabel(ctx, f.planner, p.Place(), "bug")
		}
		if !errs.Is(err, errs.NotModified) {
			t.Errorf("subscribed twice to a label: %v", err)
		}
		mine, err := f.subs.OfLabels(ctx, f.planner, p.Place(), l.ID)
		all, err2 := f.subs.LabelAudience(ctx, f.id, []label.ID{l.ID})
		if err != nil || err2 != nil || !mine[l.ID] || fmt.Sprint(all) != fmt.Sprint([]authz.UserID{f.planner.UserID}) {
			t.Errorf("label: %v, %v, %v, %v", mine, all, err, err2)
		}
		if _, err := f.subs.RemoveLabel(ctx, f.planner, p.Place(), "bug"); err != nil {
			t.Errorf("unsubscribe from a label: %v", err)
		}
		if _, err := f.subs.RemoveLabel(ctx, f.planner, p.Place(), "bug"); !errs.Is(err, errs.NotModified) {
			t.Errorf("unsubscribe from a label twice: %v", err)
		}
		if err := f.issues.Delete(ctx, f.owner, f.Find(f.owner, f.id), i.IID); err != nil {
			t.Fatal(err)
		}
		if n, err := db.Get[int](ctx, d, "SELECT (SELECT COUNT(*) FROM subscriptions) + (SELECT COUNT(*) FROM mentions)"); n != 0 || err != nil {
			t.Errorf("%d rows of a deleted issue, %v", n, err)
		}
	})
}
