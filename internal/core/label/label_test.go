package label_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/budget"
	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

type fixture struct {
	*coretest.World
	labels         *label.Service
	group          authz.NamespaceID
	id             project.ID
	planner, guest authz.Actor
}

var ctx = context.Background()

func setUp(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	w := coretest.New(t, d)
	f := &fixture{World: w, labels: label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now, Kinds: coretest.Kinds(
		noteable.Description{Kind: noteable.Issue, Table: "issues", Project: "project_id", Labels: true},
		noteable.Description{Kind: noteable.MergeRequest, Table: "merge_requests", Project: "target_project_id", Labels: true},
		noteable.Description{Kind: noteable.Epic, Table: "epics", Group: "group_id", Labels: true},
	)})}
	f.group = w.Group("team", authz.Private, 0)
	f.id = w.Project("team/app", authz.Private, f.group)
	f.planner, f.guest = w.User("planner"), w.User("guest")
	w.Member(f.group, f.planner, authz.Planner)
	w.Member(f.group, f.guest, authz.Guest)
	return f
}

func (f *fixture) in(as authz.Actor) authz.Place { f.T.Helper(); return f.Find(as, f.id).Place() }

func (f *fixture) above() authz.Place {
	return authz.Place{Namespace: f.group, Subject: authz.Subject{Noun: "Group", Namespace: f.group}}
}

func (f *fixture) create(at authz.Place, title string) *label.Label {
	f.T.Helper()
	l, err := f.labels.Create(ctx, f.planner, at, label.Input{Title: title, Color: "red"})
	if err != nil {
		f.T.Fatal(err)
	}
	return l
}

func ptr[T any](v T) *T { return &v }

func TestService_Create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		l, err := f.labels.Create(ctx, f.planner, f.in(f.planner), label.Input{
			Title: " bug ", Color: "#fFaA0b", Description: ptr("What \u00c4chzt"), Priority: ptr(int64(0)),
		})
		if err != nil || l.Title != "bug" || l.Color != "#fFaA0b" || *l.Priority != 0 {
			t.Fatalf("created %+v, %v", l, err)
		}
		got, err := f.labels.Find(ctx, f.guest, f.in(f.guest), "bug")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l, got); diff != "" {
			t.Errorf("answered and stored differ:\n%s", diff)
		}
		f.create(f.above(), "shared")
		for _, tt := range []struct {
			name string
			as   authz.Actor
			in   label.Input
			want string
			kind errs.Kind
		}{
			{"guest", f.guest, label.Input{Title: "x", Color: "red"}, "forbidden", errs.Forbidden},
			{"taken", f.planner, label.Input{Title: "bug", Color: "red"}, "Label already exists", errs.Conflict},
			{"taken above", f.planner, label.Input{Title: "shared", Color: "red"}, "Label already exists", errs.Conflict},
			{"blank", f.planner, label.Input{Title: " ", Color: "red"}, "title can't be blank", errs.Invalid},
			{"comma and colour", f.planner, label.Input{Title: "a,b", Color: "reddish"}, "title is invalid, color must be a valid color code", errs.Invalid},
			{"long", f.planner, label.Input{Title: strings.Repeat("\u00e9", 256), Color: "#FFF"}, "title is too long (maximum is 255 characters)", errs.Invalid},
			{"half a colour", f.planner, label.Input{Title: "x", Color: "#ffff"}, "color must be a valid color code", errs.Invalid},
			{"no digits", f.planner, label.Input{Title: "x", Color: "#\x11\x12\x13"}, "color must be a valid color code", errs.Invalid},
		} {
			_, err := f.labels.Create(ctx, tt.as, f.in(tt.as), tt.in)
			if errs.KindOf(err) != tt.kind || err.Error() != tt.want {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
			}
		}
		stranger := f.User("stranger")
		if _, err := f.labels.Find(ctx, stranger, f.above(), "shared"); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger in a private group: %v, want NotFound", err)
		}
	})
}

