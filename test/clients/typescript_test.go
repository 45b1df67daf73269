package clients

import (
	"path/filepath"
	"strings"
	"testing"

	"tenon/test/servertest"
)

// TestTypeScript generates a client from docs/openapi.json with openapi-typescript, compiles a
// sample that uses it and runs that against a server.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	run := npmFolder(t, "typescript", "TypeScript")
	document, err := filepath.Abs(filepath.Join("..", "..", "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	run(nil, "node", "node_modules/openapi-typescript/bin/cli.js", document, "--output", "api.d.ts")
	run(nil, "node", "node_modules/typescript/bin/tsc", "--project", ".")

	s := servertest.Start(t, "", "--rate-limits=off")
	got := run([]string{"TENON_URL=" + s.URL, "TENON_TOKEN=" + servertest.RootToken}, "node", "out/sample.js")
	if !strings.HasSuffix(strings.TrimSpace(got), "ok") {
		t.Errorf("the sample printed %q, want ok", got)
	}
}
