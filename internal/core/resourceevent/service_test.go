package resourceevent_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/issue"
	"tenon/internal/core/iteration"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
	"tenon/internal/core/resourceevent"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// world has issues of the public project team/app, and a private project beside it.
type world struct {
	*coretest.World
	labels     *label.Service
	milestones *milestone.Service
	issues     *issue.Service
	requests   *mergerequest.Service
	events     *resourceevent.Service

	group                  authz.NamespaceID
	app, secret            project.ID
	owner, guest, stranger authz.Actor
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{World: coretest.New(t, d)}
		urls := weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, "")
		places := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: setting.New(d, w.Now), Now: w.Now})
		w.labels = label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
		w.milestones = milestone.New(milestone.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Namespaces: places, Now: w.Now})
		w.issues = issue.New(issue.Deps{
			Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: w.labels, Milestones: w.milestones, URLs: urls, Now: w.Now,
			Iterations: iteration.New(iteration.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}),
		})
		w.requests = mergerequest.New(mergerequest.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Labels: w.labels, Milestones: w.milestones, URLs: urls, Now: w.Now})
		notes := note.New(note.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now, Kinds: noteable.Collect(w.issues)})
		w.events = resourceevent.New(resourceevent.Deps{DB: d, Policy: w.Policy, Notes: notes, MergeRequests: w.requests})
		w.events.Subscribe(w.Bus)
		w.labels.Subscribe(w.Bus)
		w.group = w.Group("team", authz.Public, 0)
		w.app, w.secret = w.Project("team/app", authz.Public, w.group), w.Project("team/secret", authz.Private, w.group)
		w.owner, w.guest, w.stranger = w.User("olga"), w.User("gus"), w.User("stan")
		w.Member(w.group, w.owner, authz.Owner)
		w.Join(w.app, w.guest, authz.Guest)
		fn(t, w)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) exec(query string, args ...any) {
	w.T.Helper()
	_, err := w.DB.Exec(w.T.Context(), query, args...)
	check(w.T, err)
}

func (w *world) create(in issue.Input) *issue.Issue {
	w.T.Helper()
	in.Title = "An issue"
	i, err := w.issues.Create(w.T.Context(), w.owner, w.Find(w.owner, w.app), in)
	check(w.T, err)
	return i
}

func (w *world) update(i *issue.Issue, c issue.Changes) {
	w.T.Helper()
	_, err := w.issues.Update(w.T.Context(), w.owner, w.Find(w.owner, w.app), i.IID, c)
	check(w.T, err)
}

// on names an issue as the actor sees its project.
func (w *world) on(who authz.Actor, i *issue.Issue) note.On {
	w.T.Helper()
	return note.On{Place: w.Find(who, w.app).Place(), Kind: noteable.Issue, Key: noteable.Key{Number: int64(i.IID)}}
}

func (w *world) list(who authz.Actor, i *issue.Issue, kind resourceevent.Kind) []resourceevent.Event {
	w.T.Helper()
	list, _, err := w.events.List(w.T.Context(), who, w.on(who, i), kind, page.Range{Limit: 100})
	check(w.T, err)
	return list.Items
}

// What closed an issue is told to who may read it: a merge request of a private project and a commit are for those alone who see them.
func TestService_List_causes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.exec("UPDATE projects SET repository_access = 10, merge_requests_access = 10 WHERE id = ?", w.app)
		hidden := w.Insert("merge_requests", coretest.Row{"state": "merged", "target_project_id": w.secret, "source_project_id": w.secret, "author_id": w.owner.UserID, "iid": 1})
		i := w.create(issue.Input{})
		reporter := w.User("rita")
		w.Join(w.app, reporter, authz.Reporter)
		for _, by := range []noteable.Cause{{ProjectID: int64(w.app), Commit: strings.Repeat("c", 40)}, {ProjectID: int64(w.secret), MergeRequest: hidden}} {
			check(t, w.DB.InTx(t.Context(), func(ctx context.Context) error { return w.issues.CloseAll(ctx, w.owner, []int64{int64(i.ID)}, by) }))
			w.update(i, issue.Changes{StateEvent: "reopen"})
		}
		for _, tt := range []struct {
			name string
			as   authz.Actor
			want string
		}{
			{"owner", w.owner, "closed by ccc, reopened, closed by a merge request, reopened"},
			{"reporter", reporter, "closed by ccc, reopened, closed, reopened"},
			{"guest", w.guest, "closed, reopened, closed, reopened"},
			{"stranger", w.stranger, "closed, reopened, closed, reopened"},
		} {
			var got []string
			for _, e := range w.list(tt.as, i, resourceevent.State) {
				text := *e.State
				if e.SourceCommit != nil {
					text += " by " + (*e.SourceCommit)[:3]
				}
				if e.SourceRequestID != nil {
					text += " by a merge request"
				}
				one, _, err := w.events.Find(t.Context(), tt.as, w.on(tt.as, i), resourceevent.State, e.ID)
				if err != nil || (one.SourceCommit == nil) != (e.SourceCommit == nil) || (one.SourceRequestID == nil) != (e.SourceRequestID == nil) {
					t.Errorf("%s: one event is %+v, %v; in the list %+v", tt.name, one, err, e)
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
		}
	})
}

