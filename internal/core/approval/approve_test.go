package approval_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/approval"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/mergerequest"
)

// reviewerState is the state of the only reviewer of a merge request.
func (w *world) reviewerState(iid mergerequest.IID) string {
	w.T.Helper()
	m, err := w.MergeRequests.Find(w.T.Context(), w.Owner, w.As(w.Owner), iid)
	approvaltest.Check(w.T, err)
	return m.Reviewers[0].State
}

func TestService_Approve(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var told []string
		event.On(w.Bus, "test", func(_ context.Context, e approval.Approved) error {
			told = append(told, e.By.Username+" approved")
			if len(told) == 1 {
				approvaltest.Equal(t, "reviewer before", e.Before.Reviewers[0].State, "unreviewed")
			}
			approvaltest.Equal(t, "approvals before and after", len(e.Former)*10+len(e.Approvals), 1)
			return nil
		})
		event.On(w.Bus, "test", func(_ context.Context, e approval.Unapproved) error {
			told = append(told, e.By.Username+" unapproved")
			approvaltest.Equal(t, "approvals before and after", len(e.Former)*10+len(e.Approvals), 10)
			return nil
		})
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		_, err := w.approve(authz.Actor{}, m.IID, approval.Input{})
		approvaltest.WantError(t, "anonymous", err, errs.Unauthorized, "")
		for name, who := range map[string]authz.Actor{"stranger": w.Stranger, "guest": w.Guest} {
			_, err := w.approve(who, m.IID, approval.Input{})
			approvaltest.WantError(t, name, err, errs.NotFound, "")
		}
		_, err = w.approve(w.Reporter, m.IID, approval.Input{})
		approvaltest.WantError(t, "reporter", err, errs.Unauthorized, "")
		_, err = w.approve(w.Developer, m.IID, approval.Input{})
		approvaltest.WantError(t, "author", err, errs.Unauthorized, "")
		_, err = w.approve(w.Reviewer, m.IID, approval.Input{SHA: strings.Repeat("1", 40)})
		approvaltest.WantError(t, "another head", err, errs.Conflict, "SHA does not match HEAD of source branch: "+m.HeadSHA)
		_, err = w.approvals.Unapprove(ctx, w.Reviewer, w.As(w.Reviewer), m.IID)
		approvaltest.WantError(t, "nothing to take back", err, errs.NotFound, "")

		st, err := w.approve(w.Reviewer, m.IID, approval.Input{SHA: m.HeadSHA})
		approvaltest.Check(t, err)
		if len(st.Approvals) != 1 || st.Approvals[0].UserID != w.Reviewer.UserID {
			t.Errorf("got approvals %v, want one of ruth", st.Approvals)
		}
		approvaltest.Equal(t, "reviewer", w.reviewerState(m.IID), "approved")
		_, err = w.approve(w.Reviewer, m.IID, approval.Input{})
		approvaltest.WantError(t, "twice", err, errs.Unauthorized, "")
		_, err = w.approvals.Unapprove(ctx, w.Maintainer, w.As(w.Maintainer), m.IID)
		approvaltest.WantError(t, "the approval of another", err, errs.NotFound, "")

		st, err = w.approvals.Unapprove(ctx, w.Reviewer, w.As(w.Reviewer), m.IID)
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "approvals", len(st.Approvals), 0)
		approvaltest.Equal(t, "reviewer", w.reviewerState(m.IID), "unapproved")
		approvaltest.Equal(t, "told", strings.Join(told, ", "), "ruth approved, ruth unapproved")

		w.set(approval.Changes{AuthorApproval: new(true)})
		_, err = w.approve(w.Developer, m.IID, approval.Input{})
		approvaltest.Check(t, err)

		// A bot of the project may reset, a user may not.
		err = w.approvals.ResetAll(ctx, w.Owner, w.As(w.Owner), m.IID)
		approvaltest.WantError(t, "reset by a user", err, errs.Unauthorized, "")
		bot := w.Maintainer
		bot.Bot = true
		approvaltest.Check(t, w.approvals.ResetAll(ctx, bot, w.As(w.Maintainer), m.IID))
		approvaltest.Equal(t, "approvals after a reset", len(w.state(m.IID).Approvals), 0)

		// Who approved what is merged is in its message, where the template says so.
		_, err = w.approve(w.Reviewer, m.IID, approval.Input{})
		approvaltest.Check(t, err)
		w.Exec("UPDATE projects SET merge_commit_template = ? WHERE id = ?", "%{title}\n\n%{approved_by}\n%{reviewed_by}", w.ID)
		approvaltest.Check(t, w.Merge(m.IID))
		tip, err := w.Git().Branch(ctx, "main")
		approvaltest.Check(t, err)
		commit, err := w.Git().Commit(ctx, tip)
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "message", commit.Message, "Add topic\n\nApproved-by: Ruth <ruth@example.com>\nReviewed-by: Ruth <ruth@example.com>")
		_, err = w.approve(w.Reviewer, m.IID, approval.Input{})
		approvaltest.WantError(t, "merged", err, errs.Unauthorized, "")
	})
}

