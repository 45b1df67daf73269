package app

import (
	"fmt"
	"strings"
	"testing"
)

// TestGraphQL_packages publishes packages of several formats, reads them in lists and alone as those who may and those who may not, and deletes them by
// mutations.
func TestGraphQL_packages(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		s.user("stan", nil)
		project := s.do("mona", "GET", d.at, nil)
		path, id := project["path_with_namespace"].(string), number(project, "id")
		dave := "dave:" + s.keys["dave"]
		expect := s.expectGraphQL(t)
		published := func(code int, what string) {
			t.Helper()
			if code >= 300 {
				t.Fatalf("publish %s: %d", what, code)
			}
		}
		d.commit("main", ".gitlab-ci.yml", "build:\n  script: [make]\n")
		_, job, _ := d.take()
		published(s.curl("PUT", d.at+"/packages/generic/tool/1.0/tool.sh", dave, "one").Code, "generic")
		published(s.curl("PUT", d.at+"/packages/generic/tool/2.0/tool.sh", "gitlab-ci-token:"+job, "two").Code, "generic")
		published(s.curl("PUT", d.at+"/packages/generic/hidden/1.0/x?status=hidden", dave, "x").Code, "generic")
		published(s.curl("PUT", d.at+"/packages/maven/org/example/app/1.0/app-1.0.pom", dave, "pom").Code, "Maven")
		published(s.curl("PUT", d.at+"/packages/maven/org/example/app/maven-metadata.xml", dave, "xml").Code, "Maven")
		s.do("dave", "POST", d.at+"/packages/pypi", obj{"content": attached{"py-1.0.tar.gz", "py"}, "name": "py", "version": "1.0", "requires_python": ">=3.8", "summary": "A tool"})
		document := npmDocument("needy", "1.0.0")
		document["versions"] = obj{"1.0.0": obj{"name": "needy", "version": "1.0.0", "dependencies": obj{"b": "^1.0.0", "a": "2"}, "peerDependencies": obj{"c": "*"}, "bundleDependencies": []string{"a"}, "devDependencies": "none"}}
		s.do("dave", "PUT", d.at+"/packages/npm/needy", document)

		in := func(selection string) string { return `{ project(fullPath: "` + path + `") { ` + selection + ` } }` }
		names := func(args string) string { return in(`packages` + args + ` { count nodes { name version } }`) }
		expect("rita", names(`(sort: NAME_ASC)`), `"count":5,"nodes":[{"name":"needy","version":"1.0.0"},{"name":"org/example/app","version":"1.0"},{"name":"py","version":"1.0"},{"name":"tool","version":"1.0"},{"name":"tool","version":"2.0"}]`)
		expect("rita", names(""), `"nodes":[{"name":"needy","version":"1.0.0"},{"name":"py","version":"1.0"}`)
		expect("rita", names(`(packageType: GENERIC, sort: VERSION_DESC)`), `"count":2,"nodes":[{"name":"tool","version":"2.0"},{"name":"tool","version":"1.0"}]`)
		expect("rita", names(`(packageName: "OO", packageVersion: "1.0")`), `"nodes":[{"name":"tool","version":"1.0"}]`)
		expect("rita", names(`(packageType: MAVEN, includeVersionless: true, sort: CREATED_ASC)`), `"nodes":[{"name":"org/example/app","version":"1.0"},{"name":"org/example/app","version":null}]`)
		expect("rita", names(`(status: HIDDEN)`), `"nodes":[{"name":"hidden","version":"1.0"}]`)
		expect("rita", names(`(packageType: HELM)`), `"count":0`)
		expect("rita", in(`packages(first: 2, sort: NAME_ASC) { nodes { name } pageInfo { hasNextPage } }`), `"nodes":[{"name":"needy"},{"name":"org/example/app"}],"pageInfo":{"hasNextPage":true}`)

		expect("rita", in(`packages(packageType: GENERIC, packageVersion: "2.0") { nodes { packageType status statusMessage canDestroy userPermissions { destroyPackage } metadata { __typename }
			project { fullPath } _links { webPath } tags { nodes { name } } pipelines { count nodes { iid user { username } } } } }`),
			`"packageType":"GENERIC","status":"DEFAULT","statusMessage":null,"canDestroy":false,"userPermissions":{"destroyPackage":false},"metadata":null,"project":{"fullPath":"`+path+`"},"_links":{"webPath":"/`+path+`/-/packages/`,
			`"tags":{"nodes":[]},"pipelines":{"count":1,"nodes":[{"iid":"1","user":{"username":"mona"}}]}`)
		expect("mona", in(`packages(packageType: GENERIC) { nodes { canDestroy userPermissions { destroyPackage } } }`), `"canDestroy":true,"userPermissions":{"destroyPackage":true}`)

		found := map[string]string{}
		for _, p := range append(d.all("/packages?include_versionless=true"), d.all("/packages?status=hidden")...) {
			found[fmt.Sprintf("%s %v", p["name"], p["version"])] = number(p, "id")
		}
		of := func(name, selection string) string {
			return `{ package(id: "gid://gitlab/Packages::Package/` + found[name] + `") { ` + selection + ` } }`
		}
		const maven = `metadata { ... on MavenMetadata { appGroup appName appVersion path } } dependencyLinks { nodes { id } }`
		expect("rita", of("org/example/app 1.0", maven), `"metadata":{"appGroup":"org.example","appName":"app","appVersion":"1.0","path":"org/example/app/1.0"},"dependencyLinks":{"nodes":[]}`)
		expect("rita", of("org/example/app <nil>", maven), `"appVersion":null,"path":"org/example/app"`)
		expect("rita", of("py 1.0", `metadata { ... on PypiMetadata { requiredPython summary keywords } }`), `"metadata":{"requiredPython":">=3.8","summary":"A tool","keywords":null}`)
		expect("rita", of("needy 1.0.0", `tags { nodes { name } } metadata { __typename } dependencyLinks { nodes { dependencyType dependency { name versionPattern } } }`),
			`"tags":{"nodes":[{"name":"latest"}]},"metadata":null,"dependencyLinks":{"nodes":[{"dependencyType":"DEPENDENCIES","dependency":{"name":"a","versionPattern":"2"}},{"dependencyType":"DEPENDENCIES","dependency":{"name":"b","versionPattern":"^1.0.0"}},`+
				`{"dependencyType":"PEER_DEPENDENCIES","dependency":{"name":"c","versionPattern":"*"}},{"dependencyType":"BUNDLE_DEPENDENCIES","dependency":{"name":"a","versionPattern":"*"}}]}`)
		registry := s.baseURL + "/api/v4/projects/" + id + "/packages/"
		expect("rita", of("tool 2.0", `publicPackage npmUrl mavenUrl pypiUrl pypiSetupUrl lastDownloadedAt versions { count nodes { version canDestroy } } packageFiles { nodes { fileName size fileSha256 downloadPath } }`),
			`"publicPackage":false,"npmUrl":"`+registry+`npm","mavenUrl":"`+registry+`maven","pypiUrl":"`+registry+`pypi/simple","pypiSetupUrl":"`+registry+`pypi","lastDownloadedAt":null,"versions":{"count":1,"nodes":[{"version":"1.0","canDestroy":false}]}`,
			`"fileName":"tool.sh","size":"3","fileSha256":"`, `"downloadPath":"/api/v4/projects/`+id+`/packages/`+found["tool 2.0"]+`/package_files/`)
		expect("mona", in(`statistics { packagesSize }`), `"packagesSize":`+fmt.Sprint(s.do("mona", "GET", d.at+"?statistics=true", nil)["statistics"].(map[string]any)["packages_size"]))

		// Who does not see the project, or reads no packages, gets none.
		expect("stan", of("tool 2.0", "name"), `"package":null`)
		expect("", of("tool 2.0", "name"), `"package":null`)
		s.do("mona", "PUT", d.at, obj{"package_registry_access_level": "disabled"})
		expect("mona", of("tool 2.0", "name"), `"package":null`)
		expect("mona", names(""), `"count":0`)
		s.do("mona", "PUT", d.at, obj{"package_registry_access_level": "enabled"})

		// A group shows what is below it.
		g := s.do("mona", "POST", "/groups", obj{"name": "Works", "path": "works"})
		below := s.do("mona", "POST", "/groups", obj{"name": "Below", "path": "below", "parent_id": g["id"]})
		for name, in := range map[string]any{"alpha": below["id"], "beta": g["id"]} {
			p := s.do("mona", "POST", "/projects", obj{"name": name, "namespace_id": in})
			published(s.curl("PUT", "/projects/"+number(p, "id")+"/packages/generic/"+name+"/1.0/x", "mona:"+s.keys["mona"], "x").Code, name)
		}
		const group = `{ group(fullPath: "works") { packages(sort: PROJECT_PATH_ASC) { count nodes { name project { fullPath } } } } }`
		expect("mona", group, `"count":2,"nodes":[{"name":"alpha","project":{"fullPath":"works/below/alpha"}},{"name":"beta","project":{"fullPath":"works/beta"}}]`)
		expect("stan", group, `"group":null`)

		// Deletion.
		destroy := func(mutation, name string) string {
			return `mutation { ` + mutation + `(input: {id: "gid://gitlab/Packages::Package/` + found[name] + `"}) { errors } }`
		}
		const denied = "you don't have permission"
		expect("dave", destroy("destroyPackage", "tool 1.0"), denied)
		expect("stan", destroy("destroyPackage", "tool 1.0"), denied)
		expect("mona", destroy("destroyPackage", "tool 1.0"), `"errors":[]`)
		expect("mona", destroy("destroyPackage", "tool 1.0"), denied)
		files := d.all("/packages/" + found["tool 2.0"] + "/package_files")
		file := `gid://gitlab/Packages::PackageFile/` + number(files[0], "id")
		expect("dave", `mutation { destroyPackageFile(input: {id: "`+file+`"}) { errors } }`, denied)
		expect("mona", `mutation { destroyPackageFiles(input: {projectPath: "works/beta", ids: ["`+file+`"]}) { errors } }`, denied)
		expect("mona", `mutation { destroyPackageFiles(input: {projectPath: "`+path+`", ids: ["`+file+`", "`+file+`"]}) { errors } }`, `"errors":[]`)
		expect("mona", `mutation { destroyPackageFile(input: {id: "`+file+`"}) { errors } }`, denied)
		several := func(ids ...string) string {
			return `mutation { destroyPackages(input: {ids: ["gid://gitlab/Packages::Package/` + strings.Join(ids, `", "gid://gitlab/Packages::Package/`) + `"]}) { errors } }`
		}
		s.do("mona", "POST", d.at+"/packages/protection/rules", obj{"package_name_pattern": "py", "package_type": "pypi", "minimum_access_level_for_delete": "admin"})
		expect("mona", several(found["needy 1.0.0"], found["py 1.0"]), denied) // all or none
		expect("rita", of("needy 1.0.0", "name"), `"name":"needy"`)
		expect("mona", several(found["needy 1.0.0"], found["hidden 1.0"]), `"errors":[]`)
		expect("rita", of("needy 1.0.0", "name"), `"package":null`)
		expect("mona", several(strings.Fields(strings.Repeat("1 ", 21))...), "Cannot delete more than 20 packages")
		d.drained()
		s.checkPackages(t)
	})
}
