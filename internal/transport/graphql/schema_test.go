package graphql

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core"
	"tenon/internal/transport/graphql/exec"
)

// Every field of the schema's files is answered, or is in testdata/unanswered.txt: those are
// left out of the schema that clients see. Run with UPDATE=1 to write the list again.
func TestSchema(t *testing.T) {
	files, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	s, err := exec.New(files...)
	if err != nil {
		t.Fatal(err)
	}
	b := &binder{Schema: s, Deps: Deps{Services: &core.Services{}}}
	b.all()
	if err := s.Wrong(); err != nil {
		t.Fatal(err)
	}
	left := s.Trim()
	if rest := s.Problems(); rest != nil {
		t.Errorf("after trimming:\n%v", rest)
	}
	const file = "testdata/unanswered.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(strings.Join(append(left, ""), "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(raw))
	for _, f := range left {
		if !slices.Contains(known, f) {
			t.Errorf("nothing answers %s", f)
		}
	}
	for _, f := range known {
		if !slices.Contains(left, f) {
			t.Errorf("%s is answered: take it off %s", f, file)
		}
	}
	if _, err := exec.New(sourceOf(SDL(s))); err != nil {
		t.Errorf("the schema that clients see cannot be read: %v", err)
	}
}
