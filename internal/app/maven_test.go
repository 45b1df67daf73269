package app

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestMaven publishes a release and a snapshot as mvn deploy does, and reads them from the project, the group and the instance.
func TestMaven(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		want, dave := expecting(t), "dave:"+s.keys["dave"]
		at := d.at + "/packages/maven/"
		const jar, pom = "PK jar", "<project><name>&lt;script></name></project>"
		sum := fmt.Sprintf("%x", sha1.Sum([]byte(jar)))

		// A release, with what Maven sends beside it.
		want(s.curl("PUT", at+"com/example/app/1.0/app-1.0.jar", dave, jar), 200, "")
		want(s.curl("PUT", at+"com/example/app/1.0/app-1.0.jar.sha1", dave, sum), 204, "")
		want(s.curl("PUT", at+"com/example/app/1.0/app-1.0.jar.sha1", dave, sum+"  app-1.0.jar\n"), 204, "")
		want(s.curl("PUT", at+"com/example/app/1.0/app-1.0.jar.sha1", dave, strings.Repeat("0", 40)), 409, `{"message":"409 Conflict"}`)
		want(s.curl("PUT", at+"com/example/app/1.0/app-1.0.jar.sha1", dave, ""), 409, "")
		want(s.curl("PUT", at+"com/example/app/1.0/app-1.0.jar.md5", dave, "anything"), 200, "")
		want(s.curl("PUT", at+"com/example/app/1.0/app-1.0.jar.sha256", dave, fmt.Sprintf("%x", sha256.Sum256([]byte(jar)))), 204, "")
		want(s.curl("PUT", at+"com/example/app/1.0/none.jar.sha1", dave, sum), 404, "")
		want(s.curl("PUT", at+"com/example/app/1.0/app-1.0.pom", dave, pom), 200, "")
		for _, versions := range []string{"1.0", "1.0,1.1"} { // each deployment writes the metadata again
			want(s.curl("PUT", at+"com/example/app/maven-metadata.xml", dave, "<versions>"+versions+"</versions>"), 200, "")
			want(s.curl("PUT", at+"com/example/app/maven-metadata.xml.sha512", dave, "digest of "+versions), 200, "")
		}
		want(s.curl("PUT", at+"com/example/app/2.0-SNAPSHOT/maven-metadata.xml", dave, "<snapshot/>"), 200, "")
		want(s.curl("PUT", at+"com/example/app/2.0-SNAPSHOT/app-2.0-20260101.000000-1.jar", dave, "first build"), 200, "")
		want(s.curl("PUT", at+"com/example/app/2.0-SNAPSHOT/app-2.0-20260101.000001-2.jar", dave, "second build"), 200, "")

		a := s.curl("GET", at+"com/example/app/1.0/app-1.0.jar", dave, "")
		want(a, 200, jar)
		if h := a.Header(); h.Get("Content-Disposition") != `attachment; filename="app-1.0.jar"` || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("headers: %v", h)
		}
		want(s.curl("HEAD", at+"com/example/app/1.0/app-1.0.jar", dave, ""), 200, "")
		want(s.curl("HEAD", at+"com/example/app/1.0/none.jar", dave, ""), 404, "")
		want(s.curl("GET", at+"com/example/app/1.0/app-1.0.jar", dave, "", "Range", "bytes=3-"), 206, "jar")
		for suffix, digest := range map[string]string{"sha1": sum, "md5": fmt.Sprintf("%x", md5.Sum([]byte(jar))), "sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(jar)))} {
			a := s.curl("GET", at+"com/example/app/1.0/app-1.0.jar."+suffix, dave, "")
			if a.Code != 200 || a.Body.String() != digest || a.Header().Get("Content-Type") != "text/plain" {
				t.Errorf("%s: %d %v %s", suffix, a.Code, a.Header(), a.Body)
			}
		}
		want(s.curl("GET", at+"com/example/app/maven-metadata.xml", dave, ""), 200, "1.0,1.1")
		want(s.curl("GET", at+"com/example/app/maven-metadata.xml.sha512", dave, ""), 200, "digest of 1.0,1.1")
		want(s.curl("GET", at+"com/example/app/2.0-SNAPSHOT/maven-metadata.xml", dave, ""), 200, "<snapshot/>")
		want(s.curl("GET", at+"com/example/app/2.0-SNAPSHOT/app-2.0-20260101.000001-2.jar", dave, ""), 200, "second build")
		want(s.curl("PUT", at+"com/example/app/1.0/app-1.0.jar", dave, "again"), 200, "") // the newest is served
		want(s.curl("GET", at+"com/example/app/1.0/app-1.0.jar", dave, ""), 200, "again")
		list := d.all("/packages?order_by=version&package_type=maven&include_versionless=true")
		if len(list) != 3 || list[0]["name"] != "com/example/app" || len(d.all("/packages")) != 2 {
			t.Fatalf("packages: %v", list)
		}
		for _, k := range list {
			if k["version"] == nil {
				if files := d.all("/packages/" + number(k, "id") + "/package_files"); len(files) != 2 {
					t.Errorf("metadata: %v", files)
				}
			}
		}

		// Paths that name nothing in their folder, and names that are none.
		for _, path := range []string{
			"..%2f..%2fx/1.0/a.jar", "com/../app/1.0/a.jar", "com/%2e%2e/app/1.0/a.jar", "com/app/1.0/..", "com/app/1.0/%2e", "a.jar", "com/a.jar", "com/app/1.0/a%00.jar",
			"com/app/1.0/a%0a.jar", "com/app/1.0/%3cb%3e", "com/app/1.0/a%5cb", "com/" + strings.Repeat("x", 256) + "/1.0/a.jar", "com/app/1.0/" + strings.Repeat("x", 256), strings.Repeat("x/", 200) + "1.0/a.jar",
			"-/1.0/ä.jar",
		} {
			if a := s.curl("PUT", at+path, dave, jar); a.Code < 400 || a.Code >= 500 {
				t.Errorf("PUT %.60s: %d %s", path, a.Code, a.Body)
			}
			if a := s.curl("GET", at+path, dave, ""); a.Code != 404 && a.Code != 400 {
				t.Errorf("GET %.60s: %d %s", path, a.Code, a.Body)
			}
		}
		want(s.curl("GET", at+"com/example/app/1.0/none.jar", dave, ""), 404, `{"message":"404 Package File Not Found"}`)
		want(s.curl("GET", at+"com/example/app/9.0/app-9.0.jar", dave, ""), 404, `{"message":"404 Package Not Found"}`)
		s.set(obj{"maven_package_requests_forwarding": true})
		if a := s.curl("GET", at+"com/example/app/9.0/app-9.0.jar", dave, ""); a.Code != http.StatusFound || a.Header().Get("Location") != "https://repo.maven.apache.org/maven2/com/example/app/9.0/app-9.0.jar" {
			t.Errorf("forwarded: %d %v", a.Code, a.Header())
		}
		want(s.curl("GET", at+"com/example/app/1.0/none.jar", dave, ""), 404, "")
		want(s.curl("GET", "/packages/maven/mona/shop/9.0/app-9.0.jar", dave, ""), 404, `{"message":"404 Package Not Found"}`)
		s.set(obj{"maven_package_requests_forwarding": false})

		// The instance has packages with the path of their project.
		want(s.curl("PUT", at+"mona/shop/1.0/shop-1.0.jar", dave, "named"), 200, "")
		want(s.curl("GET", "/packages/maven/mona/shop/1.0/shop-1.0.jar", dave, ""), 200, "named")
		want(s.curl("GET", "/packages/maven/com/example/app/1.0/app-1.0.jar", dave, ""), 404, `{"message":"404 Package Not Found"}`)
		s.user("stan", nil)
		want(s.curl("GET", "/packages/maven/mona/shop/1.0/shop-1.0.jar", "stan:"+s.keys["stan"], ""), 404, `{"message":"404 Package Not Found"}`)
		want(s.curl("GET", "/packages/maven/mona/none/1.0/shop-1.0.jar", "stan:"+s.keys["stan"], ""), 404, `{"message":"404 Package Not Found"}`)
		want(s.curl("GET", "/packages/maven/"+strings.TrimPrefix(d.at, "/projects/")+"/1.0/shop-1.0.jar", dave, ""), 404, "")
		for _, path := range []string{"mona/shop/1.0/shop-1.0.jar", "mona/none/1.0/shop-1.0.jar", "x"} {
			want(s.curl("GET", "/packages/maven/"+path, "", ""), 401, `{"message":"401 Unauthorized"}`)
		}

		s.do("admin", "PUT", "/application/plan_limits", obj{"plan_name": "default", "maven_max_file_size": 100})
		want(s.curl("PUT", at+"com/example/app/3.0/app-3.0.jar", dave, strings.Repeat("x", 101)), 400, `{"message":"400 Bad request - File is too large"}`)
		want(s.curl("GET", at+"com/example/app/3.0/app-3.0.jar", dave, ""), 404, "")
		s.checkPackages(t)
	})
}

