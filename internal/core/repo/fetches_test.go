package repo_test

import (
	"context"
	"fmt"
	"testing"

	"tenon/internal/base/errs"
	"tenon/internal/base/job"
	"tenon/internal/core/repo"
)

func TestService_Fetches(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.Insert("fetch_counts", map[string]any{"project_id": w.id, "day": "2023-04-22", "count": 9})
		w.Insert("fetch_counts", map[string]any{"project_id": w.id, "day": "2023-05-01", "count": 4})
		count := func(want string) {
			t.Helper()
			days, err := w.repos.Fetches(ctx, w.developer, w.as(w.developer))
			if err != nil || fmt.Sprint(days) != want {
				t.Errorf("got %v, %v, want %s", days, err, want)
			}
		}
		count("[{2023-05-01 4}]")
		w.repos.CountFetch(w.id)
		w.repos.CountFetch(w.id)
		w.repos.CountFetch(999) // gone before it is written down
		count("[{2023-05-22 2} {2023-05-01 4}]")
		for range 2 {
			check(t, w.repos.Flush(ctx))
		}
		w.repos.CountFetch(w.id)
		count("[{2023-05-22 3} {2023-05-01 4}]")
		check(t, w.repos.Stop(ctx))
		count("[{2023-05-22 3} {2023-05-01 4}]")
		_, err := w.repos.Fetches(ctx, w.reporter, w.as(w.reporter))
		wants(t, err, errs.Forbidden, "")
	})
}

func TestService_RequestHousekeeping(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		var asked []job.Args
		w.enqueue = func(_ context.Context, args job.Args, _ ...job.Option) error {
			asked = append(asked, args)
			return nil
		}
		ctx := t.Context()
		wants(t, w.repos.RequestHousekeeping(ctx, w.developer, w.as(w.developer)), errs.Forbidden, "")
		check(t, w.repos.RequestHousekeeping(ctx, w.maintainer, w.as(w.maintainer)))
		wants(t, w.repos.RequestHousekeeping(ctx, w.maintainer, w.as(w.maintainer)), errs.Conflict,
			"Somebody already triggered housekeeping for this resource in the past 60 minutes")
		if len(asked) != 1 || asked[0] != (repo.Housekeeping{ProjectID: w.id}) {
			t.Errorf("jobs: %v", asked)
		}
	})
}
