package issue_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
)

// TestEvents compares what events say of an issue with what readers find before and after
// each change.
func TestEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		var facts []issue.Fact
		hear := func(fact issue.Fact) error { facts = append(facts, fact); return nil }
		event.On(f.Bus, "test", func(_ context.Context, e issue.Created) error { return hear(e.Fact) })
		event.On(f.Bus, "test", func(_ context.Context, e issue.Updated) error { return hear(e.Fact) })
		event.On(f.Bus, "test", func(_ context.Context, e issue.Closed) error { return hear(e.Fact) })
		event.On(f.Bus, "test", func(_ context.Context, e issue.Reopened) error { return hear(e.Fact) })
		event.On(f.Bus, "test", func(_ context.Context, e issue.Deleted) error { return hear(e.Fact) })
		p := f.Find(f.owner, f.id)
		var now *issue.Issue
		for _, tt := range []struct {
			name   string
			change func() error
			events int
		}{
			{"create", func() error {
				_, err := f.issues.Create(ctx, f.owner, p, issue.Input{Title: "One", Labels: []string{"b", "a"}, AssigneeIDs: []authz.UserID{f.guest.UserID}})
				return err
			}, 1},
			{"update and close", func() error {
				_, err := f.issues.Update(ctx, f.owner, p, 1, issue.Changes{
					Title: ptr("Two"), StateEvent: "close", Labels: label.Assignment{Add: []string{"c"}, Remove: []string{"a"}},
					AssigneeIDs: &[]authz.UserID{f.planner.UserID},
				})
				return err
			}, 2},
			{"reopen", func() error {
				_, err := f.issues.Update(ctx, f.owner, p, 1, issue.Changes{StateEvent: "reopen"})
				return err
			}, 1},
			{"nothing", func() error {
				_, err := f.issues.Update(ctx, f.owner, p, 1, issue.Changes{Title: ptr("Two")})
				return err
			}, 0},
			{"delete", func() error { return f.issues.Delete(ctx, f.owner, p, 1) }, 1},
		} {
			facts = nil
			before := now
			if err := tt.change(); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			now, _ = f.issues.Find(ctx, f.owner, p, 1)
			if len(facts) != tt.events {
				t.Errorf("%s: %d events, want %d", tt.name, len(facts), tt.events)
			}
			for _, fact := range facts {
				want, wantBefore := now, before
				if now == nil {
					want, wantBefore = before, nil
				}
				texts := cmpopts.IgnoreFields(label.Label{}, "TitleFold")
				if diff := cmp.Diff(want, &fact.Issue, texts); diff != "" {
					t.Errorf("%s: issue (-found +published):\n%s", tt.name, diff)
				}
				if diff := cmp.Diff(wantBefore, fact.Before, texts); diff != "" {
					t.Errorf("%s: before (-found +published):\n%s", tt.name, diff)
				}
				if fact.Project.ID != f.id || fact.By.UserID != f.owner.UserID || fact.At.IsZero() {
					t.Errorf("%s: in project %d by %d at %s, want %d and %d", tt.name, fact.Project.ID, fact.By.UserID, fact.At, f.id, f.owner.UserID)
				}
			}
		}
	})
}
