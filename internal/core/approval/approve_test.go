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
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/mergerequest"
)

// reviewerState is the state of the only reviewer of a merge request.
func (w *world) reviewerState(iid mergerequest.IID) string {
	w.T.Helper()
	m, err := w.requests.Find(w.T.Context(), w.owner, w.as(w.owner), iid)
	check(w.T, err)
	return m.Reviewers[0].State
}

func TestService_Approve(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var told []string
		event.On(w.Bus, "test", func(_ context.Context, e approval.Approved) error {
			told = append(told, e.By.Username+" approved")
			if len(told) == 1 {
				equal(t, "reviewer before", e.Before.Reviewers[0].State, "unreviewed")
			}
			equal(t, "approvals before and after", len(e.Former)*10+len(e.Approvals), 1)
			return nil
		})
		event.On(w.Bus, "test", func(_ context.Context, e approval.Unapproved) error {
			told = append(told, e.By.Username+" unapproved")
			equal(t, "approvals before and after", len(e.Former)*10+len(e.Approvals), 10)
			return nil
		})
		m := w.open("topic", files{"b": "b\n"})
		_, err := w.approve(authz.Actor{}, m.IID, approval.Input{})
		wantError(t, "anonymous", err, errs.Unauthorized, "")
		for name, who := range map[string]authz.Actor{"stranger": w.stranger, "guest": w.guest} {
			_, err := w.approve(who, m.IID, approval.Input{})
			wantError(t, name, err, errs.NotFound, "")
		}
		_, err = w.approve(w.reporter, m.IID, approval.Input{})
		wantError(t, "reporter", err, errs.Unauthorized, "")
		_, err = w.approve(w.developer, m.IID, approval.Input{})
		wantError(t, "author", err, errs.Unauthorized, "")
		_, err = w.approve(w.reviewer, m.IID, approval.Input{SHA: strings.Repeat("1", 40)})
		wantError(t, "another head", err, errs.Conflict, "SHA does not match HEAD of source branch: "+m.HeadSHA)
		_, err = w.approvals.Unapprove(ctx, w.reviewer, w.as(w.reviewer), m.IID)
		wantError(t, "nothing to take back", err, errs.NotFound, "")

		st, err := w.approve(w.reviewer, m.IID, approval.Input{SHA: m.HeadSHA})
		check(t, err)
		if len(st.Approvals) != 1 || st.Approvals[0].UserID != w.reviewer.UserID {
			t.Errorf("got approvals %v, want one of ruth", st.Approvals)
		}
		equal(t, "reviewer", w.reviewerState(m.IID), "approved")
		_, err = w.approve(w.reviewer, m.IID, approval.Input{})
		wantError(t, "twice", err, errs.Unauthorized, "")
		_, err = w.approvals.Unapprove(ctx, w.maintainer, w.as(w.maintainer), m.IID)
		wantError(t, "the approval of another", err, errs.NotFound, "")

		st, err = w.approvals.Unapprove(ctx, w.reviewer, w.as(w.reviewer), m.IID)
		check(t, err)
		equal(t, "approvals", len(st.Approvals), 0)
		equal(t, "reviewer", w.reviewerState(m.IID), "unapproved")
		equal(t, "told", strings.Join(told, ", "), "ruth approved, ruth unapproved")

		w.set(approval.Changes{AuthorApproval: ptr(true)})
		_, err = w.approve(w.developer, m.IID, approval.Input{})
		check(t, err)

		// A bot of the project may reset, a user may not.
		err = w.approvals.ResetAll(ctx, w.owner, w.as(w.owner), m.IID)
		wantError(t, "reset by a user", err, errs.Unauthorized, "")
		bot := w.maintainer
		bot.Bot = true
		check(t, w.approvals.ResetAll(ctx, bot, w.as(w.maintainer), m.IID))
		equal(t, "approvals after a reset", len(w.state(m.IID).Approvals), 0)

		// Who approved what is merged stands in its message, where the template says so.
		_, err = w.approve(w.reviewer, m.IID, approval.Input{})
		check(t, err)
		w.exec("UPDATE projects SET merge_commit_template = ? WHERE id = ?", "%{title}\n\n%{approved_by}\n%{reviewed_by}", w.id)
		check(t, w.merge(m.IID))
		tip, err := w.git().Branch(ctx, "main")
		check(t, err)
		commit, err := w.git().Commit(ctx, tip)
		check(t, err)
		equal(t, "message", commit.Message, "Add topic\n\nApproved-by: Ruth <ruth@example.com>\nReviewed-by: Ruth <ruth@example.com>")
		_, err = w.approve(w.reviewer, m.IID, approval.Input{})
		wantError(t, "merged", err, errs.Unauthorized, "")
	})
}

