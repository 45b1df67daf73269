package markdown

import (
	"html"
	"strings"

	"github.com/yuin/goldmark-emoji/definition"

	"tenon/internal/base/pattern"
)

// mark is a part of a run of words that is shown otherwise than it is written.
type mark struct {
	start, end int
	html       string // trusted
}

var (
	shortcode = pattern.New(`^:([0-9A-Za-z_+-]{1,60}):`)
	color     = pattern.New(`^(?:#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})` +
		`|(?i:rgba?|hsla?)\([0-9., %]{1,60}\))$`)
)

// maxMarked is how many marks a run of words may have.
const maxMarked = 1000

// marksOf finds emoji and marks of changes in words.
func marksOf(words string) []mark {
	var out []mark
	for i := 0; i < len(words) && len(out) < maxMarked; {
		next := strings.IndexAny(words[i:], ":{[")
		if next < 0 {
			break
		}
		i += next
		m, ok := markAt(words[i:min(len(words), i+1100)])
		if !ok {
			i++
			continue
		}
		m.start, m.end = i, i+m.end
		out = append(out, m)
		i = m.end
	}
	return out
}

// markAt reads the mark that a text begins with.
func markAt(text string) (mark, bool) {
	if text[0] == ':' {
		found := shortcode().FindStringSubmatch(text)
		if found == nil {
			return mark{}, false
		}
		emoji, ok := definition.Github().Get(found[1])
		if !ok || len(emoji.Unicode) == 0 {
			return mark{}, false
		}
		return mark{end: len(found[0]), html: `<gl-emoji title="` + html.EscapeString(emoji.Name) + `" data-name="` + html.EscapeString(found[1]) + `">` +
			string(emoji.Unicode) + `</gl-emoji>`}, true
	}
	if len(text) < 2 || text[1] != '+' && text[1] != '-' {
		return mark{}, false
	}
	sign, closing, kind := text[1], byte('}'), "addition"
	if text[0] == '[' {
		closing = ']'
	}
	if sign == '-' {
		kind = "deletion"
	}
	end := strings.Index(text[2:], string([]byte{sign, closing}))
	if end <= 0 || strings.IndexByte(text[2:2+end], '\n') >= 0 {
		return mark{}, false
	}
	changed := html.EscapeString(html.UnescapeString(text[2 : 2+end]))
	return mark{end: end + 4, html: `<span class="idiff left right ` + kind + `">` + changed + `</span>`}, true
}
