package page

import (
	"slices"
	"strings"

	"tenon/internal/base/db"
)

// Less is a list as what is left of a larger one.
type Less struct {
	Base    db.Where     // conditions of the larger list, which an index serves alone
	Without []Candidates // what the others leave out, exactly: rows of the larger list, and others
}

// maxWithout is how many rows may be left out for Less to be of use.
const maxWithout = 4 * MaxCounted

// countingLess is a statement that counts a list with Less. The larger list less the number of
// rows that may be left out of it tells of most lists that they have more than MaxCounted rows.
// Of the others the rows are counted whose ids are not among those that are left out. Where
// these are too many the statement is count.
func (q Query) countingLess(count string, countArgs []any) (query string, args []any) {
	l := q.Less
	var sizes []string
	var sizeArgs []any
	kept := l.Base
	for _, c := range l.Without {
		sizes = append(sizes, "SELECT COUNT(*) AS n FROM (SELECT x.id FROM ("+c.SQL+") x LIMIT ?) y")
		sizeArgs = append(append(sizeArgs, c.Args...), MaxCounted+1)
		kept.And(q.Key+" NOT IN ("+c.SQL+")", c.Args...)
	}
	const out = "(SELECT n FROM less)"
	larger := "SELECT COUNT(*) FROM (SELECT 1 AS one FROM " + q.Narrow + l.Base.SQL() + " LIMIT CAST(? AS BIGINT) + " + out + ") x"
	left, leftArgs := q.counting(kept, "")
	// A set that was not counted to its end counts for more than may be left out.
	query = "WITH less AS MATERIALIZED (SELECT CAST(SUM(CASE WHEN z.n > ? THEN ? ELSE z.n END) AS BIGINT) AS n FROM (" + strings.Join(sizes, " UNION ALL ") + ") z)" +
		" SELECT CASE WHEN " + out + " > ? THEN (" + count + ") WHEN (" + larger + ") > ? + " + out + " THEN ? ELSE (" + left + ") END"
	return query, slices.Concat([]any{MaxCounted, maxWithout + 1}, sizeArgs, []any{maxWithout}, countArgs,
		l.Base.Args(), []any{MaxCounted + 1, MaxCounted, MaxCounted + 1}, leftArgs)
}
