package award_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/coretest"
	"tenon/internal/core/noteable"
)

// TestService_ListOn reads the first reactions to each of many issues in one statement.
func TestService_ListOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		awards := award.New(award.Deps{DB: d, Policy: w.Policy, Bus: &event.Bus{}, Now: w.Now})
		people := []authz.Actor{w.User("ann"), w.User("ben"), w.User("cat")}
		for i, emoji := range []string{"tea", "tada", "tea"} {
			for _, to := range []coretest.Row{{"awardable_type": "Issue", "awardable_id": 7}, {"awardable_type": "MergeRequest", "awardable_id": 8}} {
				to["name"], to["user_id"] = emoji, people[i].UserID
				w.Insert("award_emoji", to)
			}
		}
		w.Insert("award_emoji", coretest.Row{"awardable_type": "Issue", "awardable_id": 9, "name": "rocket", "user_id": people[0].UserID})
		var got map[int64][]award.Award
		count := dbtest.Count(t, d, func() {
			var err error
			if got, err = awards.ListOn(t.Context(), noteable.Issue, []int64{7, 8, 9}, 2); err != nil {
				t.Fatal(err)
			}
		})
		var out []string
		for _, id := range []int64{7, 8, 9} {
			names := []string{fmt.Sprint(id)}
			for _, a := range got[id] {
				names = append(names, a.Name)
			}
			out = append(out, strings.Join(names, " "))
		}
		if want := "7 tea tada, 8, 9 rocket"; strings.Join(out, ", ") != want || count != 1 {
			t.Errorf("got %q in %d statements, want %q in one", strings.Join(out, ", "), count, want)
		}
		if none, err := awards.ListOn(t.Context(), noteable.Issue, nil, 2); err != nil || len(none) != 0 {
			t.Errorf("of no issue: got %v, %v", none, err)
		}
	})
}

// TestService_Toggle reacts, and takes the reaction back by its name.
func TestService_Toggle(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		awards := award.New(award.Deps{DB: d, Policy: w.Policy, Bus: &event.Bus{}, Now: w.Now})
		ann, stan := w.User("ann"), w.User("stan")
		id := w.Project("group/shop", authz.Private, w.Group("group", authz.Private, 0))
		w.Join(id, ann, authz.Reporter)
		p, err := w.Projects.FindByID(t.Context(), ann, id)
		if err != nil {
			t.Fatal(err)
		}
		to := noteable.Target{Ref: noteable.Ref{Kind: noteable.Issue, ID: 7}, Subject: p.Subject()}
		a, err := awards.Toggle(t.Context(), ann, to, "+1")
		if err != nil || a == nil || a.Name != "thumbsup" {
			t.Fatalf("got %v, %v", a, err)
		}
		if a, err = awards.Toggle(t.Context(), ann, to, "thumbsup"); err != nil || a != nil {
			t.Errorf("toggled back: got %v, %v", a, err)
		}
		if err := awards.RemoveByName(t.Context(), ann, to, "+1"); !errs.Is(err, errs.Unprocessable) {
			t.Errorf("no reaction: got %v", err)
		}
		if _, err := awards.Add(t.Context(), ann, to, "tea"); err != nil {
			t.Fatal(err)
		}
		other := to
		other.Subject.Known = false
		if err := awards.RemoveByName(t.Context(), stan, other, "tea"); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: got %v", err)
		}
		if err := awards.RemoveByName(t.Context(), ann, to, "tea"); err != nil {
			t.Error(err)
		}
	})
}
