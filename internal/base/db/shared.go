package db

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Around a query that Shared has marked.
const (
	sharedOpen  = "/*shared*/"
	sharedClose = "/*end*/"
)

// Shared marks a query that is in a condition, as in "n.id IN (" + Shared(query) + ")", and names
// no column from outside. PostgreSQL runs it once for a whole SELECT, also where that has it several times with
// equal arguments. It pays for conditions with OR, which PostgreSQL answers by a hash table: it takes the making of this
// table for a cost of each row that another one is joined to, and would rather read all rows. Elsewhere it would lose the
// indexes that a join goes by.
func Shared(query string) string { return sharedOpen + query + sharedClose }

// piece is a part of a query up to a ? mark, or to where a shared query begins or ends.
type piece struct {
	sql    string // without the mark
	mark   bool   // one follows
	shared int    // 1 for the pieces of the first query that is marked as shared, and so on; 0 for others
}

// cut cuts a SELECT at its marks if it has shared queries. Otherwise it returns nil.
func cut(query string) []piece {
	if !strings.Contains(query, sharedOpen) || !strings.HasPrefix(query, "SELECT") {
		return nil
	}
	var out []piece
	from, shared, marked := 0, 0, 0
	for i := 0; i < len(query); {
		n := opaque(query[i:])
		switch {
		case n == len(sharedOpen) && query[i:i+n] == sharedOpen:
			out = append(out, piece{query[from:i], false, shared})
			marked++
			from, shared = i+n, marked
		case n == len(sharedClose) && query[i:i+n] == sharedClose:
			out = append(out, piece{query[from:i], false, shared})
			from, shared = i+n, 0
		case n == 0 && query[i] == '?':
			out = append(out, piece{query[from:i], true, shared})
			from = i + 1
		}
		i += max(n, 1)
	}
	return append(out, piece{query[from:], false, shared})
}

// occurrence is a shared query in a statement.
type occurrence struct {
	pieces []piece
	args   []any
	name   string
}

// same reports whether two queries give the same rows.
func (o *occurrence) same(other *occurrence) bool {
	if len(o.pieces) != len(other.pieces) || !reflect.DeepEqual(o.args, other.args) {
		return false
	}
	for i := range o.pieces {
		if o.pieces[i].sql != other.pieces[i].sql || o.pieces[i].mark != other.pieces[i].mark {
			return false
		}
	}
	return true
}

// occurrences collects the shared queries of a statement. Those that are equal are one.
func occurrences(pieces []piece, args []any) []*occurrence {
	var out []*occurrence
	for _, p := range pieces {
		n := 0
		if p.mark {
			n = 1
		}
		if p.shared > 0 {
			if p.shared > len(out) {
				out = append(out, &occurrence{})
			}
			o := out[p.shared-1]
			o.pieces, o.args = append(o.pieces, p), append(o.args, args[:n]...)
		}
		args = args[n:]
	}
	names := 0
	for i, o := range out {
		if j := slices.IndexFunc(out[:i], o.same); j >= 0 {
			out[i] = out[j]
			continue
		}
		names++
		o.name = "shared_" + strconv.Itoa(names)
	}
	return out
}

// shareQueries writes a statement for PostgreSQL in which shared queries stand once each, at its beginning,
// and returns its arguments.
func shareQueries(pieces []piece, args []any) (string, []any) {
	all := occurrences(pieces, args)
	var b strings.Builder
	var bound []any
	write := func(p piece, rest []any) []any {
		b.WriteString(p.sql)
		if !p.mark {
			return rest
		}
		bound = append(bound, rest[0])
		b.WriteString("$" + strconv.Itoa(len(bound)))
		return rest[1:]
	}
	written := map[string]bool{}
	for _, o := range all {
		if written[o.name] {
			continue
		}
		if len(written) == 0 {
			b.WriteString("WITH ")
		} else {
			b.WriteString(", ")
		}
		written[o.name] = true
		b.WriteString(o.name + " AS MATERIALIZED (")
		rest := o.args
		for _, p := range o.pieces {
			rest = write(p, rest)
		}
		b.WriteString(")")
	}
	b.WriteString(" ")
	last := 0
	for _, p := range pieces {
		if p.shared == 0 {
			args = write(p, args)
			continue
		}
		if p.shared > last {
			last = p.shared
			b.WriteString("SELECT * FROM " + all[p.shared-1].name)
		}
		if p.mark {
			args = args[1:]
		}
	}
	return b.String(), bound
}
