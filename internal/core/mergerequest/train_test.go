package mergerequest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// eachTrain is eachChecked for a project with merge trains.
func eachTrain(t *testing.T, fn func(t *testing.T, w *checked)) {
	t.Helper()
	eachChecked(t, func(t *testing.T, w *checked) {
		w.trains(true)
		event.On(w.Bus, "merge trains", func(ctx context.Context, e ci.PipelineChanged) error {
			return w.requests.OnCarPipeline(ctx, *e.Row())
		})
		fn(t, w)
	})
}

func (c *checked) trains(on bool) {
	c.T.Helper()
	c.exec("UPDATE projects SET settings = ? WHERE id = ?", fmt.Sprintf(`{"merge_pipelines_enabled":true,"merge_trains_enabled":%t,"merge_trains_skip_train_allowed":true}`, on), c.id)
}

func (c *checked) add(iid mergerequest.IID, in mergerequest.MergeInput) bool {
	c.T.Helper()
	_, added, err := c.requests.AddToTrain(c.T.Context(), c.maintainer, c.as(c.maintainer), iid, in)
	check(c.T, err)
	return added
}

// board opens a request from a branch, adds it to the train of main and lets the train run.
func (c *checked) board(branch string) *mergerequest.MergeRequest {
	c.T.Helper()
	m := c.open(branch, files{branch: "x\n"})
	equal(c.T, branch+" was added", c.add(m.IID, mergerequest.MergeInput{}), true)
	c.drain()
	return m
}

func (c *checked) car(m *mergerequest.MergeRequest) *mergerequest.CarView {
	c.T.Helper()
	v, err := c.requests.Car(c.T.Context(), c.developer, c.as(c.developer), m.IID)
	check(c.T, err)
	return v
}

// train is what the train of main holds: the number, status and base of each car in order.
func (c *checked) train() string {
	c.T.Helper()
	list, err := c.requests.Cars(c.T.Context(), c.developer, c.as(c.developer), mergerequest.CarFilter{TargetBranch: "main", Scope: mergerequest.ActiveCars, Asc: true})
	check(c.T, err)
	at, out := c.tip("main"), []string{}
	for _, v := range list.Items {
		on := "elsewhere"
		if v.BaseSHA == at {
			on = "coupled"
		}
		if got := c.ref(v.MergeRequest); got != v.TrainSHA {
			c.T.Errorf("reference of !%d names %q, want %q", v.MergeRequest.IID, got, v.TrainSHA)
		}
		out, at = append(out, fmt.Sprintf("!%d %s %s", v.MergeRequest.IID, v.Status, on)), v.TrainSHA
	}
	return strings.Join(out, ", ")
}

// ref is the commit that the train reference of a request names, "" for none.
func (c *checked) ref(m *mergerequest.MergeRequest) string {
	c.T.Helper()
	id, err := c.git().Ref(c.T.Context(), gitstore.RefName(fmt.Sprintf("refs/merge-requests/%d/train", m.IID)))
	if err != nil {
		return ""
	}
	return id.String()
}

// judge reports how the checks of a car's commit ended, as a system does that knows the commit
// alone.
func (c *checked) judge(m *mergerequest.MergeRequest, state ci.State) {
	c.T.Helper()
	_, _, err := c.checks.Report(c.T.Context(), c.developer, c.as(c.developer), c.car(m).TrainSHA, ci.Input{State: state, Name: "test"})
	check(c.T, err)
	c.drain()
}

