package app

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core"
	"tenon/internal/core/importexport"
)

// groupArchive has a group exported by its owner, and returns the archive with its files.
func (s *server) groupArchive(t *testing.T, as, path string) (string, map[string]string) {
	t.Helper()
	s.exec("DELETE FROM exports")
	s.do(as, "POST", path+"/export", nil)
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := s.send(t.Context(), get(as, path+"/export/download"))
	if a.Code != http.StatusOK {
		t.Fatalf("download: %d %s", a.Code, a.Body)
	}
	_, files := unpack(t, a.Body.Bytes())
	checkGroups(t, files)
	return a.Body.String(), files
}

// importGroup has an archive imported as a group, and returns it.
func (s *server) importGroup(t *testing.T, as, path, archive string, more obj) map[string]any {
	t.Helper()
	body := obj{"name": "Name of " + path, "path": path, "file": attached{"x.tar.gz", archive}}
	for key, value := range more {
		body[key] = value
	}
	a := s.send(t.Context(), request{as: as, method: http.MethodPost, path: "/groups/import", body: body})
	if a.Code != http.StatusAccepted || strings.TrimSpace(a.Body.String()) != `{"message":"202 Accepted"}` {
		t.Fatalf("import: %d %s", a.Code, a.Body)
	}
	if err := s.jobs.Drain(t.Context()); err != nil {
		t.Logf("jobs: %v", err)
	}
	where := path
	if parent, ok := more["parent_path"]; ok {
		where = fmt.Sprint(parent) + "/" + path
	}
	return s.do(as, "GET", "/groups/"+strings.ReplaceAll(where, "/", "%2F"), nil)
}

// A group is exported and imported again, with the groups below it: the second archive equals the first but for what belongs to a server.
func TestImport_group(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		w := newWorld(s)
		of := "/groups/" + w.groups[0].values["groups/:id"]
		w.plan("/projects/" + w.projects[0].values["projects/:id"])
		top := w.groups[0].values["groups/:id"]
		below := number(s.do("owner", "POST", "/groups", obj{"name": "Below", "path": "below", "parent_id": top, "visibility": "private"}), "id")
		s.do("owner", "POST", "/groups/"+below+"/labels", obj{"name": "deep", "color": "#00ff00"})
		s.do("owner", "PUT", of, obj{"description": "Of the group", "request_access_enabled": false, "project_creation_level": "maintainer", "lfs_enabled": false})
		s.publish()
		archive, before := s.groupArchive(t, "owner", of)

		made := s.importGroup(t, "admin", "again", archive, nil)
		if status := s.one("SELECT status || COALESCE(error, '') FROM group_imports"); status != "finished" {
			t.Fatalf("import: %s\n%s", status, s.logs.last())
		}
		for key, want := range map[string]any{
			"name": "Name of again", "visibility": "private", "description": "Of the group", "request_access_enabled": false, "project_creation_level": "maintainer",
			"lfs_enabled": false, "parent_id": nil,
		} {
			if made[key] != want {
				t.Errorf("%s: %v, want %v", key, made[key], want)
			}
		}
		_, after := s.groupArchive(t, "admin", "/groups/"+number(made, "id"))
		compareGroups(t, before, after, "name", "path") // and so no event that the archive does not have
	})
}

// compareGroups compares the files of two archives of groups, whose groups have other numbers. It leaves out what belongs to a server, and
// the files and keys of left.
func compareGroups(t *testing.T, before, after map[string]string, left ...string) {
	t.Helper()
	normal := func(files map[string]string) map[string]string {
		out := map[string]string{}
		ids := strings.Fields(files["./tree/groups/_all.ndjson"])
		for name, text := range files {
			for i, id := range ids {
				name = strings.ReplaceAll(name, "/groups/"+id, fmt.Sprintf("/groups/#%d", i))
				name = strings.ReplaceAll(name, "/"+id+".wiki", fmt.Sprintf("/#%d.wiki", i))
			}
			out[name] = text
		}
		return out
	}
	before, after = normal(before), normal(after)
	for name, text := range before {
		base := strings.TrimSuffix(path.Base(name), ".ndjson")
		switch {
		case slices.Contains(left, base) || base == "_all" || base == "members":
		case strings.HasSuffix(name, ".bundle"):
			if _, ok := after[name]; !ok && !slices.Contains(left, "wiki") {
				t.Errorf("%s is not there", name)
			}
		case strings.Contains(name, "/tree/"):
			one, other := ownLines(t, text, left), ownLines(t, after[name], left)
			for _, line := range one {
				if !slices.Contains(other, line) {
					t.Errorf("%s lacks\n%s\nand has\n%s", name, line, strings.Join(other, "\n"))
				}
			}
			if len(one) != len(other) {
				t.Errorf("%s has %d lines, want %d", name, len(other), len(one))
			}
		}
	}
}

// ownLines are the lines of a file without numbers and some keys.
func ownLines(t *testing.T, text string, left []string) (out []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		plain, err := json.Marshal(withoutNumbers(v, left))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(plain))
	}
	return out
}

