package rest

import (
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/transport/rest/api"
)

// fetch sends a request with headers, given in pairs.
func (p *planning) fetch(as, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(p.t.Context(), "GET", api.Prefix+path, nil)
	if as != "" {
		r.Header.Set("Private-Token", as)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.kit.ServeHTTP(w, r)
	return w
}

func TestArchive(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		head := p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"].(string)
		const path = appPath + "/repository/archive"
		first := p.fetch("", path+".tar")
		if first.Code != 200 || first.Body.Len() < 1024 {
			t.Fatalf("got %d, %d bytes", first.Code, first.Body.Len())
		}
		for name, want := range map[string]string{
			"Content-Type": "application/octet-stream", "Content-Transfer-Encoding": "binary",
			"Content-Disposition": `attachment; filename="app-main-` + head + `.tar"`,
		} {
			if got := first.Header().Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		whole := first.Body.String()
		if again := p.fetch("", path+".tar?sha=main"); again.Body.String() != whole || again.Header().Get("Accept-Ranges") != "bytes" {
			t.Errorf("the kept archive differs: %v", again.Header())
		}
		part := p.fetch("", path+".tar", "Range", "bytes=10-19")
		if part.Code != 206 || part.Body.String() != whole[10:20] || !strings.HasPrefix(part.Header().Get("Content-Range"), "bytes 10-19/") {
			t.Errorf("part: %d %q", part.Code, part.Body)
		}
		if same := p.fetch("", path+".tar", "If-None-Match", first.Header().Get("Etag")); same.Code != 304 {
			t.Errorf("the same: %d", same.Code)
		}
		if zip := p.fetch("", path+".zip?path=a.txt"); zip.Header().Get("Content-Type") != "application/zip" ||
			zip.Header().Get("Content-Disposition") != `attachment; filename="app-main-`+head+`-a.txt.zip"` {
			t.Errorf("zip: %v", zip.Header())
		}
		for _, tt := range []struct {
			path    string
			headers []string
			status  int
			body    string
		}{
			{path, nil, 200, ""},
			{path + ".tar.bz2", []string{"Accept", "*/*"}, 200, ""},
			{path + ".rar", nil, 404, `{"error":"404 Not Found"}`},
			{path + "?format=zip", nil, 406, `{"error":"The requested format 'zip' is not supported."}`},
			{path + ".zip?sha=none", nil, 404, `{"message":"404 File Not Found"}`},
			{path + ".zip?path=none", nil, 404, `{"message":"404 File Not Found"}`},
			{path + ".zip", []string{"Accept", "image/webp,*/*"}, 406, `{"message":"406 Not Acceptable"}`},
			{path + ".zip", []string{"Accept", "text/css;q=1"}, 406, ""},
			{path + ".zip", []string{"Sec-Fetch-Mode", "no-cors"}, 406, ""},
			{path + ".zip", []string{"Sec-Fetch-Mode", "navigate", "Accept", "text/html,image/webp"}, 200, ""},
			{"/projects/none%2Fnone/repository/archive.zip", nil, 404, `{"message":"404 Project Not Found"}`},
		} {
			w := p.fetch("", tt.path, tt.headers...)
			if w.Code != tt.status || tt.body != "" && w.Body.String() != tt.body {
				t.Errorf("%s %q: got %d %.200s, want %d %s", tt.path, tt.headers, w.Code, w.Body, tt.status, tt.body)
			}
		}
	})
}
