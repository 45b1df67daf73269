package page

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/db"
)

// Candidates are rows found by an index, and all rows of the list are among them.
type Candidates struct {
	SQL     string // selects their ids as id
	Args    []any
	Repeats bool // selects some ids more than once; not of exact ones
	Exact   bool // they are the rows of the list
	Costly  bool // are not looked at where others are few

	// Rest are the conditions of the list without those that all candidates meet by themselves;
	// nil is all of Query.Where. Those that ask for nothing but the id of a row may stand in Keyed
	// instead, where the id is candidate.id: they are asked one after the other, and rows that do
	// not meet them are not read.
	Rest  *db.Where
	Keyed []db.Where

	// Where the candidates are exact and alone, and hardly ever more than MaxCounted, they are
	// read from this table, which has the columns of Key and Order, without counting them before
	// and without Where: such as "projects p".
	Table string
}

// rest returns the conditions that tell which of the candidates are rows of the list.
func (c Candidates) rest(q Query) db.Where {
	if c.Rest != nil {
		return *c.Rest
	}
	return q.Where
}

// keyed returns the candidates, each once, that meet the conditions on their ids. The limit keeps
// SQLite from asking for these conditions after it has read the row.
func (c Candidates) keyed() (query string, args []any) {
	query, args = c.SQL, slices.Clip(c.Args)
	if c.Repeats {
		query = "SELECT DISTINCT x.id FROM (" + query + ") x"
	}
	for _, w := range c.Keyed {
		if cond := w.SQL(); cond != "" {
			query = "SELECT candidate.id FROM (" + query + ") candidate" + cond + " LIMIT ?"
			args = slices.Concat(args, w.Args(), []any{math.MaxInt64})
		}
	}
	return query, args
}

// atOnce reports whether a list is read from its only candidates without counting them.
func (q Query) atOnce(c *Cut) bool {
	return len(q.Candidates) == 1 && q.Candidates[0].Exact && q.Candidates[0].Table != "" && !c.uncounted
}

// Places are what the rows of the list stand in, each with an index in the order of the
// list. A page is read from the first rows of each place, where these are few: the rows of
// the list may be far apart in the order of all rows.
type Places struct {
	SQL  string // selects the places, as id
	Args []any
	From string // tables of Where that belong to a place, to follow it, such as "CROSS JOIN projects p"
	On   string // how they belong to it, such as "p.namespace_id = place.id"
	Rows string // the table of the rows with the alias of Key, such as "issues i"
}

const (
	maxPlaces    = 200
	maxPlaceRows = 10_000 // that are read for a page
)

// few candidates are not worth looking for fewer.
const few = 500

// larger is how many times larger a set of candidates may be than the smallest one, to be
// searched for the rows that both have: that reads all of it, in the order of an index.
const larger = 8

// found reads a page of the rows among few candidates: they are found and counted once,
// and sorted as a whole. What is sorted up to a limit is sorted one by one in SQLite.
func found[T any](ctx context.Context, d *db.DB, q Query, r Range, c *Cut, among Candidates) (Page[T], error) {
	outer, err := r.Cut(q.Order.Of("found"))
	if err != nil {
		return Page[T]{}, err
	}
	w := among.rest(q)
	tables, tableArgs := q.among(d, among, &w)
	c.Beyond(&w)
	keys, keyArgs := q.Order.Keys()
	by, byArgs := c.OrderBy()
	foundBy, _ := outer.OrderBy()
	limit, limitArgs := c.Limit()
	query := func(columns string) string {
		return "SELECT " + q.Columns + columns + q.ofRows(d, "WITH found AS MATERIALIZED (SELECT "+q.Key+keys+" FROM "+tables+w.SQL()+by+")"+
			" SELECT found.id, (SELECT COUNT(*) FROM found) AS total FROM found"+foundBy+limit) + by
	}
	args := slices.Concat(q.ColumnArgs, keyArgs, tableArgs, w.Args(), byArgs, limitArgs, q.FromArgs, byArgs)
	if c.uncounted {
		count := q.countAmong(d, among)
		total, totalArgs := c.total(count)
		return ofPage[T](ctx, d, c, count, query(c.Keys()+total), slices.Concat(q.ColumnArgs, totalArgs, args[len(q.ColumnArgs):])...)
	}
	p := Page[T]{order: c.order, Total: c.offset}
	var totals [][]any
	p.Items, totals, err = db.SelectWith[T](ctx, d, func() []any { return []any{new(int64)} }, query(", page.total"), args...)
	switch {
	case err != nil:
		return Page[T]{}, err
	case len(totals) > 0:
		p.Total = int(*totals[0][0].(*int64))
	case c.Unknown(0): // past the end
		p.Total, err = q.countAmong(d, among).read(ctx, d)
	}
	p.cut(c)
	return p, err
}

