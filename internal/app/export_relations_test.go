package app

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/importexport"
)

// The relations that a destination of release 16.0 asks a source for.
var (
	relationsOfProjects = strings.Fields(`labels milestones issues snippets releases merge_requests external_pull_requests commit_notes ci_pipelines auto_devops pipeline_schedules
		container_expiration_policy protected_branches protected_tags project_feature custom_attributes project_badges ci_cd_settings error_tracking_setting boards
		service_desk_setting metrics_setting prometheus_metrics protected_environments security_setting push_rule approval_rules vulnerabilities uploads lfs_objects repository
		design self`)
	relationsOfGroups = strings.Fields("milestones badges labels boards namespace_settings uploads epics epic_boards iterations_cadences self")
)

// destination asks a server for relations as the reference does: each file with HEAD first, whose headers it needs.
type destination struct {
	*server
	t    *testing.T
	as   string
	path string
}

// ask sends a request with the type that each of the reference's requests has.
func (d destination) ask(method, query string) (code int, h http.Header, body []byte) {
	d.t.Helper()
	path := d.path + "/export_relations"
	switch {
	case method == http.MethodPost:
		path += "?" + query
	case strings.Contains(query, "relation=") && strings.HasPrefix(query, "d:"):
		path += "/download?" + strings.TrimPrefix(query, "d:")
	default:
		path += "/status?" + query
	}
	a := d.send(d.t.Context(), request{as: d.as, method: method, path: path, kind: "application/json"})
	return a.Code, a.Header(), a.Body.Bytes()
}

// fetch downloads a file, and returns what is compressed in it.
func (d destination) fetch(query string) (name string, content []byte) {
	d.t.Helper()
	code, h, _ := d.ask(http.MethodHead, "d:"+query)
	if kind := h.Get("Content-Type"); code != http.StatusOK || kind != "application/gzip" {
		d.t.Fatalf("HEAD %s: %d %s", query, code, kind)
	}
	_, name, ok := strings.Cut(h.Get("Content-Disposition"), `filename="`)
	name, quoted := strings.CutSuffix(name, `"`)
	if !ok || !quoted {
		d.t.Errorf("%s: %s", query, h.Get("Content-Disposition"))
	}
	code, again, body := d.ask(http.MethodGet, "d:"+query)
	if n, err := strconv.Atoi(h.Get("Content-Length")); code != http.StatusOK || err != nil || n != len(body) || again.Get("Content-Length") != h.Get("Content-Length") {
		d.t.Errorf("%s: %d, %d bytes, announced %s and %s", query, code, len(body), h.Get("Content-Length"), again.Get("Content-Length"))
	}
	zip, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	content, err = io.ReadAll(zip)
	if err != nil {
		d.t.Fatal(err)
	}
	return name, content
}

// statuses asks for the status of all relations.
func (d destination) statuses() (out map[string]map[string]any) {
	d.t.Helper()
	_, _, body := d.ask(http.MethodGet, "page=1&per_page=30")
	var list []map[string]any
	if err := json.Unmarshal(body, &list); err != nil {
		d.t.Fatalf("%s: %v", body, err)
	}
	out = map[string]map[string]any{}
	for _, one := range list {
		out[one["relation"].(string)] = one
	}
	return out
}

// untar lists the files of an archive.
func untar(t *testing.T, content []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(content)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(text)
	}
}

