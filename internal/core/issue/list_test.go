package issue_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
)

func TestService_List_filters(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		p := f.Find(f.planner, f.id)
		one := f.create(f.owner, issue.Input{
			Title: "Login fails with 100%", Labels: []string{"bug", "p1", "ui", "web"},
			AssigneeIDs: []authz.UserID{f.guest.UserID, f.planner.UserID}, DueDate: ptr("2023-05-22"), Weight: ptr(int64(2)),
			Attributes: issue.Attributes{Description: ptr("on \u00c4pfel")},
		})
		two := f.create(f.guest, issue.Input{Title: "logout is slow", Labels: []string{"bug"}, DueDate: ptr("2023-05-28"), Attributes: issue.Attributes{Type: new(issue.Incident)}})
		f.create(f.stranger, issue.Input{Title: "third", DueDate: ptr("2023-01-01"), Attributes: issue.Attributes{Confidential: new(true)}})
		if _, err := f.issues.Update(ctx, f.planner, p, two.IID, issue.Changes{StateEvent: "close"}); err != nil {
			t.Fatal(err)
		}
		for _, emoji := range []struct {
			user authz.UserID
			on   issue.ID
		}{{f.planner.UserID, one.ID}, {f.guest.UserID, two.ID}} {
			f.Insert("award_emoji", coretest.Row{"name": "tada", "user_id": emoji.user, "awardable_type": "Issue", "awardable_id": emoji.on})
		}
		for _, tt := range []struct {
			name string
			f    issue.Filter
			want []issue.IID // newest first
		}{
			{"all", issue.Filter{}, []issue.IID{3, 2, 1}},
			{"ascending", issue.Filter{Asc: true}, []issue.IID{1, 2, 3}},
			{"by title", issue.Filter{OrderBy: "title", Asc: true}, []issue.IID{1, 2, 3}},
			{"by change", issue.Filter{OrderBy: "updated_at"}, []issue.IID{2, 3, 1}},
			{"by due date", issue.Filter{OrderBy: "due_date", Asc: true}, []issue.IID{3, 1, 2}},
			{"by weight, none last", issue.Filter{OrderBy: "weight"}, []issue.IID{1, 3, 2}},
			{"by label priority", issue.Filter{OrderBy: "label_priority", Asc: true}, []issue.IID{1, 2, 3}},
			{"page", issue.Filter{Range: page.Range{Limit: 1, Offset: 1}}, []issue.IID{2}},
			{"open", issue.Filter{State: issue.StateOpened}, []issue.IID{3, 1}},
			{"closed", issue.Filter{State: issue.StateClosed}, []issue.IID{2}},
			{"numbers", issue.Filter{IIDs: []issue.IID{1, 3, 9}}, []issue.IID{3, 1}},
			{"type", issue.Filter{Types: []issue.Type{issue.Incident}}, []issue.IID{2}},
			{"label", issue.Filter{Labels: []string{"bug"}}, []issue.IID{2, 1}},
			{"all labels", issue.Filter{Labels: []string{"bug", "p1"}}, []issue.IID{1}},
			{"all of many labels", issue.Filter{Labels: []string{"bug", "p1", "ui", "web", "bug"}}, []issue.IID{1}},
			{"all but one of many labels", issue.Filter{Labels: []string{"bug", "p1", "ui", "web", "p2"}}, nil},
			{"no label", issue.Filter{LabelWildcard: issue.None}, []issue.IID{3}},
			{"any label", issue.Filter{LabelWildcard: issue.Any}, []issue.IID{2, 1}},
			{"milestone", issue.Filter{Milestone: filter.MilestoneNamed("v1")}, nil},
			{"no milestone", issue.Filter{Milestone: filter.MilestoneNamed("None")}, []issue.IID{3, 2, 1}},
			{"author", issue.Filter{Author: filter.One(&f.guest.UserID)}, []issue.IID{2}},
			{"author by name", issue.Filter{Author: filter.Person{Username: "GUEST"}}, []issue.IID{2}},
			{"unknown author", issue.Filter{Author: filter.Person{Username: "who"}}, nil},
			{"assignee", issue.Filter{Assignee: filter.One(&f.guest.UserID)}, []issue.IID{1}},
			{"assignees by name", issue.Filter{AssigneeUsernames: []string{"guest", "planner"}}, []issue.IID{1}},
			{"nobody", issue.Filter{Assignee: filter.Person{None: true}}, []issue.IID{3, 2}},
			{"somebody", issue.Filter{Assignee: filter.Person{Any: true}}, []issue.IID{1}},
			{"mine", issue.Filter{AssignedToMe: true}, []issue.IID{1}},
			{"by me", issue.Filter{CreatedByMe: true}, nil},
			{"closed by", issue.Filter{ClosedBy: filter.One(&f.planner.UserID)}, []issue.IID{2}},
			{"words", issue.Filter{Search: "LOG s"}, []issue.IID{2, 1}},
			{"words within others", issue.Filter{Search: "log login lo LOGIN"}, []issue.IID{1}},
			{"a field twice", issue.Filter{Search: "third", In: []string{"title", "title", "body"}}, []issue.IID{3}},
			{"wildcard is a letter", issue.Filter{Search: "00%"}, []issue.IID{1}},
			{"words of two fields", issue.Filter{Search: "login \u00e4pfel"}, nil},
			{"a phrase", issue.Filter{Search: `"OUT is" slow`}, []issue.IID{2}},
			{"no phrase", issue.Filter{Search: `"slow is"`}, nil},
			{"reaction", issue.Filter{Selection: issue.Selection{Reaction: "tada"}}, []issue.IID{1}},
			{"any reaction", issue.Filter{Selection: issue.Selection{Reaction: "Any"}}, []issue.IID{1}},
			{"no reaction", issue.Filter{Selection: issue.Selection{Reaction: "none"}}, []issue.IID{3, 2}},
			{"folded", issue.Filter{Search: "\u00e4PFEL"}, []issue.IID{1}},
			{"in title", issue.Filter{Search: "\u00e4pfel", In: []string{"title"}}, nil},
			{"in nothing", issue.Filter{Search: "x", In: []string{"body"}}, nil},
			{"created after", issue.Filter{Selection: issue.Selection{Times: filter.Times{CreatedAfter: &two.CreatedAt.Time}}}, []issue.IID{3, 2}},
			{"created before", issue.Filter{Selection: issue.Selection{Times: filter.Times{CreatedBefore: &one.CreatedAt.Time}}}, []issue.IID{1}},
			{"updated after", issue.Filter{Selection: issue.Selection{Times: filter.Times{UpdatedAfter: ptr(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))}}}, nil},
			{"updated before", issue.Filter{Selection: issue.Selection{Times: filter.Times{UpdatedBefore: &one.UpdatedAt.Time}}}, []issue.IID{1}},
			{"due today", issue.Filter{Selection: issue.Selection{DueDate: "today"}}, []issue.IID{1}},
			{"overdue", issue.Filter{Selection: issue.Selection{DueDate: "overdue"}}, []issue.IID{3}},
			{"due this week", issue.Filter{Selection: issue.Selection{DueDate: "week"}}, []issue.IID{2, 1}},
			{"due this month", issue.Filter{Selection: issue.Selection{DueDate: "month"}}, []issue.IID{2, 1}},
			{"due soon", issue.Filter{Selection: issue.Selection{DueDate: "next_month_and_previous_two_weeks"}}, []issue.IID{2, 1}},
			{"due tomorrow", issue.Filter{Selection: issue.Selection{DueDate: "tomorrow"}}, nil},
			{"never due", issue.Filter{Selection: issue.Selection{DueDate: "0"}}, nil},
			{"due", issue.Filter{Selection: issue.Selection{DueDate: "any"}}, []issue.IID{3, 2, 1}},
			{"confidential", issue.Filter{Selection: issue.Selection{Confidential: ptr(true)}}, []issue.IID{3}},
			{"open to all", issue.Filter{Selection: issue.Selection{Confidential: ptr(false)}}, []issue.IID{2, 1}},
			{"weight", issue.Filter{Weight: ptr(int64(2))}, []issue.IID{1}},
			{"no weight", issue.Filter{WeightWildcard: issue.None}, []issue.IID{3, 2}},
			{"not label", issue.Filter{Not: issue.Exclusion{Not: filter.Not{Labels: []string{"p1"}}}}, []issue.IID{3, 2}},
			{"none of the labels", issue.Filter{Not: issue.Exclusion{Not: filter.Not{Labels: []string{"p1", "bug", "p2"}}}}, []issue.IID{3}},
			{"none of the assignees", issue.Filter{Not: issue.Exclusion{AssigneeUsernames: []string{"who", "GUEST"}}}, []issue.IID{3, 2}},
			{"all of the assignees", issue.Filter{AssigneeUsernames: []string{"guest", "planner", "Guest", "owner"}}, nil},
			{"not numbers", issue.Filter{Not: issue.Exclusion{IIDs: []issue.IID{1}}}, []issue.IID{3, 2}},
			{"not author", issue.Filter{Not: issue.Exclusion{Not: filter.Not{Author: filter.One(&f.owner.UserID)}}}, []issue.IID{3, 2}},
			{"not author by name", issue.Filter{Not: issue.Exclusion{Not: filter.Not{Author: filter.Person{Username: "owner"}}}}, []issue.IID{3, 2}},
			{"not assignee", issue.Filter{Not: issue.Exclusion{Not: filter.Not{Assignee: filter.One(&f.guest.UserID)}}}, []issue.IID{3, 2}},
			{"not assignee by name", issue.Filter{Not: issue.Exclusion{AssigneeUsernames: []string{"guest"}}}, []issue.IID{3, 2}},
			{"open and not", issue.Filter{State: issue.StateOpened, Not: issue.Exclusion{Not: filter.Not{
				Labels: []string{"p1", "bug"}, Milestone: filter.MilestoneNamed("v1"), Assignee: filter.One(&f.guest.UserID), Author: filter.Person{Username: "guest"},
			}}}, []issue.IID{3}},
			{"no milestone excluded", issue.Filter{Not: issue.Exclusion{Not: filter.Not{Milestone: filter.MilestoneNamed("none")}}}, nil},
		} {
			for _, in := range []authz.Place{p.Place(), coretest.GroupAt(p.ParentID, authz.Public), {}} {
				found, err := f.issues.List(ctx, f.planner, in, tt.f)
				list, total := found.Items, found.Total
				if err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				var got []issue.IID
				for _, i := range list {
					got = append(got, i.IID)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("%s in %+v: numbers = %v, want %v", tt.name, in, got, tt.want)
				}
				if tt.f.Limit != 0 {
					continue
				}
				if total != len(tt.want) {
					t.Errorf("%s: total = %d, want %d", tt.name, total, len(tt.want))
				}
				tt.f.Limit = 1 // a full page does not tell the total
				if found, err = f.issues.List(ctx, f.planner, in, tt.f); err != nil || found.Total != len(tt.want) {
					t.Errorf("%s, a page of one: total = %d, %v; want %d", tt.name, found.Total, err, len(tt.want))
				}
				tt.f.Limit = 0
			}
		}
		stats, err := f.issues.Statistics(ctx, f.planner, p.Place(), issue.Filter{State: issue.StateClosed, Labels: []string{"bug"}})
		if err != nil || stats != (issue.Statistics{Opened: 1, Closed: 1}) {
			t.Errorf("statistics = %+v, %v", stats, err)
		}
	})
}