// Many calls of one user at once make one approval, and one of them succeeds.
func TestService_Approve_parallel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		p := w.As(w.Owner)
		var wait sync.WaitGroup
		var done, refused atomic.Int64
		for range 8 {
			wait.Go(func() {
				switch _, err := w.approvals.Approve(t.Context(), w.Reviewer, p, m.IID, approval.Input{}); {
				case err == nil:
					done.Add(1)
				case errs.Is(err, errs.Unauthorized):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wait.Wait()
		approvaltest.Equal(t, "successes", done.Load(), 1)
		approvaltest.Equal(t, "refusals", refused.Load(), 7)
		approvaltest.Equal(t, "approvals", len(w.state(m.IID).Approvals), 1)
	})
}

// An approval is for one head: neither a push, nor a conflict solved by a merge, nor another
// target branch leaves it, unless the project keeps approvals.
func TestService_OnNewVersion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		w.Push("next", "main", approvaltest.Files{"n": "n\n"}, "dave")
		retarget := func(to string) {
			t.Helper()
			_, err := w.MergeRequests.Update(t.Context(), w.Developer, w.As(w.Developer), m.IID, mergerequest.Changes{TargetBranch: &to})
			approvaltest.Check(t, err)
		}
		approve := func() {
			t.Helper()
			_, err := w.approve(w.Reviewer, m.IID, approval.Input{})
			approvaltest.Check(t, err)
		}
		approve()
		w.Push("topic", "", approvaltest.Files{"c": "c\n"}, "dave")
		approvaltest.Equal(t, "approvals after a push, before its job", len(w.state(m.IID).Approvals), 0)
		approvaltest.Equal(t, "reviewer", w.reviewerState(m.IID), "unapproved")
		approvaltest.Check(t, w.Jobs.Drain(t.Context()))
		approve()
		retarget("next")
		approvaltest.Equal(t, "approvals after a retarget", len(w.state(m.IID).Approvals), 0)

		w.set(approval.Changes{RetainOnPush: new(true)})
		approve()
		w.Push("topic", "", approvaltest.Files{"d": "d\n"}, "dave")
		retarget("main")
		approvaltest.Equal(t, "approvals where they are kept", len(w.state(m.IID).Approvals), 1)
	})
}

// The server's own rebase keeps approvals, because it adds no change. A push keeps none, also one with the same title
// that takes the place of the rebase.
func TestService_OnNewVersion_rebase(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		_, err := w.approve(w.Reviewer, m.IID, approval.Input{})
		approvaltest.Check(t, err)
		rebase := func(file string) {
			t.Helper()
			w.Push("main", "", approvaltest.Files{file: "1\n"}, "dave")
			approvaltest.Check(t, w.MergeRequests.Rebase(ctx, w.Developer, w.As(w.Developer), m.IID, mergerequest.RebaseOptions{}))
			approvaltest.Check(t, w.Jobs.Drain(ctx))
		}
		before := m.HeadSHA
		rebase("meanwhile")
		now, err := w.MergeRequests.Read(ctx, w.Developer, w.As(w.Developer), m.IID)
		approvaltest.Check(t, err)
		if now.HeadSHA == before || now.MergeError != nil {
			t.Fatalf("not rebased: %s, %v", now.HeadSHA, now.MergeError)
		}
		st := w.state(m.IID)
		approvaltest.Equal(t, "approvals after a rebase", len(st.Approvals), 1)
		rebase("later")
		approvaltest.Equal(t, "approvals after a second one", len(w.state(m.IID).Approvals), 1)
		w.Push("topic", "", approvaltest.Files{"c": "c\n"}, "dave")
		approvaltest.Check(t, w.Jobs.Drain(ctx))
		approvaltest.Equal(t, "approvals after a push", len(w.state(m.IID).Approvals), 0)
	})
}

