package page

import (
	"context"
	"slices"
	"strings"

	"tenon/internal/base/db"
)

// Query is a list in the database.
type Query struct {
	Columns    string // of a row
	ColumnArgs []any
	From       string // the tables of Columns, such as "badges b"
	FromArgs   []any
	Where      db.Where
	Order      Order

	// Where Columns are costly, Key names the id of a row. The rows of the page are then
	// found in Narrow, the tables of Where and Order, before Columns are read for them.
	Key    string
	Narrow string

	// Where conditions are served by other indexes than the order is, each of them says
	// which rows it leaves. A list with candidates has a Key.
	Candidates []Candidates
	Places     *Places // nil where the rows are in no places, or in many

	// Along is an order that an index serves and in which rows stand side by side in the table:
	// they are counted in it, so that each page of the table is read once; "" leaves the order to
	// the database.
	Along string

	// Less says, where it is not nil, what the conditions of the list leave out of a larger one,
	// so that it is counted without a look at its rows.
	Less *Less

	// Common is the order of a list that has no small set of candidates, where Order would
	// rank all its rows; nil keeps Order.
	Common Order
}

// Select reads a page of a list. It takes one statement, one more to count where r asks
// for it and the page does not tell the total itself, and one more to choose among
// candidates.
func Select[T any](ctx context.Context, d *db.DB, q Query, r Range) (Page[T], error) {
	c, err := r.Cut(q.Order)
	if err != nil {
		return Page[T]{}, err
	}
	if len(q.Candidates) > 0 {
		return selectAmong[T](ctx, d, q, r, c)
	}
	if c, err = q.common(r, c); err != nil {
		return Page[T]{}, err
	}
	return inOrder[T](ctx, d, q, c, q.count())
}

// common takes the order for large lists, where there is one.
func (q *Query) common(r Range, c *Cut) (*Cut, error) {
	if q.Common == nil {
		return c, nil
	}
	q.Order = q.Common
	return r.Cut(q.Order)
}

// inOrder reads a page in the order of the list.
func inOrder[T any](ctx context.Context, d *db.DB, q Query, c *Cut, count tally) (Page[T], error) {
	w := q.Where
	c.Beyond(&w)
	by, byArgs := c.OrderBy()
	limit, limitArgs := c.Limit()
	total, totalArgs := c.total(count)
	columns, args := "SELECT "+q.Columns+c.Keys()+total, slices.Concat(q.ColumnArgs, totalArgs)
	if q.Key == "" {
		return ofPage[T](ctx, d, c, count, columns+" FROM "+q.From+w.SQL()+by+limit, slices.Concat(args, q.FromArgs, w.Args(), byArgs, limitArgs)...)
	}
	rows := "SELECT " + q.Key + " FROM " + q.Narrow + w.SQL() + by + limit
	return ofPage[T](ctx, d, c, count, columns+q.ofRows(d, rows)+by, slices.Concat(args, w.Args(), byArgs, limitArgs, q.FromArgs, byArgs)...)
}

// ofRows reads From for the rows with the ids that a query selects. SQLite keeps the order of a CROSS JOIN:
// it does not know how few rows the LIMIT of a query leaves, and would read all of From. PostgreSQL knows, but where it
// takes these few for costly it no longer sees what reading all of From adds.
func (q Query) ofRows(d *db.DB, ids string) string {
	return " FROM (" + ids + ") page CROSS JOIN " + d.Dialect().ByID(q.From, q.Key, "page.id") + " WHERE page.id = " + q.Key
}

// ofPage reads a page, and counts the list where the page does not tell its length.
func ofPage[T any](ctx context.Context, d *db.DB, c *Cut, count tally, query string, args ...any) (Page[T], error) {
	p, err := Read[T](ctx, d, c, query, args...)
	if err != nil {
		return p, err
	}
	if c.Unknown(len(p.Items)) || c.counted && p.Total < 0 {
		p.Total, err = count.read(ctx, d)
	}
	return p, err
}

// Count counts a list, to MaxCounted + 1 at most.
func (q Query) Count(ctx context.Context, d *db.DB) (int, error) { return q.count().read(ctx, d) }