// A train merges its cars in order, each as the commit that was checked. One that fails leaves,
// and those behind it are made again.
func TestService_Train(t *testing.T) {
	t.Parallel()
	eachTrain(t, func(t *testing.T, w *checked) {
		a, b, c := w.board("a1"), w.board("b1"), w.board("c1")
		equal(t, "train", w.train(), "!1 fresh coupled, !2 fresh coupled, !3 fresh coupled")
		equal(t, "parents of the first car", parents(w.commit(w.car(a).TrainSHA)), w.tip("main")+" "+a.HeadSHA)
		equal(t, "parents of the second car", parents(w.commit(w.car(b).TrainSHA)), w.car(a).TrainSHA+" "+b.HeadSHA)
		equal(t, "file of the first in the third", w.file(w.car(c).TrainSHA, "a1"), "x\n")
		first := w.car(a)
		equal(t, "pipeline", first.Pipeline.Ref, "refs/merge-requests/1/train")
		equal(t, "user", first.User.Username, "mary")
		equal(t, "told", w.last(), "mary enabled at "+c.HeadSHA)
		equal(t, "added again", w.add(a.IID, mergerequest.MergeInput{}), true)
		equal(t, "car when added again", w.car(a).ID, first.ID)
		_, _, err := w.requests.AddToTrain(t.Context(), w.maintainer, w.as(w.maintainer), a.IID, mergerequest.MergeInput{SHA: "beef"})
		wantError(t, err, errs.Conflict, "SHA does not match HEAD of source branch")

		// The second waits for the first, which fails and leaves.
		w.judge(b, ci.Success)
		equal(t, "second before the first", w.read(b.IID).State, mergerequest.StateOpened)
		old := w.car(b).TrainSHA
		w.judge(a, ci.Failed)
		equal(t, "told", w.last(), "mary the pipeline did not succeed")
		equal(t, "first waits", w.read(a.IID).MergeWhenPipelineSucceeds, false)
		_, err = w.requests.Car(t.Context(), w.developer, w.as(w.developer), a.IID)
		wantError(t, err, errs.NotFound, "")
		equal(t, "reference of the first", w.ref(a), "")
		equal(t, "train after a failure", w.train(), "!2 fresh coupled, !3 fresh coupled")
		if w.car(b).TrainSHA == old {
			t.Error("the second car was not made again")
		}
		w.judge(b, ci.Success)
		done := w.read(b.IID)
		equal(t, "state of the second", done.State, mergerequest.StateMerged)
		equal(t, "merged by", *done.MergeUserID, w.maintainer.UserID)
		merged := w.car(b)
		equal(t, "main", w.tip("main"), merged.TrainSHA)
		equal(t, "merge commit", *done.MergeCommitSHA, merged.TrainSHA)
		equal(t, "status", merged.Status, mergerequest.CarMerged)
		equal(t, "merged at", merged.MergedAt != nil, true)
		equal(t, "reference of the second", w.ref(b), "")
		equal(t, "third as it was", w.train(), "!3 fresh coupled")

		// A push to the target branch beside the train.
		stale := w.car(c).TrainSHA
		w.push("main", "", files{"beside": "x\n"}, "Beside the train")
		w.judge(c, ci.Success)
		w.drain()
		equal(t, "train after a push to the target", w.train(), "!3 fresh coupled")
		equal(t, "state after a push", w.read(c.IID).State, mergerequest.StateOpened)
		if w.car(c).TrainSHA == stale {
			t.Error("the car was not made again after a push to the target branch")
		}

		// A push to the source branch.
		w.push("c1", "", files{"c1": "y\n"}, "More")
		w.drain()
		equal(t, "told", w.last(), "dave the source branch was updated")
		equal(t, "train after a push to the source", w.train(), "")
		equal(t, "reference of the third", w.ref(c), "")

		// By hand, at once, and by itself when a pipeline succeeds.
		w.report("c1", ci.Running)
		equal(t, "enters at once", w.add(c.IID, mergerequest.MergeInput{WhenReady: true}), false)
		w.report("c1", ci.Success)
		w.drain()
		equal(t, "train", w.train(), "!3 fresh coupled")
		w.add(a.IID, mergerequest.MergeInput{})
		_, err = w.requests.CancelAutoMerge(t.Context(), w.developer, w.as(w.developer), c.IID)
		check(t, err)
		equal(t, "told", w.last(), "dave canceled")
		_, err = w.requests.CancelAutoMerge(t.Context(), w.maintainer, w.as(w.maintainer), c.IID)
		wantError(t, err, errs.NotAcceptable, "")
		w.drain()
		equal(t, "train after the cancel", w.train(), "!1 fresh coupled")
		_, err = w.merge(w.maintainer, a.IID, mergerequest.MergeInput{})
		check(t, err)
		w.drain()
		equal(t, "status of what was merged at once", w.car(a).Status, mergerequest.CarSkipMerged)
		_, err = w.merge(w.maintainer, c.IID, mergerequest.MergeInput{WhenReady: true})
		check(t, err)
		w.drain()
		equal(t, "train after a merge that waits", w.train(), "!3 fresh coupled")
		list, err := w.requests.Cars(t.Context(), w.developer, w.as(w.developer), mergerequest.CarFilter{Scope: mergerequest.CompleteCars})
		check(t, err)
		equal(t, "complete", len(list.Items), 2)
		equal(t, "newest", list.Items[0].MergeRequest.IID, a.IID)
		done, err = w.merge(w.maintainer, c.IID, mergerequest.MergeInput{WhenReady: true, SkipTrain: true})
		check(t, err)
		equal(t, "state without the train", done.State, mergerequest.StateMerged)
		equal(t, "status without the train", w.car(c).Status, mergerequest.CarSkipMerged)
	})
}

