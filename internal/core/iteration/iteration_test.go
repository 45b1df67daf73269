package iteration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/iteration"
	"tenon/internal/core/namespace"
)

func TestIteration_StateAt(t *testing.T) {
	t.Parallel()
	i := iteration.Iteration{StartDate: "2023-05-22", DueDate: "2023-05-28"}
	for at, want := range map[string]iteration.State{
		"2023-05-21T23:59:59Z": iteration.Upcoming, "2023-05-22T00:00:00Z": iteration.Current, "2023-05-28T23:59:59Z": iteration.Current,
		"2023-05-29T00:00:00Z": iteration.Closed, "2023-05-29T01:00:00+02:00": iteration.Current, // it is still the 28th in UTC
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := i.StateAt(now); got != want {
			t.Errorf("at %s: %s, want %s", at, got, want)
		}
	}
	if got := i.Name(); got != "2023-05-22 - 2023-05-28" {
		t.Errorf("name without a title: %q", got)
	}
	if i.Title = new("Sprint"); i.Name() != "Sprint" {
		t.Errorf("name with a title: %q", i.Name())
	}
}

// world has the iterations of a group.
type world struct {
	*coretest.World
	iterations     *iteration.Service
	planner, guest authz.Actor
	at             authz.Place
	inProject      authz.Place
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d)}
	w.iterations = iteration.New(iteration.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now})
	w.planner, w.guest = w.User("paula"), w.User("gus")
	id := w.Group("group", authz.Private, 0)
	w.Member(id, w.planner, authz.Reporter)
	w.Member(id, w.guest, authz.Guest)
	g := namespace.Group{ID: id, Visibility: authz.Private}
	w.at = g.Place()
	w.inProject = w.Find(w.planner, w.Project("group/shop", authz.Private, id)).Place()
	return w
}

// days lists the iterations by due date: "1:05-22 05-28", with the sequence of each in its cadence.
func (w *world) days() string {
	w.T.Helper()
	list, err := w.iterations.List(w.T.Context(), w.guest, w.at, iteration.Filter{Range: page.Range{Limit: 100}})
	if err != nil {
		w.T.Fatal(err)
	}
	out := make([]string, len(list.Items))
	for n, i := range list.Items {
		out[n] = fmt.Sprintf("%d:%s %s", i.Sequence, i.StartDate[5:], i.DueDate[5:])
	}
	return strings.Join(out, ", ")
}

func wantError(t *testing.T, what string, err error, kind errs.Kind, text string) {
	t.Helper()
	if !errs.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got %v, want %v %q", what, err, kind, text)
	}
}