// TestMaven_deleted deletes versions of a package: a job takes them out of the metadata that was deployed, and the metadata with the last of them.
func TestMaven_deleted(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		want, dave := expecting(t), "dave:"+s.keys["dave"]
		at := d.at + "/packages/maven/com/example/app/"
		list := func(latest, versions string) string {
			return "<metadata><versioning><latest>" + latest + "</latest><release>" + latest + "</release><versions>" + versions + "</versions></versioning></metadata>"
		}
		for _, version := range []string{"1.0", "1.1", "1.2"} {
			want(s.curl("PUT", at+version+"/app-"+version+".jar", dave, "jar of "+version), 200, "")
		}
		deployed := list("1.2", "<version>1.0</version><version>1.1</version><version>1.2</version>")
		for _, file := range []string{"maven-metadata.xml", "maven-metadata.xml.sha512", "maven-metadata.xml.asc"} {
			want(s.curl("PUT", at+file, dave, deployed), 200, "")
		}
		of := func(version string) map[string]any {
			for _, k := range d.all("/packages?include_versionless=true") {
				if k["version"] == version {
					return k
				}
			}
			t.Fatalf("no version %s", version)
			return nil
		}
		s.do("mona", "DELETE", d.at+"/packages/"+number(of("1.2"), "id"), nil)
		s.drained()
		left := list("1.1", "<version>1.0</version><version>1.1</version>")
		want(s.curl("GET", at+"maven-metadata.xml", dave, ""), 200, left)
		want(s.curl("GET", at+"maven-metadata.xml.sha1", dave, ""), 200, fmt.Sprintf("%x", sha1.Sum([]byte(left))))
		want(s.curl("GET", at+"maven-metadata.xml.sha512", dave, ""), 404, "")
		want(s.curl("GET", at+"maven-metadata.xml.asc", dave, ""), 404, "")

		// A version whose last file is deleted cannot be installed either.
		files := "/packages/" + number(of("1.0"), "id") + "/package_files"
		s.do("mona", "DELETE", d.at+files+"/"+number(d.all(files)[0], "id"), nil)
		s.drained()
		want(s.curl("GET", at+"maven-metadata.xml", dave, ""), 200, list("1.1", "<version>1.1</version>"))

		// What a client deployed that does not name versions, or is no XML, is left alone.
		want(s.curl("PUT", d.at+"/packages/maven/com/example/odd/1.0/odd-1.0.jar", dave, "jar"), 200, "")
		want(s.curl("PUT", d.at+"/packages/maven/com/example/odd/maven-metadata.xml", dave, "<metadata>"), 200, "")
		for _, k := range d.all("/packages?package_name=odd") {
			s.do("mona", "DELETE", d.at+"/packages/"+number(k, "id"), nil)
		}
		s.do("mona", "DELETE", d.at+"/packages/"+number(of("1.1"), "id"), nil)
		s.drained()
		want(s.curl("GET", d.at+"/packages/maven/com/example/odd/maven-metadata.xml", dave, ""), 200, "<metadata>")
		want(s.curl("GET", at+"maven-metadata.xml", dave, ""), 404, "")
		s.checkPackages(t)
	})
}

