package issue_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/issue"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
)

func ptr[T any](v T) *T { return &v }

func TestService_Update(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		var updates []issue.Updated
		var states []string
		event.On(f.Bus, "test", func(_ context.Context, e issue.Updated) error { updates = append(updates, e); return nil })
		event.On(f.Bus, "test", func(context.Context, issue.Closed) error { states = append(states, "closed"); return nil })
		event.On(f.Bus, "test", func(context.Context, issue.Reopened) error { states = append(states, "reopened"); return nil })
		i := f.create(f.guest, issue.Input{Title: "Old", Labels: []string{}})
		p := f.Find(f.planner, f.id)

		got, err := f.issues.Update(ctx, f.planner, p, i.IID, issue.Changes{
			Title: ptr("New"), StateEvent: "close",
			DueDate: ptr("2023-06-01"), Weight: ptr(int64(3)),
			Labels: label.Assignment{Add: []string{"a", "b"}}, AssigneeIDs: &[]authz.UserID{f.planner.UserID, f.guest.UserID},
			Attributes: issue.Attributes{Description: ptr("text"), Confidential: ptr(true), DiscussionLocked: ptr(true), Type: ptr(issue.Incident)},
		})
		if err != nil {
			t.Fatal(err)
		}
		again, err := f.issues.Find(ctx, f.planner, p, i.IID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(label.Titles(got.Labels), label.Titles(again.Labels)); diff != "" {
			t.Errorf("labels answered and stored differ (-answered +stored):\n%s", diff)
		}
		got.Labels = again.Labels
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("answered and stored differ (-answered +stored):\n%s", diff)
		}
		if got.State != issue.StateClosed || got.ClosedAt == nil || *got.ClosedByID != f.planner.UserID || !got.Locked() ||
			got.Title != "New" || *got.Weight != 3 || got.Type != issue.Incident || !got.UpdatedAt.After(i.UpdatedAt.Time) {
			t.Errorf("updated %+v", got)
		}
		if len(updates) != 1 {
			t.Fatalf("published %+v", updates)
		}
		f1 := updates[0].Changed()
		want := []string{
			"title", "description", "state", "issue_type", "confidential", "discussion_locked", "due_date", "weight", "closed_at", "closed_by_id",
			"updated_by_id", "last_edited_at", "last_edited_by_id", "updated_at", "labels", "assignees",
		}
		if got := f1.Columns(); !slices.Equal(got, want) {
			t.Errorf("changed %q, want %q", got, want)
		}
		if labels, _ := updates[0].Labelled(); f1.Changes()["title"] != (change.Values{Before: "Old", After: "New"}) || len(labels) != 2 {
			t.Errorf("published %+v", updates[0])
		}

		got, err = f.issues.Update(ctx, f.planner, p, i.IID, issue.Changes{
			StateEvent: "reopen", DueDate: ptr(""), ClearWeight: true, AssigneeIDs: &[]authz.UserID{},
			Labels: label.Assignment{Add: []string{"c"}, Remove: []string{"a"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.State != issue.StateOpened || got.ClosedAt != nil || got.ClosedByID != nil || got.DueDate != nil || got.Weight != nil || len(got.Assignees) != 0 {
			t.Errorf("reopened %+v", got)
		}
		if titles := label.Titles(got.Labels); !slices.Equal(titles, []string{"b", "c"}) {
			t.Errorf("labels = %q, want b and c", titles)
		}
		got, err = f.issues.Update(ctx, f.planner, p, i.IID, issue.Changes{Labels: label.Assignment{Set: &[]string{}}})
		if err != nil || len(got.Labels) != 0 {
			t.Errorf("labels = %v, %v, want none", got.Labels, err)
		}
		if !slices.Equal(states, []string{"closed", "reopened"}) {
			t.Errorf("states = %q", states)
		}

		// What changes nothing leaves the time alone and publishes nothing.
		before := len(updates)
		same, err := f.issues.Update(ctx, f.planner, p, i.IID, issue.Changes{Title: ptr("New"), StateEvent: "reopen"})
		if err != nil || !same.UpdatedAt.Equal(got.UpdatedAt.Time) || len(updates) != before {
			t.Errorf("unchanged: %+v, %v, %d events", same, err, len(updates)-before)
		}
	})
}

func TestService_Update_permissions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		mine := f.create(f.stranger, issue.Input{Title: "Mine", AssigneeIDs: []authz.UserID{f.guest.UserID}})
		hidden := f.create(f.owner, issue.Input{Attributes: issue.Attributes{Confidential: new(true)}})
		all := issue.Changes{
			Title: ptr("Changed"), Labels: label.Assignment{Add: []string{"x"}},
			AssigneeIDs: &[]authz.UserID{}, UpdatedAt: ptr(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)),
			Attributes: issue.Attributes{Confidential: ptr(true)},
		}
		got, err := f.issues.Update(ctx, f.stranger, f.Find(f.stranger, f.id), mine.IID, all)
		if err != nil {
			t.Fatal(err)
		}
		if got.Title != "Changed" || got.Confidential || len(got.Labels) != 0 || len(got.Assignees) != 1 || got.UpdatedAt.Year() == 2001 {
			t.Errorf("an author below planner changed more than the text: %+v", got)
		}
		_, err = f.issues.Update(ctx, f.stranger, f.Find(f.stranger, f.id), mine.IID, issue.Changes{Strict: true, Attributes: issue.Attributes{Confidential: ptr(true)}})
		wantKind(t, err, errs.Forbidden)
		if _, err := f.issues.Update(ctx, f.guest, f.Find(f.guest, f.id), mine.IID, issue.Changes{StateEvent: "close"}); err != nil {
			t.Errorf("the assignee closes: %v", err)
		}
		if got, err := f.issues.Update(ctx, f.owner, f.Find(f.owner, f.id), mine.IID, all); err != nil || got.UpdatedAt.Year() != 2001 {
			t.Errorf("the owner sets the time: %v, %v", got, err)
		}
		f.set("UPDATE issues SET confidential = false WHERE id = ?", mine.ID)
		other := f.User("other")
		_, err = f.issues.Update(ctx, other, f.Find(other, f.id), mine.IID, all)
		wantKind(t, err, errs.Forbidden)
		_, err = f.issues.Update(ctx, other, f.Find(other, f.id), hidden.IID, all)
		wantKind(t, err, errs.NotFound)
		_, err = f.issues.Update(ctx, authz.Actor{}, f.Find(authz.Actor{}, f.id), mine.IID, all)
		wantKind(t, err, errs.Unauthorized)
		_, err = f.issues.Update(ctx, f.owner, f.Find(f.owner, f.id), mine.IID, issue.Changes{Title: ptr("")})
		if errText(err) != "update issue: title can't be blank" || !errs.Is(err, errs.Invalid) {
			t.Errorf("blank title: %v", err)
		}
	})
}