func TestService_CreateCadence(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		automatic := iteration.CadenceInput{Title: " Sprints ", Automatic: true, StartDate: new("2023-05-22"), Weeks: 2, Advance: 2}
		with := func(change func(*iteration.CadenceInput)) iteration.CadenceInput {
			in := automatic
			change(&in)
			return in
		}
		for _, tt := range []struct {
			name string
			in   iteration.CadenceInput
			want string
		}{
			{"blank", with(func(in *iteration.CadenceInput) { in.Title = " " }), "title can't be blank"},
			{"no start", with(func(in *iteration.CadenceInput) { in.StartDate = nil }), "start_date can't be blank"},
			{"no day", with(func(in *iteration.CadenceInput) { in.StartDate = new("2023-02-30") }), "start_date"},
			{"no weeks", with(func(in *iteration.CadenceInput) { in.Weeks = 0 }), "duration_in_weeks"},
			{"many weeks", with(func(in *iteration.CadenceInput) { in.Weeks = 53 }), "duration_in_weeks"},
			{"many in advance", with(func(in *iteration.CadenceInput) { in.Advance = 11 }), "iterations_in_advance"},
		} {
			_, err := w.iterations.CreateCadence(ctx, w.planner, w.at, tt.in)
			wantError(t, tt.name, err, errs.Invalid, tt.want)
		}
		_, err := w.iterations.CreateCadence(ctx, w.guest, w.at, automatic)
		wantError(t, "guest", err, errs.Forbidden, "")
		_, err = w.iterations.CreateCadence(ctx, w.planner, w.inProject, automatic)
		wantError(t, "of a project", err, errs.Invalid, "group can't be blank")
		if got := w.days(); got != "" {
			t.Fatalf("refused cadences have iterations: %s", got)
		}

		c, err := w.iterations.CreateCadence(ctx, w.planner, w.at, automatic)
		if err != nil || c.Title != "Sprints" {
			t.Fatalf("got %+v, %v", c, err)
		}
		if got, want := w.days(), "1:05-22 06-04, 2:06-05 06-18"; got != want {
			t.Errorf("made %s, want %s", got, want)
		}
		// The first has begun, so one ahead is left: the change asks for three.
		if c, err = w.iterations.UpdateCadence(ctx, w.planner, w.at, c.ID, iteration.CadenceChanges{Advance: new(int64(3)), Weeks: new(int64(1))}); err != nil {
			t.Fatal(err)
		}
		if got, want := w.days(), "1:05-22 06-04, 2:06-05 06-18, 3:06-19 06-25, 4:06-26 07-02"; got != want {
			t.Errorf("with more in advance %s, want %s", got, want)
		}
		_, err = w.iterations.Create(ctx, w.planner, w.at, iteration.Input{Cadence: c.ID, StartDate: "2024-01-01", DueDate: "2024-01-07"})
		if !errs.Is(err, errs.Invalid) {
			t.Errorf("by hand in an automatic cadence: %v", err)
		}
	})
}

// TestService_Create plans by hand: iterations of a cadence do not overlap, and are numbered by date.
func TestService_Create(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		c, err := w.iterations.CreateCadence(ctx, w.planner, w.at, iteration.CadenceInput{Title: "By hand"})
		if err != nil {
			t.Fatal(err)
		}
		create := func(start, due string) (*iteration.Iteration, error) {
			return w.iterations.Create(ctx, w.planner, w.at, iteration.Input{Cadence: c.ID, StartDate: start, DueDate: due})
		}
		for _, days := range [][2]string{{"2023-06-12", "2023-06-18"}, {"2023-06-01", "2023-06-07"}, {"2023-06-19", "2023-06-19"}} {
			if _, err := create(days[0], days[1]); err != nil {
				t.Fatalf("%v: %v", days, err)
			}
		}
		for _, tt := range []struct{ name, start, due, want string }{
			{"overlaps the end", "2023-06-07", "2023-06-10", "cannot overlap"},
			{"is around another", "2023-06-11", "2023-06-20", "cannot overlap"},
			{"ends before it starts", "2023-07-02", "2023-07-01", "due_date must be greater than start date"},
			{"is no day", "2023-07-32", "2023-08-01", "start_date is invalid"},
			{"has no end", "2023-07-01", "", "due_date can't be blank"},
		} {
			_, err := create(tt.start, tt.due)
			wantError(t, tt.name, err, errs.Invalid, tt.want)
		}
		const want = "1:06-01 06-07, 2:06-12 06-18, 3:06-19 06-19"
		if got := w.days(); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		list, err := w.iterations.List(ctx, w.planner, w.at, iteration.Filter{Range: page.Range{Limit: 1}})
		if err != nil {
			t.Fatal(err)
		}
		first := list.Items[0]
		if _, err := w.iterations.Update(ctx, w.planner, w.at, first.ID, iteration.Changes{StartDate: new("2023-06-18"), DueDate: new("2023-06-19")}); !errs.Is(err, errs.Invalid) {
			t.Errorf("moved onto others: %v", err)
		}
		moved, err := w.iterations.Update(ctx, w.planner, w.at, first.ID, iteration.Changes{StartDate: new("2023-06-20"), DueDate: new("2023-06-21")})
		if err != nil || moved.Sequence != 3 {
			t.Errorf("moved to the end: %+v, %v", moved, err)
		}
		if got, want := w.days(), "1:06-12 06-18, 2:06-19 06-19, 3:06-20 06-21"; got != want {
			t.Errorf("after the move %s, want %s", got, want)
		}
	})
}
