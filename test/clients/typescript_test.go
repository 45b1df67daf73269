package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenon/test/servertest"
)

// TestTypeScript generates a client from docs/openapi.json with openapi-typescript, compiles a
// sample that uses it and runs that against a server.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("TypeScript: skipped (npm is not installed)")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "typescript"))); err != nil {
		t.Fatal(err)
	}
	document, err := filepath.Abs(filepath.Join("..", "..", "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(env []string, name string, args ...string) string {
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
	run(nil, "node", "node_modules/openapi-typescript/bin/cli.js", document, "--output", "api.d.ts")
	run(nil, "node", "node_modules/typescript/bin/tsc", "--project", ".")

	s := servertest.Start(t, "", "--rate-limits=off")
	got := run([]string{"TENON_URL=" + s.URL, "TENON_TOKEN=" + servertest.RootToken}, "node", "out/sample.js")
	if !strings.HasSuffix(strings.TrimSpace(got), "ok") {
		t.Errorf("the sample printed %q, want ok", got)
	}
}
