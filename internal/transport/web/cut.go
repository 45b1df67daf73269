package web

import (
	"path"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/highlight"
)

// How much a page shows of a text that comes from a repository, where it has no bound but
// that of its object: of a title in characters, of a message in bytes, of a file in lines.
const (
	maxTitle   = 255
	maxMessage = 64 << 10
	maxLines   = 20_000
)

// notShown is below what is shown of a longer text.
const notShown = "The rest is not shown."

// shownTitle is a title or a name, cut where it is too long.
func shownTitle(text string) string {
	n := 0
	for i := range text {
		if n == maxTitle {
			return text[:i] + "..."
		}
		n++
	}
	return text
}

// shownMessage is a message, cut where it is too long.
func shownMessage(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return budget.Begin(text, maxMessage) + "\n" + notShown
}

// shownLines are the lines of a file, and of a long file its first. Code of a known language has
// classes.
func shownLines(name, content string) []line {
	out := []line{}
	if shown, ok := highlight.NewBudget(highlight.Document).HTML(highlight.OfFile(path.Base(name)), content); ok && strings.Count(content, "\n") < maxLines {
		for text := range strings.Lines(shown) {
			out = append(out, line{Number: itoa(int64(len(out)) + 1), HTML: strings.TrimSuffix(text, "\n")})
		}
		return out
	}
	for text := range strings.Lines(content) {
		if len(out) == maxLines {
			return append(out, line{Text: notShown})
		}
		out = append(out, line{Number: itoa(int64(len(out)) + 1), Text: strings.TrimRight(text, "\r\n")})
	}
	return out
}
