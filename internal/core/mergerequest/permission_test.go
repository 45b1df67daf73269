package mergerequest_test

import (
	"context"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/mergerequest"
)

// view reads a request for an actor.
func (w *world) view(who authz.Actor, iid mergerequest.IID) *mergerequest.View {
	m, err := w.requests.Find(w.T.Context(), who, w.as(who), iid)
	check(w.T, err)
	views, err := w.requests.Views(w.T.Context(), who, []*mergerequest.MergeRequest{m}, mergerequest.ViewOptions{})
	check(w.T, err)
	return &views[0]
}

// TestService_Permissions says what people of every role may do with a request.
func TestService_Permissions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		all := mergerequest.Permissions{Update: true, Administer: true, Comment: true, Merge: true, PushToSource: true, RemoveSource: true}
		developers := all
		developers.Merge = false // the target branch is protected
		for _, c := range []struct {
			who   authz.Actor
			want  mergerequest.Permissions
			party mergerequest.Party
		}{
			{w.maintainer, all, mergerequest.Party{Merge: true, Update: true}},
			{w.developer, developers, mergerequest.Party{Update: true}},
			{w.reporter, mergerequest.Permissions{Comment: true}, mergerequest.Party{}},
		} {
			v := w.view(c.who, m.IID)
			got, err := w.requests.Permissions(t.Context(), c.who, v)
			check(t, err)
			equal(t, "permissions of "+c.who.Username, got, c.want)
			party, err := w.requests.Party(t.Context(), v, c.who.UserID)
			check(t, err)
			equal(t, "party of "+c.who.Username, party, c.party)
		}
		v := w.view(w.maintainer, m.IID)
		party, err := w.requests.Party(t.Context(), v, w.stranger.UserID)
		check(t, err)
		equal(t, "party of a stranger", party, mergerequest.Party{})
		at, err := w.requests.Branches(t.Context(), w.maintainer, v)
		check(t, err)
		equal(t, "branches", at, mergerequest.Branches{Source: true, Target: true})
		messages, err := w.requests.Messages(t.Context(), w.maintainer, v)
		check(t, err)
		equal(t, "squash message", messages.Squash, v.Title)
		_, err = w.requests.Messages(t.Context(), w.reporter, w.view(w.reporter, m.IID))
		wantError(t, err, errs.Forbidden, "")
	})
}

// TestService_RequestReview asks a reviewer for another review, which others hear of.
func TestService_RequestReview(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		_, err := w.requests.Update(t.Context(), w.developer, w.as(w.developer), m.IID, mergerequest.Changes{Reviewers: &[]authz.UserID{w.maintainer.UserID}})
		check(t, err)
		check(t, w.requests.Reviewed(t.Context(), m.ID, w.maintainer.UserID, mergerequest.ReviewDone))
		var asked []authz.UserID
		event.On(w.Bus, "asked", func(_ context.Context, e mergerequest.Updated) error {
			asked, _ = e.Asked()
			return nil
		})
		again := func(who authz.Actor, user authz.UserID) (*mergerequest.MergeRequest, error) {
			return w.requests.RequestReview(t.Context(), who, w.as(who), m.IID, user)
		}
		_, err = again(w.reporter, w.maintainer.UserID)
		wantError(t, err, errs.Forbidden, "")
		_, err = again(w.guest, w.maintainer.UserID)
		wantError(t, err, errs.NotFound, "")
		_, err = again(w.developer, w.owner.UserID)
		wantError(t, err, errs.Unprocessable, "Reviewer not found")
		got, err := again(w.developer, w.maintainer.UserID)
		check(t, err)
		equal(t, "state", got.Reviewers[0].State, "unreviewed")
		equal(t, "asked", len(asked), 1)
	})
}

// TestService_Update_strict refuses what an author without a role would otherwise not change.
func TestService_Update_strict(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "c\n"})
		w.exec("UPDATE members SET access_level = 20 WHERE user_id = ?", w.developer.UserID) // the author
		change := mergerequest.Changes{Assignees: &[]authz.UserID{w.developer.UserID}}
		got, err := w.requests.Update(t.Context(), w.developer, w.as(w.developer), m.IID, change)
		check(t, err)
		equal(t, "assignees", len(got.Assignees), 0)
		change.Strict = true
		_, err = w.requests.Update(t.Context(), w.developer, w.as(w.developer), m.IID, change)
		wantError(t, err, errs.Forbidden, "")
	})
}
