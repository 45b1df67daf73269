package board_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/board"
	"tenon/internal/core/coretest"
	"tenon/internal/core/label"
	"tenon/internal/core/project"
)

// world has a board of the private project group/shop, with rita as a Reporter and gus as a Guest.
type world struct {
	*coretest.World
	boards          *board.Service
	rita, gus, stan authz.Actor
	project         project.ID
	place           authz.Place
	board           *board.Board
	labels          map[string]label.ID
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	w := &world{World: coretest.New(t, d), labels: map[string]label.ID{}}
	w.boards = board.New(board.Deps{
		DB: d, Policy: w.Policy, Bus: w.Bus, Projects: w.Projects, Now: w.Now,
		Labels: label.New(label.Deps{DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now}),
	})
	w.rita, w.gus, w.stan = w.User("rita"), w.User("gus"), w.User("stan")
	group := w.Group("group", authz.Private, 0)
	w.project = w.Project("group/shop", authz.Private, group)
	w.Join(w.project, w.rita, authz.Reporter)
	w.Join(w.project, w.gus, authz.Guest)
	p := w.Find(w.rita, w.project)
	w.place = p.Place()
	for name, at := range map[string]authz.NamespaceID{"a": p.NamespaceID, "b": p.NamespaceID, "c": group, "foreign": w.Group("far", authz.Private, 0)} {
		w.labels[name] = label.ID(w.Insert("labels", coretest.Row{"namespace_id": at, "title": name, "title_fold": name, "color": "#fff"}))
	}
	var err error
	if w.board, err = w.boards.Create(t.Context(), w.rita, w.place, board.Changes{Name: new("Development")}); err != nil {
		t.Fatal(err)
	}
	return w
}

// add adds a list of a label.
func (w *world) add(name string) *board.List {
	w.T.Helper()
	id := w.labels[name]
	l, err := w.boards.CreateList(w.T.Context(), w.rita, w.place, w.board.ID, board.ListInput{LabelID: &id})
	if err != nil {
		w.T.Fatalf("list of %s: %v", name, err)
	}
	return l
}

// order returns the labels of the lists with their positions.
func (w *world) order() string {
	w.T.Helper()
	b, err := w.boards.Find(w.T.Context(), w.gus, w.Find(w.gus, w.project).Place(), w.board.ID)
	if err != nil {
		w.T.Fatal(err)
	}
	var out []string
	for _, l := range b.Lists {
		for name, id := range w.labels {
			if l.LabelID != nil && *l.LabelID == id {
				out = append(out, fmt.Sprint(name, l.Position))
			}
		}
	}
	return strings.Join(out, " ")
}

// refused reports whether an error is the refusal of a list with a message.
func refused(err error, message string) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && e.Code == board.CodeList && e.Message == message
}

func TestService_CreateList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		w.add("a")
		w.add("c") // of the group above
		foreign, known, absent := w.labels["foreign"], w.labels["a"], label.ID(999_999)
		for _, tt := range []struct {
			name string
			in   board.ListInput
			want string
		}{
			{"of nothing", board.ListInput{}, "Label not found!"},
			{"a label of another group", board.ListInput{LabelID: &foreign}, "Label not found!"},
			{"no label", board.ListInput{LabelID: &absent}, "Label not found!"},
			{"twice", board.ListInput{LabelID: &known}, "Label has already been taken"},
			{"a user who does not see the project", board.ListInput{AssigneeID: &w.stan.UserID}, "User not found!"},
		} {
			if _, err := w.boards.CreateList(ctx, w.rita, w.place, w.board.ID, tt.in); !refused(err, tt.want) {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
			}
		}
		_, err := w.boards.CreateList(ctx, w.rita, w.place, w.board.ID, board.ListInput{LabelID: &known, Limits: board.Limits{LimitMetric: new("hours")}})
		if !errs.Is(err, errs.Invalid) || err.Error() != "limit_metric is not included in the list" {
			t.Errorf("an unknown metric: %v", err)
		}
		if _, err := w.boards.CreateList(ctx, w.gus, w.Find(w.gus, w.project).Place(), w.board.ID, board.ListInput{LabelID: &known}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a guest: %v", err)
		}
		if got := w.order(); got != "a0 c1" {
			t.Errorf("lists are %s", got)
		}
		if l, err := w.boards.CreateList(ctx, w.rita, w.place, w.board.ID, board.ListInput{AssigneeID: &w.gus.UserID}); err != nil || l.Kind() != board.OfAssignee || l.Position != 2 {
			t.Errorf("a list of a member: %+v, %v", l, err)
		}
	})
}

