package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestPackages_protection keeps packages whose names match a pattern to users of a level, in every way to publish them and to delete them.
func TestPackages_protection(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.debianProject(t)
		s.user("maya", nil)
		s.do("mona", "POST", d.at+"/members", obj{"user_id": s.ids["maya"], "access_level": 40, "expires_at": time.Now().AddDate(0, 1, 0).Format(time.DateOnly)})
		rules := d.at + "/packages/protection/rules"
		kept := s.do("maya", "POST", rules, obj{"package_name_pattern": "Tool-*", "package_type": "generic", "minimum_access_level_for_push": "owner", "minimum_access_level_for_delete": "owner"})
		one := rules + "/" + number(kept, "id")
		for _, tt := range []struct {
			as, method, path string
			body             obj
			status           int
			text             string
		}{
			{"maya", "POST", rules, obj{"package_name_pattern": "Tool-*", "package_type": "generic", "minimum_access_level_for_push": "owner"}, 422, `{"message":["Package name pattern has already been taken"]}`},
			{"maya", "POST", rules, obj{"package_name_pattern": "x", "package_type": "generic"}, 422, `A rule must have at least a minimum access role for push or delete.`},
			{"maya", "POST", rules, obj{"package_name_pattern": " ", "package_type": "generic", "minimum_access_level_for_push": "owner"}, 422, `Package name pattern can't be blank`},
			{"maya", "POST", rules, obj{"package_name_pattern": strings.Repeat("x", 256), "package_type": "generic", "minimum_access_level_for_push": "owner"}, 422, `is too long (maximum is 255 characters)`},
			{"maya", "POST", rules, obj{"package_type": "generic", "minimum_access_level_for_push": "owner"}, 400, `{"error":"package_name_pattern is missing"}`},
			{"maya", "POST", rules, obj{"package_name_pattern": "x", "package_type": "conan", "minimum_access_level_for_push": "owner"}, 400, `{"error":"package_type does not have a valid value"}`},
			{"maya", "POST", rules, obj{"package_name_pattern": "x", "package_type": "npm", "minimum_access_level_for_push": "developer"}, 400, `{"error":"minimum_access_level_for_push does not have a valid value"}`},
			{"dave", "POST", rules, obj{"package_name_pattern": "x", "package_type": "npm", "minimum_access_level_for_push": "owner"}, 403, ""},
			{"dave", "GET", rules, nil, 403, ""},
			{"dave", "PATCH", one, obj{"package_name_pattern": "x"}, 403, ""},
			{"dave", "DELETE", one, nil, 403, ""},
			{"maya", "PATCH", rules + "/999999", obj{"package_name_pattern": "x"}, 404, `{"message":"404 Package Protection Rule Not Found"}`},
			{"maya", "GET", rules, nil, 200, `[{"id":` + number(kept, "id") + `,"project_id":` + strings.TrimPrefix(d.at, "/projects/") + `,"package_name_pattern":"Tool-*","package_type":"generic","minimum_access_level_for_delete":"owner","minimum_access_level_for_push":"owner"}]`},
			{"maya", "PATCH", one, obj{"minimum_access_level_for_push": nil, "minimum_access_level_for_delete": nil}, 422, "at least a minimum access role"},
		} {
			s.want(tt.as, tt.method, tt.path, tt.body, tt.status, tt.text)
		}

		// Publishing: by level, whatever the credential is.
		token := s.do("mona", "POST", d.at+"/deploy_tokens", obj{"name": "writes", "username": "writes", "scopes": []string{"write_package_registry"}})["token"].(string)
		d.commit("main", ".gitlab-ci.yml", "build:\n  script: [make]\n")
		_, job, _ := d.take()
		project := s.do("mona", "POST", d.at+"/access_tokens", obj{"name": "bot", "scopes": []string{"api"}, "access_level": 40, "expires_at": time.Now().AddDate(0, 1, 0).Format(time.DateOnly)})
		want := func(a *httptest.ResponseRecorder, what string, status int, text string) {
			t.Helper()
			if a.Code != status || !strings.Contains(a.Body.String(), text) {
				t.Errorf("%s: got %d %.300s, want %d %s", what, a.Code, a.Body, status, text)
			}
		}
		publish := func(user, name string) *httptest.ResponseRecorder {
			return s.curl("PUT", d.at+"/packages/generic/"+name+"/1.0/x", user, "x")
		}
		const refused = `{"message":"403 Forbidden - Package protected."}`
		maya := "maya:" + s.keys["maya"]
		for user, status := range map[string]int{
			d.dave: 403, maya: 403, "mona:" + s.keys["mona"]: 201, "admin:" + s.keys["admin"]: 201, "writes:" + token: 403,
			"bot:" + fmt.Sprint(project["token"]): 403, "gitlab-ci-token:" + job: 201, // the job is mona's
		} {
			text := ""
			if status == 403 {
				text = refused
			}
			want(publish(user, "tool-a"), fmt.Sprintf("%.7s", user), status, text)
			want(publish(user, "TOOL-A"), fmt.Sprintf("%.7s", user), status, text)
			want(publish(user, "other"), fmt.Sprintf("%.7s other", user), 201, "")
		}
		if list := d.all("/packages?package_name=tool"); len(list) != 2 {
			t.Errorf("packages: %v", list)
		}

		// Deletion: a maintainer deletes what no rule keeps.
		tool := d.at + "/packages/" + number(d.all("/packages?package_name=tool")[0], "id")
		file := tool + "/package_files/" + number(d.all("/packages/" + strings.TrimPrefix(tool, d.at+"/packages/") + "/package_files")[0], "id")
		s.want("maya", "DELETE", tool, nil, 403, refused)
		s.want("maya", "DELETE", file, nil, 403, refused)
		s.want("maya", "DELETE", d.at+"/packages/"+number(d.all("/packages?package_name=other")[0], "id"), nil, 204, "")
		s.want("maya", "PATCH", one, obj{"minimum_access_level_for_delete": "", "minimum_access_level_for_push": "maintainer"}, 200, `"minimum_access_level_for_delete":null,"minimum_access_level_for_push":"maintainer"`)
		s.want("maya", "DELETE", file, nil, 204, "")
		s.want("maya", "DELETE", tool, nil, 204, "")
		want(publish(maya, "tool-b"), "maintainer", 201, "")
		want(publish(d.dave, "tool-b"), "developer", 403, refused)

		// What a job publishes is judged by who uploaded it: both ways to a Debian distribution.
		s.do("maya", "POST", rules, obj{"package_name_pattern": "hello*", "package_type": "debian", "minimum_access_level_for_push": "maintainer"})
		deb := debFile(binaryControl("hello-doc", "1", "amd64", "Source: hello\n"))
		direct := "hello-doc_1_amd64.deb?distribution=trixie&component=main"
		d.put(direct, deb, 201, "")
		d.drained()
		d.wantShown("hello 1 error: hello is protected")
		d.dput("hello_1_amd64.changes", changesFile("hello", "1", "trixie", "hello-doc_1_amd64.deb", deb), "hello-doc_1_amd64.deb", deb)
		d.wantShown("hello 1 error: hello is protected", "hello 1 error: hello is protected")
		want(s.curl("PUT", d.at+"/packages/debian/"+direct, maya, deb), "maintainer", 201, "")
		d.drained()
		if list := d.all("/packages?package_type=debian&status=default"); len(list) != 1 || list[0]["name"] != "hello" {
			t.Errorf("Debian packages: %v", list)
		}
		s.want("maya", "DELETE", one, nil, 204, "")
		want(publish(d.dave, "tool-b"), "developer", 201, "")
		if events := d.all("/audit_events"); !strings.Contains(fmt.Sprint(events), "Created protection rule of generic packages Tool-*: publishing needs Owner, deleting Owner") {
			t.Errorf("audit events: %.500v", events[len(events)-1])
		}
		for i := range 98 {
			s.do("maya", "POST", rules, obj{"package_name_pattern": fmt.Sprint("more-", i), "package_type": "npm", "minimum_access_level_for_push": "owner"})
		}
		s.want("maya", "POST", rules, obj{"package_name_pattern": "a", "package_type": "npm", "minimum_access_level_for_push": "owner"}, 201, "")
		s.want("maya", "POST", rules, obj{"package_name_pattern": "b", "package_type": "npm", "minimum_access_level_for_push": "owner"}, 422, "Maximum number of protection rules (100) exceeded")
	})
}

