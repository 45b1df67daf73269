package api_test

import (
	"slices"
	"strings"
	"testing"
)

const notFound = `{"error":"404 Not Found"}`

func TestKit_routing(t *testing.T) {
	k := (&toy{}).kit()
	tests := []struct {
		name, request string
		status        int
		body          string
	}{
		{"word", "GET /version", 200, `{"id":1,"name":"a <b> & c","labels":[],"created_at":"2023-05-22T10:11:12.345Z","closed_at":null,"due_date":null,"pipeline":null}`},
		{"json suffix on a word", "GET /version.json", 200, `{"id":1,"name":"a <b> & c","labels":[],"created_at":"2023-05-22T10:11:12.345Z","closed_at":null,"due_date":null,"pipeline":null}`},
		{"trailing slash", "GET /things/1/", 200, `{"as":"","param":"1"}`},
		{"two trailing slashes", "GET /things/1//", 404, notFound},
		{"json suffix on a parameter", "GET /things/1.json", 200, `{"as":"","param":"1"}`},
		{"json suffix, whole name known", "GET /things/whole.json", 200, `{"as":"","param":"whole.json"}`},
		{"json suffix twice", "GET /things/whole.json.json", 200, `{"as":"","param":"whole.json"}`},
		{"json suffix after a slash", "GET /things/a%2Fb.json/", 200, `{"as":"","param":"a/b"}`},
		{"json suffix alone", "GET /things/.json", 404, `{"message":"404 Thing Not Found"}`},
		{"json suffix in an escape", "GET /things/a%2Ejson", 404, `{"message":"404 Thing Not Found"}`},
		{"json suffix of a write", "PUT /things/1.json", 200, `{"as":"","param":"1.json"}`},
		{"json suffix on a number", "GET /numbers/1.json", 200, ` {N:1}`},
		{"json suffix on no number", "GET /numbers/x.json", 400, `{"error":"n is invalid"}`},
		{"json suffix on a word beside a parameter", "GET /numbers/all.json\nPRIVATE-TOKEN: profile", 200, `ann {}`},
		{"the same, signed out", "GET /numbers/all.json", 401, `{"message":"401 Unauthorized"}`},
		{"the same, with a scope too small", "GET /numbers/all.json\nPRIVATE-TOKEN: git", 403, scopeBody + `read_user api read_api"}`},
		{"json suffix on a word of a write", "POST /limited.json\nPRIVATE-TOKEN: ann", 404, notFound},
		{"json suffix on a word, wrong verb", "DELETE /version.json", 405, `{"error":"405 Not Allowed"}`},
		{"dots in a parameter", "GET /things/a.b.c", 200, `{"as":"","param":"a.b.c"}`},
		{"encoded path", "GET /things/a%2Fb", 200, `{"as":"","param":"a/b"}`},
		{"unescaped once", "GET /things/a%252Fb", 200, `{"as":"","param":"a%2Fb"}`},
		{"encoded dots twice stay text", "GET /things/%252e%252e", 200, `{"as":"","param":"%2e%2e"}`},
		{"plus is a plus in a path", "GET /things/a+b", 200, `{"as":"","param":"a+b"}`},
		{"word before parameter", "GET /things/special", 200, `{"as":"","param":"special"}`},
		{"encoded word", "GET /th%69ngs/special", 200, `{"as":"","param":"special"}`},
		{"back to the parameter for another method", "DELETE /things/special\nPRIVATE-TOKEN: ann", 204, ``},
		{"alias", "DELETE /old_things/1\nPRIVATE-TOKEN: ann", 204, ``},
		{"unknown", "GET /nothing", 404, notFound},
		{"too long", "GET /version/x", 404, notFound},
		{"prefix only", "GET /api/v4", 404, notFound},
		{"prefix run on", "GET /api/v4x/version", 404, notFound},
		{"empty segment", "GET /things//parts", 404, notFound},
		{"dot part", "GET /things/%2e", 404, notFound},
		{"dot dot part", "GET /things/..", 404, notFound},
		{"encoded dot dot inside", "GET /things/a%2F..%2Fb", 404, notFound},
		{"encoded empty part", "GET /things/a%2F%2Fb", 404, notFound},
		{"NUL", "GET /things/a%00b", 400, `Bad Request`},
		{"NUL in an unknown path", "GET /nothing/%00", 400, `Bad Request`},
		{"invalid UTF-8", "GET /things/%ff", 400, `Bad Request`},
		{"version 3", "GET /api/v3/projects", 410, `{"error":"API V3 is no longer supported. Use API V4 instead."}`},
		{"wrong verb", "PUT /version", 405, `{"error":"405 Not Allowed"}`},
		{"file path", "GET /things/1/files/..%2Fa%2Eb.json/raw", 200, ` {thingPath:{ID:1} FilePath:../a.b.json}`},
		{"ref keeps its suffix", "GET /things/1/refs/v1.json", 200, ` {thingPath:{ID:1} Ref:v1.json}`},
		{"ref of dots", "GET /things/1/refs/..", 200, ` {thingPath:{ID:1} Ref:..}`},
		{"archive", "GET /things/1/archive", 200, ` {thingPath:{ID:1} Format:}`},
		{"archive with suffix", "GET /things/1/archive.tar.gz", 200, ` {thingPath:{ID:1} Format:tar.gz}`},
		{"archive with unknown suffix", "GET /things/1/archive.rar", 404, notFound},
		{"archive with format in the query", "GET /things/1/archive?format=zip", 406, `{"error":"The requested format 'zip' is not supported."}`},
		{"archive with a dot", "GET /things/1/archive.", 404, notFound},
		{"rest", "GET /things/1/tree/a/b%2Fc/d.json", 200, ` {thingPath:{ID:1} Path:a/b/c/d.json}`},
		{"rest empty", "GET /things/1/tree/", 404, notFound},
		{"format json", "GET /version?format=json", 200, `{"id":1,"name":"a <b> & c","labels":[],"created_at":"2023-05-22T10:11:12.345Z","closed_at":null,"due_date":null,"pipeline":null}`},
		{"format xml", "GET /version?format=xml", 406, `{"error":"The requested format 'xml' is not supported."}`},
		{"Accept is ignored", "GET /things/1\nAccept: text/xml", 200, `{"as":"","param":"1"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, k, tt.request)
			if got.Code != tt.status || got.Body.String() != tt.body {
				t.Errorf("%s\n got %d %s\nwant %d %s", tt.request, got.Code, got.Body, tt.status, tt.body)
			}
		})
	}
}

// A name that is tried with and without its suffix is one request: it is counted, logged
// and observed once.
func TestKit_suffixOnce(t *testing.T) {
	s := &toy{limits: standingLimits()}
	k := s.kit()
	got := call(t, k, "GET /things/1.json\nPRIVATE-TOKEN: ann")
	if want := []string{"1.json", "1"}; !slices.Equal(s.asked, want) || got.Code != 200 {
		t.Errorf("looked for %q and got %d, want %q", s.asked, got.Code, want)
	}
	if n := strings.Count(s.log.String(), "\n"); n != 1 || len(s.seen) != 1 || s.seen[0].Status != 200 {
		t.Errorf("logged %d lines, observed %+v, want one of each", n, s.seen)
	}
	for i := range 299 {
		if got := call(t, k, "GET /things/1.json\nPRIVATE-TOKEN: ann"); got.Code != 200 {
			t.Fatalf("call %d of 300: got %d %s", i+2, got.Code, got.Body)
		}
	}
	if got := call(t, k, "GET /things/1.json\nPRIVATE-TOKEN: ann"); got.Code != 429 {
		t.Errorf("call 301: got %d, want 429", got.Code)
	}
	s.asked = nil
	if call(t, k, "PUT /things/1.json\nPRIVATE-TOKEN: ann"); len(s.asked) != 0 {
		t.Errorf("PUT was sent to GET with %q", s.asked)
	}
}
