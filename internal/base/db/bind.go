package db

import (
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// bind turns arguments into what both drivers take alike.
func bind(args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, arg := range args {
		v, err := bindOne(arg)
		if err != nil {
			return nil, fmt.Errorf("bind argument %d: %w", i+1, err)
		}
		out[i] = v
	}
	return out, nil
}

func bindOne(arg any) (any, error) {
	switch v := arg.(type) {
	case nil, int64, bool, float64, []byte:
		return arg, nil
	case string:
		return bindText(v)
	case int:
		return int64(v), nil
	case time.Time:
		return utc(v), nil
	case driver.Valuer:
		if rv := reflect.ValueOf(arg); rv.Kind() == reflect.Pointer && rv.IsNil() {
			return nil, nil
		}
		value, err := v.Value()
		if err != nil {
			return nil, err
		}
		if _, again := value.(driver.Valuer); again {
			return nil, fmt.Errorf("%T gives another Valuer", arg)
		}
		return bindOne(value)
	}
	v := reflect.ValueOf(arg)
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		return bindOne(v.Elem().Interface())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() > math.MaxInt64 {
			return nil, fmt.Errorf("%d does not fit a BIGINT", v.Uint())
		}
		return int64(v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return v.Float(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.String:
		return bindText(v.String())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("%T cannot be bound", arg)
}

func bindText(s string) (any, error) {
	if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
		return nil, ErrText
	}
	return s, nil
}

// text is a query as the engine wants it.
type text struct {
	sql    string
	writes bool
	pieces []piece // of a query for PostgreSQL in which others are shared, else nil

	slowUntil atomic.Int64 // a time in nanoseconds of the epoch: see patience
}

// longQuery is the length, in bytes, from which on a statement is one of its kind, such as one that
// reads for many callers together: its text is not kept, and of its plan only a few are.
const longQuery = 16 << 10

// text returns a query as the engine wants it.
func (d *DB) text(query string) *text {
	if len(query) >= longQuery {
		return rewrite(d.dialect, query)
	}
	return d.rebound.get(d.dialect, query)
}

// textCache remembers rewritten queries by their text.
type textCache struct {
	mu    sync.RWMutex
	texts map[string]*text
}

func (c *textCache) get(d Dialect, query string) *text {
	c.mu.RLock()
	t, ok := c.texts[query]
	c.mu.RUnlock()
	if ok {
		return t
	}
	t = rewrite(d, query)
	c.mu.Lock()
	if c.texts == nil || len(c.texts) >= 4000 {
		c.texts = make(map[string]*text)
	}
	c.texts[query] = t
	c.mu.Unlock()
	return t
}

// rewrite numbers the ? marks for PostgreSQL, leaving literals, quoted names and
// comments alone, and finds out whether the statement writes.
func rewrite(d Dialect, query string) *text {
	var b strings.Builder
	var verb, word string
	writes, marks := false, 0
	flush := func() {
		if verb == "" {
			verb = word
		}
		switch word {
		case "INSERT", "UPDATE", "DELETE", "REPLACE":
			writes = true
		}
		word = ""
	}
	for i := 0; i < len(query); {
		n := opaque(query[i:])
		if c := query[i]; n == 0 && c == '?' && d == Postgres {
			marks++
			b.WriteString("$" + strconv.Itoa(marks))
		} else {
			b.WriteString(query[i : i+max(n, 1)])
		}
		if c := query[i] &^ 0x20; n == 0 && (c >= 'A' && c <= 'Z' || query[i] == '_') {
			word += string(c)
		} else if word != "" {
			flush()
		}
		i += max(n, 1)
	}
	flush()
	var pieces []piece
	if d == Postgres {
		pieces = cut(query)
	}
	return &text{pieces: pieces, sql: b.String(), writes: writes || (verb != "SELECT" && verb != "WITH" && verb != "VALUES" && verb != "EXPLAIN" && verb != "PRAGMA")}
}

// opaque is the length of the literal, quoted name or comment that s begins with, or 0.
func opaque(s string) int {
	upTo := func(end string, skip int) int {
		if i := strings.Index(s[skip:], end); i >= 0 {
			return skip + i + len(end)
		}
		return len(s)
	}
	switch {
	case s[0] == '\'' || s[0] == '"':
		return upTo(s[:1], 1) // a doubled quote reads as two literals side by side
	case strings.HasPrefix(s, "--"):
		return upTo("\n", 2)
	case strings.HasPrefix(s, "/*"):
		return upTo("*/", 2)
	}
	return 0
}
