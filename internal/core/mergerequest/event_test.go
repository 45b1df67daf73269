package mergerequest_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
)

// TestEvents compares what events say of a merge request with what readers find before
// and after each change.
func TestEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var facts []mergerequest.Fact
		hear := func(fact mergerequest.Fact) error { facts = append(facts, fact); return nil }
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.Created) error { return hear(e.Fact) })
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.Updated) error { return hear(e.Fact) })
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.Closed) error { return hear(e.Fact) })
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.Reopened) error { return hear(e.Fact) })
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.Deleted) error { return hear(e.Fact) })
		w.push("topic", w.tip("main"), files{"c": "c\n"}, "Add c")
		p := w.as(w.owner)
		update := func(c mergerequest.Changes) func() error {
			return func() error { _, err := w.requests.Update(ctx, w.owner, p, 1, c); return err }
		}
		title := "Two"
		var now *mergerequest.MergeRequest
		for _, tt := range []struct {
			name   string
			change func() error
			events int
		}{
			{"create", func() error {
				_, _, err := w.requests.Create(ctx, w.owner, p, mergerequest.Input{
					SourceBranch: "topic", TargetBranch: "main", Title: "One", Labels: []string{"b", "a"},
					Assignees: []authz.UserID{w.developer.UserID}, Reviewers: []authz.UserID{w.reporter.UserID},
				})
				return err
			}, 1},
			{"update and close", update(mergerequest.Changes{
				Title: &title, Event: mergerequest.Close, Labels: label.Assignment{Add: []string{"c"}, Remove: []string{"a"}},
				Assignees: &[]authz.UserID{w.maintainer.UserID}, Reviewers: &[]authz.UserID{w.developer.UserID, w.reporter.UserID},
			}), 2},
			{"reopen", update(mergerequest.Changes{Event: mergerequest.Reopen}), 1},
			{"nothing", update(mergerequest.Changes{Title: &title}), 0},
			{"delete", func() error { return w.requests.Delete(ctx, w.owner, p, 1) }, 1},
		} {
			facts = nil
			before := now
			if err := tt.change(); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			now, _ = w.requests.Find(ctx, w.owner, p, 1)
			if len(facts) != tt.events {
				t.Errorf("%s: %d events, want %d", tt.name, len(facts), tt.events)
			}
			for _, fact := range facts {
				want, wantBefore := now, before
				if now == nil {
					want, wantBefore = before, nil
				}
				// What a look at the branches finds comes after the event.
				seen := cmpopts.IgnoreFields(mergerequest.MergeRequest{}, "Status", "TrialResult", "TrialSourceSHA", "TrialTargetSHA", "VisibleNotes", "Pipeline")
				texts := cmpopts.IgnoreFields(label.Label{}, "TitleFold")
				if diff := cmp.Diff(want, &fact.MergeRequest, seen, texts); diff != "" {
					t.Errorf("%s: merge request (-found +published):\n%s", tt.name, diff)
				}
				if diff := cmp.Diff(wantBefore, fact.Before, seen, texts); diff != "" {
					t.Errorf("%s: before (-found +published):\n%s", tt.name, diff)
				}
				if fact.Project.ID != p.ID || fact.By.UserID != w.owner.UserID || fact.At.IsZero() {
					t.Errorf("%s: in project %d by %d at %s, want %d and %d", tt.name, fact.Project.ID, fact.By.UserID, fact.At, p.ID, w.owner.UserID)
				}
			}
		}
	})
}
