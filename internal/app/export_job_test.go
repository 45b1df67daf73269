package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/core"
	"tenon/internal/core/importexport"
)

// sentArchive is an archive that arrived at another server.
type sentArchive struct {
	method, kind string
	length       int64
	size         int
}

// An archive is sent where its user wants it; an upload that fails ends the export with the reason, and leaves nothing behind.
func TestExport_upload(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	path := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "app", "initialize_with_readme": true}), "id")
	answer := http.StatusOK
	var got []sentArchive
	other := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, sentArchive{r.Method, r.Header.Get("Content-Type"), r.ContentLength, len(body)})
		out.WriteHeader(answer)
	}))
	t.Cleanup(other.Close)
	upload := func(more obj) *httptest.ResponseRecorder {
		return s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: path + "/export", body: obj{"upload": more}})
	}
	for name, tt := range map[string]struct {
		in   obj
		want string
	}{
		"no address":     {obj{"http_method": "PUT"}, `{"error":"upload[url] is missing"}`},
		"another method": {obj{"url": other.URL, "http_method": "PATCH"}, `{"error":"upload[http_method] does not have a valid value"}`},
		"no URL":         {obj{"url": "http://"}, `{"message":{"url":["must be a valid URL"]}}`},
		"a local one":    {obj{"url": other.URL}, `{"message":{"url":["is blocked: Requests to loopback addresses are not allowed"]}}`},
	} {
		if a := upload(tt.in); a.Code != http.StatusBadRequest || strings.TrimSpace(a.Body.String()) != tt.want {
			t.Errorf("%s: %d %s, want %s", name, a.Code, a.Body, tt.want)
		}
	}
	s.set(obj{"allow_local_requests_from_web_hooks_and_services": true})
	for _, method := range []string{"", "POST"} {
		in := obj{"url": other.URL + "/secret-place"}
		if method != "" {
			in["http_method"] = method
		}
		if a := upload(in); a.Code != http.StatusAccepted {
			t.Fatalf("upload: %d %s", a.Code, a.Body)
		}
		if n, err := db.Get[int](t.Context(), s.db, "SELECT count(*) FROM exports WHERE sealed_upload LIKE '%secret-place%'"); n != 0 || err != nil {
			t.Errorf("the address is stored as it is (%v)", err)
		}
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0].method != "PUT" || got[1].method != "POST" || got[0].kind != "application/gzip" || got[0].length != int64(got[0].size) || got[0].size == 0 {
		t.Errorf("arrived: %+v", got)
	}
	answer = http.StatusInsufficientStorage
	if a := upload(obj{"url": other.URL}); a.Code != http.StatusAccepted {
		t.Fatalf("upload: %d %s", a.Code, a.Body)
	}
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed, err := db.Get[string](t.Context(), s.db, "SELECT error FROM exports WHERE status = 'failed'")
	if err != nil || failed != "Error uploading the project. Code 507: Insufficient Storage" {
		t.Errorf("failed with %q, %v", failed, err)
	}
	if n := len(s.storedArchives(t)); n != 1 {
		t.Errorf("%d archives are kept, want the one before", n)
	}
	if left, err := os.ReadDir(filepath.Join(s.data, "scratch")); err != nil || len(left) != 0 {
		t.Errorf("left in the scratch folder: %v, %v", left, err)
	}
}

