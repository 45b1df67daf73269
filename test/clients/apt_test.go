package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tenon/internal/base/debian/debiantest"
	"tenon/test/servertest"
)

// debianWorld is a machine with Debian's tools, and a project with a distribution.
type debianWorld struct {
	t       *testing.T
	s       *servertest.Server
	folder  string
	group   int64
	project int64

	key, groupKey []byte // that the distributions are signed with
}

// TestApt builds a package with dpkg-buildpackage, uploads it with dput, and reads the repository of the private project and that of its group
// with apt: signed, by digest, with credentials from auth.conf, binary and source packages, newer and pinned versions.
func TestApt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"apt-get", "dput", "dpkg-buildpackage", "dpkg-deb", "make"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("apt: skipped (%s is not installed)", name)
		}
	}
	servertest.Each(t, func(t *testing.T, database string) {
		w := newDebianWorld(t, database)
		changes := w.build("1.0-1")
		w.dput(changes)
		w.awaitPackage("hello", "1.0-1")
		project := fmt.Sprintf("/api/v4/projects/%d/packages/debian", w.project)
		apt := w.apt(project, w.key, true)
		out := apt.run("update")
		for _, want := range []string{"Get:1 ", "InRelease"} {
			if !strings.Contains(out, want) {
				t.Errorf("update: no %q in\n%s", want, out)
			}
		}
		if out := apt.run("update"); strings.Contains(out, "Get:") || !strings.Contains(out, "Hit:1 ") {
			t.Errorf("update without changes:\n%s", out)
		}
		apt.downloads("hello", "1.0-1")
		apt.run("install", "--download-only", "-y", "hello")
		apt.run("source", "--download-only", "hello")
		if _, err := os.Stat(filepath.Join(apt.folder, "hello_1.0-1.dsc")); err != nil {
			t.Errorf("source: %v", err)
		}

		w.put(w.deb("1.1-1"), "?distribution=bookworm&component=main")
		w.awaitPackage("hello", "1.1-1")
		if out := apt.run("update", "-o", "Debug::Acquire::http=true"); strings.Count(out, "GET "+project) != 2 || !strings.Contains(out, "/by-hash/SHA256/") {
			t.Errorf("update with one change: %d requests, by digest %v\n%s", strings.Count(out, "GET "+project), strings.Contains(out, "/by-hash/SHA256/"), out)
		}
		apt.downloads("hello", "1.1-1")
		apt.run("download", "hello=1.0-1")
		if out := apt.run("update", "-o", "APT::Architectures::=amd64", "-o", "APT::Architectures::=arm64"); strings.Contains(out, "Err:") {
			t.Errorf("update for two architectures:\n%s", out)
		}

		group := w.apt(fmt.Sprintf("/api/v4/groups/%d/-/packages/debian", w.group), w.groupKey, true)
		w.await("the distribution of the group", func() bool { return group.try("update") == nil })
		group.downloads("hello", "1.1-1")

		if err := w.apt(project, w.key, false).try("update"); err == nil {
			t.Error("a private project is read without credentials")
		}
		w.rotate()
		apt.run("update") // with the old key
		if err := os.WriteFile(apt.key, w.call("GET", fmt.Sprintf("/projects/%d/debian_distributions/bookworm/key.asc", w.project), nil, 200), 0o600); err != nil {
			t.Fatal(err)
		}
		apt.run("update")

		if err := os.WriteFile(apt.key, w.distribution(fmt.Sprintf("/projects/%d/debian_distributions", w.projectNamed("other"))), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := apt.try("update"); err == nil || !strings.Contains(err.Error(), "NO_PUBKEY") {
			t.Errorf("with the key of another distribution: %v", err)
		}
	})
}

