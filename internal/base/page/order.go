package page

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/base/db"
)

// Column is one column that a list is sorted by. Make it with ID, Int, Text, Time, Bool or
// Computed.
type Column struct {
	name string // in cursors
	sql  string // over the tables of the query
	kind kind
	args []any // of sql

	desc  bool // from the largest to the smallest
	fixed bool // the same in both directions of the order
	null  nulls

	compare func(a, b string) int // of the texts of a Slice; nil compares bytes
}

// nulls says where the rows are in which a column is NULL.
type nulls int

const (
	never nulls = iota
	last        // in both directions
	low         // as the smallest value
	high        // as the largest
)

type kind int

const (
	integer kind = iota
	text
	moment
	truth
	computed // has no place in a cursor
)

// ID is the column that tells rows of the same rank apart.
func ID(sql string) Column { return Column{name: "id", sql: sql} }

// Int is a column of integers. Name is in cursors.
func Int(name, sql string) Column { return Column{name: name, sql: sql} }

// Text is a column of texts.
func Text(name, sql string) Column { return Column{name: name, sql: sql, kind: text} }

// Time is a column of type {{time}}.
func Time(name, sql string) Column { return Column{name: name, sql: sql, kind: moment} }

// Bool is a column of type BOOLEAN.
func Bool(name, sql string) Column { return Column{name: name, sql: sql, kind: truth} }

// Computed is an expression that no index serves: lists in such an order have no cursors.
func Computed(sql string, args ...any) Column { return Column{sql: sql, kind: computed, args: args} }

// By compares the texts of the column, in a Slice, with a function.
func (c Column) By(compare func(a, b string) int) Column { c.compare = compare; return c }

// Desc sorts by the column from the largest value to the smallest.
func (c Column) Desc() Column { c.desc = !c.desc; return c }

// Fixed keeps the direction of the column when the order is reversed.
func (c Column) Fixed() Column { c.fixed = true; return c }

// Null says that the column may be NULL, which comes last in both directions.
func (c Column) Null() Column { c.null = last; return c }

// NullLow says that the column may be NULL, which counts as less than any value.
func (c Column) NullLow() Column { c.null = low; return c }

// NullHigh says that the column may be NULL, which counts as more than any value.
func (c Column) NullHigh() Column { c.null = high; return c }

// Order is what a list is sorted by. Its last column differs from row to row.
type Order []Column

// Desc is the order in the opposite direction.
func (o Order) Desc() Order {
	out := make(Order, len(o))
	for i, c := range o {
		if !c.fixed {
			c.desc = !c.desc
		}
		out[i] = c
	}
	return out
}

// Keys are the columns of the order for a list of columns, each with a comma before it, and
// their arguments.
func (o Order) Keys() (columns string, args []any) {
	var b strings.Builder
	for i, c := range o {
		b.WriteString(", " + c.sql + " AS page_key_" + strconv.Itoa(i))
		args = append(args, c.args...)
	}
	return b.String(), args
}

// Of is the order by the Keys of a subquery.
func (o Order) Of(subquery string) Order {
	out := make(Order, len(o))
	for i, c := range o {
		c.sql, c.args = subquery+".page_key_"+strconv.Itoa(i), nil
		out[i] = c
	}
	return out
}

// keyed reports whether lists in this order have cursors.
func (o Order) keyed() bool {
	for _, c := range o {
		if c.kind == computed {
			return false
		}
	}
	return len(o) > 0
}

// Orders are the orders of a list by the names that clients give, in ascending form. The
// name "" is the order of a list whose client names none, or an unknown one.
type Orders map[string]Order

// By returns an order by its name.
func (o Orders) By(name string) Order {
	if order, ok := o[name]; ok {
		return order
	}
	return o[""]
}

// Sorted reads an order that is named by column and direction, such as created_desc, in small or
// capital letters: what a list sorts by, and whether the smallest comes first.
func Sorted(name string) (by string, asc bool) {
	by, asc = strings.CutSuffix(strings.ToLower(name), "_asc")
	switch by = strings.TrimSuffix(by, "_desc"); by {
	case "created", "updated":
		by += "_at"
	}
	return by, asc
}

