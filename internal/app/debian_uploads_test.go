package app

import (
	"fmt"
	"strings"
	"testing"
)

// debianProject is a project with a Debian distribution, to which files are uploaded as dput does.
type debianProject struct {
	*deployer

	t    *testing.T
	dave string
}

func (s *server) debianProject(t *testing.T) *debianProject {
	t.Helper()
	d := &debianProject{deployer: s.deployer(), t: t}
	d.dave = "dave:" + s.keys["dave"]
	s.do("dave", "POST", d.at+"/debian_distributions", obj{"codename": "trixie", "suite": "testing", "components": "main,contrib"})
	return d
}

// want uploads a file.
func (d *debianProject) put(name, content string, status int, text string) {
	d.t.Helper()
	if a := d.curl("PUT", d.at+"/packages/debian/"+name, d.dave, content); a.Code != status || !strings.Contains(a.Body.String(), text) {
		d.t.Errorf("%s: got %d %.300s, want %d %s", name, a.Code, a.Body, status, text)
	}
}

// dput uploads the files of an upload and then its .changes, and has it processed.
func (d *debianProject) dput(changes, content string, files ...string) {
	d.t.Helper()
	for i := 0; i+1 < len(files); i += 2 {
		d.put(files[i], files[i+1], 201, `{"message":"201 Created"}`)
	}
	d.put(changes, content, 201, `{"message":"201 Created"}`)
	d.drained()
}