// among returns the tables to read the candidates from, the candidates first: SQLite keeps
// the order of a CROSS JOIN.
func (q Query) among(d *db.DB, c Candidates, w *db.Where) (tables string, args []any) {
	if c.Exact && c.Table != "" {
		*w = db.Where{}
		w.Raw(q.Key + " = candidate.id")
		return "(SELECT x.id FROM (" + c.SQL + ") x LIMIT ?) candidate CROSS JOIN " + c.Table, append(slices.Clip(c.Args), MaxCounted+1)
	}
	w.Raw(q.Key + " = candidate.id")
	query, args := c.keyed()
	return "(" + query + ") candidate CROSS JOIN " + d.Dialect().ByID(q.Narrow, q.Key, "candidate.id"), args
}

// countAmong counts a list, to MaxCounted + 1 at most.
func (q Query) countAmong(d *db.DB, c Candidates) tally {
	w := c.rest(q)
	tables, args := q.among(d, c, &w)
	return tally{
		query: "SELECT COUNT(*) FROM (SELECT 1 AS one FROM " + tables + w.SQL() + " LIMIT ?) x",
		args:  slices.Concat(args, w.Args(), []any{MaxCounted + 1}),
	}
}

// selectAmong reads the list from the smallest set of candidates. Where all of them are
// large the rows of the list are not far apart in its order.
func selectAmong[T any](ctx context.Context, d *db.DB, q Query, r Range, c *Cut) (Page[T], error) {
	if q.atOnce(c) {
		only := q.Candidates[0]
		key := largeKey(only.SQL, only.Args)
		if !key.known(d) {
			p, err := found[T](ctx, d, q, r, c, only)
			if err != nil || p.Total <= MaxCounted {
				return p, err
			}
			key.learn(d, p.Total)
		}
	}
	least, n, err := q.fewest(ctx, d)
	if err != nil {
		return Page[T]{}, err
	}
	if n <= MaxCounted {
		return found[T](ctx, d, q, r, c, least)
	}
	if c, err = q.common(r, c); err != nil {
		return Page[T]{}, err
	}
	count := q.countAmong(d, least)
	if least.Exact {
		count.known = &n
	}
	if q.Places != nil && c.limit > 0 {
		places, err := db.Get[int](ctx, d, "SELECT COUNT(*) FROM (SELECT x.id FROM ("+q.Places.SQL+") x LIMIT ?) y",
			append(slices.Clip(q.Places.Args), maxPlaces+1)...)
		if err != nil {
			return Page[T]{}, err
		}
		if places <= maxPlaces && places*(c.offset+c.limit) <= maxPlaceRows {
			return inPlaces[T](ctx, d, q, c, count)
		}
	}
	return inOrder[T](ctx, d, q, c, count)
}

