package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/disktest"
	"tenon/test/form"
	"tenon/test/servertest"
)

// TestFullDisk_jobs fills the disk under a server to which a runner sends a log and artifacts: the runner is told so, nothing is kept by half, and
// it goes on where it was once there is room.
func TestFullDisk_jobs(t *testing.T) {
	servertest.Binary(t) // not onto the small disk
	disk := disktest.Small(t, "64m")
	t.Setenv("TMPDIR", disk)
	w := newWorld(t, "")
	f := &fleet{world: w, given: map[int64]int{}, logs: map[int64]string{}}
	f.token = w.want(201, w.ann, "POST", "/user/runners", fmt.Sprintf(`{"runner_type":"project_type","project_id":%d,"run_untagged":true}`, w.project)).text("token")
	at := fmt.Sprintf("/projects/%d", w.project)
	w.want(201, w.ann, "POST", at+"/repository/commits",
		`{"branch":"ci","start_branch":"main","commit_message":"Configure [skip ci]","actions":[{"action":"create","file_path":".gitlab-ci.yml","content":"build: {script: make, artifacts: {paths: [out]}}"}]}`)
	w.want(201, w.ann, "POST", at+"/pipeline", `{"ref":"ci"}`)
	taken := w.want(201, "", "POST", "/jobs/request", fmt.Sprintf(`{"token":%q}`, f.token))
	id, token := taken.number("id"), taken.text("token")
	path := fmt.Sprintf("/jobs/%d", id)
	piece := bytes.Repeat([]byte("a line of a log\n"), 1<<16)
	log := func(from int) *http.Response {
		t.Helper()
		resp, _, err := f.send(t.Context(), "PATCH", path+"/trace", map[string]string{
			"Job-Token": token, "Content-Type": "text/plain", "Content-Range": fmt.Sprintf("%d-%d", from, from+len(piece)-1),
		}, piece)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	archive := make([]byte, 3<<20)
	if _, err := rand.Read(archive); err != nil {
		t.Fatal(err)
	}
	upload := func(ctx context.Context) (int, string) {
		t.Helper()
		body, kind := form.File(t, "file", "artifacts.zip", archive)
		resp, text, err := f.send(ctx, "POST", path+"/artifacts?artifact_type=archive&artifact_format=zip", map[string]string{"Job-Token": token, "Content-Type": kind}, body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	if resp := log(0); resp.StatusCode != http.StatusAccepted {
		t.Fatalf("the first piece of the log: got %s", resp.Status)
	}
	before := filesBelow(t, disk)
	filler := disktest.Fill(t, disk, 0)

	size, status := len(piece), 0
	for range 40 { // the database may have room inside
		resp := log(size)
		if status = resp.StatusCode; status != http.StatusAccepted {
			break
		}
		size += len(piece)
	}
	if status != http.StatusServiceUnavailable {
		t.Errorf("a piece of the log: got %d, want 503", status)
	}
	if got, text := upload(t.Context()); got != http.StatusServiceUnavailable || !strings.Contains(text, "disk is full") {
		t.Errorf("artifacts: got %d %.200s, want 503 that says why", got, text)
	}
	if got := w.want(200, w.ann, "GET", at+path, ""); got.text("status") != "running" || string(got.body) == "" || strings.Contains(string(got.body), "artifacts.zip") {
		t.Errorf("the job while the disk is full: %s", got.body)
	}
	if got := len(w.want(200, w.ann, "GET", at+path+"/trace", "").body); got != size {
		t.Errorf("the log has %d bytes, want the %d that were accepted", got, size)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if after := filesBelow(t, disk); after != before {
		t.Errorf("files that are left of what was refused: got\n%s\nwant\n%s", after, before)
	}
	if resp := log(size); resp.StatusCode != http.StatusAccepted {
		t.Errorf("the log goes on: got %s", resp.Status)
	}
	if got, text := upload(t.Context()); got != http.StatusCreated {
		t.Errorf("artifacts once there is room: got %d %s", got, text)
	}
	w.want(200, "", "PUT", path, fmt.Sprintf(`{"token":%q,"state":"success"}`, token))
	if got := w.want(200, w.ann, "GET", at+path+"/artifacts", "").body; !bytes.Equal(got, archive) {
		t.Errorf("got %d bytes of artifacts, want the %d that were sent", len(got), len(archive))
	}
	if got := len(w.want(200, w.ann, "GET", at+path+"/trace", "").body); got != size+len(piece) {
		t.Errorf("the log has %d bytes, want %d", got, size+len(piece))
	}
}

// filesBelow lists the files of uploads: those of the database, of its journal and of git are left out.
func filesBelow(t *testing.T, folder string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.Contains(path, "/objects/") && !strings.Contains(path, ".git/") || strings.Contains(path, "/tmp/") {
			out = append(out, strings.TrimPrefix(path, folder))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}
