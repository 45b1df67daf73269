package repo_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tenon/internal/base/page"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

const isc = `ISC License

Copyright (c) 2026 Somebody

Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH
REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY
AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM
LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR
OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR
PERFORMANCE OF THIS SOFTWARE.
`

func TestService_Measure(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		measure := func() *project.Project {
			t.Helper()
			check(t, w.repos.Measure(ctx, repo.Measuring{ProjectID: w.id}))
			return w.as(w.owner)
		}
		if p := measure(); p.CommitCount != 0 || p.RepositorySize == 0 || p.ReadmePath != "" || p.LicenseKey != "" {
			t.Errorf("an empty repository: %+v", p)
		}
		shares, err := w.repos.Languages(ctx, w.guest, w.as(w.owner))
		if err != nil || len(shares) != 0 {
			t.Errorf("languages of an empty repository: %v, %v", shares, err)
		}

		w.put("main", "README", "plain\n")
		w.put("main", "ReadMe.md", "# Shop\n")
		w.put("main", "LICENSE", isc)
		w.put("main", "src/main.go", strings.Repeat("x", 750))
		w.put("main", "src/lib.h", "class A {};\n"+strings.Repeat("x", 238))
		w.put("main", "vendor/far/away.js", strings.Repeat("x", 5000))
		w.put("main", "data.json", strings.Repeat("x", 5000))
		p := measure()
		if p.CommitCount != 7 || p.ReadmePath != "ReadMe.md" || p.LicensePath != "LICENSE" || p.LicenseKey != "isc" || p.RepositorySize < 1000 {
			t.Errorf("got %d commits, README %q, license %q in %q, %d bytes", p.CommitCount, p.ReadmePath, p.LicenseKey, p.LicensePath, p.RepositorySize)
		}
		shares, err = w.repos.Languages(ctx, w.owner, p)
		if want := "[{Go 75} {C++ 25}]"; err != nil || fmt.Sprint(shares) != want {
			t.Errorf("languages: %v, %v, want %s", shares, err, want)
		}
		found, err := w.Projects.List(ctx, w.owner, project.Filter{Language: "c++", Range: page.Range{Limit: 5}})
		list := found.Items
		if err != nil || len(list) != 1 {
			t.Errorf("projects in C++: %v, %v", list, err)
		}
		found, err = w.Projects.List(ctx, w.owner, project.Filter{Language: "Rust", Range: page.Range{Limit: 5}})
		list = found.Items
		if err != nil || len(list) != 0 {
			t.Errorf("projects in Rust: %v, %v", list, err)
		}

		w.put("side", "a.rs", "fn main() {}\n")
		if p := measure(); p.CommitCount != 7 {
			t.Errorf("after a push to another branch: %d commits, want 7 still", p.CommitCount)
		}
		w.put("main", "b.rs", strings.Repeat("x", 1000)) // asked for before the job ran
		shares, err = w.repos.Languages(ctx, w.owner, w.as(w.owner))
		if want := "[{Rust 50} {Go 37.5} {C++ 12.5}]"; err != nil || fmt.Sprint(shares) != want {
			t.Errorf("languages after a push: %v, %v, want %s", shares, err, want)
		}
		_, err = w.repos.Languages(ctx, w.guest, w.as(w.guest))
		if err == nil {
			t.Error("guests of a private project see its languages")
		}
	})
}

// A folder that was counted before counts for the path where it is: copies of others' code count
// for nothing.
func TestService_Measure_again(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		languages := func(want string) {
			t.Helper()
			shares, err := w.repos.Languages(t.Context(), w.owner, w.as(w.owner))
			if err != nil || fmt.Sprint(shares) != want {
				t.Errorf("languages: %v, %v, want %s", shares, err, want)
			}
		}
		w.put("main", "app/deep/main.go", strings.Repeat("x", 300))
		w.put("main", "lib/a.rs", strings.Repeat("x", 100))
		languages("[{Go 75} {Rust 25}]")
		w.put("main", "lib/b.rs", strings.Repeat("x", 200)) // the folder app is known
		languages("[{Go 50} {Rust 50}]")
		w.put("main", "vendor/deep/main.go", strings.Repeat("x", 300)) // the same folder in another place
		languages("[{Go 50} {Rust 50}]")
		w.put("main", "more/deep/main.go", strings.Repeat("x", 300))
		languages("[{Go 66.67} {Rust 33.33}]")
	})
}

func TestService_Measure_names_licenses(t *testing.T) {
	t.Parallel()
	mit, err := os.ReadFile("../../../LICENSE")
	check(t, err)
	each(t, func(t *testing.T, w *world) {
		for _, tt := range []struct{ file, text, want string }{
			{"COPYING", string(mit), "mit"},
			{"LICENCE.txt", "All rights reserved.\n", "other"},
		} {
			w.put("main", tt.file, tt.text)
			check(t, w.repos.Measure(t.Context(), repo.Measuring{ProjectID: w.id}))
			if p := w.as(w.owner); p.LicensePath != tt.file || p.LicenseKey != tt.want {
				t.Errorf("got %q in %q, want %q in %q", p.LicenseKey, p.LicensePath, tt.want, tt.file)
			}
		}
	})
}
