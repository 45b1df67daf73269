package codeowner

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// found is what the entries of a path say: section, pattern, count and owners of each.
func found(t *testing.T, text, file string) string {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := f.Matcher().Match(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		line := fmt.Sprintf("%s %s %d", e.Section, e.Pattern, e.Required)
		for _, o := range e.Owners {
			line += " " + o.Name + o.Email
		}
		out = append(out, line)
	}
	return strings.Join(out, ", ")
}

func TestMatcher_Match(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"*", "a a/b .x a/.b/c", ""},
		{"*.rb", "a.rb a/b.rb .rb", "a.rbx a.rb/c"},
		{"/*.rb", "a.rb", "a/b.rb"},
		{"README.md", "README.md docs/README.md a/b/README.md", "readme.md README.mdx xREADME.md"},
		{"/README.md", "README.md", "docs/README.md"},
		{"docs/", "docs/a docs/a/b x/docs/a", "docs x/docs docsx/a"},
		{"/docs/", "docs/a docs/a/b", "docs x/docs/a"},
		{"/docs/*", "docs/a docs/.a", "docs/a/b docs"},
		{"/docs/**", "docs/a docs/a/b", "docs x/docs/a"},
		{"/docs/*.md", "docs/a.md", "docs/a/b.md"},
		{"/docs/**/*.md", "docs/a.md docs/a/b.md docs/a/b/c.md", "docs/a.txt x/docs/a.md"},
		{"docs", "docs x/docs", "docs/a"},
		{"**/b/**/c", "b/c a/b/c a/b/x/y/c", "c b/c/d"},
		{"a/b", "a/b x/a/b", "a/b/c"},
		{"file?.[ch]", "file1.c x/file2.h", "file.c file1.x file10.c"},
		{"[!a]b", "", ""}, // a heading with owners that are none
		{"x[!a]b", "xcb", "xab"},
		{`\#pound`, "#pound a/#pound", "pound"},
		{`a\ b/`, "a b/c", "a/c b/c"},
		{`/a\*b`, "a*b", "axb ab"},
		{"/", "a a/b", ""},
		{"x[", "", "x[ x"},
		{"*a*a*a*b", "aaab xaxaxab", "aaa"},
		{"//x", "x", ""},
	} {
		for _, want := range []bool{true, false} {
			files := c.yes
			if !want {
				files = c.no
			}
			for file := range strings.SplitSeq(files, " ") {
				if c.yes == "a b/c" && want {
					file = "a b/c"
				}
				if file == "" {
					continue
				}
				if got := found(t, "/zzz @z\n"+c.pattern+" @u", file) != ""; got != want {
					t.Errorf("pattern %q, file %q: got %v, want %v", c.pattern, file, got, want)
				}
			}
		}
	}
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ text, file, want string }{
		"comments and empty lines": {"# x\n\n  # y\n* @a", "f", "codeowners * 1 a"},
		"the last one counts":      {"* @a\n*.go @b\n", "f.go", "codeowners *.go 1 b"},
		"a later one of less":      {"*.go @b\n* @a\n", "f.go", "codeowners * 1 a"},
		"the same pattern twice":   {"*.go @a\n* @x\n*.go @b\n", "f.go", "codeowners *.go 1 b"},
		"no owner":                 {"* @a\n/gen/\n", "gen/f", "codeowners /gen/ 1"},
		"owners of each kind":      {"*\t@a @g/sub.x,x@example.com @@maintainer user @ a@ @a, x@y@z", "f", "codeowners * 1 a g/sub.x x@example.com"},
		"words behind a #":         {"* @a # @b", "f", "codeowners * 1 a b"},
		"spaces that are bare":     {"my file.txt @a", "my", "codeowners my 1 a"},
		"end of lines, mark":       {"\ufeff* @a\r\n*.x @b\r\n", "f", "codeowners * 1 a"},
		"sections beside each other": {
			"* @all\n[Docs]\n*.md @docs\n[Data]\n/db/ @data\n", "db/a.md", "codeowners * 1 all, Docs *.md 1 docs, Data /db/ 1 data",
		},
		"a section's owners":        {"[Docs][2] @d e@example.com\n*.md\n*.txt @t", "a.md", "Docs *.md 2 d e@example.com"},
		"owners beat the section's": {"[Docs][2] @d\n*.md\n*.txt @t", "a.txt", "Docs *.txt 2 t"},
		"optional":                  {"^[Docs][3] @d\n*.md", "a.md", "Docs *.md 0 d"},
		"sections of one name":      {"[Docs] @d\n*.md\n[x]\n*.x @x\n[DOCS][2] @e\n*.txt", "a.txt", "Docs *.txt 2 e"},
		"one of them optional":      {"^[Docs]\n*.md @d\n[docs]\n*.txt @e", "a.md", "Docs *.md 1 d"},
		"count 0, count too high":   {"[a][0]\n* @a\n[b][4711]\n* @b", "f", "a * 1 a, b * 100 b"},
		"broken headings":           {"[Docs @a\n[]\n[x][y] @b\n[ab]c @c\n* @d", "bc", "codeowners * 1 d"},
		"a broken heading is an entry of the section before": {"[Docs] @d\n[x\n*.md", "a.md", "Docs *.md 1 d"},
		"not UTF-8, control characters":                      {"* @a\n\xff* @b\n*\x00 @c\n", "f", "codeowners * 1 a"},
		"empty":                                              {"", "f", ""},
	} {
		if got := found(t, c.text, c.file); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for name, text := range map[string]string{
		"size": strings.Repeat("#", MaxBytes+1), "entries": strings.Repeat("x @a\n", MaxEntries+1),
	} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: got %v, want ErrTooLarge", name, err)
		}
	}
	f, err := Parse([]byte(strings.Repeat("a/", maxParts) + " @a\n" + strings.Repeat("x", MaxPattern+1) + " @a\n[]\n[empty] @x\n"))
	if err != nil || len(f.Entries()) != 0 {
		t.Errorf("patterns out of bounds: got %v, %v", f.Entries(), err)
	}
}

