package app

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// hostile is a server that takes the place of a source of transfers. Answers are its texts, by what is asked; the others are those of a source
// with one empty group.
type hostile struct {
	answers map[string]string

	mu    sync.Mutex
	paths []string
}

// key names what a request asks for.
func (h *hostile) key(r *http.Request) string {
	switch path := r.URL.Path; {
	case path == "/api/graphql":
		body, _ := io.ReadAll(r.Body)
		switch text := string(body); {
		case strings.Contains(text, "members"):
			return "members"
		case strings.Contains(text, "snippets"):
			return "snippets"
		case strings.Contains(text, "projects"):
			return "projects"
		case strings.Contains(text, "found: project"):
			return "project"
		}
		return "group"
	case strings.HasSuffix(path, "/download"):
		return "download " + r.URL.Query().Get("relation")
	case strings.HasSuffix(path, "/export_relations"):
		return "request"
	default:
		return path[strings.LastIndexByte(path, '/')+1:]
	}
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := h.key(r)
	h.mu.Lock()
	h.paths = append(h.paths, r.URL.Path)
	h.mu.Unlock()
	text, ok := h.answers[key]
	if !ok {
		text = map[string]string{
			"version": `{"version":"16.0.1","revision":"x"}`, "self": `{"scopes":["api"]}`, "subgroups": "[]", "wikis": "[]", "request": "{}",
			"group":    `{"data":{"found":{"id":"gid://gitlab/Group/9","name":"Away","path":"away","full_path":"away","visibility":"public"}}}`,
			"project":  `{"data":{"found":{"id":"gid://gitlab/Project/8","name":"Shop","path":"shop","full_path":"away/shop","visibility":"public"}}}`,
			"members":  `{"data":{"portable":{"members":{"page_info":{"has_next_page":false},"nodes":[]}}}}`,
			"projects": `{"data":{"group":{"projects":{"page_info":{"has_next_page":false},"nodes":[]}}}}`,
			"snippets": `{"data":{"project":{"snippets":{"pageInfo":{"hasNextPage":false},"nodes":[]}}}}`,
			"status":   allFinished,
		}[key]
	}
	if place, redirect := strings.CutPrefix(text, "redirect "); redirect {
		http.Redirect(w, r, place, http.StatusFound)
		return
	}
	if strings.HasPrefix(key, "download ") {
		w.Header().Set("Content-Type", "application/gzip")
		if raw, ok := strings.CutPrefix(text, "raw "); ok {
			_, _ = io.WriteString(w, raw)
			return
		}
		zip := gzip.NewWriter(w)
		_, _ = io.WriteString(zip, text)
		_ = zip.Close()
		return
	}
	if r.Method == http.MethodPost && key == "request" {
		w.WriteHeader(http.StatusAccepted)
	}
	_, _ = io.WriteString(w, text)
}

// allFinished is the status of all relations of groups and projects.
var allFinished = func() string {
	var out []string
	for _, name := range []string{
		"labels", "milestones", "badges", "boards", "epics", "epic_boards", "iterations_cadences", "namespace_settings", "self", "uploads", "issues", "snippets", "releases",
		"merge_requests", "external_pull_requests", "commit_notes", "ci_pipelines", "auto_devops", "pipeline_schedules", "container_expiration_policy", "protected_branches",
		"protected_tags", "project_feature", "custom_attributes", "prometheus_metrics", "project_badges", "ci_cd_settings", "error_tracking_setting", "metrics_setting",
		"service_desk_setting", "protected_environments", "security_setting", "push_rule", "approval_rules", "lfs_objects", "repository", "design",
	} {
		out = append(out, fmt.Sprintf(`{"relation":%q,"status":1}`, name))
	}
	return "[" + strings.Join(out, ",") + "]"
}()

