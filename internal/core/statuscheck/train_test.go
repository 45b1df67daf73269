package statuscheck_test

import (
	"context"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/statuscheck"
)

// A merge request enters a merge train when its external status checks passed, and leaves it when
// one of them fails, whatever its pipeline says.
func TestService_Respond_train(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.as(w.maintainer)
		w.rules = safehttp.Rules{Local: true}
		w.exec(`UPDATE projects SET settings = '{"only_allow_merge_if_all_status_checks_passed":true,"merge_pipelines_enabled":true,"merge_trains_enabled":true}' WHERE id = ?`, w.id)
		c, err := w.checks.Create(ctx, w.maintainer, p, statuscheck.Input{Name: "scan", URL: newService(t).URL})
		check(t, err)
		told := ""
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.AutoMergeAborted) error { told = e.Reason; return nil })
		m := w.open("topic", files{"b": "b\n"})
		p = w.as(w.maintainer)
		add := func() error {
			_, _, err := w.requests.AddToTrain(ctx, w.maintainer, p, m.IID, mergerequest.MergeInput{})
			return err
		}
		answer := func(status statuscheck.Status) {
			t.Helper()
			_, err := w.checks.Respond(ctx, w.developer, w.as(w.developer), m.IID, statuscheck.Answer{CheckID: c.ID, SHA: m.HeadSHA, Status: status})
			check(t, err)
			w.drain()
		}
		car := func() *mergerequest.CarView {
			v, err := w.requests.Car(ctx, w.developer, w.as(w.developer), m.IID)
			if !errs.Is(err, errs.NotFound) {
				check(t, err)
			}
			return v
		}
		wantError(t, "add while nothing is known", add(), errs.NotAllowed, "the external status checks must pass")
		answer(statuscheck.Passed)
		check(t, add())
		w.drain()
		equal(t, "status of the car", car().Status, mergerequest.CarFresh)
		answer(statuscheck.Failed)
		equal(t, "in the train after a failure", car() != nil, false)
		equal(t, "told", told, "the external status checks must pass")

		answer(statuscheck.Passed)
		check(t, add())
		w.drain()
		_, _, err = w.ci.Report(ctx, w.developer, w.as(w.developer), car().TrainSHA, ci.Input{State: ci.Success, Name: "test"})
		check(t, err)
		w.drain()
		found, err := w.requests.Find(ctx, w.developer, w.as(w.developer), m.IID)
		check(t, err)
		equal(t, "state", found.State, mergerequest.StateMerged)
	})
}
