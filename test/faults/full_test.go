package faults

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/internal/base/disktest"
	"tenon/test/servertest"
)

// TestFullDisk fills the disk under a server: who writes is told so, who reads is served,
// and once there is room everything goes on.
func TestFullDisk(t *testing.T) {
	servertest.Binary(t) // not onto the small disk
	disk := disktest.Small(t, "48m")
	elsewhere := t.TempDir()
	t.Setenv("TMPDIR", disk)
	w := newWorld(t, "")
	w.git(elsewhere, "clone", "-q", w.remote(), ".")
	w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/repository/branches", w.project), `{"branch":"side","ref":"main"}`)
	content := base64.StdEncoding.EncodeToString(make([]byte, 512<<10))
	for i := range 3 {
		w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/repository/files/f%d", w.project, i), fmt.Sprintf(`{"branch":"main","content":%q,"commit_message":"Add"}`, content))
	}
	refs := w.git(w.repository(), "for-each-ref")
	filler := disktest.Fill(t, disk, 0)

	full := 0
	for i := range 40 {
		a, err := w.call(t.Context(), w.ann, "POST", fmt.Sprintf("/projects/%d/issues", w.project), fmt.Sprintf(`{"title":"%d","description":%q}`, i, strings.Repeat("d", 500_000)))
		if err != nil {
			t.Fatal(err)
		}
		if a.status == 507 && strings.Contains(string(a.body), "disk is full") {
			full++
		} else if a.status != 201 { // the database may have room inside
			t.Errorf("issue: got %d %.200s, want 507 that says why", a.status, a.body)
		}
	}
	if full == 0 {
		t.Error("no issue was refused")
	}
	a, err := w.call(t.Context(), w.ann, "POST", fmt.Sprintf("/projects/%d/repository/files/new", w.project), fmt.Sprintf(`{"branch":"side","content":%q,"commit_message":"Add"}`, content))
	if err != nil || a.status != 507 || !strings.Contains(string(a.body), "disk is full") {
		t.Errorf("commit: got %+v, %v, want 507 that says why", a, err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "pushed"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	w.git(elsewhere, "add", ".")
	w.git(elsewhere, "commit", "-q", "-m", "pushed")
	if out, err := git(t.Context(), elsewhere, "push", "origin", "HEAD:refs/heads/pushed"); err == nil || !strings.Contains(out, "No space left on device") && !strings.Contains(out, "try again") {
		t.Errorf("push: got %q, %v, want it refused with the reason", out, err)
	}

	for _, path := range []string{"/repository/tree", "/repository/commits", "/repository/files/f1/raw?ref=main", "/repository/branches", "/repository/archive.tar.gz", "/issues"} {
		w.want(200, w.ann, "GET", fmt.Sprintf("/projects/%d%s", w.project, path), "")
	}
	copied := filepath.Join(t.TempDir(), "copy")
	w.git(elsewhere, "clone", "-q", w.remote(), copied)
	w.git(copied, "fsck", "--strict", "--full")
	if now := w.git(w.repository(), "for-each-ref"); now != refs {
		t.Errorf("references: got\n%s\nwant\n%s", now, refs)
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/issues", w.project), `{"title":"again"}`)
	w.want(201, w.ann, "POST", fmt.Sprintf("/projects/%d/repository/files/new", w.project), `{"branch":"side","content":"x","commit_message":"Add"}`)
	w.git(elsewhere, "push", "-q", "origin", "HEAD:refs/heads/pushed")
	if out := w.git(w.repository(), "fsck", "--strict", "--full", "--no-dangling"); out != "" {
		t.Errorf("fsck says %q", out)
	}
}
