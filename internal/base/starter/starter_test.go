package starter_test

import (
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/starter"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for kind, name := range map[starter.Kind]string{starter.Gitignores: "C++", starter.Dockerfiles: "Golang", starter.Pipelines: "Go"} {
		names := starter.Names(kind)
		if len(names) < 4 || !slices.Contains(names, name) || !slices.IsSorted(names) {
			t.Errorf("%s: %v", kind, names)
		}
		for _, n := range names {
			if text, ok := starter.Find(kind, n); !ok || !strings.HasSuffix(text, "\n") {
				t.Errorf("%s %s: %t, %q", kind, n, ok, text)
			}
		}
		for _, n := range []string{"", "go", "../starter", "nothing"} {
			if _, ok := starter.Find(kind, n); ok {
				t.Errorf("%s: found %q", kind, n)
			}
		}
	}
}