func TestLabel_TextColor(t *testing.T) {
	t.Parallel()
	for color, want := range map[string]string{
		"#FFFFFF": "#1F1E24", "#fff": "#1F1E24", "#000000": "#FFFFFF", "#6699cc": "#FFFFFF", "#FFAA88": "#1F1E24", "#f00": "#FFFFFF",
	} {
		if got := (&label.Label{Color: color}).TextColor(); got != want {
			t.Errorf("text on %s = %s, want %s", color, got, want)
		}
	}
}

func TestService_List(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		f.create(f.above(), "B shared")
		f.create(f.in(f.planner), "c")
		f.create(f.in(f.planner), "A")
		f.create(f.in(f.planner), "50%")
		for _, tt := range []struct {
			name string
			f    label.Filter
			want []string
		}{
			{"all", label.Filter{}, []string{"50%", "A", "B shared", "c"}},
			{"own", label.Filter{OwnOnly: true}, []string{"50%", "A", "c"}},
			{"search", label.Filter{Search: "SHARE"}, []string{"B shared"}},
			{"search for a wildcard", label.Filter{Search: "%"}, []string{"50%"}},
			{"page", label.Filter{Range: page.Range{Limit: 2, Offset: 1}}, []string{"A", "B shared"}},
		} {
			labels, err := f.labels.List(ctx, f.guest, f.in(f.guest), tt.f)
			if got := label.Titles(labels.Items); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
			}
			if tt.f.Limit == 0 && labels.Total != len(tt.want) || tt.f.Limit > 0 && labels.Total != 4 {
				t.Errorf("%s: total %d", tt.name, labels.Total)
			}
		}
		if _, err := f.labels.List(ctx, f.User("stranger"), f.above(), label.Filter{}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v, want NotFound", err)
		}
	})
}

func TestService_Find(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		shared := f.create(f.above(), "shared")
		own := f.create(f.in(f.planner), "own")
		number := f.create(f.in(f.planner), "12345")
		other := f.create(f.Find(f.planner, f.Project("team/other", authz.Private, f.group)).Place(), "elsewhere")
		for ref, want := range map[string]label.ID{
			"shared": shared.ID, "own": own.ID, fmt.Sprint(own.ID): own.ID, "12345": number.ID, "OWN": 0, "none": 0,
			fmt.Sprint(other.ID): 0, "elsewhere": 0, "99999999999999999999": 0,
		} {
			l, err := f.labels.Find(ctx, f.guest, f.in(f.guest), ref)
			if want == 0 {
				if !errs.Is(err, errs.NotFound) || err.Error() != "Label not found" {
					t.Errorf("find %q: %v, %v, want NotFound", ref, l, err)
				}
			} else if err != nil || l.ID != want {
				t.Errorf("find %q: %v, %v, want %d", ref, l, err, want)
			}
		}
	})
}

