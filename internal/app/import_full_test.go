package app

import (
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/disktest"
)

// The disk is full when an archive arrives, or gets full while it is unpacked: the import is refused, or fails with the reason, and leaves
// nothing. Once there is room the same archive is imported.
func TestImport_fullDisk(t *testing.T) {
	disk := disktest.Small(t, "64m")
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
	// tryAgain runs jobs that wait, three times.
	tryAgain := func() {
		for range 3 {
			s.exec("UPDATE river_job SET state = 'available', scheduled_at = created_at WHERE state IN ('scheduled', 'retryable')")
			_ = s.jobs.Drain(t.Context())
		}
	}
	post := func(path string) (int, string, map[string]any) {
		a := s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: "/projects/import", body: obj{"path": path, "file": attached{"x.tar.gz", archive}}})
		if a.Code != http.StatusCreated {
			return a.Code, a.Body.String(), nil
		}
		tryAgain()
		return a.Code, "", s.do("admin", "GET", "/projects/root%2F"+path+"/import", nil)
	}
	filler := disktest.Fill(t, disk, 2<<20) // the archive does not arrive
	if code, text, status := post("arrives"); code != http.StatusInsufficientStorage || !strings.Contains(text, "disk is full") {
		t.Errorf("an archive without room: %d %s %v", code, text, status)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	filler = disktest.Fill(t, disk, 14<<20) // the archive arrives, and there is no room to unpack it
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
		tryAgain()
		status = s.do("admin", "GET", "/projects/root%2Funpacked/import", nil)
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