// What happens to a request, its user or its project takes it out of the train.
func TestService_Train_leaves(t *testing.T) {
	t.Parallel()
	eachTrain(t, func(t *testing.T, w *checked) {
		title, closed := "Draft: x", mergerequest.Close
		for i, row := range []struct {
			name string
			do   func(m *mergerequest.MergeRequest)
			told string
			undo func()
		}{
			{"draft", func(m *mergerequest.MergeRequest) { w.update(m, mergerequest.Changes{Title: &title}) }, "dave the merge request was marked as draft", nil},
			{"closed", func(m *mergerequest.MergeRequest) { w.update(m, mergerequest.Changes{Event: closed}) }, "dave the merge request was closed", nil},
			{"conflict", func(m *mergerequest.MergeRequest) {
				w.push("main", "", files{m.SourceBranch: "other\n"}, "Conflict")
			}, "mary the branch cannot be merged", nil},
			{"blocked", func(m *mergerequest.MergeRequest) {
				other := w.open("blocker", files{"blocker": "x\n"})
				_, err := w.requests.AddBlock(t.Context(), w.developer, w.as(w.developer), m.IID, other.ID)
				check(t, err)
			}, "mary other merge requests must be merged first", nil},
			{"demoted", func(*mergerequest.MergeRequest) {
				w.exec("UPDATE members SET access_level = 30 WHERE user_id = ?", w.maintainer.UserID)
			}, "mary the user who enabled it may no longer merge", func() { w.exec("UPDATE members SET access_level = 40 WHERE user_id = ?", w.maintainer.UserID) }},
			{"trains disabled", func(*mergerequest.MergeRequest) { w.trains(false) }, "mary merge trains were disabled", func() { w.trains(true) }},
		} {
			m, behind := w.board(fmt.Sprint("leaves", i)), w.board(fmt.Sprint("behind", i))
			w.exec("UPDATE merge_train_cars SET status = 'stale', base_sha = ? WHERE merge_request_id = ?", "", m.ID) // so that it is looked at
			row.do(m)
			check(t, w.requests.Settle(t.Context(), db.At(time.Now())))
			w.drain()
			told := w.told
			if row.name == "demoted" || row.name == "trains disabled" { // so does the one behind
				told = told[:len(told)-1]
			}
			equal(t, row.name, told[len(told)-1], row.told)
			equal(t, row.name+": reference", w.ref(m), "")
			if row.undo != nil {
				row.undo()
				continue
			}
			equal(t, row.name+": train", w.train(), fmt.Sprintf("!%d fresh coupled", behind.IID))
			check(t, w.requests.Delete(t.Context(), w.owner, w.as(w.owner), behind.IID))
			w.drain()
			equal(t, row.name+": train after a deletion", w.train(), "")
		}

		m := w.open("refused", files{"refused": "x\n"})
		conflict := w.open("conflict", files{"a": "theirs\n"})
		w.push("main", "", files{"a": "ours\n"}, "Change a")
		for _, row := range []struct {
			name string
			as   authz.Actor
			m    *mergerequest.MergeRequest
			in   mergerequest.MergeInput
			kind errs.Kind
			text string
		}{
			{"reporter", w.reporter, m, mergerequest.MergeInput{}, errs.Unauthorized, ""},
			{"developer on a protected branch", w.developer, m, mergerequest.MergeInput{}, errs.Unauthorized, ""},
			{"sha", w.maintainer, m, mergerequest.MergeInput{SHA: "beef"}, errs.Conflict, "SHA does not match HEAD"},
			{"conflict", w.maintainer, conflict, mergerequest.MergeInput{}, errs.Unprocessable, "Branch cannot be merged"},
			{"no pipeline to wait for", w.maintainer, m, mergerequest.MergeInput{WhenReady: true}, errs.NotAllowed, "no pipeline is running"},
		} {
			_, _, err := w.requests.AddToTrain(t.Context(), row.as, w.as(row.as), row.m.IID, row.in)
			if err == nil || !errs.Is(err, row.kind) || !strings.Contains(err.Error(), row.text) {
				t.Errorf("%s: got %v, want %s %q", row.name, err, row.kind, row.text)
			}
		}
		w.trains(false)
		_, _, err := w.requests.AddToTrain(t.Context(), w.maintainer, w.as(w.maintainer), m.IID, mergerequest.MergeInput{})
		wantError(t, err, errs.Forbidden, "Merge trains are not enabled for this project")
		_, err = w.requests.Cars(t.Context(), w.reporter, w.as(w.reporter), mergerequest.CarFilter{})
		wantError(t, err, errs.Forbidden, "")
	})
}

func (c *checked) update(m *mergerequest.MergeRequest, changes mergerequest.Changes) {
	c.T.Helper()
	_, err := c.requests.Update(c.T.Context(), c.developer, c.as(c.developer), m.IID, changes)
	check(c.T, err)
}

