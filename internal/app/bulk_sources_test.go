package app

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// standIn answers as a source of a release does: a group with a project in it.
type standIn struct {
	t          *testing.T
	version    string
	repository string              // folder of repositories that are read by git
	files      map[string][]string // content of a relation, of more than one where it is exported in batches
	missing    []string            // relations that are not listed

	mu    sync.Mutex
	asked []string
}

// before reports whether the release is before another one.
func (s *standIn) before(major, minor int) bool {
	parts := strings.Split(s.version, ".")
	a, _ := strconv.Atoi(parts[0])
	b, _ := strconv.Atoi(parts[1])
	return a < major || a == major && b < minor
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("relation"))
	s.mu.Unlock()
	say := func(code int, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
	if strings.Contains(r.URL.Path, ".git/") {
		if user, token, _ := r.BasicAuth(); user != "oauth2" || token != "s3cret-of-the-source" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			say(401, "{}")
			return
		}
		out, err := exec.CommandContext(r.Context(), "git", "--exec-path").Output()
		if err != nil {
			s.t.Error(err)
		}
		backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + s.repository, "GIT_HTTP_EXPORT_ALL=1"}}
		backend.ServeHTTP(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer s3cret-of-the-source" {
		say(401, "{}")
		return
	}
	relation := r.URL.Query().Get("relation")
	switch key := (&hostile{}).key(r); {
	case key == "version":
		say(200, `{"version":"`+s.version+`","revision":"x"}`)
	case key == "self" && s.before(15, 5):
		say(404, `{"error":"404 Not Found"}`)
	case key == "self":
		say(200, `{"scopes":["api"]}`)
	case key == "group":
		say(200, `{"data":{"found":{"id":"gid://gitlab/Group/9","name":"Away","path":"away","full_path":"away","visibility":"public"}}}`)
	case key == "project":
		say(200, `{"data":{"found":{"id":"gid://gitlab/Project/8","name":"Shop","path":"shop","full_path":"away/shop","visibility":"public"}}}`)
	case key == "projects":
		say(200, `{"data":{"group":{"projects":{"page_info":{"has_next_page":false},"nodes":[{"id":"gid://gitlab/Project/8","name":"Shop","path":"shop","full_path":"away/shop"}]}}}}`)
	case key == "members":
		say(200, `{"data":{"portable":{"members":{"page_info":{"next_page":null,"has_next_page":false},"nodes":[{"access_level":{"integer_value":30},
			"user":{"user_gid":"gid://gitlab/User/5","public_email":"mona@example.com","username":"mona.at.the.source"}}]}}}}`)
	case key == "snippets":
		say(200, `{"data":{"project":{"snippets":{"pageInfo":{"hasNextPage":false},"nodes":[]}}}}`)
	case key == "subgroups":
		say(200, "[]")
	case key == "wikis":
		say(403, `{"message":"403 Forbidden"}`)
	case key == "request":
		say(202, `{"message":"202 Accepted"}`)
	case key == "status":
		say(200, s.status(relation))
	case strings.HasPrefix(key, "download "):
		s.download(w, r, relation)
	default:
		say(404, `{"error":"404 Not Found"}`)
	}
}

// status is the state of all relations: a list, and from 18 on an object where one is asked for, with batches.
func (s *standIn) status(one string) string {
	var all []map[string]any
	if err := json.Unmarshal([]byte(allFinished), &all); err != nil {
		s.t.Error(err)
	}
	all = slices.DeleteFunc(all, func(state map[string]any) bool { return slices.Contains(s.missing, state["relation"].(string)) })
	for _, state := range all {
		name := state["relation"].(string)
		state["error"], state["updated_at"] = nil, "2024-01-01T00:00:00.000Z"
		if s.before(16, 2) {
			continue
		}
		state["batched"], state["batches_count"], state["total_objects_count"] = len(s.files[name]) > 1, len(s.files[name]), 1
		var batches []any
		for i := range s.files[name] {
			batches = append(batches, map[string]any{"batch_number": i + 1, "status": 1, "objects_count": 1, "error": nil, "updated_at": "2024-01-01T00:00:00.000Z"})
		}
		state["batches"] = batches
		if name == one {
			text, _ := json.Marshal(state)
			return string(text)
		}
	}
	text, _ := json.Marshal(all)
	return string(text)
}

