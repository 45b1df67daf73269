package approval_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/page"
	"tenon/internal/core/approval"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/protection"
)

// rule makes a rule of the project that users have to satisfy.
func (w *world) rule(name string, required int64, users ...authz.Actor) *approval.Rule {
	w.T.Helper()
	ids := []authz.UserID{}
	for _, u := range users {
		ids = append(ids, u.UserID)
	}
	r, err := w.approvals.CreateRule(w.T.Context(), w.Maintainer, w.As(w.Maintainer), approval.Ruling{Name: &name, Required: &required, Users: &ids})
	approvaltest.Check(w.T, err)
	return r
}

func TestService_CreateRule(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.As(w.Maintainer)
		name, one := "reviewers", int64(1)
		_, err := w.approvals.CreateRule(ctx, w.Developer, w.As(w.Developer), approval.Ruling{Name: &name, Required: &one})
		approvaltest.WantError(t, "developer", err, errs.Forbidden, "")
		for what, in := range map[string]approval.Ruling{
			"name can't be blank": {Name: new(" "), Required: &one},
			"approvals_required must be less than or equal to 100":  {Name: &name, Required: new(int64(101))},
			"approvals_required must be greater than or equal to 0": {Name: &name, Required: new(int64(-1))},
		} {
			_, err := w.approvals.CreateRule(ctx, w.Maintainer, p, in)
			approvaltest.WantError(t, what, err, errs.Invalid, what)
		}
		// Strangers and guests cannot approve and are left out; names find users as ids do.
		r, err := w.approvals.CreateRule(ctx, w.Maintainer, p, approval.Ruling{
			Name: &name, Required: &one, Users: &[]authz.UserID{w.Reviewer.UserID, w.Stranger.UserID, w.Guest.UserID, 4711}, Usernames: &[]string{"rita"},
		})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "users", fmt.Sprint(r.Users), fmt.Sprint([]authz.UserID{w.Reviewer.UserID, w.Reporter.UserID}))
		approvaltest.Equal(t, "type", r.Type, approval.Regular)
		_, err = w.approvals.CreateRule(ctx, w.Maintainer, p, approval.Ruling{Name: &name, Required: &one})
		approvaltest.WantError(t, "same name", err, errs.Invalid, "name has already been taken")
		_, err = w.approvals.CreateRule(ctx, w.Maintainer, p, approval.Ruling{Name: new("All"), Required: &one, Type: approval.AnyApprover})
		approvaltest.Check(t, err)
		_, err = w.approvals.CreateRule(ctx, w.Maintainer, p, approval.Ruling{Name: new("More"), Required: &one, Type: approval.AnyApprover})
		approvaltest.WantError(t, "second any_approver", err, errs.Invalid, "")

		var told approval.RuleUpdated
		event.On(w.Bus, "test", func(_ context.Context, e approval.RuleUpdated) error { told = e; return nil })
		r, err = w.approvals.UpdateRule(ctx, w.Maintainer, p, r.ID, approval.Ruling{Required: new(int64(2)), Users: &[]authz.UserID{w.Reviewer.UserID}})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "after an update", fmt.Sprint(r.Name, r.Required, r.Users), fmt.Sprint(name, 2, []authz.UserID{w.Reviewer.UserID}))
		approvaltest.Equal(t, "event", fmt.Sprint(told.Before.Required, told.After.Required, len(told.Before.Users), len(told.After.Users)), "1 2 2 1")
		list, err := w.approvals.Rules(ctx, w.Reporter, w.As(w.Reporter), page.Range{Limit: 20})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "rules", len(list.Items), 2)
		_, err = w.approvals.Rules(ctx, w.Guest, w.As(w.Guest), page.Range{Limit: 20})
		approvaltest.WantError(t, "guest", err, errs.Forbidden, "")
		approvaltest.Check(t, w.approvals.DeleteRule(ctx, w.Maintainer, p, r.ID))
		_, err = w.approvals.Rule(ctx, w.Maintainer, p, r.ID)
		approvaltest.WantError(t, "deleted", err, errs.NotFound, "")
	})
}