// count counts the list.
func (q Query) count() tally {
	count, args := q.counting(q.Where, q.Along)
	if q.Less != nil {
		count, args = q.countingLess(count, args)
	}
	return tally{query: count, args: args}
}

// tally is how a list is counted: by a statement, or it was before.
type tally struct {
	query string
	args  []any
	known *int // what the statement gave
}

func (t tally) read(ctx context.Context, d *db.DB) (int, error) {
	if t.known != nil {
		return *t.known, nil
	}
	key := largeKey(t.query, t.args)
	if key.known(d) {
		return MaxCounted + 1, nil
	}
	n, err := db.Get[int](ctx, d, t.query, t.args...)
	key.learn(d, n)
	return n, err
}

// counting is a statement that counts rows with conditions, to MaxCounted + 1 at most.
func (q Query) counting(w db.Where, along string) (count string, args []any) {
	from, fromArgs := q.From, q.FromArgs
	if q.Key != "" {
		from, fromArgs = q.Narrow, nil
	}
	if along != "" {
		along = " ORDER BY " + along
	}
	return "SELECT COUNT(*) FROM (SELECT 1 AS one FROM " + from + w.SQL() + along + " LIMIT ?) x", slices.Concat(fromArgs, w.Args(), []any{MaxCounted + 1})
}

// Cut is the part of an ordered list that a Range asks for, as pieces of SQL. Lists that
// need a statement of their own put it together from them; the others use Select.
type Cut struct {
	order     Order
	limit     int
	offset    int
	keyset    bool
	uncounted bool
	counted   bool // in the statement that reads the page
	back      bool
	edge      []any // values of the order's columns in the row where the page begins; nil for none
}

// Cut applies the range to an order. It returns ErrOrder where cursors are asked for and the
// order has none, and ErrCursor for a cursor of something else.
func (r Range) Cut(o Order) (*Cut, error) {
	c := &Cut{order: o, limit: r.Limit, offset: r.Offset, keyset: r.Keyset, uncounted: r.Uncounted || r.Keyset, counted: r.Keyset && r.Counted}
	if !r.Keyset {
		return c, nil
	}
	if !o.keyed() {
		return nil, ErrOrder
	}
	c.offset, c.back = 0, r.Back
	if r.Cursor != "" {
		edge, back, err := o.decode(r.Cursor)
		if err != nil {
			return nil, err
		}
		c.edge, c.back = edge, r.Back || back
	}
	return c, nil
}

// Keys are the columns that follow those of the rows, each with a comma before it.
func (c *Cut) Keys() string {
	if !c.keyset {
		return ""
	}
	keys, _ := c.order.Keys() // columns with arguments have no cursors
	return keys
}

// total is the column that follows Keys where the list is counted in the same statement.
func (c *Cut) total(count tally) (column string, args []any) {
	if !c.counted {
		return "", nil
	}
	return ", " + db.Number(count.query) + " AS page_total", count.args
}

// OrderBy is the ORDER BY clause with its arguments.
func (c *Cut) OrderBy() (clause string, args []any) {
	parts := make([]string, len(c.order))
	for i, col := range c.order {
		parts[i] = col.sql
		args = append(args, col.args...)
		if col.desc != c.back {
			parts[i] += " DESC"
		} else {
			parts[i] += " ASC"
		}
		switch {
		case col.null == never:
		case c.nullsFirst(col):
			parts[i] += " NULLS FIRST"
		default:
			parts[i] += " NULLS LAST"
		}
	}
	return " ORDER BY " + strings.Join(parts, ", "), args
}

// Limit is the LIMIT clause with its arguments. Where nothing else tells that rows follow
// the page, it reads one row more than the page has.
func (c *Cut) Limit() (clause string, args []any) {
	switch {
	case c.limit <= 0:
		return "", nil
	case c.keyset:
		return " LIMIT ?", []any{c.limit + 1}
	case c.uncounted:
		return " LIMIT ? OFFSET ?", []any{c.limit + 1, c.offset}
	}
	return " LIMIT ? OFFSET ?", []any{c.limit, c.offset}
}