func (s *standIn) download(w http.ResponseWriter, r *http.Request, relation string) {
	parts := s.files[relation]
	if len(parts) == 0 {
		parts = []string{""}
	}
	number := 1
	switch batched := r.URL.Query().Get("batched") == "true"; {
	case batched != (len(parts) > 1):
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"message":"Export is batched"}`)
		return
	case batched:
		number, _ = strconv.Atoi(r.URL.Query().Get("batch_number"))
	}
	var out strings.Builder
	zip := gzip.NewWriter(&out)
	_, _ = io.WriteString(zip, parts[number-1])
	_ = zip.Close()
	w.Header().Set("Content-Type", "application/gzip")
	w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	w.Header().Set("Content-Disposition", `attachment; filename="`+relation+`.ndjson.gz"`)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, out.String())
	}
}

// tarOf is an archive without compression.
func tarOf(t *testing.T, files map[string]string) string {
	t.Helper()
	var out strings.Builder
	w := tar.NewWriter(&out)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Sources of all releases are moved in: old ones whose repositories are read by git, whose rows have numbers, and which list fewer relations; those
// of 16.0; and new ones that have exported relations in batches, of which each is read.
func TestBulkImport_releases(t *testing.T) {
	t.Parallel()
	bundle, _, head := movingRepository(t)
	folder := t.TempDir()
	if err := writeFile(filepath.Join(folder, "in.bundle"), bundle); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "-q", "--mirror", filepath.Join(folder, "in.bundle"), filepath.Join(folder, "away", "shop.git")).CombinedOutput(); err != nil {
		t.Fatalf("clone: %v %s", err, out)
	}
	const label, oldLabel = `{"title":"bug%d","color":"#5843AD","type":"ProjectLabel"}` + "\n", `{"id":7,"title":"bug1","color":"#5843AD","project_id":8,"group_id":null,"type":"ProjectLabel","textColor":"#FFFFFF","priorities":[]}` + "\n"
	issue := func(iid int) string {
		return fmt.Sprintf(`{"title":"Issue %[1]d","iid":%[1]d,"state":"opened","author_id":5,"issue_assignees":[{"user_id":5}],"notes":[{"note":"Hi","author_id":5,"author":{"name":"Mona"},
"updated_at":"2021-01-01T00:00:00.000Z","events":[{"action":6,"author_id":5,"target_type":"Note"}]}]}`, iid)
	}
	oneLine := func(text string) string { return strings.ReplaceAll(text, "\n", "") + "\n" }
	oid := func(c string) string {
		return map[string]string{"a": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "b": "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"}[c]
	}
	repository := tarOf(t, map[string]string{"./repository.bundle": bundle})
	for _, tt := range []struct {
		name    string
		version string
		files   map[string][]string
		missing []string
		labels  string
		issues  string
		uploads string
	}{
		{"14", "14.10.5-ee", map[string][]string{"labels": {oldLabel}, "issues": {oneLine(issue(1))}}, strings.Fields("namespace_settings repository design iterations_cadences commit_notes epic_boards custom_attributes releases"), "1", "1", "0"},
		{"16.0", "16.0.8-ee", map[string][]string{"labels": {fmt.Sprintf(label, 1)}, "issues": {oneLine(issue(1)) + oneLine(issue(2))}, "repository": {repository}}, strings.Fields("epic_boards boards"), "1", "2", "0"},
		{"18", "18.2.1-ee", map[string][]string{
			"labels": {fmt.Sprintf(label, 1), fmt.Sprintf(label, 2) + fmt.Sprintf(label, 3), fmt.Sprintf(label, 4)}, "issues": {oneLine(issue(1)), oneLine(issue(2))}, "repository": {repository},
			"uploads": {
				tarOf(t, map[string]string{"./" + strings.Repeat("a", 32) + "/a.txt": "A"}), tarOf(t, map[string]string{"./" + strings.Repeat("b", 32) + "/b.txt": "B"}),
			},
			"lfs_objects": {
				tarOf(t, map[string]string{"./" + oid("a"): "a", "./lfs_objects.json": `{"` + oid("a") + `":[0]}`}), tarOf(t, map[string]string{"./" + oid("b"): "b", "./lfs_objects.json": `{"` + oid("b") + `":[0]}`}),
			},
		}, strings.Fields("metrics_setting prometheus_metrics error_tracking_setting vulnerabilities"), "4", "2", "2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "")
			s.once()
			s.user("mona", nil)
			s.publish()
			s.set(obj{"bulk_import_enabled": true, "allow_local_requests_from_web_hooks_and_services": true})
			source := &standIn{t: t, version: tt.version, repository: folder, files: tt.files, missing: tt.missing}
			web := httptest.NewServer(source)
			defer web.Close()
			made := s.do("admin", "POST", "/bulk_imports", obj{
				"configuration": obj{"url": web.URL, "access_token": "s3cret-of-the-source"},
				"entities":      []obj{{"source_type": "group_entity", "source_full_path": "away", "destination_slug": "moved", "destination_namespace": ""}},
			})
			for range 4 { // what is not listed is waited for, and then noted
				s.exec("UPDATE bulk_import_entities SET requested_at = '2020-01-01 00:00:00' WHERE requested_at IS NOT NULL")
				s.exec("UPDATE river_job SET state = 'available', scheduled_at = created_at WHERE state = 'scheduled' AND kind = 'bulk_import_entity'")
				if err := s.jobs.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			path := "/bulk_imports/" + number(made, "id")
			if bulk := s.do("admin", "GET", path, nil); bulk["status"] != "finished" {
				t.Fatalf("transfer: %v %v\n%s", bulk, s.list("admin", path+"/entities"), s.logs.last())
			}
			var failures []string
			for _, e := range s.list("admin", path+"/entities") {
				e := e.(map[string]any)
				for _, f := range s.list("admin", path+"/entities/"+number(e, "id")+"/failures") {
					f := f.(map[string]any)
					failures = append(failures, fmt.Sprintf("%v: %v", f["relation"], f["exception_message"]))
				}
			}
			for _, f := range failures {
				name, why, _ := strings.Cut(f, ": ")
				if !slices.Contains(tt.missing, name) || why != "Empty export status on source instance" {
					t.Errorf("failure: %s", f)
				}
			}
			for query, want := range map[string]string{
				"SELECT count(*) FROM labels": tt.labels,
				"SELECT count(*) FROM issues i JOIN users u ON u.id = i.author_id WHERE u.username = 'mona'": tt.issues,
				"SELECT count(*) FROM notes WHERE body = 'Hi'":                                               tt.issues,
				"SELECT count(*) FROM events WHERE action = 'commented'":                                     tt.issues,
				"SELECT count(*) FROM members m JOIN users u ON u.id = m.user_id WHERE u.username = 'mona' AND m.access_level = 30 AND m.namespace_id IN (SELECT namespace_id FROM groups)": "1",
				"SELECT count(*) FROM uploads":           tt.uploads, // of the group, which comes first and has the same ones here
				"SELECT count(*) FROM lfs_links":         tt.uploads,
				"SELECT count(*) FROM bulk_import_files": "0",
			} {
				if got := s.one(query); got != want {
					t.Errorf("%s: %s, want %s", query, got, want)
				}
			}
			branch := s.do("admin", "GET", "/projects/moved%2Fshop/repository/branches/topic", nil)
			if commit, _ := branch["commit"].(map[string]any); commit["id"] != head {
				t.Errorf("branch: %v", branch)
			}
			web.Close()
			if n := strings.Count(strings.Join(source.asked, "\n"), "POST /api/v4/groups/9/export_relations \n"); n != 1 {
				t.Errorf("the source was asked %d times to export:\n%s", n, strings.Join(source.asked, "\n"))
			}
		})
	}
}

// writeFile writes a text to a file.
func writeFile(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }
