package app

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"tenon/internal/core"
	"tenon/internal/core/importexport"
)

// canary counts connections to a port of this machine that no import may make.
func canary(t *testing.T) (port string, reached *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reached = &atomic.Int64{}
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, reached
}

// besideCanary is a server that may reach local addresses, with the address of another one whose calls are counted.
func besideCanary(t *testing.T) (s *server, away string, reached *atomic.Int64) {
	t.Helper()
	port, reached := canary(t)
	s = newServer(t, "")
	s.once()
	s.set(obj{"allow_local_requests_from_web_hooks_and_services": true})
	return s, "http://127.0.0.1:" + port, reached
}

// TestImport_targets leads imports, uploads of exports and direct transfers to every kind of address that they must not reach (security B1 to B4,
// B8, B10, B12): by address, by name with one answer or several, as a path of this machine, and past proxies of the environment.
func TestImport_targets(t *testing.T) {
	apart(t)
	port, reached := canary(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+port)
	}
	s := newServer(t, "")
	s.once()
	names := &decoys{answers: map[string][][]netip.Addr{}}
	names.set("localhost", "127.0.0.1")
	core.Part[*importexport.Service](s.core).Outbound.Resolver = names
	project := "/projects/" + number(s.do("admin", "POST", "/projects", obj{"name": "There"}), "id")
	s.set(obj{"bulk_import_enabled": true})
	n := 0
	ways := []struct {
		name   string
		scheme string
		send   func(address string) request
		codes  []int // that refuse
	}{
		{"import", "https", func(address string) request {
			n++
			return request{as: "admin", method: http.MethodPost, path: "/projects/remote-import", body: obj{"path": fmt.Sprint("p", n), "url": address + "/a.tar.gz"}}
		}, []int{400}},
		{"transfer", "http", func(address string) request {
			n++
			return request{as: "admin", method: http.MethodPost, path: "/bulk_imports", body: obj{
				"configuration": obj{"url": address, "access_token": "x"},
				"entities":      []obj{{"source_type": "group_entity", "source_full_path": "away", "destination_slug": fmt.Sprint("g", n), "destination_namespace": ""}},
			}}
		}, []int{422}},
		{"upload of an export", "http", func(address string) request {
			return request{as: "admin", method: http.MethodPost, path: project + "/export", body: obj{"upload": obj{"url": address + "/put"}}}
		}, []int{400, 202}}, // a name is looked up when it is called
	}
	for _, tt := range targets() {
		for _, local := range []bool{false, true} {
			if local && !tt.always {
				continue
			}
			s.set(obj{"allow_local_requests_from_web_hooks_and_services": local})
			if tt.leads != nil {
				names.set(tt.host, tt.leads[len(tt.leads)-1])
			}
			for _, w := range ways {
				s.exec("DELETE FROM exports")
				a := s.send(t.Context(), w.send(w.scheme+"://"+tt.host+":"+port))
				refused := false
				for _, code := range w.codes {
					refused = refused || a.Code == code && (code != 202 || tt.leads != nil || tt.host == "localhost")
				}
				if !refused {
					t.Errorf("%s to %s, local %t: %d %s", w.name, tt.host, local, a.Code, a.Body)
				}
				if err := s.jobs.Drain(t.Context()); err != nil {
					t.Logf("%s to %s: %v", w.name, tt.host, err)
				}
			}
		}
	}
	for _, address := range []string{"file:///etc/passwd", "/etc/passwd", "ssh://127.0.0.1/x.git", "git://127.0.0.1/x.git", "ext::sh -c id", "gopher://127.0.0.1:" + port, "ftp://127.0.0.1:" + port} {
		for _, w := range ways {
			if a := s.send(t.Context(), w.send(address)); a.Code != w.codes[0] {
				t.Errorf("B12: %s to %s: %d %s", w.name, address, a.Code, a.Body)
			}
		}
		if a := s.send(t.Context(), request{as: "admin", method: http.MethodPost, path: "/projects", body: obj{"name": "git", "import_url": address}}); a.Code < 400 || a.Code >= 500 {
			t.Errorf("B12: import by git of %s: %d %s", address, a.Code, a.Body)
		}
	}
	if got := reached.Load(); got != 0 {
		t.Errorf("the server was reached %d times", got)
	}
	if got := s.one("SELECT count(*) FROM projects") + s.one("SELECT count(*) FROM bulk_imports"); got != "10" {
		t.Errorf("projects and transfers: %s", got)
	}
}

