package mergerequest_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/coretest"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// A merge request waits for others: until they are merged or deleted, or the dependency is.
func TestService_Blocks(t *testing.T) {
	t.Parallel()
	eachChecked(t, func(t *testing.T, w *checked) {
		var added, removed []mergerequest.ID
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.DependencyAdded) error {
			added = append(added, e.Row().ID, e.Blocking.ID)
			return nil
		})
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.DependencyRemoved) error {
			removed = append(removed, e.Row().ID, e.Blocking.ID)
			return nil
		})
		event.On(w.Bus, "test", w.requests.OnProjectDeleted)
		first, second := w.open("first", files{"first": "x\n"}), w.open("second", files{"second": "x\n"})
		add := func(as authz.Actor, m *mergerequest.MergeRequest, blocking mergerequest.ID) (*mergerequest.Block, error) {
			return w.requests.AddBlock(t.Context(), as, w.as(as), m.IID, blocking)
		}
		// A merge request of a project that only the owner reads, and one of a project that goes.
		hide := func(path string) *mergerequest.MergeRequest {
			id := w.Project(path+"/shop", authz.Private, w.Group(path, authz.Private, 0))
			w.Join(id, w.owner, authz.Owner)
			m := mergerequest.ID(w.Insert("merge_requests", coretest.Row{
				"iid": 1, "target_project_id": id, "source_project_id": id, "target_branch": "main", "source_branch": "x",
				"author_id": w.owner.UserID, "title": "Hidden", "title_fold": "hidden", "state": "opened",
			}))
			return &mergerequest.MergeRequest{ID: m, IID: 1, ProjectID: id}
		}
		hidden, doomed := hide("secret"), hide("doomed")

		block, err := add(w.developer, second, first.ID)
		check(t, err)
		equal(t, "events", len(added), 2)
		equal(t, "blocked", added[0], second.ID)
		equal(t, "blocking", added[1], first.ID)
		equal(t, "blocked in the answer", block.Blocked.DetailedStatus(w.as(w.owner)), "blocked_status")
		for _, row := range []struct {
			name     string
			as       authz.Actor
			m        *mergerequest.MergeRequest
			blocking mergerequest.ID
			kind     errs.Kind
			text     string
		}{
			{"again", w.developer, second, first.ID, errs.Conflict, "Block already exists"},
			{"itself", w.developer, second, second.ID, errs.Invalid, "A merge request cannot block itself"},
			{"each other", w.developer, first, second.ID, errs.Invalid, "Merge requests cannot block each other"},
			{"hidden", w.developer, second, hidden.ID, errs.NotFound, "Merge Request not found"},
			{"absent", w.developer, second, 999999, errs.NotFound, "Merge Request not found"},
			{"reporter", w.reporter, second, first.ID, errs.Forbidden, ""},
			{"stranger", w.stranger, second, first.ID, errs.NotFound, ""},
		} {
			p, err := w.Projects.FindByID(t.Context(), w.owner, w.id)
			check(t, err)
			if row.as.UserID != w.stranger.UserID {
				p = w.as(row.as)
			}
			_, err = w.requests.AddBlock(t.Context(), row.as, p, row.m.IID, row.blocking)
			if err == nil || !errs.Is(err, row.kind) || err.Error() != row.text && row.text != "" {
				t.Errorf("%s: got %v, want %s %q", row.name, err, row.kind, row.text)
			}
		}
		for _, m := range []*mergerequest.MergeRequest{hidden, doomed} {
			_, err = add(w.owner, second, m.ID)
			check(t, err)
		}

		// Users that may not read a blocking merge request learn that there is one.
		list, err := w.requests.Blocks(t.Context(), w.reporter, w.as(w.reporter), second.IID)
		check(t, err)
		equal(t, "blocks", len(list), 3)
		equal(t, "first block", list[0].Blocking.ID, first.ID)
		equal(t, "hidden block is nil", list[1].Blocking == nil, true)
		equal(t, "blocked", list[1].Blocked.ID, second.ID)
		back, err := w.requests.Blockees(t.Context(), w.reporter, w.as(w.reporter), first.IID)
		check(t, err)
		equal(t, "blockees", len(back), 1)
		equal(t, "blockee", back[0].Blocked.ID, second.ID)
		_, err = w.requests.AddBlock(t.Context(), w.owner, w.Find(w.owner, hidden.ProjectID), 1, first.ID)
		check(t, err)
		back, err = w.requests.Blockees(t.Context(), w.reporter, w.as(w.reporter), first.IID)
		check(t, err)
		equal(t, "blockees that may be read", len(back), 1)

		// Every way to ask says that it is blocked, and a merge is refused.
		equal(t, "status", w.read(second.IID).DetailedStatus(w.as(w.owner)), "blocked_status")
		page, err := w.requests.List(t.Context(), w.reporter, w.as(w.reporter).Place(), mergerequest.Filter{})
		check(t, err)
		equal(t, "status in a list", page.Items[0].DetailedStatus(w.as(w.owner)), "blocked_status")
		_, err = w.merge(w.maintainer, second.IID, mergerequest.MergeInput{})
		wantError(t, err, errs.NotAllowed, "other merge requests must be merged first")
		v, err := w.requests.Mergeability(t.Context(), w.developer, w.as(w.developer), second.IID)
		check(t, err)
		equal(t, "mergeability", v.Status, "blocked_status")
		for _, c := range v.Conditions {
			if c.Name != mergerequest.BlockedByOthers {
				continue
			}
			equal(t, "names", len(c.Blocking), 1)
			equal(t, "named", c.Blocking[0].ID, first.ID)
			equal(t, "hidden", c.Hidden, 2)
			equal(t, "can change", c.CanChange, true)
		}

		// One that it cannot read, the developer cannot remove; a reporter none at all.
		remove := func(as authz.Actor, id mergerequest.BlockID) error {
			return w.requests.RemoveBlock(t.Context(), as, w.as(as), second.IID, id)
		}
		wantError(t, remove(w.developer, list[1].ID), errs.Forbidden, "")
		wantError(t, remove(w.reporter, block.ID), errs.Forbidden, "")
		wantError(t, w.requests.RemoveBlock(t.Context(), w.owner, w.as(w.owner), first.IID, block.ID), errs.NotFound, "")
		check(t, remove(w.owner, list[1].ID))
		equal(t, "removed", removed[1], hidden.ID)
		wantError(t, remove(w.owner, list[1].ID), errs.NotFound, "")

		// With one blocking merge request merged and the other one's project deleted, what was
		// set to merge by itself is merged.
		w.report("second", ci.Success)
		w.exec("UPDATE merge_requests SET merge_when_pipeline_succeeds = ?, merge_user_id = ?, auto_merge_sha = head_sha, auto_merge_admin = ? WHERE id = ?",
			true, w.maintainer.UserID, false, second.ID)
		check(t, w.requests.OnPipeline(t.Context(), w.id, "second", ci.Success))
		w.drain()
		equal(t, "state while it is blocked", w.read(second.IID).State, mergerequest.StateOpened)
		equal(t, "still waits", w.read(second.IID).MergeWhenPipelineSucceeds, true)
		_, err = w.merge(w.maintainer, first.IID, mergerequest.MergeInput{})
		check(t, err)
		w.drain()
		equal(t, "state while one blocks", w.read(second.IID).State, mergerequest.StateOpened)
		check(t, w.DB.InTx(t.Context(), func(ctx context.Context) error {
			return w.Bus.Publish(ctx, project.Deleted{Fact: project.Fact{Before: w.Find(w.owner, doomed.ProjectID), Stamp: w.owner.Stamp(w.Now())}})
		}))
		w.drain()
		equal(t, "state when nothing blocks", w.read(second.IID).State, mergerequest.StateMerged)
	})
}