// An author of commits who takes the address of the commits away from the account is still their
// author, and so is who no longer has the address at all.
func TestService_Approve_contributors(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.set(approval.Changes{CommitterApproval: new(false), AuthorApproval: new(true)})
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		w.Push("topic", "", approvaltest.Files{"c": "c\n"}, "ruth")
		_, err := w.approve(w.Reviewer, m.IID, approval.Input{})
		approvaltest.WantError(t, "author of a commit", err, errs.Unauthorized, "")
		w.Exec("UPDATE emails SET email = 'new@example.com', email_fold = 'new@example.com' WHERE user_id = ?", w.Reviewer.UserID)
		_, err = w.approve(w.Reviewer, m.IID, approval.Input{})
		approvaltest.WantError(t, "author with another address", err, errs.Unauthorized, "")
		w.Push("topic", "", approvaltest.Files{"d": "d\n"}, "mary")
		_, err = w.approve(w.Reviewer, m.IID, approval.Input{})
		approvaltest.WantError(t, "author with another address, after a push", err, errs.Unauthorized, "")
		_, err = w.approve(w.Developer, m.IID, approval.Input{})
		approvaltest.WantError(t, "author of the merge request and of a commit", err, errs.Unauthorized, "")
		_, err = w.approve(w.Owner, m.IID, approval.Input{})
		approvaltest.Check(t, err)

		// Who wrote only commits that are no longer in the merge request is no author of it.
		w.Exec("DELETE FROM approvals")
		other := w.Open("other", approvaltest.Files{"e": "e\n"})
		_, err = w.approve(w.Reviewer, other.IID, approval.Input{})
		approvaltest.Check(t, err)
	})
}

// Whose commits they are is settled when they are pushed: an address that changes its user before
// anything has looked at the merge request, or before there is one, makes no difference.
func TestService_Approve_settledAtPush(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.set(approval.Changes{CommitterApproval: new(false), AuthorApproval: new(true)})
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		rename := func(who authz.Actor, name string) {
			w.Exec("UPDATE emails SET email = ?, email_fold = ? WHERE user_id = ?", name+"@example.com", name+"@example.com", who.UserID)
		}
		w.Push("topic", "", approvaltest.Files{"c": "c\n"}, "ruth")
		rename(w.Reviewer, "new")
		_, err := w.approve(w.Reviewer, m.IID, approval.Input{})
		approvaltest.WantError(t, "author of a commit who gave the address away", err, errs.Unauthorized, "")
		w.Push("topic", "", approvaltest.Files{"c": "d\n"}, "nemo")
		rename(w.Owner, "nemo")
		_, err = w.approve(w.Owner, m.IID, approval.Input{})
		approvaltest.Check(t, err)

		w.Push("later", "main", approvaltest.Files{"l": "l\n"}, "mary")
		rename(w.Maintainer, "other")
		later, _, err := w.MergeRequests.Create(t.Context(), w.Developer, w.As(w.Developer), mergerequest.Input{SourceBranch: "later", TargetBranch: "main", Title: "Later"})
		approvaltest.Check(t, err)
		_, err = w.approve(w.Maintainer, later.IID, approval.Input{})
		approvaltest.WantError(t, "author of a commit that was pushed before the merge request", err, errs.Unauthorized, "")
		_, err = w.approve(w.Reviewer, later.IID, approval.Input{})
		approvaltest.Check(t, err)
	})
}

