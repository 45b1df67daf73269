package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrite lists the modules of this repository's program, the same each time.
func TestWrite(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A program of Go that is there: the one that runs the tests, by its own name.
	name := filepath.Join(t.TempDir(), "program")
	if err := os.Link(self, name); err != nil {
		if out, err := exec.CommandContext(t.Context(), "cp", self, name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var texts [2]string
	for i := range texts {
		if err := write(name, "1.2.3"); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name + ".cdx.json")
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	for _, want := range []string{`"specVersion": "1.5"`, `"version": "1.2.3"`, `"pkg:golang/std@`, `"pkg:golang/github.com/CycloneDX/cyclonedx-go@v`, `"go:sum"`} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("no %s in\n%s", want, texts[0])
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("two lists of one program differ:\n%s\n%s", texts[0], texts[1])
	}
	if err := write(os.DevNull, ""); err == nil {
		t.Error("a list of what is no program was written, want an error")
	}
}
