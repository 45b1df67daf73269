package ci_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/ci"
)

func TestService_Finish_together(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		var text, want strings.Builder
		text.WriteString("stages: [one, two]\n")
		for i := range 20 {
			fmt.Fprintf(&text, "job%02d: {stage: one, script: x}\n", i)
			fmt.Fprintf(&want, "job%02d:success ", i)
		}
		p := w.begin(text.String() + "test: {stage: two, script: x}\n")
		var all sync.WaitGroup
		for range 20 {
			a := w.ask(token)
			if a == nil {
				t.Fatal("no job")
			}
			all.Go(func() {
				h, err := w.ci.Hold(t.Context(), a.Job.ID, a.Token)
				if err == nil {
					_, _, err = w.ci.Append(t.Context(), h, 0, []byte("done\n"))
				}
				if err == nil {
					_, err = w.ci.Finish(t.Context(), h, ci.Outcome{State: "success"})
				}
				if err != nil {
					t.Errorf("end of %s: %v", a.Job.Name, err)
				}
			})
		}
		all.Wait()
		w.wantStates(p, "all at once", want.String()+"test:pending = running")
		w.run(token, "test")
		w.wantStates(p, "at the end", want.String()+"test:success = success")
		queued, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM job_queue")
		if err != nil || queued != 0 {
			t.Errorf("%d jobs, %v, are queued", queued, err)
		}
	})
}

// A job that its runner ends, that a user cancels and that another user cancels ends once.
func TestService_CancelJob_together(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		for range 5 {
			p := w.begin(twoStages)
			a := w.take(token, "build")
			h := w.hold(a)
			var all sync.WaitGroup
			all.Go(func() {
				var ended *ci.NotRunningError
				if _, err := w.ci.Finish(t.Context(), h, ci.Outcome{State: "success"}); err != nil && !errors.As(err, &ended) {
					t.Errorf("finish: %v", err)
				}
			})
			for range 2 {
				all.Go(func() {
					if _, err := w.ci.Cancel(t.Context(), w.developer, w.as(w.developer), p.ID); err != nil {
						t.Errorf("cancel: %v", err)
					}
				})
			}
			all.Wait()
			got := w.states(p)
			if got != "build:canceled test:canceled = canceled" && got != "build:success test:canceled = canceled" {
				t.Errorf("got %s", got)
			}
		}
	})
}

func TestService_Run_together(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.push("work", yml(oneJob), "Begin")
		p := w.as(w.developer)
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				if _, err := w.ci.Run(t.Context(), w.developer, p, ci.RunInput{Ref: "work", Source: ci.ByAPI}); err != nil {
					t.Errorf("run: %v", err)
				}
			})
		}
		all.Wait()
		numbers := map[int64]bool{}
		for _, one := range w.pipelines(w.id, "work") {
			numbers[one.IID] = true
			w.wantStates(&one, "made", "build:pending = pending")
		}
		if len(numbers) != 13 || !numbers[13] {
			t.Errorf("numbers %v, want 1 to 13", numbers)
		}
	})
}

// Of many who retry one job at once, one does.
func TestService_RetryJob_together(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		token := w.runner("instance_type", nil)
		p := w.begin(oneJob)
		a := w.take(token, "build")
		w.fail(a)
		project := w.as(w.developer)
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if _, err := w.ci.RetryJob(t.Context(), w.developer, project, a.Job.ID); err != nil && !errs.Is(err, errs.Forbidden) {
					t.Errorf("retry: %v", err)
				}
			})
		}
		all.Wait()
		w.wantStates(p, "retried", "build:pending = pending")
		n, err := db.Get[int](t.Context(), w.DB, "SELECT COUNT(*) FROM commit_statuses WHERE pipeline_id = ?", p.ID)
		if err != nil || n != 2 {
			t.Errorf("%d jobs, %v, want 2", n, err)
		}
	})
}
