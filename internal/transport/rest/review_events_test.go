package rest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
)

// TestReview_events lets a reviewer draft, publish and ask for changes, and threads be resolved and opened again by each way there is: what
// happened is published once, with what was before.
func TestReview_events(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.open("topic")
		p.do("dev", "PUT", requestsPath+"/1", fmt.Sprintf(`{"reviewer_ids":[%d]}`, p.users["maint"].UserID))
		thread := p.discussion("dev", "POST", requestsPath+"/1/discussions", `{"body":"Why?"}`)
		var heard []string
		event.On(p.Bus, "test", func(_ context.Context, e note.ThreadChanged) error {
			heard = append(heard, fmt.Sprintf("thread %t %t by %d", e.DiscussionID == thread.ID, e.Resolved, e.By.UserID))
			return nil
		})
		event.On(p.Bus, "test", func(_ context.Context, e mergerequest.ReviewerStateChanged) error {
			states := func(m *mergerequest.MergeRequest) string { return m.Reviewers[0].State }
			if e.Project == nil || e.UserID != p.users["maint"].UserID {
				t.Errorf("event of %d in %v", e.UserID, e.Project)
			}
			heard = append(heard, fmt.Sprintf("reviewer %s to %s (%s to %s)", e.Former, e.State, states(e.Before), states(e.Row())))
			return nil
		})
		maint, dev := p.users["maint"].UserID, p.users["dev"].UserID
		one := requestsPath + "/1/discussions/" + thread.ID
		for _, step := range []struct{ as, method, path, body, want string }{
			{"maint", "POST", draftsPath, `{"note":"Because","in_reply_to_discussion_id":"` + thread.ID + `","resolve_discussion":true}`, "reviewer unreviewed to review_started (unreviewed to review_started)"},
			{"maint", "DELETE", draftsPath + "/1", "", "reviewer review_started to unreviewed (review_started to unreviewed)"},
			{"maint", "POST", draftsPath, `{"note":"Because","in_reply_to_discussion_id":"` + thread.ID + `","resolve_discussion":true}`, "reviewer unreviewed to review_started (unreviewed to review_started)"},
			{
				"maint", "POST", draftsPath + "/bulk_publish", `{"reviewer_state":"requested_changes"}`,
				fmt.Sprintf("reviewer review_started to requested_changes (review_started to requested_changes), thread true true by %d", maint),
			},
			{"dev", "PUT", one, `{"resolved":true}`, ""},
			{"dev", "PUT", one, `{"resolved":false}`, fmt.Sprintf("thread true false by %d", dev)},
			{"dev", "PUT", one + fmt.Sprintf("/notes/%d", thread.Notes[0].ID), `{"resolved":true}`, ""}, // the reply is open
			{"dev", "POST", one + "/notes", `{"body":"More"}`, ""},
			{"dev", "PUT", one, `{"resolved":true}`, fmt.Sprintf("thread true true by %d", dev)},
		} {
			heard = nil
			status := map[string]int{"POST": 201, "PUT": 200, "DELETE": 204}[step.method]
			if strings.HasSuffix(step.path, "publish") {
				status = 204
			}
			p.want(step.as, step.method, step.path, step.body, status, "")
			if got := strings.Join(heard, ", "); got != step.want {
				t.Errorf("%s %s %s: heard %q, want %q", step.method, step.path, step.body, got, step.want)
			}
		}
	})
}
