package reference

import (
	"strings"

	"tenon/internal/base/markdown"
	"tenon/internal/base/pattern"
)

// Bounds of what one text closes.
const (
	maxClosing     = 100     // issues
	maxClosingText = 1 << 20 // bytes that are read
)

// The words that promise to close the issues after them: "Closes #1, group/project#2 and #3".
var (
	closingWords = pattern.New(`\b(?:[Cc]los(?:e[sd]?|ing)|[Ff]ix(?:e[sd]|ing)?|[Rr]esolv(?:e[sd]?|ing)|[Ii]mplement(?:s|ed|ing)?):?[ \t]+`)
	issueWord    = pattern.New(`^(?i:issues?)[ \t]+`)
	separator    = pattern.New(`^(?:[ \t]*,?[ \t]+and[ \t]+|[ \t]*,?[ \t]*)`)
)

// Closing returns the issues that a text in Markdown promises to close, each once, at most
// maxClosing.
func (r Reader) Closing(text string) []Reference {
	if len(text) > maxClosingText {
		return nil
	}
	return r.ClosingWords(markdown.Parse(text).Visible())
}

// ClosingWords is Closing for a text that is not Markdown, such as a title or the message of
// a commit.
func (r Reader) ClosingWords(text string) []Reference {
	s := scanner{base: r.base, text: text[:min(len(text), maxClosingText)]}
	type target struct {
		place  string
		number int64
	}
	seen := map[target]bool{}
	var out []Reference
	for _, found := range closingWords().FindAllStringIndex(s.text, MaxReferences) {
		for at := found[1]; ; {
			at += len(issueWord().FindString(s.text[at:]))
			ref, end, ok := s.issue(at)
			if !ok {
				break
			}
			if key := (target{strings.ToLower(ref.Place), ref.Number}); !seen[key] {
				seen[key] = true
				out = append(out, ref)
			}
			if len(out) == maxClosing {
				return out
			}
			at = end + len(separator().FindString(s.text[end:]))
		}
	}
	return out
}

// issue reads the reference to an issue that is at a place of the text.
func (s *scanner) issue(at int) (ref Reference, end int, ok bool) {
	text := s.text
	if at < len(text) && text[at] == '<' { // around an address
		at++
	}
	if at >= len(text) {
		return ref, 0, false
	}
	if text[at] == '#' {
		ref, end, ok = s.local(at, "")
	} else {
		stop := at + pathRun(text[at:])
		switch path := text[at:stop]; {
		case strings.HasPrefix(text[stop:], "://"):
			end = urlEnd(text, at)
			if ref, ok = s.ofURL(text[at:end]); ok && strings.HasPrefix(text[end:], ">") {
				ref.Start, ref.End = at, end
				return ref, end + 1, ref.Kind == Issue
			}
		case stop < len(text) && text[stop] == '#' && isPath(path):
			ref, end, ok = s.local(stop, path)
		}
	}
	ref.Start, ref.End = at, end
	return ref, end, ok && ref.Kind == Issue
}
