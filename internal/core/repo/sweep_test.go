package repo_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tenon/internal/core/repo"
)

func TestService_SweepAll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		w.put("main", "a", "1")
		left := filepath.Join(w.open().Path(), "objects", "tmp_objdir-incoming-crash")
		check(t, os.MkdirAll(left, 0o750))
		old := time.Now().Add(-48 * time.Hour)
		check(t, os.Chtimes(left, old, old))
		young := filepath.Join(w.open().Path(), "objects", "tmp_objdir-incoming-now")
		check(t, os.MkdirAll(young, 0o750))
		at := w.Now() // the clock of the test may stand elsewhere
		check(t, os.Chtimes(young, at, at))
		check(t, os.Chtimes(left, at.Add(-48*time.Hour), at.Add(-48*time.Hour)))
		check(t, w.repos.SweepAll(t.Context(), repo.Sweep{}))
		if _, err := os.Stat(left); !os.IsNotExist(err) {
			t.Errorf("what a crash left is there: %v", err)
		}
		if _, err := os.Stat(young); err != nil {
			t.Errorf("a push under way lost its objects: %v", err)
		}
		check(t, w.open().Fsck(t.Context()))
	})
}
