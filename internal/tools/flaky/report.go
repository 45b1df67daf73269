package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is a line of "go test -json".
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// report is what the events of a run say.
type report struct {
	out      io.Writer
	packages map[string]*result
}

// result is what became of a package.
type result struct {
	seconds float64
	runs    int            // of tests that ended, without their subtests
	red     map[string]int // failures by test; those of a test whose subtest failed in the same run are the subtest's
	other   bool           // the package failed otherwise: it was not built, it panicked, it timed out
	logs    map[string]*strings.Builder
	failed  map[string]bool // running tests with a failed subtest
}

func newReport(out io.Writer) *report { return &report{out: out, packages: map[string]*result{}} }

func (r *report) of(name string) *result {
	p := r.packages[name]
	if p == nil {
		p = &result{red: map[string]int{}, logs: map[string]*strings.Builder{}, failed: map[string]bool{}}
		r.packages[name] = p
	}
	return p
}

// read takes the events up to the end. Lines that are none are passed on.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil || e.Action == "":
			fmt.Fprintf(r.out, "%s", line)
		case e.Action == "build-output":
			fmt.Fprint(r.out, e.Output)
		case e.Package != "":
			r.take(e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) take(e event) {
	p := r.of(e.Package)
	switch e.Action {
	case "output":
		b := p.logs[e.Test]
		if b == nil {
			b = &strings.Builder{}
			p.logs[e.Test] = b
		}
		b.WriteString(e.Output)
	case "pass", "skip":
		r.end(p, e)
	case "fail":
		switch {
		case e.Test == "" && len(p.red) == 0:
			p.other = true
			fmt.Fprintf(r.out, "--- FAIL: %s\n%s", e.Package, p.text(""))
			for _, test := range slices.Sorted(maps.Keys(p.logs)) { // those that had not ended
				fmt.Fprint(r.out, p.text(test))
			}
		case e.Test != "":
			if !p.failed[e.Test] {
				p.red[e.Test]++
			}
			if at := strings.LastIndexByte(e.Test, '/'); at > 0 {
				p.failed[e.Test[:at]] = true
			}
			fmt.Fprintf(r.out, "%s: %s\n%s", e.Package, e.Test, p.text(e.Test))
		}
		r.end(p, e)
	}
}

// text returns the output of a test since its last run, of the package itself for "", and forgets it.
func (p *result) text(test string) string {
	b := p.logs[test]
	delete(p.logs, test)
	if b == nil {
		return ""
	}
	return b.String()
}

// end counts a test, or a package, that has ended, and forgets its output.
func (r *report) end(p *result, e event) {
	delete(p.logs, e.Test)
	delete(p.failed, e.Test)
	switch {
	case e.Test == "" && e.Action == "skip": // it has no tests
		delete(r.packages, e.Package)
	case e.Test == "":
		p.seconds = e.Elapsed
		fmt.Fprintf(r.out, "%s\t%s\t%.1fs\n", e.Action, e.Package, e.Elapsed)
	case !strings.Contains(e.Test, "/"):
		p.runs++
	}
}

// table writes a row for each package, those with failures last with each red test below, and reports whether there are any.
func (r *report) table() (red bool) {
	names := slices.SortedFunc(maps.Keys(r.packages), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.packages[a].failures(), r.packages[b].failures()), cmp.Compare(a, b))
	})
	width := len("package")
	for _, name := range names {
		width = max(width, len(name))
	}
	fmt.Fprintf(r.out, "\n%-*s %9s %8s %6s\n", width, "package", "seconds", "tests", "failed")
	bad := 0
	for _, name := range names {
		p := r.packages[name]
		fmt.Fprintf(r.out, "%-*s %9.1f %8d %6d\n", width, name, p.seconds, p.runs, p.failures())
		for _, test := range slices.Sorted(maps.Keys(p.red)) {
			fmt.Fprintf(r.out, "  FAIL %s, %d times\n", test, p.red[test])
		}
		if p.other {
			fmt.Fprintln(r.out, "  FAIL the package itself")
		}
		if p.failures() > 0 {
			bad++
		}
	}
	fmt.Fprintf(r.out, "%d packages, %d with failures\n", len(names), bad)
	return bad > 0
}

// failures counts the runs of tests that failed, and the package where it failed otherwise.
func (p *result) failures() int {
	n := 0
	for _, times := range p.red {
		n += times
	}
	if p.other {
		n++
	}
	return n
}
