package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"tenon/internal/base/config"
)

// TestDistributions keeps the Debian distributions of projects and groups, with the words of their refusals.
func TestDistributions(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		group := s.do("mona", "POST", "/groups", obj{"name": "Tools", "path": "tools", "visibility": "public"})
		of := "/groups/" + number(group, "id") + "/-/"
		for _, all := range []string{d.at + "/debian_distributions", of + "deb_distributions", of + "debian_distributions"} {
			made := s.do("mona", "POST", all, obj{"codename": "sid"})
			one := all + "/sid"
			for _, tt := range []struct {
				method, path string
				body         obj
				status       int
				want         string
			}{
				{"GET", one, nil, 200, `{"id":` + number(made, "id") + `,"codename":"sid","suite":null,"origin":null,"label":null,"version":null,"description":null,` +
					`"valid_time_duration_seconds":null,"components":["main"],"architectures":["all","amd64"]}`},
				{"POST", all, obj{"suite": "x"}, 400, `{"error":"codename is missing"}`},
				{"POST", all, obj{"codename": "-x"}, 400, `{"error":"codename is invalid"}`},
				{"POST", all, obj{"codename": "a/../b"}, 400, `{"error":"codename is invalid"}`},
				{"POST", all, obj{"codename": "x\n"}, 400, `{"error":"codename is invalid"}`},
				{
					"POST", all,
					obj{"codename": "a_b", "suite": "ü", "version": "x", "components": []string{"a b"}, "architectures": "AMD64"},
					400,
					`{"error":"codename is invalid, suite is invalid, version is invalid, components is invalid, architectures is invalid"}`,
				},
				{"POST", all, obj{"codename": "sid"}, 400, `{"message":{"codename":["has already been taken"]}}`},
				{
					"POST", all,
					obj{"codename": "x", "valid_time_duration_seconds": 86399},
					400,
					`{"message":{"valid_time_duration_seconds":["must be greater than or equal to 86400"]}}`,
				},
				{"POST", all, obj{"codename": "x", "valid_time_duration_seconds": "many"}, 400, `{"error":"valid_time_duration_seconds is invalid"}`},
				{"POST", all, obj{"codename": "x", "description": strings.Repeat("d", 256)}, 400, `{"message":{"description":["is too long (maximum is 255 characters)"]}}`},
				{"POST", all, obj{"codename": "x", "suite": "sid"}, 400, `{"message":{"suite":["has already been taken as Codename"]}}`},
				{"POST", all, obj{
					"codename": "Bookworm-1.0", "suite": "stable", "origin": "Shop", "label": "Tools", "version": "1:12.0~rc1+b1-2", "description": "All\nof it",
					"valid_time_duration_seconds": 86400, "components": "main,contrib,main", "architectures": []string{"i386", "arm64"},
				}, 201, `"codename":"Bookworm-1.0","suite":"stable","origin":"Shop","label":"Tools","version":"1:12.0~rc1+b1-2","description":"All\nof it",` +
					`"valid_time_duration_seconds":86400,"components":["contrib","main"],"architectures":["all","arm64","i386"]}`},
				{"POST", all, obj{"codename": "x", "suite": "stable"}, 400, `{"message":{"suite":["has already been taken"]}}`},
				{"POST", all, obj{"codename": "stable"}, 400, `{"message":{"codename":["has already been taken as Suite"]}}`},
				{"PUT", one, obj{"suite": "stable"}, 400, `{"message":{"suite":["has already been taken"]}}`},
				{"PUT", one, obj{"suite": "Bookworm-1.0"}, 400, `{"message":{"suite":["has already been taken as Codename"]}}`},
				{"PUT", one, obj{"suite": ""}, 200, `"suite":null`},
				{"PUT", one, obj{"valid_time_duration_seconds": 1}, 400, `must be greater than or equal to 86400`},
				{
					"PUT", one,
					obj{"codename": "other", "suite": "unstable", "components": []string{"b", "a"}, "architectures": []string{"riscv64"}, "valid_time_duration_seconds": 90000},
					200,
					`"codename":"sid","suite":"unstable","origin":null,"label":null,"version":null,"description":null,"valid_time_duration_seconds":90000,"components":["a","b"],"architectures":["all","riscv64"]}`,
				},
				{"PUT", one, obj{"label": "L"}, 200, `"suite":"unstable","origin":null,"label":"L","version":null,"description":null,"valid_time_duration_seconds":90000,"components":["a","b"]`},
				{"PUT", one, obj{"suite": nil, "valid_time_duration_seconds": nil, "components": []string{}}, 200, `"suite":null,"origin":null,"label":"L","version":null,"description":null,"valid_time_duration_seconds":null,"components":["main"]`},
				{"POST", all, obj{"codename": "unstable"}, 201, `"codename":"unstable"`}, // the name is free again
				{"GET", all + "?codename=sid", nil, 200, `[{"id":` + number(made, "id") + `,`},
				{"GET", all + "?suite=stable", nil, 200, `[{"id":`},
				{"GET", all + "?suite=sta", nil, 200, `[]`},
				{"GET", all + "?codename=SID", nil, 200, `[]`},
				{"GET", all + "?codename=sid&label=L", nil, 200, `"label":"L"`},
				{"GET", all + "?origin=none", nil, 200, `[]`},
				{"GET", all + "?version=12&description=d", nil, 200, `[]`},
				{"GET", all + "?valid_time_duration_seconds=86400", nil, 200, `"codename":"Bookworm-1.0"`},
				{"GET", all + "?components=contrib,main&architectures[]=arm64", nil, 200, `"codename":"Bookworm-1.0"`},
				{"GET", all + "?components=contrib,none", nil, 200, `[]`},
				{"GET", all + "?architectures=RISCV64", nil, 200, `[]`},
				{"GET", all + "/bookworm-1.0", nil, 404, `{"message":"404 Distribution Not Found"}`},
				{"GET", all + "/stable", nil, 404, `{"message":"404 Distribution Not Found"}`},
				{"PUT", all + "/none", obj{"label": "x"}, 404, `{"message":"404 Distribution Not Found"}`},
				{"DELETE", all + "/none", nil, 404, `{"message":"404 Distribution Not Found"}`},
				{"GET", all + "/none/key.asc", nil, 404, `{"message":"404 Distribution Not Found"}`},
				{"GET", all + "/..%2Fsid", nil, 404, ``},
				{"GET", one + "/key.asc", nil, 404, `{"message":"404 Distribution key Not Found"}`},
				{"DELETE", all + "/unstable", nil, 202, `{"message":"202 Accepted"}`},
				{"GET", all + "/unstable", nil, 404, `{"message":"404 Distribution Not Found"}`},
				{"DELETE", all + "/Bookworm-1.0", nil, 202, `{"message":"202 Accepted"}`},
			} {
				s.want("mona", tt.method, tt.path, tt.body, tt.status, tt.want)
			}
			s.do("mona", "DELETE", one, nil)
		}

		// One key for each: the jobs of distributions that were deleted have nothing to do.
		s.do("mona", "POST", of+"deb_distributions", obj{"codename": "sid"})
		s.drained()
		s.drained()
		a := s.send(t.Context(), get("", of+"deb_distributions/sid/key.asc"))
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(a.Body.String()))
		if err != nil || len(ring) != 1 {
			t.Fatalf("key: %v %d %s", err, a.Code, a.Body)
		}
		bits, _ := ring[0].PrimaryKey.BitLength()
		id := ring[0].PrimaryIdentity().Name
		if bits != 4096 || ring[0].PrimaryKey.PubKeyAlgo != packet.PubKeyAlgoRSA || ring[0].PrivateKey != nil ||
			!strings.HasPrefix(id, "GitLab Debian repository (GitLab Debian repository automatic signing key) <noreply@") {
			t.Errorf("key of %d bits for %s", bits, id)
		}
		if got, want := a.Header().Get("Content-Disposition"), "attachment; filename*=UTF-8''sid.asc"; got != want || a.Header().Get("Content-Type") != "text/plain" {
			t.Errorf("key comes as %q, %q", got, a.Header().Get("Content-Type"))
		}
		s.want("mona", "GET", of+"debian_distributions/sid/key.asc", nil, 200, a.Body.String())
	})
}

