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
	r, err := w.approvals.CreateRule(w.T.Context(), w.maintainer, w.as(w.maintainer), approval.Ruling{Name: &name, Required: &required, Users: &ids})
	check(w.T, err)
	return r
}

func TestService_CreateRule(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.as(w.maintainer)
		name, one := "reviewers", int64(1)
		_, err := w.approvals.CreateRule(ctx, w.developer, w.as(w.developer), approval.Ruling{Name: &name, Required: &one})
		wantError(t, "developer", err, errs.Forbidden, "")
		for what, in := range map[string]approval.Ruling{
			"name can't be blank": {Name: ptr(" "), Required: &one},
			"approvals_required must be less than or equal to 100":  {Name: &name, Required: ptr(int64(101))},
			"approvals_required must be greater than or equal to 0": {Name: &name, Required: ptr(int64(-1))},
		} {
			_, err := w.approvals.CreateRule(ctx, w.maintainer, p, in)
			wantError(t, what, err, errs.Invalid, what)
		}
		// Strangers and guests cannot approve and are left out; names find users as ids do.
		r, err := w.approvals.CreateRule(ctx, w.maintainer, p, approval.Ruling{
			Name: &name, Required: &one, Users: &[]authz.UserID{w.reviewer.UserID, w.stranger.UserID, w.guest.UserID, 4711}, Usernames: &[]string{"rita"},
		})
		check(t, err)
		equal(t, "users", fmt.Sprint(r.Users), fmt.Sprint([]authz.UserID{w.reviewer.UserID, w.reporter.UserID}))
		equal(t, "type", r.Type, approval.Regular)
		_, err = w.approvals.CreateRule(ctx, w.maintainer, p, approval.Ruling{Name: &name, Required: &one})
		wantError(t, "same name", err, errs.Invalid, "name has already been taken")
		_, err = w.approvals.CreateRule(ctx, w.maintainer, p, approval.Ruling{Name: ptr("All"), Required: &one, Type: approval.AnyApprover})
		check(t, err)
		_, err = w.approvals.CreateRule(ctx, w.maintainer, p, approval.Ruling{Name: ptr("More"), Required: &one, Type: approval.AnyApprover})
		wantError(t, "second any_approver", err, errs.Invalid, "")

		var told approval.RuleUpdated
		event.On(w.Bus, "test", func(_ context.Context, e approval.RuleUpdated) error { told = e; return nil })
		r, err = w.approvals.UpdateRule(ctx, w.maintainer, p, r.ID, approval.Ruling{Required: ptr(int64(2)), Users: &[]authz.UserID{w.reviewer.UserID}})
		check(t, err)
		equal(t, "after an update", fmt.Sprint(r.Name, r.Required, r.Users), fmt.Sprint(name, 2, []authz.UserID{w.reviewer.UserID}))
		equal(t, "event", fmt.Sprint(told.Before.Required, told.Rule.Required, len(told.Before.Users), len(told.Rule.Users)), "1 2 2 1")
		list, err := w.approvals.Rules(ctx, w.reporter, w.as(w.reporter), page.Range{Limit: 20})
		check(t, err)
		equal(t, "rules", len(list.Items), 2)
		_, err = w.approvals.Rules(ctx, w.guest, w.as(w.guest), page.Range{Limit: 20})
		wantError(t, "guest", err, errs.Forbidden, "")
		check(t, w.approvals.DeleteRule(ctx, w.maintainer, p, r.ID))
		_, err = w.approvals.Rule(ctx, w.maintainer, p, r.ID)
		wantError(t, "deleted", err, errs.NotFound, "")
	})
}

