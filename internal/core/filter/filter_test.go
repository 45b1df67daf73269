package filter_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/filter"
	"tenon/internal/core/noteable"
)

func TestRows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		ann, bob := w.User("ann"), w.User("bob")
		in := w.Project("app", authz.Public, w.Group("team", authz.Public, 0))
		add := func(iid int, author authz.Actor, closedBy any, assignees ...authz.Actor) int64 {
			id := w.Insert("issues", coretest.Row{
				"iid": iid, "project_id": in, "author_id": author.UserID, "closed_by_id": closedBy, "state": "opened", "issue_type": "issue",
				"title": "T", "title_fold": fmt.Sprint("title of ", iid), "description_fold": "text",
			})
			for _, as := range assignees {
				if err := d.InTx(t.Context(), func(ctx context.Context) error {
					_, err := d.Exec(ctx, "INSERT INTO issue_assignees (issue_id, user_id) VALUES (?, ?)", id, as.UserID)
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			return id
		}
		one := add(1, ann, bob.UserID, ann, bob)
		two := add(2, bob, nil, bob)
		add(3, bob, nil)
		for id, emoji := range map[int64]string{one: "tada", two: "rocket"} {
			w.Insert("award_emoji", coretest.Row{"name": emoji, "user_id": ann.UserID, "awardable_type": "Issue", "awardable_id": id})
		}
		r := filter.Rows{Alias: "i", Kind: noteable.Issue}
		author, closer, assignee := r.Column("author_id"), r.Column("closed_by_id"), r.Table("issue_assignees", "issue_id")
		nobody := authz.UserID(0)
		is := func(p filter.Part, who filter.Person) func(*db.Where) { return func(w *db.Where) { p.Is(w, who) } }
		not := func(p filter.Part, who filter.Person) func(*db.Where) { return func(w *db.Where) { p.IsNot(w, who) } }
		for _, tt := range []struct {
			name string
			add  func(w *db.Where)
			want string
		}{
			{"everybody", is(author, filter.Person{}), "1 2 3"},
			{"author", is(author, filter.One(&ann.UserID)), "1"},
			{"no such user", is(author, filter.One(&nobody)), ""},
			{"author by name", is(author, filter.Person{Username: "BOB"}), "2 3"},
			{"not the author", not(author, filter.One(&ann.UserID)), "2 3"},
			{"not the author by name", not(author, filter.Person{Username: "bob"}), "1"},
			{"not an unknown author", not(author, filter.Person{Username: "who"}), "1 2 3"},
			{"not no such user", not(author, filter.One(&nobody)), "1 2 3"},
			{"any closer", is(closer, filter.Person{Any: true}), "1"},
			{"no closer", is(closer, filter.Person{None: true}), "2 3"},
			{"not any closer", not(closer, filter.Person{Any: true}), "2 3"},
			{"assignee", is(assignee, filter.One(&ann.UserID)), "1"},
			{"assignee by name", is(assignee, filter.Person{Username: "bob"}), "1 2"},
			{"any assignee", is(assignee, filter.Person{Any: true}), "1 2"},
			{"no assignee", is(assignee, filter.Person{None: true}), "3"},
			{"not the assignee", not(assignee, filter.One(&ann.UserID)), "2 3"},
			{"not the assignee by name", not(assignee, filter.Person{Username: "ann"}), "2 3"},
			{"not none", not(assignee, filter.Person{None: true}), "1 2"},
			{"all assignees", func(w *db.Where) { assignee.HasAll(w, []string{"ann", "Bob", "bob"}) }, "1"},
			{"none of the assignees", func(w *db.Where) { assignee.HasNone(w, []string{"ann", "who"}) }, "2 3"},
			{"reaction", func(w *db.Where) { r.Reaction(w, ann, "tada") }, "1"},
			{"any reaction", func(w *db.Where) { r.Reaction(w, ann, "ANY") }, "1 2"},
			{"reaction of another", func(w *db.Where) { r.Reaction(w, bob, "tada") }, ""},
			{"reaction of nobody", func(w *db.Where) { r.Reaction(w, authz.Actor{}, "tada") }, "1 2 3"},
			{"not the reaction", func(w *db.Where) { r.NotReaction(w, ann, "tada") }, "2 3"},
			{"not any reaction", func(w *db.Where) { r.NotReaction(w, ann, "any") }, "3"},
			{"not none of the reactions", func(w *db.Where) { r.NotReaction(w, ann, "None") }, "1 2"},
			{"none of the properties", func(w *db.Where) {
				r.Not(w, ann, filter.Not{Author: filter.One(&ann.UserID), Assignee: filter.Person{Username: "bob"}, Milestone: filter.MilestoneNamed("v1")}, time.Now())
			}, "3"},
			{"neither label nor reaction", func(w *db.Where) {
				r.Not(w, ann, filter.Not{Labels: []string{"bug"}, Reaction: "rocket"}, time.Now())
			}, "1 3"},
			{"what other kinds do not have", func(w *db.Where) {
				filter.Rows{Alias: "i", Kind: noteable.Epic}.Not(w, ann, filter.Not{Assignee: filter.Person{Any: true}, Milestone: filter.MilestoneNamed("none")}, time.Now())
			}, "1 2 3"},
			{"words of one field", func(w *db.Where) { r.Search(w, filter.Words{Terms: []string{"title", "2"}}, nil) }, "2"},
			{"words of two fields", func(w *db.Where) { r.Search(w, filter.Words{Terms: []string{"text", "2"}}, nil) }, ""},
			{"words of the other field", func(w *db.Where) { r.Search(w, filter.Words{Terms: []string{"2"}}, []string{"description"}) }, ""},
			{"words of no field", func(w *db.Where) { r.Search(w, filter.Words{Terms: []string{"2"}}, []string{"body"}) }, ""},
		} {
			var cond db.Where
			tt.add(&cond)
			got, err := db.Select[string](t.Context(), d, "SELECT CAST(i.iid AS TEXT) FROM issues i"+cond.SQL()+" ORDER BY i.iid", cond.Args()...)
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
			}
		}
	})
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for search, want := range map[string][]string{
		"":                      nil,
		"One  two":              {"one", "two"},
		`"One two" three`:       {"one two", "three"},
		`a "b c`:                {"a", "b c"},
		`"" x`:                  {"x"},
		"log login":             {"login"}, // a text that holds the longer one holds both
		"\u00c4PFEL \u00e4pfel": {"\u00e4pfel"},
	} {
		if got := filter.Terms(search); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", search, got, want)
		}
	}
}

func TestWordsIn(t *testing.T) {
	t.Parallel()
	everywhere, group, app := authz.Place{}, authz.Place{ID: 1, Group: true}, authz.Place{ID: 1}
	for _, tt := range []struct {
		in     authz.Place
		search string
		want   filter.Words
	}{
		{everywhere, " ", filter.Words{}},
		{everywhere, `""`, filter.Words{}},
		{everywhere, "AB", filter.Words{Terms: []string{"ab"}, Whole: "ab"}},
		{everywhere, "a %  b", filter.Words{Terms: []string{"a", "%", "b"}, Whole: "a %  b"}},
		{everywhere, "\"\u00c4\u00e4\"", filter.Words{Terms: []string{"\u00e4\u00e4"}, Whole: "\u00e4\u00e4"}},
		{everywhere, "abc", filter.Words{Terms: []string{"abc"}}},
		{everywhere, `"a b" c`, filter.Words{Terms: []string{"a b", "c"}}},
		{group, "ab", filter.Words{Terms: []string{"ab"}}},
		{app, "ab", filter.Words{Terms: []string{"ab"}}},
	} {
		if got := filter.WordsIn(tt.in, tt.search); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: got %+v, want %+v", tt.search, got, tt.want)
		}
	}
}
