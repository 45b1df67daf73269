package epic_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/epic"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
	"tenon/internal/core/setting"
)

// world has the epics of a private group, with rita as a Reporter and gus as a Guest.
type world struct {
	*coretest.World
	epics     *epic.Service
	rita, gus authz.Actor
	group     *namespace.Group
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	places := namespace.New(namespace.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: setting.New(d, w.Now), Now: w.Now})
	labels := label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	w.epics = epic.New(epic.Deps{
		Limits: &limit.Service{},
		DB:     d, Policy: w.Policy, Bus: w.Bus, Labels: labels, Projects: w.Projects, Namespaces: places, Now: w.Now,
		Issues: issue.New(issue.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Labels: labels, Projects: w.Projects, Now: w.Now}),
	})
	w.rita, w.gus = w.User("rita"), w.User("gus")
	id := w.Group("group", authz.Private, 0)
	w.Member(id, w.rita, authz.Reporter)
	w.Member(id, w.gus, authz.Guest)
	var err error
	if w.group, err = places.FindByID(t.Context(), w.rita, id); err != nil {
		t.Fatal(err)
	}
	return w
}

// make makes an epic below another one, 0 for none.
func (w *world) make(title string, below epic.ID, change ...func(*epic.Input)) *epic.Epic {
	w.T.Helper()
	in := epic.Input{Title: title, ParentID: below}
	for _, c := range change {
		c(&in)
	}
	e, err := w.epics.Create(w.T.Context(), w.rita, w.group, in)
	if err != nil {
		w.T.Fatalf("%s: %v", title, err)
	}
	return e
}

// order returns the titles of the children that an actor reads.
func (w *world) order(as authz.Actor, of *epic.Epic) string {
	w.T.Helper()
	list, err := w.epics.Children(w.T.Context(), as, w.group, of.IID)
	if err != nil {
		w.T.Fatal(err)
	}
	titles := make([]string, len(list))
	for i, e := range list {
		titles[i] = e.Title
	}
	return strings.Join(titles, " ")
}

// TestService_AddChild keeps epics from standing below themselves, and from being too deep or too many.
func TestService_AddChild(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		top := w.make("top", 0)
		levels := []*epic.Epic{top}
		for i := 2; i <= 7; i++ {
			levels = append(levels, w.make(fmt.Sprint("level ", i), levels[len(levels)-1].ID))
		}
		lone := w.make("lone", 0)
		pair := w.make("pair", 0)
		w.make("below pair", pair.ID)
		for _, tt := range []struct {
			name          string
			parent, child *epic.Epic
			kind          errs.Kind
			text          string
		}{
			{"itself", lone, lone, errs.Invalid, "parent cannot be the epic itself or one below it"},
			{"one above", levels[3], top, errs.Invalid, "parent cannot be the epic itself or one below it"},
			{"an eighth level", levels[6], lone, errs.Invalid, "parent is too deep (maximum is 7 levels)"},
			{"two levels below the sixth", levels[5], pair, errs.Invalid, "parent is too deep (maximum is 7 levels)"},
			{"twice", top, levels[1], errs.Conflict, ""},
		} {
			_, err := w.epics.AddChild(ctx, w.rita, w.group, tt.parent.IID, tt.child.ID)
			if !errs.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s: got %v, want %v %q", tt.name, err, tt.kind, tt.text)
			}
		}
		if e, err := w.epics.AddChild(ctx, w.rita, w.group, levels[4].IID, pair.ID); err != nil || e.Parent == nil || e.Parent.ID != levels[4].ID {
			t.Errorf("two levels below the fifth: got %+v, %v", e, err)
		}
		if _, err := w.epics.AddChild(ctx, w.User("stan"), w.group, top.IID, lone.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		for i := range 99 {
			w.Insert("epics", coretest.Row{
				"iid": 100 + i, "group_id": w.group.ID, "author_id": w.rita.UserID, "title": "t", "title_fold": "t", "state": "opened", "color": "#fff", "parent_id": top.ID,
			})
		}
		if _, err := w.epics.AddChild(ctx, w.rita, w.group, top.IID, lone.ID); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "has too many child epics") {
			t.Errorf("child 101: %v", err)
		}
	})
}

// TestService_ReorderChild puts children beside each other, also where there is no room between two positions.
func TestService_ReorderChild(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		top := w.make("top", 0)
		c, b, a := w.make("c", top.ID), w.make("b", top.ID), w.make("a", top.ID)
		if got := w.order(w.rita, top); got != "a b c" {
			t.Fatalf("children are %s, want the newest first", got)
		}
		if _, err := d.Exec(ctx, "UPDATE epics SET relative_position = 5 WHERE parent_id = ?", top.ID); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name  string
			child *epic.Epic
			at    epic.Beside[epic.ID]
			want  string
		}{
			{"between two at one position", a, epic.Beside[epic.ID]{Before: c.ID, After: b.ID}, "c a b"},
			{"before the first", b, epic.Beside[epic.ID]{After: c.ID}, "b c a"},
			{"after the last", b, epic.Beside[epic.ID]{Before: a.ID}, "c a b"},
			{"where it is", a, epic.Beside[epic.ID]{Before: c.ID, After: b.ID}, "c a b"},
		} {
			if err := w.epics.ReorderChild(ctx, w.rita, w.group, top.IID, tt.child.ID, tt.at); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if got := w.order(w.rita, top); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		other := w.make("other", 0)
		for name, at := range map[string]epic.Beside[epic.ID]{"beside no child": {Before: other.ID}, "beside nothing": {}} {
			if err := w.epics.ReorderChild(ctx, w.rita, w.group, top.IID, a.ID, at); !errs.Is(err, errs.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestEpic_Dates inherits the first and last day of what is below an epic and its reader may read, as far as the
// epics on the way do not fix theirs.
func TestEpic_Dates(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		fixed := func(start, due string) func(*epic.Input) {
			return func(in *epic.Input) {
				in.StartIsFixed, in.StartFixed, in.DueIsFixed, in.DueFixed = true, &start, true, &due
			}
		}
		top := w.make("top", 0)
		middle := w.make("middle", top.ID)
		w.make("first", middle.ID, fixed("2023-03-01", "2023-03-31"))
		w.make("secret", middle.ID, fixed("2023-01-01", "2023-12-31"), func(in *epic.Input) { in.Confidential = true })
		capped := w.make("cap", top.ID, fixed("2023-04-01", "2023-04-30"))
		w.make("below the cap", capped.ID, fixed("2022-01-01", "2024-12-31"))
		for _, tt := range []struct {
			as         authz.Actor
			start, due string
		}{
			{w.rita, "2023-01-01", "2023-12-31"},
			{w.gus, "2023-03-01", "2023-04-30"}, // without the confidential one
		} {
			e, err := w.epics.Find(ctx, tt.as, w.group, top.IID)
			if err != nil {
				t.Fatal(err)
			}
			if dates := e.Dates(); dates.Start == nil || dates.Due == nil || *dates.Start != tt.start || *dates.Due != tt.due {
				t.Errorf("for %s: %+v, want %s to %s", tt.as.Username, dates, tt.start, tt.due)
			}
			if got := w.order(tt.as, middle); (got == "secret first") != (tt.as.UserID == w.rita.UserID) {
				t.Errorf("%s reads the children %s", tt.as.Username, got)
			}
		}
	})
}
