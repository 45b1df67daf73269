package app

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// pythonForm is a form as twine sends it: names and values in turn, the file in content.
func pythonForm(file, content string, fields ...string) (body, kind string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	add := func() {
		part, _ := w.CreateFormFile("content", file)
		_, _ = part.Write([]byte(content))
	}
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "content" {
			add()
			file = ""
			continue
		}
		_ = w.WriteField(fields[i], fields[i+1])
	}
	if file != "" {
		add()
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

// twine uploads a file as twine does.
func (s *server) twine(at, user, file, content string, fields ...string) *httptest.ResponseRecorder {
	body, kind := pythonForm(file, content, fields...)
	return s.curl("POST", at+"/packages/pypi", user, body, "Content-Type", kind)
}

// expecting checks answers of packages.
func expecting(t *testing.T) func(a *httptest.ResponseRecorder, status int, text string) {
	return func(a *httptest.ResponseRecorder, status int, text string) {
		t.Helper()
		if a.Code != status || !strings.Contains(a.Body.String(), text) {
			t.Errorf("got %d %.500s, want %d %s", a.Code, a.Body, status, text)
		}
	}
}

// TestPyPI publishes Python packages, and reads them as pip does.
func TestPyPI(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		want, dave := expecting(t), "dave:"+s.keys["dave"]
		const content = "a wheel"
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
		md := fmt.Sprintf("%x", md5.Sum([]byte(content)))
		at := d.at + "/packages/pypi"

		// The file may come before the fields and behind them.
		want(s.twine(d.at, dave, "my_package-1.0.tar.gz", content, ":action", "file_upload", "name", "My.Package", "version", "1.0", "sha256_digest", strings.ToUpper(sum), "md5_digest", md,
			"classifiers", "a", "classifiers", "b", "requires_python", `>=3.8,<"4"><script>`, "description", strings.Repeat("é", 5000)), 201, `{"message":"201 Created"}`)
		want(s.twine(d.at, dave, "my_package-1.0-py3-none-any.whl", "other", "content", "", "name", "my__package", "version", "1.0"), 201, "")
		want(s.twine(d.at, dave, "my_package-2.0.tar.gz", "newer", "name", "MY-package", "version", "2.0"), 201, "")

		// A version has one file of a name, and what cannot be stored is refused.
		for _, tt := range []struct {
			name   string
			status int
			text   string
			fields []string
		}{
			{"my_package-1.0.tar.gz", 400, `{"message":"Validation failed: File name has already been taken"}`, []string{"name", "my-package", "version", "1.0"}},
			{"x-1.tar.gz", 422, "digest", []string{"name", "x", "version", "1", "sha256_digest", md}},
			{"x-1.tar.gz", 422, "digest", []string{"name", "x", "version", "1", "md5_digest", sum}},
			{"x-1.tar.gz", 400, `{"error":"name is missing"}`, []string{"version", "1"}},
			{"x-1.tar.gz", 400, `{"error":"version is missing"}`, []string{"name", "x"}},
			{"x-1.tar.gz", 400, "Name is invalid", []string{"name", "<b>x", "version", "1"}},
			{"x-1.tar.gz", 400, "Name is invalid", []string{"name", "../x", "version", "1"}},
			{"x-1.tar.gz", 400, "Name is invalid", []string{"name", strings.Repeat("x", 256), "version", "1"}},
			{"x-1.tar.gz", 400, "Version is invalid", []string{"name", "x", "version", "1/2"}},
			{"x-1.tar.gz", 400, "Required python is too long", []string{"name", "x", "version", "1", "requires_python", strings.Repeat("x", 256)}},
			{"x-1.tar.gz", 400, "Metadata is invalid", []string{"name", "x", "version", "1", "summary", "a\x00b"}},
			{"x-1.tar.gz", 400, "Required python is invalid", []string{"name", "x", "version", "1", "requires_python", "\xff"}},
			{"<x>.tar.gz", 400, "File name is invalid", []string{"name", "x", "version", "1"}},
			{"..", 400, "", []string{"name", "x", "version", "1"}},
			{"x-1.tar.gz", 413, "", []string{"name", "x", "version", "1", "description", strings.Repeat("x", 4<<20)}},
		} {
			want(s.twine(d.at, dave, tt.name, content, tt.fields...), tt.status, tt.text)
		}
		want(s.curl("POST", at, dave, `{"name":"x"}`, "Content-Type", "application/json"), 400, `{"error":"content is missing"}`)
		body, kind := pythonForm("x-1.tar.gz", content, "name", "x", "version", "1")
		want(s.curl("POST", at, dave, body[:len(body)-70], "Content-Type", kind), 400, "The form is incomplete") // the client stopped midway
		if list := d.all("/packages?order_by=version"); len(list) != 2 || list[0]["name"] != "My.Package" || list[1]["name"] != "My.Package" || list[1]["version"] != "2.0" || list[0]["package_type"] != "pypi" {
			t.Errorf("packages: %v", list)
		}

		// All spellings of a name are one, and nothing that was sent is HTML.
		address := s.core.URLs.Root() + "/api/v4" + at + "/files/" + sum + "/my_package-1.0.tar.gz#sha256=" + sum
		for _, name := range []string{"my-package", "my-package/", "My._.Package"} {
			a := s.curl("GET", at+"/simple/"+name, dave, "")
			want(a, 200, `<a href="`+address+`" data-requires-python="&gt;=3.8,&lt;&#34;4&#34;&gt;&lt;script&gt;">my_package-1.0.tar.gz</a>`)
			if text := a.Body.String(); strings.Contains(text, "<script>") || strings.Count(text, "<a ") != 3 || !strings.Contains(a.Header().Get("Content-Security-Policy"), "sandbox") ||
				a.Header().Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("%s: %v\n%s", name, a.Header(), text)
			}
			want(s.curl("GET", at+"/simple/"+name, dave, "", "If-None-Match", a.Header().Get("Etag")), 304, "")
		}
		want(s.curl("GET", at+"/simple", dave, ""), 200, `/packages/pypi/simple/my-package">My.Package</a>`)
		want(s.curl("GET", at+"/simple/none", dave, ""), 404, `{"message":"404 Package Not Found"}`)
		want(s.curl("GET", at+"/simple/..%2f..%2fx", dave, ""), 404, "")

		file := at + "/files/" + sum + "/my_package-1.0.tar.gz"
		a := s.curl("GET", file, dave, "")
		want(a, 200, content)
		if h := a.Header(); h.Get("Content-Disposition") != `attachment; filename="my_package-1.0.tar.gz"` || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers: %v", h)
		}
		want(s.curl("GET", file, dave, "", "Range", "bytes=2-"), 206, "wheel")
		want(s.curl("HEAD", file, dave, ""), 200, "")
		want(s.curl("GET", at+"/files/"+md+"/my_package-1.0.tar.gz", dave, ""), 404, "")
		want(s.curl("GET", at+"/files/"+sum+"/other.tar.gz", dave, ""), 404, "")
		want(s.curl("GET", at+"/files/"+sum+"/..%2fmy_package-1.0.tar.gz", dave, ""), 404, "")

		// Requests go elsewhere where an administrator wants that.
		s.set(obj{"pypi_package_requests_forwarding": true})
		if a := s.curl("GET", at+"/simple/No_ne", dave, ""); a.Code != http.StatusFound || a.Header().Get("Location") != "https://pypi.org/simple/no-ne/" {
			t.Errorf("forwarded: %d %v", a.Code, a.Header())
		}
		want(s.curl("GET", at+"/simple/my-package", dave, ""), 200, "my_package-1.0.tar.gz")
		s.set(obj{"pypi_package_requests_forwarding": false})

		// A file that is too large is refused, and leaves nothing.
		s.do("admin", "PUT", "/application/plan_limits", obj{"plan_name": "default", "pypi_max_file_size": 100})
		want(s.twine(d.at, dave, "x-1.tar.gz", strings.Repeat("x", 101), "name", "x", "version", "1"), 400, `{"message":"400 Bad request - File is too large"}`)

		// What is deleted is not served any more.
		list := d.all("/packages?order_by=version")
		s.want("mona", "DELETE", d.at+"/packages/"+number(list[0], "id"), nil, 204, "")
		want(s.curl("GET", file, dave, ""), 404, "")
		want(s.twine(d.at, dave, "my_package-1.0.tar.gz", content, "name", "my-package", "version", "1.0"), 201, "")
		s.drained()
		want(s.curl("GET", file, dave, ""), 200, content)
		s.checkPackages(t)
	})
}