// Many calls of one user at once make one approval, and one of them succeeds.
func TestService_Approve_parallel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"b": "b\n"})
		p := w.as(w.owner)
		var wait sync.WaitGroup
		var done, refused atomic.Int64
		for range 8 {
			wait.Go(func() {
				switch _, err := w.approvals.Approve(t.Context(), w.reviewer, p, m.IID, approval.Input{}); {
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
		equal(t, "successes", done.Load(), 1)
		equal(t, "refusals", refused.Load(), 7)
		equal(t, "approvals", len(w.state(m.IID).Approvals), 1)
	})
}

// An approval is for one head: neither a push, nor a conflict solved by a merge, nor another
// target branch leaves it, unless the project keeps approvals.
func TestService_OnNewVersion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"b": "b\n"})
		w.push("next", "main", files{"n": "n\n"}, "dave")
		retarget := func(to string) {
			t.Helper()
			_, err := w.requests.Update(t.Context(), w.developer, w.as(w.developer), m.IID, mergerequest.Changes{TargetBranch: &to})
			check(t, err)
		}
		approve := func() {
			t.Helper()
			_, err := w.approve(w.reviewer, m.IID, approval.Input{})
			check(t, err)
		}
		approve()
		w.push("topic", "", files{"c": "c\n"}, "dave")
		equal(t, "approvals after a push, before its job", len(w.state(m.IID).Approvals), 0)
		equal(t, "reviewer", w.reviewerState(m.IID), "unapproved")
		check(t, w.jobs.Drain(t.Context()))
		approve()
		retarget("next")
		equal(t, "approvals after a retarget", len(w.state(m.IID).Approvals), 0)

		w.set(approval.Changes{RetainOnPush: ptr(true)})
		approve()
		w.push("topic", "", files{"d": "d\n"}, "dave")
		retarget("main")
		equal(t, "approvals where they are kept", len(w.state(m.IID).Approvals), 1)
	})
}

// An author of commits who takes the address of the commits away from the account is still their
// author, and so is who no longer has the address at all.
func TestService_Approve_contributors(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.set(approval.Changes{CommitterApproval: ptr(false), AuthorApproval: ptr(true)})
		m := w.open("topic", files{"b": "b\n"})
		w.push("topic", "", files{"c": "c\n"}, "ruth")
		_, err := w.approve(w.reviewer, m.IID, approval.Input{})
		wantError(t, "author of a commit", err, errs.Unauthorized, "")
		w.exec("UPDATE emails SET email = 'new@example.com', email_fold = 'new@example.com' WHERE user_id = ?", w.reviewer.UserID)
		_, err = w.approve(w.reviewer, m.IID, approval.Input{})
		wantError(t, "author with another address", err, errs.Unauthorized, "")
		w.push("topic", "", files{"d": "d\n"}, "mary")
		_, err = w.approve(w.reviewer, m.IID, approval.Input{})
		wantError(t, "author with another address, after a push", err, errs.Unauthorized, "")
		_, err = w.approve(w.developer, m.IID, approval.Input{})
		wantError(t, "author of the merge request and of a commit", err, errs.Unauthorized, "")
		_, err = w.approve(w.owner, m.IID, approval.Input{})
		check(t, err)

		// Who wrote only commits that are no longer in the merge request is no author of it.
		w.exec("DELETE FROM approvals")
		other := w.open("other", files{"e": "e\n"})
		_, err = w.approve(w.reviewer, other.IID, approval.Input{})
		check(t, err)
	})
}

// Whose commits they are is settled when they are pushed: an address that changes its user before
// anything has looked at the merge request, or before there is one, makes no difference.
func TestService_Approve_settledAtPush(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.set(approval.Changes{CommitterApproval: ptr(false), AuthorApproval: ptr(true)})
		m := w.open("topic", files{"b": "b\n"})
		rename := func(who authz.Actor, name string) {
			w.exec("UPDATE emails SET email = ?, email_fold = ? WHERE user_id = ?", name+"@example.com", name+"@example.com", who.UserID)
		}
		w.push("topic", "", files{"c": "c\n"}, "ruth")
		rename(w.reviewer, "new")
		_, err := w.approve(w.reviewer, m.IID, approval.Input{})
		wantError(t, "author of a commit who gave the address away", err, errs.Unauthorized, "")
		w.push("topic", "", files{"c": "d\n"}, "nemo")
		rename(w.owner, "nemo")
		_, err = w.approve(w.owner, m.IID, approval.Input{})
		check(t, err)

		w.push("later", "main", files{"l": "l\n"}, "mary")
		rename(w.maintainer, "other")
		later, _, err := w.requests.Create(t.Context(), w.developer, w.as(w.developer), mergerequest.Input{SourceBranch: "later", TargetBranch: "main", Title: "Later"})
		check(t, err)
		_, err = w.approve(w.maintainer, later.IID, approval.Input{})
		wantError(t, "author of a commit that was pushed before the merge request", err, errs.Unauthorized, "")
		_, err = w.approve(w.reviewer, later.IID, approval.Input{})
		check(t, err)
	})
}

