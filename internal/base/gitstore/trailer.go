package gitstore

import "strings"

// Trailer is a line such as "Signed-off-by: Ann <ann@example.com>" at the end of a message.
type Trailer struct{ Key, Value string }

// Trailers reads the last paragraph of a message, where all its lines are trailers, or
// a quarter of them and one that git itself writes. A line that begins with a blank
// continues the one before it. The first paragraph is the title, never trailers.
func Trailers(message string) []Trailer {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(message, "\r\n", "\n"), "\n \t"), "\n")
	first := len(lines)
	for first > 0 && strings.TrimSpace(lines[first-1]) != "" {
		first--
	}
	if first == 0 {
		return nil
	}
	var out []Trailer
	good, other, known := 0, 0, false
	for _, line := range lines[first:] {
		if line[0] == ' ' || line[0] == '\t' {
			if len(out) > 0 {
				last := &out[len(out)-1]
				last.Value = strings.TrimSpace(last.Value + " " + strings.TrimSpace(line))
			}
			continue
		}
		if strings.HasPrefix(line, "(cherry picked from commit ") {
			good, known = good+1, true
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		key = strings.TrimRight(key, " \t")
		if !ok || !trailerKey(key) {
			other++
			continue
		}
		good++
		known = known || strings.HasPrefix(line, "Signed-off-by: ")
		out = append(out, Trailer{key, strings.TrimSpace(value)})
	}
	if other > 0 && (!known || other > good*3) {
		return nil
	}
	return out
}

// trailerKey reports whether a word is of letters, digits and dashes.
func trailerKey(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != ""
}
