package scripts

import (
	"strings"
	"testing"
)

// TestContributing compares the endpoint that CONTRIBUTING.md walks through with its files.
func TestContributing(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, b := range fenced(t, "CONTRIBUTING.md", "An endpoint, file by file") {
		head, text, _ := strings.Cut(b.text, "\n")
		_, name, ok := strings.Cut(head, " ")
		if !ok || !strings.HasPrefix(head, "//") && !strings.HasPrefix(head, "--") {
			t.Errorf("a block begins %q, want the name of its file", head)
			continue
		}
		seen++
		if !strings.Contains(readPage(t, name), text) {
			t.Errorf("%s does not have the lines\n%s", name, text)
		}
	}
	if seen < 5 {
		t.Errorf("%d files, want each that the endpoint needs", seen)
	}
}