// A train goes on where a crash left it, and calls at once are one.
func TestService_Train_interrupted(t *testing.T) {
	t.Parallel()
	eachTrain(t, func(t *testing.T, w *checked) {
		again := func() {
			t.Helper()
			check(t, mergerequest.New(w.deps).Settle(t.Context(), db.At(time.Now())))
			w.drain()
		}
		a := w.open("a1", files{"a1": "x\n"})
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if _, added, err := w.requests.AddToTrain(t.Context(), w.maintainer, w.as(w.maintainer), a.IID, mergerequest.MergeInput{}); err != nil || !added {
					t.Errorf("added at once: %t, %v", added, err)
				}
			})
		}
		wait.Wait()
		cars, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM merge_train_cars")
		check(t, err)
		equal(t, "cars", cars, 1)
		b := w.board("b1")
		equal(t, "train", w.train(), "!1 fresh coupled, !2 fresh coupled")

		// After the row of a car and before its reference; a commit that was swept meanwhile is made again.
		ref := gitstore.RefName("refs/merge-requests/1/train")
		check(t, w.git().UpdateRefs(t.Context(), []gitstore.RefUpdate{{Ref: ref, AnyOld: true}}))
		again()
		equal(t, "train without a reference", w.train(), "!1 fresh coupled, !2 fresh coupled")
		w.exec("UPDATE merge_train_cars SET train_sha = '0123456789012345678901234567890123456789' WHERE merge_request_id = ?", a.ID)
		again()
		equal(t, "train without a commit", w.train(), "!1 fresh coupled, !2 fresh coupled")

		// Before and after the target branch moves.
		lease := func(m *mergerequest.MergeRequest) {
			w.crash(m, w.car(m).TrainSHA, true)
			equal(t, "status while it is merged", w.car(m).Status, mergerequest.CarMerging)
		}
		lease(a)
		again()
		equal(t, "state before the branch moved", w.read(a.IID).State, mergerequest.StateOpened)
		equal(t, "train before the branch moved", w.train(), "!1 fresh coupled, !2 fresh coupled")
		lease(a)
		w.move("main", w.car(a).TrainSHA)
		again()
		equal(t, "state after the branch moved", w.read(a.IID).State, mergerequest.StateMerged)
		equal(t, "status after the branch moved", w.car(a).Status, mergerequest.CarMerged)
		equal(t, "train after the branch moved", w.train(), "!2 fresh coupled")

		// A pipeline that ended while no job was listening, and one that is behind.
		w.exec("UPDATE pipelines SET status = 'success' WHERE sha = ?", w.car(b).TrainSHA)
		again()
		equal(t, "state", w.read(b.IID).State, mergerequest.StateMerged)
		left, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM merge_train_cars WHERE pinned OR status NOT IN ('merged', 'skip_merged')")
		check(t, err)
		equal(t, "cars that are not done", left, 0)
	})
}

// Where only a fast-forward may be merged, a train makes the commits again on those before.
func TestService_Train_methods(t *testing.T) {
	t.Parallel()
	eachTrain(t, func(t *testing.T, w *checked) {
		for _, row := range []struct {
			method  string
			squash  bool
			parents int // of the tip
		}{
			{project.MergeFF, false, 1},
			{project.MergeFF, true, 1},
			{project.MergeRebase, false, 2},
			{project.MergeCommit, true, 2},
		} {
			w.exec("UPDATE projects SET merge_method = ? WHERE id = ?", row.method, w.id)
			name := fmt.Sprint(row.method, row.squash)
			one := w.open(name+"1", files{name + "1": "x\n"})
			two := w.open(name+"2", files{name + "2": "x\n"})
			w.push(name+"2", "", files{name + "3": "x\n"}, "Another")
			w.drain()
			w.add(one.IID, mergerequest.MergeInput{})
			w.add(two.IID, mergerequest.MergeInput{Squash: row.squash})
			w.drain()
			w.judge(two, ci.Success)
			w.judge(one, ci.Success)
			for _, m := range []*mergerequest.MergeRequest{one, two} {
				equal(t, name+": state", w.read(m.IID).State, mergerequest.StateMerged)
			}
			tip := w.commit(w.tip("main"))
			equal(t, name+": tip", tip.ID.String(), w.car(two).TrainSHA)
			equal(t, name+": parents", len(tip.Parents), row.parents)
			equal(t, name+": first file", w.file(tip.ID.String(), name+"1"), "x\n")
			equal(t, name+": last file", w.file(tip.ID.String(), name+"3"), "x\n")
			equal(t, name+": squashed", w.read(two.IID).SquashCommitSHA != nil, row.squash)
		}
	})
}
