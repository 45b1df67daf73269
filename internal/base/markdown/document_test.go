package markdown_test

import (
	"strings"
	"testing"
	"time"

	"tenon/internal/base/markdown"
)

func resolved(address string, picture bool) string {
	if picture {
		return "/raw/" + address
	}
	return "/blob/" + address
}

func TestDocument(t *testing.T) {
	t.Parallel()
	const rel = ` rel="nofollow noreferrer noopener"`
	for text, want := range map[string]string{
		"# Title *x*\n\ntext":                  "<h1 id=\"user-content-title-x\">Title <em>x</em></h1>\n<p>text</p>\n",
		"# A\n# A":                             "<h1 id=\"user-content-a\">A</h1>\n<h1 id=\"user-content-a-1\">A</h1>\n",
		"[x](docs/a.md)":                       `<p><a href="/blob/docs/a.md"` + rel + ">x</a></p>\n",
		"[x](#a)":                              `<p><a href="#user-content-a"` + rel + ">x</a></p>\n",
		"[x](https://a.example/)":              `<p><a href="https://a.example/"` + rel + ">x</a></p>\n",
		"[x](//a.example/)":                    `<p><a href="//a.example/"` + rel + ">x</a></p>\n",
		"![x](img/a.png)":                      "<p><img src=\"/raw/img/a.png\" alt=\"x\"></p>\n",
		"![the *build*](https://a.example/b)":  "<p>the <em>build</em></p>\n",
		"|a|\n|:-:|\n|b|":                      "<table>\n<thead>\n<tr>\n<th align=\"center\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"center\">b</td>\n</tr>\n</tbody>\n</table>\n",
		"- [x] done":                           "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\"> done</li>\n</ul>\n",
		"<script>alert(1)</script>":            "<!-- raw HTML omitted -->\n",
		"a <b onclick=alert(1)>b</b>":          "<p>a <!-- raw HTML omitted -->b<!-- raw HTML omitted --></p>\n",
		"[x](javascript:alert(1))":             `<p><a href=""` + rel + ">x</a></p>\n",
		"[x](JaVaScRiPt:alert(1))":             `<p><a href=""` + rel + ">x</a></p>\n",
		"![x](javascript:alert(1))":            "<p>x</p>\n",
		"![x](data:image/svg+xml,<svg>)":       "<p>x</p>\n",
		"<javascript:alert(1)>":                `<p><a href=""` + rel + ">javascript:alert(1)</a></p>\n",
		"# \"><script>alert(1)</script>":       "<h1 id=\"user-content-scriptalert1script\">&quot;&gt;<!-- raw HTML omitted -->alert(1)<!-- raw HTML omitted --></h1>\n",
		"```go\nvar a\n```":                    "<pre><code class=\"language-go\"><span class=\"kd\">var</span> <span class=\"nx\">a</span>\n</code></pre>\n",
		"```\"><script>\n</code><script>\n```": "<pre><code class=\"language-&quot;&gt;&lt;script&gt;\">&lt;/code&gt;&lt;script&gt;\n</code></pre>\n",
	} {
		if got := markdown.Document(text, resolved); got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
	if got := markdown.Document(strings.Repeat("<", markdown.MaxDocument+1), resolved); !strings.HasPrefix(got, "<pre>&lt;") {
		t.Errorf("a long text begins %.20q, want plain text", got)
	}
}

// What the parser would need time or memory for that grow with the square of the text stays
// as it is.
func TestDocument_bounded(t *testing.T) {
	t.Parallel()
	table := func(columns, rows int) string {
		return strings.Repeat("a|", columns) + "\n" + strings.Repeat("-|", columns) + "\n" + strings.Repeat("a\n", rows)
	}
	for name, tt := range map[string]struct {
		text, begins string
	}{
		"table":                  {table(20, 100), "<table>"},
		"large table":            {table(400, 400), "<p>a|a|a|"},
		"long table":             {table(3, 10_000), "<p>a|a|a|"},
		"quotes":                 {strings.Repeat(">", 50) + "a", "<blockquote>"},
		"deep quotes":            {strings.Repeat(">", 101) + "a", "<pre>"},
		"deep lists":             {strings.Repeat("1. ", 101) + "a", "<pre>"},
		"rule":                   {strings.Repeat("-", 300), "<hr>"},
		"links":                  {strings.Repeat("[a](b)\n", 100), "<p><a "},
		"links in one paragraph": {strings.Repeat("[a](b)\n", 300), "<pre><code>[a](b)"},
		"links in one line":      {strings.Repeat("[](", 300), "<pre>"},
		"links in a heading":     {"# " + strings.Repeat("[](", 300), "<pre>"},
		"targets":                {strings.Repeat("[a]: b\n", 300) + "\n[a]", "<p><a "},
		"too many targets":       {strings.Repeat("[a]: b\n", 2001), "<pre>"},
	} {
		if got := markdown.Document(tt.text, resolved); !strings.HasPrefix(got, tt.begins) {
			t.Errorf("%s: begins %.60q, want %q", name, got, tt.begins)
		}
	}
	got := markdown.Document(strings.Repeat("#\n", 3)+"# 1\n# 1\n# 1-1\n", resolved)
	for _, id := range []string{`"user-content-1"`, `"user-content-1-1"`, `"user-content-1-1-1"`} {
		if strings.Count(got, "id="+id) != 1 {
			t.Errorf("got %s, want one id %s", got, id)
		}
	}
	if got := markdown.Description(strings.Repeat("*a_", 300), resolved); !strings.HasPrefix(got, "<p>*a_*a_") {
		t.Errorf("a description with many marks begins %.30q, want it as it is", got)
	}
}

// The attack: texts that parsers take very long for.
func TestDocument_ends(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{"[", "*a ", "![", "`", "<", "[a](", "_*", "~~a", "https://", "> ", "- ", "|a\n|-\n", "# a\n"} {
		done := make(chan string, 1)
		go func() { done <- markdown.Document(strings.Repeat(hostile, 4000/len(hostile)), resolved) }()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatalf("%q takes for ever", hostile)
		}
	}
}
