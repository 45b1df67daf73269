package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenon/test/servertest"
)

// TestPython manages an organisation with python-gitlab and reads it back. The script stands
// in testdata; test/setup.sh installs the library on Debian.
func TestPython(t *testing.T) { runPython(t, "organisation.py", "all as it was written") }

// TestPython_ci runs pipelines with python-gitlab.
func TestPython_ci(t *testing.T) { runPython(t, "pipelines.py", "all pipelines ran as they should") }

// TestPython_administration changes settings, features and messages of the instance with python-gitlab and with its command line, and reads
// queues, license and statistics.
func TestPython_administration(t *testing.T) {
	runPython(t, "administration.py", "all is as it was", "--rate-limits", "on")
}

// TestPython_hooks manages hooks of a project, a group and the instance, and integrations, with python-gitlab and with its command line.
func TestPython_hooks(t *testing.T) {
	runPython(t, "hooks.py", "all hooks and integrations as they should")
}

// TestPython_moving exports and imports projects and groups, and moves a group by direct transfer, with python-gitlab.
func TestPython_moving(t *testing.T) { runPython(t, "moving.py", "all moved as it should") }

// TestPython_delivery manages environments, deployments, releases, feature flags and freeze periods with python-gitlab and with its command line.
func TestPython_delivery(t *testing.T) {
	runPython(t, "delivery.py", "all delivered as it should", "--rate-limits=off")
}

// TestPython_packages publishes, lists, downloads, protects and deletes packages with python-gitlab and with its command line.
func TestPython_packages(t *testing.T) { runPython(t, "packages.py", "all packages as they should") }

// runPython runs a script of testdata on a server of each engine with more arguments; the script ends by printing words.
func runPython(t *testing.T, script, words string, args ...string) {
	t.Helper()
	python := pythonWithGitLab(t)
	servertest.Each(t, func(t *testing.T, database string) {
		s := servertest.Start(t, database, args...)
		cmd := exec.CommandContext(t.Context(), python, filepath.Join("testdata", script), s.URL, servertest.RootToken)
		cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), words) {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	})
}

// pythonWithGitLab returns a Python that has python-gitlab: the first one of the path, or the
// system's own, which is the one that packages are for.
func pythonWithGitLab(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import gitlab").Run() == nil {
			return python
		}
	}
	t.Skip("python-gitlab: skipped (not installed)")
	return ""
}
