package app

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The disk is full when an archive arrives, or gets full while it is unpacked: the import is refused, or fails with the reason, and leaves
// nothing. Once there is room the same archive is imported.
func TestImport_fullDisk(t *testing.T) {
	disk := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("full disk: skipped (no right to mount a small one: %v %s)", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	t.Setenv("TMPDIR", disk)
	t.Run("server", func(t *testing.T) { fullDisk(t, disk) }) // whose folders are on the small disk
}

func fullDisk(t *testing.T, disk string) {
	t.Helper()
	s := newServer(t, "")
	s.once()
	content := make([]byte, 6<<20)
	random := rand.NewChaCha8([32]byte{1})
	if _, err := random.Read(content); err != nil {
		t.Fatal(err)
	}
	archive := pack(t, member("VERSION", "0.2.4"), member("tree/project.json", "{}"), member("tree/project/labels.ndjson", `{"title":"bug","color":"#5843AD"}`+"\n"),
		member("uploads/"+strings.Repeat("0a", 16)+"/large.bin", string(content)))
	filler := filepath.Join(disk, "filler")
	// fill leaves some bytes of room.
	fill := func(room int64) {
		t.Helper()
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
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
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	post := func(path string) (int, string, map[string]any) {
		a := s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: "/projects/import", body: obj{"path": path, "file": attached{"x.tar.gz", archive}}})
		if a.Code != http.StatusCreated {
			return a.Code, a.Body.String(), nil
		}
		for range 3 {
			s.exec("UPDATE river_job SET state = 'available', scheduled_at = created_at WHERE state IN ('scheduled', 'retryable')")
			_ = s.jobs.Drain(t.Context())
		}
		return a.Code, "", s.do("admin", "GET", "/projects/root%2F"+path+"/import", nil)
	}
	fill(2 << 20) // the archive does not arrive
	if code, text, status := post("arrives"); code != http.StatusInsufficientStorage || !strings.Contains(text, "disk is full") {
		t.Errorf("an archive without room: %d %s %v", code, text, status)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	fill(14 << 20) // the archive arrives, and there is no room to unpack it
	code, text, status := post("unpacked")
	if code != http.StatusCreated || status["import_status"] == "finished" {
		t.Errorf("unpacking without room: %d %s %v", code, text, status)
	}
	if left, err := os.ReadDir(filepath.Join(s.data, "scratch")); err != nil || len(left) != 0 {
		t.Errorf("left in the scratch folder: %v, %v", left, err)
	}
	if got := s.one("SELECT count(*) FROM labels") + s.one("SELECT count(*) FROM uploads"); got != "00" {
		t.Errorf("rows of what did not fit: %s", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if status["import_status"] != "failed" { // it waits for room
		_, _, status = 0, "", func() map[string]any {
			for range 3 {
				s.exec("UPDATE river_job SET state = 'available', scheduled_at = created_at WHERE state IN ('scheduled', 'retryable')")
				_ = s.jobs.Drain(t.Context())
			}
			return s.do("admin", "GET", "/projects/root%2Funpacked/import", nil)
		}()
		if status["import_status"] != "finished" {
			t.Errorf("with room: %v", status)
		}
	} else if text, _ := status["import_error"].(string); text == "" {
		t.Errorf("no reason: %v", status)
	}
	if _, text, status := post("again"); status["import_status"] != "finished" {
		t.Errorf("again: %s %v\n%s", text, status, s.logs.last())
	}
}
