package markdown

import "strings"

// maxFront is how long front matter may be.
const maxFront = 64 << 10

// Front is the front matter of a text: data between two lines of markers at its beginning.
type Front struct {
	Language string // yaml, toml or json; "" where there is none
	Data     string
}

// frontMatter returns the front matter of a text, and how many bytes it takes.
func frontMatter(source string) (Front, int) {
	rest := strings.TrimPrefix(source, "\ufeff")
	first, _, ok := strings.Cut(rest, "\n")
	if !ok {
		return Front{}, 0
	}
	marker := strings.TrimRight(first, " \t\r")
	language := ""
	for m, l := range map[string]string{"---": "yaml", "+++": "toml", ";;;": "json"} {
		if name, found := strings.CutPrefix(marker, m); found && (name == "" || name == l || name == " "+l) {
			marker, language = m, l
		}
	}
	if language == "" {
		return Front{}, 0
	}
	start := len(source) - len(rest) + len(first) + 1
	for at := start; at < len(source) && at-start <= maxFront; {
		line, _, more := strings.Cut(source[at:], "\n")
		end := at + len(line)
		if more {
			end++
		}
		if strings.TrimRight(line, " \t\r") == marker {
			return Front{Language: language, Data: source[start:at]}, end
		}
		at = end
	}
	return Front{}, 0
}
