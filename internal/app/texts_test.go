package app

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"tenon/internal/base/db"
	"tenon/internal/transport/rest/api"
)

// longest is the encoding that needs most room, 12 bytes for one character.
const longest = "json with escapes"

// repeated is a string that is written several times.
type repeated struct {
	once  string
	times int
}

func (t repeated) String() string { return strings.Repeat(t.once, t.times) }

// encodings write a body with one long text in every way that a client may.
func encodings() map[string]func(values map[string]repeated) (kind, body string) {
	json := func(write func(string) string) func(map[string]repeated) (string, string) {
		return func(values map[string]repeated) (string, string) {
			var pairs []string
			for name, value := range values {
				pairs = append(pairs, fmt.Sprintf("%q:\"%s\"", name, strings.Repeat(write(value.once), value.times)))
			}
			return "application/json", "{" + strings.Join(pairs, ",") + "}"
		}
	}
	return map[string]func(map[string]repeated) (string, string){
		"json": json(func(s string) string { return s }),
		longest: json(func(s string) string {
			var b strings.Builder
			for _, unit := range utf16.Encode([]rune(s)) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
			return b.String()
		}),
		"form": func(values map[string]repeated) (string, string) {
			var pairs []string
			for name, value := range values {
				pairs = append(pairs, url.QueryEscape(name)+"="+strings.Repeat(url.QueryEscape(value.once), value.times))
			}
			return "application/x-www-form-urlencoded", strings.Join(pairs, "&")
		},
		"multipart": func(values map[string]repeated) (string, string) {
			var b bytes.Buffer
			w := multipart.NewWriter(&b)
			for name, value := range values {
				if err := w.WriteField(name, value.String()); err != nil {
					panic(err)
				}
			}
			if err := w.Close(); err != nil {
				panic(err)
			}
			return w.FormDataContentType(), b.String()
		},
	}
}

// TestTexts sends every text as long as its parameter allows, and one character more, to every
// route that takes one.
func TestTexts(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		all, routes, limits := samples(), 0, map[int]bool{}
		for _, route := range w.kit().Routes() {
			for _, p := range route.Params {
				if p.Chars == 0 {
					continue
				}
				routes++
				r := w.rows(route, all)[0]
				q, _ := r.request()
				values := map[string]repeated{}
				for name, value := range q.body {
					values[name] = repeated{fmt.Sprint(value), 1}
				}
				// What a text takes in a body depends on its limit, not on the route or the engine: the
				// first route of each limit tries every encoding, all others the longest.
				every := w.db.Dialect() == db.SQLite && !limits[p.Chars]
				limits[p.Chars] = true
				w.longText(t, longRequest{key(route), q, values, p, every})
			}
		}
		if routes < 11 {
			t.Errorf("only %d routes take a long text", routes)
		}
	})
}

// TestTexts_content commits a file of three megabytes in every encoding.
func TestTexts_content(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.do("admin", "POST", "/projects", obj{"name": "app", "path": "app", "initialize_with_readme": true})
	w := &world{server: s}
	for name, encode := range encodings() {
		kind, body := encode(map[string]repeated{"branch": {"main", 1}, "commit_message": {"x", 1}, "content": {"\u8a9e", 1 << 20}})
		q := request{method: "POST", path: "/projects/root%2Fapp/repository/files/" + url.PathEscape(name)}
		if got := w.sendBody(q, kind, body); got.Code != 201 {
			t.Errorf("as %s: got %d %.200s", name, got.Code, got.Body)
		}
	}
}

// longRequest is a request with one long text.
type longRequest struct {
	route  string
	q      request
	values map[string]repeated
	p      api.Param
	every  bool // in every encoding, not only in the longest
}

// longText tries one parameter.
func (w *world) longText(t *testing.T, l longRequest) {
	t.Helper()
	route, q, values, p := l.route, l.q, l.values, l.p
	for name, encode := range encodings() {
		if !l.every && name != longest {
			continue
		}
		for script, letter := range map[string]string{"cjk": "\u8a9e", "astral": "\U0001f600", "latin": "\u00e9"} {
			if script != "astral" && name != "json" {
				continue // shorter than those
			}
			values[p.Name] = repeated{letter, p.Chars}
			kind, body := encode(values)
			got := w.sendBody(q, kind, body)
			if got.Code >= 300 || got.Code != http.StatusNoContent && !strings.Contains(got.Body.String(), values[p.Name].String()) {
				t.Errorf("%s with %d characters of %s as %s: got %d %.200s", route, p.Chars, script, name, got.Code, got.Body)
			}
		}
		values[p.Name] = repeated{"x", p.Chars + 1}
		kind, body := encode(values)
		got := w.sendBody(q, kind, body)
		if want := fmt.Sprintf("is too long (maximum is %d characters)", p.Chars); got.Code != 400 || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s with %d characters as %s: got %d %.200s, want 400 with %q", route, p.Chars+1, name, got.Code, got.Body, want)
		}
	}
	values[p.Name] = repeated{"x", 12*p.Chars + api.DefaultMaxBody}
	kind, body := encodings()["json"](values)
	got := w.sendBody(q, kind, body)
	if want := `{"message":"413 Request Entity Too Large"}`; got.Code != 413 || got.Body.String() != want {
		t.Errorf("%s with a body beyond any encoding: got %d %.200s, want 413 %s", route, got.Code, got.Body, want)
	}
}

// sendBody makes a request of the administrator with a body as it is, and undoes it.
func (w *world) sendBody(q request, kind, body string) *httptest.ResponseRecorder {
	out := httptest.NewRecorder()
	w.undo(q, func(ctx context.Context) {
		r := httptest.NewRequestWithContext(ctx, q.method, api.Prefix+q.path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Private-Token", rootToken)
		w.http.Handler.ServeHTTP(out, r)
	})
	return out
}
