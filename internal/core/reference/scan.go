package reference

import (
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanner finds references in the runs of a text, in time that grows with their length.
type scanner struct {
	base    string
	text    string
	offset  int // of text in the source
	out     []Reference
	commits int
}

func (s *scanner) add(ref Reference, start, end int) bool {
	if len(s.out) >= MaxReferences {
		return false
	}
	if ref.Kind == Commit || ref.Kind == CommitRange {
		if s.commits++; s.commits > maxCommits {
			return false
		}
	}
	ref.Start, ref.End = s.offset+start, s.offset+end
	s.out = append(s.out, ref)
	return true
}

// address reads a URL that stands alone.
func (s *scanner) address(url string, offset int) {
	s.text, s.offset = url, offset
	if ref, ok := s.ofURL(url); ok {
		s.add(ref, 0, len(url))
	}
}

// words reads a piece of a text; first says that it begins a line.
func (s *scanner) words(text string, offset int, first bool) {
	s.text, s.offset = text, offset
	for i := 0; i < len(text) && len(s.out) < MaxReferences; {
		switch c := text[i]; {
		case c == '\n':
			first = true
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == ',':
			i++
		case c == '\\':
			first = false
			i += 2
		case wordByte(c):
			i = s.word(i, &first)
		case strings.IndexByte("#!~%$&@", c) >= 0:
			if !s.open(i) {
				first = false
				i++
				break
			}
			ref, end, ok := s.local(i, "")
			if ok {
				ref.Addressed = first && ref.Kind == Mention
				s.add(ref, i, end)
				first = first && ref.Kind == Mention
				i = end
				break
			}
			first = false
			i++
		default:
			first = false
			i++
		}
	}
}

// open reports whether a reference may begin here: not inside a word.
func (s *scanner) open(i int) bool {
	if i == 0 {
		return true
	}
	switch c := s.text[i-1]; c {
	case '\\', '~', '/':
		return false
	case '&':
		return s.text[i] != '#' // of a character by its number
	default:
		if c >= utf8.RuneSelf {
			r, _ := utf8.DecodeLastRuneInString(s.text[:i])
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}
		return !alnum(c) && c != '_'
	}
}

// word reads what begins with a letter, a digit, a dot, a dash or a slash: a URL, a path
// before a reference, a hash or a word.
func (s *scanner) word(i int, first *bool) (next int) {
	text := s.text
	end := i
	for end < len(text) && wordByte(text[end]) {
		end++
	}
	open := s.open(i)
	if strings.HasPrefix(text[end:], "://") {
		end = urlEnd(text, i)
		*first = false
		if ref, ok := s.ofURL(text[i:end]); ok && open {
			s.add(ref, i, end)
		}
		return end
	}
	word := text[i:end]
	*first = *first && word == "and"
	if !open {
		return end
	}
	if end < len(text) && strings.IndexByte("#!~%$&@", text[end]) >= 0 {
		if path := strings.TrimLeft(word, "./-"); isPath(path) {
			if ref, stop, ok := s.local(end, path); ok {
				s.add(ref, end-len(path), stop)
				return stop
			}
		}
	}
	if ref, n, ok := hashes(strings.TrimRight(word, ".-/")); ok {
		s.add(ref, i, i+n)
	} else if digits, found := strings.CutPrefix(word, "GL-"); found {
		if number, n := number(digits); n > 0 && n == len(strings.TrimRight(digits, ".-/")) {
			s.add(Reference{Kind: Issue, Number: number}, i, i+3+n)
		}
	}
	return end
}

// local reads a reference that begins with its sign at i, of the project or group at a path.
func (s *scanner) local(i int, path string) (ref Reference, end int, ok bool) {
	rest := s.text[i+1:]
	ref.Place = path
	switch s.text[i] {
	case '#':
		ref.Kind = Issue
	case '!':
		ref.Kind = MergeRequest
	case '&':
		ref.Kind = Epic
	case '$':
		ref.Kind = Snippet
	case '~', '%':
		ref.Kind = Label
		if s.text[i] == '%' {
			ref.Kind = Milestone
		}
		n := 0
		ref.Name, n = title(rest, ref.Kind)
		if number, digits := number(ref.Name); digits == len(ref.Name) {
			ref.Number = number
		}
		return ref, i + 1 + n, n > 0
	case '@':
		if path != "" {
			found, n, ok := hashes(hashRun(rest))
			found.Place = path
			return found, i + 1 + n, ok && closed(rest[n:])
		}
		ref.Kind = Mention
		name := rest[:pathRun(rest)]
		name = strings.TrimRight(name, "./")
		ref.Name = name
		return ref, i + 1 + len(name), isPath(name)
	}
	number, n := number(rest)
	if n == 0 {
		return ref, 0, false
	}
	ref.Number = number
	for _, format := range []string{"+s", "+"} {
		if tail, found := strings.CutPrefix(rest[n:], format); found && closed(tail) {
			ref.Format = format
			return ref, i + 1 + n + len(format), true
		}
	}
	return ref, i + 1 + n, closed(rest[n:])
}

// number reads the digits at the beginning of a text; n is how many they are, 0 where they
// are no number of anything.
func number(text string) (value int64, n int) {
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	if n == 0 || n > 18 {
		return 0, 0
	}
	value, err := strconv.ParseInt(text[:n], 10, 64)
	if err != nil || value == 0 {
		return 0, 0
	}
	return value, n
}

// title reads the title of a label or a milestone, in quotes where it has spaces.
func title(text string, kind Kind) (name string, n int) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		end := strings.IndexAny(quoted[:min(len(quoted), maxName)], "\"\n")
		if end <= 0 || quoted[end] != '"' || strings.TrimSpace(quoted[:end]) == "" {
			return "", 0
		}
		return html.UnescapeString(quoted[:end]), end + 2
	}
	if r, _ := utf8.DecodeRuneInString(text); !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
		return "", 0
	}
	last := 0
	for i, r := range text[:min(len(text), maxName)] {
		wordy := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
		switch {
		case wordy:
			last = i + utf8.RuneLen(r)
		case kind == Label && !strings.ContainsRune("-?.&:", r), unicode.IsSpace(r), strings.ContainsRune("\"<\\", r), r == utf8.RuneError:
			return text[:last], last
		}
	}
	return text[:last], last
}