// Directions of a cursor.
const (
	forward  = "n"
	backward = "p"
)

// maxCursor is how long a cursor may be, in bytes: the longest column is a text of 1,024
// characters.
const maxCursor = 16 << 10

// Cursor is the cursor for the page that begins after a row with these values of the order's
// columns: an int64, a string, a time.Time or a bool each.
func (o Order) Cursor(values ...any) string {
	texts := make([]*string, len(values))
	for i, v := range values {
		texts[i] = textOf(v)
	}
	return o.encode(texts, forward)
}

// Values reads a cursor that was made for this order: an int64, a string, a time.Time or a
// bool for each of its columns, nil for NULL. It returns ErrCursor for anything else.
func (o Order) Values(cursor string) ([]any, error) {
	values, _, err := o.decode(cursor)
	return values, err
}

// encode returns the cursor of a row: URL-safe base64 of a JSON object with the columns in
// their order, as strings, and the direction to read in.
func (o Order) encode(values []*string, direction string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, c := range o {
		b.WriteString(quoted(c.name) + ":")
		if values[i] == nil {
			b.WriteString("null,")
		} else {
			b.WriteString(quoted(*values[i]) + ",")
		}
	}
	b.WriteString(`"_kd":"` + direction + `"}`)
	return base64.URLEncoding.EncodeToString([]byte(b.String()))
}

func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// decode reads a cursor that was made for this order: the value of each column, nil for
// NULL, and whether it is read backwards.
func (o Order) decode(cursor string) (values []any, back bool, err error) {
	if len(cursor) > maxCursor {
		return nil, false, ErrCursor
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(cursor, "="))
	if err != nil || !utf8.Valid(raw) {
		return nil, false, ErrCursor
	}
	var content map[string]*string
	if json.Unmarshal(raw, &content) != nil {
		return nil, false, ErrCursor
	}
	for _, c := range o {
		s, ok := content[c.name]
		if !ok || s == nil && c.null == never {
			return nil, false, ErrCursor
		}
		v, err := c.parse(s)
		if err != nil {
			return nil, false, err
		}
		values = append(values, v)
	}
	direction := content["_kd"]
	return values, direction != nil && *direction == backward, nil
}

func (c Column) parse(s *string) (v any, err error) {
	if s == nil {
		return nil, nil
	}
	switch c.kind {
	case integer:
		v, err = strconv.ParseInt(*s, 10, 64)
	case moment:
		v, err = parseMoment(*s)
	case truth:
		v, err = strconv.ParseBool(*s)
	default:
		if v = *s; strings.IndexByte(*s, 0) >= 0 {
			err = ErrCursor
		}
	}
	if err != nil {
		return nil, ErrCursor
	}
	return v, nil
}

// parseMoment reads a time in a year that both engines write with four digits.
func parseMoment(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, err
	}
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return t, ErrCursor
	}
	return t, nil
}

// fresh makes what the columns of one row are read into.
func (o Order) fresh() []any {
	out := make([]any, len(o))
	for i, c := range o {
		switch c.kind {
		case integer:
			out[i] = new(*int64)
		case moment:
			out[i] = new(*db.Time)
		case truth:
			out[i] = new(*bool)
		default:
			out[i] = new(*string)
		}
	}
	return out
}

// texts writes what was read into fresh as a cursor has it.
func texts(values []any) []*string {
	out := make([]*string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case **int64:
			out[i] = written(*v, func(n int64) string { return strconv.FormatInt(n, 10) })
		case **db.Time:
			out[i] = written(*v, func(t db.Time) string { return t.UTC().Format(time.RFC3339Nano) })
		case **bool:
			out[i] = written(*v, strconv.FormatBool)
		case **string:
			out[i] = *v
		}
	}
	return out
}

func written[T any](v *T, write func(T) string) *string {
	if v == nil {
		return nil
	}
	return new(write(*v))
}