// TestPyPI_together publishes the same file of one version many times at once: one is stored, and the others are refused.
func TestPyPI_together(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		dave := "dave:" + s.keys["dave"]
		var all sync.WaitGroup
		codes := make([]int, 6)
		for i := range codes {
			all.Go(func() {
				codes[i] = s.twine(d.at, dave, "tool-1.0.tar.gz", fmt.Sprint("content ", i), "name", []string{"tool", "Tool", "tooL"}[i%3], "version", "1.0").Code
			})
		}
		all.Wait()
		count := map[int]int{}
		for _, code := range codes {
			count[code]++
		}
		if count[201] != 1 || count[400] != len(codes)-1 {
			t.Errorf("answers: %v", codes)
		}
		if a := s.curl("GET", d.at+"/packages/pypi/simple/tool", dave, ""); strings.Count(a.Body.String(), "<a ") != 1 {
			t.Errorf("files: %s", a.Body)
		}
		if list := d.all("/packages"); len(list) != 1 {
			t.Errorf("packages: %v", list)
		}
	})
}

// TestPyPI_rights asks a private project and its group with each kind of credential, and as those who may not know of them.
func TestPyPI_rights(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.registryRights(t, registry{
			publish: func(at, user, content string) *httptest.ResponseRecorder {
				return s.twine(at, user, fmt.Sprintf("tool-%x.tar.gz", sha256.Sum256([]byte(content+user))), content, "name", "tool", "version", "1.0")
			},
			read: "/packages/pypi/simple/tool", readGroup: "/-/packages/pypi/simple/tool", lists: func(a *httptest.ResponseRecorder) int { return strings.Count(a.Body.String(), "<a ") },
		})
	})
}

