package app

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/backup"
	"tenon/internal/base/config"
	"tenon/internal/base/db"
	"tenon/migrations"
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

// TestRestore_schema refuses backups whose schema this program does not have: of a newer one,
// of another one, and of none. Nothing is written.
func TestRestore_schema(t *testing.T) {
	t.Parallel()
	own, err := db.Steps(migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	steps := func(change func(all []backup.Step) []backup.Step) []backup.Step {
		var all []backup.Step
		for _, m := range own {
			all = append(all, backup.Step(m))
		}
		return change(all)
	}
	for name, tt := range map[string]struct {
		schema []backup.Step
		want   string
	}{
		"newer": {
			steps(func(all []backup.Step) []backup.Step {
				return append(all, backup.Step{Name: "9999_later.sql", Checksum: "00"})
			}),
			"the backup is newer than this program: its database has 9999_later.sql (restore it with Tenon 99.1 or later)",
		},
		"foreign": {
			steps(func(all []backup.Step) []backup.Step {
				all[1].Checksum = "00"
				return all
			}),
			"the backup is of another program: its " + own[1].Name + " is not the one of this program (Tenon 99.1 made it)",
		},
		"none": {nil, "the backup has no schema"},
	} {
		file := filepath.Join(t.TempDir(), "b.tar.zst")
		if _, err := toFile(file, func(out io.Writer) (*BackupMade, error) {
			z, err := backup.NewCompressor(out)
			if err != nil {
				return nil, err
			}
			w, err := backup.NewWriter(z, backup.Head{ID: "0a", Version: "99.1", Engine: "sqlite", Schema: tt.schema})
			if err != nil {
				return nil, err
			}
			m, err := w.Close()
			if err != nil {
				return nil, err
			}
			return &BackupMade{}, z.Close(m)
		}); err != nil {
			t.Fatal(err)
		}
		data := filepath.Join(t.TempDir(), "data")
		c := &config.Config{Data: data, HTTP: "127.0.0.1:0", Database: "sqlite:" + filepath.Join(data, "tenon.db")}
		_, err := Restore(t.Context(), c, slog.New(slog.DiscardHandler), Build{}, RestoreInput{File: file}, func(string) {})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
		if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the data folder: got %v, want none", name, err)
		}
	}
}

// TestBackup_hostKeys has the SSH host keys in a backup with the secret key, and in no other.
func TestBackup_hostKeys(t *testing.T) {
	t.Parallel()
	a, _ := newSSH(t)
	s := &server{App: a, tb: t, data: a.config.Data}
	names, err := filepath.Glob(filepath.Join(s.data, "ssh_host_*"))
	if err != nil || len(names) < 2 {
		t.Fatalf("the server has the host keys %q, %v", names, err)
	}
	for _, with := range []bool{true, false} {
		c, done := restoreInto(t, s.backupTo(t, BackupInput{SecretKey: with}), "")
		for _, name := range names {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(c.Data, filepath.Base(name))
			got, err := os.ReadFile(to)
			if !with {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s without the secret key: got %v, want none", to, err)
				}
				continue
			}
			info, serr := os.Stat(to)
			if err != nil || serr != nil || !bytes.Equal(got, want) || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: got %d bytes, %v, %v; want those of the server with mode 0600", to, len(got), err, serr)
			}
		}
		if with != (done.HostKeys >= len(names)) {
			t.Errorf("with the secret key %v: got %d host keys of %d", with, done.HostKeys, len(names))
		}
	}
}