// A destination of a direct transfer has the relations of a project and of a group exported, and downloads each of them.
func TestExport_relations(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		w.plan("/projects/" + w.projects[0].values["projects/:id"])
		s.exec("DELETE FROM relation_exports")
		for _, tt := range []struct {
			path, as, lower string
			names           []string
		}{
			{"/projects/" + w.projects[0].values["projects/:id"], "maintainer", "developer", relationsOfProjects},
			{"/groups/" + w.groups[0].values["groups/:id"], "owner", "maintainer", relationsOfGroups},
		} {
			d := destination{s, t, tt.as, tt.path}
			s.set(obj{"bulk_import_enabled": false})
			if code, _, _ := d.ask(http.MethodPost, ""); code != http.StatusNotFound {
				t.Errorf("%s while transfers are off: %d, want 404", tt.path, code)
			}
			s.set(obj{"bulk_import_enabled": true})
			if code, _, _ := (destination{s, t, tt.lower, tt.path}).ask(http.MethodPost, ""); code != http.StatusForbidden {
				t.Errorf("%s by %s: %d, want 403", tt.path, tt.lower, code)
			}
			if code, _, body := d.ask(http.MethodGet, "relation=labels"); code != http.StatusNotFound || string(body) != `{"message":"Export not found"}` {
				t.Errorf("status before: %d %s", code, body)
			}
			if code, _, body := d.ask(http.MethodGet, "relation=secrets"); code != http.StatusBadRequest || string(body) != `{"error":"relation is not portable"}` {
				t.Errorf("status of an unknown relation: %d %s", code, body)
			}
			if code, _, body := d.ask(http.MethodPost, "page=1&per_page=30"); code != http.StatusAccepted || string(body) != `{"message":"202 Accepted"}` {
				t.Errorf("request: %d %s", code, body)
			}
			for name, one := range d.statuses() {
				if one["status"] != 0.0 || one["error"] != nil {
					t.Errorf("status of %s at first: %v", name, one)
				}
			}
			if code, _, body := d.ask(http.MethodGet, "d:relation=labels"); code != http.StatusNotFound || string(body) != `{"message":"Export file not found"}` {
				t.Errorf("download before the end: %d %s", code, body)
			}
			if err := s.jobs.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			all := d.statuses()
			for _, name := range tt.names {
				if one := all[name]; one == nil || one["status"] != 1.0 || one["batched"] != false {
					t.Errorf("status of %s: %v\n%s", name, one, s.logs.last())
				}
			}
			if len(all) != len(tt.names) {
				t.Errorf("%d relations, want %d", len(all), len(tt.names))
			}
			if code, _, body := d.ask(http.MethodGet, "relation=labels"); code != http.StatusOK || !strings.HasPrefix(string(body), `{"relation":"labels","status":1,"error":null`) {
				t.Errorf("status of one: %d %s", code, body)
			}
			if code, _, body := d.ask(http.MethodGet, "d:relation=labels&batched=true&batch_number=1"); code != http.StatusBadRequest || string(body) != `{"message":"Export is not batched"}` {
				t.Errorf("batch of an export without: %d %s", code, body)
			}
			d.checkRelations(tt.names, all)
		}
	})
}

// checkRelations looks at all files.
func (d destination) checkRelations(names []string, all map[string]map[string]any) {
	t := d.t
	t.Helper()
	for _, name := range names {
		file, content := d.fetch("relation=" + name)
		switch {
		case name == "self":
			var one map[string]any
			if err := json.Unmarshal(content, &one); file != "self.json.gz" || err != nil || one["visibility_level"] != 0.0 {
				t.Errorf("%s: %.200s", file, content)
			}
		case slices.Contains([]string{"uploads", "lfs_objects", "repository", "design"}, name):
			entries := untar(t, content)
			if file != name+".tar.gz" {
				t.Errorf("name of %s: %s", name, file)
			}
			held := 0
			for entry := range entries {
				if !strings.HasSuffix(entry, "/") && entry != "./lfs_objects.json" {
					held++
				}
				if !strings.HasPrefix(entry, "./") || strings.Contains(entry, "uploads/") || strings.Contains(entry, "lfs-objects") {
					t.Errorf("%s has %s", name, entry)
				}
			}
			if n := all[name]["total_objects_count"].(float64); int(n) != held {
				t.Errorf("%s has %d files, announced %v", name, held, n)
			}
			if name == "repository" && !strings.HasPrefix(entries["./repository.bundle"], "# v2 git bundle\n") {
				t.Errorf("bundle: %.50q", entries["./repository.bundle"])
			}
			if name == "lfs_objects" && !strings.HasPrefix(entries["./lfs_objects.json"], "{") {
				t.Errorf("list of objects: %q", entries["./lfs_objects.json"])
			}
			if name == "uploads" && !slices.ContainsFunc(slices.Collect(maps.Keys(entries)), func(n string) bool { return strings.HasPrefix(n, "./avatar/") && !strings.HasSuffix(n, "/") }) {
				t.Errorf("uploads: %d entries without the avatar", len(entries))
			}
		default:
			if file != name+".ndjson.gz" {
				t.Errorf("name of %s: %s", name, file)
			}
			if string(content) == "null" {
				continue
			}
			found := lines(t, string(content))
			if n := all[name]["total_objects_count"].(float64); int(n) != len(found) {
				t.Errorf("%s has %d lines, announced %v", name, len(found), n)
			}
			for _, one := range found {
				checkObject(t, name, one)
			}
		}
	}
}