// bundleWith makes a bundle of a repository whose branch and tag of one name have other content, with files beside it.
func bundleWith(t *testing.T, files map[string]string) string {
	t.Helper()
	w := newRepository(t)
	first := maps.Clone(files)
	first["a"] = "of the tag\n"
	w.commit("First", first)
	w.git("", "tag", "same")
	w.git("", "checkout", "-q", "-b", "same")
	w.commit("Second", map[string]string{"a": "of the branch\n"})
	return w.bundle()
}

// What an imported repository says of other servers is not asked for, neither by its pipeline (B5), nor by its submodules and large files (B12). A
// branch and a tag of one name that it brings are told apart by every reader (A8).
func TestImport_repository(t *testing.T) {
	t.Parallel()
	s, away, reached := besideCanary(t)
	archive := pack(t, member("VERSION", "0.2.4"), member("tree/project.json", "{}"), member("project.bundle", bundleWith(t, map[string]string{
		".gitlab-ci.yml": "include:\n  - remote: " + away + "/ci.yml\njob:\n  script: id\n", ".lfsconfig": "[lfs]\n\turl = " + away + "\n",
		".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = " + away + "/x.git\n",
	})))
	status := s.imported(t, "admin", "moved", archive, nil)
	if status["import_status"] != "finished" {
		t.Fatalf("import: %v", status)
	}
	if n := reached.Load(); n != 0 || s.one("SELECT count(*) FROM pipelines") != "0" {
		t.Errorf("B5, B12: the server was reached %d times", n)
	}
	path := "/projects/" + number(status, "id") + "/repository"
	for ref, want := range map[string]string{"refs%2Fheads%2Fsame": "of the branch\n", "refs%2Ftags%2Fsame": "of the tag\n"} {
		if a := s.send(t.Context(), get("admin", path+"/files/a/raw?ref="+ref)); a.Code != http.StatusOK || a.Body.String() != want {
			t.Errorf("A8: %s: %d %q, want %q", ref, a.Code, a.Body, want)
		}
	}
	branch, tag := s.do("admin", "GET", path+"/branches/same", nil), s.do("admin", "GET", path+"/tags/same", nil)
	if b, g := branch["commit"].(map[string]any)["id"], tag["commit"].(map[string]any)["id"]; b == g || b == nil || g == nil {
		t.Errorf("A8: branch %v and tag %v", b, g)
	}
	// Where the name alone is asked for, all readers mean the same one.
	raw := s.send(t.Context(), get("admin", path+"/files/a/raw?ref=same")).Body.String()
	commit := s.do("admin", "GET", path+"/commits/same", nil)["id"]
	if want := map[any]string{branch["commit"].(map[string]any)["id"]: "of the branch\n", tag["commit"].(map[string]any)["id"]: "of the tag\n"}[commit]; raw != want {
		t.Errorf("A8: the file of the name is %q, that of its commit %q", raw, want)
	}
}

// B7, B11: nothing that an imported project names at other addresses is downloaded: neither links of releases, nor images of badges, avatars and texts,
// while it is imported, read, shown and exported again.
func TestImport_downloads(t *testing.T) {
	t.Parallel()
	s, away, reached := besideCanary(t)
	image := "![x](" + away + "/a.png) <img src='" + away + "/b.png'>"
	const times = `"created_at":"2020-01-02T03:04:05.678Z","updated_at":"2020-01-02T03:04:05.678Z"`
	archive := pack(t, member("VERSION", "0.2.4"),
		member("tree/project.json", `{"description":"`+image+`","avatar":"`+away+`/c.png","avatar_url":"`+away+`/c.png","remote_avatar_url":"`+away+`/c.png","import_url":"`+away+`/d.git"}`),
		member("project.bundle", bundleWith(t, map[string]string{"README.md": image})),
		member("tree/project/project_members.ndjson", `{"access_level":30,"user_id":1,"user":{"id":1,"public_email":"admin@example.com","avatar_url":"`+away+`/e.png"}}`+"\n"),
		member("tree/project/project_badges.ndjson", `{"image_url":"`+away+`/f.svg","link_url":"`+away+`","name":"build"}`+"\n"),
		member("tree/project/releases.ndjson", `{"tag":"same","name":"One","description":"`+image+`","author_id":1,"released_at":"2020-01-02T03:04:05.678Z",`+times+
			`,"links":[{"url":"`+away+`/g.bin","name":"Binary","link_type":"package","filepath":"/bin/g",`+times+`}]}`+"\n"),
		member("tree/project/issues.ndjson", `{"title":"`+away+`","iid":1,"state":"opened","author_id":1,"description":"`+image+`",`+times+
			`,"notes":[{"note":"`+image+`","author_id":1,"author":{"name":"Jo"},`+times+`}],"design_versions":[{"url":"`+away+`"}],"zoom_meetings":[{"url":"`+away+`"}]}`+"\n"))
	project := s.imported(t, "admin", "moved", archive, nil)
	if failed, _ := project["failed_relations"].([]any); project["import_status"] != "finished" || len(failed) != 0 {
		t.Fatalf("import: %v", project)
	}
	path := "/projects/" + number(project, "id")
	if got := s.do("admin", "GET", path+"/releases/same", nil)["assets"].(map[string]any)["links"].([]any); len(got) != 1 || !strings.Contains(fmt.Sprint(got), away+"/g.bin") {
		t.Errorf("B11: links of the release: %v", got)
	}
	if got := s.list("admin", path+"/badges"); len(got) != 1 {
		t.Errorf("B11: badges: %v", got)
	}
	full := s.do("admin", "GET", path, nil)
	if full["avatar_url"] != nil || strings.Contains(fmt.Sprint(full["import_url"]), away) {
		t.Errorf("B11: avatar %v, address %v", full["avatar_url"], full["import_url"])
	}
	for _, page := range []string{"", "/-/issues/1", "/-/releases"} {
		if a := s.fetch("admin", "/"+fmt.Sprint(full["path_with_namespace"])+page); a.Code >= 500 {
			t.Errorf("%s: %d", page, a.Code)
		}
	}
	s.export(t, "admin", path)
	if n := reached.Load(); n != 0 {
		t.Errorf("B7, B11: the server was reached %d times", n)
	}
}