func TestService_UpdateSettings(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for name, who := range map[string]authz.Actor{"developer": w.Developer, "reporter": w.Reporter} {
			_, err := w.approvals.UpdateSettings(ctx, who, w.As(who).Place(), approval.Changes{})
			approvaltest.WantError(t, name, err, errs.Forbidden, "")
			_, err = w.approvals.SettingsOf(ctx, who, w.As(who).Place())
			approvaltest.WantError(t, name+" reads", err, errs.Forbidden, "")
			_, err = w.approvals.Configuration(ctx, who, w.As(who).Place())
			approvaltest.Check(t, err)
		}
		out := w.set(approval.Changes{})
		approvaltest.Equal(t, "at first", *out, approval.Settings{CommitterApproval: approval.Value{On: true}, Overrides: approval.Value{On: true}})
		var told int
		event.On(w.Bus, "test", func(context.Context, approval.SettingsChanged) error { told++; return nil })
		out = w.set(approval.Changes{AuthorApproval: new(true), RetainOnPush: new(true), Overrides: new(false)})
		approvaltest.Equal(t, "changed", *out, approval.Settings{
			AuthorApproval: approval.Value{On: true}, CommitterApproval: approval.Value{On: true}, RetainOnPush: approval.Value{On: true},
		})
		w.set(approval.Changes{AuthorApproval: new(true)})
		approvaltest.Equal(t, "events", told, 1)

		// A group forbids, the instance forbids more.
		group := authz.Place{Subject: authz.Subject{Noun: "Group", Namespace: w.GroupID}, Group: true}
		_, err := w.approvals.UpdateSettings(ctx, w.Stranger, group, approval.Changes{})
		approvaltest.WantError(t, "stranger in a group", err, errs.NotFound, "")
		_, err = w.approvals.UpdateSettings(ctx, authz.System(), group, approval.Changes{RetainOnPush: new(false), AuthorApproval: new(false), RequirePassword: new(true)})
		approvaltest.Check(t, err)
		coretest.Setter(t, w.Settings)("prevent_merge_requests_committers_approval", true)
		locked := func(on bool, from string) approval.Value { return approval.Value{On: on, Locked: true, From: from} }
		out = w.set(approval.Changes{AuthorApproval: new(true), CommitterApproval: new(true), RequirePassword: new(false)})
		approvaltest.Equal(t, "locked", *out, approval.Settings{
			AuthorApproval: locked(false, "group"), CommitterApproval: locked(false, "instance"), RetainOnPush: locked(false, "group"),
			RequirePassword: locked(true, "group"),
		})
	})
}

// A merge waits for the approvals that approvals_before_merge asks for, and so does one that is
// set to happen by itself.
func TestService_Unmet(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Exec("UPDATE projects SET approvals_before_merge = 2 WHERE id = ?", w.ID)
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		approvaltest.Equal(t, "status", w.Status(m.IID), "not_approved")
		approvaltest.WantError(t, "merge", w.Merge(m.IID), errs.NotAllowed, "the merge request is not approved")
		st, err := w.approve(w.Reviewer, m.IID, approval.Input{})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "required", st.Required, 2)
		approvaltest.Equal(t, "left", st.Left, 1)
		approvaltest.Equal(t, "approved", st.Approved, false)
		approvaltest.WantError(t, "merge with one approval", w.Merge(m.IID), errs.NotAllowed, "the merge request is not approved")
		_, err = w.approve(w.Owner, m.IID, approval.Input{})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "status", w.Status(m.IID), "mergeable")
		w.Push("topic", "", approvaltest.Files{"c": "c\n"}, "dave")
		approvaltest.WantError(t, "merge of a new head", w.Merge(m.IID), errs.NotAllowed, "the merge request is not approved")
		for _, who := range []authz.Actor{w.Reviewer, w.Owner} {
			_, err = w.approve(who, m.IID, approval.Input{})
			approvaltest.Check(t, err)
		}
		approvaltest.Check(t, w.Merge(m.IID))
	})
}