// Rules decide who has to approve: any user, named ones, members of groups, by target branch.
func TestState_rules(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.As(w.Maintainer)
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		r := w.rule("reviewers", 1, w.Reviewer, w.Reporter)
		approvaltest.Equal(t, "status", w.Status(m.IID), "not_approved")
		st, err := w.approve(w.Owner, m.IID, approval.Input{})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "an approval of another", fmt.Sprint(st.Required, st.Left, st.Approved, len(st.Approvals)), "1 1 false 1")
		approvaltest.Equal(t, "suggested", fmt.Sprint(st.Suggested()), fmt.Sprint([]authz.UserID{w.Reviewer.UserID, w.Reporter.UserID}))
		st, err = w.approve(w.Reporter, m.IID, approval.Input{}) // a rule names her
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "the approval of one who is named", fmt.Sprint(st.Left, st.Approved), "0 true")
		approvaltest.Equal(t, "status", w.Status(m.IID), "mergeable")

		// Rules of other branches do not count, those of a protected branch do.
		rule, err := w.Protections.ProtectBranch(ctx, w.Maintainer, p, protection.Input{Name: "release-*"})
		approvaltest.Check(t, err)
		_, err = w.approvals.UpdateRule(ctx, w.Maintainer, p, r.ID, approval.Ruling{Branches: &[]protection.RuleID{rule.ID}, Required: new(int64(2))})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "rules for another branch", len(w.state(m.IID).Rules), 0)
		w.Push("release-1", "main", approvaltest.Files{"r": "r\n"}, "dave")
		_, err = w.MergeRequests.Update(ctx, w.Developer, w.As(w.Developer), m.IID, mergerequest.Changes{TargetBranch: new("release-1")})
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "required for the branch", w.state(m.IID).Required, 2)

		// Members of groups satisfy rules, as long as they are members and active.
		_, err = w.approvals.UpdateRule(ctx, w.Maintainer, p, r.ID, approval.Ruling{
			Branches: &[]protection.RuleID{}, Users: &[]authz.UserID{}, Required: new(int64(1)), Groups: &[]authz.NamespaceID{w.GroupID},
		})
		approvaltest.Check(t, err)
		st = w.state(m.IID)
		approvaltest.Equal(t, "a rule that no user can satisfy", fmt.Sprint(st.Rules[0].Invalid, st.Approved), "true true")
		w.Member(w.GroupID, w.Reviewer, authz.Developer)
		st = w.state(m.IID)
		approvaltest.Equal(t, "approvers of a group", fmt.Sprint(st.Rules[0].Approvers, st.Approved), fmt.Sprint([]authz.UserID{w.Reviewer.UserID}, false))
		w.Exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.Reviewer.UserID)
		approvaltest.Equal(t, "approvers that are blocked", len(w.state(m.IID).Rules[0].Approvers), 0)
	})
}

// A merge request overrides the rules of its project where the project lets it.
func TestService_CreateRequestRule(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.As(w.Developer)
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		source := w.rule("reviewers", 1, w.Reviewer)
		_, err := w.approvals.CreateRequestRule(ctx, w.Reporter, w.As(w.Reporter), m.IID, approval.Ruling{Name: new("mine"), Required: new(int64(0))})
		approvaltest.WantError(t, "reporter", err, errs.Forbidden, "")
		own, err := w.approvals.CreateRequestRule(ctx, w.Developer, p, m.IID, approval.Ruling{Name: new("reviewers"), Required: new(int64(0)), Source: source.ID})
		approvaltest.Check(t, err)
		if own.Source == nil || own.Source.ID != source.ID || !own.Overrides(own.Source) || !slices.Equal(own.Users, source.Users) {
			t.Errorf("got a rule made of %v with users %v", own.Source, own.Users)
		}
		st := w.state(m.IID)
		approvaltest.Equal(t, "state", fmt.Sprint(st.Overwritten, st.Required, st.Approved), "true 0 true")
		w.set(approval.Changes{Overrides: new(false)})
		st = w.state(m.IID)
		approvaltest.Equal(t, "state where overriding is off", fmt.Sprint(st.Overwritten, st.Required, st.Approved), "false 1 false")
		for what, err := range map[string]error{
			"create": func() error {
				_, err := w.approvals.CreateRequestRule(ctx, w.Developer, p, m.IID, approval.Ruling{Name: new("other"), Required: new(int64(0))})
				return err
			}(),
			"update": func() error {
				_, err := w.approvals.UpdateRequestRule(ctx, w.Developer, p, m.IID, own.ID, approval.Ruling{Required: new(int64(0))})
				return err
			}(),
			"delete": w.approvals.DeleteRequestRule(ctx, w.Developer, p, m.IID, own.ID),
		} {
			approvaltest.WantError(t, what+" where overriding is off", err, errs.Forbidden, "")
		}
		w.set(approval.Changes{Overrides: new(true)})
		approvaltest.Check(t, w.approvals.DeleteRequestRule(ctx, w.Developer, p, m.IID, own.ID))
		approvaltest.Equal(t, "required after the rule is gone", w.state(m.IID).Required, 1)
	})
}
