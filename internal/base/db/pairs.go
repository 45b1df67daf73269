package db

import "strings"

// Pair is two ids that belong together.
type Pair struct{ A, B int64 }

// Pairs returns the beginning of a statement that reads pairs as the columns a and b of a table
// named pairs, and its arguments: at most MaxArgs/2 pairs, and at least one.
func Pairs(pairs []Pair) (string, []any) {
	args := make([]any, 0, 2*len(pairs))
	for _, p := range pairs {
		args = append(args, p.A, p.B)
	}
	return "WITH pairs (a, b) AS (VALUES (CAST(? AS BIGINT), CAST(? AS BIGINT))" + strings.Repeat(", (?, ?)", len(pairs)-1) + ") ", args
}