// inPlaces reads a page from the first rows of each place.
func inPlaces[T any](ctx context.Context, d *db.DB, q Query, c *Cut, count tally) (Page[T], error) {
	w := q.Where
	c.Beyond(&w)
	by, byArgs := c.OrderBy()
	limit, limitArgs := c.Limit()
	table, _, _ := strings.Cut(q.Places.Rows, " ")
	join, cond := d.Dialect().Lateral(table, "top", "SELECT "+q.Key+" FROM "+q.Places.Rows+w.SQL()+by+" LIMIT ?")
	args := slices.Concat(w.Args(), byArgs, []any{c.offset + c.limit + 1})
	total, totalArgs := c.total(count)
	query := "SELECT " + q.Columns + c.Keys() + total + q.ofRows(d, "WITH first AS MATERIALIZED (SELECT top.id FROM ("+q.Places.SQL+") place "+
		q.Places.From+join+" WHERE "+q.Places.On+" AND "+cond+") SELECT first.id FROM first") + by + limit
	return ofPage[T](ctx, d, c, count, query, slices.Concat(q.ColumnArgs, totalArgs, q.Places.Args, args, q.FromArgs, byArgs, limitArgs)...)
}

// fewest returns the smallest set of candidates and its size, MaxCounted + 1 for more. Of one that
// is not small it leaves out what sets that are not much larger do not have. It takes a second
// statement where there are costly sets that are worth a look.
func (q Query) fewest(ctx context.Context, d *db.DB) (least Candidates, n int, err error) {
	n = MaxCounted + 2
	var counted []sized
	for _, costly := range []bool{false, true} {
		var sets []Candidates
		for _, c := range q.Candidates {
			if c.Costly == costly {
				sets = append(sets, c)
			}
		}
		if len(sets) == 0 || n <= few {
			continue
		}
		found, err := sizes(ctx, d, sets)
		if err != nil {
			return least, 0, err
		}
		if size := found[0].n; size < n || least.SQL == "" || size == n && found[0].Exact {
			least, n = found[0].Candidates, size
		}
		counted = append(counted, found...)
	}
	return least.within(counted, n), n, nil
}

// sized is a set of candidates with its size.
type sized struct {
	Candidates
	n int
}

// within leaves out of a set of n candidates what others of little more size do not have.
func (c Candidates) within(sets []sized, n int) Candidates {
	if n <= few || n > MaxCounted {
		return c
	}
	own := c.SQL
	for _, other := range sets {
		if other.SQL == own || other.n > MaxCounted || other.n > larger*n {
			continue
		}
		c.SQL = "SELECT x.id FROM (" + c.SQL + ") x INTERSECT SELECT x.id FROM (" + other.SQL + ") x"
		c.Args, c.Repeats = slices.Concat(c.Args, other.Args), false
	}
	return c
}

// sizes returns sets of candidates, the smallest first, with their sizes, in which ids count as
// often as they are selected.
func sizes(ctx context.Context, d *db.DB, sets []Candidates) ([]sized, error) {
	type size struct {
		Which int `db:"which"`
		N     int `db:"n"`
	}
	var parts []string
	var args []any
	var many []sized // sets that are known to be large, which are not counted again
	keys := make([]large, len(sets))
	for i, c := range sets {
		if keys[i] = largeKey(c.SQL, c.Args); keys[i].known(d) {
			many = append(many, sized{c, MaxCounted + 1})
			continue
		}
		parts = append(parts, "SELECT "+strconv.Itoa(i)+" AS which, COUNT(*) AS n FROM (SELECT x.id FROM ("+c.SQL+") x LIMIT ?) y")
		args = append(append(args, c.Args...), MaxCounted+1)
	}
	if len(parts) == 0 {
		return many, nil
	}
	rows, err := db.Select[size](ctx, d, strings.Join(parts, " UNION ALL ")+" ORDER BY n, which", args...)
	out := make([]sized, len(rows))
	for i, r := range rows {
		keys[r.Which].learn(d, r.N)
		out[i] = sized{sets[r.Which], r.N}
	}
	return append(out, many...), err
}
