package gitimport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/safehttp"
	"tenon/internal/core/gitimport"
	"tenon/internal/core/project"
)

// drip answers a byte now and then, for good: git reads the length of a long packet.
func drip(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection goes unnoticed
	tick := time.NewTicker(10 * time.Millisecond)
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

// hush answers nothing, for good.
func hush(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// instead serves what another server does but for some requests.
func instead(t *testing.T, of *httptest.Server, when func(r *http.Request) bool, serve http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if when(r) {
			serve(w, r)
			return
		}
		of.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// isFetch says whether a request asks for objects; the listing is a POST as well where both
// sides speak version 2 of the protocol.
func isFetch(r *http.Request) bool {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
		return false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return err == nil && !strings.Contains(string(body), "command=ls-refs")
}

func (w *world) importFrom(ctx context.Context, limits gitimport.Limits, at string) (*gitimport.Service, func() error) {
	w.T.Helper()
	w.outbound = safehttp.Rules{Local: true}
	w.deps.Limits = limits
	imports := gitimport.New(w.deps)
	w.exec("UPDATE projects SET import_status = ?, import_error = NULL, lfs_enabled = true, default_branch = NULL WHERE id = ?", project.ImportScheduled, w.id)
	return imports, func() error {
		return imports.Import(ctx, project.Import{
			ProjectID: w.id, URL: at + "/shop.git",
			Sealed: w.deps.Box.Seal(project.ImportSecret(w.id), url.UserPassword("sam", "s3cret").String()),
		})
	}
}

// processes counts the git processes of this machine that have to do with an address.
func processes(t *testing.T, address string) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(t, err)
	n := 0
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), address) {
			n++
		}
	}
	return n
}

func TestService_Import_limits(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("large", 40)
	origin := elsewhere(t, nil, content)
	isListing := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/info/refs") }
	isObject := func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/large/") }
	pace := safehttp.Pace{Floor: 1 << 20, Window: 300 * time.Millisecond}
	slow := "The server sends too slowly: less than 1048576 bytes a second."
	for _, tt := range []struct {
		name   string
		when   func(r *http.Request) bool
		serve  http.HandlerFunc
		limits gitimport.Limits
		want   string
	}{
		{"a listing that never ends", isListing, drip, gitimport.Limits{Listing: time.Second, Pace: safehttp.Pace{Floor: 1}}, "The server did not list its branches and tags in time."},
		{"no listing", isListing, hush, gitimport.Limits{Listing: time.Second}, "The server did not list its branches and tags in time."},
		{"drops", isFetch, drip, gitimport.Limits{Pace: pace}, slow},
		{"silence", isFetch, hush, gitimport.Limits{Pace: pace}, slow},
		{"too long in all", isFetch, hush, gitimport.Limits{Whole: 3 * time.Second}, "The import took too long."},
		{"drops of a large file", isObject, drip, gitimport.Limits{Pace: pace}, slow},
		{"silence in a large file", isObject, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "0")
			_ = http.NewResponseController(w).Flush()
			hush(w, r)
		}, gitimport.Limits{Pace: pace}, slow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, w *world) {
				var server *httptest.Server
				batch := instead(t, origin, tt.when, tt.serve)
				server = instead(t, batch, func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/info/lfs/") }, func(w http.ResponseWriter, r *http.Request) {
					o := pointer(content)
					_ = json.NewEncoder(w).Encode(map[string]any{"objects": []any{map[string]any{
						"oid": o.OID, "size": o.Size, "actions": map[string]any{"download": map[string]any{"href": server.URL + "/large/" + o.OID}},
					}}})
				})
				_, run := w.importFrom(t.Context(), tt.limits, server.URL)
				err := run()
				p := w.as(w.owner)
				if err == nil || p.ImportStatus != project.ImportFailed || p.ImportError == nil || *p.ImportError != tt.want {
					t.Errorf("got %v; %q, %s, want %q", err, p.ImportStatus, said(p), tt.want)
				}
				if n := processes(t, server.URL); n != 0 {
					t.Errorf("%d git processes go on, want 0", n)
				}
			})
		})
	}
}

func said(p *project.Project) string {
	if p.ImportError == nil {
		return "nothing"
	}
	return fmt.Sprintf("%q", *p.ImportError)
}

// The deletion of a project ends its import, with the processes of it.
func TestService_Cancel(t *testing.T) {
	t.Parallel()
	origin := elsewhere(t, nil)
	each(t, func(t *testing.T, w *world) {
		asked := make(chan struct{}, 10)
		server := instead(t, origin, isFetch, func(w http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			drip(w, r)
		})
		imports, run := w.importFrom(t.Context(), gitimport.Limits{}, server.URL)
		imports.Subscribe(w.Bus)
		deleted := project.Deleted{Fact: project.Fact{Before: &project.Project{ID: w.id}}}
		restored := project.Marked{Fact: deleted.Fact, Restored: true}
		ended := make(chan error, 1)
		go func() { ended <- run() }()
		<-asked
		if n := processes(t, server.URL); n == 0 {
			t.Error("no git process runs")
		}
		if err := run(); err != nil { // once more for another job of the same import
			t.Errorf("second run: %v", err)
		}
		undone := w.DB.InTx(t.Context(), func(ctx context.Context) error {
			check(t, w.Bus.Publish(ctx, deleted))
			return context.Canceled
		})
		check(t, w.Bus.Publish(t.Context(), restored))
		if undone == nil || len(ended) != 0 {
			t.Errorf("a deletion that was undone ended the import: got %v, %d ends, want an error and no end", undone, len(ended))
		}
		check(t, w.Bus.Publish(t.Context(), deleted))
		if err := <-ended; err != nil {
			t.Errorf("got %v, want an end without another attempt", err)
		}
		if p := w.as(w.owner); p.ImportStatus != project.ImportFailed || said(p) != fmt.Sprintf("%q", project.ImportCancelled) {
			t.Errorf("got %q, %s, want %q", p.ImportStatus, said(p), project.ImportCancelled)
		}
		if n := processes(t, server.URL); n != 0 {
			t.Errorf("%d git processes go on, want 0", n)
		}
	})
}