// TestService_UpdateList moves lists among the others, whose positions have no gaps afterwards.
func TestService_UpdateList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		a, b, c := w.add("a"), w.add("b"), w.add("c")
		move := func(l *board.List, to int64) error {
			_, err := w.boards.UpdateList(ctx, w.rita, w.place, w.board.ID, l.ID, board.ListChanges{Position: &to})
			return err
		}
		for _, tt := range []struct {
			name string
			do   func() error
			want string
		}{
			{"to the end", func() error { return move(a, 2) }, "b0 c1 a2"},
			{"to the front", func() error { return move(c, 0) }, "c0 b1 a2"},
			{"one back", func() error { return move(b, 2) }, "c0 a1 b2"},
			{"without the first", func() error { return w.boards.DeleteList(ctx, w.rita, w.place, w.board.ID, c.ID) }, "a0 b1"},
		} {
			if err := tt.do(); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if got := w.order(); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		for name, to := range map[string]int64{"where it is": 0, "before all": -1, "behind all": 2} {
			if err := move(a, to); !refused(err, "List could not be moved!") {
				t.Errorf("%s: %v", name, err)
			}
		}
		got, err := w.boards.UpdateList(ctx, w.rita, w.place, w.board.ID, a.ID, board.ListChanges{Position: new(int64(0)), MaxIssueCount: new(int64(3)), LimitMetric: new("issue_count")})
		if err != nil || got.MaxIssueCount != 3 || got.LimitMetric == nil || *got.LimitMetric != "issue_count" {
			t.Errorf("limits where it is: %+v, %v", got, err)
		}
		if got, err = w.boards.UpdateList(ctx, w.rita, w.place, w.board.ID, a.ID, board.ListChanges{LimitMetric: new("")}); err != nil || got.LimitMetric != nil || got.MaxIssueCount != 3 {
			t.Errorf("without a metric: %+v, %v", got, err)
		}
		if _, err = w.boards.UpdateList(ctx, w.rita, w.place, w.board.ID, c.ID, board.ListChanges{Position: new(int64(1))}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a list that is gone: %v", err)
		}
	})
}

// TestColumn_Where puts each issue into the columns that it belongs to: those of its labels, the backlog without any of
// them, and closed ones into their own alone.
func TestColumn_Where(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newWorld(t, d), t.Context()
		w.add("a")
		w.add("b")
		issue := func(title, state string, labels ...string) {
			t.Helper()
			n, err := db.Get[int](ctx, d, "SELECT COUNT(*) + 1 FROM issues")
			if err != nil {
				t.Fatal(err)
			}
			id := w.Insert("issues", coretest.Row{
				"iid": n, "project_id": w.project, "author_id": w.rita.UserID, "title": title, "title_fold": title, "state": state, "issue_type": "issue",
			})
			for _, name := range labels {
				if _, err := d.Exec(ctx, "INSERT INTO label_links (label_id, target_type, target_id) VALUES (?, 'Issue', ?)", w.labels[name], id); err != nil {
					t.Fatal(err)
				}
			}
		}
		issue("bare", "opened")
		issue("of a", "opened", "a")
		issue("of both", "opened", "a", "b")
		issue("of c", "opened", "c")
		issue("closed", "closed", "a")
		in := func(scope ...label.ID) string {
			t.Helper()
			b, err := w.boards.Find(context.WithoutCancel(ctx), w.rita, w.place, w.board.ID)
			if err != nil {
				t.Fatal(err)
			}
			b.Labels = scope
			var out []string
			for _, column := range (&board.Located{Board: *b, Place: w.place}).Columns() {
				var where db.Where
				column.Where(&where)
				titles, err := db.Select[string](ctx, d, "SELECT i.title FROM issues i"+where.SQL()+" ORDER BY i.id", where.Args()...)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, string(column.Kind)+": "+strings.Join(titles, ", "))
			}
			return strings.Join(out, "; ")
		}
		if got, want := in(), "backlog: bare, of c; label: of a, of both; label: of both; closed: closed"; got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if got, want := in(w.labels["a"]), "backlog: ; label: of a, of both; label: of both; closed: closed"; got != want {
			t.Errorf("of a board about a: got %s\nwant %s", got, want)
		}
	})
}
