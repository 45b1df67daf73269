package app

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/internal/core"
	"tenon/internal/core/packages"
	"tenon/internal/transport/rest/api"
)

// checkPackages requires that the packages that are stored have their files, and the other way round.
func (s *server) checkPackages(t *testing.T) {
	t.Helper()
	if problems, err := core.Part[*packages.Service](s.core).Check(t.Context()); err != nil || len(problems) != 0 {
		t.Errorf("check: %v, %v", problems, err)
	}
}

// curl sends a body as curl does, with a name and a password.
func (s *server) curl(method, path, user, content string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.tb.Context(), method, api.Prefix+path, strings.NewReader(content))
	if name, password, ok := strings.Cut(user, ":"); ok {
		r.SetBasicAuth(name, password)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	return w
}

// TestPackages_generic publishes, finds, downloads and deletes generic packages.
func TestPackages_generic(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		s.user("stan", nil)
		other := s.do("mona", "POST", "/projects", obj{"name": "Other"})
		elsewhere := "/projects/" + number(other, "id")
		files := d.at + "/packages/generic/tool/1.0/"
		dave := "dave:" + s.keys["dave"]
		want := func(a *httptest.ResponseRecorder, status int, text string) {
			t.Helper()
			if a.Code != status || !strings.Contains(a.Body.String(), text) {
				t.Errorf("got %d %.300s, want %d %s", a.Code, a.Body, status, text)
			}
		}
		const content = "#!/bin/sh\necho tool\n"
		sum := sha256.Sum256([]byte(content))
		digest := hex.EncodeToString(sum[:])
		want(s.curl("PUT", files+"tool.sh", dave, content), 201, `{"message":"201 Created"}`)
		want(s.curl("PUT", files+"bin/tool.sh?select=package_file", dave, content), 201, `"file_sha256":"`+digest+`"`)
		want(s.curl("PUT", files+"tool.sh?status=hidden", dave, "newer"), 201, `201 Created`)
		want(s.curl("PUT", files+"tool.sh?status=default", dave, "newest"), 201, `201 Created`)
		for _, name := range []string{"..%2f..%2fx", "~x", "x~", "x@", "a/../b", "%2e%2e", "a%00b", "a%0ab", "ä"} { // paths as they are stored nowhere
			if a := s.curl("PUT", files+name, dave, content); a.Code < 400 || a.Code >= 500 {
				t.Errorf("%s: got %d %s", name, a.Code, a.Body)
			}
		}
		want(s.curl("PUT", d.at+"/packages/generic/a%20b/1.0/x", dave, content), 400, `{"error":"package_name is invalid"}`)
		want(s.curl("PUT", d.at+"/packages/generic/a/-/x", dave, content), 400, `{"error":"package_version is invalid"}`)

		a := s.curl("GET", files+"bin/tool.sh", dave, "")
		want(a, 200, content)
		for name, value := range map[string]string{
			"X-Checksum-Sha256": digest, "Content-Disposition": `attachment; filename="tool.sh"`, "X-Content-Type-Options": "nosniff", "Content-Type": "application/octet-stream",
		} {
			if got := a.Header().Get(name); got != value {
				t.Errorf("%s: %q, want %q", name, got, value)
			}
		}
		want(s.curl("GET", files+"tool.sh", dave, ""), 200, "newest")
		want(s.curl("GET", files+"bin/tool.sh", dave, "", "Range", "bytes=10-13"), 206, "echo")
		if a := s.curl("HEAD", files+"bin/tool.sh", dave, ""); a.Code != 200 || a.Header().Get("Content-Length") != fmt.Sprint(len(content)) {
			t.Errorf("HEAD: %d %v", a.Code, a.Header())
		}
		want(s.curl("GET", files+"none", dave, ""), 404, `{"message":"404 Package Not Found"}`)

		// Who may what, by each kind of credential.
		deploy := func(name string, scopes ...string) string {
			made := s.do("mona", "POST", d.at+"/deploy_tokens", obj{"name": name, "username": name, "scopes": scopes})
			s.keys[name] = made["token"].(string)
			return name + ":" + s.keys[name]
		}
		d.commit("main", ".gitlab-ci.yml", "build:\n  script: [make]\n")
		_, job, _ := d.take()
		for user, status := range map[string][2]int{
			"": {404, 401}, "stan:" + s.keys["stan"]: {404, 404}, "rita:" + s.keys["rita"]: {200, 403}, "x:wrong": {401, 401},
			deploy("reads", "read_package_registry"): {200, 403}, deploy("writes", "write_package_registry"): {200, 201}, deploy("code", "read_repository"): {403, 403},
			"other:" + s.keys["writes"]: {401, 401}, "gitlab-ci-token:" + job: {200, 201},
		} {
			if a := s.curl("GET", files+"tool.sh", user, ""); a.Code != status[0] {
				t.Errorf("GET as %.10s: %d %s, want %d", user, a.Code, a.Body, status[0])
			}
			if a := s.curl("PUT", files+"other", user, "x"); a.Code != status[1] {
				t.Errorf("PUT as %.10s: %d %s, want %d", user, a.Code, a.Body, status[1])
			}
		}
		want(s.curl("GET", "/user", dave, ""), 401, "") // HTTP Basic is for packages alone

		s.curl("PUT", d.at+"/packages/generic/other/2.0/x", dave, "x")
		s.curl("PUT", d.at+"/packages/generic/hidden/1.0/x?status=hidden", dave, "x")
		list := d.all("/packages?order_by=name")
		if len(list) != 2 || list[0]["name"] != "other" || list[1]["name"] != "tool" || list[1]["version"] != "1.0" || list[1]["package_type"] != "generic" || list[1]["status"] != "default" {
			t.Fatalf("packages: %v", list)
		}
		for query, n := range map[string]int{
			"?package_name=OO": 1, "?package_name=none": 0, "?package_version=2.0": 1, "?package_type=npm": 0, "?status=hidden": 1, "?sort=desc&order_by=version": 2,
		} {
			if got := d.all("/packages" + query); len(got) != n {
				t.Errorf("%s: %d packages, want %d", query, len(got), n)
			}
		}
		one := d.at + "/packages/" + number(list[1], "id")
		s.want("rita", "GET", one, nil, 200, `"versions":[]`)
		s.want("mona", "GET", one, nil, 200, `"delete_api_path":"`)
		s.want("mona", "GET", elsewhere+"/packages/"+number(list[1], "id"), nil, 404, `{"message":"404 Package Not Found"}`)
		s.want("mona", "GET", one+"/pipelines", nil, 200, `"source":"`)
		inside := d.all("/packages/" + number(list[1], "id") + "/package_files?order_by=file_name")
		if len(inside) != 6 || inside[0]["file_name"] != "bin/tool.sh" || inside[0]["file_md5"] == "" {
			t.Fatalf("files: %v", inside)
		}
		file := one + "/package_files/" + number(inside[0], "id")
		s.want("rita", "GET", file+"/download", nil, 200, content)
		s.want("dave", "DELETE", file, nil, 403, "")
		s.want("mona", "DELETE", elsewhere+"/packages/"+number(list[1], "id")+"/package_files/"+number(inside[0], "id"), nil, 404, "")
		s.want("mona", "DELETE", file, nil, 204, "")
		s.want("rita", "GET", file+"/download", nil, 404, `{"message":"404 Package File Not Found"}`)
		sizes := s.do("mona", "GET", d.at+"?statistics=true", nil)["statistics"].(map[string]any)
		if sizes["packages_size"].(float64) < float64(len(content)) {
			t.Errorf("statistics: %v", sizes)
		}

		// What is deleted is not found, and the version can be published again at once.
		s.want("dave", "DELETE", one, nil, 403, "")
		s.want("mona", "DELETE", one, nil, 204, "")
		s.want("mona", "GET", one, nil, 404, "")
		want(s.curl("GET", files+"tool.sh", dave, ""), 404, "")
		want(s.curl("PUT", files+"tool.sh", dave, "again"), 201, "")
		s.drained()
		want(s.curl("GET", files+"tool.sh", dave, ""), 200, "again")
		service := core.Part[*packages.Service](s.core)
		s.checkPackages(t)
		count := func() (n int) {
			for range s.objects.List(t.Context(), "package") {
				n++
			}
			return n
		}
		before := count()
		if err := service.Sweep(t.Context(), packages.Sweep{}); err != nil || count() != before {
			t.Errorf("young objects are swept: %v", err)
		}

		s.do("admin", "PUT", "/application/plan_limits", obj{"plan_name": "default", "generic_packages_max_file_size": 10})
		want(s.curl("PUT", files+"large", dave, strings.Repeat("x", 11)), 400, `{"message":"400 Bad request - File is too large"}`)
		want(s.curl("PUT", files+"small", dave, strings.Repeat("x", 10)), 201, "")
		s.do("mona", "PUT", d.at, obj{"package_registry_access_level": "disabled"})
		want(s.curl("GET", files+"tool.sh", dave, ""), http.StatusNotFound, `{"message":"404 Not Found"}`)
		want(s.curl("PUT", files+"tool.sh", dave, "x"), http.StatusNotFound, `{"message":"404 Not Found"}`)
	})
}