func TestService_Create_assigneesMustRead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		f.set("UPDATE namespaces SET visibility = 0")
		i := f.create(f.owner, issue.Input{AssigneeIDs: []authz.UserID{f.guest.UserID, f.stranger.UserID, 0, -1}})
		if !slices.Equal(i.Assignees, []authz.UserID{f.guest.UserID}) {
			t.Errorf("assignees = %v, want the guest alone", i.Assignees)
		}
	})
}

func TestService_Delete(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		for _, tt := range []struct {
			name string
			as   authz.Actor
			want errs.Kind
		}{
			{"owner", f.owner, 0},
			{"planner", f.planner, 0},
			{"reporter", f.reporter, errs.Forbidden},
			{"author", f.stranger, errs.Forbidden},
			{"nobody", authz.Actor{}, errs.Unauthorized},
		} {
			i := f.create(f.stranger, issue.Input{Labels: []string{"l"}, AssigneeIDs: []authz.UserID{f.guest.UserID}})
			err := f.issues.Delete(ctx, tt.as, f.Find(tt.as, f.id), i.IID)
			if tt.want != 0 {
				if errs.KindOf(err) != tt.want {
					t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			_, err = f.issues.Find(ctx, f.owner, f.Find(f.owner, f.id), i.IID)
			wantKind(t, err, errs.NotFound)
			if next := f.create(f.owner, issue.Input{}); next.IID <= i.IID {
				t.Errorf("number %d was given out again", next.IID)
			}
		}
		i := f.create(f.owner, issue.Input{})
		as := f.owner
		as.UnmodifiedSince = i.UpdatedAt.Add(-time.Hour)
		wantKind(t, f.issues.Delete(ctx, as, f.Find(f.owner, f.id), i.IID), errs.PreconditionFailed)
		as.UnmodifiedSince = i.UpdatedAt.Time
		if err := f.issues.Delete(ctx, as, f.Find(f.owner, f.id), i.IID); err != nil {
			t.Errorf("delete what did not change: %v", err)
		}
	})
}

// TestService_CloseAll_deleted closes issues in a transaction; the first is deleted at
// the same time. The transaction goes on with the others.
func TestService_CloseAll_deleted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := setUp(t, d)
		p := f.Find(f.planner, f.id)
		gone, other := f.create(f.planner, issue.Input{Title: "Gone"}), f.create(f.planner, issue.Input{Title: "Other"})
		event.On(f.Bus, "test", func(_ context.Context, e issue.Closed) error {
			if e.Row().ID == gone.ID {
				return errs.Missing("") // as the locked read says of a row that was deleted after Find
			}
			return nil
		})
		err := d.InTx(ctx, func(ctx context.Context) error {
			return f.issues.CloseAll(ctx, f.planner, []int64{int64(gone.ID), int64(other.ID), 99_999}, noteable.Cause{})
		})
		if err != nil {
			t.Fatalf("close all: %v", err)
		}
		for i, want := range map[*issue.Issue]issue.State{gone: issue.StateOpened, other: issue.StateClosed} {
			if got, err := f.issues.Find(ctx, f.planner, p, i.IID); err != nil || got.State != want {
				t.Errorf("%s is %v (%v), want %s", i.Title, got.State, err, want)
			}
		}
	})
}
