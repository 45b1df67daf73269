package app

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/base/db"
)

// entry is a file of an archive, in the order of the archive.
type entry struct {
	name string
	mode int64
	text string
}

// unpack reads an archive.
func unpack(t *testing.T, content []byte) (all []entry, files map[string]string) {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{h.Name, h.Mode, string(text)})
		files[h.Name] = string(text)
	}
}

// export has a project exported by a user, and returns the archive.
func (s *server) export(t *testing.T, as, path string) []byte {
	t.Helper()
	s.do(as, "POST", path+"/export", nil)
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := s.send(t.Context(), get(as, path+"/export/download"))
	if a.Code != http.StatusOK {
		t.Fatalf("download of %s: %d %s\n%s", as, a.Code, a.Body, s.logs.last())
	}
	all, files := unpack(t, a.Body.Bytes())
	checkArchive(t, all, files)
	return a.Body.Bytes()
}

// lines reads the objects of a file.
func lines(t *testing.T, text string) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, one)
	}
	return out
}

// A project is exported: a user schedules it, a job makes the archive, and the user may download it for a day (A15).
func TestExport(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		p := w.projects[0].values
		s.exec("DELETE FROM exports")
		path := "/projects/" + p["projects/:id"]
		status := func(as string) string { return s.do(as, "GET", path+"/export", nil)["export_status"].(string) }
		download := func(as string) int { return s.send(t.Context(), get(as, path+"/export/download")).Code }

		if got := status("maintainer"); got != "none" {
			t.Errorf("status before: %s, want none", got)
		}
		if got := download("maintainer"); got != http.StatusNotFound {
			t.Errorf("download before: %d, want 404", got)
		}
		asked := s.do("maintainer", "POST", path+"/export", obj{"description": "Another text"})
		if asked["message"] != "202 Accepted" {
			t.Errorf("answer: %v", asked)
		}
		if got := status("maintainer"); got != "queued" {
			t.Errorf("status at first: %s, want queued", got)
		}
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		done := s.do("maintainer", "GET", path+"/export", nil)
		links, _ := done["_links"].(map[string]any)
		if done["export_status"] != "finished" || links["api_url"] != s.baseURL+"/api/v4"+path+"/export/download" ||
			!strings.HasSuffix(links["web_url"].(string), "/"+p["full_path"]+"/download_export") {
			t.Errorf("status in the end: %v\n%s", done, s.logs.last())
		}
		for as, want := range map[string]int{"maintainer": 200, "owner": 200, "admin": 200, "developer": 403, "stranger": 404, "project token": 404} {
			if got := download(as); got != want {
				t.Errorf("download of %s: %d, want %d", as, got, want)
			}
		}
		a := s.send(t.Context(), get("maintainer", path+"/export/download"))
		if h := a.Header(); h.Get("Content-Type") != "application/gzip" || !strings.HasSuffix(h.Get("Content-Disposition"), `_export.tar.gz"`) || h.Get("Content-Length") == "" {
			t.Errorf("headers: %v", h)
		}
		head := s.send(t.Context(), request{as: "maintainer", method: http.MethodHead, path: path + "/export/download"})
		if head.Code != http.StatusOK || head.Header().Get("Content-Length") != a.Header().Get("Content-Length") || head.Body.Len() != 0 {
			t.Errorf("HEAD: %d %v", head.Code, head.Header())
		}
		all, files := unpack(t, a.Body.Bytes())
		if all[0].name != "./" || files["./VERSION"] != "0.2.4" {
			t.Errorf("first entry %q, version %q", all[0].name, files["./VERSION"])
		}
		if root := lines(t, files["./tree/project.json"]); len(root) != 1 || root[0]["description"] != "Another text" || root[0]["visibility_level"] != 0.0 {
			t.Errorf("project.json: %v", root)
		}
		checkArchive(t, all, files)
		if labels := lines(t, files["./tree/project/labels.ndjson"]); len(labels) == 0 || labels[0]["type"] != "ProjectLabel" {
			t.Errorf("labels: %v", labels)
		}
		if !strings.HasPrefix(files["./project.bundle"], "# v2 git bundle\n") || !strings.Contains(files["./project.bundle"], " refs/heads/feature\n") {
			t.Errorf("bundle: %.100q", files["./project.bundle"])
		}

		s.do("maintainer", "POST", path+"/export", nil)
		if got := status("maintainer"); got != "regeneration_in_progress" {
			t.Errorf("status of the second: %s, want regeneration_in_progress", got)
		}
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := db.Get[int](t.Context(), s.db, "SELECT count(*) FROM exports"); n != 1 || err != nil {
			t.Errorf("%d exports are kept, want the last one (%v)", n, err)
		}
		if n := len(s.storedArchives(t)); n != 1 {
			t.Errorf("%d archives are kept, want the last one", n)
		}
	})
}

// storedArchives lists the keys of archives that jobs made.
func (s *server) storedArchives(t *testing.T) (keys []string) {
	t.Helper()
	for info, err := range s.objects.List(t.Context(), "exports") {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(info.Key, "world") {
			keys = append(keys, info.Key)
		}
	}
	return keys
}
