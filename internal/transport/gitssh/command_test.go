package gitssh

import (
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want []string // nil is refused
	}{
		{"", []string{}},
		{"  ", []string{}},
		{"git-upload-pack 'a/b.git'", []string{"git-upload-pack", "a/b.git"}},
		{`git-upload-pack "a/b.git"`, []string{"git-upload-pack", "a/b.git"}},
		{"git upload-pack a/b", []string{"git", "upload-pack", "a/b"}},
		{`x 'it'\''s'`, []string{"x", "it's"}},
		{`x 'wow'\!''`, []string{"x", "wow!"}},
		{`x "a\"b" c\ d ''`, []string{"x", `a"b`, "c d", ""}},
		{`x 'a\b'`, []string{"x", `a\b`}},
		{"x 'a", nil},
		{`x a\`, nil},
		{"x \x00", nil},
		{"x \xff", nil},
		{strings.Repeat("x", maxCommand+1), nil},
	} {
		got, err := words(tt.text)
		if (err == nil) != (tt.want != nil) || !slices.Equal(got, tt.want) {
			t.Errorf("words(%.40q) = %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a/b.git": "a/b", "/a/b.git": "a/b", "a/b": "a/b", "/a/b/c/": "a/b/c", "a/b.git/": "a/b",
		"12.git": "", "/12": "", "": "", "/": "", "~/a/b": "", strings.Repeat("a/", 3000): "",
	} {
		if got := place(path); got != want {
			t.Errorf("place(%.40q) = %q, want %q", path, got, want)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, text := range []string{"git-upload-pack 'a/b.git'", `a\ b "c`, "'''", "\\"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := words(text)
		if err != nil {
			return
		}
		quoted := make([]string, len(got))
		for i, w := range got {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		again, err := words(strings.Join(quoted, " "))
		if len(strings.Join(quoted, " ")) <= maxCommand && (err != nil || !slices.Equal(again, got)) {
			t.Errorf("%q gives %q, which quoted gives %q, %v", text, got, again, err)
		}
	})
}
