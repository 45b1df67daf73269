package kind

import (
	"html"
	"strings"
)

// Line is a text of a message, in parts. What users have written is never read as markup of a chat: a rendering escapes it.
type Line []Span

// Span is a part of a text.
type Span struct {
	Text string
	URL  string // where a click leads; "" for no link
	Bold bool
}

// Say begins a text.
func Say(text string) Line { return Line{{Text: text}} }

// And adds words.
func (l Line) And(text string) Line { return append(l, Span{Text: text}) }

// Link adds words that lead somewhere; without an address they are plain.
func (l Line) Link(text, url string) Line { return append(l, Span{Text: text, URL: url}) }

// Strong adds words that stand out.
func (l Line) Strong(text string) Line { return append(l, Span{Text: text, Bold: true}) }

// Plain is the text without markup.
func (l Line) Plain() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "@", "@\u200b", "~", `\~`, "|", `\|`, "\n", " ", "\r", "",
)

// escapedURL keeps the end of a link out of its address.
var escapedURL = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C", " ", "%20", "\n", "")

// Markdown renders a text as [words](address) and *words*.
func (l Line) Markdown() string {
	return l.render(markdownEscapes, func(text, url string) string { return "[" + text + "](" + escapedURL.Replace(url) + ")" })
}

// slackEscapes are all that Slack has; Mattermost tells everybody of a channel that @ names.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b", "\n", " ", "\r", "")

// Slack renders a text as Slack and Mattermost take it: <address|words>.
func (l Line) Slack() string {
	return l.render(slackEscapes, func(text, url string) string {
		return "<" + escapedURL.Replace(url) + "|" + strings.ReplaceAll(text, "|", "\u00a6") + ">"
	})
}

func (l Line) render(escapes *strings.Replacer, link func(text, url string) string) string {
	var b strings.Builder
	for _, s := range l {
		text := escapes.Replace(s.Text)
		if s.Bold && strings.TrimSpace(s.Text) != "" {
			text = "*" + text + "*"
		}
		if s.URL != "" {
			text = link(text, s.URL)
		}
		b.WriteString(text)
	}
	return b.String()
}

// HTML renders a text for servers that take HTML.
func (l Line) HTML() string {
	var b strings.Builder
	for _, s := range l {
		text := html.EscapeString(s.Text)
		if s.Bold {
			text = "<strong>" + text + "</strong>"
		}
		if s.URL != "" {
			text = `<a href="` + html.EscapeString(s.URL) + `">` + text + "</a>"
		}
		b.WriteString(text)
	}
	return b.String()
}
