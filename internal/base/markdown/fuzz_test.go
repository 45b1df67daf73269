package markdown_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The attack: a text whose HTML runs a script, fetches a page or shows a form in the name of the
// site. Of no text do such elements or attributes come out.
func FuzzText_HTML(f *testing.F) {
	for _, seed := range []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[j](javascript:alert(1))", "<a href='data:text/html,x'>d</a>", "![x](JaVaScRiPt:x)",
		"REF **REF** `REF` :tada: {+a+} ~~b~~", "- [x] REF\n- [ ]", "|a|\n|-|\n|REF|", "a[^1]\n\n[^1]: REF", "[[_TOC_]]\n\n# REF <b onclick=x>",
		"```\"onload=\n<script>\n```", "$`</code><script>`$", "`#f00\"onx=`", "http://a/\"onx=1 www.a.b/<script>", "\ue0f00\ue0f1 &#xe0f0;0&#xe0f1;", "<p style=x\n[a]: b\n\n[a]\n",
		">>>\nREF\n>>>", "- [~] REF", "![REF](a.mp4)", "![\"onplay=x](javascript:a.ogg)", "<video src=javascript:x autoplay>",
	} {
		f.Add(seed)
	}
	bad := []string{"script", "style", "iframe", "object", "embed", "form", "base", "meta", "link", "svg", "math", "textarea", "button"}
	f.Fuzz(func(t *testing.T, text string) {
		out := filled(text)
		for tokens := html.NewTokenizer(strings.NewReader(out)); tokens.Next() != html.ErrorToken; {
			token := tokens.Token()
			if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
				continue
			}
			if slices.Contains(bad, token.Data) {
				t.Errorf("%q gives the element %s: %s", text, token.Data, out)
			}
			for _, a := range token.Attr {
				scheme, _, named := strings.Cut(strings.ToLower(strings.TrimSpace(a.Val)), ":")
				if strings.HasPrefix(a.Key, "on") || named && (a.Key == "href" || a.Key == "src") && (scheme == "javascript" || scheme == "data" || scheme == "vbscript") ||
					a.Key == "style" && !strings.HasPrefix(a.Val, "background-color: ") {
					t.Errorf("%q gives %s=%q: %s", text, a.Key, a.Val, out)
				}
			}
		}
	})
}