// An export that was interrupted is made again and uses the same key; one that is interrupted again and again fails. What has expired is
// deleted, as is what no export names.
func TestExport_interrupted(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	id := number(s.do("admin", "POST", "/projects", obj{"name": "app"}), "id")
	path := "/projects/" + id
	s.do("admin", "POST", path+"/export", nil)
	if _, err := s.objects.Put(t.Context(), "exports/interrupted", strings.NewReader("half"), blob.Wanted{}); err != nil {
		t.Fatal(err)
	}
	s.exec("UPDATE exports SET status = 'started', object = 'exports/interrupted', attempts = 1")
	if a := s.send(t.Context(), get("admin", path+"/export/download")); a.Code != http.StatusNotFound || !strings.Contains(a.Body.String(), "The project export file is not available yet") {
		t.Errorf("download of what is being made: %d %s", a.Code, a.Body)
	}
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if keys := s.storedArchives(t); len(keys) != 1 || keys[0] != "exports/interrupted" {
		t.Errorf("archives: %v", keys)
	}
	_, files := unpack(t, s.send(t.Context(), get("admin", path+"/export/download")).Body.Bytes())
	if _, there := files["./project.bundle"]; there || files["./VERSION"] != "0.2.4" || files["./lfs-objects.json"] != "{}" {
		t.Errorf("archive of an empty project: %v", files)
	}
	s.do("admin", "POST", path+"/export", nil)
	s.exec("UPDATE exports SET status = 'started', attempts = 5 WHERE status = 'queued'")
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, err := db.Get[string](t.Context(), s.db, "SELECT error FROM exports WHERE status = 'failed'"); err != nil || text != "The export was interrupted too often." {
		t.Errorf("failed with %q, %v", text, err)
	}
	if _, err := s.objects.Put(t.Context(), "exports/orphan", strings.NewReader("orphan"), blob.Wanted{}); err != nil {
		t.Fatal(err)
	}
	s.exec("UPDATE exports SET updated_at = ?", db.At(time.Now().Add(-25*time.Hour)))
	if got := s.do("admin", "GET", path+"/export", nil)["export_status"]; got != "none" {
		t.Errorf("status after a day: %v, want none", got)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(s.data, "objects", "exports", "orphan"), old, old); err != nil {
		t.Fatal(err)
	}
	s.sweepExports(t)
	if n, err := db.Get[int](t.Context(), s.db, "SELECT count(*) FROM exports"); n != 0 || err != nil {
		t.Errorf("%d exports are left (%v)", n, err)
	}
	if keys := s.storedArchives(t); len(keys) != 0 {
		t.Errorf("archives are left: %v", keys)
	}
}

// Settings hold, and the number of statements does not grow with the rows of a batch.
func TestExport_settings(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	id := number(s.do("admin", "POST", "/projects", obj{"name": "app", "initialize_with_readme": true}), "id")
	path := "/projects/" + id
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			iid := number(s.do("admin", "POST", path+"/issues", obj{"title": "Issue " + strconv.Itoa(i), "labels": "one,two"}), "iid")
			s.do("admin", "POST", path+"/issues/"+iid+"/notes", obj{"body": "A word"})
			s.do("admin", "POST", path+"/issues/"+iid+"/award_emoji", obj{"name": "tada"})
		}
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cost := func() int {
		n := 0
		stop := s.db.Trace(func(query string, _ []any) {
			if strings.HasPrefix(query, "SELECT") && !strings.Contains(query, "river_job") {
				n++
			}
		})
		defer stop()
		s.export(t, "admin", path)
		return n
	}
	fill(0, 3)
	few := cost()
	fill(3, 60)
	if many := cost(); many > few+5 {
		t.Errorf("%d statements for 60 issues, %d for 3", many, few)
	}
	s.exec("UPDATE project_measures SET repository_size = ?", 3<<20)
	s.set(obj{"max_export_size": 1})
	if a := s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: path + "/export"}); a.Code != http.StatusBadRequest || strings.TrimSpace(a.Body.String()) != `{"message":"The project size exceeds the export limit."}` {
		t.Errorf("too large: %d %s", a.Code, a.Body)
	}
	s.set(obj{"project_export_enabled": false})
	for _, q := range []request{get("admin", path+"/export"), get("admin", path+"/export/download"), {as: "admin", method: http.MethodPost, path: path + "/export"}} {
		if a := s.send(t.Context(), q); a.Code != http.StatusNotFound {
			t.Errorf("%s %s where exports are off: %d", q.method, q.path, a.Code)
		}
	}
}

// sweepExports deletes what has expired.
func (s *server) sweepExports(t *testing.T) {
	t.Helper()
	if err := core.Part[*importexport.Service](s.core).Sweep(t.Context(), importexport.Sweep{}); err != nil {
		t.Fatal(err)
	}
}
