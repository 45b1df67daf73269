package wiki

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tenon/internal/base/errs"
)

func TestFileFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		title, want string
		format      Format
		refused     string
	}{
		{"Home", "Home.md", Markdown, ""},
		{" How to build ", "How-to-build.asciidoc", AsciiDoc, ""},
		{"/docs//a/../b c", "docs/b-c.org", Org, ""},
		{"../../etc/passwd", "etc/passwd.md", Markdown, ""},
		{"docs/uploads/x", "docs/uploads/x.md", Markdown, ""},
		{strings.Repeat("x", 245), strings.Repeat("x", 245) + ".md", Markdown, ""},
		{" ", "", Markdown, "title can't be blank"},
		{"/..", "", Markdown, "title can't be blank"},
		{"a\nb", "", Markdown, "title is invalid"},
		{`a\b`, "", Markdown, "title is invalid"},
		{"a\xffb", "", Markdown, "title is invalid"},
		{"docs/.GIT/config", "", Markdown, "title is invalid"},
		{"uploads/x", "", Markdown, "title 'uploads' is a reserved name"},
		{"docs/../uploads", "", Markdown, "title 'uploads' is a reserved name"},
		{strings.Repeat("x", 246), "", Markdown, "title page name is too long"},
		{strings.Repeat("x", 256) + "/a", "", Markdown, "title directory name is too long"},
	} {
		got, err := fileFor(tt.title, tt.format)
		switch {
		case tt.refused == "" && (err != nil || got != tt.want):
			t.Errorf("%q: got %q, %v, want %q", tt.title, got, err, tt.want)
		case tt.refused != "" && (!errs.Is(err, errs.Invalid) || !strings.HasPrefix(err.Error(), tt.refused)):
			t.Errorf("%q: got %q, %v, want %q", tt.title, got, err, tt.refused)
		}
	}
}

func TestPageOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file, slug, title, folder string
		format                    Format
	}{
		{"Home.md", "Home", "Home", "", Markdown},
		{"docs/How-to build.rst", "docs/How-to-build", "How to build", "docs", "rest"},
		{"a/b/v1.2.adoc", "a/b/v1.2", "v1.2", "a/b", AsciiDoc},
		{"notes.txt", "notes", "notes", "", "plaintext"},
		{"picture.png", "picture", "picture", "", ""},
		{"uploads/0a/page.md", "uploads/0a/page", "page", "uploads/0a", ""},
		{"--a--b-.md", "--a--b-", "--a  b-", "", Markdown},
		{"d/-x-y.md", "d/-x-y", "-x y", "d", Markdown},
		{"---.md", "---", "---", "", Markdown},
		{".md", "", ".", "", ""}, // no page
	} {
		p := pageOf(tt.file, "", 0)
		if p.Slug != tt.slug || p.Title != tt.title || p.inFolder != tt.folder || p.Format != tt.format {
			t.Errorf("%s: got %q, %q in %q as %q", tt.file, p.Slug, p.Title, p.inFolder, p.Format)
		}
	}
	for slug, want := range map[string]bool{"docs/How-to-build": true, "/docs/How to build/": true, "How-to-build": false, "docs/how-to-build": false} {
		if got := sameSlug("docs/How-to build.md", slug); got != want {
			t.Errorf("%q names the page: %v, want %v", slug, got, want)
		}
	}
}

func TestDuplicate(t *testing.T) {
	t.Parallel()
	files := []string{"docs/a-b.md", "c.org"}
	for _, tt := range []struct {
		file, but string
		want      bool
	}{
		{"docs/a b.rdoc", "", true}, {"docs/a-b.md", "docs/a-b.md", false}, {"a-b.md", "", false}, {"c.md", "docs/a-b.md", true},
	} {
		if err := duplicate(files, tt.file, tt.but); (err != nil) != tt.want {
			t.Errorf("%s beside %q: got %v", tt.file, tt.but, err)
		}
	}
}

// laughs is a front matter of less than a kilobyte whose aliases make many megabytes.
var laughs = func() string {
	text := "---\na0: &a0 [" + strings.Repeat("lol, ", 10) + "lol]\n"
	for i := range 8 {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return text + "---\nHello\n"
}()

func TestFront(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, raw, content string
		front              map[string]any
	}{
		{"none", "Hello\n", "Hello\n", map[string]any{}},
		{"title", "---\ntitle: A page\n---\n\nHello\n", "Hello\n", map[string]any{"title": "A page"}},
		{"lines of Windows", "---\r\ntitle: A\r\n---\r\nHello\r\n", "Hello\r\n", map[string]any{"title": "A"}},
		{"nothing after it", "---\na: [1, x]\n---", "", map[string]any{"a": []any{1, "x"}}},
		{"open", "---\ntitle: A\nHello\n", "---\ntitle: A\nHello\n", map[string]any{}},
		{"no mapping", "---\n- a\n---\nHello\n", "---\n- a\n---\nHello\n", map[string]any{}},
		{"a number that JSON lacks", "---\na: .nan\n---\nHello\n", "---\na: .nan\n---\nHello\n", map[string]any{}},
		{"a key that is no text", "---\na: {1: b}\n---\nx", "---\na: {1: b}\n---\nx", map[string]any{}},
		{"aliases", "---\na: &a [x, y]\nb: *a\n---\nHello\n", "Hello\n", map[string]any{"a": []any{"x", "y"}, "b": []any{"x", "y"}}},
		{"aliases of aliases", laughs, laughs, map[string]any{}},
		{"too long", "---\na: " + strings.Repeat("x", maxFront) + "\n---\nx", "---\na: " + strings.Repeat("x", maxFront) + "\n---\nx", map[string]any{}},
	} {
		front, content := cutFront(tt.raw)
		if !reflect.DeepEqual(front, tt.front) || content != tt.content {
			t.Errorf("%s: got %v and %q, want %v and %q", tt.name, front, content, tt.front, tt.content)
		}
		again, err := withFront(front, content)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if front2, content2 := cutFront(again); !reflect.DeepEqual(front2, tt.front) || content2 != tt.content {
			t.Errorf("%s: written and read again: %v and %q", tt.name, front2, content2)
		}
	}
	if _, err := withFront(map[string]any{"a": strings.Repeat("x", maxFront)}, ""); !errs.Is(err, errs.Invalid) {
		t.Errorf("a front matter that is too long: %v", err)
	}
}
