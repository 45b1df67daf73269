package app

import (
	"html"
	"net/http"
	"strings"
	"testing"
)

// TestWeb_packages shows the packages of projects and groups to those who may read them, with the lines that install them.
func TestWeb_packages(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.debianProject(t)
		group := s.do("mona", "POST", "/groups", obj{"name": "Works", "path": "works", "visibility": "public"})
		s.do("mona", "PUT", d.at+"/transfer", obj{"namespace": "works"})
		s.person("ann", annPassword)
		s.do("mona", "POST", "/groups/"+number(group, "id")+"/members", obj{"user_id": s.ids["ann"], "access_level": 20})
		s.curl("PUT", d.at+"/packages/generic/tool+x/1.0/bin/run+me.sh", "mona:"+s.keys["mona"], "x")
		s.curl("PUT", d.at+"/packages/generic/other/2.0/x", "mona:"+s.keys["mona"], "x")
		d.put("hello-doc_1_amd64.deb?distribution=trixie&component=main", debFile(binaryControl("hello-doc", "1", "amd64", "Source: hello\n")), 201, "")
		d.put("broken_1_amd64.deb?distribution=trixie&component=main", "no <b>archive</b>", 201, "")
		d.drained()
		// A package as others may have named it.
		s.exec(`INSERT INTO packages (project_id, kind, name, name_fold, version, status, created_at, updated_at)
			SELECT project_id, 'pypi', '<script>x</script>$(id)''', 'x', '1;id', 'default', created_at, updated_at FROM packages WHERE name = 'other'`)
		ann, visitor := s.browse(t), s.browse(t)
		ann.signIn("ann", annPassword)
		page := func(b *browser, path string, status int, wants ...string) string {
			t.Helper()
			p := b.get(path)
			if p.status != status {
				t.Fatalf("%s: got %d, want %d", path, p.status, status)
			}
			if strings.Contains(p.text, "<script") || strings.Contains(p.text, "<b>archive") {
				t.Errorf("%s has markup of a package", path)
			}
			text := html.UnescapeString(p.text)
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("%s has no %q", path, want)
				}
			}
			return text
		}
		byName := map[string]string{}
		for _, k := range d.all("/packages") {
			byName[k["name"].(string)] = k["_links"].(map[string]any)["web_path"].(string)
		}
		if path := byName["other"]; !strings.HasPrefix(path, "/works/shop/-/packages/") {
			t.Errorf("web_path: %s", path)
		}
		list := page(ann, "/works/shop/-/packages", http.StatusOK, `href="/works/shop/-/packages" aria-current="page"`, "tool+x", "other", "hello", "error", `<option value="npm">`)
		if strings.Contains(list, "incoming") {
			t.Error("what waits for its .changes is listed")
		}
		page(ann, "/groups/works/-/packages", http.StatusOK, `href="/groups/works/-/packages" aria-current="page"`, "tool+x", "Works / Shop")
		if found := page(ann, "/works/shop/-/packages?type=generic&search=TOOL", http.StatusOK, "tool+x", `<option value="generic" selected>`); strings.Contains(found, ">other<") || strings.Contains(found, ">hello<") {
			t.Error("the form selects nothing")
		}
		id, api := strings.TrimPrefix(d.at, "/projects/"), s.baseURL+"/api/v4"+d.at
		page(ann, byName["tool+x"], http.StatusOK, `<pre class="take">curl --fail --header "PRIVATE-TOKEN: $TOKEN" --output run+me.sh `+api+`/packages/generic/tool+x/1.0/bin/run+me.sh`,
			"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", "9dd4e461268c8034f5c8564e155c67a6", "11f6ad8ec52a2984abaafd7c3b516503785c2072")
		page(ann, byName["hello"], http.StatusOK, "deb [signed-by=/etc/apt/keyrings/trixie-"+id+".asc] "+api+"/packages/debian trixie contrib main",
			"login USER password TOKEN", "apt-get install hello-doc", api+"/debian_distributions/trixie/key.asc")
		for name, path := range byName {
			if strings.HasPrefix(name, "<script>") {
				page(ann, path, http.StatusOK, `'<script>x</script>$(id)'\''==1;id'`)
			}
		}
		page(ann, "/works/shop/-/packages/999999", http.StatusNotFound)
		page(visitor, "/works/shop/-/packages", http.StatusNotFound)
		page(visitor, byName["other"], http.StatusNotFound)

		// In public no line has a token; where the registry is for members, others see no package.
		s.do("mona", "PUT", d.at, obj{"visibility": "public"})
		if text := page(visitor, byName["tool+x"], http.StatusOK, "curl --fail --output"); strings.Contains(text, "TOKEN") {
			t.Error("a public package needs a token")
		}
		s.do("mona", "PUT", d.at, obj{"package_registry_access_level": "disabled"})
		page(ann, byName["other"], http.StatusNotFound)
		page(ann, "/works/shop/-/packages", http.StatusNotFound)
		if text := page(ann, "/groups/works/-/packages", http.StatusOK); strings.Contains(text, "tool+x") {
			t.Error("the group shows a package of a registry that is off")
		}
	})
}
