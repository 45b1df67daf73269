package noteable_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/noteable"
)

// Kinds are found by name, listed in alphabetical order, and joined to rows that name noteables.
func TestKinds(t *testing.T) {
	t.Parallel()
	kinds := coretest.Kinds(noteable.Description{Kind: noteable.Issue, Table: "issues"}, noteable.Description{Kind: noteable.Commit}, noteable.Description{Kind: noteable.Epic, Table: "epics", Group: "group_id", History: true})
	if got := fmt.Sprint(kinds.Where(func(*noteable.Description) bool { return true })); got != "[Commit Epic Issue]" {
		t.Errorf("got %s", got)
	}
	if d := kinds.Of(noteable.Epic); !d.InGroup() || !d.History || kinds.Find(noteable.Epic) == nil {
		t.Errorf("got %+v for epics", d)
	}
	if d := kinds.Of(noteable.Snippet); d.Kind != noteable.Snippet || d.Table != "" || kinds.Find(noteable.Snippet) != nil {
		t.Errorf("got %+v for a kind that is not there", d)
	}
	joins, each := kinds.Joins("t.type", "t.id", func(d *noteable.Description) bool { return d.Table != "issues" })
	if want := " LEFT JOIN epics of_epics ON t.type = 'Epic' AND of_epics.id = t.id"; joins != want || noteable.Columns(each, "title") != "of_epics.title" {
		t.Errorf("got %q and %q, want %q", joins, noteable.Columns(each, "title"), want)
	}
	if got := noteable.Columns(nil, "title"); got != "NULL" {
		t.Errorf("got %q for no table", got)
	}
}

// Descriptions that would be taken for each other, or that lack what others need, end the start.
func TestKinds_Check(t *testing.T) {
	t.Parallel()
	good := noteable.Description{Kind: noteable.Issue, Path: "issues", Code: 1}
	for _, tt := range []struct {
		change func(d *noteable.Description)
		want   string
	}{
		{func(d *noteable.Description) { d.Kind, d.Path, d.Code = noteable.Epic, "epics", 2 }, ""},
		{func(d *noteable.Description) { d.Kind, d.Path = noteable.Epic, "epics" }, "of its own"},
		{func(d *noteable.Description) { d.Kind, d.Code = noteable.Epic, 2 }, "of its own"},
		{func(d *noteable.Description) { d.Path, d.Code = "epics", 2 }, "of its own"},
		{func(d *noteable.Description) { d.Kind, d.Path, d.Code = noteable.Epic, "epics", 0 }, "are required"},
		{func(d *noteable.Description) { d.Kind, d.Path, d.Code, d.Searched = noteable.Epic, "epics", 2, true }, "has to be Readable"},
	} {
		other := good
		tt.change(&other)
		err := coretest.Kinds(good, other).Check()
		if got := fmt.Sprint(err); tt.want == "" && err != nil || tt.want != "" && !strings.Contains(got, tt.want) {
			t.Errorf("%+v: got %s, want %q", other, got, tt.want)
		}
	}
}

