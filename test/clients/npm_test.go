package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// npmFolder installs the packages of a folder of testdata in a copy of it, and returns what runs programs there, with an environment beside that of the
// test, and returns what they print. The test, of what, is skipped where npm is not there.
func npmFolder(t *testing.T, folder, what string) (run func(env []string, name string, args ...string) string) {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip(what + ": skipped (npm is not installed)")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", folder))); err != nil {
		t.Fatal(err)
	}
	run = func(env []string, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run(nil, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	return run
}