// TestPackages_pipelines shows the pipelines whose jobs uploaded packages to those who may read them, and takes as many statements for many packages
// as for one.
func TestPackages_pipelines(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.user("gus", nil)
		group := s.do("admin", "POST", "/groups", obj{"name": "Tools", "path": "tools", "visibility": "public"})
		d := s.deployer()
		s.do("admin", "POST", "/groups/"+number(group, "id")+"/members", obj{"user_id": s.ids["mona"], "access_level": 50})
		s.do("mona", "PUT", d.at+"/transfer", obj{"namespace": "tools"})
		s.do("mona", "PUT", d.at, obj{"visibility": "public", "public_jobs": false})
		at := "/groups/" + number(group, "id")
		publish := func(version string) {
			d.commit("main", ".gitlab-ci.yml", "build:\n  script: [make "+version+"]\n")
			_, job, _ := d.take()
			for _, name := range []string{"a", "b"} {
				if a := s.curl("PUT", d.at+"/packages/generic/tool/"+version+"/"+name, "gitlab-ci-token:"+job, name); a.Code != 201 {
					t.Fatalf("publish: %d %s", a.Code, a.Body)
				}
			}
		}
		publish("1.0")
		publish("1.0")
		one := d.at + "/packages/" + number(d.all("/packages")[0], "id")
		pipelines := d.all("/pipelines")
		if len(pipelines) != 2 {
			t.Fatalf("pipelines: %v", pipelines)
		}
		newest := `"pipeline":{"id":` + number(pipelines[0], "id")
		for _, path := range []string{d.at + "/packages", at + "/packages", one} {
			s.want("mona", "GET", path, nil, 200, newest)
			s.want("mona", "GET", path, nil, 200, `"source":"push","created_at":"`)
			s.want("mona", "GET", path, nil, 200, `"user":{"id":`)
			if a := s.send(t.Context(), get("gus", path)); a.Code != 200 || strings.Contains(a.Body.String(), `"pipeline"`) {
				t.Errorf("%s as who may not read pipelines: %d %s", path, a.Code, a.Body)
			}
		}
		s.want("mona", "GET", one+"/package_files?per_page=1", nil, 200, `"pipelines":[{"id":`+number(pipelines[1], "id"))
		s.want("gus", "GET", one+"/pipelines", nil, 200, "[]")
		first := s.send(t.Context(), get("mona", one+"/pipelines?pagination=keyset&per_page=1"))
		if !strings.HasPrefix(first.Body.String(), `[{"id":`+number(pipelines[0], "id")) {
			t.Errorf("the newest pipeline: %s", first.Body)
		}
		_, cursor, _ := strings.Cut(first.Header().Get("Link"), "cursor=")
		cursor, _, _ = strings.Cut(cursor, "&")
		cursor, _, _ = strings.Cut(cursor, ">")
		s.want("mona", "GET", one+"/pipelines?per_page=1&cursor="+cursor, nil, 200, `[{"id":`+number(pipelines[1], "id")) // a cursor is enough

		paths := []string{d.at + "/packages?per_page=100", at + "/packages?per_page=100", one + "/package_files", one + "/pipelines"}
		cost := func(path string) uint64 {
			least := ^uint64(0)
			for range 4 { // what runs in the background counts as well
				before := s.db.Statements()
				if a := s.send(t.Context(), get("mona", path)); a.Code != http.StatusOK {
					t.Fatalf("%s: %d", path, a.Code)
				}
				least = min(least, s.db.Statements()-before)
			}
			return least
		}
		few := map[string]uint64{}
		for _, path := range paths {
			few[path] = cost(path)
		}
		for i := range 5 {
			publish(fmt.Sprint(i, ".1"))
		}
		for _, path := range paths {
			if n := cost(path); n > few[path] || n > 10 {
				t.Errorf("%s: %d statements, %d with one package; at most 10", path, n, few[path])
			}
		}
	})
}
