package app

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"

	"tenon/internal/base/db"
	"tenon/internal/core"
	"tenon/internal/core/packages"
)

// aptRepo reads a Debian repository as apt does.
type aptRepo struct {
	s    *server
	t    *testing.T
	at   string // of the repository
	keys string // of the distribution's key
	user string
}

func (r *aptRepo) get(path string, headers ...string) *httptest.ResponseRecorder {
	return r.s.curl("GET", r.at+"/"+path, r.user, "", headers...)
}

func (r *aptRepo) want(path string, status int, text string) string {
	r.t.Helper()
	a := r.get(path)
	if a.Code != status || !strings.Contains(a.Body.String(), text) {
		r.t.Errorf("%s: got %d %.300s, want %d %s", path, a.Code, a.Body, status, text)
	}
	return a.Body.String()
}

// check reads the Release file of a distribution, its signatures and all that it names, and returns the files by name.
func (r *aptRepo) check(dist string) map[string]string {
	r.t.Helper()
	files := map[string]string{}
	key := r.s.curl("GET", r.keys, "", "", "PRIVATE-TOKEN", r.s.keys["mona"]).Body.String()
	ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key))
	if err != nil {
		r.t.Fatal(err)
	}
	text, inside := r.want("dists/"+dist+"/Release", 200, ""), r.want("dists/"+dist+"/InRelease", 200, "")
	apart := r.want("dists/"+dist+"/Release.gpg", 200, "BEGIN PGP SIGNATURE")
	if _, err := openpgp.CheckArmoredDetachedSignature(ring, strings.NewReader(text), strings.NewReader(apart), nil); err != nil {
		r.t.Errorf("Release.gpg: %v", err)
	}
	block, _ := clearsign.Decode([]byte(inside))
	if block == nil || string(block.Plaintext) != text {
		r.t.Fatalf("InRelease has another text: %s", inside)
	}
	if _, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(block.Bytes), block.ArmoredSignature.Body, nil); err != nil {
		r.t.Errorf("InRelease: %v", err)
	}
	_, list, _ := strings.Cut(text, "\nSHA256:\n")
	for line := range strings.Lines(list) {
		var sum, name string
		var size int
		if n, err := fmt.Sscan(line, &sum, &size, &name); n != 3 || line != fmt.Sprintf(" %s %8d %s\n", sum, size, name) {
			r.t.Fatalf("%q: %v", line, err)
		}
		status := 200
		if size == 0 {
			status = 204
		}
		content := r.want("dists/"+dist+"/"+name, status, "")
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(content))); got != sum || len(content) != size {
			r.t.Errorf("%s: %d bytes, %s, but %s", name, len(content), got, line)
		}
		if hashed := r.want("dists/"+dist+"/"+name[:strings.LastIndex(name, "/")]+"/by-hash/SHA256/"+sum, status, ""); hashed != content {
			r.t.Errorf("%s is another one by its digest", name)
		}
		files[name] = content
		if plain, ok := strings.CutSuffix(name, ".gz"); ok {
			z, err := gzip.NewReader(strings.NewReader(content))
			if err != nil {
				r.t.Fatal(err)
			}
			if whole, err := io.ReadAll(z); err != nil || string(whole) != files[plain] {
				r.t.Errorf("%s is not the compressed %s: %v", name, plain, err)
			}
		}
	}
	files["Release"] = text
	return files
}

