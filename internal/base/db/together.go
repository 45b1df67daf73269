package db

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"modernc.org/sqlite"
)

// Together calls fn for each number below n, all at once, and answers the reads of all calls with
// as many statements as one of them needs: when each call either waits for a read or is done, the
// reads that select the same columns become one statement, or as many as such statements may be long. fn gets a context that makes its reads
// part of this; it must not wait for another call in any other way. The first error ends Together
// when all calls are done. Within a transaction calls go one after the other.
func (d *DB) Together(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	if n <= 1 || d.current(ctx) != nil {
		for i := range n {
			if err := fn(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}
	g := &gathering{db: d, ctx: ctx, running: n}
	inner := context.WithValue(ctx, gatheringKey{}, g)
	failures, panics := make([]error, n), make([]any, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			defer g.leave()
			defer func() { panics[i] = recover() }()
			failures[i] = fn(inner, i)
		})
	}
	all.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

type gatheringKey struct{}

// gathering is the calls of one Together.
type gathering struct {
	db  *DB
	ctx context.Context // of the caller, for the statements of all

	mu      sync.Mutex
	running int // calls that neither wait nor are done
	waiting []*part
}

// part is the read of one call, and its rows: those of the common statement that carry its number.
type part struct {
	text   string
	args   []any
	read   func(ctx context.Context, s session, query string, args []any) error
	answer chan error

	*common
	number int64
	err    error
}

// common is the rows of a statement for several calls.
type common struct {
	resultRows
	columns []string // those of one call
	ahead   bool     // the current row has not been taken yet
	current int64    // number of the part that it is of
	ended   bool
}

// ownColumns is how many columns a common statement puts before those of its calls.
const ownColumns = 2

func (g *gathering) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	g.proceed()
}

// proceed answers what waits when no call runs any more. The lock is held.
func (g *gathering) proceed() {
	if g.running > 0 || len(g.waiting) == 0 {
		return
	}
	parts := g.waiting
	g.waiting, g.running = nil, len(parts)
	go g.answer(parts)
}