func withoutNumbers(v any, left []string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutNumbers(v[i], left)
		}
	case map[string]any:
		for key, one := range v {
			if (key == "id" || strings.HasSuffix(key, "_id")) && key != "iid" || slices.Contains(left, key) {
				delete(v, key)
				continue
			}
			v[key] = withoutNumbers(one, left)
		}
	}
	return v
}

// What a group of an archive says decides where it belongs: a child without its parent is left out with those below it, and its
// visibility is no higher than that of the group above.
func TestImport_group_tree(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.once()
		parent := number(s.do("admin", "POST", "/groups", obj{"name": "Parent", "path": "parent", "visibility": "internal"}), "id")
		group := func(id, parent int, path string, level int) string {
			return fmt.Sprintf(`{"id":%d,"parent_id":%d,"name":"G %s","path":"%s","visibility_level":%d}`, id, parent, path, path, level)
		}
		archive := pack(t, member("VERSION", "0.2.4"), member("tree/groups/_all.ndjson", "5\n6\n7\n8\n9\n10\n11\n"),
			member("tree/groups/5.json", group(5, 1, "x", 20)), member("tree/groups/6.json", group(6, 5, "six", 20)), member("tree/groups/7.json", group(7, 99, "lost", 0)),
			member("tree/groups/8.json", group(8, 7, "below-lost", 0)), member("tree/groups/9.json", group(10, 5, "wrong", 0)),
			member("tree/groups/10.json", group(10, 5, "six", 0)), member("tree/groups/11.json", group(11, 6, "secret", 0)),
			member("tree/groups/6/labels.ndjson", `{"title":"bug","color":"#5843AD","type":"GroupLabel","group_id":6}`+"\n"+`{"title":""}`+"\n"),
			member("tree/groups/6/epics.ndjson", `{"id":4,"iid":2,"title":"Child","group_id":6,"author_id":9,"parent_id":3,"parent":{"iid":1,"title":"Above","group_id":6,"author_id":9}}`+"\n"+
				`{"id":3,"iid":1,"title":"Above","group_id":6,"author_id":9,"parent_id":4,"parent":{"iid":2,"title":"Child","group_id":6,"author_id":9}}`+"\n"))
		s.importGroup(t, "admin", "moved", archive, obj{"parent_id": parent, "parent_path": "parent"})
		for path, want := range map[string]string{"parent/moved": "internal", "parent/moved/six": "internal", "parent/moved/six/secret": "private"} {
			if got := s.do("admin", "GET", "/groups/"+strings.ReplaceAll(path, "/", "%2F"), nil)["visibility"]; got != want {
				t.Errorf("%s is %v, want %s", path, got, want)
			}
		}
		got := s.rows("SELECT relation || ' ' || line || ': ' || reason FROM imported_group_items ORDER BY id")
		want := []string{
			"labels 2: title can't be blank, color must be a valid color code", "parent_epic 1: its author was not found: user 9", "group 1: Parent group not found", "group 1: Parent group not found",
			"group 1: Invalid group_id for 9",
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("items: %q lack %q", got, w)
			}
		}
		if got := s.rows("SELECT iid || CASE WHEN parent_id IS NULL THEN '' ELSE ' below' END FROM epics ORDER BY iid"); !slices.Equal(got, []string{"1", "2 below"}) {
			t.Errorf("epics: %q", got)
		}
		if n := s.one("SELECT count(*) FROM groups"); n != "4" {
			t.Errorf("%s groups: %q", n, got)
		}
		if kept := s.one("SELECT count(*) FROM group_imports WHERE object <> ''"); kept != "0" {
			t.Errorf("the archive is kept")
		}
	})
}

