package markdown

import (
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// policy is what may stand in rendered texts: no scripts, styles, forms and frames, no
// attributes that a page acts on, and addresses of the web and of mail alone.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(
		"a", "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "dd", "del", "details", "dfn", "div", "dl", "dt", "em",
		"figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "rp", "rt", "ruby",
		"s", "samp", "section", "small", "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "time",
		"tr", "tt", "ul", "var", "wbr",
	)
	p.AllowNoAttrs().OnElements("a", "span", "div")
	free := regexp.MustCompile("^[^" + openHole + closeHole + "]*$")
	number := regexp.MustCompile(`^[0-9]{1,4}%?$`)
	p.AllowAttrs("href").Matching(free).OnElements("a")
	p.AllowAttrs("src", "alt").Matching(free).OnElements("img")
	p.AllowAttrs("title").Matching(free).Globally()
	p.AllowAttrs("id").Matching(regexp.MustCompile(`^` + anchors + `[\p{L}\p{N}_:-]*$`)).Globally()
	p.AllowAttrs("dir").Matching(regexp.MustCompile(`^(?:auto|ltr|rtl)$`)).Globally()
	p.AllowAttrs("lang").Matching(regexp.MustCompile(`^[A-Za-z-]{1,20}$`)).Globally()
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(?:left|center|right|justify)$`)).OnElements("td", "th", "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "img")
	p.AllowAttrs("width", "height").Matching(number).OnElements("img")
	p.AllowAttrs("src").Matching(free).OnElements("video", "audio")
	p.AllowAttrs("controls").Matching(regexp.MustCompile(`^(?:controls)?$`)).OnElements("video", "audio")
	p.AllowAttrs("preload").Matching(regexp.MustCompile(`^(?:none|metadata)$`)).OnElements("video", "audio")
	p.AllowAttrs("width", "height").Matching(number).OnElements("video")
	p.AllowAttrs("colspan", "rowspan").Matching(regexp.MustCompile(`^[0-9]{1,3}$`)).OnElements("td", "th")
	p.AllowAttrs("start", "value").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol", "li")
	p.AllowAttrs("open").Matching(regexp.MustCompile(`^(?:open)?$`)).OnElements("details")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^(?:task-list|task-list-item(?: inapplicable)?|footnotes|footnote-ref|footnote-backref)$`)).
		OnElements("ul", "ol", "li", "div", "section", "a")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(true)
	p.AllowURLSchemes("http", "https", "mailto", "ftp", "xmpp", "irc", "tel")
	p.RequireNoFollowOnFullyQualifiedLinks(true)
	p.RequireNoReferrerOnFullyQualifiedLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return p
})

// balanced closes what is open in HTML and drops what closes nothing, so that it does not
// reach into the page around.
func balanced(text string) (string, error) {
	within := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	nodes, err := html.ParseFragment(strings.NewReader(text), within)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, n := range nodes {
		if err := html.Render(&out, n); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}