// TestMaven_snapshot deletes files of a snapshot: a job has its metadata name the newest of those that are left, and deletes it with the last of them.
func TestMaven_snapshot(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		want, dave := expecting(t), "dave:"+s.keys["dave"]
		at := d.at + "/packages/maven/com/example/app/2.0-SNAPSHOT/"
		const first, second = "2.0-20260102.030405-1", "2.0-20260103.030405-2"
		list := func(timestamp, number string, builds ...string) string {
			text := "<metadata><versioning><snapshot><timestamp>" + timestamp + "</timestamp><buildNumber>" + number + "</buildNumber></snapshot><snapshotVersions>"
			for i := 0; i < len(builds); i += 2 {
				text += "<snapshotVersion><extension>" + builds[i] + "</extension><value>" + builds[i+1] + "</value></snapshotVersion>"
			}
			return text + "</snapshotVersions></versioning></metadata>"
		}
		for _, build := range []string{first, second} {
			want(s.curl("PUT", at+"app-"+build+".jar", dave, "jar of "+build), 200, "")
		}
		want(s.curl("PUT", at+"app-"+second+".pom", dave, "pom"), 200, "")
		for _, file := range []string{"maven-metadata.xml", "maven-metadata.xml.sha512"} {
			want(s.curl("PUT", at+file, dave, list("20260103.030405", "2", "jar", second, "pom", second)), 200, "")
		}
		drop := func(file, left string) {
			t.Helper()
			one := "/packages/" + number(d.all("/packages?package_type=maven")[0], "id") + "/package_files"
			for _, f := range d.all(one) {
				if f["file_name"] == file {
					s.do("mona", "DELETE", d.at+one+"/"+number(f, "id"), nil)
				}
			}
			s.drained()
			a := s.curl("GET", at+"maven-metadata.xml", dave, "")
			if got := a.Body.String(); a.Code == 200 && got != left || a.Code != 200 && (a.Code != 404 || left != "") {
				t.Errorf("without %s: %d %s, want %s", file, a.Code, got, left)
			}
		}
		drop("app-"+second+".jar", list("20260103.030405", "2", "jar", first, "pom", second))
		want(s.curl("GET", at+"maven-metadata.xml.sha512", dave, ""), 404, "")
		drop("app-"+second+".pom", list("20260102.030405", "1", "jar", first))
		want(s.curl("PUT", at+"maven-metadata.xml.sha512", dave, "x"), 200, "")
		drop("app-"+first+".jar", "")
		if k := d.all("/packages?package_type=maven")[0]; len(d.all("/packages/"+number(k, "id")+"/package_files")) != 0 {
			t.Error("digests of the metadata are left")
		}
		s.checkPackages(t)
	})
}

