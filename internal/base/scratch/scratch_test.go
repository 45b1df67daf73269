package scratch_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"tenon/internal/base/scratch"
)

const prefix = "scratch-test-"

// kill leaves a folder as a killed program does: with its files and without its lock.
func kill(t *testing.T, parent string) string {
	t.Helper()
	d, err := scratch.Make(parent, prefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(parent, "kept"), os.DirFS(d.Path)); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(parent, "kept"), d.Path); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"deep/file": "text"}
	for name, text := range files {
		at := filepath.Join(d.Path, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(d.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	return d.Path
}

func TestSweep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		prepare func(t *testing.T, parent string) string // gives the path
		gone    bool
	}{
		{"of a killed program", kill, true},
		{"empty, of one killed before it could mark it", func(t *testing.T, parent string) string {
			return mkdir(t, filepath.Join(parent, prefix+"1"), 0o700)
		}, true},
		{"of a program that runs", func(t *testing.T, parent string) string {
			d, err := scratch.Make(parent, prefix)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := d.Remove(); err != nil {
					t.Error(err)
				}
			})
			return d.Path
		}, false},
		{"not marked, with something in it", func(t *testing.T, parent string) string {
			at := mkdir(t, filepath.Join(parent, prefix+"2"), 0o700)
			mkdir(t, filepath.Join(at, "work"), 0o700)
			return at
		}, false},
		{"that others may read", func(t *testing.T, parent string) string {
			at := kill(t, parent)
			if err := os.Chmod(at, 0o755); err != nil {
				t.Fatal(err)
			}
			return at
		}, false},
		{"of another name", func(t *testing.T, parent string) string {
			at := filepath.Join(parent, "mine")
			if err := os.Rename(kill(t, parent), at); err != nil {
				t.Fatal(err)
			}
			return at
		}, false},
		{"behind a link", func(t *testing.T, parent string) string {
			at, link := filepath.Join(parent, "target"), filepath.Join(parent, prefix+"3")
			if err := os.Rename(kill(t, parent), at); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(at, link); err != nil {
				t.Fatal(err)
			}
			return at
		}, false},
		{"of another user", func(t *testing.T, parent string) string {
			if os.Geteuid() != 0 {
				t.Skip("folder of another user: skipped (needs root)")
			}
			at := kill(t, parent)
			if err := os.Chown(at, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			return at
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			at := tt.prepare(t, parent)
			scratch.Sweep(t.Context(), parent, prefix)
			if _, err := os.Stat(at); os.IsNotExist(err) != tt.gone {
				t.Errorf("after the sweep: %v, want it gone: %v", err, tt.gone)
			}
		})
	}
}

// TestMake gives a folder that is locked and private, and Remove takes all of it away.
func TestMake(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	d, err := scratch.Make(parent, prefix)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(d.Path)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v, want the mode 0700", info, err)
	}
	f, err := os.Open(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != syscall.EWOULDBLOCK {
		t.Errorf("lock a held folder: %v, want %v", err, syscall.EWOULDBLOCK)
	}
	mkdir(t, filepath.Join(d.Path, "work"), 0o700)
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v, want nothing", slices.Clone(left), err)
	}
}

func mkdir(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	if err := os.Mkdir(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}
