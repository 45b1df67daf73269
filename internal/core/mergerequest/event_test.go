package mergerequest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
)

// TestEvents compares what events say of a merge request with what readers find before
// and after each change.
func TestEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var facts coretest.Facts[mergerequest.MergeRequest]
		read := func(e mergerequest.Fact) coretest.Fact[mergerequest.MergeRequest] {
			if e.Project.ID != w.id {
				t.Errorf("an event in project %d, want %d", e.Project.ID, w.id)
			}
			return coretest.FactOf(e.Of)
		}
		coretest.Hear(w.Bus, &facts, func(e mergerequest.Created) coretest.Fact[mergerequest.MergeRequest] { return read(e.Fact) })
		coretest.Hear(w.Bus, &facts, func(e mergerequest.Updated) coretest.Fact[mergerequest.MergeRequest] { return read(e.Fact) })
		coretest.Hear(w.Bus, &facts, func(e mergerequest.Closed) coretest.Fact[mergerequest.MergeRequest] { return read(e.Fact) })
		coretest.Hear(w.Bus, &facts, func(e mergerequest.Reopened) coretest.Fact[mergerequest.MergeRequest] { return read(e.Fact) })
		coretest.Hear(w.Bus, &facts, func(e mergerequest.Deleted) coretest.Fact[mergerequest.MergeRequest] { return read(e.Fact) })
		w.push("topic", w.tip("main"), files{"c": "c\n"}, "Add c")
		p := w.as(w.owner)
		update := func(c mergerequest.Changes) func() error {
			return func() error { _, err := w.requests.Update(ctx, w.owner, p, 1, c); return err }
		}
		title := "Two"
		find := func() *mergerequest.MergeRequest {
			m, _ := w.requests.Find(ctx, w.owner, p, 1)
			return m
		}
		// What a look at the branches finds comes after the event.
		seen := cmpopts.IgnoreFields(mergerequest.MergeRequest{}, "Status", "TrialResult", "TrialSourceSHA", "TrialTargetSHA", "VisibleNotes", "Unruled", "Pipeline")
		coretest.CheckFacts(t, &facts, w.owner, find, []coretest.Step{
			coretest.Do("create", func() error {
				_, _, err := w.requests.Create(ctx, w.owner, p, mergerequest.Input{
					SourceBranch: "topic", TargetBranch: "main", Title: "One", Labels: []string{"b", "a"},
					Assignees: []authz.UserID{w.developer.UserID}, Reviewers: []authz.UserID{w.reporter.UserID},
				})
				return err
			}, 1),
			coretest.Do("update and close", update(mergerequest.Changes{
				Title: &title, Event: mergerequest.Close, Labels: label.Assignment{Add: []string{"c"}, Remove: []string{"a"}},
				Assignees: &[]authz.UserID{w.maintainer.UserID}, Reviewers: &[]authz.UserID{w.developer.UserID, w.reporter.UserID},
			}), 2),
			coretest.Do("reopen", update(mergerequest.Changes{Event: mergerequest.Reopen}), 1),
			coretest.Do("nothing", update(mergerequest.Changes{Title: &title}), 0),
			coretest.Do("delete", func() error { return w.requests.Delete(ctx, w.owner, p, 1) }, 1),
		}, seen, cmpopts.IgnoreUnexported(mergerequest.MergeRequest{}))
	})
}