// shown are the packages that the list shows, with why they failed.
func (d *debianProject) shown() string {
	var out []string
	for _, p := range d.all("/packages?package_type=debian") {
		line := fmt.Sprint(p["name"], " ", p["version"], " ", p["status"])
		if p["status_message"] != nil {
			line += ": " + fmt.Sprint(p["status_message"])
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func (d *debianProject) wantShown(want ...string) {
	d.t.Helper()
	if got := d.shown(); got != strings.Join(want, "\n") {
		d.t.Errorf("packages:\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestDebian_uploads takes what dput and curl upload, publishes it whole, and says why it does not.
func TestDebian_uploads(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.debianProject(t)
		orig, tar, deb := "orig", "debian", debFile(binaryControl("hello", "1.0-1", "amd64", ""))
		dsc := dscFile("hello", "1.0-1", "hello_1.0.orig.tar.gz", orig, "hello_1.0-1.debian.tar.xz", tar)
		files := []string{"hello_1.0-1.dsc", dsc, "hello_1.0.orig.tar.gz", orig, "hello_1.0-1.debian.tar.xz", tar, "hello_1.0-1_amd64.deb", deb}
		changes := changesFile("hello", "1.0-1", "testing", files...)

		// An incoming file is in no list; published files are one package.
		d.put("hello_1.0-1.dsc", dsc, 201, "")
		d.wantShown()
		d.dput("hello_1.0-1_amd64.changes", changes, files...)
		d.wantShown("hello 1.0-1 default")
		one := d.all("/packages?package_type=debian")[0]
		if inside := d.all("/packages/" + number(one, "id") + "/package_files"); len(inside) != 5 {
			t.Errorf("files: %v", inside)
		}
		// The same again changes nothing; other bytes are refused.
		d.dput("hello_1.0-1_amd64.changes", changes, files...)
		d.wantShown("hello 1.0-1 default")
		d.put("hello_1.0-1_amd64.deb", deb+"x", 400, `{"message":"400 Bad request - File name has already been taken by other content"}`)

		// The next version lists upstream's files in its .dsc alone.
		dsc2 := dscFile("hello", "1.0-2", "hello_1.0.orig.tar.gz", orig, "hello_1.0-2.debian.tar.xz", "two")
		files2 := []string{"hello_1.0-2.dsc", dsc2, "hello_1.0-2.debian.tar.xz", "two"}
		d.dput("hello_1.0-2_source.changes", changesFile("hello", "1.0-2", "trixie", files2...), files2...)
		d.wantShown("hello 1.0-1 default", "hello 1.0-2 default")
		if inside := d.all("/packages/" + number(d.all("/packages?package_version=1.0-2")[0], "id") + "/package_files"); len(inside) != 4 {
			t.Errorf("files of the second version: %v", inside)
		}
		// A binary package of the first version comes later, straight into a component.
		d.put("hello-doc_1.0-1_all.deb?distribution=trixie&component=contrib", debFile(binaryControl("hello-doc", "1.0-1", "all", "Source: hello\n")), 201, "")
		d.put("lone_2.0_amd64.udeb?distribution=testing&component=main", debFile(binaryControl("lone", "2.0", "amd64", "Source: single (2.0~src)\n")), 201, "")
		d.drained()
		d.wantShown("hello 1.0-1 default", "hello 1.0-2 default", "single 2.0~src default")

		// What is wrong with a request is refused at once.
		d.put("x.deb?distribution=trixie", "x", 400, `{"error":"component is missing"}`)
		d.put("x_1_amd64.deb?component=main", "x", 400, `{"error":"distribution is missing"}`)
		d.put("x.dsc?distribution=trixie&component=main", "x", 400, `{"error":"file_name Only debs, udebs and ddebs can be directly added to a distribution"}`)
		d.put("x%2f..%2fx.deb", "x", 400, "file_name is invalid")
		d.put("..", "x", 400, "file_name is invalid")
		d.put("x%0ay.deb", "x", 400, "")
		d.put("large.changes", strings.Repeat("x", 1<<20+1), 400, "File is too large")
		for user, status := range map[string]int{"": 401, "rita:" + s.keys["rita"]: 403, "x:wrong": 401} {
			if a := s.curl("PUT", d.at+"/packages/debian/x_1_amd64.deb", user, "x"); a.Code != status {
				t.Errorf("%.5s: %d %s", user, a.Code, a.Body)
			}
		}
		s.checkPackages(t)
	})
}

// TestDebian_failures shows each upload that cannot be published, with the reason.
func TestDebian_failures(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		d := s.debianProject(t)
		s.do("dave", "POST", d.at+"/debian_distributions", obj{"codename": "sid"})
		deb := debFile(binaryControl("a", "1", "amd64", ""))
		good := func(version, distribution string) string {
			return changesFile("a", version, distribution, "a_1_amd64.deb", deb)
		}
		var want []string
		fails := func(reason, content string, files ...string) {
			t.Helper()
			n := len(want)
			d.dput(fmt.Sprintf("a_%d_amd64.changes", n), content, files...)
			list := d.all("/packages?package_type=debian&status=error&per_page=100")
			if len(list) != n+1 {
				t.Fatalf("%s: %v", reason, list)
			}
			if got := fmt.Sprint(list[n]["status_message"]); got != reason {
				t.Errorf("got %q, want %q", got, reason)
			}
			want = append(want, reason)
		}
		name := func(n int) string { return fmt.Sprintf("a_%d_amd64.changes", n) }
		fails(name(0)+": line that is no field: \"hello\"", "hello")
		fails(name(1)+" is not a changes file", "Source: a\n")
		fails("Files field is missing", "Source: a\nVersion: 1\nDistribution: sid\n")
		fails("a_1_amd64.deb is listed in Files but was not uploaded", good("1", "sid"))
		fails(`there is no distribution "other"`, good("1", "other"), "a_1_amd64.deb", deb)
		// What a failed upload names went with it, so that other bytes can come under the name.
		fails("SHA1 of b_1_amd64.deb differs from that in the changes file", strings.Replace(changesFile("b", "1", "sid", "b_1_amd64.deb", deb), "Checksums-Sha1:\n ", "Checksums-Sha1:\n 0", 1), "b_1_amd64.deb", deb)
		fails("size of b_1_amd64.deb differs from that in the changes file", changesFile("b", "1", "sid", "b_1_amd64.deb", deb+"x"), "b_1_amd64.deb", deb+"yz")
		fails(`b_1_amd64.deb: no Debian package`, changesFile("b", "1", "sid", "b_1_amd64.deb", "text"), "b_1_amd64.deb", "text")
		fails(`architecture "riscv64" of c_1_riscv64.deb is none of distribution sid`, changesFile("c", "1", "sid", "c_1_riscv64.deb", debFile(binaryControl("c", "1", "riscv64", ""))),
			"c_1_riscv64.deb", debFile(binaryControl("c", "1", "riscv64", "")))
		fails(`component "non-free" of d_1_amd64.deb is none of distribution sid`, strings.ReplaceAll(changesFile("d", "1", "sid", "d_1_amd64.deb", deb), "misc optional", "non-free/misc optional"),
			"d_1_amd64.deb", deb)
		fails("unsupported file extension for file e.zip", changesFile("e", "1", "sid", "e.zip", "x"), "e.zip", "x")
		dsc := dscFile("f", "1", "f_1.tar.xz", "f")
		fails("f_1.tar.xz is listed in f_1.dsc but was not uploaded", changesFile("f", "1", "sid", "f_1.dsc", dsc), "f_1.dsc", dsc)
		fails("Source is invalid", changesFile("../f", "1", "sid", "f_1.dsc", dsc))
		fails("Version is invalid", changesFile("f", "1/2", "sid", "f_1.dsc", dsc))

		// One version is in one distribution.
		d.dput("a_1_amd64.changes", good("1", "sid"), "a_1_amd64.deb", deb)
		other := debFile(binaryControl("a-data", "1", "all", "Source: a\n"))
		fails("a 1 is in another distribution of the project already", changesFile("a", "1", "trixie", "a-data_1_all.deb", other), "a-data_1_all.deb", other)

		// A failed upload can be deleted, and is not in the way of the next one.
		failed := d.all("/packages?package_type=debian&status=error&package_name=c")
		s.want("mona", "DELETE", d.at+"/packages/"+number(failed[0], "id"), nil, 204, "")
		s.drained()
		if left := d.all("/packages?package_type=debian&status=error&per_page=100"); len(left) != len(want)-1 {
			t.Errorf("left: %v", left)
		}
		// Two that name one file: it is published once, and both succeed.
		d.put("two_1_all.deb", debFile(binaryControl("two", "1", "all", "")), 201, "")
		both := changesFile("two", "1", "sid", "two_1_all.deb", debFile(binaryControl("two", "1", "all", "")))
		d.put("two_1_amd64.changes", both, 201, "")
		d.put("two_1_all.changes", both, 201, "")
		s.drained()
		two := d.all("/packages?package_type=debian&package_name=two")
		if len(two) != 1 || len(d.all("/packages/"+number(two[0], "id")+"/package_files")) != 3 {
			t.Errorf("two uploads of one file: %v", two)
		}
	})
}
