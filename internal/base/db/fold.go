package db

import (
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold makes the form of a text that is compared without regard to case or
// compatibility variants: what stands in columns named *_fold.
func Fold(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= 0x80 {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(s)
	}
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

// LikePattern escapes what LIKE takes for a wildcard. Compare with
// LIKE ? ESCAPE '\' and add the % signs you mean yourself.
func LikePattern(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// Terms folds the words of a search, leaving out those that stand inside another one: a
// text that holds the longer word holds the shorter one.
func Terms(words []string) []string {
	var out []string
	for _, word := range words {
		word = Fold(word)
		if slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, word) }) {
			continue
		}
		out = append(slices.DeleteFunc(out, func(s string) bool { return strings.Contains(word, s) }), word)
	}
	return out
}
