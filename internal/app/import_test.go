package app

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/base/db"
)

// pack makes an archive of entries.
func pack(t *testing.T, entries ...*tar.Header) string {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, h := range entries {
		content := h.Uname // what a file holds
		h.Uname = ""
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg {
			h.Size, h.Mode = int64(len(content)), 0o600
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil && h.Typeflag == tar.TypeReg {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func member(name, content string) *tar.Header { return &tar.Header{Name: "./" + name, Uname: content} }

// imported has an archive imported, and returns the status in the end.
func (s *server) imported(t *testing.T, as, path, archive string, more obj) map[string]any {
	t.Helper()
	body := obj{"path": path, "file": attached{"x.tar.gz", archive}}
	for key, value := range more {
		body[key] = value
	}
	made := s.do(as, "POST", "/projects/import", body)
	if made["import_status"] != "scheduled" || made["import_type"] != "gitlab_project" || made["import_error"] != nil || made["correlation_id"] == nil {
		t.Errorf("answer: %v", made)
	}
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Logf("jobs: %v", err)
	}
	return s.do(as, "GET", "/projects/"+number(made, "id")+"/import", nil)
}

const anIssue = `{"title":"New issue","author_id":1,"iid":7,"state":"closed","created_at":"2019-11-25T19:42:44.000Z","updated_at":"2019-11-26T19:42:44.000Z",` +
	`"pending_delete":true,"id":1,"confidential":false,"notes":[{"note":"A word","author_id":5,"author":{"name":"Jo Doe"},"created_at":"2019-11-25T19:42:44.000Z",` +
	`"updated_at":"2019-11-25T19:42:44.000Z","discussion_id":"b63a1f69defa3535263113df03b8e2029165d35e","award_emoji":[{"user_id":5,"name":"tada"}]}],` +
	`"label_links":[{"target_type":"Issue","label":{"title":"bug","color":"#5843AD","type":"ProjectLabel"}}],` +
	`"milestone":{"title":"One","state":"active","group_id":4},"designs":[{"iid":1}],"timelogs":[{"time_spent":60,"user_id":1}]}`

// An archive is imported: rows keep their numbers and times, one line that is broken fails alone, and what has no place here is counted.
func TestImport(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		archive := pack(t,
			&tar.Header{Name: "./", Typeflag: tar.TypeDir}, member("._VERSION", "x"), member("VERSION", "0.2.4\n"), member("lfs-objects.json", "{}"),
			member("tree/project.json", `{"description":"Moved","visibility_level":20,"archived":false,"approvals_before_merge":0,"id":1,"runners_token":"x"}`),
			member("tree/project/labels.ndjson", `{"title":"bug","color":"#5843AD","description":"Wrong","type":"ProjectLabel","priorities":[{"priority":3}]}`+"\n"+
				`{"title":"a,b","color":"#5843AD"}`+"\n"+`not JSON`+"\n"),
			member("tree/project/milestones.ndjson", `{"title":"Two","iid":4,"state":"closed","project_id":1,"created_at":"2018-01-02 03:04:05 UTC"}`+"\n"),
			member("tree/project/issues.ndjson", anIssue+"\n"+strings.Replace(anIssue, `"iid":7`, `"iid":"x"`, 1)),
			member("tree/project/strange.ndjson", "{}\n"), member("project.wiki.bundle", "x"), member("avatar/a.png", "x"))
		status := s.imported(t, "admin", "moved", archive, obj{"override_params[description]": "Another text", "override_params[visibility]": "internal"})
		if status["import_status"] != "finished" || status["import_error"] != nil || status["path_with_namespace"] != "root/moved" || status["description"] != "Another text" {
			t.Fatalf("status: %v\n%s", status, s.logs.last())
		}
		failed, _ := status["failed_relations"].([]any)
		if len(failed) != 3 {
			t.Errorf("failed relations: %v", failed)
		} else if f := failed[0].(map[string]any); f["relation_name"] != "issues" || f["line_number"] != 2.0 || f["exception_message"] != "iid is of another type" {
			t.Errorf("failed relation: %v", f)
		}
		path := "/projects/" + number(status, "id")
		if p := s.do("admin", "GET", path, nil); p["visibility"] != "internal" || p["import_type"] != "gitlab_project" || p["open_issues_count"] != 0.0 {
			t.Errorf("project: %v, %v, %v", p["visibility"], p["import_type"], p["open_issues_count"])
		}
		i := s.do("admin", "GET", path+"/issues/7", nil)
		if i["state"] != "closed" || i["created_at"] != "2019-11-25T19:42:44.000Z" || i["updated_at"] != "2019-11-26T19:42:44.000Z" || i["user_notes_count"] != 1.0 {
			t.Errorf("issue: %v", i)
		}
		if i["imported"] != true || i["imported_from"] != "gitlab_project" {
			t.Errorf("where the issue is from: %v %v", i["imported"], i["imported_from"])
		}
		if m, _ := i["milestone"].(map[string]any); m["title"] != "One" || m["iid"] != 5.0 {
			t.Errorf("milestone of the issue: %v", m)
		}
		if got := s.one("SELECT body FROM notes"); got != "A word\n\n *By Jo Doe on 2019-11-25T19:42:44 (imported from GitLab)*" {
			t.Errorf("note: %q", got)
		}
		if next := s.do("admin", "POST", path+"/issues", obj{"title": "Next"}); next["iid"] != 8.0 || next["imported_from"] != "none" {
			t.Errorf("the next issue: %v, %v", next["iid"], next["imported_from"])
		}
		for query, want := range map[string]int{
			"SELECT count(*) FROM award_emoji":                                             0,
			"SELECT count(*) FROM label_links":                                             1,
			"SELECT total_time_spent FROM issues WHERE iid = 7":                            60,
			"SELECT count(*) FROM events WHERE target_type IS NOT NULL AND target_iid = 7": 0,
			"SELECT count(*) FROM file_import_items WHERE relation = 'files' AND title IN ('project.wiki.bundle', 'tree/project/strange.ndjson')": 2,
			"SELECT count(*) FROM file_import_items WHERE relation = 'avatar' AND title = 'a.png'":                                                1,
			"SELECT count(*) FROM todos":                           0,
			"SELECT count(*) FROM file_imports WHERE object <> ''": 0,
		} {
			if n, err := db.Get[int](t.Context(), s.db, query); err != nil || n != want {
				t.Errorf("%s: %d, want %d (%v)", query, n, want, err)
			}
		}
	})
}

// What is wrong with a request is answered; what is wrong with an archive ends the import, which leaves nothing behind (A1, A2, A21).
func TestImport_refused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	s.do("admin", "POST", "/projects", obj{"name": "there"})
	post := func(body obj) string {
		a := s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: "/projects/import", body: body})
		return http.StatusText(a.Code) + " " + strings.TrimSpace(a.Body.String())
	}
	file := attached{"x.tar.gz", "x"}
	for want, body := range map[string]obj{
		`Bad Request {"error":"file is missing"}`: {"path": "a"},
		`Bad Request {"error":"path is missing"}`: {"file": file},
		`Unprocessable Entity {"message":{"error":"You need to upload a GitLab project export archive (ending in .gz)."}}`: {"path": "a", "file": attached{"x.zip", "x"}},
		`Not Found {"message":"404 Namespace Not Found"}`:                                                                  {"path": "a", "file": file, "namespace": "nowhere"},
		`Bad Request {"message":"Path has already been taken"}`:                                                            {"path": "there", "file": file},
	} {
		if got := post(body); got != want {
			t.Errorf("%v: %s, want %s", body, got, want)
		}
	}
	for name, tt := range map[string]struct{ archive, want string }{
		"no archive":  {"x", "Invalid file"},
		"no project":  {pack(t, member("VERSION", "0.2.4")), "The archive has no project.json."},
		"newer":       {pack(t, member("VERSION", "0.3.0")), "Import version mismatch: Required 0.2.4 but was 0.3.0"},
		"no version":  {pack(t, member("VERSION", "new")), "Incorrect VERSION format"},
		"a link":      {pack(t, &tar.Header{Name: "./uploads/a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), "The archive holds a link or a device: uploads/a"},
		"a hard link": {pack(t, &tar.Header{Name: "uploads/a", Typeflag: tar.TypeLink, Linkname: "VERSION"}), "The archive holds a link or a device: uploads/a"},
		"a device":    {pack(t, &tar.Header{Name: "uploads/a", Typeflag: tar.TypeChar}), "The archive holds a link or a device: uploads/a"},
		"above":       {pack(t, member("../a", "x")), "The archive holds a file with a name that is not allowed."},
		"absolute":    {pack(t, &tar.Header{Name: "/etc/a", Uname: "x"}), "The archive holds a file with a name that is not allowed."},
		"twice":       {pack(t, member("VERSION", "0.2.4"), member("VERSION", "0.2.4")), "The archive holds a file twice: VERSION"},
		"two members": {pack(t, member("VERSION", "0.2.4")) + pack(t, member("uploads/a", "x")), "The archive goes on behind its end."},
		"no bundle":   {pack(t, member("tree/project.json", "{}"), member("project.bundle", "x")), "The repository could not be read: the file is no bundle of git."},
	} {
		status := s.imported(t, "admin", "p"+number(s.do("admin", "POST", "/projects", obj{"name": name}), "id"), tt.archive, nil)
		if status["import_status"] != "failed" || status["import_error"] != tt.want {
			t.Errorf("%s: %v %v, want %q", name, status["import_status"], status["import_error"], tt.want)
		}
	}
	s.set(obj{"max_decompressed_archive_size": 1})
	if status := s.imported(t, "admin", "bomb", pack(t, member("uploads/a", strings.Repeat("\x00", 3<<20))), nil); status["import_error"] != "Decompressed archive size validation failed." {
		t.Errorf("a bomb: %v", status)
	}
	s.set(obj{"import_sources": []string{"git"}})
	if got := post(obj{"path": "a", "file": file}); got != `Forbidden {"message":"403 Forbidden"}` {
		t.Errorf("where imports of archives are off: %s", got)
	}
	s.want("admin", "POST", "/groups/import", obj{"path": "grp", "name": "Group", "file": file}, http.StatusForbidden, "403 Forbidden")
}

// rows reads texts.
func (s *server) rows(query string) []string {
	s.tb.Helper()
	got, err := db.Select[string](s.tb.Context(), s.db, query)
	if err != nil {
		s.tb.Fatal(err)
	}
	return got
}

// one reads one text.
func (s *server) one(query string) string {
	s.tb.Helper()
	got, err := db.Get[string](s.tb.Context(), s.db, query)
	if err != nil {
		s.tb.Fatal(err)
	}
	return got
}