// An issue may carry labels of one title from several levels: they count as one.
func TestService_List_labelLevels(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		p := f.Find(f.planner, f.id)
		titles := []string{"a", "b", "c", "d"}
		both, once := f.create(f.planner, issue.Input{Labels: titles}), f.create(f.planner, issue.Input{Labels: titles[:3]})
		for _, title := range titles[:3] { // the group has them, too
			of := f.Insert("labels", coretest.Row{"namespace_id": p.ParentID, "title": title, "title_fold": title, "color": "#fff"})
			for _, i := range []*issue.Issue{both, once} {
				f.set("INSERT INTO label_links (target_type, target_id, label_id) VALUES ('Issue', ?, ?)", i.ID, of)
			}
		}
		for name, c := range map[string]struct {
			f    issue.Filter
			want int
		}{
			"all":         {issue.Filter{Labels: titles}, 1},
			"two":         {issue.Filter{Labels: titles[:2]}, 2},
			"none of one": {issue.Filter{Not: issue.Exclusion{Not: filter.Not{Labels: titles[3:]}}}, 1},
			"none of all": {issue.Filter{Not: issue.Exclusion{Not: filter.Not{Labels: titles}}}, 0},
		} {
			if found, err := f.issues.List(ctx, f.planner, p.Place(), c.f); err != nil || found.Total != c.want {
				t.Errorf("%s: %d issues, %v; want %d", name, found.Total, err, c.want)
			}
		}
	})
}

