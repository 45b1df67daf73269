package app

import (
	"net/http"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

// TestMetricImages attaches images to an incident: only pictures, of a bounded size, for callers who
// may change the incident; they are shown to those who may read it and go with it. An image
// parser once ran code, and a file may only look like a picture: what is sent is decoded here and
// goes out as a picture in a sandbox.
func TestMetricImages(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"mona", "gus", "stan"} {
			s.user(name, nil)
			s.token(name, name, authz.ScopeAPI)
		}
		project := s.do("mona", "POST", "/projects", obj{"name": "Tools", "visibility": "public"})
		at := "/projects/" + number(project, "id")
		s.do("mona", "POST", at+"/members", obj{"user_id": s.ids["gus"], "access_level": 10})
		s.do("mona", "POST", at+"/issues", obj{"title": "Down", "issue_type": "incident"})
		s.do("mona", "POST", at+"/issues", obj{"title": "Plain"})
		s.do("mona", "POST", at+"/issues", obj{"title": "Hidden", "issue_type": "incident", "confidential": true})
		images := at + "/issues/1/metric_images"
		want := func(as, method, path string, body obj, code int, text string) {
			t.Helper()
			got := s.send(t.Context(), request{as: as, method: method, path: path, body: body})
			if got.Code != code || text != "" && got.Body.String() != text {
				t.Errorf("%s: %s %s: %d %s, want %d %s", as, method, path, got.Code, got.Body, code, text)
			}
		}
		uploads := func(want int) {
			t.Helper()
			n, err := db.Get[int](t.Context(), s.db, "SELECT COUNT(*) FROM uploads")
			if err != nil || n != want {
				t.Errorf("%d uploads, %v, want %d", n, err, want)
			}
		}

		made := s.do("mona", "POST", images, obj{"file": attached{"load of \"one\".svg", onePixel()}, "url": "https://example.com/load", "url_text": "Load"})
		file := made["file_path"].(string)
		name := made["filename"].(string)
		if !strings.HasSuffix(name, ".png") || file != "/uploads/-/system/issuable_metric_image/file/"+number(made, "id")+"/"+name ||
			made["url"] != "https://example.com/load" || made["url_text"] != "Load" {
			t.Errorf("made %v", made)
		}
		got := s.fetch("stan", file)
		h := got.Result().Header
		if got.Code != http.StatusOK || got.Body.String() != onePixel() || h.Get("Content-Type") != "image/png" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the file: %d %v", got.Code, h)
		}
		hidden := s.do("mona", "POST", at+"/issues/3/metric_images", obj{"file": attached{"a.png", onePixel()}})
		for _, as := range []string{"stan", "gus", ""} {
			if got := s.fetch(as, hidden["file_path"].(string)); got.Code != http.StatusNotFound {
				t.Errorf("the image of a confidential incident as %q: %d", as, got.Code)
			}
		}
		if got := s.fetch("mona", strings.Replace(file, name, "other.png", 1)); got.Code != http.StatusNotFound {
			t.Errorf("under another name: %d", got.Code)
		}
		want("stan", "GET", at+"/issues/3/metric_images", nil, 404, "")
		want("", "GET", images, nil, 401, "")
		uploads(2)

		for _, tt := range []struct {
			as, path, content, url string
			code                   int
			text                   string
		}{
			{"gus", images, onePixel(), "", 403, ""},
			{"stan", images, onePixel(), "", 403, ""},
			{"mona", at + "/issues/2/metric_images", onePixel(), "", 403, ""},
			{
				"mona", images, "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "", 400,
				`{"message":{"file":["does not have a supported format. Only png, jpeg, gif and webp are supported"]}}`,
			},
			{"mona", images, onePixel()[:40], "", 400, ""},
			{"mona", images, strings.Repeat("x", 1<<20+1), "", 400, `{"message":"400 Bad request - File is too large"}`},
			{"mona", images, onePixel(), "javascript:alert(1)", 400, `{"message":{"url":["must be a valid URL"]}}`},
			{"mona", images, onePixel(), "https://" + strings.Repeat("x", 248), 400, `{"message":{"url":["is too long (maximum is 255 characters)"]}}`},
		} {
			want(tt.as, "POST", tt.path, obj{"file": attached{"a.png", tt.content}, "url": tt.url}, tt.code, tt.text)
		}
		want("mona", "POST", images, obj{}, 400, `{"error":"file is missing"}`)
		uploads(2)

		one := images + "/" + number(made, "id")
		want("gus", "PUT", one, obj{"url": "https://example.com"}, 403, "")
		want("mona", "PUT", at+"/issues/3/metric_images/"+number(made, "id"), obj{"url": "https://example.com"}, 404, "")
		if changed := s.do("mona", "PUT", one, obj{"url": "", "url_text": "Peak"}); changed["url"] != nil || changed["url_text"] != "Peak" {
			t.Errorf("changed %v", changed)
		}
		want("gus", "DELETE", one, nil, 403, "")
		want("mona", "DELETE", one, nil, 204, "")
		want("mona", "GET", images, nil, 200, "[]")
		if got := s.fetch("mona", file); got.Code != http.StatusNotFound {
			t.Errorf("the file of a deleted image: %d", got.Code)
		}
		uploads(1)
		want("mona", "DELETE", at+"/issues/3", nil, 204, "")
		uploads(0)
	})
}