// A dependency that comes between the checks of a merge and the merge stops it; two at once are
// one; the numbers are bounded, and a circle through others is refused.
func TestService_Blocks_atOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		list := make([]*mergerequest.MergeRequest, 12)
		for i := range list {
			name := string(rune('c' + i))
			list[i] = w.open(name, files{name: "x\n"})
		}
		add := func(blocked, blocking int) error {
			_, err := w.requests.AddBlock(t.Context(), w.developer, w.as(w.developer), list[blocked].IID, list[blocking].ID)
			return err
		}
		check(t, add(0, 1))
		check(t, add(1, 2))
		wantError(t, add(2, 0), errs.Invalid, "Merge requests cannot block each other")
		for i := 2; i <= 10; i++ {
			check(t, add(0, i))
		}
		wantError(t, add(0, 11), errs.Invalid, "A merge request can be blocked by at most 10 merge requests")

		var wait sync.WaitGroup
		results := make([]error, 4)
		for i := range results {
			wait.Go(func() { results[i] = add(11, 3) })
		}
		wait.Wait()
		made := 0
		for _, err := range results {
			if err == nil {
				made++
			} else if !errs.Is(err, errs.Conflict) {
				t.Errorf("two at once: got %v, want a conflict", err)
			}
		}
		equal(t, "made", made, 1)

		// Between the check and the merge.
		once := sync.OnceFunc(func() { check(t, add(4, 5)) })
		w.resolving = once
		w.exec("UPDATE merge_requests SET description = 'Closes #1' WHERE id = ?", list[4].ID)
		_, err := w.merge(w.maintainer, list[4].IID, mergerequest.MergeInput{})
		wantError(t, err, errs.NotAllowed, "changed meanwhile")
		equal(t, "state", w.read(list[4].IID).State, mergerequest.StateOpened)

		// Deleting the blocking one frees the other.
		w.resolving = nil
		check(t, w.requests.Delete(t.Context(), w.owner, w.as(w.owner), list[5].IID))
		done, err := w.merge(w.maintainer, list[4].IID, mergerequest.MergeInput{})
		check(t, errors.Join(err))
		equal(t, "state", done.State, mergerequest.StateMerged)
	})
}
