package markdown_test

import (
	"strings"
	"testing"
	"time"

	"tenon/internal/base/markdown"
)

func TestDescription(t *testing.T) {
	t.Parallel()
	const rel = ` rel="nofollow noreferrer noopener"`
	for text, want := range map[string]string{
		"":                           "",
		" \n":                        "",
		"Sells things":               "<p>Sells things</p>",
		"one\n\ntwo & *three*":       "<p>one</p>\n<p>two &amp; <em>three</em></p>",
		"# no heading\n- no list":    "<p># no heading\n- no list</p>",
		"    no block of code":       "<p>no block of code</p>",
		"`a < b` ~~old~~":            "<p><code>a &lt; b</code> <del>old</del></p>",
		"see https://example.com/?a": `<p>see <a href="https://example.com/?a"` + rel + `>https://example.com/?a</a></p>`,
		"[here](team/app) [b][c]":    `<p><a href="/blob/team/app"` + rel + `>here</a> [b][c]</p>`,
		"[a](#b) [c](//d) ![p](e)":   `<p><a href="#user-content-b"` + rel + `>a</a> <a href="//d"` + rel + `>c</a> p</p>`,
		// What would run, or be fetched, in the page that shows it.
		"<script>alert(1)</script>":                  "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
		"[x](javascript:alert(1))":                   `<p><a href=""` + rel + `>x</a></p>`,
		"<javascript:alert(1)>":                      `<p><a href=""` + rel + `>javascript:alert(1)</a></p>`,
		"[x](data:text/html,y)":                      `<p><a href=""` + rel + `>x</a></p>`,
		"![a <b>](https://spy.example/pixel.png)":    "<p>a &lt;b&gt;</p>",
		`[x](https://a.example/"onclick="alert(1))`:  `<p><a href="https://a.example/%22onclick=%22alert(1)"` + rel + `>x</a></p>`,
		`[x](https://a.example "q\" onclick=\"b\"")`: `<p><a href="https://a.example" title="q&quot; onclick=&quot;b&quot;"` + rel + `>x</a></p>`,
	} {
		if got := markdown.Description(text, resolved); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// The attack: texts that parsers take very long for.
func TestDescription_ends(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{"[", "*a ", "![", "`", "<", "[a](", "_*", "~~a", "https://"} {
		done := make(chan string, 1)
		go func() { done <- markdown.Description(strings.Repeat(hostile, 2000/len(hostile)), resolved) }()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatalf("%q takes for ever", hostile)
		}
	}
}
