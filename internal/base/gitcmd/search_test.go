package gitcmd_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gittest"
)

// TestRepo_Search looks for texts in paths and files: hits have the lines around them, and what is
// binary, large or no file is not looked into.
func TestRepo_Search(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := gittest.NewRepo(t, g)
	commit := gittest.Commit(t, r, 1700000000, map[string]string{
		"a.txt":             "1\n2\n3 Needle\n4\n5\n6\n7\n8\n9 NEEDLE\n10\n11\n12\n13 needle",
		"binary":            "\x00needle\n",
		"dir/needle.md":     "nothing\n",
		"large":             strings.Repeat("needle\n", 200_000),
		"new\nline \xff.go": "the needle \xff\n",
		"umlaut.txt":        "STRASSE \u00c4PFEL\n",
		"wide":              "needle " + strings.Repeat("x", 5000) + "\nnext\n",
		"zz/many":           strings.Repeat("x\n", 1000) + strings.Repeat("needle\n", 250),
	})
	show := func(o gitcmd.SearchOptions) string {
		t.Helper()
		hits, err := r.Search(t.Context(), commit, o)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, h := range hits {
			fmt.Fprintf(&b, "%q %d %d %.12q\n", h.Path, h.Line, strings.Count(h.Data, "\n"), h.Data)
		}
		return b.String()
	}
	only := func(part string) func(string) bool {
		return func(path string) bool { return strings.Contains(path, part) }
	}
	for _, tt := range []struct {
		name string
		o    gitcmd.SearchOptions
		want string
	}{
		{"everywhere", gitcmd.SearchOptions{Text: "Needle", Most: 100}, `"dir/needle.md" 0 0 ""
"a.txt" 1 5 "1\n2\n3 Needle"
"a.txt" 7 6 "7\n8\n9 NEEDLE"
"new\nline ` + "\uFFFD" + `.go" 1 1 "the needle ÿ"
"wide" 1 2 "needle xxxxx"
"zz/many" 999 100 "x\nx\nneedle\nn"
"zz/many" 1099 100 "needle\nneedl"
"zz/many" 1199 52 "needle\nneedl"
`},
		{"bounded", gitcmd.SearchOptions{Text: "needle", Most: 3}, `"dir/needle.md" 0 0 ""
"a.txt" 1 5 "1\n2\n3 Needle"
"a.txt" 7 6 "7\n8\n9 NEEDLE"
`},
		{"paths alone", gitcmd.SearchOptions{Path: only("dir/"), Key: "dir/", Most: 100}, "\"dir/needle.md\" 0 0 \"\"\n"},
		{"in some files", gitcmd.SearchOptions{Text: "needle", Path: only("wide"), Key: "wide", Most: 100}, "\"wide\" 1 2 \"needle xxxxx\"\n"},
		{"letters of any language", gitcmd.SearchOptions{Text: "stra\u00dfe \u00e4pfel", Most: 100}, "\"umlaut.txt\" 1 1 \"STRASSE \u00c4PFE\"\n"},
		{"nothing", gitcmd.SearchOptions{Text: "--needle", Most: 100}, ""},
	} {
		if got := show(tt.o); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
	before := g.Started()
	show(gitcmd.SearchOptions{Text: "Needle", Most: 100})
	if n := g.Started() - before; n != 0 {
		t.Errorf("a repeat started %d processes, want none", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Search(ctx, commit, gitcmd.SearchOptions{Text: "other", Most: 1}); err == nil {
		t.Error("a search after the end of its context: got no error")
	}
}
