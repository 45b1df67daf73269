package app

import (
	"archive/tar"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

// basic is the header of HTTP Basic.
func basic(user, password string) []string {
	return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}
}

// tarNames lists what a tar has.
func tarNames(t *testing.T, in io.Reader) []string {
	t.Helper()
	var out []string
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, h.Name)
	}
}

// Archives, diffs and patches have addresses of pages, which programs use with their credentials.
func TestWeb_archives(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	w := newWebWorld(t, s)
	callers, in := w.callers(t), "/"+w.path+"/-/"
	b := callers["owner"]
	for path, folder := range map[string]string{
		"archive/main/tools-main.tar.gz": "tools-main", "archive/v1/any.name.tgz": "tools-v1", "archive/feature/side/tools.tar.bz2": "tools-feature-side", "archive/main.tar": "tools-main",
		"archive/" + w.sha + "/x.tar": "tools-" + w.sha,
	} {
		for range 2 { // made, and kept
			p := b.get(in + path)
			var content io.Reader = strings.NewReader(p.text)
			var err error
			switch {
			case strings.HasSuffix(path, "gz"):
				content, err = gzip.NewReader(content)
			case strings.HasSuffix(path, "bz2"):
				content = bzip2.NewReader(content)
			}
			if p.status != http.StatusOK || err != nil {
				t.Fatalf("%s: got %d, %v: %.200s", path, p.status, err, p.text)
			}
			if names := tarNames(t, content); !strings.Contains(strings.Join(names, " "), folder+"/README.md") {
				t.Errorf("%s: got %v, want them in %s", path, names, folder)
			}
			if got := p.header.Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="`+folder+".") {
				t.Errorf("%s: got %s", path, got)
			}
		}
	}
	if p := b.get(in + "archive/main/x.zip?path=docs"); p.status != http.StatusOK || !strings.HasPrefix(p.text, "PK") || strings.Contains(p.text, "README") {
		t.Errorf("a folder as zip: got %d %v", p.status, p.header)
	}
	if p := b.send("GET", in+"archive/main/x.zip", nil, "Accept", "image/png"); p.status != http.StatusNotAcceptable {
		t.Errorf("an archive in another page: got %d", p.status)
	}
	for _, path := range []string{"archive/none/x.zip", "archive/main/x.rar", "archive/main/x", "archive/main/zip", "commit/none.diff", "commit/.diff", "merge_requests/9.diff", "merge_requests/x.patch"} {
		if p := b.get(in + path); p.status != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, p.status)
		}
	}
	merge := s.do("mona", "GET", "/projects/work%2Finner%2Ftools/merge_requests/1", nil)["sha"].(string)
	for path, wants := range map[string][]string{
		"commit/" + merge + ".diff": {"diff --git a/docs/guide.md b/docs/guide.md", "+more"}, "commit/" + merge + ".patch": {"From " + merge, "Subject: [PATCH] Second", "+more"},
		"commit/" + w.sha + ".patch": {"Subject: [PATCH] First <commit>", "+++ b/README.md"}, "merge_requests/1.diff": {"diff --git a/docs/guide.md", "+more"}, "merge_requests/1.patch": {"From " + merge, "+more"},
	} {
		p := b.get(in + path)
		for _, want := range wants {
			if p.status != http.StatusOK || p.header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(p.text, want) {
				t.Errorf("%s: got %d %v, no %q in %s", path, p.status, p.header, want, p.text)
			}
		}
		for _, role := range []string{"nobody", "stranger"} {
			if p := callers[role].get(in + path); p.status != http.StatusNotFound {
				t.Errorf("%s as %s: got %d", path, role, p.status)
			}
		}
	}
	// Programs sign on with a token, in whatever way.
	s.token("reads", "mona", authz.ScopeReadAPI)
	s.token("git only", "mona", authz.ScopeReadRepository)
	archive, nobody := in+"archive/main/tools.tar", callers["nobody"]
	for name, tt := range map[string]struct {
		query  string
		header []string
		want   int
	}{
		"header": {"", []string{"Private-Token", s.keys["reads"]}, 200}, "parameter": {"?private_token=" + s.keys["reads"], nil, 200}, "bearer": {"", []string{"Authorization", "Bearer " + s.keys["reads"]}, 200},
		"basic": {"", basic("mona", s.keys["reads"]), 200}, "basic with a password": {"", basic("mona", annPassword+" too"), 200}, "wrong": {"", basic("mona", "wrong"), 401},
		"of another": {"", basic("stan", s.keys["stan"]), 404}, "for git alone": {"", basic("mona", s.keys["git only"]), 401}, "none": {"", nil, 404},
	} {
		for _, path := range []string{archive, in + "raw/main/README.md"} {
			if p := nobody.send("GET", path+tt.query, nil, tt.header...); p.status != tt.want || (p.status == 401) != (p.header.Get("WWW-Authenticate") != "") {
				t.Errorf("%s for %s: got %d %v, want %d", path, name, p.status, p.header, tt.want)
			}
		}
	}
	if p := nobody.send("GET", in+"issues", nil, basic("mona", s.keys["reads"])...); p.status != http.StatusNotFound {
		t.Errorf("a page for people with HTTP Basic: got %d", p.status)
	}
}

