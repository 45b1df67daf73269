package app

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenon/internal/base/safehttp"
	"tenon/internal/core"
	"tenon/internal/core/importexport"
)

// faulty is a source that answers something else where fault says so.
type faulty struct {
	*hostile
	fault func(w http.ResponseWriter, r *http.Request, key, body string) bool
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	key := f.key(r)
	r.Body = io.NopCloser(bytes.NewReader(text))
	if !f.fault(w, r, key, string(text)) {
		f.hostile.ServeHTTP(w, r)
	}
}

// breakOff announces more than it sends, and closes the connection.
func breakOff(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/gzip")
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, "\x1f\x8b\x08half of it")
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = c.Close()
	}
}

// drip answers a byte now and then, for good.
func drip(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection goes unnoticed
	w.Header().Set("Content-Type", "application/gzip")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.WriteString(w, "1"); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// drips has a source drip where one key is asked for.
func drips(key string) func(w http.ResponseWriter, r *http.Request, asked, body string) bool {
	return func(w http.ResponseWriter, r *http.Request, asked, _ string) bool {
		if asked == key {
			drip(w, r)
		}
		return asked == key
	}
}

// A source that goes away, that drips, that says to wait, whose lists change while they are read, or that serves another relation than it was asked for: what
// moves is there once, and what does not has a reason.
func TestBulkImport_faults(t *testing.T) {
	t.Parallel()
	const labels = `{"title":"bug","color":"#5843AD","type":"GroupLabel"}` + "\n"
	project := func(id int, slug string) string {
		return fmt.Sprintf(`{"id":"gid://gitlab/Project/%d","name":"%s","path":"%s","full_path":"away/%s"}`, id, slug, slug, slug)
	}
	page := func(next string, nodes ...string) string {
		return fmt.Sprintf(`{"data":{"group":{"projects":{"page_info":{"next_page":%q,"has_next_page":%t},"nodes":[%s]}}}}`, next, next != "", strings.Join(nodes, ","))
	}
	counted := func(until int64, key string, fault func(w http.ResponseWriter)) func(w http.ResponseWriter, r *http.Request, asked, body string) bool {
		var n atomic.Int64
		return func(w http.ResponseWriter, _ *http.Request, asked, _ string) bool {
			if asked != key || n.Add(1) > until {
				return false
			}
			fault(w)
			return true
		}
	}
	for _, tt := range []struct {
		name, status, labels string
		answers              map[string]string
		fault                func(w http.ResponseWriter, r *http.Request, key, body string) bool
		failure              string // one of the failures, "" for none of them
		entities             []string
	}{
		{
			"goes away for a while", "finished", "1",
			map[string]string{"download labels": labels},
			counted(3, "download labels", breakOff), "",
			[]string{"group parent/moved finished"},
		},
		{
			"goes away for good", "failed", "0",
			map[string]string{"download labels": labels},
			counted(1000, "download labels", breakOff), "EOF",
			[]string{"group parent/moved failed"},
		},
		{
			"drips a file", "failed", "0",
			map[string]string{"download labels": labels},
			drips("download labels"), "the server sends too slowly",
			[]string{"group parent/moved failed"},
		},
		{
			"drips an answer", "failed", "0",
			map[string]string{"download labels": labels},
			drips("status"), "the server did not answer in time",
			[]string{"group parent/moved failed"},
		},
		{
			"drips a repository", "finished", "1",
			map[string]string{"download labels": labels, "wikis": `[{"slug":"home"}]`},
			drips("refs"),
			"The repository could not be read from the source.",
			[]string{"group parent/moved finished"},
		},
		{
			"says to wait", "finished", "1", map[string]string{"download labels": labels}, counted(4, "status", func(w http.ResponseWriter) {
				w.Header().Set("Retry-After", "3")
				w.WriteHeader(http.StatusTooManyRequests)
			}), "", []string{"group parent/moved finished"},
		},
		{
			"says to wait at the end", "finished", "1",
			map[string]string{"download labels": labels},
			counted(4, "subgroups", func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }), "",
			[]string{"group parent/moved finished"},
		},
		{
			"changes between pages", "finished", "1", map[string]string{"download labels": labels}, func(w http.ResponseWriter, _ *http.Request, key, body string) bool {
				for i, slug := range []string{"one", "two", "three"} {
					if key == "project" && strings.Contains(body, "away/"+slug) {
						_, _ = io.WriteString(w, `{"data":{"found":`+project(8+i, slug)+`}}`)
						return true
					}
				}
				if key != "projects" {
					return false
				}
				if strings.Contains(body, `"cursor":"2"`) { // the first page was pushed down by a new project
					_, _ = io.WriteString(w, page("", project(9, "two"), project(10, "three")))
				} else {
					_, _ = io.WriteString(w, page("2", project(8, "one"), project(9, "two")))
				}
				return true
			}, "", []string{"group parent/moved finished", "project parent/moved/one finished", "project parent/moved/three finished", "project parent/moved/two finished"},
		},
		{
			"serves another relation", "finished", "0",
			map[string]string{"download labels": `{"title":"One","iid":1,"state":"active","group_id":9}` + "\n"},
			counted(0, "", nil),
			"color",
			[]string{"group parent/moved finished"},
		},
		{
			"names another relation", "finished", "0", map[string]string{"download labels": labels}, func(w http.ResponseWriter, r *http.Request, key, _ string) bool {
				if key != "status" {
					return false
				}
				_, _ = io.WriteString(w, strings.Replace(allFinished, `"labels"`, `"stickers"`, 1))
				return true
			}, "Empty export status on source instance", []string{"group parent/moved finished"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "")
			s.once()
			s.set(obj{"bulk_import_enabled": true, "allow_local_requests_from_web_hooks_and_services": true})
			s.do("admin", "POST", "/groups", obj{"name": "Parent", "path": "parent", "visibility": "private"})
			var begun atomic.Bool // the status is asked for when the transfer begins, which is refused where it fails
			web := httptest.NewServer(&faulty{&hostile{answers: tt.answers}, func(w http.ResponseWriter, r *http.Request, key, body string) bool {
				if key == "status" && begun.CompareAndSwap(false, true) {
					return false
				}
				return tt.fault(w, r, key, body)
			}})
			defer web.Close()
			made := s.do("admin", "POST", "/bulk_imports", obj{
				"configuration": obj{"url": web.URL, "access_token": "s3cret-of-the-source"},
				"entities":      []obj{{"source_type": "group_entity", "source_full_path": "away", "destination_slug": "moved", "destination_namespace": "parent"}},
			})
			switch waits := &core.Part[*importexport.Service](s.core).Waits; tt.name {
			case "drips a file", "drips a repository":
				waits.Pace = safehttp.Pace{Floor: 1 << 20, Window: 300 * time.Millisecond}
			case "drips an answer":
				waits.Answer = 300 * time.Millisecond
			}
			for range 14 {
				s.exec("UPDATE bulk_import_entities SET requested_at = '2020-01-01 00:00:00' WHERE requested_at IS NOT NULL")
				s.exec("UPDATE river_job SET state = 'available', scheduled_at = created_at WHERE state = 'scheduled' AND kind = 'bulk_import_entity'")
				if err := s.jobs.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			path := "/bulk_imports/" + number(made, "id")
			if got := s.do("admin", "GET", path, nil)["status"]; got != tt.status {
				t.Errorf("the transfer is %v, want %s\n%s", got, tt.status, s.logs.last())
			}
			var entities, failures []string
			for _, e := range s.list("admin", path+"/entities") {
				e := e.(map[string]any)
				entities = append(entities, fmt.Sprintf("%v %v %v", e["entity_type"], e["destination_full_path"], e["status"]))
				for _, f := range e["failures"].([]any) {
					failures = append(failures, fmt.Sprint(f.(map[string]any)["exception_message"]))
				}
			}
			slices.Sort(entities)
			if !slices.Equal(entities, tt.entities) {
				t.Errorf("entities: %q, want %q", entities, tt.entities)
			}
			if said := strings.Join(failures, "\n"); tt.failure == "" && said != "" || !strings.Contains(said, tt.failure) {
				t.Errorf("failures: %q, want %q", said, tt.failure)
			}
			if got := s.one("SELECT count(*) FROM labels l JOIN groups g ON g.namespace_id = l.namespace_id"); got != tt.labels {
				t.Errorf("%s labels, want %s", got, tt.labels)
			}
			if got := s.one("SELECT count(*) FROM milestones"); got != "0" {
				t.Errorf("%s milestones", got)
			}
			if got := s.one("SELECT count(*) FROM bulk_import_files"); tt.status == "finished" && got != "0" {
				t.Errorf("%s files are kept", got)
			}
		})
	}
}
