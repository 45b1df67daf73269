package main

import (
	"os"
	"testing"
)

// The code that is committed is that of the templates of today.
func TestGenerate_current(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"../../transport/web", "../../core/notify"} {
		files, err := generate(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Errorf("no templates found in %s", dir)
		}
		for name, want := range files {
			if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
				t.Errorf("%s is not what its template gives (%v): run make gen", name, err)
			}
		}
	}
}
