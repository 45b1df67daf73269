package mergerequest_test

import (
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/project"
)

// The cars of a merge train have pipelines of their own, which decide whether they are merged.
func TestService_Train_pipelines(t *testing.T) {
	eachPiped(t, func(t *testing.T, w *piped) {
		w.settings(`{"merge_pipelines_enabled":true,"merge_trains_enabled":true}`)
		var all []*mergerequest.MergeRequest
		for _, name := range []string{"one", "two"} {
			m := w.open(name, files{name: "x\n"})
			w.drain()
			w.idle()
			w.run("test", "success")
			all = append(all, m)
		}
		for _, m := range all {
			_, added, err := w.requests.AddToTrain(t.Context(), w.maintainer, w.as(w.maintainer), m.IID, mergerequest.MergeInput{})
			check(t, err)
			equal(t, m.SourceBranch+" was added", added, true)
			w.drain()
		}
		one, two := all[0], all[1]
		car := func(m *mergerequest.MergeRequest) *mergerequest.CarView {
			t.Helper()
			v, err := w.requests.Car(t.Context(), w.developer, w.as(w.developer), m.IID)
			check(t, err)
			return v
		}
		equal(t, "reference of the pipeline", car(one).Pipeline.Ref, "refs/merge-requests/1/train")
		equal(t, "source of the pipeline", car(one).Pipeline.Source, ci.ByMergeRequest)
		equal(t, "user of the pipeline", *car(one).Pipeline.UserID, w.maintainer.UserID)
		equal(t, "pipelines", w.lines(one), "1/train pending, 1/merge success | one pending")
		first := w.ask("test")
		wantValues(t, first, map[string]string{
			"CI_MERGE_REQUEST_EVENT_TYPE": "merge_train", "CI_COMMIT_SHA": car(one).TrainSHA, "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": w.tip("main"),
		})
		second := w.ask("test")
		equal(t, "commit of the second", second.Pipeline.SHA, car(two).TrainSHA)
		// The pipeline of the request itself is not that of its car.
		view, err := w.requests.Builds(t.Context(), w.developer, w.as(w.developer), w.read(one.IID))
		check(t, err)
		equal(t, "head pipeline", view.Head.Ref, "refs/merge-requests/1/merge")

		// The first fails and leaves; the second is made again, and its former pipeline is canceled.
		w.end(first, "failed")
		equal(t, "state of the first", w.read(one.IID).MergeWhenPipelineSucceeds, false)
		equal(t, "pipelines of the second", strings.HasPrefix(w.lines(two), "2/train pending, 2/train cancel"), true)
		w.run("test", "success")
		equal(t, "state of the second", w.read(two.IID).State, mergerequest.StateMerged)
		merged, err := db.Get[string](t.Context(), w.DB, "SELECT train_sha FROM merge_train_cars WHERE merge_request_id = ?", two.ID)
		check(t, err)
		equal(t, "main", w.tip("main"), merged)

		// A car that leaves takes what runs with it.
		_, _, err = w.requests.AddToTrain(t.Context(), w.maintainer, w.as(w.maintainer), one.IID, mergerequest.MergeInput{})
		check(t, err)
		w.drain()
		equal(t, "pipelines when added again", strings.HasPrefix(w.lines(one), "1/train pending, 1/train failed"), true)
		_, err = w.requests.CancelAutoMerge(t.Context(), w.maintainer, w.as(w.maintainer), one.IID)
		check(t, err)
		w.drain()
		equal(t, "pipelines after the cancel", strings.HasPrefix(w.lines(one), "1/train canceled"), true)

		// So has a car whose commit is that of its source branch, which has pipelines already.
		w.exec("UPDATE projects SET merge_method = ? WHERE id = ?", project.MergeFF, w.id)
		three := w.open("three", files{"three": "x\n"})
		w.drain()
		w.idle()
		w.run("test", "success")
		_, _, err = w.requests.AddToTrain(t.Context(), w.maintainer, w.as(w.maintainer), three.IID, mergerequest.MergeInput{})
		check(t, err)
		w.drain()
		equal(t, "commit by fast-forward", car(three).TrainSHA, three.HeadSHA)
		equal(t, "state before its pipeline ends", w.read(three.IID).State, mergerequest.StateOpened)
		equal(t, "reference by fast-forward", w.ask("test").Pipeline.Ref, "refs/merge-requests/3/train")
	})
}
