package hookevent_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/approval"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/payload"
)

// TestService is a merge request on its way: each event is recorded with its change and handed on afterwards, in order, with the
// row as it was then.
func TestService(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		approvaltest.Equal(t, "recorded with the change", w.recorded(), 1)
		w.update(m.IID, mergerequest.Changes{Title: new("Two"), Description: new("![x](/uploads/1/x.png)"), Assignees: &[]authz.UserID{w.Owner.UserID}})
		w.update(m.IID, mergerequest.Changes{Title: new("Draft: Three"), Labels: label.Assignment{Add: []string{"bug"}}, Event: mergerequest.Close})
		w.update(m.IID, mergerequest.Changes{Event: mergerequest.Reopen})
		w.Push("topic", "", approvaltest.Files{"b": "c\n"}, "dave")
		approvaltest.Check(t, w.Jobs.Drain(ctx)) // the push is noticed
		w.Exec("UPDATE projects SET approvals_before_merge = 1 WHERE id = ?", w.ID)
		for _, as := range []authz.Actor{w.Reviewer, w.Maintainer} {
			_, err := w.approvals.Approve(ctx, as, w.As(as), m.IID, approval.Input{})
			approvaltest.Check(t, err)
		}
		w.update(m.IID, mergerequest.Changes{Title: new("Three")})
		approvaltest.Check(t, w.Merge(m.IID))
		approvaltest.Check(t, w.MergeRequests.Delete(ctx, w.Owner, w.As(w.Owner), m.IID))
		w.Exec("UPDATE users SET name = 'Renamed' WHERE id = ?", w.Developer.UserID)
		w.drain()

		want := []string{
			"open Add topic [] by Dave",
			"update Two [assignees description last_edited_at last_edited_by_id title updated_at updated_by_id] by Dave",
			"close Draft: Three [draft labels last_edited_at state_id title updated_at] by Dave",
			"reopen Draft: Three [state_id updated_at] by Dave",
			"update Draft: Three [updated_at] by Dave since " + m.HeadSHA,
			"approved Draft: Three [updated_at] by Ruth",
			"approved Draft: Three [updated_at] by Mary",
			"update Three [draft last_edited_at title updated_at] by Renamed", // users are read when the body is made
			"merge Three [merge_commit_sha merge_user_id state_id updated_at] by Mary",
		}
		var got []string
		last := int64(0)
		messages := w.listener.take()
		for _, e := range messages {
			b := body(t, e)
			line := fmt.Sprint(at(b, "object_attributes", "action"), " ", at(b, "object_attributes", "title"), " ", slices.Sorted(maps.Keys(b["changes"].(map[string]any))), " by ", at(b, "user", "name"))
			if since, ok := at(b, "object_attributes", "oldrev").(string); ok {
				line += " since " + since
			}
			got = append(got, line)
			if e.Event <= last || e.Chain == "" || e.At.IsZero() || e.Project == nil || e.Namespace == 0 || e.Trigger.Header() != "Merge Request Hook" {
				t.Errorf("message %+v after %d", e, last)
			}
			last = e.Event
		}
		approvaltest.Equal(t, "events", strings.Join(got, "\n"), strings.Join(want, "\n"))
		approvaltest.Equal(t, "left", w.recorded(), 0)
		b := body(t, messages[1])
		approvaltest.Equal(t, "images", at(b, "object_attributes", "description"), any("![x](http://tenon.test/group/shop/uploads/1/x.png)"))
		people := at(b, "changes", "assignees").(map[string]any)
		approvaltest.Equal(t, "assignees", fmt.Sprint(people["previous"], people["current"].([]any)[0].(map[string]any)["username"]), "[]olga")
		approvaltest.Equal(t, "labels", fmt.Sprint(at(b, "labels"), at(body(t, messages[2]), "labels").([]any)[0].(map[string]any)["title"]), "[]bug")
	})
}

// TestService_statements counts what a change costs that no recipient listens to: one statement, also where two events are about it.
func TestService_statements(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		w.drain()
		n := 0
		count := func(recipients ...payload.Recipient) (statements uint64) {
			w.connect(recipients...)
			for _, e := range []mergerequest.Event{mergerequest.Close, mergerequest.Reopen} {
				n++
				before := w.DB.Statements()
				w.update(m.IID, mergerequest.Changes{Title: new(fmt.Sprint("Title ", n)), Event: e})
				statements += w.DB.Statements() - before
			}
			return statements
		}
		w.listener.triggers = nil
		count(w.listener)
		silent := count()
		approvaltest.Equal(t, "statements of two changes with a recipient", count(w.listener), silent+2)
		approvaltest.Equal(t, "statements of two changes with three", count(w.listener, w.listener, w.listener), silent+2)
		approvaltest.Equal(t, "recorded", w.recorded(), 0)
	})
}

// TestService_undone has what is undone forgotten, and what a silent server does.
func TestService_undone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		w.drain()
		w.listener.take()
		undone := errors.New("undone")
		err := w.DB.InTx(t.Context(), func(ctx context.Context) error {
			f := mergerequest.Fact{Project: w.As(w.Developer)}
			f.By, f.At, f.Place, f.Before, f.After = w.Developer, w.Now(), f.Project.Place(), m, m
			if err := w.Bus.Publish(ctx, mergerequest.Closed{Fact: f}); err != nil {
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			t.Fatalf("got %v", err)
		}
		approvaltest.Equal(t, "recorded by a transaction that was undone", w.recorded(), 0)
		w.drain()
		w.silence(true)
		w.update(m.IID, mergerequest.Changes{Title: new("Silence")})
		approvaltest.Equal(t, "recorded in silent mode", w.recorded(), 0)
		w.silence(false)
		w.drain()
		approvaltest.Equal(t, "received", len(w.listener.take()), 0)
	})
}

// TestService_failures gives up an event whose body cannot be built, which holds up no other. One that cannot be received waits
// for as long as it takes.
func TestService_failures(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.Exec("INSERT INTO hook_events (tree_id, kind, head, data, attempts, created_at) VALUES (0, 'merge_request', '{}', 'nonsense', 0, ?)", w.Now())
		w.Exec("INSERT INTO hook_events (tree_id, kind, head, data, attempts, created_at) VALUES (0, 'of_a_newer_release', '{}', '{}', 0, ?)", w.Now())
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		for i := range 5 {
			approvaltest.Equal(t, "recorded", w.recorded() > 0, true)
			w.again()
			if err := w.Jobs.Drain(ctx); (err != nil) != (i < 4) {
				t.Errorf("attempt %d: got %v", i, err)
			}
			if got := len(w.listener.take()); (got == 1) != (i == 0) {
				t.Errorf("attempt %d: received %d", i, got)
			}
		}
		approvaltest.Equal(t, "recorded in the end", w.recorded(), 0)

		w.listener.fails = errors.New("no")
		w.update(m.IID, mergerequest.Changes{Title: new("Two")})
		for range 7 {
			w.again()
			if err := w.Jobs.Drain(ctx); err == nil {
				t.Error("no error of a recipient")
			}
		}
		w.listener.fails = nil
		w.drain()
		approvaltest.Equal(t, "received", len(w.listener.take()), 1)
		approvaltest.Equal(t, "left", w.recorded(), 0)
	})
}