// What a matcher remembers of one path does not show in the next one.
func TestMatcher_Match_order(t *testing.T) {
	f, err := Parse([]byte("*.go @a\n/a/b/ @b\n/a/**/x.go @c\n"))
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"a/b/c.go", "a/b/x.go", "a/b/d/x.go", "a/c.go", "a/b/c.go", "b", "a", "a/b/c.go", "a/b/c.go/d"}
	m := f.Matcher()
	for _, file := range files {
		got, err := m.Match(file)
		want, err2 := f.Matcher().Match(file)
		if err != nil || err2 != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, %v, want %v, %v", file, got, err, want, err2)
		}
	}
}

// Twice as many files, or patterns twice as long, take twice the work, even where both are made
// to have a matcher try much: an author of CODEOWNERS and one of a merge request need not be friends.
func TestMatcher_Match_doubling(t *testing.T) {
	work := func(pattern, file string, files int) int {
		f, err := Parse([]byte(pattern + " @a\n"))
		if err != nil {
			t.Fatal(err)
		}
		m := f.Matcher()
		for i := range files {
			if _, err := m.Match(fmt.Sprintf("%d/%s", i, file)); err != nil {
				t.Fatal(err)
			}
		}
		return m.steps
	}
	for name, c := range map[string]struct{ pattern, file string }{
		"folders": {"**/a/**/a/**/a/**/b", strings.Repeat("a/", 30)},
		"stars":   {strings.Repeat("*a", 100) + "b", strings.Repeat("a", 500)},
		"plain":   {"/x", "y"},
	} {
		if one, two := work(c.pattern, c.file, 100), work(c.pattern, c.file, 200); two > 21*one/10 {
			t.Errorf("%s: %d steps for 100 files, %d for 200", name, one, two)
		}
		if one, two := work(c.pattern, c.file, 50), work(c.pattern, c.file+"/"+c.file, 50); two > 3*one {
			t.Errorf("%s: %d steps for a path, %d for one of twice the length", name, one, two)
		}
	}
	// What would take too long ends.
	var text strings.Builder
	for i := range MaxEntries {
		fmt.Fprintf(&text, "*%d*a @a\n", i)
	}
	f, err := Parse([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	m := f.Matcher()
	for i := 0; err == nil && i < 1<<20; i++ {
		_, err = m.Match(fmt.Sprintf("%d/b/b/b/b", i))
	}
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("too much work: got %v, want ErrTooLarge", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("* @a\n^[Docs][2] @b\n*.md x@example.com\n", "a/b.md")
	f.Add("\\#x\\ y/**/[a-z]? @g/sub # z\n[x", "a/#x y/b/cd")
	f.Fuzz(func(t *testing.T, text, file string) {
		parsed, err := Parse([]byte(text))
		if err != nil {
			return
		}
		m := parsed.Matcher()
		first, err := m.Match(file)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := m.Match(file)
		if fmt.Sprint(first) != fmt.Sprint(again) {
			t.Errorf("got %v, then %v", first, again)
		}
		seen := map[string]bool{}
		for _, e := range first {
			if seen[e.Section] {
				t.Errorf("section %q matches twice", e.Section)
			}
			seen[e.Section] = true
		}
	})
}
