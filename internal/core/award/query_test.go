package award_test

import (
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
