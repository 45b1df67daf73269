package mergerequest_test

import (
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/core/mergerequest"
)

// stack opens a merge request from base into main, and one from each of tops into base.
func (w *world) stack(base string, tops ...string) (lower *mergerequest.MergeRequest, upper []*mergerequest.MergeRequest) {
	w.T.Helper()
	lower = w.open(base, files{base: "1\n"})
	for _, top := range tops {
		w.push(top, w.tip(base), files{top: "1\n"}, "Change "+top)
		upper = append(upper, w.create(mergerequest.Input{SourceBranch: top, TargetBranch: base, Title: "Add " + top}))
	}
	w.drain()
	return lower, upper
}

// wantTargets compares where merge requests go.
func (w *world) wantTargets(requests []*mergerequest.MergeRequest, want ...string) {
	w.T.Helper()
	for i, m := range requests {
		now := w.read(m.IID)
		equal(w.T, "target of "+m.SourceBranch, now.TargetBranch, want[i])
		if want[i] == "main" {
			equal(w.T, "commits of "+m.SourceBranch, now.CommitsCount, 1)
		}
	}
}

// A merge that deletes its branch retargets the first four open merge requests into that branch.
func TestService_Merge_retargets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		lower, upper := w.stack("one", "two", "three", "four", "five", "six", "seven")
		_, err := w.requests.Update(t.Context(), w.developer, w.as(w.developer), upper[1].IID, mergerequest.Changes{Event: mergerequest.Close})
		check(t, err)
		_, err = w.merge(w.maintainer, lower.IID, mergerequest.MergeInput{RemoveSource: new(true)})
		check(t, err)
		w.drain()
		w.wantTargets(upper, "main", "one", "main", "main", "main", "one")
		last := w.updated[len(w.updated)-1]
		if last.By.UserID != w.maintainer.UserID || !last.TargetDeleted || last.Before.TargetBranch != "one" || last.Row().TargetBranch != "main" {
			t.Errorf("event: by %s, %+v", last.By.Username, last)
		}
	})
}

// A branch that is deleted some time after its merge retargets as well, but not one that was merged and then
// moved on, nor one that was never merged.
func TestService_branchDeleted_retargets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		merged, onMerged := w.stack("merged", "a")
		moved, onMoved := w.stack("moved", "b")
		_, onOpen := w.stack("open", "c")
		for _, m := range []*mergerequest.MergeRequest{merged, moved} {
			_, err := w.merge(w.maintainer, m.IID, mergerequest.MergeInput{})
			check(t, err)
		}
		w.drain()
		w.wantTargets(append(onMerged, onMoved...), "merged", "moved")
		w.push("moved", "", files{"later": "1\n"}, "Later")
		for _, branch := range []string{"merged", "moved", "open"} {
			w.move(branch, "")
		}
		w.drain()
		w.wantTargets(append(onMerged, append(onMoved, onOpen...)...), "main", "moved", "open")
	})
}

// A retargeted merge request that cannot go there stays as it is: there is one of these branches already, or
// it comes from the branch that it would go into.
func TestService_retargetOne_refused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		lower, upper := w.stack("one", "two")
		w.create(mergerequest.Input{SourceBranch: "two", TargetBranch: "main", Title: "Directly"})
		back := w.create(mergerequest.Input{SourceBranch: "main", TargetBranch: "one", Title: "Back"})
		_, err := w.merge(w.maintainer, lower.IID, mergerequest.MergeInput{RemoveSource: new(true)})
		check(t, err)
		w.drain()
		w.wantTargets(append(upper, back), "one", "one")
	})
}

// The deletion of a source branch closes its merge requests. They are reopened once the branch is there again.
func TestService_branchDeleted_closes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		m := w.open("topic", files{"c": "1\n"})
		tip := w.tip("topic")
		waiting := w.create(mergerequest.Input{SourceBranch: "not-there-yet", TargetBranch: "main", Title: "Waits for its branch"})
		w.move("topic", "")
		w.drain()
		got := w.read(m.IID)
		if got.State != mergerequest.StateClosed || got.ClosedAt == nil || got.ClosedByID == nil || *got.ClosedByID != w.developer.UserID {
			t.Errorf("state %s, closed by %v at %v", got.State, got.ClosedByID, got.ClosedAt)
		}
		equal(t, "without a branch so far", w.read(waiting.IID).State, mergerequest.StateOpened)
		reopen := func() error {
			_, err := w.requests.Update(ctx, w.developer, w.as(w.developer), m.IID, mergerequest.Changes{Event: mergerequest.Reopen, Title: new("Again")})
			return err
		}
		wantError(t, reopen(), errs.Unprocessable, `Source branch "topic" does not exist`)
		equal(t, "title after the refusal", w.read(m.IID).Title, "Add topic")
		w.move("topic", tip)
		w.drain()
		check(t, reopen())
		equal(t, "state", w.read(m.IID).State, mergerequest.StateOpened)
	})
}

// A branch that is deleted right after its commits were pushed to the target branch was merged, not closed.
func TestService_branchDeleted_merged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		m := w.open("topic", files{"c": "1\n"})
		w.move("main", w.tip("topic"))
		w.move("topic", "")
		w.drain()
		equal(t, "state", w.read(m.IID).State, mergerequest.StateMerged)
	})
}

// A pushed commit whose title says so makes a merge request a draft, once.
func TestService_draftCommit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		for i, title := range []string{"fixup! Change it", "squash! Change it", "Draft: not yet", "[draft] not yet", "(Draft) not yet"} {
			branch := "topic-" + string(rune('a'+i))
			m := w.open(branch, files{branch: "1\n"})
			w.push(branch, "", files{branch: "2\n"}, "A drafty fixup of no account")
			w.drain()
			equal(t, "title after an ordinary commit", w.read(m.IID).Title, "Add "+branch)
			sha := w.push(branch, "", files{branch: "3\n"}, title)
			w.push(branch, "", files{branch: "4\n"}, "More")
			w.drain()
			got := w.read(m.IID)
			if !got.Draft || got.Title != "Draft: Add "+branch {
				t.Errorf("%s: title %q, draft %t", title, got.Title, got.Draft)
			}
			if last := w.updated[len(w.updated)-1]; last.DraftCommit != sha[:8] || last.Before.Title != "Add "+branch {
				t.Errorf("%s: event %+v, want %s", title, last, sha[:8])
			}
			_, err := w.requests.Update(t.Context(), w.developer, w.as(w.developer), m.IID, mergerequest.Changes{Title: new("Ready")})
			check(t, err)
			w.push(branch, "", files{branch: "5\n"}, "Last")
			w.drain()
			equal(t, title+": title after the next push", w.read(m.IID).Title, "Ready")
		}
		// A commit that comes from the target branch says nothing of the merge request.
		m := w.open("behind", files{"behind": "1\n"})
		w.push("main", "", files{"main": "1\n"}, "fixup! of another branch")
		w.move("behind", w.write([]string{w.tip("behind"), w.tip("main")}, files{"main": "1\n"}, "Merge main").String())
		w.drain()
		equal(t, "title", w.read(m.IID).Title, "Add behind")
	})
}
