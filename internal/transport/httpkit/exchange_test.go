package httpkit_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/transport/httpkit"
)

// TestGate_Serve sends requests to handlers that end well, end badly and never begin.
func TestGate_Serve(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		serve  http.HandlerFunc
		status int
		body   string
		panics bool // it goes on
		logged string
	}{
		{"an answer", func(w http.ResponseWriter, r *http.Request) {
			x := httpkit.Of(r.Context())
			x.Route, x.As = "thing", authz.Actor{UserID: 7, Username: "ann", TokenID: 9}
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "tea")
		}, http.StatusTeapot, "tea", false, ""},
		{"a text without a status", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "plain") }, http.StatusOK, "plain", false, ""},
		{"a file", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, struct{ io.Reader }{strings.NewReader("file")})
		}, http.StatusOK, "file", false, ""},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, http.StatusOK, "", false, ""},
		{"a panic before the answer", func(http.ResponseWriter, *http.Request) { panic("bad luck") }, http.StatusInternalServerError, "failed\n", false, "bad luck"},
		{"a panic within the answer", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic("bad luck")
		}, http.StatusOK, "half", false, "bad luck"},
		{"an answer broken off", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		}, http.StatusOK, "half", true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			var seen []httpkit.Observation
			g := &httpkit.Gate{Log: slog.New(slog.NewJSONHandler(&log, nil)), Observe: func(o httpkit.Observation) { seen = append(seen, o) }}
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/a%2Fb?private_token=secret", nil)
			r.RemoteAddr = "192.0.2.1:99"
			r.Header.Set("X-Request-Id", "from-a-proxy")
			func() {
				defer func() {
					if p := recover(); (p != nil) != tt.panics {
						t.Errorf("panic goes on with %v, want %v", p, tt.panics)
					}
				}()
				g.Serve(w, r, tt.serve, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "failed", http.StatusInternalServerError) })
			}()
			if w.Code != tt.status || w.Body.String() != tt.body || w.Header().Get("X-Request-Id") != "from-a-proxy" {
				t.Errorf("answered %d %q with the id %q, want %d %q", w.Code, w.Body, w.Header().Get("X-Request-Id"), tt.status, tt.body)
			}
			if len(seen) == 1 && (seen[0].Out != int64(len(tt.body)) || seen[0].In != int64(0)) {
				t.Errorf("observed %d bytes in and %d out, want 0 and %d", seen[0].In, seen[0].Out, len(tt.body))
			}
			if len(seen) != 1 || seen[0].Status != tt.status || seen[0].Method != http.MethodGet {
				t.Errorf("observed %+v, want one GET with %d", seen, tt.status)
			}
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			var line map[string]any
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
				t.Fatal(err)
			}
			if line["msg"] != "request" || line["status"] != float64(tt.status) || line["address"] != "192.0.2.1" || line["path"] != "/a%2Fb" || line["request_id"] != "from-a-proxy" {
				t.Errorf("logged %v", line)
			}
			if strings.Contains(log.String(), "secret") {
				t.Errorf("the token of the query is in the log: %s", log.String())
			}
			if got := len(lines) == 2 && strings.Contains(lines[0], tt.logged) && strings.Contains(lines[0], "exchange_test.go"); got != (tt.logged != "") {
				t.Errorf("logged %q, want the panic %q with its stack", lines, tt.logged)
			}
			if tt.name == "an answer" && (line["route"] != "thing" || line["user"] != "ann" || line["user_id"] != 7.0 || line["token_id"] != 9.0 || seen[0].Route != "thing") {
				t.Errorf("logged %v, observed %v; want what the handler told the exchange", line, seen)
			}
		})
	}
}

// A request without a number, or with one that could write to the log, gets a new one.
func TestGate_Serve_id(t *testing.T) {
	t.Parallel()
	g := &httpkit.Gate{Log: slog.New(slog.DiscardHandler)}
	for _, given := range []string{"", "two words", "line\nbreak", strings.Repeat("a", 129)} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header["X-Request-Id"] = []string{given}
		g.Serve(w, r, func(http.ResponseWriter, *http.Request) {}, nil)
		if got := w.Header().Get("X-Request-Id"); !regexp.MustCompile(`^[0-9A-F]{26}$`).MatchString(got) {
			t.Errorf("%q: the id is %q, want a new one", given, got)
		}
	}
}

// TestFind presents credentials in all their forms, and two at a time.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		headers map[string]string
		params  map[string]string
		how     httpkit.Presentation
		secret  string // "" finds nothing
		err     error
	}{
		{name: "nothing"},
		{"private token", map[string]string{"Private-Token": "a"}, nil, httpkit.PrivateToken, "a", nil},
		{"private token as a parameter", nil, map[string]string{"private_token": "a"}, httpkit.PrivateToken, "a", nil},
		{"bearer", map[string]string{"Authorization": "bEaReR  a "}, nil, httpkit.Bearer, "a", nil},
		{"access token", nil, map[string]string{"access_token": "a"}, httpkit.Bearer, "a", nil},
		{"bearer token", nil, map[string]string{"bearer_token": "a"}, httpkit.Bearer, "a", nil},
		{"job token", map[string]string{"Job-Token": "a"}, nil, httpkit.JobToken, "a", nil},
		{"job token as a parameter", nil, map[string]string{"job_token": "a"}, httpkit.JobToken, "a", nil},
		{"deploy token", map[string]string{"Deploy-Token": "a"}, nil, httpkit.DeployToken, "a", nil},
		{"bearer goes before the private token", map[string]string{"Authorization": "Bearer a", "Private-Token": "b"}, nil, httpkit.Bearer, "a", nil},
		{"parameter goes before the header", map[string]string{"Private-Token": "b"}, map[string]string{"private_token": "a"}, httpkit.PrivateToken, "a", nil},
		{"two bearers", map[string]string{"Authorization": "Bearer a"}, map[string]string{"access_token": "b"}, 0, "", httpkit.ErrTwoTokens},
		{"basic is no token", map[string]string{"Authorization": "Basic YTpi"}, nil, 0, "", nil},
		{"bearer without a token", map[string]string{"Authorization": "Bearer "}, nil, 0, "", nil},
	} {
		h := http.Header{}
		for name, value := range tt.headers {
			h.Set(name, value)
		}
		c, ok, err := httpkit.Find(h, func(name string) string { return tt.params[name] })
		if c.How != tt.how || c.Secret != tt.secret || ok != (tt.secret != "") || err != tt.err { //nolint:errorlint // it is the value itself
			t.Errorf("%s: got %v %q, %v, %v; want %v %q, %v", tt.name, c.How, c.Secret, ok, err, tt.how, tt.secret, tt.err)
		}
	}
}