// TestPackages_group lists the packages of the projects below a group that the caller may read.
func TestPackages_group(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"mona", "rita", "gus", "stan"} {
			s.user(name, nil)
		}
		group := s.do("mona", "POST", "/groups", obj{"name": "Tools", "path": "tools", "visibility": "public"})
		below := s.do("mona", "POST", "/groups", obj{"name": "Below", "path": "below", "visibility": "public", "parent_id": group["id"]})
		for name, p := range map[string]obj{
			"open": {"visibility": "public"}, "closed": {"visibility": "private"}, "inner": {"visibility": "internal"}, "under": {"visibility": "public", "namespace_id": below["id"]},
			"members": {"visibility": "public", "package_registry_access_level": "private"}, "off": {"visibility": "public", "package_registry_access_level": "disabled"},
			"none": {"visibility": "public", "packages_enabled": false},
		} {
			p["name"] = name
			if p["namespace_id"] == nil {
				p["namespace_id"] = group["id"]
			}
			change := obj{"package_registry_access_level": p["package_registry_access_level"], "packages_enabled": p["packages_enabled"]}
			delete(p, "package_registry_access_level")
			delete(p, "packages_enabled")
			at := "/projects/" + number(s.do("mona", "POST", "/projects", p), "id")
			s.do("mona", "PUT", at+"/packages/generic/"+name+"/1/x", obj{"x": "y"})
			for key, value := range change {
				if value == nil {
					delete(change, key)
				}
			}
			if len(change) > 0 {
				s.do("mona", "PUT", at, change)
			}
		}
		at := "/groups/" + number(group, "id")
		s.do("mona", "POST", at+"/members", obj{"user_id": s.ids["rita"], "access_level": 20})
		s.do("mona", "POST", at+"/members", obj{"user_id": s.ids["gus"], "access_level": 10})
		for as, names := range map[string]string{
			"": "open under", "stan": "inner open under", "gus": "inner open under", "rita": "closed inner members open under", "mona": "closed inner members open under",
			"admin": "closed inner members open under",
		} {
			var got []string
			a := s.send(t.Context(), get(as, at+"/packages?order_by=name"))
			for part := range strings.SplitSeq(a.Body.String(), `"name":"`) {
				name, _, _ := strings.Cut(part, `"`)
				got = append(got, name)
			}
			if list := strings.Join(got[1:], " "); list != names {
				t.Errorf("%q: %s, want %s: %d %.200s", as, list, names, a.Code, a.Body)
			}
		}
		s.want("mona", "GET", at+"/packages?exclude_subgroups=true&package_name=under", nil, 200, "[]")
		s.want("mona", "GET", at+"/packages?order_by=project_path&sort=desc", nil, 200, `"project_path":"tools/`)
	})
}