// registry is a kind of packages for registryRights.
type registry struct {
	publish         func(at, user, content string) *httptest.ResponseRecorder
	read, readGroup string
	lists           func(a *httptest.ResponseRecorder) int // projects whose files an answer of the group has; nil where that is not counted
}

// registryRights publishes a package in a private project of a private group, and one in a public project of another group, and asks for both with every
// kind of credential.
func (s *server) registryRights(t *testing.T, r registry) {
	d := s.deployer()
	s.user("stan", nil)
	s.user("gus", nil)
	top := s.do("mona", "POST", "/groups", obj{"name": "Works", "path": "works", "visibility": "public"})
	at := "/groups/" + number(top, "id")
	hidden := s.do("mona", "POST", "/projects", obj{"name": "Hidden", "namespace_id": top["id"]})
	open := s.do("mona", "POST", "/projects", obj{"name": "Open", "namespace_id": top["id"], "visibility": "public"})
	in := "/projects/" + number(hidden, "id")
	for name, level := range map[string]int{"dave": 30, "rita": 20, "gus": 10} {
		s.do("mona", "POST", in+"/members", obj{"user_id": s.ids[name], "access_level": level})
	}
	deploy := func(name string, scopes ...string) string {
		made := s.do("mona", "POST", in+"/deploy_tokens", obj{"name": name, "username": name, "scopes": scopes})
		s.keys[name] = made["token"].(string)
		return name + ":" + s.keys[name]
	}
	d.commit("main", ".gitlab-ci.yml", "build:\n  script: [make]\n")
	_, job, _ := d.take()
	want := expecting(t)
	for _, place := range []string{in, d.at} {
		if a := r.publish(place, "dave:"+s.keys["dave"], "first"); a.Code >= 300 {
			t.Fatalf("publish: %d %s", a.Code, a.Body)
		}
	}
	for _, tt := range []struct {
		user          string
		read, publish int
	}{
		{"", 401, 401},
		{"x:wrong", 401, 401},
		{"stan:" + s.keys["stan"], 404, 404},
		{"gus:" + s.keys["gus"], 403, 403},
		{"rita:" + s.keys["rita"], 200, 403},
		{"dave:" + s.keys["dave"], 200, 0},
		{deploy("reads", "read_package_registry"), 200, 403},
		{deploy("writes", "write_package_registry"), 200, 0},
		{deploy("code", "read_repository"), 403, 403},
		{"other:" + s.keys["writes"], 401, 401},
		{"gitlab-ci-token:" + job, 404, 404}, // of another project, which is not let in
	} {
		a := s.curl("GET", in+r.read, tt.user, "")
		if a.Code != tt.read || (a.Code == 401) != (a.Header().Get("Www-Authenticate") == `Basic realm="GitLab Packages Registry"`) {
			t.Errorf("GET as %.12s: %d %v %s, want %d", tt.user, a.Code, a.Header(), a.Body, tt.read)
		}
		b := r.publish(in, tt.user, "new")
		if b.Code != tt.publish && (tt.publish != 0 || b.Code >= 300) {
			t.Errorf("publish as %.12s: %d %s, want %d", tt.user, b.Code, b.Body, tt.publish)
		}
	}
	for header, name := range map[string]string{"Deploy-Token": "reads", "Private-Token": "rita"} {
		want(s.curl("GET", in+r.read, "", "", header, s.keys[name]), 200, "")
	}
	want(s.curl("GET", d.at+r.read, "", "", "Job-Token", job), 200, "")
	want(s.curl("GET", d.at+r.read, "gitlab-ci-token:"+job, ""), 200, "")

	// In the group each reader has what its projects let it read, and the answer for what is hidden is that for what is not there.
	none := s.curl("GET", at+strings.Replace(r.readGroup, "tool", "none", 1), "stan:"+s.keys["stan"], "")
	other := s.curl("GET", at+r.readGroup, "stan:"+s.keys["stan"], "")
	if none.Code != 404 || other.Code != 404 || none.Body.String() != other.Body.String() {
		t.Errorf("as a stranger: %d %s, of nothing %d %s", other.Code, other.Body, none.Code, none.Body)
	}
	want(s.curl("GET", at+r.readGroup, "", ""), 404, "")

	// A job has what its user may read, of projects that let it in.
	want(s.curl("GET", at+r.readGroup, "gitlab-ci-token:"+job, ""), 404, "")
	s.do("mona", "POST", in+"/job_token_scope/allowlist", obj{"target_project_id": strings.TrimPrefix(d.at, "/projects/")})
	want(s.curl("GET", at+r.readGroup, "gitlab-ci-token:"+job, ""), 200, "")
	want(s.curl("GET", in+r.read, "gitlab-ci-token:"+job, ""), 200, "")
	want(s.curl("GET", at+r.readGroup, "rita:"+s.keys["rita"], ""), 200, "")
	if a := r.publish("/projects/"+number(open, "id"), "mona:"+s.keys["mona"], "open"); a.Code >= 300 {
		t.Fatalf("publish in the public project: %d %s", a.Code, a.Body)
	}
	want(s.curl("GET", at+r.readGroup, "", ""), 200, "")
	if r.lists != nil {
		before := r.lists(s.curl("GET", at+r.readGroup, "", ""))
		if of := r.lists(s.curl("GET", at+r.readGroup, "rita:"+s.keys["rita"], "")); before != 1 || of <= before {
			t.Errorf("files: %d for everybody, %d for a member", before, of)
		}
	}
	s.do("mona", "PUT", in, obj{"package_registry_access_level": "disabled"})
	want(s.curl("GET", in+r.read, "rita:"+s.keys["rita"], ""), 404, "")
	want(s.curl("GET", in+r.read, "", ""), 401, "") // the project is hidden
	want(r.publish(in, "dave:"+s.keys["dave"], "late"), 404, "")
	s.do("mona", "PUT", in, obj{"package_registry_access_level": "public"})
	want(s.curl("GET", in+r.read, "", ""), 200, "")
}
