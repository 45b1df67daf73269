package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tenon/test/servertest"
)

// run runs a program and returns what it printed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_LOG_LEVEL=warning")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// TestPackage builds the Debian package around the program that the tests have, installs
// it below a folder, runs what was installed, removes and purges it. Maintainer scripts
// work below DPKG_ROOT, so that nothing of this machine changes.
func TestPackage(t *testing.T) {
	t.Parallel()
	needs(t, "make", "dpkg", "useradd")
	if os.Geteuid() != 0 {
		t.Skip("installation of the package: skipped (needs root)")
	}
	if out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "nfpm").CombinedOutput(); err != nil {
		t.Skipf("nfpm: skipped (%v, it cannot be compiled here)\n%s", err, out)
	}
	dist, root := t.TempDir(), t.TempDir()
	run(t, "make", "-C", "../..", "package", "DIST="+dist, "BINARY="+servertest.Binary(t), "VERSION=1.2.3-4-gabc", "ARCH=amd64")
	deb := filepath.Join(dist, "tenon_1.2.3+4+gabc_amd64.deb")
	for _, dir := range []string{"etc", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n", "var/lib/dpkg/status": "", "var/lib/dpkg/available": "",
	} {
		write(t, filepath.Join(root, name), text)
	}
	dpkg := func(args ...string) string {
		t.Helper()
		return run(t, "dpkg", append([]string{"--root=" + root, "--force-script-chrootless", "--force-depends", "--log=/dev/null"}, args...)...)
	}
	has := func(name string, mode os.FileMode) {
		t.Helper()
		info, err := os.Stat(filepath.Join(root, name))
		switch {
		case mode == 0 && !os.IsNotExist(err):
			t.Errorf("%s: %v, want it gone", name, err)
		case mode != 0 && (err != nil || info.Mode().Perm() != mode):
			t.Errorf("%s: %v, %v, want the mode %o", name, info, err, mode)
		}
	}

	dpkg("-i", deb)
	has("usr/bin/tenon", 0o755)
	has("usr/lib/systemd/system/tenon.service", 0o644)
	has("etc/tenon/tenon.toml", 0o640)
	has("var/lib/tenon", 0o700)
	has("var/backups/tenon", 0o700)
	if text, err := os.ReadFile(filepath.Join(root, "etc/passwd")); err != nil || !strings.Contains(string(text), ":/var/lib/tenon:/usr/sbin/nologin\n") {
		t.Errorf("users: %s, %v, want tenon among them", text, err)
	}
	if got := run(t, filepath.Join(root, "usr/bin/tenon"), "version"); !strings.HasPrefix(got, "tenon ") {
		t.Errorf("tenon version: %q", got)
	}
	// The settings that are installed are read, and name the folder that the unit lets it write.
	data := filepath.Join(root, "var/lib/tenon")
	run(t, filepath.Join(root, "usr/bin/tenon"), "migrate", "--config", filepath.Join(root, "etc/tenon/tenon.toml"), "--data", data)
	has("var/lib/tenon/tenon.db", 0o600)

	conf := filepath.Join(root, "etc/tenon/tenon.toml")
	own := strings.Replace(site(t, "tenon.toml"), "127.0.0.1:8080", "127.0.0.1:9090", 1)
	if err := os.WriteFile(conf, []byte(own), 0o640); err != nil {
		t.Fatal(err)
	}
	dpkg("-i", deb) // again, as an update
	if text, err := os.ReadFile(conf); err != nil || string(text) != own {
		t.Errorf("settings after an update: %s, %v, want those of the operator", text, err)
	}
	write(t, filepath.Join(root, "var/backups/tenon/1.tar.zst"), "a backup")
	dpkg("-r", "tenon")
	has("usr/bin/tenon", 0)
	has("etc/tenon/tenon.toml", 0o640)
	has("var/lib/tenon/tenon.db", 0o600)
	if got := dpkg("-P", "tenon"); !strings.Contains(got, "tenon: kept /var/lib/tenon") {
		t.Errorf("a purge says %q, want what it keeps", got)
	}
	has("etc/tenon", 0)
	has("var/lib/tenon/tenon.db", 0o600)
	has("var/backups/tenon/1.tar.zst", 0o600)
}