// However many values a filter has, they are one look-up each: neither engine is asked
// for one condition per value.
func TestService_List_manyValues(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		p := f.Find(f.planner, f.id)
		f.create(f.planner, issue.Input{Labels: []string{"l1"}})
		values := make([]string, 1500)
		for i := range values {
			values[i] = fmt.Sprint("l", i)
		}
		for name, c := range map[string]struct {
			f    issue.Filter
			want int
		}{
			"labels":        {issue.Filter{Labels: values}, 0},
			"not labels":    {issue.Filter{Not: issue.Exclusion{Not: filter.Not{Labels: values}}}, 0},
			"assignees":     {issue.Filter{AssigneeUsernames: values}, 0},
			"not assignees": {issue.Filter{Not: issue.Exclusion{AssigneeUsernames: values}}, 1},
		} {
			before := d.Statements()
			found, err := f.issues.List(ctx, f.planner, p.Place(), c.f)
			total := found.Total
			if err != nil || total != c.want {
				t.Errorf("%s: %d issues, %.200v; want %d", name, total, err, c.want)
			}
			if n := d.Statements() - before; n > 6 {
				t.Errorf("%s: %d statements, want 6 at most", name, n)
			}
		}
	})
}

func TestService_List_places(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		member := f.User("member")
		closed := f.Group("closed", authz.Private, 0)
		inner := f.Project("closed/inner", authz.Private, closed)
		f.Member(closed, member, authz.Guest)
		f.id, f.owner = inner, f.Admin("root")
		f.create(f.owner, issue.Input{Title: "inside"})
		f.create(f.owner, issue.Input{Title: "secret", Attributes: issue.Attributes{Confidential: new(true)}})
		titles := func(as authz.Actor, in authz.Place, filter issue.Filter) []string {
			t.Helper()
			filter.OrderBy = "title"
			found, err := f.issues.List(ctx, as, in, filter)
			list, total := found.Items, found.Total
			if err != nil || total != len(list) {
				t.Fatalf("list as %q: %d of %d, %v", as.Username, len(list), total, err)
			}
			out := []string{}
			for _, i := range list {
				out = append(out, i.Title)
			}
			return out
		}
		want := func(name string, got []string, want ...string) {
			t.Helper()
			if !slices.Equal(got, want) && len(got)+len(want) > 0 {
				t.Errorf("%s sees %q, want %q", name, got, want)
			}
		}
		want("a guest of the group", titles(member, authz.Place{}, issue.Filter{}), "inside")
		want("a stranger", titles(f.stranger, authz.Place{}, issue.Filter{}))
		want("an administrator", titles(f.owner, authz.Place{}, issue.Filter{}), "secret", "inside")
		group := coretest.GroupAt(closed, authz.Private)
		want("a guest in the group", titles(member, group, issue.Filter{}), "inside")
		if _, err := f.issues.List(ctx, f.stranger, group, issue.Filter{}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger in the group: %v, want NotFound", err)
		}
		if _, err := f.issues.List(ctx, authz.Actor{}, authz.Place{}, issue.Filter{}); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("nobody everywhere: %v, want Unauthorized", err)
		}
		f.set("UPDATE projects SET archived = true WHERE id = ?", inner)
		want("a guest without archived projects", titles(member, authz.Place{}, issue.Filter{NonArchived: true}))
		want("a guest with archived projects", titles(member, authz.Place{}, issue.Filter{}), "inside")
		f.set("UPDATE projects SET issues_access = 0 WHERE id = ?", inner)
		want("a guest where issues are off", titles(member, authz.Place{}, issue.Filter{}))
		if _, err := f.issues.List(ctx, member, f.Find(member, inner).Place(), issue.Filter{}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("issues are off: %v, want Forbidden", err)
		}
	})
}

func TestService_List_statements(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		for n := range 30 {
			f.create(f.owner, issue.Input{Title: fmt.Sprint(n), Labels: []string{"a", fmt.Sprint(n % 3)}, AssigneeIDs: []authz.UserID{f.guest.UserID}})
		}
		for _, as := range []authz.Actor{f.owner, f.stranger, {}} {
			count := func(limit int) int {
				return dbtest.Count(t, d, func() {
					p := f.Find(as, f.id)
					found, err := f.issues.List(ctx, as, p.Place(), issue.Filter{Range: page.Range{Limit: limit}})
					list, total := found.Items, found.Total
					if err != nil || len(list) != limit || total != 30 {
						t.Errorf("list = %d rows of %d, %v", len(list), total, err)
					}
				})
			}
			if one, many := count(1), count(20); one != many || many > 5 {
				t.Errorf("as %q: %d statements for one row, %d for twenty, want 5 at most", as.Username, one, many)
			}
		}
	})
}