// A source is not believed: answers of other types end the transfer with a reason, or one relation of it (A4); no redirect is followed (B9),
// no address that it names leads away from it, and its token goes nowhere else (A6, A23, B6, B7, B20).
func TestBulkImport_attacks(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	s.set(obj{"bulk_import_enabled": true, "allow_local_requests_from_web_hooks_and_services": true})
	s.do("admin", "POST", "/groups", obj{"name": "Parent", "path": "parent", "visibility": "private"})
	var strayed atomic.Int64
	decoy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer decoy.Close()
	n := 0
	begin := func(url string) (int, string, string) {
		n++
		slug := fmt.Sprintf("moved-%d", n)
		a := s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: "/bulk_imports", body: obj{
			"configuration": obj{"url": url, "access_token": "s3cret-of-the-source"},
			"entities":      []obj{{"source_type": "group_entity", "source_full_path": "away", "destination_slug": slug, "destination_namespace": "parent"}},
		}})
		return a.Code, a.Body.String(), slug
	}
	for _, tt := range []struct {
		key, answer string
		refused     bool // at once
	}{
		{"version", `{"version":{"a":1}}`, true},
		{"version", `[]`, true},
		{"version", "redirect " + decoy.URL, true},
		{"version", `{"version":"` + strings.Repeat("9", 9<<20) + `"}`, true},
		{"self", `{"scopes":"api"}`, true},
		{"group", `{"data":{"found":{"id":7,"name":["x"]}}}`, true},
		{"group", `{"data":{"found":{"id":"gid://gitlab/Group/-","name":"x"}}}`, true},
		{"group", `{"data":[]}`, true},
		{"group", `{"errors":[{"message":"no"}]}`, true},
		{"status", "redirect " + decoy.URL, true},
		{"subgroups", `[{"id":"x","path":{}}]`, false},
		{"subgroups", `[{"id":3,"path":"../../etc","full_path":"../x"}]`, false},
		{"projects", `{"data":{"group":{"projects":{"page_info":[],"nodes":{}}}}}`, false},
		{"members", `{"data":{"portable":{"members":{"nodes":[{"user":"x"}]}}}}`, false},
		{"download labels", `[1,2]` + "\n" + `{"title":{"a":[]},"color":7}` + "\n" + `"x"` + "\n" + strings.Repeat("[", 1<<20), false},
		{"download labels", "raw no gzip", false},
		{"download uploads", "raw no gzip", false},
		{"download labels", "redirect " + decoy.URL, false},
		{"download self", `[]`, false},
		{"download epics", `{"title":"x","iid":"1","group_id":"y","parent_id":{}}`, false},
		{"wikis", `{"x":1}`, false},
	} {
		source := httptest.NewServer(&hostile{answers: map[string]string{tt.key: tt.answer}})
		code, text, slug := begin(source.URL)
		switch {
		case tt.refused && code != 422, !tt.refused && code != 201:
			t.Errorf("%s %.60q: %d %s", tt.key, tt.answer, code, text)
		case !tt.refused:
			for range 12 { // as often as a source that seems to be away is asked
				s.exec("UPDATE river_job SET state = 'available', scheduled_at = created_at WHERE state = 'scheduled' AND kind = 'bulk_import_entity'")
				if err := s.jobs.Drain(t.Context()); err != nil {
					t.Errorf("%s %.60q: %v", tt.key, tt.answer, err)
				}
			}
			if got := s.one("SELECT b.status FROM bulk_imports b JOIN bulk_import_entities e ON e.bulk_import_id = b.id WHERE e.slug = '" + slug + "'"); got != "finished" && got != "failed" {
				t.Errorf("%s %.60q: the transfer is %s", tt.key, tt.answer, got)
			}
		}
		source.Close()
	}
	// A project whose snippet, LFS list and submodules lead elsewhere.
	source := &hostile{answers: map[string]string{
		"projects": `{"data":{"group":{"projects":{"page_info":{"has_next_page":false},"nodes":[{"id":"gid://gitlab/Project/8","name":"Shop","path":"shop","full_path":"away/shop"}]}}}}`,
		"snippets": `{"data":{"project":{"snippets":{"pageInfo":{"hasNextPage":false},"nodes":[{"title":"x","createdAt":"2020-01-01T00:00:00Z","updatedAt":"2020-01-01T00:00:00Z",
			"httpUrlToRepo":"` + decoy.URL + `/away/shop/snippets/1.git"},{"title":"y","createdAt":"2020-01-01T00:00:00Z","updatedAt":"2020-01-01T00:00:00Z","httpUrlToRepo":"file:///etc/passwd"}]}}}}`,
		"wikis":           `[{"slug":"home"}]`,
		"download issues": `{"title":"![x](` + decoy.URL + `/a.png)","iid":1,"state":"opened","author_id":1,"description":"![x](` + decoy.URL + `/a.png)"}` + "\n",
	}}
	at := httptest.NewServer(source)
	defer at.Close()
	if code, text, _ := begin(at.URL); code != 201 {
		t.Fatalf("begin: %d %s", code, text)
	}
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if strayed.Load() != 0 {
		t.Errorf("%d requests went to another server", strayed.Load())
	}
	asked := strings.Join(source.paths, " ")
	for _, path := range []string{"/away/shop/snippets/1.git/", "/away.wiki.git/", "/away/shop.wiki.git/"} {
		if !strings.Contains(asked, path) {
			t.Errorf("%s was not asked for: %s", path, asked)
		}
	}
	if strings.Contains(asked, "passwd") && !strings.Contains(asked, "/etc/passwd/") {
		t.Errorf("a file was asked for: %s", asked)
	}
	if strings.Contains(s.logs.String(), "s3cret-of-the-source") {
		t.Error("the token of the source is in the log")
	}
	if n := s.one("SELECT count(*) FROM issues"); n != "1" {
		t.Errorf("%s issues of the project", n)
	}
}