func TestService_Update_Delete(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		l := f.create(f.in(f.planner), "bug")
		f.create(f.in(f.planner), "taken")
		f.create(f.above(), "shared")
		at := f.in(f.planner)
		got, err := f.labels.Update(ctx, f.planner, at, "bug", label.Changes{Title: ptr("defect"), Color: ptr("Teal"), Description: ptr("d"), Priority: ptr(int64(4))})
		if err != nil || got.ID != l.ID || got.Title != "defect" || got.Color != "#008080" || *got.Priority != 4 {
			t.Fatalf("updated %+v, %v", got, err)
		}
		if got, err = f.labels.Update(ctx, f.planner, at, fmt.Sprint(l.ID), label.Changes{ClearPriority: true}); err != nil || got.Priority != nil {
			t.Errorf("priority taken away: %+v, %v", got, err)
		}
		if stored, err := f.labels.Find(ctx, f.guest, f.in(f.guest), "defect"); err != nil || stored.Priority != nil || *stored.Description != "d" {
			t.Errorf("stored %+v, %v", stored, err)
		}
		for _, tt := range []struct {
			name, ref string
			as        authz.Actor
			c         label.Changes
			kind      errs.Kind
			want      string
		}{
			{"guest", "defect", f.guest, label.Changes{Title: ptr("x")}, errs.Forbidden, "forbidden"},
			{"of the group", "shared", f.planner, label.Changes{Title: ptr("x")}, errs.NotFound, "Label not found"},
			{"taken", "defect", f.planner, label.Changes{Title: ptr("taken")}, errs.Invalid, "title has already been taken"},
			{"blank", "defect", f.planner, label.Changes{Title: ptr("")}, errs.Invalid, "title can't be blank"},
			{"colour", "defect", f.planner, label.Changes{Color: ptr("x")}, errs.Invalid, "color must be a valid color code"},
		} {
			if _, err := f.labels.Update(ctx, tt.as, f.in(tt.as), tt.ref, tt.c); errs.KindOf(err) != tt.kind || err.Error() != tt.want {
				t.Errorf("update %s: %v, want %s", tt.name, err, tt.want)
			}
		}
		if err := f.labels.Delete(ctx, f.guest, f.in(f.guest), "defect"); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a guest deletes: %v", err)
		}
		if err := f.labels.Delete(ctx, f.planner, at, "shared"); !errs.Is(err, errs.NotFound) {
			t.Errorf("delete what is the group's: %v", err)
		}
		on := noteable.Ref{Kind: noteable.Issue, ID: 7}
		if err := f.labels.Attach(ctx, on, []label.Label{*l}); err != nil {
			t.Fatal(err)
		}
		if err := f.labels.Delete(ctx, f.planner, at, "defect"); err != nil {
			t.Error(err)
		}
		if left, err := f.labels.ForTargets(ctx, noteable.Issue, []int64{7}); err != nil || len(left) != 0 {
			t.Errorf("a deleted label is still attached: %v, %v", left, err)
		}
	})
}

func TestService_EnsureByNames(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		shared := f.create(f.above(), "shared")
		got, err := f.labels.EnsureByNames(ctx, f.planner, f.in(f.planner), []string{"new", "shared", " new ", "", strings.Repeat("x", 256)})
		if titles := label.Titles(got); err != nil || !slices.Equal(titles, []string{"new", "shared"}) || got[1].ID != shared.ID || got[0].Color != "#6699cc" {
			t.Errorf("labels = %+v, %v", got, err)
		}
		got, err = f.labels.EnsureByNames(ctx, f.guest, f.in(f.guest), []string{"new", "newer"})
		if titles := label.Titles(got); err != nil || !slices.Equal(titles, []string{"new"}) {
			t.Errorf("as a guest: %q, %v, want new alone", titles, err)
		}
		got, err = f.labels.ByNames(ctx, f.in(f.planner), []string{"newer", "new"})
		if titles := label.Titles(got); err != nil || !slices.Equal(titles, []string{"new"}) {
			t.Errorf("without making: %q, %v, want new alone", titles, err)
		}
		many := make([]string, 501)
		for i := range many {
			many[i] = fmt.Sprint("one of many ", i)
		}
		if got, err := f.labels.EnsureByNames(ctx, f.planner, f.in(f.planner), many); !errs.Is(err, errs.Invalid) || len(got) != 0 {
			t.Errorf("501 titles: %d labels, %v, want none", len(got), err)
		}
		// The project's own label wins over the group's of the same title.
		own := f.create(f.above(), "both")
		id := f.Insert("labels", coretest.Row{"namespace_id": f.in(f.planner).Namespace, "title": "both", "title_fold": "both", "color": "#fff"})
		if got, err := f.labels.ByNames(ctx, f.in(f.guest), []string{"both"}); err != nil || got[0].ID != label.ID(id) || got[0].ID == own.ID {
			t.Errorf("nearest label = %+v, %v", got, err)
		}
		var wg sync.WaitGroup
		at := f.in(f.planner)
		ids := make([]label.ID, 8)
		for i := range ids {
			wg.Go(func() {
				got, err := f.labels.EnsureByNames(ctx, f.planner, at, []string{"raced"})
				if err != nil || len(got) != 1 {
					t.Errorf("raced: %v, %v", got, err)
					return
				}
				ids[i] = got[0].ID
			})
		}
		wg.Wait()
		if slices.Max(ids) != slices.Min(ids) {
			t.Errorf("the same title gave the labels %v", ids)
		}
	})
}