// The log of a job and its artifacts have addresses, by number and by reference and name.
func TestWeb_artifacts(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		callers, in := w.callers(t), "/"+w.path+"/-/"
		machine := s.do("admin", "POST", "/user/runners", obj{"runner_type": "instance_type"})
		content := archived("out/deep/a.txt", "one <b>")
		for range 2 {
			taken := s.do("", "POST", "/jobs/request", obj{"token": machine["token"]})
			id := number(taken, "id")
			s.appendLog(t.Context(), taken, "\x1b[32mmade\x1b[0m\n")
			form, kind := request{body: obj{"file": attached{"artifacts.zip", string(content)}}}.encode()
			r := httptest.NewRequestWithContext(t.Context(), "POST", api.Prefix+"/jobs/"+id+"/artifacts", form)
			r.Header.Set("Content-Type", kind)
			r.Header.Set("Job-Token", taken["token"].(string))
			got := httptest.NewRecorder()
			s.http.Handler.ServeHTTP(got, r)
			if got.Code != http.StatusCreated {
				t.Fatalf("artifacts: got %d %s", got.Code, got.Body)
			}
			s.do("", "PUT", "/jobs/"+id, obj{"token": taken["token"], "state": "success"})
		}
		job := fmt.Sprint(in, "jobs/", w.job)
		named := in + "jobs/artifacts/build/"
		for path, want := range map[string]string{
			job + "/raw": "\x1b[32mmade\x1b[0m\n", job + "/artifacts/download": string(content), job + "/artifacts/raw/out/deep/a.txt": "one <b>",
			named + "download?job=carry": string(content), named + "raw/out/deep/a.txt?job=carry": "one <b>",
		} {
			p := callers["reporter"].get(path)
			if p.status != http.StatusOK || p.text != want || p.header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" || strings.Contains(p.header.Get("Content-Type"), "html") {
				t.Errorf("%s: got %d %v %q", path, p.status, p.header, p.text)
			}
			p = callers["nobody"].send("GET", path, nil, basic("any", s.keys["reporter"])...)
			if p.status != http.StatusOK || p.text != want {
				t.Errorf("%s with HTTP Basic: got %d %q", path, p.status, p.text)
			}
			for _, role := range []string{"nobody", "stranger"} {
				if p := callers[role].get(path); p.status != http.StatusNotFound {
					t.Errorf("%s as %s: got %d", path, role, p.status)
				}
			}
		}
		for path, wants := range map[string][]string{
			job:                       {job + "/raw", job + "/artifacts/browse", job + "/artifacts/download"},
			job + "/artifacts/browse": {`href="` + job + `/artifacts/browse/out"`}, job + "/artifacts/browse/out/deep": {`href="` + job + `/artifacts/file/out/deep/a.txt"`, "7 bytes", `href="` + job + `/artifacts/browse/out"`},
			job + "/artifacts/file/out/deep/a.txt": {"one &lt;b&gt;", job + "/artifacts/raw/out/deep/a.txt"},
		} {
			p := callers["reporter"].get(path)
			for _, want := range wants {
				if p.status != http.StatusOK || !strings.Contains(p.text, want) {
					t.Errorf("%s: got %d, no %q in %s", path, p.status, want, p.text)
				}
			}
		}
		if p := callers["reporter"].send("GET", job+"/raw", nil, "Range", "bytes=5-8"); p.status != http.StatusPartialContent || p.text != "made" {
			t.Errorf("a part of the log: got %d %q", p.status, p.text)
		}
		if p := callers["reporter"].get(named + "browse/out?job=carry"); p.status != http.StatusSeeOther || !strings.HasSuffix(p.header.Get("Location"), "/artifacts/browse/out") {
			t.Errorf("browse by name: got %d to %q", p.status, p.header.Get("Location"))
		}
		for _, path := range []string{
			job + "/artifacts/raw/none", job + "/artifacts/raw/../x", job + "/artifacts/browse/none", job + "/artifacts/file/out", named + "download?job=none", named + "download", in + "jobs/artifacts/none/download?job=carry",
			in + "jobs/artifacts/download?job=carry", in + "jobs/999999/raw", named + "download/x?job=carry",
		} {
			if p := callers["reporter"].get(path); p.status != http.StatusNotFound {
				t.Errorf("%s: got %d, want 404", path, p.status)
			}
		}
	})
}

