package reference_test

import (
	"net/url"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/authz"
	"tenon/internal/core/coretest"
	"tenon/internal/core/reference"
	"tenon/internal/core/setting"
	"tenon/internal/core/weburl"
)

// Links to pages stand in the texts of wikis alone, and in no code.
func TestService_HTML_pages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := coretest.New(t, d)
		s := reference.New(reference.Deps{
			Settings: setting.New(d, w.Now), DB: d, Policy: w.Policy, Accounts: everybody{}, Projects: w.Projects, URLs: weburl.New(&url.URL{Scheme: "https", Host: "code.example"}, ""),
		})
		member := w.User("member")
		p := w.Find(member, w.Project("team/open", authz.Public, w.Group("team", authz.Public, 0)))
		wiki := reference.Scope{Project: p, Base: &reference.Base{
			Folder: "/wiki", Link: func(address string) string { return "/wiki/folder/" + address }, Page: func(name string) string { return "/wiki/" + name },
		}}
		link := func(to, words string) string {
			return `<a href="` + to + `" class="gfm gfm-gollum-wiki-page">` + words + `</a>`
		}
		outside := func(to, words string) string {
			return `<a href="` + to + `" class="gfm" rel="nofollow noreferrer noopener" target="_blank">` + words + `</a>`
		}
		for text, want := range map[string]string{
			"See [[Home]].":                      "See " + link("/wiki/Home", "Home") + ".",
			"[[Old **home** | a/Old Home]]":      "[[Old <strong>home</strong> | a/Old Home]]", // words with markup are not a link
			"[[Old home|a/Old Home]] [[b]]":      link("/wiki/a/Old Home", "Old home") + " " + link("/wiki/b", "b"),
			"[[@member|Home]] and @member2":      link("/wiki/Home", "@member") + " and @member2",
			"[[a|https://example.com/?a=1&b=2]]": outside("https://example.com/?a=1&amp;b=2", "a"),
			"[[uploads/a.PNG]]":                  `<img src="/wiki/folder/uploads/a.PNG" alt="uploads/a.PNG" class="gfm">`,
			"[[https://example.com/a.png]]":      `<img src="https://example.com/a.png" alt="https://example.com/a.png" class="gfm">`,
			"[[javascript:alert(1)]]":            link("/wiki/javascript:alert(1)", "javascript:alert(1)"),
			`[[" onclick="x|y" z="]]`:            link("/wiki/y&#34; z=&#34;", "&#34; onclick=&#34;x"),
			"`[[Home]]`":                         "<code>[[Home]]</code>",
			"[[]] [[ | ]] [[a [[b]]":             "[[]] [[ | ]] [[a " + link("/wiki/b", "b"),
		} {
			out, err := s.HTML(t.Context(), member, wiki, text)
			if err != nil || out[0] != `<p dir="auto">`+want+"</p>\n" {
				t.Errorf("%q: got %q, %v, want %q", text, out, err, want)
			}
			plain, err := s.HTML(t.Context(), member, reference.Of(p), text)
			if err != nil || strings.Contains(plain[0], "gollum") || strings.Contains(plain[0], "<img") {
				t.Errorf("%q in no wiki: got %q, %v", text, plain, err)
			}
		}
		many := strings.Repeat("[[a]] ", 100_000)
		out, err := s.HTML(t.Context(), member, wiki, many)
		if err != nil || strings.Count(out[0], "<a ") > reference.MaxReferences {
			t.Errorf("%d links of many, %v", strings.Count(out[0], "<a "), err)
		}
	})
}
