package ciconfig

import (
	"regexp"
	"strings"
)

// maxComparisons is how many comparisons of paths with wildcards one rule makes. A rule that needs more holds, as documented for exists.
const maxComparisons = 50_000

// maxGlobs is how many paths changes and exists may list.
const maxGlobs = 50

// glob is a path with wildcards: * and ? within a folder, **/ over folders, [sets] and {a,b}.
type glob struct {
	text    string
	literal bool   // without wildcards
	prefix  string // before the first wildcard
	re      *regex
}

// newGlob makes a glob; it matches nothing where it is too large or malformed.
func newGlob(text string) glob {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "./"), "/")
	i := strings.IndexAny(text, `*?[{\`)
	if i < 0 {
		return glob{text: text, literal: true}
	}
	return glob{text: text, prefix: text[:i], re: compile(globPattern(text), "")}
}

func (g glob) match(path string, b *budget) bool {
	if g.literal {
		return path == g.text
	}
	return strings.HasPrefix(path, g.prefix) && g.re.match(path, b)
}

// globPattern writes a glob as a regular expression.
func globPattern(text string) string {
	var b strings.Builder
	b.WriteString(`\A`)
	braces := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '*' && strings.HasPrefix(text[i:], "**/") && (i == 0 || text[i-1] == '/'):
			b.WriteString(`(?:[^/]*/)*`)
			i += 2
		case c == '*':
			for i+1 < len(text) && text[i+1] == '*' {
				i++
			}
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			n := writeSet(&b, text[i:])
			i += n - 1
		case c == '{' && strings.Contains(text[i:], "}"):
			braces++
			b.WriteString(`(?:`)
		case c == '}' && braces > 0:
			braces--
			b.WriteString(`)`)
		case c == ',' && braces > 0:
			b.WriteString(`|`)
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteString(regexp.QuoteMeta(text[i : i+1]))
		case c >= 0x80:
			b.WriteByte(c)
		default:
			b.WriteString(regexp.QuoteMeta(text[i : i+1]))
		}
	}
	b.WriteString(`\z`)
	return b.String()
}

// writeSet writes the [set] at the start of a text and returns its length; a bracket that is not closed stands for itself.
func writeSet(b *strings.Builder, text string) int {
	end := strings.IndexByte(text[1:], ']') + 1
	if end < 2 {
		b.WriteString(`\[`)
		return 1
	}
	set := text[1:end]
	b.WriteByte('[')
	if set[0] == '!' || set[0] == '^' {
		b.WriteString("^/")
		set = set[1:]
	}
	for i := range len(set) {
		if strings.IndexByte(`\[]^&~`, set[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(set[i])
	}
	b.WriteByte(']')
	return end + 1
}

// anyMatch finds the first path that one of the globs matches.
func anyMatch(globs []glob, paths []string, b *budget) (path string, ok bool) {
	comparisons := 0
	for _, g := range globs {
		for _, p := range paths {
			if !g.literal {
				if comparisons++; comparisons > maxComparisons {
					return "", true
				}
			}
			if g.match(p, b) {
				return p, true
			}
		}
	}
	return "", false
}
