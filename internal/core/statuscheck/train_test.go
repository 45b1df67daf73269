package statuscheck_test

import (
	"context"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/approval/approvaltest"
	"tenon/internal/core/ci"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/statuscheck"
)

// A merge request enters a merge train when its external status checks passed, and leaves it when
// one of them fails, whatever its pipeline says.
func TestService_Respond_train(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.As(w.Maintainer)
		w.rules = safehttp.Rules{Local: true}
		w.Exec(`UPDATE projects SET settings = '{"only_allow_merge_if_all_status_checks_passed":true,"merge_pipelines_enabled":true,"merge_trains_enabled":true}' WHERE id = ?`, w.ID)
		c, err := w.checks.Create(ctx, w.Maintainer, p, statuscheck.Input{Name: "scan", URL: newService(t).URL})
		approvaltest.Check(t, err)
		told := ""
		event.On(w.Bus, "test", func(_ context.Context, e mergerequest.AutoMergeAborted) error { told = e.Reason; return nil })
		m := w.Open("topic", approvaltest.Files{"b": "b\n"})
		p = w.As(w.Maintainer)
		add := func() error {
			_, _, err := w.MergeRequests.AddToTrain(ctx, w.Maintainer, p, m.IID, mergerequest.MergeInput{})
			return err
		}
		answer := func(status statuscheck.Status) {
			t.Helper()
			_, err := w.checks.Respond(ctx, w.Developer, w.As(w.Developer), m.IID, statuscheck.Answer{CheckID: c.ID, SHA: m.HeadSHA, Status: status})
			approvaltest.Check(t, err)
			w.drain()
		}
		car := func() *mergerequest.CarView {
			v, err := w.MergeRequests.Car(ctx, w.Developer, w.As(w.Developer), m.IID)
			if !errs.Is(err, errs.NotFound) {
				approvaltest.Check(t, err)
			}
			return v
		}
		approvaltest.WantError(t, "add while nothing is known", add(), errs.NotAllowed, "the external status checks must pass")
		answer(statuscheck.Passed)
		approvaltest.Check(t, add())
		w.drain()
		approvaltest.Equal(t, "status of the car", car().Status, mergerequest.CarFresh)
		answer(statuscheck.Failed)
		approvaltest.Equal(t, "in the train after a failure", car() != nil, false)
		approvaltest.Equal(t, "told", told, "the external status checks must pass")

		answer(statuscheck.Passed)
		approvaltest.Check(t, add())
		w.drain()
		_, _, err = w.CI.Report(ctx, w.Developer, w.As(w.Developer), car().TrainSHA, ci.Input{State: ci.Success, Name: "test"})
		approvaltest.Check(t, err)
		w.drain()
		found, err := w.MergeRequests.Find(ctx, w.Developer, w.As(w.Developer), m.IID)
		approvaltest.Check(t, err)
		approvaltest.Equal(t, "state", found.State, mergerequest.StateMerged)
	})
}