// Rules decide who has to approve: any user, named ones, members of groups, by target branch.
func TestState_rules(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.as(w.maintainer)
		m := w.open("topic", files{"b": "b\n"})
		r := w.rule("reviewers", 1, w.reviewer, w.reporter)
		equal(t, "status", w.status(m.IID), "not_approved")
		st, err := w.approve(w.owner, m.IID, approval.Input{})
		check(t, err)
		equal(t, "an approval of another", fmt.Sprint(st.Required, st.Left, st.Approved, len(st.Approvals)), "1 1 false 1")
		equal(t, "suggested", fmt.Sprint(st.Suggested()), fmt.Sprint([]authz.UserID{w.reviewer.UserID, w.reporter.UserID}))
		st, err = w.approve(w.reporter, m.IID, approval.Input{}) // a rule names her
		check(t, err)
		equal(t, "the approval of one who is named", fmt.Sprint(st.Left, st.Approved), "0 true")
		equal(t, "status", w.status(m.IID), "mergeable")

		// Rules of other branches do not count, those of a protected branch do.
		rule, err := w.protections.ProtectBranch(ctx, w.maintainer, p, protection.Input{Name: "release-*"})
		check(t, err)
		_, err = w.approvals.UpdateRule(ctx, w.maintainer, p, r.ID, approval.Ruling{Branches: &[]protection.RuleID{rule.ID}, Required: ptr(int64(2))})
		check(t, err)
		equal(t, "rules for another branch", len(w.state(m.IID).Rules), 0)
		w.push("release-1", "main", files{"r": "r\n"}, "dave")
		_, err = w.requests.Update(ctx, w.developer, w.as(w.developer), m.IID, mergerequest.Changes{TargetBranch: ptr("release-1")})
		check(t, err)
		equal(t, "required for the branch", w.state(m.IID).Required, 2)

		// Members of groups satisfy rules, as long as they are members and active.
		_, err = w.approvals.UpdateRule(ctx, w.maintainer, p, r.ID, approval.Ruling{
			Branches: &[]protection.RuleID{}, Users: &[]authz.UserID{}, Required: ptr(int64(1)), Groups: &[]authz.NamespaceID{w.group},
		})
		check(t, err)
		st = w.state(m.IID)
		equal(t, "a rule that no user can satisfy", fmt.Sprint(st.Rules[0].Invalid, st.Approved), "true true")
		w.Member(w.group, w.reviewer, authz.Developer)
		st = w.state(m.IID)
		equal(t, "approvers of a group", fmt.Sprint(st.Rules[0].Approvers, st.Approved), fmt.Sprint([]authz.UserID{w.reviewer.UserID}, false))
		w.exec("UPDATE users SET state = 'blocked' WHERE id = ?", w.reviewer.UserID)
		equal(t, "approvers that are blocked", len(w.state(m.IID).Rules[0].Approvers), 0)
	})
}

// A merge request overrides the rules of its project where the project lets it.
func TestService_CreateRequestRule(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.as(w.developer)
		m := w.open("topic", files{"b": "b\n"})
		source := w.rule("reviewers", 1, w.reviewer)
		_, err := w.approvals.CreateRequestRule(ctx, w.reporter, w.as(w.reporter), m.IID, approval.Ruling{Name: ptr("mine"), Required: ptr(int64(0))})
		wantError(t, "reporter", err, errs.Forbidden, "")
		own, err := w.approvals.CreateRequestRule(ctx, w.developer, p, m.IID, approval.Ruling{Name: ptr("reviewers"), Required: ptr(int64(0)), Source: source.ID})
		check(t, err)
		if own.Source == nil || own.Source.ID != source.ID || !own.Overrides(own.Source) || !slices.Equal(own.Users, source.Users) {
			t.Errorf("got a rule made of %v with users %v", own.Source, own.Users)
		}
		st := w.state(m.IID)
		equal(t, "state", fmt.Sprint(st.Overwritten, st.Required, st.Approved), "true 0 true")
		w.set(approval.Changes{Overrides: ptr(false)})
		st = w.state(m.IID)
		equal(t, "state where overriding is off", fmt.Sprint(st.Overwritten, st.Required, st.Approved), "false 1 false")
		for what, err := range map[string]error{
			"create": func() error {
				_, err := w.approvals.CreateRequestRule(ctx, w.developer, p, m.IID, approval.Ruling{Name: ptr("other"), Required: ptr(int64(0))})
				return err
			}(),
			"update": func() error {
				_, err := w.approvals.UpdateRequestRule(ctx, w.developer, p, m.IID, own.ID, approval.Ruling{Required: ptr(int64(0))})
				return err
			}(),
			"delete": w.approvals.DeleteRequestRule(ctx, w.developer, p, m.IID, own.ID),
		} {
			wantError(t, what+" where overriding is off", err, errs.Forbidden, "")
		}
		w.set(approval.Changes{Overrides: ptr(true)})
		check(t, w.approvals.DeleteRequestRule(ctx, w.developer, p, m.IID, own.ID))
		equal(t, "required after the rule is gone", w.state(m.IID).Required, 1)
	})
}
