package markdown_test

import (
	"strconv"
	"strings"
	"testing"

	"tenon/internal/base/markdown"
)

// filled renders a text whose words "REF" are spans, each shown with its number.
func filled(source string) string {
	text := markdown.Parse(source)
	var spans []markdown.Span
	text.Runs(func(run markdown.Run) {
		for at := 0; ; {
			i := strings.Index(run.Text[at:], "REF")
			if i < 0 {
				return
			}
			spans = append(spans, markdown.Span{Start: run.Start + at + i, End: run.Start + at + i + 3})
			at += i + 3
		}
	})
	out := text.HTML(spans, resolved)
	return out.Fill(func(b *strings.Builder, i int) { b.WriteString("<a>" + strconv.Itoa(i) + "</a>") })
}

func TestText_HTML(t *testing.T) {
	t.Parallel()
	const rel = ` rel="nofollow noreferrer noopener" target="_blank"`
	const pre = `<pre class="code highlight js-syntax-highlight language-`
	for source, want := range map[string]string{
		"Hello :tada:":                       `<p dir="auto">Hello <gl-emoji title="party popper" data-name="tada">` + "\U0001f389" + "</gl-emoji></p>\n",
		"a REF, **REF**\nREF :none: b":       "<p dir=\"auto\">a <a>0</a>, <strong><a>1</a></strong>\n<a>2</a> :none: b</p>\n",
		"`REF` [REF](x) REF":                 `<p dir="auto"><code>REF</code> <a href="/blob/x">REF</a> <a>0</a></p>` + "\n",
		"# T REF":                            "<h1 id=\"user-content-t-ref\" dir=\"auto\">T <a>0</a></h1>\n",
		"[x](https://a.example) ![p](i.png)": `<p dir="auto"><a href="https://a.example"` + rel + `>x</a> <img src="/raw/i.png" alt="p"></p>` + "\n",
		"- [x] REF\n- [ ] b": "<ul dir=\"auto\" class=\"task-list\">\n<li class=\"task-list-item\"><input type=\"checkbox\" class=\"task-list-item-checkbox\" checked disabled> <a>0</a></li>\n" +
			"<li class=\"task-list-item\"><input type=\"checkbox\" class=\"task-list-item-checkbox\" disabled> b</li>\n</ul>\n",
		"```go\na < b\n```":      pre + "go\" lang=\"go\"><code><span class=\"nx\">a</span> <span class=\"p\">&lt;</span> <span class=\"nx\">b</span>\n</code></pre>",
		"```mermaid\ng\n```":     pre + "mermaid\" lang=\"mermaid\"><code class=\"js-render-mermaid\">g\n</code></pre>",
		"```math\nx\n```":        pre + "math\" lang=\"math\" data-math-style=\"display\"><code class=\"js-render-math\">x\n</code></pre>",
		"```\"><script>\nx\n```": pre + "&#34;&gt;&lt;script&gt;\" lang=\"&#34;&gt;&lt;script&gt;\"><code>x\n</code></pre>",
		"$`a<b`$ `#f00`":         "<p dir=\"auto\"><code class=\"code math js-render-math\" data-math-style=\"inline\">a&lt;b</code> <code>#f00<span class=\"gfm-color_chip\"><span style=\"background-color: #f00;\"></span></span></code></p>\n",
		"`RGB(0,255,0)` `HSLA(1,2%,3%,0.4)`": "<p dir=\"auto\"><code>RGB(0,255,0)<span class=\"gfm-color_chip\"><span style=\"background-color: RGB(0,255,0);\"></span></span></code> " +
			"<code>HSLA(1,2%,3%,0.4)<span class=\"gfm-color_chip\"><span style=\"background-color: HSLA(1,2%,3%,0.4);\"></span></span></code></p>\n",
		"http://10.0.0.1:80/x?a=b. (http://intra)": `<p dir="auto"><a href="http://10.0.0.1:80/x?a=b"` + rel + `>http://10.0.0.1:80/x?a=b</a>. (<a href="http://intra"` + rel + `>http://intra</a>)</p>` + "\n",
		"http:// https://. ftp://-a":               "<p dir=\"auto\">http:// https://. ftp://-a</p>\n",
		"- [x]a\n- [ ]":                            "<ul dir=\"auto\">\n<li>[x]a</li>\n<li>[ ]</li>\n</ul>\n",
		"**{-a-}** to {+b<+}":                      "<p dir=\"auto\"><strong><span class=\"idiff left right deletion\">a</span></strong> to <span class=\"idiff left right addition\">b&lt;</span></p>\n",
		"---\na: 1\n---\nx":                        pre + "yaml\" lang=\"yaml\" data-lang-params=\"frontmatter\"><code><span class=\"nt\">a</span><span class=\"p\">:</span> <span class=\"m\">1</span>\n</code></pre>\n<p dir=\"auto\">x</p>\n",
		"[[_TOC_]]\n\n# A\n## B\n# C":              "<ul class=\"section-nav\"><li><a href=\"#user-content-a\">A</a></li><ul class=\"section-nav\"><li><a href=\"#user-content-b\">B</a></li></ul><li><a href=\"#user-content-c\">C</a></li></ul>\n\n<h1 id=\"user-content-a\" dir=\"auto\">A</h1>\n<h2 id=\"user-content-b\" dir=\"auto\">B</h2>\n<h1 id=\"user-content-c\" dir=\"auto\">C</h1>\n",
		"a[^1]\n\n[^1]: REF": "<p dir=\"auto\">a<sup id=\"user-content-fnref:1\"><a href=\"#user-content-fn:1\" class=\"footnote-ref\">1</a></sup></p>\n<div class=\"footnotes\">\n<hr>\n<ol>\n" +
			"<li id=\"user-content-fn:1\">\n<p dir=\"auto\"><a>0</a>\u00a0<a href=\"#user-content-fnref:1\" class=\"footnote-backref\">\u21a9\ufe0e</a></p>\n</li>\n</ol>\n</div>\n",
		">>>\na REF\n\n- b\n>>>\nc":     "<blockquote dir=\"auto\"><p dir=\"auto\">a <a>0</a></p>\n<ul dir=\"auto\">\n<li>b</li>\n</ul>\n</blockquote>\n<p dir=\"auto\">c</p>\n",
		">>>>\na\n>>>\nb\n>>>\n>>>>\nc": "<blockquote dir=\"auto\"><p dir=\"auto\">a</p>\n<blockquote dir=\"auto\"><p dir=\"auto\">b</p>\n</blockquote>\n</blockquote>\n<p dir=\"auto\">c</p>\n",
		">>>\n```\n>>>\n```\n>>>\nc":    "<blockquote dir=\"auto\">" + pre + "plaintext\" lang=\"plaintext\"><code>&gt;&gt;&gt;\n</code></pre></blockquote>\n<p dir=\"auto\">c</p>\n",
		">>> a\n\n>>>":                  "<blockquote dir=\"auto\"><blockquote dir=\"auto\"><blockquote dir=\"auto\"><p dir=\"auto\">a</p>\n</blockquote>\n</blockquote>\n</blockquote>\n<blockquote dir=\"auto\"></blockquote>\n",
		"- [~] REF *b*\n- [~]a":         "<ul dir=\"auto\" class=\"task-list\">\n<li class=\"task-list-item inapplicable\"><input type=\"checkbox\" class=\"task-list-item-checkbox\" data-inapplicable disabled> <del><a>0</a> <em>b</em></del></li>\n<li>[~]a</li>\n</ul>\n",
		"![a <b](v.MP4#t=1) ![](s.ogg)": "<p dir=\"auto\"><video src=\"/raw/v.MP4#t=1\" title=\"a &lt;b\" controls=\"\" preload=\"metadata\"><a href=\"/raw/v.MP4#t=1\">a &lt;b</a></video> <audio src=\"/raw/s.ogg\" title=\"\" controls=\"\" preload=\"metadata\"><a href=\"/raw/s.ogg\"></a></audio></p>\n",
		"~~x~~ ~y":                      "<p dir=\"auto\"><del>x</del> ~y</p>\n",

		// What must not reach the page.
		"<script>alert(1)</script>ok":           "ok",
		"<b onclick=\"x\" style=\"y\">b":        "<p dir=\"auto\"><b>b</b></p><b>\n</b>",
		"[x](javascript:alert(1))":              "<p dir=\"auto\"><a>x</a></p>\n",
		"<a href=\"javascript:alert(1)\">x</a>": "<p dir=\"auto\"><a>x</a></p>\n",
		"![x](javascript:a.mp4)":                "<p dir=\"auto\"><video title=\"x\" controls=\"\" preload=\"metadata\"><a>x</a></video></p>\n",
		"![\"onplay=x](\"onplay=.mp4)":          "<p dir=\"auto\"><video src=\"/raw/%22onplay=.mp4\" title=\"&#34;onplay=x\" controls=\"\" preload=\"metadata\"><a href=\"/raw/%22onplay=.mp4\">&#34;onplay=x</a></video></p>\n",
		"<video src=\"a.mp4\" autoplay onplay=\"x\" poster=\"https://a.example/b.png\">b</video>": "<p dir=\"auto\"><video src=\"a.mp4\">b</video></p>\n",
		"</div></div>x<div>":                                    "x<div></div>",
		"<b id=\"x\" class=\"gfm\">y</b>":                       "<p dir=\"auto\"><b>y</b></p>\n",
		"\ue0f00\ue0f1 &#xe0f0;0&#xe0f1; REF &#xe0f0;0&#xe0f1;": "<p dir=\"auto\">\ufffd0\ufffd <a>0</a>  </p>\n",
		"<div title=\"\n\nREF\n\n\">":                           "<div title=\"\n&lt;p dir=\"><a>0</a><p></p>\n<p dir=\"auto\">&#34;&gt;</p>\n</div>",
	} {
		if got := filled(source); got != want {
			t.Errorf("%q:\n got %q\nwant %q", source, got, want)
		}
	}
	line := markdown.Line("a <b> REF :tada:", []markdown.Span{{Start: 6, End: 9}})
	if got := line.Fill(func(b *strings.Builder, _ int) { b.WriteString("!") }); !strings.HasPrefix(got, "a &lt;b&gt; ! <gl-emoji") {
		t.Errorf("a line: got %q", got)
	}
}

// The attack: texts that take time or room that grows faster than their length. Twice the
// text gives about twice the HTML, or the text as it is.
func TestText_HTML_bounded(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{
		"REF ", ":tada: ", "{+a+} ", "{-a", "[[_TOC_]]\n\n# a\n", "[^1]\n\n[^1]: a\n\n", "`#f00` ", "$`a`$ ", "- [ ] a\n", "<b>", "<a><b><i>", "<div>\n\n", "</p>",
		"&#xe0f0;0&#xe0f1; ", "~~a", "[a](b) ", "![", "|a", "> ", "<", "\\", "```\n", "---\n", "<table><tr><td>", "<p dir=", "http://a.b/_", "*_", ">>>\n", ">>>\na\n>>>\n", "- >>>\n", "- [~] a\n", "![a](b.mp4) ",
	} {
		n := 30_000 / len(hostile)
		once, twice := len(filled(strings.Repeat(hostile, n))), len(filled(strings.Repeat(hostile, 2*n)))
		if twice > 3*once+10_000 || once > 100*30_000 {
			t.Errorf("%q: %d bytes of HTML, %d for twice the text", hostile, once, twice)
		}
	}
}
