package clients

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tenon/test/servertest"
)

// pythonMachine has twine and pip, and projects to publish in.
type pythonMachine struct {
	*debianWorld

	pip []string // the program and its first arguments
}

// TestPip publishes Python packages with twine, and installs them with pip from a private project and from its group.
func TestPip(t *testing.T) {
	t.Parallel()
	pip := pipCommand(t)
	servertest.Each(t, func(t *testing.T, database string) {
		m := &pythonMachine{&debianWorld{t: t, s: servertest.Start(t, database), folder: t.TempDir()}, pip}
		m.group = m.made("/groups", `{"name":"Tools","path":"tools","visibility":"private"}`)
		lib, app := m.projectNamed("lib"), m.projectNamed("app")

		m.twine(lib, "", m.wheel("Green_House", "1.0", ">=3.6"), m.sdist("Green_House", "1.0"))
		m.twine(lib, "has already been taken", m.wheel("Green_House", "1.0", ">=3.6"))
		m.twine(lib, "", "--skip-existing", m.wheel("Green_House", "1.0", ">=3.6"))
		m.twine(lib, "", m.wheel("Green_House", "9.0", ">=99"))
		m.twine(app, "", m.wheel("green.house", "1.1", ">=3.6"))

		ofLib, ofGroup := fmt.Sprintf("projects/%d/packages/pypi/simple", lib), fmt.Sprintf("groups/%d/-/packages/pypi/simple", m.group)
		if got := m.installed(ofLib, "green-house"); got != "1.0" { // 9.0 is for another Python
			t.Errorf("of the project: %s", got)
		}
		if got := m.installed(ofGroup, "GREEN.house"); got != "1.1" {
			t.Errorf("of the group: %s", got)
		}
		if got := m.installed(ofGroup, "green_house==1.0"); got != "1.0" {
			t.Errorf("of the group, the older one: %s", got)
		}
		for _, index := range []string{m.s.URL + "/api/v4/" + ofLib, strings.Replace(m.s.URL, "://", "://root:wrong@", 1) + "/api/v4/" + ofLib} {
			if out, err := m.install(index, t.TempDir(), "green-house"); err == nil {
				t.Errorf("without a token: %s", out)
			}
		}
		if out, err := m.install(m.index(ofLib), t.TempDir(), "not-there"); err == nil || !strings.Contains(out, "No matching distribution found") {
			t.Errorf("a package that is not there: %v\n%s", err, out)
		}
	})
}

// pipCommand returns what starts pip: that of the first Python of the path that has it, or of the system's own.
func pipCommand(t *testing.T) []string {
	t.Helper()
	if _, err := exec.LookPath("twine"); err != nil {
		absent(t, "twine")
	}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-m", "pip", "--version").Run() == nil {
			return []string{python, "-m", "pip"}
		}
	}
	absent(t, "pip")
	return nil
}

func (m *pythonMachine) command(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(m.t.Context(), name, args...)
	cmd.Dir = m.folder
	cmd.Env = append(withoutPython(), "LC_ALL=C.UTF-8", "HOME="+m.folder, "PIP_CONFIG_FILE="+os.DevNull, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1", "PYTHONDONTWRITEBYTECODE=1", "no_proxy=127.0.0.1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// withoutPython is the environment without what configures pip and twine.
func withoutPython() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PIP_") || strings.HasPrefix(v, "TWINE_") })
}

// twine uploads files to a project; refusal is in what it prints, "" where it succeeds.
func (m *pythonMachine) twine(project int64, refusal string, files ...string) {
	m.t.Helper()
	args := append([]string{
		"upload", "--verbose", "--non-interactive", "--disable-progress-bar", "--username", "root", "--password", servertest.RootToken, "--repository-url", fmt.Sprintf("%s/api/v4/projects/%d/packages/pypi", m.s.URL, project),
	}, files...)
	out, err := m.command("twine", args...)
	if refusal == "" && err != nil || refusal != "" && (err == nil || !strings.Contains(out, refusal)) {
		m.t.Fatalf("twine %v: %v\n%s", args, err, out)
	}
}

// index is the address of an index with the name and the token.
func (m *pythonMachine) index(path string) string {
	return strings.Replace(m.s.URL, "://", "://root:"+servertest.RootToken+"@", 1) + "/api/v4/" + path
}

func (m *pythonMachine) install(index, folder, requirement string) (string, error) {
	args := append(m.pip[1:len(m.pip):len(m.pip)], "install", "--no-cache-dir", "--only-binary", ":all:", "--retries", "0", "--trusted-host", "127.0.0.1", "--index-url", index, "--target", folder, requirement)
	return m.command(m.pip[0], args...)
}

// installed installs a package from an index and returns the version that pip chose.
func (m *pythonMachine) installed(index, requirement string) string {
	m.t.Helper()
	folder := m.t.TempDir()
	if out, err := m.install(m.index(index), folder, requirement); err != nil {
		m.t.Fatalf("pip install %s: %v\n%s", requirement, err, out)
	}
	version, err := os.ReadFile(filepath.Join(folder, "green_house", "version.txt"))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(version)
}

func (m *pythonMachine) metadata(name, version, python string) string {
	return "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\nSummary: greets <script>\nRequires-Python: " + python + "\nClassifier: Programming Language :: Python\nClassifier: Topic :: Utilities\n\nA greenhouse.\n"
}

// wheel makes a wheel and returns its path.
func (m *pythonMachine) wheel(name, version, python string) string {
	m.t.Helper()
	of := strings.ReplaceAll(name, ".", "_") + "-" + version
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	record := ""
	for _, f := range [][2]string{
		{"green_house/__init__.py", ""},
		{"green_house/version.txt", version},
		{of + ".dist-info/METADATA", m.metadata(name, version, python)},
		{of + ".dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
	} {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			m.t.Fatal(err)
		}
		record += f[0] + ",,\n"
	}
	w, err := z.Create(of + ".dist-info/RECORD")
	if err == nil {
		_, err = w.Write([]byte(record + of + ".dist-info/RECORD,,\n"))
	}
	if err != nil || z.Close() != nil {
		m.t.Fatal(err)
	}
	return m.file(of+"-py3-none-any.whl", b.Bytes())
}

// sdist makes a source distribution and returns its path.
func (m *pythonMachine) sdist(name, version string) string {
	m.t.Helper()
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	w := tar.NewWriter(packed)
	text := m.metadata(name, version, ">=3.6")
	err := w.WriteHeader(&tar.Header{Name: name + "-" + version + "/PKG-INFO", Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err != nil || w.Close() != nil || packed.Close() != nil {
		m.t.Fatal(err)
	}
	return m.file(name+"-"+version+".tar.gz", b.Bytes())
}

func (m *pythonMachine) file(name string, content []byte) string {
	m.t.Helper()
	at := filepath.Join(m.folder, name)
	if err := os.WriteFile(at, content, 0o600); err != nil {
		m.t.Fatal(err)
	}
	return at
}