// TestApt_replaced has apt read the distribution of a private project while it is published again and again, TENON_PACKAGE_READS times during
// TENON_PACKAGE_PUBLICATIONS publications, else less often: no update sees an index that does not fit its Release file.
func TestApt_replaced(t *testing.T) {
	t.Parallel()
	needs(t, "apt-get")
	publications, reads := servertest.Times(t, "TENON_PACKAGE_PUBLICATIONS", 10), servertest.Times(t, "TENON_PACKAGE_READS", 30)
	w := newDebianWorld(t, "")
	apt := w.apt(fmt.Sprintf("/api/v4/projects/%d/packages/debian", w.project), w.key, true)
	publish := func(version string) {
		w.call("PUT", fmt.Sprintf("/projects/%d/packages/debian/hello_%s_amd64.deb?distribution=bookworm&component=main", w.project, version),
			strings.NewReader(debiantest.Deb(debiantest.Control("hello", version, "amd64", ""))), 201)
		w.awaitPackage("hello", version)
	}
	publish("0")
	written, read, fresh := make(chan struct{}), 0, 0
	var group sync.WaitGroup
	group.Go(func() { // ends with the publications
		for {
			select {
			case <-written:
				if read >= reads {
					return
				}
			default:
			}
			out, err := apt.output("update")
			if err != nil {
				t.Errorf("update %d: %v", read, err)
				return
			}
			if read++; strings.Contains(out, "Get:") {
				fresh++
			}
		}
	})
	for i := range publications {
		publish(fmt.Sprint(i + 1))
	}
	close(written)
	group.Wait()
	if fresh == 0 {
		t.Error("no update saw a publication")
	}
	apt.run("update")
	apt.downloads("hello", fmt.Sprint(publications))
	t.Logf("%d updates, of which %d loaded indices, during %d publications", read, fresh, publications)
}

func newDebianWorld(t *testing.T, database string) *debianWorld {
	t.Helper()
	w := &debianWorld{t: t, s: servertest.Start(t, database), folder: t.TempDir()}
	w.group = w.made("/groups", `{"name":"Tools","path":"tools","visibility":"private"}`)
	w.project = w.projectNamed("repo")
	w.key = w.distribution(fmt.Sprintf("/projects/%d/debian_distributions", w.project))
	w.groupKey = w.distribution(fmt.Sprintf("/groups/%d/-/debian_distributions", w.group))
	return w
}

// call sends a request and returns the body of the answer, which has a status.
func (w *debianWorld) call(method, path string, body io.Reader, status int) []byte {
	w.t.Helper()
	got, text := w.ask(method, path, body)
	if got != status {
		w.t.Fatalf("%s %s: %d %.300s", method, path, got, text)
	}
	return text
}

// ask sends a request and returns the answer.
func (w *debianWorld) ask(method, path string, body io.Reader) (status int, text []byte) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.s.URL+"/api/v4"+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	req.SetBasicAuth("root", servertest.RootToken)
	req.Header.Set("Private-Token", servertest.RootToken)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := new(http.Client).Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err = io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, text
}

// made creates something and returns its number.
func (w *debianWorld) made(path, body string) int64 {
	w.t.Helper()
	var made struct {
		ID int64 `json:"id"`
	}
	if err := json.Unmarshal(w.call("POST", path, strings.NewReader(body), 201), &made); err != nil {
		w.t.Fatal(err)
	}
	return made.ID
}

func (w *debianWorld) projectNamed(name string) int64 {
	w.t.Helper()
	return w.made("/projects", fmt.Sprintf(`{"name":%q,"namespace_id":%d,"visibility":"private"}`, name, w.group))
}

// distribution makes a distribution and returns its key.
func (w *debianWorld) distribution(path string) []byte {
	w.t.Helper()
	w.made(path, `{"codename":"bookworm","suite":"stable","components":["main"],"architectures":["amd64","arm64"]}`)
	var key []byte
	w.await("the key", func() bool {
		var status int
		status, key = w.ask("GET", path+"/bookworm/key.asc", nil)
		return status == http.StatusOK
	})
	return key
}

// await waits until something holds.
func (w *debianWorld) await(what string, holds func() bool) {
	w.t.Helper()
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	end := time.NewTimer(time.Minute)
	defer end.Stop()
	for !holds() {
		select {
		case <-every.C:
		case <-end.C:
			w.t.Fatalf("waited a minute for %s", what)
		}
	}
}

