package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/config"
)

// TestRestore_refusals leaves alone what is in use or not empty, keeps servers off a folder
// whose restore did not end, and begins again there.
func TestRestore_refusals(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	file := s.backupTo(t, BackupInput{SecretKey: true})
	into := func(data, database string) error {
		c := &config.Config{Data: data, HTTP: "127.0.0.1:0", Database: database}
		_, err := Restore(t.Context(), c, slog.New(slog.DiscardHandler), Build{}, RestoreInput{File: file}, func(string) {})
		return err
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ data, database, want string }{
		"in use":     {s.data, s.config.Database, "another server runs on it"},
		"not empty":  {full, "sqlite:" + filepath.Join(full, "tenon.db"), "has letter"},
		"other rows": {filepath.Join(t.TempDir(), "x"), s.config.Database, "database"},
	} {
		if err := into(tt.data, tt.database); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
	half := t.TempDir()
	for _, name := range []string{restoring, "tenon.db"} {
		if err := os.WriteFile(filepath.Join(half, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &config.Config{Data: half, HTTP: "127.0.0.1:0", Database: "sqlite:" + filepath.Join(half, "tenon.db")}
	if _, err := New(t.Context(), c, slog.New(slog.DiscardHandler), Build{}); err == nil || !strings.Contains(err.Error(), "did not end") {
		t.Errorf("a server on half a restore: got %v", err)
	}
	if err := into(half, c.Database); err != nil {
		t.Errorf("again: %v", err)
	}
	serverOn(t, c)
}
