package markdown

import (
	"strings"

	"golang.org/x/net/html"
)

// Frames returns rendered HTML in which pictures whose addresses are allowed are frames that show the pages there. What is in a link stays
// a picture.
func Frames(rendered string, allowed func(address string) bool) string {
	if !strings.Contains(rendered, "<img ") {
		return rendered
	}
	var out strings.Builder
	out.Grow(len(rendered))
	links := 0 // that are open
	for z := html.NewTokenizer(strings.NewReader(rendered)); ; {
		kind := z.Next()
		raw := string(z.Raw())
		switch kind {
		case html.ErrorToken: // the end of the text
			out.WriteString(raw)
			return out.String()
		case html.StartTagToken, html.SelfClosingTagToken:
			switch t := z.Token(); {
			case t.Data == "a":
				links++
			case t.Data == "img" && links == 0:
				if frame := framed(&t, allowed); frame != "" {
					raw = frame
				}
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "a" && links > 0 {
				links--
			}
		}
		out.WriteString(raw)
	}
}

// framed is the frame for a picture, "" for none. The page in it runs apart: it neither leads this one elsewhere nor opens dialogs.
func framed(img *html.Token, allowed func(address string) bool) string {
	address, title := "", ""
	for _, a := range img.Attr {
		switch a.Key {
		case "src":
			address = a.Val
		case "alt":
			title = a.Val
		}
	}
	if address == "" || !allowed(address) {
		return ""
	}
	return `<iframe src="` + html.EscapeString(address) + `" title="` + html.EscapeString(title) +
		`" sandbox="allow-scripts allow-same-origin allow-popups allow-presentation" referrerpolicy="strict-origin" loading="lazy" allowfullscreen></iframe>`
}