// TestPackages_external shows an external user who is a guest no more packages of an internal project or group than of a private one.
func TestPackages_external(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"mona", "gus", "eve"} {
			s.user(name, nil)
		}
		s.do("admin", "PUT", "/users/"+fmt.Sprint(s.ids["eve"]), obj{"external": true})
		group := s.do("mona", "POST", "/groups", obj{"name": "Tools", "path": "tools", "visibility": "internal"})
		p := s.do("mona", "POST", "/projects", obj{"name": "inner", "namespace_id": group["id"], "visibility": "internal"})
		at, in := "/projects/"+number(p, "id"), "/groups/"+number(group, "id")
		s.do("mona", "PUT", at+"/packages/generic/tool/1/x", obj{"x": "y"})
		s.do("mona", "POST", in+"/-/deb_distributions", obj{"codename": "sid"})
		read := func(who string, status int, count string) {
			t.Helper()
			for _, path := range []string{at + "/packages", at + "/packages/generic/tool/1/x", in + "/packages", in + "/-/deb_distributions"} {
				s.want(who, "GET", path, nil, status, "")
			}
			s.expectGraphQL(t)(who, `{ group(fullPath: "tools") { packages { nodes { name } } } }`, count)
		}
		for who, want := range map[string]struct {
			status int
			list   string
		}{"gus": {200, `{"group":{"packages":{"nodes":[{"name":"tool"}]}}}`}, "eve": {403, `{"group":{"packages":{"nodes":[]}}}`}} {
			s.do("mona", "POST", in+"/members", obj{"user_id": s.ids[who], "access_level": 10})
			read(who, want.status, want.list)
		}
		s.do("mona", "PUT", in+"/members/"+fmt.Sprint(s.ids["eve"]), obj{"access_level": 20})
		read("eve", 200, `{"group":{"packages":{"nodes":[{"name":"tool"}]}}}`)
	})
}
