package web

import (
	"strings"
	"testing"
)

// What people write cannot become markup: not in text, and not in an attribute.
func TestPage_escapes(t *testing.T) {
	t.Parallel()
	const attack = `"><script>alert('1')</script>&amp;%s`
	got := string(page{
		Kind: attack, Title: attack, Lines: []string{attack}, API: "https://host/" + attack, Up: &link{Title: attack, URL: "https://host/" + attack},
	}.html())
	const escaped = `&#34;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;%s`
	for _, want := range []string{
		"<title>" + escaped + " - Tenon</title>", `<p class="kind">` + escaped + "</p>", "<h1>" + escaped + "</h1>", "\n<p>" + escaped + "</p>\n",
		`<p><a href="https://host/` + escaped + `">` + escaped + "</a></p>", `<p><a href="https://host/` + escaped + `">This in the API</a></p>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "<script") {
		t.Errorf("the attack is markup:\n%s", got)
	}
}