// awaitPackage waits until a version is published and in the Release file.
func (w *debianWorld) awaitPackage(name, version string) {
	w.t.Helper()
	var list string
	w.await(name+" "+version, func() bool {
		list = string(w.call("GET", fmt.Sprintf("/projects/%d/packages?package_type=debian&include_versionless=true&status=error", w.project), nil, 200))
		if list != "[]" {
			w.t.Fatalf("refused: %s", list)
		}
		_, text := w.ask("GET", fmt.Sprintf("/projects/%d/packages/debian/dists/bookworm/main/binary-amd64/Packages", w.project), nil)
		return bytes.Contains(text, []byte("Version: "+version+"\n"))
	})
}

// run runs a program in a folder.
func (w *debianWorld) run(folder, name string, args ...string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBEMAIL=ann@example.com", "DEBFULLNAME=Ann", "HOME="+w.folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

const controlFile = `Source: hello
Section: utils
Priority: optional
Maintainer: Ann <ann@example.com>
Standards-Version: 4.6.2

Package: hello
Architecture: amd64
Description: greets
 It greets in a friendly way.
 .
 And twice.
`

const rulesFile = `#!/usr/bin/make -f
clean:
	rm -rf debian/hello debian/files
build build-arch build-indep:
binary-indep:
binary binary-arch:
	mkdir -p debian/hello/DEBIAN debian/hello/usr/share/hello
	echo hi >debian/hello/usr/share/hello/greeting
	dpkg-gencontrol -Pdebian/hello
	dpkg-deb --root-owner-group --build debian/hello ..
`

// build makes a source package with its binary package and returns the path of the .changes.
func (w *debianWorld) build(version string) string {
	w.t.Helper()
	upstream, _, _ := strings.Cut(version, "-")
	folder := filepath.Join(w.folder, "hello-"+upstream)
	for name, text := range map[string]string{
		"README": "hello\n", "debian/control": controlFile, "debian/rules": rulesFile, "debian/source/format": "3.0 (quilt)\n",
		"debian/changelog": "hello (" + version + ") bookworm; urgency=medium\n\n  * First.\n\n -- Ann <ann@example.com>  Mon, 02 Jan 2023 03:04:05 +0000\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	w.run(w.folder, "tar", "-czf", "hello_"+upstream+".orig.tar.gz", "--exclude=debian", "hello-"+upstream)
	w.run(folder, "dpkg-buildpackage", "-us", "-uc", "-d", "-F", "--host-arch", "amd64")
	return filepath.Join(w.folder, "hello_"+version+"_amd64.changes")
}

// deb makes a binary package alone.
func (w *debianWorld) deb(version string) string {
	w.t.Helper()
	folder := filepath.Join(w.folder, "deb-"+version)
	if err := os.MkdirAll(filepath.Join(folder, "DEBIAN"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	control := "Package: hello\nVersion: " + version + "\nArchitecture: amd64\nMaintainer: Ann <ann@example.com>\nSection: utils\nPriority: optional\nDescription: greets\n"
	if err := os.WriteFile(filepath.Join(folder, "DEBIAN", "control"), []byte(control), 0o600); err != nil {
		w.t.Fatal(err)
	}
	name := filepath.Join(w.folder, "hello_"+version+"_amd64.deb")
	w.run(w.folder, "dpkg-deb", "-Zxz", "--root-owner-group", "--build", folder, name)
	return name
}

// rotate gives the distributions new keys, and waits until they sign.
func (w *debianWorld) rotate() {
	w.t.Helper()
	path := fmt.Sprintf("/projects/%d/packages/debian/dists/bookworm/Release.gpg", w.project)
	before := w.call("GET", path, nil, 200)
	w.run(w.folder, servertest.Binary(w.t), "admin", "debian", "key", "rotate", "--data", w.s.Data, "--database", w.database())
	w.await("signatures of both keys", func() bool { return len(w.call("GET", path, nil, 200)) > len(before) })
}

// database is the address of the server's database.
func (w *debianWorld) database() string {
	if address := w.s.Database(); address != "" {
		return address
	}
	return "sqlite:" + filepath.Join(w.s.Data, "tenon.db")
}

// put uploads a file as curl does.
func (w *debianWorld) put(file, query string) {
	w.t.Helper()
	f, err := os.Open(file)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	w.call("PUT", fmt.Sprintf("/projects/%d/packages/debian/%s%s", w.project, filepath.Base(file), query), f, 201)
}

// dput uploads what a .changes names.
func (w *debianWorld) dput(changes string) {
	w.t.Helper()
	host := strings.TrimPrefix(w.s.URL, "http://")
	config := fmt.Sprintf("[tools]\nfqdn = %s\nmethod = http\nlogin = root\nincoming = /api/v4/projects/%d/packages/debian\nallow_unsigned_uploads = 1\n", host, w.project)
	w.dputWith(config, changes)
}

// dputWith uploads what a .changes names to the host "tools" of a configuration.
func (w *debianWorld) dputWith(config, changes string) {
	w.t.Helper()
	name := filepath.Join(w.folder, "dput.cf")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.CommandContext(w.t.Context(), "dput", "-U", "-c", name, "tools", changes)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+w.folder)
	cmd.Stdin = strings.NewReader(servertest.RootToken + "\n") // it asks for the password, at a terminal where there is one
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "need authentication.") {
		w.t.Fatalf("dput: %v\n%s", err, out)
	}
}

// aptMachine is apt with folders of its own.
type aptMachine struct {
	w      *debianWorld
	folder string
	key    string
}

// apt configures apt to read a repository.
func (w *debianWorld) apt(path string, key []byte, credentials bool) *aptMachine {
	w.t.Helper()
	a := &aptMachine{w: w, folder: w.t.TempDir()}
	a.key = filepath.Join(a.folder, "key.asc")
	login := ""
	if credentials {
		login = fmt.Sprintf("machine %s%s login root password %s\n", w.s.URL, path, servertest.RootToken)
	}
	for _, folder := range []string{"state/lists/partial", "cache/archives/partial", "etc/preferences.d"} {
		if err := os.MkdirAll(filepath.Join(a.folder, folder), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	source := fmt.Sprintf("[signed-by=%s] %s%s bookworm main\n", a.key, w.s.URL, path)
	for name, text := range map[string]string{
		"key.asc": string(key), "etc/sources.list": "deb " + source + "deb-src " + source, "etc/auth.conf": login, "state/status": "",
		"etc/apt.conf": fmt.Sprintf(`Dir::State "%[1]s/state"; Dir::State::status "%[1]s/state/status"; Dir::Cache "%[1]s/cache"; Dir::Etc "%[1]s/etc"; Dir::Etc::sourceparts "-";
Dir::Etc::netrc "%[1]s/etc/auth.conf"; Dir::Etc::netrcparts "-"; Dir::Etc::trustedparts "-"; Dir::Log "%[1]s"; APT::Architecture "amd64"; APT::Sandbox::User "root"; Acquire::Languages "none"; Acquire::http::Proxy "DIRECT";
`, a.folder),
	} {
		if err := os.WriteFile(filepath.Join(a.folder, name), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	return a
}

// try runs apt-get; the error has what it printed.
func (a *aptMachine) try(args ...string) error {
	_, err := a.output(args...)
	return err
}

func (a *aptMachine) output(args ...string) (string, error) {
	cmd := exec.CommandContext(a.w.t.Context(), "apt-get", append([]string{"-q", "-o", "APT::Update::Error-Mode=any"}, args...)...)
	cmd.Dir = a.folder
	cmd.Env = append(os.Environ(), "LC_ALL=C", "APT_CONFIG="+filepath.Join(a.folder, "etc/apt.conf"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("apt-get %v: %w\n%s", args, err, out)
	}
	return string(out), err
}

func (a *aptMachine) run(args ...string) string {
	a.w.t.Helper()
	out, err := a.output(args...)
	if err != nil {
		a.w.t.Fatal(err)
	}
	return out
}

// downloads expects the version of a package that apt chooses.
func (a *aptMachine) downloads(name, version string) {
	a.w.t.Helper()
	a.run("download", name)
	if _, err := os.Stat(filepath.Join(a.folder, name+"_"+version+"_amd64.deb")); err != nil {
		a.w.t.Errorf("%s %s: %v", name, version, err)
	}
}
