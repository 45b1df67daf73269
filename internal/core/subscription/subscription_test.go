package subscription_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/subscription"
)

// located finds the one issue for members of its project.
type located struct {
	w  *world
	id int64
}

// Describe says what issues are.
func (located) Describe() noteable.Description {
	return noteable.Description{Kind: noteable.Issue, Table: "issues", Assignees: noteable.Users{Table: "issue_assignees", Of: "issue_id"}}
}

// Subjects is not called.
func (located) Subjects(context.Context, authz.Actor, []noteable.Ref) (map[noteable.Ref]authz.Subject, error) {
	return nil, nil
}

// Locate finds the issue.
func (l located) Locate(ctx context.Context, as authz.Actor, _ authz.Place, _ noteable.Key) (noteable.Target, error) {
	p, err := l.w.Projects.FindByID(ctx, as, l.w.project)
	if err != nil {
		return noteable.Target{}, err
	}
	return noteable.Target{Ref: l.w.issue, ProjectID: int64(p.ID), Subject: p.Subject()}, nil
}

// world has an issue that ann wrote and ben is assigned to, in a private project with cat as a Reporter and gus as a Guest.
type world struct {
	*coretest.World
	subscriptions            *subscription.Service
	project                  project.ID
	issue                    noteable.Ref
	ann, ben, cat, gus, stan authz.Actor
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	w.ann, w.ben, w.cat, w.gus, w.stan = w.User("ann"), w.User("ben"), w.User("cat"), w.User("gus"), w.User("stan")
	w.project = w.Project("group/shop", authz.Private, w.Group("group", authz.Private, 0))
	for _, who := range []authz.Actor{w.ann, w.ben, w.cat} {
		w.Join(w.project, who, authz.Reporter)
	}
	w.Join(w.project, w.gus, authz.Guest)
	id := w.Insert("issues", coretest.Row{
		"iid": 1, "project_id": w.project, "author_id": w.ann.UserID, "title": "t", "title_fold": "t", "state": "opened", "issue_type": "issue",
	})
	w.issue = noteable.Ref{Kind: noteable.Issue, ID: id}
	if _, err := d.Exec(t.Context(), "INSERT INTO issue_assignees (issue_id, user_id) VALUES (?, ?)", id, w.ben.UserID); err != nil {
		t.Fatal(err)
	}
	w.subscriptions = subscription.New(subscription.Deps{
		DB: d, Policy: w.Policy, Kinds: noteable.Collect(located{w, id}), Now: w.Now,
	})
	return w
}

func (w *world) subscribed(who authz.Actor) bool {
	w.T.Helper()
	of, err := w.subscriptions.Of(w.T.Context(), who, w.issue)
	if err != nil {
		w.T.Fatal(err)
	}
	return of[w.issue]
}

func (w *world) mention(internal bool, users ...authz.Actor) {
	w.T.Helper()
	m := subscription.Mentioned{In: noteable.Target{Ref: w.issue, ProjectID: int64(w.project)}, Internal: internal}
	for _, u := range users {
		m.Users = append(m.Users, u.UserID)
	}
	if err := w.subscriptions.Mention(w.T.Context(), m); err != nil {
		w.T.Fatal(err)
	}
}

// TestService_Add subscribes by taking part, and by choice, which is above that.
func TestService_Add(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		on := subscription.On{Kind: noteable.Issue}
		for _, tt := range []struct {
			name string
			as   authz.Actor
			do   func(context.Context, authz.Actor, subscription.On) error
			kind errs.Kind // Internal for no error
			want bool
		}{
			{"the author is already", w.ann, w.subscriptions.Add, errs.NotModified, true},
			{"the assignee is already", w.ben, w.subscriptions.Add, errs.NotModified, true},
			{"others are not", w.cat, w.subscriptions.Remove, errs.NotModified, false},
			{"others subscribe", w.cat, w.subscriptions.Add, errs.Internal, true},
			{"twice", w.cat, w.subscriptions.Add, errs.NotModified, true},
			{"the author leaves", w.ann, w.subscriptions.Remove, errs.Internal, false},
			{"the author leaves twice", w.ann, w.subscriptions.Remove, errs.NotModified, false},
			{"a stranger", w.stan, w.subscriptions.Add, errs.NotFound, false},
		} {
			err := tt.do(ctx, tt.as, on)
			if tt.kind == errs.Internal && err != nil || tt.kind != errs.Internal && !errs.Is(err, tt.kind) {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.kind)
			}
			if got := w.subscribed(tt.as); got != tt.want {
				t.Errorf("%s: subscribed %v, want %v", tt.name, got, tt.want)
			}
		}
		w.mention(false, w.ann, w.gus)
		if w.subscribed(w.ann) || !w.subscribed(w.gus) {
			t.Error("a mention subscribes those who have not chosen, and no others")
		}
	})
}

// TestService_Participants leaves out users that are only mentioned in internal notes, for readers who may not see internal notes.
func TestService_Participants(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		w.mention(true, w.stan)
		w.mention(false, w.gus, w.ann)
		for _, tt := range []struct {
			as   authz.Actor
			want []authz.UserID
		}{
			{w.cat, []authz.UserID{w.ann.UserID, w.ben.UserID, w.gus.UserID, w.stan.UserID}},
			{w.gus, []authz.UserID{w.ann.UserID, w.ben.UserID, w.gus.UserID}},
		} {
			target := noteable.Target{Ref: w.issue, Subject: w.Find(tt.as, w.project).Subject()}
			got, err := w.subscriptions.Participants(ctx, tt.as, target.Ref, target.Subject, page.Range{Limit: 10})
			if err != nil || !slices.Equal(got.Items, tt.want) {
				t.Errorf("for %s: %v, %v, want %v", tt.as.Username, got.Items, err, tt.want)
			}
		}
		if err := w.subscriptions.Add(ctx, w.cat, subscription.On{Kind: noteable.Issue}); err != nil {
			t.Fatal(err)
		}
		a, err := w.subscriptions.AudienceOf(ctx, w.issue)
		if got := slices.Sorted(maps.Keys(a.Participants)); err != nil || len(got) != 4 || fmt.Sprint(a.Chosen) != fmt.Sprint(map[authz.UserID]bool{w.cat.UserID: true}) {
			t.Errorf("audience: %v, %v, %v", got, a.Chosen, err)
		}
	})
}

// TestService_Of_plan reads the comments of the issue, not all that the user has ever written.
func TestService_Of_plan(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if d.Dialect() != db.SQLite {
			t.Skip("PostgreSQL plans by the number of rows")
		}
		w := newWorld(t, d)
		var query string
		var args []any
		stop := d.Trace(func(q string, a []any) { query, args = q, a })
		w.subscribed(w.cat)
		stop()
		type step struct {
			ID     int    `db:"id"`
			Parent int    `db:"parent"`
			Unused int    `db:"notused"`
			Detail string `db:"detail"`
		}
		plan, err := db.Select[step](t.Context(), d, "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(plan)
		if !strings.Contains(got, "(noteable_type=? AND noteable_id=?)") || strings.Contains(got, "notes_author") {
			t.Errorf("plan of %s: %s", query, got)
		}
	})
}