func TestService_UpdateSettings(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for name, who := range map[string]authz.Actor{"developer": w.developer, "reporter": w.reporter} {
			_, err := w.approvals.UpdateSettings(ctx, who, approval.Of(w.as(who)), approval.Changes{})
			wantError(t, name, err, errs.Forbidden, "")
			_, err = w.approvals.SettingsOf(ctx, who, approval.Of(w.as(who)))
			wantError(t, name+" reads", err, errs.Forbidden, "")
			_, err = w.approvals.Configuration(ctx, who, approval.Of(w.as(who)))
			check(t, err)
		}
		out := w.set(approval.Changes{})
		equal(t, "at first", *out, approval.Settings{CommitterApproval: approval.Value{On: true}, Overrides: approval.Value{On: true}})
		var told int
		event.On(w.Bus, "test", func(context.Context, approval.SettingsChanged) error { told++; return nil })
		out = w.set(approval.Changes{AuthorApproval: ptr(true), RetainOnPush: ptr(true), Overrides: ptr(false)})
		equal(t, "changed", *out, approval.Settings{
			AuthorApproval: approval.Value{On: true}, CommitterApproval: approval.Value{On: true}, RetainOnPush: approval.Value{On: true},
		})
		w.set(approval.Changes{AuthorApproval: ptr(true)})
		equal(t, "events", told, 1)

		// A group forbids, the instance forbids more.
		group := approval.Place{Subject: authz.Subject{Thing: "Group", Namespace: w.group}, Group: true}
		_, err := w.approvals.UpdateSettings(ctx, w.stranger, group, approval.Changes{})
		wantError(t, "stranger in a group", err, errs.NotFound, "")
		_, err = w.approvals.UpdateSettings(ctx, authz.System(), group, approval.Changes{RetainOnPush: ptr(false), AuthorApproval: ptr(false), RequirePassword: ptr(true)})
		check(t, err)
		coretest.Setter(t, w.settings)("prevent_merge_requests_committers_approval", true)
		locked := func(on bool, from string) approval.Value { return approval.Value{On: on, Locked: true, From: from} }
		out = w.set(approval.Changes{AuthorApproval: ptr(true), CommitterApproval: ptr(true), RequirePassword: ptr(false)})
		equal(t, "locked", *out, approval.Settings{
			AuthorApproval: locked(false, "group"), CommitterApproval: locked(false, "instance"), RetainOnPush: locked(false, "group"),
			RequirePassword: locked(true, "group"),
		})
	})
}

// A merge waits for the approvals that approvals_before_merge asks for, and so does one that is
// set to happen by itself.
func TestService_Unmet(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.exec("UPDATE projects SET approvals_before_merge = 2 WHERE id = ?", w.id)
		m := w.open("topic", files{"b": "b\n"})
		equal(t, "status", w.status(m.IID), "not_approved")
		wantError(t, "merge", w.merge(m.IID), errs.NotAllowed, "the merge request is not approved")
		st, err := w.approve(w.reviewer, m.IID, approval.Input{})
		check(t, err)
		equal(t, "required", st.Required, 2)
		equal(t, "left", st.Left, 1)
		equal(t, "approved", st.Approved, false)
		wantError(t, "merge with one approval", w.merge(m.IID), errs.NotAllowed, "the merge request is not approved")
		_, err = w.approve(w.owner, m.IID, approval.Input{})
		check(t, err)
		equal(t, "status", w.status(m.IID), "mergeable")
		w.push("topic", "", files{"c": "c\n"}, "dave")
		wantError(t, "merge of a new head", w.merge(m.IID), errs.NotAllowed, "the merge request is not approved")
		for _, who := range []authz.Actor{w.reviewer, w.owner} {
			_, err = w.approve(who, m.IID, approval.Input{})
			check(t, err)
		}
		check(t, w.merge(m.IID))
	})
}