// An event is found on its thing and by its kind, by those who may read the thing.
func TestService_Find(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		i, other := w.create(issue.Input{Weight: new(int64(2)), Attributes: issue.Attributes{Confidential: new(true)}}), w.create(issue.Input{Weight: new(int64(3))})
		id := w.list(w.owner, i, resourceevent.Weight)[0].ID
		for name, tt := range map[string]struct {
			as   authz.Actor
			on   note.On
			kind resourceevent.Kind
			id   resourceevent.ID
		}{
			"another kind":           {w.owner, w.on(w.owner, i), resourceevent.State, id},
			"another issue":          {w.owner, w.on(w.owner, other), resourceevent.Weight, id},
			"none":                   {w.owner, w.on(w.owner, i), resourceevent.Weight, id + 100},
			"a confidential issue":   {w.guest, w.on(w.guest, i), resourceevent.Weight, id},
			"the same for strangers": {w.stranger, w.on(w.stranger, i), resourceevent.Weight, id},
		} {
			if e, _, err := w.events.Find(ctx, tt.as, tt.on, tt.kind, tt.id); !errs.Is(err, errs.NotFound) {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
		}
		if _, _, err := w.events.List(ctx, w.guest, w.on(w.guest, i), resourceevent.Weight, page.Range{Limit: 10}); !errs.Is(err, errs.NotFound) {
			t.Errorf("list of a confidential issue: %v", err)
		}
		w.update(i, issue.Changes{ClearWeight: true})
		list := w.list(w.owner, i, resourceevent.Weight)
		if len(list) != 2 || *list[0].Weight != 2 || list[1].Weight != nil || *list[1].UserID != w.owner.UserID {
			t.Errorf("weights: %+v", list)
		}
		check(t, w.issues.Delete(ctx, w.owner, w.Find(w.owner, w.app), i.IID))
		left, err := db.Get[string](ctx, w.DB, "SELECT CAST(COUNT(*) AS TEXT) FROM resource_events WHERE resource_id <> ?", other.ID)
		if err != nil || left != "0" {
			t.Errorf("%s events are left of an issue that is gone, %v", left, err)
		}
	})
}

// Events follow a label and a milestone to the group; those of a group that the project has left are not told.
func TestService_promoted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p := w.Find(w.owner, w.app)
		m := milestone.ID(w.Insert("milestones", coretest.Row{"iid": 1, "namespace_id": p.NamespaceID, "title": "v1", "title_fold": "v1", "state": "active"}))
		i := w.create(issue.Input{Labels: []string{"bug", "plain"}, MilestoneID: &m})
		before := w.list(w.owner, i, resourceevent.Label)
		made, err := w.labels.Promote(ctx, w.owner, p.Place(), authz.Place{Namespace: w.group, Subject: w.subject()}, "bug")
		check(t, err)
		of, err := w.milestones.Promote(ctx, w.owner, p, m)
		check(t, err)
		labels, milestones := w.list(w.guest, i, resourceevent.Label), w.list(w.guest, i, resourceevent.Milestone)
		if len(before) != 2 || len(labels) != 2 || *labels[0].LabelID != made.ID || labels[0].ID != before[0].ID || len(milestones) != 1 || *milestones[0].MilestoneID != of.ID {
			t.Fatalf("after the promotion to %d and %d: %+v, %+v", made.ID, of.ID, labels, milestones)
		}
		elsewhere := w.Group("elsewhere", authz.Public, 0)
		w.exec("DELETE FROM namespace_ancestors WHERE namespace_id = ? AND ancestor_id = ?", p.NamespaceID, w.group)
		w.Insert("namespace_ancestors", coretest.Row{"namespace_id": p.NamespaceID, "ancestor_id": elsewhere, "depth": 1})
		labels, milestones = w.list(w.guest, i, resourceevent.Label), w.list(w.guest, i, resourceevent.Milestone)
		if len(labels) != 1 || labels[0].ID != before[1].ID || len(milestones) != 0 {
			t.Errorf("in another group: %+v, %+v", labels, milestones)
		}
		if _, _, err := w.events.Find(ctx, w.guest, w.on(w.guest, i), resourceevent.Label, before[0].ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("the event of a group that was left: %v", err)
		}
	})
}

func (w *world) subject() authz.Subject {
	return authz.Subject{Noun: "Group", Namespace: w.group, Visibility: authz.Public}
}

// A change of thousands of labels at once is recorded in order.
func TestService_many(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		i := w.create(issue.Input{})
		p := w.Find(w.owner, w.app)
		const many = 5000
		check(t, w.DB.InTx(ctx, func(ctx context.Context) error {
			for n := range many {
				id, err := db.Get[int64](ctx, w.DB, "INSERT INTO labels (namespace_id, title, title_fold, description_fold, color, created_at, updated_at) VALUES (?, ?, ?, '', '#fff', ?, ?) RETURNING id",
					p.NamespaceID, fmt.Sprintf("l%04d", n), fmt.Sprintf("l%04d", n), w.Now(), w.Now())
				if err != nil {
					return err
				}
				if _, err := w.DB.Exec(ctx, "INSERT INTO label_links (label_id, target_type, target_id) VALUES (?, ?, ?)", id, noteable.Issue, i.ID); err != nil {
					return err
				}
			}
			return nil
		}))
		none := []string{}
		w.update(i, issue.Changes{Labels: label.Assignment{Set: &none}})
		var last label.ID
		n := 0
		for r := (page.Range{Limit: 100}); n < many+1; {
			list, _, err := w.events.List(ctx, w.guest, w.on(w.guest, i), resourceevent.Label, r)
			check(t, err)
			if len(list.Items) == 0 {
				break
			}
			for _, e := range list.Items {
				if e.Action != resourceevent.Remove || *e.LabelID <= last {
					t.Fatalf("event %d: %+v, after label %d", n, e, last)
				}
				last = *e.LabelID
				n++
			}
			r.Offset += 100
		}
		if n != many {
			t.Errorf("%d events, want %d", n, many)
		}
	})
}