// statement waits until the read of a call is answered together with those of the others.
func (g *gathering) statement(query string, args []any, read func(ctx context.Context, s session, query string, args []any) error) error {
	p := &part{text: query, args: args, read: read, answer: make(chan error, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, p)
	g.running--
	g.proceed()
	g.mu.Unlock()
	return <-p.answer // the statement ends with the context of all calls
}

// answer reads for all parts, those with the same columns in one statement.
func (g *gathering) answer(parts []*part) {
	groups := map[string][]*part{}
	var order []string
	for _, p := range parts {
		columns := selected(p.text)
		if groups[columns] == nil {
			order = append(order, columns)
		}
		groups[columns] = append(groups[columns], p)
	}
	for _, columns := range order {
		most := len(parts)
		for _, group := range g.db.batches(groups[columns]) {
			for chunk := range slices.Chunk(group, most) {
				most = g.read(chunk, most)
			}
		}
	}
}

// read answers parts of the same columns with one statement, or in halves where SQLite refuses that: how many queries it takes within
// each other depends on their conditions as well. It returns how many parts the next statement may have: most, or fewer where these were too many.
func (g *gathering) read(parts []*part, most int) int {
	err := g.db.readFor(g.ctx, parts)
	const refused = 1 // the text of a statement, by SQLite
	if lite, ok := errors.AsType[*sqlite.Error](err); ok && lite.Code() == refused && len(parts) > 1 && parts[0].common == nil {
		half := len(parts) / 2
		return g.read(parts[half:], g.read(parts[:half], len(parts)-half))
	}
	for _, p := range parts {
		if err == nil {
			p.answer <- p.err
		} else {
			p.answer <- err
		}
	}
	return most
}

// The bounds of a common statement. SQLite takes 500 parts, some 440 queries within each other or side by side, and 32,766 values;
// PostgreSQL takes twice the values, and queries as they come.
const (
	maxParts   = 400
	maxQueries = 400
	maxValues  = 30_000
)

// batches cuts parts into those of one statement each. A part of its own may be larger.
func (d *DB) batches(parts []*part) [][]*part {
	var out [][]*part
	queries, values, from := 0, 0, 0
	for i, p := range parts {
		n := 1 + strings.Count(p.text, "SELECT")
		if i > from && (values+len(p.args) > maxValues || d.dialect == SQLite && (i-from >= maxParts || queries+n > maxQueries)) {
			out, from, queries, values = append(out, parts[from:i]), i, 0, 0
		}
		queries, values = queries+n, values+len(p.args)
	}
	return append(out, parts[from:])
}

// numberMark stands before a query that Number has marked.
const numberMark = "/*number*/"

// Number returns a column that is the whole number of a query. Reads that differ in nothing else of
// what they select are answered by one statement of Together.
func Number(query string) string { return numberMark + "(" + query + ")" }

// selected returns what a query selects: its text up to the FROM that is in no parentheses, without
// the queries of Number.
func selected(query string) string {
	depth, from, numbers := 0, 0, ""
	for i := 0; i < len(query); i++ {
		if n := opaque(query[i:]); n > 0 {
			if depth == 0 && query[i:i+n] == numberMark {
				numbers += query[from:i]
				from = -1
			}
			i += n - 1
			continue
		}
		switch c := query[i]; {
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 && from < 0 {
				from = i + 1
			}
		case depth == 0 && (c == ' ' || c == '\n' || c == '\t') && strings.HasPrefix(query[i+1:], "FROM") && len(query) > i+5 && strings.TrimSpace(query[i+5:i+6]) == "":
			return numbers + query[from:i]
		}
	}
	return query
}

// readFor runs the statement of several parts, and has each of them read its rows.
func (d *DB) readFor(ctx context.Context, parts []*part) (failure error) {
	defer func() {
		if p := recover(); p != nil { // it would end the server: no caller is above it
			failure = fmt.Errorf("read for many callers: %v\n%s", p, debug.Stack())
		}
	}()
	query, args := combined(d.dialect, parts)
	return d.statement(ctx, query, args, false, func(ctx context.Context, s session, query string, args []any) error {
		rows, err := s.query(ctx, query, args)
		if err != nil {
			return err
		}
		c := &common{resultRows: rows}
		c.columns, err = rows.Columns()
		if len(c.columns) >= ownColumns && err == nil { // fewer where the statement has failed
			c.columns = c.columns[ownColumns:]
			for i, p := range parts {
				p.common, p.number = c, int64(i)
				p.err = p.read(ctx, only{p}, query, args)
				for p.Next() { // what it left is not for the next one
				}
			}
		}
		err = errors.Join(err, rows.Err())
		return errors.Join(err, rows.Close())
	})
}

// combined is the statement that reads for several parts. Each row carries the number of its part
// and its own number in it. SQLite answers the parts one after the other, each in its own order: there
// nothing is numbered and sorted for that, which would take longer than the reads.
func combined(dialect Dialect, parts []*part) (string, []any) {
	var b strings.Builder
	var args []any
	if dialect == SQLite {
		for i, p := range parts {
			if i > 0 {
				b.WriteString(" UNION ALL ")
			}
			b.WriteString("SELECT " + strconv.Itoa(i) + ", 0, together_of.* FROM (" + p.text + ") together_of")
			args = append(args, p.args...)
		}
		return b.String(), args
	}
	b.WriteString("SELECT * FROM (")
	for i, p := range parts {
		if i > 0 {
			b.WriteString(" UNION ALL ")
		}
		b.WriteString("SELECT " + strconv.Itoa(i) + " AS together_part, ROW_NUMBER() OVER () AS together_row, together_of.* FROM (" + p.text + ") together_of")
		args = append(args, p.args...)
	}
	b.WriteString(") together ORDER BY together_part, together_row")
	return b.String(), args
}

// Columns returns those of the call.
func (p *part) Columns() ([]string, error) { return p.columns, nil }

// Next goes to the next row of the call.
func (p *part) Next() bool {
	c := p.common
	if !c.ahead && !c.ended {
		if c.ended = !c.resultRows.Next(); c.ended {
			return false
		}
		ignore := make([]any, ownColumns+len(c.columns))
		for i := range ignore {
			ignore[i] = new(any)
		}
		ignore[0] = &c.current
		if err := c.resultRows.Scan(ignore...); err != nil {
			c.ended = true
			return false
		}
		c.ahead = true
	}
	if c.ended || c.current != p.number {
		return false
	}
	c.ahead = false
	return true
}

// Scan reads the current row.
func (p *part) Scan(dest ...any) error {
	return p.resultRows.Scan(append([]any{new(int64), new(int64)}, dest...)...)
}

// Close leaves the rows to the other calls.
func (p *part) Close() error { return nil }

// only is the session in which one part is read: its rows are there already.
type only struct{ *part }

func (o only) exec(context.Context, string, []any) (int64, error) { return 0, errReading }

func (o only) query(context.Context, string, []any) (resultRows, error) { return o.part, nil }

var errReading = errors.New("reads that are answered together cannot write")

func gatheringOf(ctx context.Context) *gathering {
	g, _ := ctx.Value(gatheringKey{}).(*gathering)
	return g
}
