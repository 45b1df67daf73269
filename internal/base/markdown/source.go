package markdown

import (
	"strings"

	"golang.org/x/net/html"
)

// Sources returns rendered HTML in which pictures, videos and sounds come from the addresses that to returns. The address
// before stays in the attribute data-canonical-src of what comes from elsewhere.
func Sources(rendered string, to func(address string) string) string {
	if !strings.Contains(rendered, " src=") {
		return rendered
	}
	var out strings.Builder
	out.Grow(len(rendered) + len(rendered)/4)
	for z := html.NewTokenizer(strings.NewReader(rendered)); ; {
		switch z.Next() {
		case html.ErrorToken: // the end of the text
			out.Write(z.Raw())
			return out.String()
		case html.StartTagToken, html.SelfClosingTagToken:
			raw := string(z.Raw())
			if t := z.Token(); sourced(&t, to) {
				raw = t.String()
			}
			out.WriteString(raw)
		default:
			out.Write(z.Raw())
		}
	}
}

// sourced changes where a tag takes its content from. It reports whether anything changed.
func sourced(t *html.Token, to func(address string) string) bool {
	if t.Data != "img" && t.Data != "video" && t.Data != "audio" {
		return false
	}
	for i, a := range t.Attr {
		if a.Key != "src" {
			continue
		}
		next := to(a.Val)
		if next == a.Val {
			return false
		}
		t.Attr[i].Val = next
		t.Attr = append(t.Attr, html.Attribute{Key: "data-canonical-src", Val: a.Val})
		return true
	}
	return false
}
