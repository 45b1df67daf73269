package todo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/approval"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/issue"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/todo"
)

// waiting lists the to-do items of users that wait, with who made them and their text.
func waiting(t *testing.T, todos *todo.Service, users ...authz.Actor) string {
	t.Helper()
	var out []string
	for _, as := range users {
		list, err := todos.List(ctx, as, todo.Filter{State: todo.Pending, Range: page.Range{Limit: 50}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			d := &list.Items[i]
			out = append(out, fmt.Sprint(as.Username, " ", d.Action, " of ", d.AuthorID, " ", d.Kind, " ", d.Body))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// Who decides a request for access is told of it until it is decided.
func TestAccessRequests(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		places := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		todos := todo.New(todo.Deps{
			DB: d, Policy: w.Policy, Kinds: noteable.Collect(issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy})), Namespaces: places, Now: w.Now,
		})
		todos.Subscribe(w.Bus)
		boss, lead, mary, dev, blocked := w.User("boss"), w.User("lead"), w.User("mary"), w.User("dev"), w.User("blocked")
		ann, bob := w.User("ann"), w.User("bob")
		team := w.Group("team", authz.Public, 0)
		inner := w.Group("team/inner", authz.Public, team)
		app, bare := w.Project("team/inner/app", authz.Public, inner), w.Project("team/inner/bare", authz.Public, inner)
		w.Member(team, boss, authz.Owner)
		w.Member(team, blocked, authz.Owner)
		w.Member(inner, lead, authz.Maintainer)
		w.Join(app, mary, authz.Maintainer)
		w.Join(app, dev, authz.Developer)
		if _, err := d.Exec(ctx, "UPDATE users SET state = 'blocked' WHERE id = ?", blocked.UserID); err != nil {
			t.Fatal(err)
		}
		everyone := []authz.Actor{boss, lead, mary, dev, blocked, ann, bob}
		check := func(what string, want ...string) {
			t.Helper()
			if got := waiting(t, todos, everyone...); got != strings.Join(want, "\n") {
				t.Errorf("%s: got\n%s\nwant\n%s", what, got, strings.Join(want, "\n"))
			}
		}
		place := func(as authz.Actor, id project.ID) authz.Place {
			p := w.Find(as, id).Place()
			p.Requests = true
			return p
		}
		group := func(as authz.Actor) authz.Place {
			g, err := places.Find(ctx, as, "team/inner")
			if err != nil {
				t.Fatal(err)
			}
			p := g.Place()
			p.Requests = true
			return p
		}
		ask := func(as authz.Actor, at authz.Place) {
			t.Helper()
			if _, err := places.Request(ctx, as, at); err != nil {
				t.Fatal(err)
			}
		}
		line := func(who string, of authz.Actor, kind, path string) string {
			return fmt.Sprintf("%s member_access_requested of %d %s %s", who, of.UserID, kind, path)
		}
		ask(ann, place(ann, app))
		ask(bob, place(bob, app))
		check("maintainers of the project", line("mary", ann, "Project", "team/inner/app"), line("mary", bob, "Project", "team/inner/app"))
		ask(ann, place(ann, bare))
		ask(ann, group(ann))
		check("owners of the nearest group that has some",
			line("boss", ann, "Namespace", "team/inner"), line("boss", ann, "Project", "team/inner/bare"),
			line("mary", ann, "Project", "team/inner/app"), line("mary", bob, "Project", "team/inner/app"))
		list, err := todos.List(ctx, boss, todo.Filter{State: todo.Pending, Range: page.Range{Limit: 50}})
		if err != nil || len(list.Items) != 2 {
			t.Fatalf("%+v, %v", list.Items, err)
		}
		for _, one := range list.Items {
			if one.InGroup() != inner || one.Group == nil || one.Group.FullPath != "team/inner" || one.NoteID != nil {
				t.Errorf("got %+v", one)
			}
		}
		for name, f := range map[string]todo.Filter{
			"kind": {Kinds: []noteable.Kind{todo.OfGroup}}, "group": {Groups: []authz.NamespaceID{team}, Actions: []todo.Action{todo.AccessRequested}, Kinds: []noteable.Kind{todo.OfGroup}},
			"project": {Projects: []project.ID{bare}}, "target": {On: list.Items[0].Target()},
		} {
			f.Range = page.Range{Limit: 5}
			if got, err := todos.List(ctx, boss, f); err != nil || len(got.Items) != 1 {
				t.Errorf("by %s: %d to-do items, %v", name, len(got.Items), err)
			}
		}

		if _, err := places.Approve(ctx, mary, place(mary, app), ann.UserID, authz.Guest); err != nil {
			t.Fatal(err)
		}
		if err := places.Deny(ctx, boss, group(boss), ann.UserID); err != nil {
			t.Fatal(err)
		}
		check("granted and denied", line("boss", ann, "Project", "team/inner/bare"), line("mary", bob, "Project", "team/inner/app"))
		if err := places.Deny(ctx, ann, place(ann, bare), ann.UserID); err != nil {
			t.Fatal(err)
		}
		check("withdrawn", line("mary", bob, "Project", "team/inner/app"))
		done, err := todos.List(ctx, mary, todo.Filter{State: todo.Done, Range: page.Range{Limit: 5}})
		if err != nil || len(done.Items) != 1 || done.Items[0].AuthorID != ann.UserID {
			t.Fatalf("done %+v, %v", done.Items, err)
		}
		// That of another user waits, which keeps none from being restored.
		if again, err := todos.Restore(ctx, mary, []todo.ID{done.Items[0].ID}); err != nil || again[0].State != todo.Pending {
			t.Errorf("restored %+v, %v", again, err)
		}

		// What a user no longer decides does not wait for it.
		if _, err := d.Exec(ctx, "UPDATE members SET access_level = 30 WHERE user_id = ?", mary.UserID); err != nil {
			t.Fatal(err)
		}
		check("no longer a maintainer")
		if _, err := d.Exec(ctx, "UPDATE members SET access_level = 40 WHERE user_id = ?", mary.UserID); err != nil {
			t.Fatal(err)
		}

		// Requests go with who made them: both are not the ghost's.
		ghost := w.User("ghost")
		for _, gone := range []authz.Actor{ann, bob} {
			for more := true; more; {
				if more, err = todos.Depart(ctx, account.Estate{Departure: account.Departure{UserID: gone.UserID}, Ghost: ghost.UserID}); err != nil {
					t.Fatal(err)
				}
			}
		}
		check("after the departure of both")
	})
}

