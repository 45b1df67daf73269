package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/config"
	"tenon/internal/base/db/dbtest"
)

// Commands for administrators refuse a folder without an instance, name it and leave it as it
// was, whether it exists or not.
func TestAdminister_noInstance(t *testing.T) {
	t.Parallel()
	empty, postgres := t.TempDir(), dbtest.PostgresURL(t)
	for name, folder := range map[string]string{"empty": empty, "absent": filepath.Join(empty, "typo")} {
		for engine, database := range map[string]string{"sqlite": "sqlite:" + filepath.Join(folder, "tenon.db"), "postgres": postgres} {
			c := &config.Config{Data: folder, HTTP: "127.0.0.1:0", Database: database}
			var out struct{}
			err := Administer(t.Context(), c, slog.New(slog.DiscardHandler), Build{}, Order{Command: AdminCheck, Args: struct{}{}, Result: &out})
			if err == nil || !strings.Contains(err.Error(), "no instance of Tenon in "+folder) {
				t.Errorf("check of an %s folder on %s: %v, want that there is no instance", name, engine, err)
			}
			if _, err := ReplaceKey(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "no instance of Tenon in "+folder) {
				t.Errorf("key of an %s folder on %s: %v, want that there is no instance", name, engine, err)
			}
		}
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) != 0 {
		t.Errorf("the folder holds %v (%v), want nothing", left, err)
	}
}