// TestService_TitlesByIDs leaves out labels that the place cannot use, or that the actor does not see.
func TestService_TitlesByIDs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		shared := f.create(f.above(), "shared")
		elsewhere := f.Group("elsewhere", authz.Public, 0)
		other := f.Insert("labels", coretest.Row{"namespace_id": elsewhere, "title": "elsewhere", "title_fold": "elsewhere", "color": "#fff"})
		got, err := f.labels.TitlesByIDs(ctx, f.planner, f.in(f.planner), []label.ID{label.ID(other), shared.ID, 99999})
		if err != nil || !slices.Equal(got, []string{"shared"}) {
			t.Errorf("got %q, %v, want shared alone", got, err)
		}
	})
}

func TestService_Apply(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		on := noteable.Ref{Kind: noteable.MergeRequest, ID: 5}
		at := f.in(f.planner)
		var present []label.Label
		for i, tt := range []struct {
			a                    label.Assignment
			want, added, removed string
		}{
			{label.Assignment{Set: &[]string{"b", "a"}}, "a b", "b a", ""},
			{label.Assignment{}, "a b", "", ""},
			{label.Assignment{Add: []string{"c", "a"}, Remove: []string{"b", "nonesuch"}}, "a c", "c", "b"},
			{label.Assignment{Set: &[]string{"d"}, Add: []string{"e"}, Remove: []string{"d"}}, "e", "e", "a c"},
			{label.Assignment{Set: &[]string{}}, "", "", "e"},
		} {
			added, removed, err := f.labels.Apply(ctx, f.planner, at, on, present, tt.a)
			if err != nil {
				t.Fatal(err)
			}
			now, err := f.labels.ForTargets(ctx, on.Kind, []int64{on.ID, 6})
			if err != nil {
				t.Fatal(err)
			}
			alone, err := f.labels.ForTargets(ctx, on.Kind, []int64{on.ID})
			if diff := cmp.Diff(now, alone); err != nil || diff != "" {
				t.Errorf("step %d: alone it has other labels than beside another one: %v %s", i, err, diff)
			}
			if _, err := d.Exec(ctx, "UPDATE labels SET description = ?", strings.Repeat("x", budget.MaxRepeated+2)); err != nil {
				t.Fatal(err)
			}
			present = now[on.ID]
			for what, pair := range map[string][2]string{
				"labels":  {strings.Join(label.Titles(now[on.ID]), " "), tt.want},
				"added":   {strings.Join(label.Titles(added), " "), tt.added},
				"removed": {strings.Join(label.Titles(removed), " "), tt.removed},
			} {
				if pair[0] != pair[1] {
					t.Errorf("step %d: %s = %q, want %q", i, what, pair[0], pair[1])
				}
			}
		}
		if _, _, err := f.labels.Apply(ctx, f.planner, at, on, nil, label.Assignment{Add: []string{"x"}}); err != nil {
			t.Fatal(err)
		}
		if err := f.labels.Detach(ctx, on); err != nil {
			t.Fatal(err)
		}
		if left, err := f.labels.ForTargets(ctx, on.Kind, []int64{on.ID}); err != nil || len(left) != 0 {
			t.Errorf("after Detach: %v, %v", left, err)
		}
	})
}