// TestDistributions_rights asks as people of every level and with tokens of every kind.
func TestDistributions_rights(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		s.user("gus", nil)
		s.user("stan", nil)
		s.do("mona", "POST", d.at+"/members", obj{"user_id": s.ids["gus"], "access_level": 10})
		all := d.at + "/debian_distributions"
		s.do("dave", "POST", all, obj{"codename": "sid"})
		other := s.do("mona", "POST", "/projects", obj{"name": "Other"})
		elsewhere := "/projects/" + number(other, "id") + "/debian_distributions"
		d.commit("main", ".gitlab-ci.yml", "build:\n  script: [make]\n")
		_, s.keys["job"], _ = d.take()
		deploy := func(at, name string, scopes ...string) {
			made := s.do("mona", "POST", at+"/deploy_tokens", obj{"name": name, "scopes": scopes})
			s.keys[name] = made["token"].(string)
		}
		deploy(d.at, "reads packages", "read_package_registry")
		deploy(d.at, "writes packages", "write_package_registry")
		deploy(d.at, "reads code", "read_repository")
		deploy("/projects/"+number(other, "id"), "of another", "read_package_registry", "write_package_registry")
		s.keys["gone"] = "gldt-99999999999999999999"
		s.token("reader", "dave", "read_api")

		type ask struct {
			as, way           string
			read, write, drop int
		}
		check := func(at string, asks ...ask) {
			t.Helper()
			for _, a := range asks {
				s.wantOf(request{as: a.as, way: a.way, method: "GET", path: at}, a.read, "")
				s.wantOf(request{as: a.as, way: a.way, method: "GET", path: at + "/sid"}, a.read, "")
				s.wantOf(request{as: a.as, way: a.way, method: "PUT", path: at + "/sid", body: obj{"label": "L"}}, a.write, "")
				s.wantOf(request{as: a.as, way: a.way, method: "DELETE", path: at + "/sid"}, a.drop, "")
			}
		}
		check(all,
			ask{"", "", 404, 401, 401}, ask{"stan", "", 404, 404, 404}, ask{"gus", "", 403, 403, 403}, ask{"rita", "", 200, 403, 403}, ask{"dave", "", 200, 200, 403},
			ask{"reader", "", 200, 403, 403}, ask{"dave", bearer, 200, 200, 403},
			ask{"job", "job_token", 200, 200, 202},
		)
		s.do("dave", "POST", all, obj{"codename": "sid"})
		check(all,
			ask{"reads packages", deployToken, 200, 403, 403}, ask{"writes packages", deployToken, 200, 200, 403}, ask{"reads code", deployToken, 403, 403, 403},
			ask{"of another", deployToken, 404, 404, 404}, ask{"gone", deployToken, 401, 401, 401}, ask{"reads packages", "", 401, 401, 401}, ask{"reads packages", bearer, 401, 401, 401},
		)
		// Deploy tokens are good for packages alone, and what another project has is not there.
		for _, path := range []string{d.at, d.at + "/members", "/projects", "/user", "/groups"} {
			if a := s.send(t.Context(), request{as: "writes packages", way: deployToken, method: "GET", path: path}); a.Code != http.StatusUnauthorized {
				t.Errorf("%s with a deploy token: got %d", path, a.Code)
			}
		}
		for method, status := range map[string]int{"GET": 404, "PUT": 404, "DELETE": 404} {
			s.want("mona", method, elsewhere+"/sid", obj{"label": "x"}, status, "404 Distribution Not Found")
		}

		// Access levels of the registry.
		change := func(body obj) { t.Helper(); s.do("mona", "PUT", d.at, body) }
		change(obj{"package_registry_access_level": "public"})
		check(all, ask{"", "", 200, 401, 401}, ask{"stan", "", 200, 403, 403}, ask{"gus", "", 200, 403, 403})
		s.want("stan", "GET", d.at, nil, 404, "404 Project Not Found")
		s.do("admin", "PUT", "/application/settings", obj{"package_registry_allow_anyone_to_pull_option": false})
		check(all, ask{"", "", 404, 401, 401}, ask{"stan", "", 404, 404, 404}, ask{"gus", "", 403, 403, 403}, ask{"rita", "", 200, 403, 403})
		s.do("admin", "PUT", "/application/settings", obj{"package_registry_allow_anyone_to_pull_option": true})
		check(all, ask{"", "", 200, 401, 401})
		change(obj{"visibility": "public", "package_registry_access_level": "private"})
		check(all, ask{"", "", 401, 401, 401}, ask{"stan", "", 403, 403, 403}, ask{"rita", "", 200, 403, 403})
		change(obj{"package_registry_access_level": "enabled"})
		check(all, ask{"", "", 200, 401, 401}, ask{"stan", "", 200, 403, 403})
		change(obj{"visibility": "internal"})
		s.user("eve", nil)
		s.do("admin", "PUT", "/users/"+fmt.Sprint(s.ids["eve"]), obj{"external": true})
		check(all, ask{"", "", 404, 401, 401}, ask{"stan", "", 200, 403, 403}, ask{"eve", "", 404, 404, 404})
		for _, off := range []obj{{"package_registry_access_level": "disabled"}, {"package_registry_access_level": "enabled", "packages_enabled": false}} {
			change(off)
			for _, as := range []string{"mona", "admin", "stan"} {
				s.want(as, "GET", all, nil, 404, `{"message":"404 Not Found"}`)
				s.want(as, "POST", all, obj{"codename": "x"}, 404, `{"message":"404 Not Found"}`)
			}
		}

		group := s.do("mona", "POST", "/groups", obj{"name": "Tools", "path": "tools", "visibility": "private"})
		at := "/groups/" + number(group, "id")
		for name, level := range map[string]int{"gus": 10, "rita": 20, "dave": 30} {
			s.do("mona", "POST", at+"/members", obj{"user_id": s.ids[name], "access_level": level})
		}
		all = at + "/-/deb_distributions"
		s.do("dave", "POST", all, obj{"codename": "sid"})
		deploy(at, "of group", "write_package_registry")
		check(all,
			ask{"", "", 404, 401, 401}, ask{"stan", "", 404, 404, 404}, ask{"gus", "", 403, 403, 403}, ask{"rita", "", 200, 403, 403}, ask{"dave", "", 200, 200, 403},
			ask{"of group", deployToken, 200, 200, 403}, ask{"of another", deployToken, 404, 404, 404}, ask{"job", "job_token", 404, 404, 404},
		)
		s.do("mona", "PUT", at, obj{"visibility": "public"})
		check(all, ask{"", "", 200, 401, 401}, ask{"stan", "", 200, 403, 403}, ask{"job", "job_token", 200, 403, 403}, ask{"mona", "", 200, 200, 202})
	})
}

// TestDistributions_off switches the interface off.
func TestDistributions_off(t *testing.T) {
	t.Parallel()
	s := newServer(t, "", func(c *config.Config) { c.Features.NoDebian = true })
	s.user("mona", nil)
	project := "/projects/" + number(s.do("mona", "POST", "/projects", obj{"name": "Shop"}), "id") + "/debian_distributions"
	for _, q := range []request{
		{method: "GET", path: project},
		{method: "POST", path: project, body: obj{"codename": "sid"}},
		{method: "GET", path: project + "/sid"},
		{method: "PUT", path: project + "/sid"},
		{method: "DELETE", path: project + "/sid"},
		{method: "GET", path: project + "/sid/key.asc"},
	} {
		q.as = "mona"
		s.wantOf(q, http.StatusNotFound, `{"message":"404 Not Found"}`)
	}
}