// Beyond keeps the rows that follow the cursor in the direction of reading.
func (c *Cut) Beyond(w *db.Where) {
	if c.edge == nil {
		return
	}
	if c.even() {
		sign := " > "
		if c.order[0].desc != c.back {
			sign = " < "
		}
		names := make([]string, len(c.order))
		for i, col := range c.order {
			names[i] = col.sql
		}
		if len(names) == 1 {
			w.And(names[0]+sign+"?", c.edge...)
			return
		}
		w.And("("+strings.Join(names, ", ")+")"+sign+"("+strings.Repeat("?, ", len(names)-1)+"?)", c.edge...)
		return
	}
	var alternatives, same []string
	var args, sameArgs []any
	for i, col := range c.order {
		past, pastArgs := c.past(i)
		if past != "" {
			alternatives = append(alternatives, "("+strings.Join(append(slices.Clone(same), past), " AND ")+")")
			args = slices.Concat(args, sameArgs, pastArgs)
		}
		if c.edge[i] == nil {
			same = append(same, col.sql+" IS NULL")
			continue
		}
		same, sameArgs = append(same, col.sql+" = ?"), append(sameArgs, c.edge[i])
	}
	if c.order[0].null == never { // implied by the rest, and read from an index
		sign := " >= ?"
		if c.order[0].desc != c.back {
			sign = " <= ?"
		}
		w.And(c.order[0].sql+sign, c.edge[0])
	}
	w.And("("+strings.Join(alternatives, " OR ")+")", args...)
}

// nullsFirst reports whether NULL is read before all values.
func (c *Cut) nullsFirst(col Column) bool {
	switch col.null {
	case low:
		return col.desc == c.back
	case high:
		return col.desc != c.back
	}
	return c.back
}

// even reports whether one comparison of rows tells what is beyond the edge.
func (c *Cut) even() bool {
	for _, col := range c.order {
		if col.null != never || col.desc != c.order[0].desc {
			return false
		}
	}
	return true
}

// past is the condition that a row is beyond the edge by column i; "" if none can be.
func (c *Cut) past(i int) (string, []any) {
	col, edge := c.order[i], c.edge[i]
	switch {
	case edge == nil && c.nullsFirst(col):
		return col.sql + " IS NOT NULL", nil
	case edge == nil:
		return "", nil
	}
	sign := " > ?"
	if col.desc != c.back {
		sign = " < ?"
	}
	if col.null != never && !c.nullsFirst(col) {
		return "(" + col.sql + sign + " OR " + col.sql + " IS NULL)", []any{edge}
	}
	return col.sql + sign, []any{edge}
}

// Unknown reports whether a page of so many rows leaves open how long the list is, and the
// range asks for it.
func (c *Cut) Unknown(rows int) bool {
	return !c.uncounted && c.limit > 0 && (rows >= c.limit || rows == 0 && c.offset > 0)
}

// Read runs a statement that was put together from the pieces of a Cut, with Keys at the
// end of its columns, and the total after them where it is counted too. Otherwise the total is that
// of a page which is not full, and -1 for others.
func Read[T any](ctx context.Context, d *db.DB, c *Cut, query string, args ...any) (Page[T], error) {
	p := Page[T]{order: c.order, Keyset: c.keyset, Total: -1}
	var err error
	if c.keyset {
		var keys [][]any
		fresh := c.order.fresh
		if c.counted {
			fresh = func() []any { return append(c.order.fresh(), new(int64)) }
		}
		p.Items, keys, err = db.SelectWith[T](ctx, d, fresh, query, args...)
		p.edges = make([][]*string, len(keys))
		for i, row := range keys {
			p.edges[i] = texts(row[:len(c.order)])
		}
		switch {
		case !c.counted:
		case len(keys) > 0:
			p.Total = int(*keys[0][len(c.order)].(*int64))
		case c.edge == nil:
			p.Total = 0
		}
	} else {
		p.Items, err = db.Select[T](ctx, d, query, args...)
	}
	if err != nil {
		return Page[T]{}, err
	}
	rows := len(p.Items)
	p.cut(c)
	if !c.uncounted && !c.Unknown(rows) {
		p.Total = c.offset + rows
	}
	return p, nil
}