// TestDebian_repository publishes packages and reads the repository as apt does: byte by byte, with its signatures, by name and by digest.
func TestDebian_repository(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.debianProject(t)
		r := &aptRepo{s, t, d.at + "/packages/debian", d.at + "/debian_distributions/trixie/key.asc", d.dave}
		r.want("dists/trixie/Release", 404, "Not Found")
		s.drained()
		empty := r.check("trixie")
		if want := "Suite: testing\nCodename: trixie\nDate: "; !strings.HasPrefix(empty["Release"], want) || !strings.Contains(empty["Release"], "\nAcquire-By-Hash: yes\nArchitectures: all amd64\nComponents: contrib main\nSHA256:\n "+
			"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855        0 contrib/binary-all/Packages\n") {
			t.Errorf("Release:\n%s", empty["Release"])
		}

		deb, doc := debFile(binaryControl("hello", "1.0-1", "amd64", "Depends: libc6\n")), debFile(binaryControl("hello-doc", "1.0-1", "all", "Source: hello\n"))
		udeb := debFile("Package: hello-udeb\nSource: hello\nVersion: 1.0-1\nArchitecture: amd64\nMaintainer: D <d@tenon.example>\nDescription: small\n")
		dsc := dscFile("hello", "1.0-1", "hello_1.0.orig.tar.gz", "orig", "hello_1.0-1.debian.tar.xz", "debian")
		files := []string{"hello_1.0-1.dsc", dsc, "hello_1.0.orig.tar.gz", "orig", "hello_1.0-1.debian.tar.xz", "debian", "hello_1.0-1_amd64.deb", deb, "hello-doc_1.0-1_all.deb", doc, "hello-udeb_1.0-1_amd64.udeb", udeb}
		d.dput("hello_1.0-1_amd64.changes", changesFile("hello", "1.0-1", "trixie", files...), files...)
		shown := r.check("testing")
		pool := "pool/trixie/h/hello/1.0-1/"
		sum := func(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }
		for name, want := range map[string]string{
			"main/binary-amd64/Packages": "Package: hello\nVersion: 1.0-1\nInstalled-Size: 1\nMaintainer: Dave <dave@tenon.example>\nArchitecture: amd64\nDepends: libc6\n" +
				"Description: the package hello\n with two lines\n .\n and one more\nSection: misc\nPriority: optional\nFilename: " + pool + "hello_1.0-1_amd64.deb\nSize: " +
				fmt.Sprint(len(deb)) + "\nSHA256: " + sum(deb) + "\n",
			"main/debian-installer/binary-amd64/Packages": "Package: hello-udeb\nSource: hello\nVersion: 1.0-1\nMaintainer: D <d@tenon.example>\nArchitecture: amd64\nDescription: small\n" +
				"Section: misc\nPriority: extra\nFilename: " + pool + "hello-udeb_1.0-1_amd64.udeb\nSize: " + fmt.Sprint(len(udeb)) + "\nSHA256: " + sum(udeb) + "\n",
		} {
			if shown[name] != want {
				t.Errorf("%s:\n%s\nwant\n%s", name, shown[name], want)
			}
		}
		if all := shown["main/binary-all/Packages"]; !strings.Contains(all, "Package: hello-doc\n") || strings.Contains(shown["main/binary-amd64/Packages"], "hello-doc") {
			t.Errorf("all:\n%s", all)
		}
		if sources := shown["main/source/Sources"]; !strings.HasPrefix(sources, "Package: hello\nBinary: hello\nVersion: 1.0-1\nMaintainer: ") || !strings.HasSuffix(sources, "Section: misc\nPriority: optional\nDirectory: "+strings.TrimSuffix(pool, "/")+"\n") ||
			!strings.Contains(sources, "\n "+sum(dsc)+" "+fmt.Sprint(len(dsc))+" hello_1.0-1.dsc\n") {
			t.Errorf("Sources:\n%s", sources)
		}
		if got := r.want(pool+"hello_1.0-1_amd64.deb", 200, ""); got != deb {
			t.Errorf("pool: %d bytes", len(got))
		}
		for _, wrong := range []string{
			"pool/trixie/x/hello/1.0-1/hello_1.0-1_amd64.deb", "pool/sid/h/hello/1.0-1/hello_1.0-1_amd64.deb", pool + "none", "pool/trixie/h/hello/1.0-1", "pool/trixie/h/hello/1.0-2/hello_1.0-1_amd64.deb",
			"pool/trixie//", "dists/trixie", "dists/none/Release", "dists/trixie/none", "dists/trixie/main/binary-arm64/Packages", "dists/trixie/main/binary-amd64/Sources",
			"dists/trixie/main/source/by-hash/SHA256/" + sum(deb), "dists/trixie/main/source/by-hash/MD5Sum/x", "dists/trixie/contrib/source/Sources.gz",
		} {
			r.want(wrong, 404, "")
		}
		r.want("dists/trixie/main/binary-amd64/Packages.xz", 404, `{"message":"404 Format xz is not supported Not Found"}`)

		// Clients ask whether there is something new; one publication is one second later than the one before.
		first := r.get("dists/trixie/InRelease")
		since := first.Header().Get("Last-Modified")
		if a := r.get("dists/trixie/InRelease", "If-Modified-Since", since); a.Code != 304 {
			t.Errorf("conditional: %d", a.Code)
		}
		old := sum(shown["main/binary-amd64/Packages.gz"])
		s.want("mona", "PUT", d.at+"/debian_distributions/trixie", obj{"description": "Line\n\nPackage: evil\nSHA256:\n x", "valid_time_duration_seconds": 86400}, 200, "")
		d.put("two_1.0_amd64.deb?distribution=trixie&component=main", debFile(binaryControl("two", "1.0", "amd64", "")), 201, "")
		s.drained()
		if a := r.get("dists/trixie/InRelease", "If-Modified-Since", since); a.Code != 200 {
			t.Errorf("conditional after a change: %d", a.Code)
		}
		shown = r.check("trixie")
		if !strings.Contains(shown["Release"], "\nDescription: Line\n .\n Package: evil\n SHA256:\n  x\nSHA256:\n ") || !strings.Contains(shown["Release"], "\nValid-Until: ") {
			t.Errorf("Release:\n%s", shown["Release"])
		}
		if !strings.Contains(shown["main/binary-amd64/Packages"], "\n\nPackage: two\n") {
			t.Errorf("Packages:\n%s", shown["main/binary-amd64/Packages"])
		}
		r.want("dists/trixie/main/binary-amd64/by-hash/SHA256/"+old, 200, "")

		// What was replaced is found for an hour; a Release file is renewed before it expires.
		service := core.Part[*packages.Service](s.core)
		s.exec("UPDATE debian_indices SET retired_at = ? WHERE retired_at IS NOT NULL", db.At(time.Now().Add(-61*time.Minute)))
		r.want("dists/trixie/main/binary-amd64/by-hash/SHA256/"+old, 404, "")
		before := shown["Release"]
		s.exec("UPDATE debian_releases SET renew_at = ?, modified_at = ?", db.At(time.Now().Add(-time.Minute)), db.At(time.Now().Add(-20*time.Hour)))
		if err := service.Renew(t.Context(), packages.Renew{}); err != nil {
			t.Fatal(err)
		}
		s.drained()
		if r.check("trixie"); s.count("SELECT COUNT(*) FROM debian_indices WHERE retired_at IS NOT NULL") != 0 || before == "" {
			t.Error("retired indices are left")
		}
		if err := service.Sweep(t.Context(), packages.Sweep{}); err != nil {
			t.Fatal(err)
		}
		r.check("trixie")

		// Deleting a package takes it out.
		one := d.all("/packages?package_name=hello")[0]
		s.want("mona", "DELETE", d.at+"/packages/"+number(one, "id"), nil, 204, "")
		r.want(pool+"hello_1.0-1_amd64.deb", 404, "")
		s.drained()
		if shown := r.check("trixie"); shown["main/source/Sources"] != "" || strings.Contains(shown["main/binary-amd64/Packages"], "Package: hello\n") {
			t.Errorf("after deletion: %s", shown["main/binary-amd64/Packages"])
		}

		// A caller who may not read is asked for credentials; a public registry is read without any.
		for user, status := range map[string]int{"": 401, "x:wrong": 401, "rita:" + s.keys["rita"]: 200} {
			a := s.curl("GET", r.at+"/dists/trixie/InRelease", user, "")
			if a.Code != status || status == 401 && a.Header().Get("Www-Authenticate") != `Basic realm="GitLab Packages Registry"` {
				t.Errorf("%.5s: %d %v", user, a.Code, a.Header())
			}
		}
		if a := s.curl("GET", "/projects/4711/packages/debian/dists/trixie/InRelease", "", ""); a.Code != 401 {
			t.Errorf("a project that is not there: %d", a.Code)
		}
		s.user("stan", nil)
		if a := s.curl("GET", r.at+"/dists/trixie/InRelease", "stan:"+s.keys["stan"], ""); a.Code != 404 {
			t.Errorf("stranger: %d", a.Code)
		}
		s.do("mona", "PUT", d.at, obj{"package_registry_access_level": "public"})
		r.user = ""
		r.want("dists/trixie/InRelease", 200, "")
		r.want("dists/none/InRelease", 404, "")
		s.do("mona", "PUT", d.at, obj{"package_registry_access_level": "disabled"})
		r.want("dists/trixie/InRelease", 401, "")
		r.user = d.dave
		r.want("dists/trixie/InRelease", 404, "")
	})
}
