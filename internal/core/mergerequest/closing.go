package mergerequest

import (
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/pattern"
)

// The words that promise to close what follows them: "Closes #1, #2 and #3".
var (
	closingWords = pattern.New(`(?i)\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)(?::?[ \t]+|:)` +
		`((?:(?:issues?[ \t]+)?#\d{1,18}\b(?:[ \t]*(?:,?[ \t]+and[ \t]+|,)[ \t]*)?)+)`)
	issueNumber = pattern.New(`#(\d{1,18})`)
)

// maxClosing bounds the issues that one merge closes, and maxClosingText the text that
// is searched for them.
const (
	maxClosing     = 100
	maxClosingText = 1 << 20
)

// closingIIDs lists the numbers of issues of the same project that the texts promise to
// close, ascending, each once.
func closingIIDs(texts ...string) []int64 {
	var out []int64
	for _, text := range texts {
		if len(text) > maxClosingText {
			text = text[:maxClosingText]
		}
		for _, found := range closingWords().FindAllStringSubmatch(text, maxClosing) {
			for _, n := range issueNumber().FindAllStringSubmatch(found[1], maxClosing) {
				iid, err := strconv.ParseInt(n[1], 10, 64)
				if err == nil && iid > 0 && !slices.Contains(out, iid) {
					out = append(out, iid)
				}
			}
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxClosing)]
}

// issueList writes "#1", "#1 and #2" or "#1, #2, and #3".
func issueList(iids []int64) string {
	parts := make([]string, len(iids))
	for i, iid := range iids {
		parts[i] = "#" + strconv.FormatInt(iid, 10)
	}
	switch len(parts) {
	case 0:
		return ""
	case 1, 2:
		return strings.Join(parts, " and ")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + ", and " + parts[len(parts)-1]
}
