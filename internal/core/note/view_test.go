package note_test

import (
	"net/url"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/limit"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// Views say who wrote and resolved a note, and of notes that cannot be resolved nothing about
// that; many take one statement, and none where the people were read before.
func TestService_Views(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		s := note.New(note.Deps{
			Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Now: w.Now,
			Accounts: account.New(account.Deps{Limits: &limit.Service{}, DB: d, Policy: w.Policy, Bus: w.Bus, Settings: setting.New(d, w.Now), Now: w.Now, URLs: weburl.New(&url.URL{Scheme: "https", Host: "tenon.example"}, "")}),
		})
		ann, ben := w.User("ann"), w.User("ben")
		thread, at := "DiscussionNote", db.At(time.Date(2023, 5, 22, 12, 0, 0, 0, time.UTC))
		notes := []note.Note{
			{Kind: noteable.Issue, AuthorID: ann.UserID},
			{Kind: noteable.MergeRequest, AuthorID: ann.UserID, Type: &thread},
			{Kind: noteable.MergeRequest, AuthorID: 999, Type: &thread, ResolvedAt: &at, ResolvedByID: &ben.UserID},
			{Kind: noteable.MergeRequest, AuthorID: ann.UserID, Type: &thread, ResolvedAt: &at, ResolvedByID: new(authz.UserID(998))},
		}
		before := d.Statements()
		views, err := s.Views(t.Context(), notes, note.ViewOptions{})
		if err != nil || len(views) != len(notes) || d.Statements()-before > 1 {
			t.Fatalf("got %d views in %d statements, %v", len(views), d.Statements()-before, err)
		}
		if v := views[0]; v.Author.Username != "ann" || v.Resolution != nil {
			t.Errorf("a comment on an issue: got %+v", v)
		}
		if v := views[1]; v.Resolution == nil || v.Resolution.Resolved || v.Resolution.By != nil {
			t.Errorf("an open thread: got %+v", v.Resolution)
		}
		if v := views[2]; v.Author != nil || !v.Resolution.Resolved || v.Resolution.By.Username != "ben" || v.ResolvedByID != nil {
			t.Errorf("a resolved thread: got %+v", v)
		}
		if v := views[3]; !v.Resolution.Resolved || v.Resolution.By != nil {
			t.Errorf("resolved by an account that is gone: got %+v", v.Resolution)
		}
		before = d.Statements()
		views, err = s.Views(t.Context(), notes, note.ViewOptions{People: map[authz.UserID]*account.Summary{ann.UserID: {Username: "Ann"}}})
		if err != nil || views[0].Author.Username != "Ann" || d.Statements() != before {
			t.Errorf("with people: got %+v in %d statements, %v", views[0].Author, d.Statements()-before, err)
		}
	})
}