// TestOrphanSQL finds the reactions to noteables that are gone, and those to noteables of a project and of a group.
func TestOrphanSQL(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := coretest.New(t, d), t.Context()
		ann := w.User("ann")
		group := w.Group("group", authz.Private, 0)
		shop, other := w.Project("group/shop", authz.Private, group), w.Project("group/other", authz.Private, group)
		text := coretest.Row{"author_id": ann.UserID, "iid": 1, "title": "t", "title_fold": "t", "state": "opened"}
		with := func(more coretest.Row) coretest.Row {
			for name, value := range text {
				more[name] = value
			}
			return more
		}
		issue := w.Insert("issues", with(coretest.Row{"project_id": shop, "issue_type": "issue"}))
		foreign := w.Insert("issues", with(coretest.Row{"project_id": other, "issue_type": "issue"}))
		epic := w.Insert("epics", with(coretest.Row{"group_id": group, "color": "#fff"}))
		const gone = 999_999
		for _, to := range []struct {
			kind noteable.Kind
			id   int64
			name string
		}{
			{noteable.Issue, issue, "issue"},
			{noteable.Issue, foreign, "foreign"},
			{noteable.Epic, epic, "epic"},
			{noteable.Issue, gone, "gone issue"},
			{noteable.MergeRequest, gone, "gone merge request"},
			{noteable.Snippet, gone, "gone snippet"},
			{noteable.Epic, gone, "gone epic"},
			{noteable.Note, gone, "gone note"},
		} {
			w.Insert("award_emoji", coretest.Row{"awardable_type": to.kind, "awardable_id": to.id, "name": to.name, "user_id": ann.UserID})
		}
		found := func(cond string, args ...any) string {
			t.Helper()
			names, err := db.Select[string](ctx, d, "SELECT e.name FROM award_emoji e WHERE "+cond+" ORDER BY e.name", args...)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%q", names)
		}
		const kind, id = "e.awardable_type", "e.awardable_id"
		kinds := coretest.Kinds(noteable.Description{Kind: noteable.Issue, Table: "issues"}, noteable.Description{Kind: noteable.MergeRequest, Table: "merge_requests"}, noteable.Description{Kind: noteable.Snippet, Table: "snippets"}, noteable.Description{Kind: noteable.Epic, Table: "epics", Group: "group_id", History: true})
		ofIssue, args, ok := kinds.InTable(kind, id, "issues", []int64{issue})
		if _, _, other := kinds.InTable(kind, id, "projects", []int64{int64(shop)}); !ok || other {
			t.Errorf("issues are things: %t, projects: %t", ok, other)
		}
		links := noteable.Links{DB: d, Kinds: kinds, Table: "award_emoji", Kind: "awardable_type", ID: "awardable_id", Key: "id"}
		for _, step := range []struct {
			name string
			do   func() error
			left string
		}{
			{"none", func() error { return links.Remove(ctx, "projects", []int64{issue}) }, `["epic" "foreign" "issue"]`},
			{"of the issue", func() error { return links.Remove(ctx, "issues", []int64{issue}) }, `["epic" "foreign"]`},
			{"in the group", func() error { return links.RemoveInGroup(ctx, group) }, `["foreign"]`},
			{"gone", func() error { return links.Clean(ctx) }, `["foreign"]`},
		} {
			const gone = `["gone epic" "gone issue" "gone merge request" "gone note" "gone snippet"]`
			if got := found(kinds.OrphanSQL(kind, id)); got != gone {
				t.Errorf("gone before %q: %s, want %s", step.name, got, gone)
			}
			if step.name == "of the issue" {
				if got := found(ofIssue, args...); got != `["issue"]` {
					t.Errorf("of the issue: %s", got)
				}
			}
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			if got := found("e.name NOT LIKE 'gone%'"); got != step.left {
				t.Errorf("after %q: %s is left, want %s", step.name, got, step.left)
			}
		}
		if got := found("1 = 1"); got != `["foreign"]` {
			t.Errorf("after all: %s", got)
		}
	})
}

func TestCountComments(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := coretest.New(t, d), t.Context()
		id := w.Insert("issues", coretest.Row{
			"project_id": w.Project("group/shop", authz.Private, w.Group("group", authz.Private, 0)), "author_id": w.User("ann").UserID,
			"iid": 1, "title": "t", "title_fold": "t", "state": "opened", "issue_type": "issue",
		})
		on := noteable.Ref{Kind: noteable.Issue, ID: id}
		for _, step := range []struct{ by, want noteable.Counts }{
			{noteable.Counts{Notes: 2, PublicNotes: 1}, noteable.Counts{Notes: 2, PublicNotes: 1}},
			{noteable.Counts{}.Less(noteable.Counts{Notes: 1}), noteable.Counts{Notes: 1, PublicNotes: 1}},
		} {
			if got, err := noteable.CountComments(ctx, d, "UPDATE issues", on, step.by, w.Now()); err != nil || got != step.want {
				t.Errorf("%+v: got %+v, %v, want %+v", step.by, got, err, step.want)
			}
		}
		on.ID = 999_999
		if _, err := noteable.CountComments(ctx, d, "UPDATE issues", on, noteable.Counts{Notes: 1}, w.Now()); !errs.Is(err, errs.NotFound) {
			t.Errorf("of nothing: %v", err)
		}
	})
}
