package app

import (
	"os"
	"strings"
	"testing"
)

// explained reads a list of reasons: a line has names with blanks between them, a colon and the reason.
func explained(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		names, reason, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !ok || reason == "" {
			t.Errorf("%s: %q names no reason", path, line)
		}
		for name := range strings.FieldsSeq(names) {
			out[name] = reason
		}
	}
	return out
}

// planned makes n issues and merge requests with all that they can have in the first project, and returns its numbers and its path.
func (w *world) planned(n int) (values map[string]string, path string) {
	values = w.more(w.projects[0])
	path = "/projects/" + values["projects/:id"]
	w.decorate(path, n)
	w.plan(path)
	return values, path
}