// TestMaven_together publishes metadata and a version many times at once: one version is made, and one file of metadata is left.
func TestMaven_together(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.deployer()
		dave, at := "dave:"+s.keys["dave"], d.at+"/packages/maven/com/example/app/"
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				for _, file := range []string{"maven-metadata.xml", "1.0/app-1.0.jar"} {
					if a := s.curl("PUT", at+file, dave, fmt.Sprint("content ", i)); a.Code != 200 {
						t.Errorf("%s: %d %s", file, a.Code, a.Body)
					}
				}
			})
		}
		all.Wait()
		list := d.all("/packages?include_versionless=true")
		if len(list) != 2 {
			t.Fatalf("packages: %v", list)
		}
		for _, k := range list {
			if n := len(d.all("/packages/" + number(k, "id") + "/package_files")); (k["version"] == nil) != (n == 1) {
				t.Errorf("version %v has %d files", k["version"], n)
			}
		}
	})
}

// TestMaven_rights asks a private project and its group with each kind of credential, and as those who may not know of them.
func TestMaven_rights(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		s.registryRights(t, registry{
			publish: func(at, user, content string) *httptest.ResponseRecorder {
				return s.curl("PUT", at+"/packages/maven/com/example/tool/1.0/tool-1.0.jar", user, content)
			},
			read: "/packages/maven/com/example/tool/1.0/tool-1.0.jar", readGroup: "/-/packages/maven/com/example/tool/1.0/tool-1.0.jar",
		})
	})
}
