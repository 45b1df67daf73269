package mergerequest

import "strings"

// draftMarks are the prefixes that make a title a draft's, in lower case.
var draftMarks = [...]string{"draft:", "[draft]", "(draft)"}

// IsDraft reports whether a title marks its request as a draft.
func IsDraft(title string) bool { return cutDraft(title) != title }

// WithoutDraft returns the title without its draft marks.
func WithoutDraft(title string) string { return strings.TrimSpace(cutDraft(title)) }

// IsDraftCommit reports whether the title of a commit says that it is not to be merged as it is.
func IsDraftCommit(title string) bool {
	title = strings.TrimLeft(title, " \t")
	for _, mark := range [...]string{"fixup! ", "squash! "} {
		if strings.HasPrefix(title, mark) {
			return true
		}
	}
	return draftMark(title) > 0
}

// Drafted returns the title of a draft, or that of a request that is ready.
func Drafted(title string, draft bool) string {
	switch {
	case !draft:
		return WithoutDraft(title)
	case IsDraft(title):
		return title
	}
	return "Draft: " + title
}

// cutDraft takes the whole run of draft marks off a title; a title without one comes
// back as it is.
func cutDraft(title string) string {
	rest := title
	for {
		trimmed := strings.TrimLeft(rest, " \t")
		mark := draftMark(trimmed)
		if mark == 0 {
			if rest == title {
				return title
			}
			return trimmed
		}
		rest = trimmed[mark:]
	}
}

// draftMark returns the length of the draft mark a text begins with, 0 for none.
func draftMark(text string) int {
	for _, mark := range draftMarks {
		if len(text) >= len(mark) && strings.EqualFold(text[:len(mark)], mark) {
			return len(mark)
		}
	}
	return 0
}
