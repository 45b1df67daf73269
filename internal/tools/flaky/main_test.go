package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestRun reads the events of a command beside loops: of three packages one is green, one has a test that failed in one
// of two runs in a subtest, and one panicked.
func TestRun(t *testing.T) {
	const events = `{"Action":"run","Package":"a/green","Test":"TestOne"}
{"Action":"output","Package":"a/green","Test":"TestOne","Output":"quiet\n"}
{"Action":"pass","Package":"a/green","Test":"TestOne","Elapsed":0.1}
{"Action":"pass","Package":"a/green","Elapsed":1.5}
{"Action":"output","Package":"a/none","Output":"?   \ta/none\t[no test files]\n"}
{"Action":"skip","Package":"a/none","Elapsed":0}
{"Action":"output","Package":"a/red","Test":"TestTwo/sub","Output":"want 1, got 2\n"}
{"Action":"fail","Package":"a/red","Test":"TestTwo/sub","Elapsed":0.1}
{"Action":"fail","Package":"a/red","Test":"TestTwo","Elapsed":0.1}
{"Action":"pass","Package":"a/red","Test":"TestTwo/sub","Elapsed":0.1}
{"Action":"pass","Package":"a/red","Test":"TestTwo","Elapsed":0.1}
{"Action":"fail","Package":"a/red","Elapsed":2}
a line that is no event
{"Action":"build-output","ImportPath":"a/broken","Output":"a.go:1: undefined\n"}
{"Action":"run","Package":"a/broken","Test":"TestThree"}
{"Action":"output","Package":"a/broken","Test":"TestThree","Output":"panic: no\n"}
{"Action":"output","Package":"a/broken","Output":"exit status 2\n"}
{"Action":"fail","Package":"a/broken","Elapsed":0.5}
`
	for name, test := range map[string]struct {
		events, script string
		want           []string
		red            bool
	}{
		"red": {events, `cat "$0"; exit 1`, []string{
			"a/red: TestTwo/sub\nwant 1, got 2\n", "a line that is no event\na.go:1: undefined\n--- FAIL: a/broken\nexit status 2\npanic: no\n",
			"\npackage    seconds    tests failed\na/green        1.5        1      0\na/broken       0.5        0      1\n  FAIL the package itself\n" +
				"a/red          2.0        2      1\n  FAIL TestTwo/sub, 1 times\n3 packages, 2 with failures\n",
		}, true},
		"green": {strings.Join(strings.SplitAfter(events, "\n")[:6], ""), `cat "$0"`, []string{"\na/green       1.5        1      0\n1 packages, 0 with failures\n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "events")
			if err := os.WriteFile(file, []byte(test.events), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err := run(t.Context(), 2, []string{"/bin/sh", "-c", test.script, file}, &out)
			if errors.Is(err, errRed) != test.red || !test.red && err != nil {
				t.Errorf("error %v, want one: %v", err, test.red)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got\n%s\nwant in it\n%s", out.String(), want)
				}
			}
			if strings.Contains(out.String(), "quiet") {
				t.Errorf("the output of a test that passed: %s", out.String())
			}
		})
	}
}

// TestRun_failed passes on that the command failed without a red test, as where no package matches.
func TestRun_failed(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), 0, []string{"/bin/sh", "-c", "exit 3"}, &out); err == nil || errors.Is(err, errRed) {
		t.Errorf("got %v, want the exit of the command", err)
	}
}

// TestRun_interrupted ends the command, the programs that it started and the loops, and still writes the table.
func TestRun_interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	before, began := runtime.NumGoroutine(), time.Now()
	var out strings.Builder
	time.AfterFunc(100*time.Millisecond, cancel)
	err := run(ctx, 1, []string{"/bin/sh", "-c", `echo '{"Action":"pass","Package":"a","Elapsed":1}'; sleep 60; echo late`}, &out)
	if err == nil || err.Error() != "interrupted" || !strings.Contains(out.String(), "1 packages, 0 with failures\n") || strings.Contains(out.String(), "late") {
		t.Errorf("got %v and\n%s", err, out.String())
	}
	if d := time.Since(began); d > 9*time.Second {
		t.Errorf("ended after %s, so something held its output open", d)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
