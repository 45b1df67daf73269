// Package disktest mounts small disks and fills them, for tests of full disks.
package disktest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Small mounts a disk of a size, such as 64m, until the test ends, and returns its folder. A test that may not mount is skipped.
func Small(t testing.TB, size string) string {
	t.Helper()
	disk := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("full disk: skipped (no right to mount a small one: %v %s)", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return disk
}

// Fill writes a file until the disk has no more free bytes than room, and returns its path.
func Fill(t testing.TB, disk string, room int64) string {
	t.Helper()
	name := filepath.Join(disk, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for size := 1 << 20; size > 0; {
		switch _, err := f.Write(make([]byte, size)); {
		case errors.Is(err, syscall.ENOSPC):
			size /= 2
		case err != nil:
			t.Fatal(err)
		}
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Truncate(info.Size() - room)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}
