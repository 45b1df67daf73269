package app

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// walker begins a test that makes many requests, one after the other. "make test" runs these
// apart from the others, without the race detector, to which they show nothing.
func walker(t *testing.T) {
	t.Helper()
	apart(t)
	t.Parallel()
}

// apart begins a walker that runs while no other test does.
func apart(t *testing.T) {
	t.Helper()
	if os.Getenv("TENON_TEST_WALKERS") == "apart" {
		t.Skip("runs without the race detector")
	}
}

// TestWalkers holds the names in the Makefile against the tests that are walkers.
func TestWalkers(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^WALKERS := Test\((.*)\)$`).FindSubmatch(makefile)
	if line == nil {
		t.Fatal("the Makefile has no line WALKERS")
	}
	want := strings.Split(string(line[1]), "|")
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	begins := regexp.MustCompile(`(?m)^func Test(\w+)\(t \*testing\.T\) \{\n\t(?:walker|apart)\(t\)\n`)
	var got []string
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range begins.FindAllSubmatch(text, -1) {
			got = append(got, string(name[1]))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("these tests begin with walker: %q\nthe Makefile names %q", got, want)
	}
}