// The version of a package that is built without a tag is that of an earlier commit's, but greater, so that apt takes it
// for an update.
func TestPackage_versions(t *testing.T) {
	t.Parallel()
	needs(t, "make", "dpkg", "git")
	clone := t.TempDir()
	write(t, filepath.Join(clone, "Makefile"), site(t, "../Makefile"))
	git := func(when string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", clone, "-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+when, "GIT_AUTHOR_DATE="+when)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("", "init", "-q")
	var versions []string
	for _, when := range []string{"2026-01-02T23:59:59+0000", "2026-01-03T00:30:00-0100", "2026-12-01T00:00:00+0000"} {
		git(when, "commit", "-q", "--allow-empty", "-m", when)
		out := run(t, "make", "-s", "-C", clone, "-f", "Makefile", "--eval", "print: ; @echo $(subst -,+,$(VERSION))", "print")
		versions = append(versions, strings.TrimSpace(out))
	}
	for i, v := range versions[1:] {
		if err := exec.CommandContext(t.Context(), "dpkg", "--compare-versions", v, "gt", versions[i]).Run(); err != nil {
			t.Errorf("%s is not greater than %s: %v", v, versions[i], err)
		}
	}
}

// TestUnit has systemd check the unit, and how much it leaves open.
func TestUnit(t *testing.T) {
	t.Parallel()
	needs(t, "systemd-analyze")
	unit := write(t, filepath.Join(t.TempDir(), "tenon.service"), site(t, "tenon.service", "/usr/bin/tenon serve", servertest.Binary(t)+" serve",
		"User=tenon\nGroup=tenon\n", ""))
	if out := run(t, "systemd-analyze", "verify", "--man=no", unit); strings.Contains(out, "tenon.service") {
		t.Errorf("systemd-analyze verify: %s, want nothing about the unit", out)
	}
	// On the scale of systemd 0 is a service that can do nothing and 10 one without any bounds.
	out := run(t, "systemd-analyze", "security", "--offline=true", "--threshold=30", filepath.Join("../../deploy", "tenon.service"))
	if !strings.Contains(out, "Overall exposure level") {
		t.Errorf("systemd-analyze security: %s, want a level", out)
	}
}

// TestContainerfile looks at what can be checked without a registry: that each
// instruction exists, that files to copy are there, and what the program is stamped with.
func TestContainerfile(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(site(t, "Containerfile", "-X main.version=$VERSION", "-X main.version=$VERSION", "-X main.revision=$REVISION", "-X main.revision=$REVISION"), "\\\n", " ")
	known := regexp.MustCompile(`^(FROM|WORKDIR|COPY|RUN|ARG|USER|VOLUME|ENV|EXPOSE|STOPSIGNAL|ENTRYPOINT|CMD) \S`)
	stages := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !known.MatchString(line) {
			t.Errorf("unknown instruction: %s", line)
			continue
		}
		words := strings.Fields(line)
		switch words[0] {
		case "FROM":
			if len(words) == 4 && words[2] == "AS" {
				stages[words[3]] = true
			}
		case "COPY":
			if from, ok := strings.CutPrefix(words[1], "--from="); ok {
				if !stages[from] {
					t.Errorf("%s: there is no stage %s before it", line, from)
				}
				continue
			}
			for _, name := range words[1 : len(words)-1] {
				if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
	}
	if program, err := os.ReadFile("../../cmd/tenon/main.go"); err != nil || !regexp.MustCompile(`(?s)\tversion .*\trevision string`).Match(program) {
		t.Errorf("the variables that releases are stamped by: %v, want version and revision in main", err)
	}
}
