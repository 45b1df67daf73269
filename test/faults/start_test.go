package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenon/test/servertest"
)

// TestFullDisk_start starts a server on a disk that is full, or becomes so meanwhile: it
// says so, and starts once there is room.
func TestFullDisk_start(t *testing.T) {
	program := servertest.Binary(t)
	disk := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("full disk: skipped (no right to mount a small one: %v %s)", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	migrate := func(data string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, "migrate", "--data", data).CombinedOutput()
		if err == nil {
			return ""
		}
		return string(out)
	}
	data := filepath.Join(disk, "data")
	if said := migrate(data); said != "" {
		t.Fatalf("an empty disk: %s", said)
	}
	for _, left := range []int64{0, 8 << 10, 100 << 10, 400 << 10} { // bytes that are free
		filler := fillUp(t, disk)
		info, err := os.Stat(filler)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filler, info.Size()-left); err != nil {
			t.Fatal(err)
		}
		fresh := filepath.Join(disk, "fresh")
		if said := migrate(fresh); !strings.Contains(said, "disk") || !strings.Contains(said, "full") || !strings.Contains(said, "make room") {
			t.Errorf("a new server with %d bytes of room says %q, want that the disk is full", left, said)
		}
		if err := os.RemoveAll(fresh); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
	if said := migrate(data); said != "" {
		t.Errorf("once there is room: %s", said)
	}
}
