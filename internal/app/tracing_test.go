package app

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"tenon/internal/base/config"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

// receiver is a collector that keeps what it gets.
type receiver struct {
	mu    sync.Mutex
	paths []string
	spans []*trace.Span
	from  string // attributes of the resource
}

func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	text, err := io.ReadAll(body)
	var got collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(text, &got)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths = append(c.paths, r.URL.Path)
	for _, resource := range got.ResourceSpans {
		c.from = resource.Resource.String()
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// Traces of requests reach a collector, as parts of the client's trace and with the statements
// that they ran; no secret and no value goes with them.
func TestTraces(t *testing.T) {
	t.Parallel()
	var got receiver
	server := httptest.NewServer(&got)
	defer server.Close()
	endpoint, err := url.Parse(server.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	a, err := New(t.Context(), &config.Config{
		Data: data, HTTP: "127.0.0.1:0", Database: "sqlite:" + filepath.Join(data, "tenon.db"), OTLP: endpoint,
		Root: config.Root{Password: "correct horse battery", Token: rootToken}, Git: config.Git{Fetches: 4, FetchesPerAddress: 4, PackCache: 16, ImportSize: 16},
	}, slog.New(slog.DiscardHandler), Build{Version: "1.2.3", Revision: "unknown"})
	if err != nil {
		t.Fatal(err)
	}
	const remote = "4bf92f3577b34da6a3ce929d0e0e4736"
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, api.Prefix+"/projects/root%2Fnone?private_token="+rootToken, nil)
	r.Header.Set("Traceparent", "00-"+remote+"-00f067aa0ba902b7-01")
	w := httptest.NewRecorder()
	a.http.Handler.ServeHTTP(w, r)
	if w.Code != http.StatusNotFound {
		t.Fatalf("got %d, want 404", w.Code)
	}
	if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	var request *trace.Span
	for _, s := range got.spans {
		if s.Name == "GET /projects/:id" {
			request = s
		}
		if text := s.String(); strings.Contains(text, rootToken) || strings.Contains(text, "none") && strings.Contains(text, "root/") {
			t.Errorf("a span has what the client sent: %s", text)
		}
	}
	if request == nil {
		t.Fatalf("no span of the request among %v", got.spans)
	}
	if id := hex.EncodeToString(request.TraceId); id != remote {
		t.Errorf("the request is of the trace %s, want that of the client, %s", id, remote)
	}
	statements := 0
	for _, s := range got.spans {
		if s.Name == "sql" && bytes.Equal(s.ParentSpanId, request.SpanId) {
			statements++
		}
	}
	if statements == 0 {
		t.Error("the request has no statements in its trace")
	}
	if len(got.paths) == 0 || got.paths[0] != "/base/v1/traces" || !strings.Contains(got.from, "1.2.3") || !strings.Contains(got.from, a.id) {
		t.Errorf("sent to %v from %s, want /base/v1/traces with version and instance", got.paths, got.from)
	}
}

// attribute returns what a span says under a name, nil for nothing.
func attribute(s *trace.Span, name string) *common.AnyValue {
	for _, a := range s.Attributes {
		if a.Key == name {
			return a.Value
		}
	}
	return nil
}

// Commands over SSH, requests of git over HTTP and jobs are spans with their statements, and
// say what they did and whether it failed.
func TestTraces_work(t *testing.T) {
	t.Parallel()
	var got receiver
	server := httptest.NewServer(&got)
	defer server.Close()
	endpoint, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	a, client := newSSHOn(t, "", endpoint)
	for command, works := range map[string]bool{"git-upload-pack 'root/app.git'": true, "git-upload-archive 'root/none.git'": false} {
		session, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		session.Stdin, session.Stdout = strings.NewReader("0000"), io.Discard
		if err := session.Run(command); (err == nil) != works {
			t.Errorf("%s: got %v, want success %v", command, err, works)
		}
		_ = session.Close()
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/root/app.git/info/refs?service=git-upload-pack", nil)
	r.SetBasicAuth("root", rootToken)
	w := httptest.NewRecorder()
	a.http.Handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("got %d, want 200", w.Code)
	}
	if err := a.jobs.Enqueue(t.Context(), project.Purge{ProjectID: 424242}); err != nil {
		t.Fatal(err)
	}
	if err := a.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	if err := a.Close(context.WithoutCancel(t.Context())); err != nil { // waits for the commands
		t.Fatal(err)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	for _, tt := range []struct {
		name, attribute, value string
		failed                 bool
	}{
		{"ssh git-upload-pack", "tenon.git.service", "git-upload-pack", false},
		{"ssh git-upload-archive", "tenon.git.service", "git-upload-archive", true},
		{"GET git/info/refs", "tenon.git.service", "git-upload-pack", false},
		{"job project_purge", "tenon.job.kind", "project_purge", false},
	} {
		var span *trace.Span
		for _, s := range got.spans {
			if s.Name == tt.name {
				span = s
			}
			if text := s.String(); strings.Contains(text, rootToken) || strings.Contains(text, "root/") {
				t.Errorf("a span has what the client sent: %s", text)
			}
		}
		if span == nil {
			t.Errorf("no span %q among %v", tt.name, got.spans)
			continue
		}
		if value := attribute(span, tt.attribute); value.GetStringValue() != tt.value {
			t.Errorf("%s: got %s %v, want %q", tt.name, tt.attribute, value, tt.value)
		}
		if failed := span.Status.GetCode() == trace.Status_STATUS_CODE_ERROR; failed != tt.failed {
			t.Errorf("%s: got failed %v, want %v", tt.name, failed, tt.failed)
		}
		statements := 0
		for _, s := range got.spans {
			if s.Name == "sql" && bytes.Equal(s.ParentSpanId, span.SpanId) {
				statements++
			}
		}
		if statements == 0 || span.EndTimeUnixNano < span.StartTimeUnixNano {
			t.Errorf("%s: got %d statements, %v; want some", tt.name, statements, span)
		}
	}
}
