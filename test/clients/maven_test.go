package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// debianMaven is the repository of Debian's packages: Maven's own plugins come from there, and nothing from elsewhere.
const debianMaven = "/usr/share/maven-repo"

// mavenMissing says what is not installed of what mvn deploy needs, "" where all is.
func mavenMissing() string {
	if _, err := exec.LookPath("mvn"); err != nil {
		return "mvn is not installed"
	}
	for _, name := range []string{"resources", "compiler", "surefire", "jar", "install", "deploy", "dependency"} {
		if _, err := os.Stat(filepath.Join(debianMaven, "org/apache/maven/plugins", "maven-"+name+"-plugin")); err != nil {
			return "Debian's package of maven-" + name + "-plugin is not installed"
		}
	}
	return ""
}

// mavenMachine is Maven with a local repository and settings of its own.
type mavenMachine struct {
	t      *testing.T
	folder string
}

// newMavenMachine configures Maven with the servers of its settings. The test is skipped where Maven is not there.
func newMavenMachine(t *testing.T, servers string) *mavenMachine {
	t.Helper()
	if missing := mavenMissing(); missing != "" {
		t.Skipf("maven: skipped (%s)", missing)
	}
	m := &mavenMachine{t, t.TempDir()}
	m.write("settings.xml", mavenSettings(servers))
	return m
}

// mavenSettings are settings with servers, for which all that is not of the repository "tenon" comes from Debian's packages.
func mavenSettings(servers string) string {
	return "<settings><servers>" + servers + "</servers><mirrors><mirror><id>debian</id><mirrorOf>*,!tenon</mirrorOf><url>file://" + debianMaven + "</url></mirror></mirrors></settings>"
}

// mavenProject is the pom.xml of a version, with more elements of the project, and one dependency, "" for none.
func mavenProject(more, artifact, version, dependency string) string {
	if dependency != "" {
		artifact = "user-of-" + artifact
		more += "<dependencies><dependency><groupId>com.example</groupId><artifactId>" + strings.TrimPrefix(artifact, "user-of-") + "</artifactId><version>" + dependency + "</version></dependency></dependencies>"
	}
	return "<project><modelVersion>4.0.0</modelVersion><groupId>com.example</groupId><artifactId>" + artifact + "</artifactId><version>" + version + "</version>\n" +
		"<properties><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>\n" + more + "\n</project>\n"
}

func (m *mavenMachine) write(name, content string) {
	m.t.Helper()
	at := filepath.Join(m.folder, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// run runs Maven in a folder with a local repository, and returns what it prints.
func (m *mavenMachine) run(folder, local string, args ...string) (string, error) {
	args = append([]string{"--batch-mode", "--settings", filepath.Join(m.folder, "settings.xml"), "-Dmaven.repo.local=" + filepath.Join(m.folder, local)}, args...)
	cmd := exec.CommandContext(m.t.Context(), "mvn", args...)
	cmd.Dir = filepath.Join(m.folder, folder)
	cmd.Env = append(os.Environ(), "HOME="+m.folder, "LC_ALL=C.UTF-8", "MAVEN_OPTS=-XX:TieredStopAtLevel=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("mvn %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// deploys deploys a version, whose archive has one file with the number of the version.
func (m *mavenMachine) deploys(more, artifact, version string) {
	m.t.Helper()
	folder := artifact + "-" + version
	m.write(folder+"/pom.xml", mavenProject(more, artifact, version, ""))
	m.write(folder+"/src/main/resources/version.txt", version)
	if _, err := m.run(folder, "deploying", "deploy"); err != nil {
		m.t.Fatal(err)
	}
}

// reads has a second project, with a local repository of its own, depend on a version or a range of versions, and expects a file.
func (m *mavenMachine) reads(more, artifact, version, file string) {
	m.t.Helper()
	folder := m.t.TempDir()
	m.write("user/pom.xml", mavenProject(more, artifact, "1.0", version))
	if _, err := m.run("user", "reading", "--update-snapshots", "dependency:copy-dependencies", "-DoutputDirectory="+folder); err != nil {
		m.t.Fatal(err)
	}
	got, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(got) != 1 || filepath.Base(got[0]) != file {
		m.t.Errorf("%s %s: got %v, %v, want %s", artifact, version, got, err, file)
	}
}