// Batches have a thousand lines each. A request for the same within three minutes is answered by the export that there is, a later one
// replaces it and its files; a day later all is deleted.
func TestExport_relationBatches(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	path := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "app", "initialize_with_readme": true}), "id")
	now := db.At(time.Now())
	for i := range 2100 {
		s.exec(`INSERT INTO labels (namespace_id, title, title_fold, description_fold, color, created_at, updated_at) SELECT namespace_id, ?, ?, '', '#ff0000', ?, ? FROM projects WHERE path = 'app'`,
			fmt.Sprintf("label %d", i), fmt.Sprintf("label %d", i), now, now)
	}
	s.set(obj{"bulk_import_enabled": true})
	d := destination{s, t, "admin", path}
	run := func() {
		d.ask(http.MethodPost, "batched=true")
		if err := s.jobs.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	run()
	one := d.statuses()["labels"]
	if one["status"] != 1.0 || one["batched"] != true || one["batches_count"] != 3.0 || one["total_objects_count"] != 2100.0 {
		t.Errorf("status: %v", one)
	}
	seen := map[string]bool{}
	for i, want := range []int{1000, 1000, 100} {
		name, content := d.fetch("relation=labels&batched=true&batch_number=" + strconv.Itoa(i+1))
		found := lines(t, string(content))
		if name != fmt.Sprintf("labels_%d.ndjson.gz", i+1) || len(found) != want {
			t.Errorf("batch %d: %s with %d lines, want %d", i+1, name, len(found), want)
		}
		for _, l := range found {
			seen[l["title"].(string)] = true
		}
	}
	if len(seen) != 2100 {
		t.Errorf("%d labels in all batches, want 2100", len(seen))
	}
	for query, want := range map[string]string{
		"d:relation=labels":                               `{"message":"Export is batched"}`,
		"d:relation=labels&batched=true&batch_number=4":   `{"message":"Batch not found"}`,
		"d:relation=" + url.QueryEscape("labels;labels"):  `{"error":"relation is not portable"}`,
		"d:relation=project_members":                      `{"error":"relation is not portable"}`,
		"d:relation=repository&batched=true&batch_number": `{"message":"Export is not batched"}`,
	} {
		if code, _, body := d.ask(http.MethodGet, query); code < 400 || string(body) != want {
			t.Errorf("%s: %d %s, want %s", query, code, body, want)
		}
	}
	files := s.storedArchives(t)
	run()
	if again := s.storedArchives(t); !slices.Equal(again, files) {
		t.Errorf("a request within three minutes made %d files anew", len(again))
	}
	s.exec("UPDATE relation_exports SET created_at = ?", db.At(time.Now().Add(-4*time.Minute)))
	run()
	again := s.storedArchives(t)
	if len(again) != len(files) || slices.ContainsFunc(again, func(key string) bool { return slices.Contains(files, key) }) {
		t.Errorf("a later request: %d files, want %d other ones", len(again), len(files))
	}

	// The process ends in the middle: what is not finished is made again, and the file of the attempt goes.
	s.exec("UPDATE relation_exports SET status = 0 WHERE relation = 'labels'")
	rows, err := db.Select[importexport.RelationRun](t.Context(), s.db, "SELECT namespace_id, user_id, run FROM relation_exports WHERE relation = 'labels'")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.jobs.Enqueue(t.Context(), rows[0]); err != nil {
		t.Fatal(err)
	}
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.storedArchives(t)); n != len(files) || d.statuses()["labels"]["status"] != 1.0 {
		t.Errorf("after an interruption: %d files, want %d; %v", n, len(files), d.statuses()["labels"])
	}

	s.exec("UPDATE relation_exports SET updated_at = ?", db.At(time.Now().Add(-25*time.Hour)))
	s.sweepExports(t)
	if n, err := db.Get[int](t.Context(), s.db, "SELECT count(*) FROM relation_exports"); n != 0 || err != nil || len(s.storedArchives(t)) != 0 {
		t.Errorf("a day later: %d exports, %d files (%v)", n, len(s.storedArchives(t)), err)
	}
}
