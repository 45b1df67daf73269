package db

import (
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold makes the form of a text that is compared without regard to case or
// compatibility variants: what is in columns named *_fold.
func Fold(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Folded is the SQL for a text as [Fold] makes it. The column fold keeps only texts for which
// lower() of the engines differs: it is NULL for a text of ASCII alone. NULL is "".
func Folded(column, fold string) string {
	return "COALESCE(" + fold + ", lower(" + column + "), '')"
}

// UnfoldedSQL is the condition that a sparse column of folds lacks the fold of its text: the row
// was not written by [Insert] or [Update], or is older than the column.
func UnfoldedSQL(column, fold string) string {
	return fold + " IS NULL AND octet_length(" + column + ") > length(" + column + ")"
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