// A thing has 500 labels at most, however many calls add them. One that has more, from before there was a bound, only loses some.
func TestService_Apply_bound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		at := f.in(f.planner)
		titles := make([]string, 502)
		for i := range titles {
			titles[i] = fmt.Sprintf("l%03d", i)
		}
		on := noteable.Ref{Kind: noteable.Issue, ID: 5}
		apply := func(a label.Assignment) error {
			t.Helper()
			return d.InTx(ctx, func(ctx context.Context) error {
				now, err := f.labels.ForTargets(ctx, on.Kind, []int64{on.ID})
				if err == nil {
					_, _, err = f.labels.Apply(ctx, f.planner, at, on, now[on.ID], a)
				}
				return err
			})
		}
		for _, tt := range []struct {
			name string
			a    label.Assignment
			want int // labels then; 0 where it is refused
		}{
			{"all but one", label.Assignment{Set: new(titles[:499])}, 499},
			{"two more", label.Assignment{Add: titles[499:501]}, 0},
			{"the last", label.Assignment{Add: titles[499:500]}, 500},
			{"one more", label.Assignment{Add: titles[500:501]}, 0},
			{"one for another", label.Assignment{Add: titles[500:501], Remove: titles[:1]}, 500},
		} {
			err := apply(tt.a)
			if (err == nil) != (tt.want > 0) || err != nil && (!errs.Is(err, errs.Invalid) || err.Error() != "labels are too many (maximum is 500)") {
				t.Errorf("%s: %v", tt.name, err)
			}
			now, err := f.labels.ForTargets(ctx, on.Kind, []int64{on.ID})
			if err != nil || tt.want > 0 && len(now[on.ID]) != tt.want {
				t.Errorf("%s: %d labels, %v, want %d", tt.name, len(now[on.ID]), err, tt.want)
			}
		}
		more, err := f.labels.EnsureByNames(ctx, f.planner, at, []string{"x", "y"})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.labels.Attach(ctx, on, more); err != nil {
			t.Fatal(err)
		}
		if err := apply(label.Assignment{Add: titles[501:], Remove: []string{"x"}}); !errs.Is(err, errs.Invalid) {
			t.Errorf("one for another of 502: %v", err)
		}
		if err := apply(label.Assignment{Remove: []string{"x"}}); err != nil {
			t.Errorf("one of 502 less: %v", err)
		}
	})
}

func TestService_Usages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		l := f.create(f.above(), "bug")
		attach := func(kind noteable.Kind, id int64) {
			t.Helper()
			if err := f.labels.Attach(ctx, noteable.Ref{Kind: kind, ID: id}, []label.Label{*l}); err != nil {
				t.Fatal(err)
			}
		}
		for i, row := range []coretest.Row{{"state": "opened"}, {"state": "opened", "confidential": true}, {"state": "closed"}} {
			row["project_id"], row["author_id"], row["iid"], row["issue_type"] = f.id, f.planner.UserID, i+1, "issue"
			attach(noteable.Issue, f.Insert("issues", row))
		}
		attach(noteable.MergeRequest, f.Insert("merge_requests", coretest.Row{
			"state": "opened", "target_project_id": f.id, "source_project_id": f.id, "author_id": f.planner.UserID, "iid": 1,
		}))
		for _, tt := range []struct {
			as   authz.Actor
			want label.Usage
		}{
			{f.planner, label.Usage{LabelID: l.ID, OpenIssues: 2, ClosedIssues: 1, OpenRequests: 1}},
			{f.guest, label.Usage{LabelID: l.ID, OpenIssues: 1, ClosedIssues: 1, OpenRequests: 1}},
		} {
			for name, at := range map[string]authz.Place{"project": f.in(tt.as), "group": f.above()} {
				got, err := f.labels.Usages(ctx, tt.as, at, []label.ID{l.ID})
				if err != nil || got[l.ID] != tt.want {
					t.Errorf("%s as %s: %+v, %v, want %+v", name, tt.as.Username, got[l.ID], err, tt.want)
				}
			}
		}
	})
}
