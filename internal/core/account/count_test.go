package account_test

import (
	"context"
	"fmt"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/job"
	"tenon/internal/core/account"
	"tenon/internal/core/account/accounttest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/limit"
	"tenon/internal/core/project"
)

func TestService_Count(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := accounttest.New(t, d)
		_, mona := h.User("mona")
		projects := project.New(project.Deps{
			Limits: &limit.Service{},
			DB:     d, Policy: h.Policy, Bus: &event.Bus{}, Namespaces: h.Namespaces, Settings: h.Settings, Now: h.Now,
			Jobs: job.EnqueuerFunc(func(context.Context, job.Args, ...job.Option) error { return nil }),
		})
		projects.Connect(coretest.Above(project.Above{}))
		name := "canvas"
		for _, as := range []authz.Actor{mona, h.Root} { // the second is private to root
			p, err := projects.Create(t.Context(), as, project.Input{Changes: project.Changes{Attributes: project.Attributes{Name: &name}}})
			if err != nil {
				t.Fatal(err)
			}
			for iid, state := range []string{"opened", "opened", "closed"} {
				assign(h, int64(p.ID), iid+1, state, mona.UserID)
			}
		}
		want := account.Counts{AssignedIssues: 2, AssignedMergeRequests: 2, ReviewRequested: 2}
		if got, err := h.Count(t.Context(), mona); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v: neither what is closed nor what is hidden", got, err, want)
		}
		if got, err := h.Count(t.Context(), h.Root); err != nil || got != (account.Counts{}) {
			t.Errorf("got %+v, %v, want nothing assigned to root", got, err)
		}
		if _, err := h.Count(t.Context(), authz.Actor{}); !errs.Is(err, errs.Unauthorized) {
			t.Errorf("got %v, want Unauthorized", err)
		}
	})
}

// assign writes an issue and a merge request for a user to work on and to review.
func assign(h *accounttest.World, projectID int64, iid int, state string, user authz.UserID) {
	h.T.Helper()
	now := h.Now()
	run := func(query string, args ...any) int64 {
		h.T.Helper()
		id, err := db.Get[int64](h.T.Context(), h.DB, query, args...)
		if err != nil {
			h.T.Fatal(err)
		}
		return id
	}
	issue := run(`INSERT INTO issues (iid, project_id, author_id, title, title_fold, description_fold, state, issue_type, confidential,
		notes_count, public_notes_count, created_at, updated_at)
		VALUES (?, ?, ?, 't', 't', '', ?, 'issue', false, 0, 0, ?, ?) RETURNING id`, iid, projectID, user, state, now, now)
	run("INSERT INTO issue_assignees (issue_id, user_id) VALUES (?, ?) RETURNING issue_id", issue, user)
	request := run(`INSERT INTO merge_requests (iid, target_project_id, source_project_id, target_branch, source_branch, author_id, title,
		title_fold, description_fold, state, draft, base_sha, start_sha, head_sha, commits_count, trial_result, trial_source_sha,
		trial_target_sha, squash, allow_collaboration, merge_when_pipeline_succeeds, notes_count, public_notes_count, created_at, updated_at)
		VALUES (?, ?, ?, 'main', ?, ?, 't', 't', '', ?, false, '', '', '', 0, '', '', '', false, false, false, 0, 0, ?, ?) RETURNING id`,
		iid, projectID, projectID, fmt.Sprint("topic-", iid), user, state, now, now)
	run("INSERT INTO merge_request_assignees (merge_request_id, user_id) VALUES (?, ?) RETURNING user_id", request, user)
	run("INSERT INTO merge_request_reviewers (merge_request_id, user_id, state, created_at) VALUES (?, ?, 'unreviewed', ?) RETURNING user_id",
		request, user, now)
}