// What is wrong with a request to import a group is answered, and leaves nothing behind; so does an archive that is none.
func TestImport_group_refused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	s.once()
	s.user("stranger", nil)
	s.do("admin", "POST", "/groups", obj{"name": "there", "path": "there", "visibility": "private"})
	file := attached{"x.tar.gz", "x"}
	for _, tt := range []struct {
		as, want string
		body     obj
	}{
		{"admin", `400 {"error":"file is missing"}`, obj{"path": "a", "name": "a"}},
		{"admin", `400 {"error":"path is missing"}`, obj{"file": file, "name": "a"}},
		{"admin", `422 {"message":{"error":"You need to upload a GitLab project export archive (ending in .gz)."}}`, obj{"path": "a", "name": "a", "file": attached{"x.zip", "x"}}},
		{"admin", `404 {"message":"404 Group Not Found"}`, obj{"path": "a", "name": "a", "file": file, "parent_id": "9999"}},
		{"admin", `400 {"message":"Failed to save group {:path=>[\"has already been taken\"]}"}`, obj{"path": "there", "name": "a", "file": file}},
		{"stranger", `404 {"message":"404 Group Not Found"}`, obj{"path": "a", "name": "a", "file": file, "parent_id": s.one("SELECT namespace_id FROM groups")}},
		{"", `401 {"message":"401 Unauthorized"}`, obj{"path": "a", "name": "a", "file": file}},
	} {
		a := s.send(t.Context(), request{as: tt.as, method: http.MethodPost, path: "/groups/import", body: tt.body})
		if got := fmt.Sprintf("%d %s", a.Code, strings.TrimSpace(a.Body.String())); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.body, got, tt.want)
		}
	}
	if n := s.one("SELECT count(*) FROM group_imports"); n != "0" {
		t.Errorf("%s imports", n)
	}
	for name, tt := range map[string]struct{ archive, want string }{
		"broken":    {"x", "Invalid file"},
		"project":   {pack(t, member("tree/project.json", "{}")), "The import file is incompatible"},
		"newer":     {pack(t, member("VERSION", "0.9.0"), member("tree/groups/_all.ndjson", "1\n")), "Import version mismatch: Required 0.2.4 but was 0.9.0"},
		"wrong":     {pack(t, member("tree/groups/_all.ndjson", "1\n"), member("tree/groups/1.json", `{"id":2}`)), "Invalid group_id for 1"},
		"link":      {pack(t, &tar.Header{Name: "tree/groups/_all.ndjson", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), "The archive holds a link or a device: tree/groups/_all.ndjson"},
		"recursive": {pack(t, member("tree/groups/_all.ndjson", "1\n1\n"), member("tree/groups/1.json", `{"id":1}`)), "The import file is incompatible"},
	} {
		s.importGroup(t, "admin", name, tt.archive, nil)
		if got := s.one("SELECT status || ': ' || error FROM group_imports ORDER BY id DESC LIMIT 1"); got != "failed: "+tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// The report of an import counts the rows of each relation, and names those that were not written as they are. It is for those who administer
// the project or group.
func TestImport_report(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.once()
		s.user("stranger", nil)
		s.user("reader", nil)
		const label = `{"title":"bug","color":"#5843AD"}` + "\n" + `{"title":"bug","color":"#5843AD"}` + "\n" + `{"title":"","color":"#5843AD"}` + "\n"
		project := s.imported(t, "admin", "moved", pack(t, member("tree/project.json", "{}"), member("tree/project/labels.ndjson", label), member("tree/project/new.ndjson", "{}")), nil)
		group := s.importGroup(t, "admin", "gone", pack(t, member("tree/groups/_all.ndjson", "1\n2\n"), member("tree/groups/1.json", `{"id":1,"name":"One"}`),
			member("tree/groups/2.json", `{"id":2,"name":"Two","path":"two","parent_id":1}`), member("tree/groups/2/labels.ndjson", label)), nil)
		for path, lines := range map[string]int{"/projects/" + number(project, "id"): 2, "/groups/" + number(group, "id"): 1} { // at least
			s.do("admin", "POST", path+"/members", obj{"user_id": s.ids["reader"], "access_level": 20})
			report := s.do("admin", "GET", path+"/import/report", nil)
			var found bool
			for _, r := range report["relations"].([]any) {
				if r := r.(map[string]any); r["name"] == "labels" {
					found = r["read"] == 3.0 && r["written"] == 1.0 && r["merged"] == 1.0 && r["changed"] == 0.0 && r["lost"] == 1.0
				}
			}
			if !found {
				t.Errorf("%s: relations %v", path, report["relations"])
			}
			items := report["items"].([]any)
			if len(items) < lines || items[0].(map[string]any)["reason"] != "title can't be blank" || items[0].(map[string]any)["line"] != 3.0 {
				t.Errorf("%s: items %v", path, items)
			}
			a := s.send(t.Context(), get("admin", path+"/import/report.ndjson"))
			if want := `{"relation":"labels","line":3,"action":"lost","reason":"title can't be blank","title":"","row":{"title":"","color":"#5843AD"}}` + "\n"; a.Code != http.StatusOK ||
				a.Header().Get("Content-Type") != "application/x-ndjson" || !strings.HasPrefix(a.Body.String(), want) || strings.Count(a.Body.String(), "\n") != len(items) {
				t.Errorf("%s: lines %d %v %s", path, a.Code, a.Header(), a.Body)
			}
			for as, want := range map[string]int{"reader": 403, "stranger": 404} {
				if a := s.send(t.Context(), get(as, path+"/import/report")); a.Code != want {
					t.Errorf("%s for %s: %d, want %d", path, as, a.Code, want)
				}
			}
		}
		plain := s.do("admin", "POST", "/groups", obj{"name": "Plain", "path": "plain"})
		if a := s.send(t.Context(), get("admin", "/groups/"+number(plain, "id")+"/import/report")); a.Code != http.StatusNotFound {
			t.Errorf("a group that was not imported: %d", a.Code)
		}
		s.exec("UPDATE file_import_items SET created_at = '2020-01-01 00:00:00'")
		if err := core.Part[*importexport.Service](s.core).Sweep(t.Context(), importexport.Sweep{}); err != nil {
			t.Fatal(err)
		}
		path := "/projects/" + number(project, "id") + "/import/report"
		if report := s.do("admin", "GET", path, nil); len(report["items"].([]any)) != 0 || len(report["relations"].([]any)) == 0 {
			t.Errorf("after 30 days: %v", report)
		}
	})
}