// A5: files of an archive that are named to be read from elsewhere are left out, or are files of that name, however deep the project lies.
func TestImport_uploads(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	var parent any
	full := ""
	for depth := range 6 {
		body := obj{"name": fmt.Sprintf("g%d", depth), "path": fmt.Sprintf("g%d", depth), "visibility": "private"}
		if parent != nil {
			body["parent_id"] = parent
		}
		parent = s.do("admin", "POST", "/groups", body)["id"]
		full = strings.TrimPrefix(fmt.Sprintf("%s/g%d", full, depth), "/")
	}
	secret := strings.Repeat("0a", 16)
	archive := pack(t, member("VERSION", "0.2.4"), member("tree/project.json", "{}"), member("uploads/"+secret+"/fine.txt", "fine"),
		member("uploads/"+secret+"/..%2f..%2fpasswd", "x"), member("uploads/"+strings.Repeat("z", 32)+"/a", "x"), member("uploads/"+secret+"/deep/er.txt", "x"), member("uploads/x.txt", "x"))
	status := s.imported(t, "admin", "deep", archive, obj{"namespace": full})
	if status["import_status"] != "finished" {
		t.Fatalf("import: %v", status)
	}
	at := "/" + full + "/deep/uploads/" + secret + "/"
	if a := s.fetch("admin", at+"fine.txt"); a.Code != http.StatusOK || a.Body.String() != "fine" {
		t.Errorf("the upload: %d %s", a.Code, a.Body)
	}
	for _, up := range []string{"../", "..%2f", "%2e%2e%2f", "..%252f", `..\`} {
		for steps := range 21 {
			for _, file := range []string{"etc/passwd", "secret.key", "passwd"} {
				if a := s.fetch("admin", at+strings.Repeat(up, steps)+file); a.Code == http.StatusOK || a.Code >= 500 {
					t.Fatalf("%s x %d %s: %d %.80s", up, steps, file, a.Code, a.Body)
				}
			}
		}
	}
	if got := s.rows("SELECT name FROM uploads ORDER BY name"); strings.Contains(strings.Join(got, " "), "/") {
		t.Errorf("uploads: %q", got)
	}
}

// A22: what a CSV file of issues has is what its reader may see, of issues that were imported as well.
func TestImport_csv(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	s.user("guest", nil)
	s.user("reporter", nil)
	const row = `{"title":"%s","iid":%d,"state":"opened","author_id":1,"confidential":%t}` + "\n"
	archive := pack(t, member("VERSION", "0.2.4"), member("tree/project.json", "{}"), member("tree/project/issues.ndjson", fmt.Sprintf(row+row, "Open one", 1, false, "Secret one", 2, true)))
	status := s.imported(t, "admin", "moved", archive, nil)
	path := "/projects/" + number(status, "id")
	for name, level := range map[string]int{"guest": 10, "reporter": 20} {
		s.do("admin", "POST", path+"/members", obj{"user_id": s.ids[name], "access_level": level})
	}
	for as, secret := range map[string]bool{"guest": false, "reporter": true} {
		a := s.send(t.Context(), get(as, path+"/issues/export_csv"))
		if a.Code != http.StatusOK || !strings.Contains(a.Body.String(), "Open one") || strings.Contains(a.Body.String(), "Secret one") != secret {
			t.Errorf("A22: %s: %d %s", as, a.Code, a.Body)
		}
	}
}
