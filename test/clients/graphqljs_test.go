package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenon/test/servertest"
)

// TestGraphQLJS reads the schema with the reference implementation of GraphQL: its text and what introspection tells are valid, and the same.
func TestGraphQLJS(t *testing.T) {
	t.Parallel()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("graphql-js: skipped (npm is not installed)")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "graphqljs"))); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	s := servertest.Start(t, "", "--rate-limits=off")
	if got := run("node", "check.js", s.URL, servertest.RootToken); !strings.HasSuffix(strings.TrimSpace(got), "types, ok") {
		t.Errorf("check.js printed %q", got)
	}
}
