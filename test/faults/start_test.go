package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/disktest"
	"tenon/test/servertest"
)

// TestFullDisk_start starts a server on a disk that is full, or becomes so meanwhile: it
// says so, and starts once there is room.
func TestFullDisk_start(t *testing.T) {
	program := servertest.Binary(t)
	disk := disktest.Small(t, "8m")
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
		filler := disktest.Fill(t, disk, left)
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
