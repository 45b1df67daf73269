package app

import (
	"strings"
	"testing"
)

// TestDebian_group reads the repository of a group, which shows what its readers may see of the projects below, and nothing else from the moment
// that something changes.
func TestDebian_group(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		for _, name := range []string{"mona", "rita"} {
			s.user(name, nil)
		}
		group := s.do("mona", "POST", "/groups", obj{"name": "Tools", "path": "tools", "visibility": "public"})
		below := s.do("mona", "POST", "/groups", obj{"name": "Below", "path": "below", "visibility": "public", "parent_id": group["id"]})
		other := s.do("mona", "POST", "/groups", obj{"name": "Other", "path": "other", "visibility": "public"})
		at := "/groups/" + number(group, "id")
		s.do("mona", "POST", at+"/-/deb_distributions", obj{"codename": "sid", "suite": "unstable"})
		projects := map[string]string{}
		add := func(name string, in obj, visibility string) {
			p := "/projects/" + number(s.do("mona", "POST", "/projects", obj{"name": name, "namespace_id": in["id"], "visibility": visibility}), "id")
			projects[name] = p
			s.do("mona", "POST", p+"/debian_distributions", obj{"codename": "sid"})
			a := s.curl("PUT", p+"/packages/debian/"+name+"_1_amd64.deb?distribution=sid&component=main", "mona:"+s.keys["mona"], debFile(binaryControl(name, "1", "amd64", "")))
			if a.Code != 201 {
				t.Fatal(a.Body)
			}
		}
		add("open", group, "public")
		add("under", below, "public")
		add("closed", group, "private")
		s.drained()

		r := &aptRepo{s, t, at + "/-/packages/debian", at + "/-/deb_distributions/sid/key.asc", ""}
		names := func() string {
			t.Helper()
			var out []string
			for line := range strings.Lines(r.check("sid")["main/binary-amd64/Packages"]) {
				if name, ok := strings.CutPrefix(line, "Package: "); ok {
					out = append(out, strings.TrimSpace(name))
				}
			}
			return strings.Join(out, " ")
		}
		// again reads what is shown after a change: what is not to be seen is not served before the job has run either.
		again := func(what, want string, gone bool) {
			t.Helper()
			if a := r.get("dists/unstable/InRelease"); gone && a.Code != 404 {
				t.Errorf("%s: still %d", what, a.Code)
			}
			s.drained()
			if got := names(); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		again("at first", "open under", false)
		old := r.check("sid")
		path := "pool/sid/" + strings.TrimPrefix(projects["open"], "/projects/") + "/o/open/1/open_1_amd64.deb"
		if !strings.Contains(old["main/binary-amd64/Packages"], "\nFilename: "+path+"\n") {
			t.Errorf("Packages:\n%s", old["main/binary-amd64/Packages"])
		}
		r.want(path, 200, "!<arch>")
		r.want("pool/sid/"+strings.TrimPrefix(projects["closed"], "/projects/")+"/c/closed/1/closed_1_amd64.deb", 401, "")

		hash := ""
		for line := range strings.Lines(old["Release"]) {
			if words := strings.Fields(line); len(words) == 3 && words[2] == "main/binary-amd64/Packages" {
				hash = words[0]
			}
		}
		s.do("mona", "PUT", projects["open"], obj{"visibility": "private"})
		r.want("dists/sid/main/binary-amd64/by-hash/SHA256/"+hash, 404, "")
		r.want(path, 401, "")
		again("a project is private", "under", true)
		r.want("dists/sid/main/binary-amd64/by-hash/SHA256/"+hash, 404, "")
		s.do("mona", "PUT", projects["open"], obj{"visibility": "public"})
		again("it is public again", "open under", false)
		s.do("mona", "PUT", projects["open"], obj{"package_registry_access_level": "private"})
		again("its registry is for members", "under", true)
		s.do("mona", "PUT", projects["closed"], obj{"package_registry_access_level": "public"})
		again("a private project with a public registry", "under closed", false)
		s.do("admin", "PUT", "/application/settings", obj{"package_registry_allow_anyone_to_pull_option": false})
		again("the instance lets no project open its registry", "under", true)
		s.do("admin", "PUT", "/application/settings", obj{"package_registry_allow_anyone_to_pull_option": true})
		again("the instance allows it again", "under closed", false)
		s.do("mona", "PUT", projects["closed"], obj{"package_registry_access_level": "disabled"})
		again("it is off", "under", true)
		s.do("mona", "PUT", projects["under"]+"/transfer", obj{"namespace": other["id"]})
		again("a project goes elsewhere", "", true)
		s.do("mona", "PUT", projects["under"]+"/transfer", obj{"namespace": below["id"]})
		again("it comes back", "under", false)
		s.want("mona", "POST", "/groups/"+number(below, "id")+"/transfer", nil, 201, "")
		again("a group goes elsewhere", "", true)
		s.want("mona", "POST", "/groups/"+number(below, "id")+"/transfer?group_id="+number(group, "id"), nil, 201, "")
		again("it comes back", "under", false)
		s.do("mona", "PUT", projects["open"], obj{"package_registry_access_level": "enabled"})
		again("all of it", "open under", false)
		s.do("mona", "DELETE", projects["open"]+"/debian_distributions/sid", nil)
		again("a distribution is deleted", "under", false)

		// A private group's is for its reporters.
		for _, p := range []string{projects["open"], projects["under"], "/groups/" + number(below, "id")} {
			s.do("mona", "PUT", p, obj{"visibility": "private"})
		}
		s.do("mona", "PUT", at, obj{"visibility": "private"})
		s.do("mona", "POST", at+"/members", obj{"user_id": s.ids["rita"], "access_level": 20})
		r.want("dists/sid/InRelease", 401, "")
		r.user = "rita:" + s.keys["rita"]
		s.drained()
		if got := names(); got != "under" {
			t.Errorf("a private group: %q", got)
		}
	})
}
