package mergerequest_test

import (
	"context"
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest/alonetest"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// subscribers are the users who are subscribed to everything.
type subscribers map[authz.UserID]bool

func (s subscribers) Of(_ context.Context, as authz.Actor, things ...noteable.Ref) (map[noteable.Ref]bool, error) {
	out := map[noteable.Ref]bool{}
	for _, thing := range things {
		out[thing] = s[as.UserID]
	}
	return out, nil
}

// TestService_Views compares what each role sees of one merge request.
func TestService_Views(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		w.requests.Connect(mergerequest.Above{Subscriptions: subscribers{w.developer.UserID: true}, Approvals: alonetest.Approvals{}, Commands: alonetest.Commands{}})
		m := w.open("topic", files{"c": "c\n"})
		w.report("topic", ci.Running)
		due, err := w.deps.Milestones.Create(t.Context(), w.maintainer, w.as(w.maintainer).Place(), milestone.Input{Title: "One"})
		check(t, err)
		_, err = w.requests.Update(t.Context(), w.developer, w.as(w.developer), m.IID, mergerequest.Changes{
			MilestoneID: &due.ID, Assignees: &[]authz.UserID{w.reporter.UserID}, Reviewers: &[]authz.UserID{w.maintainer.UserID, w.developer.UserID},
		})
		check(t, err)
		view := func(as authz.Actor, full bool) mergerequest.View {
			t.Helper()
			p := w.as(as)
			found, err := w.requests.Find(t.Context(), as, p, m.IID)
			check(t, err)
			views, err := w.requests.Views(t.Context(), as, []*mergerequest.MergeRequest{found}, mergerequest.ViewOptions{
				Full: full, Projects: map[project.ID]*project.Project{p.ID: p},
			})
			check(t, err)
			equal(t, "views", len(views), 1)
			return views[0]
		}
		v := view(w.reporter, false)
		equal(t, "page", v.URL, "http://tenon.test/group/shop/-/merge_requests/1")
		equal(t, "author", v.Author.Username, "dave")
		equal(t, "milestone", v.Milestone.Title, "One")
		equal(t, "assignees", len(v.Assignees), 1)
		equal(t, "reviewers", v.Reviewers[0].Username+" "+v.Reviewers[1].Username, "mary dave")
		equal(t, "status", v.Detailed, "mergeable")
		if v.MilestoneID != nil || v.MergeRequest.Assignees != nil || v.MergeRequest.Reviewers != nil || v.MergeUser != nil || v.Full != nil {
			t.Errorf("got %+v, want each value in one place", v)
		}
		w.exec(`UPDATE projects SET settings = '{"public_jobs":false}' WHERE id = ?`, w.id)
		for _, row := range []struct {
			as                              authz.Actor
			subscribed, merge, builds, head bool
		}{
			{w.maintainer, false, true, true, true},
			{w.developer, true, false, true, true},
			{w.reporter, false, false, true, true},
		} {
			v := view(row.as, true)
			equal(t, row.as.Username+" is subscribed", v.Full.Subscribed, row.subscribed)
			equal(t, row.as.Username+" may merge", v.Full.CanMerge, row.merge)
			equal(t, row.as.Username+" sees CI", v.Full.Builds != nil, row.builds)
			equal(t, row.as.Username+" sees the pipeline", v.Full.Builds != nil && v.Full.Builds.Head != nil, row.head)
		}
		w.exec("UPDATE projects SET builds_access = 0 WHERE id = ?", w.id)
		if v := view(w.maintainer, true); v.Full.Builds != nil {
			t.Errorf("without CI: got %+v", v.Full.Builds)
		}
	})
}