// Badges show the latest pipeline of a reference and its coverage.
func TestWeb_badges(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		callers, in := w.callers(t), "/"+w.path
		at := "/projects/work%2Finner%2Ftools/statuses/" + w.sha
		s.do("mona", "POST", at, obj{"state": "success", "name": "unit", "coverage": 93.5, "ref": "main"})
		s.do("mona", "POST", at, obj{"state": "success", "name": "race", "coverage": 70, "ref": "main"})
		for path, wants := range map[string][]string{
			"/badges/main/pipeline.svg": {">pipeline<", ">passed<", `fill="#4c1"`, `rx="3"`}, "/-/badges/main/pipeline.svg?key_text=My+%3Cb%3E&key_width=130&style=flat-square": {">My &lt;b&gt;<", `x="65"`, `rx="0"`},
			"/badges/none/pipeline.svg": {">unknown<"}, "/badges/none/coverage.svg": {">coverage<", ">unknown<"}, "/badges/main/coverage.svg": {">81.75%<", `fill="#dfb317"`},
			"/badges/main/coverage.svg?job=unit": {">93.50%<", `fill="#a3c51c"`}, "/badges/main/coverage.svg?job=unit&min_good=90": {`fill="#4c1"`}, "/badges/main/pipeline.svg?key_text=" + strings.Repeat("x", 65) + "&key_width=513": {">pipeline<"},
			"/badges/build/pipeline.svg?ignore_skipped=true": {">pending<"},
		} {
			p := callers["reporter"].get(in + path)
			for _, want := range wants {
				if p.status != http.StatusOK || p.header.Get("Content-Type") != "image/svg+xml" || !strings.Contains(p.text, want) {
					t.Errorf("%s: got %d %v, no %q in %s", path, p.status, p.header, want, p.text)
				}
			}
			if p := callers["nobody"].get(in + path); p.status != http.StatusNotFound {
				t.Errorf("%s for the public: got %d", path, p.status)
			}
		}
		for _, path := range []string{"/-/badges/main/other.svg", "/-/badges/pipeline.svg", "/badges/pipeline.svg"} {
			if p := callers["reporter"].get(in + path); p.status != http.StatusNotFound {
				t.Errorf("%s: got %d", path, p.status)
			}
		}
	})
}

// The go command learns where a module is, and nothing of what it may not see.
func TestWeb_goGet(t *testing.T) {
	walker(t)
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWebWorld(t, s)
		s.do("mona", "POST", "/projects", obj{"name": "Open", "visibility": "public"})
		s.token("git only", "mona", authz.ScopeReadRepository)
		b := w.callers(t)["nobody"]
		root := strings.TrimPrefix(s.baseURL, "http://")
		meta := func(path, repository string) string {
			return `<meta name="go-import" content="` + root + path + " git " + s.baseURL + repository + `.git"`
		}
		for name, tt := range map[string]struct {
			path   string
			header []string
			want   string
		}{
			"public":                {"/mona/open", nil, meta("/mona/open", "/mona/open")},
			"below a public one":    {"/mona/open/pkg/v2", nil, meta("/mona/open", "/mona/open")},
			"hidden":                {"/work/inner/tools", nil, meta("/work/inner", "/work/inner")},
			"absent":                {"/work/inner/none", nil, meta("/work/inner", "/work/inner")},
			"hidden, with a token":  {"/work/inner/tools/pkg", basic("mona", s.keys["mona"]), meta("/work/inner/tools", "/work/inner/tools")},
			"with one for git":      {"/work/inner/tools", basic("mona", s.keys["git only"]), meta("/work/inner/tools", "/work/inner/tools")},
			"hidden from a user":    {"/work/inner/tools", basic("stan", s.keys["stan"]), meta("/work/inner", "/work/inner")},
			"absent, with a token":  {"/work/inner/none", basic("mona", s.keys["mona"]), meta("/work/inner", "/work/inner")},
			"with markup":           {"/a/b/%22%3E%3Cscript%3E", nil, meta("/a/b", "/a/b")},
			"what is not a project": {"/nothing/here/at/all", nil, meta("/nothing/here", "/nothing/here")},
		} {
			p := b.send("GET", tt.path+"?go-get=1", nil, tt.header...)
			if p.status != http.StatusOK || !strings.Contains(p.text, tt.want) || strings.Contains(p.text, "<script") {
				t.Errorf("%s: got %d %s, want %s", name, p.status, p.text, tt.want)
			}
		}
		same := func(path string) string {
			return strings.ReplaceAll(b.get(path+"?go-get=1").text, "tools", "")
		}
		if hidden, absent := same("/work/inner/tools/x"), same("/work/inner/none/x"); hidden != absent || !strings.Contains(hidden, "go-source") {
			t.Errorf("hidden is %s\nabsent %s", hidden, absent)
		}
		if p := b.send("GET", "/work/inner/tools?go-get=1", nil, basic("mona", "wrong")...); p.status != http.StatusUnauthorized {
			t.Errorf("with wrong credentials: got %d", p.status)
		}
		for _, path := range []string{"/work?go-get=1", "/?go-get=1", "/work/inner/tools?go-get=0"} {
			if p := b.get(path); bytes.Contains([]byte(p.text), []byte("go-import")) {
				t.Errorf("%s: got %s", path, p.text)
			}
		}
		s.do("mona", "PUT", "/projects/work%2Finner%2Ftools", obj{"path": "gear"})
		if p := b.send("GET", "/work/inner/tools/pkg?go-get=1", nil, basic("mona", s.keys["mona"])...); !strings.Contains(p.text, meta("/work/inner/tools", "/work/inner/gear")) {
			t.Errorf("by a former path: got %s", p.text)
		}
	})
}
