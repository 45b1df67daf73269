package setting_test

import (
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/errs"
	"tenon/internal/core/setting"
)

func TestStore(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := setting.New(d, time.Now)
		if got := s.Current(); got.DefaultProjectsLimit != 100_000 || got.Branch() != "main" || got.DefaultBranchProtection != 2 ||
			got.DefaultProjectVisibility != "private" || !got.CanCreateGroup || got.DeletionAdjournedPeriod != 7 {
			t.Errorf("defaults %+v", got)
		}
		for name, value := range map[string]any{"default_branch_name": "trunk", "default_projects_limit": 3, "can_create_group": false} {
			if err := s.Set(t.Context(), name, value); err != nil {
				t.Fatal(err)
			}
		}
		again := setting.New(d, time.Now)
		if err := again.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		for what, store := range map[string]*setting.Store{"at once": s, "after a restart": again} {
			if got := store.Current(); got.Branch() != "trunk" || got.DefaultProjectsLimit != 3 || got.CanCreateGroup {
				t.Errorf("%s: %+v", what, got)
			}
		}
	})
}

func TestStore_Set_refused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := setting.New(d, time.Now)
		for name, value := range map[string]any{"default_projects_limit": "many", "no_such_setting": true} {
			if err := s.Set(t.Context(), name, value); !errs.Is(err, errs.Invalid) {
				t.Errorf("%s: %v, want it refused", name, err)
			}
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM settings"); err != nil || n != 0 {
			t.Errorf("%d rows stored, %v", n, err)
		}
	})
}