// No more than ten are told of a request: those who signed in last.
func TestAccessRequests_many(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		places := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		team := w.Group("team", authz.Public, 0)
		var want []authz.UserID
		for i := range 14 {
			u := w.User(fmt.Sprint("owner", i))
			w.Member(team, u, authz.Owner)
			if i < 3 {
				continue // never signed in
			}
			if _, err := d.Exec(ctx, "UPDATE users SET last_sign_in_at = ? WHERE id = ?", db.At(w.Now().AddDate(0, 0, i)), u.UserID); err != nil {
				t.Fatal(err)
			}
			if i > 3 {
				want = append(want, u.UserID)
			}
		}
		got, err := places.Deciders(ctx, authz.Place{Namespace: team, Group: true, ID: int64(team)})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}

// Users that approval rules name get a to-do item once a merge request is ready.
func TestApprovalRequired(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := approvaltest.New(t, d)
		approvals := approval.New(approval.Deps{
			DB: d, Policy: w.Policy, Bus: w.Bus, Accounts: w.Accounts, MergeRequests: w.MergeRequests, Protections: w.Protections, Settings: w.Settings, Now: w.Now,
		})
		w.MergeRequests.Connect(mergerequest.Above{Approvals: approvals, Requirements: []mergerequest.Requirement{approvals}})
		approvals.Subscribe(w.Bus)
		todos := todo.New(todo.Deps{
			DB: d, Policy: w.Policy, Approvals: approvals, Kinds: noteable.Collect(issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy}), w.MergeRequests), Now: w.Now,
		})
		todos.Subscribe(w.Bus)
		w.Start()
		everyone := []authz.Actor{w.Owner, w.Maintainer, w.Developer, w.Reviewer, w.Reporter, w.Guest, w.Stranger}
		check := func(what string, want ...string) {
			t.Helper()
			if got := waiting(t, todos, everyone...); got != strings.Join(want, "\n") {
				t.Errorf("%s: got\n%s\nwant\n%s", what, got, strings.Join(want, "\n"))
			}
		}
		line := func(who, action, title string) string {
			return fmt.Sprintf("%s %s of %d MergeRequest %s", who, action, w.Developer.UserID, title)
		}
		w.Open("first", approvaltest.Files{"first": "1\n"})
		check("without rules", line("ruth", "review_requested", "Add first"))
		name, one := "reviewers", int64(1)
		_, err := approvals.CreateRule(ctx, w.Maintainer, w.As(w.Maintainer), approval.Ruling{
			Name: &name, Required: &one, Users: &[]authz.UserID{w.Owner.UserID, w.Developer.UserID, w.Reporter.UserID, w.Maintainer.UserID},
		})
		approvaltest.Check(t, err)
		w.Exec("DELETE FROM todos")
		w.Exec("DELETE FROM members WHERE user_id = ?", w.Reporter.UserID) // the rule still names her

		m := w.Open("second", approvaltest.Files{"second": "2\n"})
		w.Exec("DELETE FROM todos")
		change := func(title string) {
			t.Helper()
			_, err := w.MergeRequests.Update(ctx, w.Developer, w.As(w.Developer), m.IID, mergerequest.Changes{Title: &title})
			approvaltest.Check(t, err)
		}
		change("Draft: add second")
		check("a draft")
		change("Add second")
		check("marked ready", line("mary", "approval_required", "Add second"), line("olga", "approval_required", "Add second"))
		change("Add second!")
		check("another title", line("mary", "approval_required", "Add second!"), line("olga", "approval_required", "Add second!"))
		_, err = approvals.Approve(ctx, w.Maintainer, w.As(w.Maintainer), m.IID, approval.Input{})
		approvaltest.Check(t, err)
		check("approved", line("olga", "approval_required", "Add second!"))
		w.Exec("DELETE FROM todos")
		w.Push(m.SourceBranch, "", approvaltest.Files{"second": "3\n"}, "dave")
		approvaltest.Check(t, w.Jobs.Drain(ctx))
		w.Exec("DELETE FROM todos WHERE action <> 'approval_required'")
		check("approvals were lost", line("mary", "approval_required", "Add second!"), line("olga", "approval_required", "Add second!"))
		_, err = w.MergeRequests.Update(ctx, w.Owner, w.As(w.Owner), m.IID, mergerequest.Changes{Event: "close"})
		approvaltest.Check(t, err)
		check("closed", line("mary", "approval_required", "Add second!"))

		w.Exec("DELETE FROM todos")
		w.Open("third", approvaltest.Files{"third": "3\n"})
		check("opened", line("mary", "approval_required", "Add third"), line("olga", "approval_required", "Add third"), line("ruth", "review_requested", "Add third"))
	})
}