// hashes reads a word that is the hash of a commit or a range of two.
func hashes(word string) (ref Reference, n int, ok bool) {
	from, rest := hash(word)
	if from == "" {
		return ref, 0, false
	}
	if rest == "" {
		return Reference{Kind: Commit, From: from}, len(word), true
	}
	dots := ".."
	if strings.HasPrefix(rest, "...") {
		dots = "..."
	}
	tail, found := strings.CutPrefix(rest, dots)
	to, left := hash(tail)
	if !found || to == "" || left != "" {
		return ref, 0, false
	}
	return Reference{Kind: CommitRange, From: from, To: to, Dots: dots}, len(word), true
}

// hash cuts 7 to 40 hex digits off, not all of them decimal unless there are 40.
func hash(word string) (hash, rest string) {
	n, letters := 0, false
	for n < len(word) && (word[n] >= '0' && word[n] <= '9' || word[n] >= 'a' && word[n] <= 'f') {
		letters = letters || word[n] >= 'a'
		n++
	}
	if n < 7 || n > 40 || n < len(word) && (alnum(word[n]) || word[n] == '_' || word[n] == '-' || word[n] == '/') || !letters && n != 40 {
		return "", word
	}
	return word[:n], word[n:]
}

// hashRun is the word of hex digits and dots that a text begins with.
func hashRun(text string) string {
	n := 0
	for n < len(text) && n < 2*40+3 && (alnum(text[n]) || text[n] == '.') {
		n++
	}
	return strings.TrimRight(text[:n], ".")
}

// pathRun is the length of the path that a text begins with.
func pathRun(text string) int {
	n := 0
	for n < len(text) && wordByte(text[n]) {
		n++
	}
	return n
}

// isPath reports whether a word may be the path of a user, a group or a project.
func isPath(path string) bool {
	if path == "" || len(path) > 1024 {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment[0] == '-' || strings.HasSuffix(segment, ".") {
			return false
		}
	}
	return true
}

// closed reports whether what follows a reference lets it end there.
func closed(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// wordByte reports whether a byte may stand in a path.
func wordByte(c byte) bool { return alnum(c) || strings.IndexByte("_.-/", c) >= 0 }
