package db

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// Duplicate reports whether the table refused a row because another one has the same values in these columns, which
// are those of a unique index or primary key in its order. Without columns it is any index of the table. An
// index over an expression is none of these.
func Duplicate(err error, table string, columns ...string) bool {
	if !errors.Is(err, ErrDuplicate) {
		return false
	}
	of, key := refusedBy(err)
	return of == table && (len(columns) == 0 || slices.Equal(key, columns))
}

// refusedBy returns the table and the columns of the index that refused a row.
func refusedBy(err error) (table string, columns []string) {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// The detail is "Key (namespace_id, title)=(3, bug) already exists.", in the language of the server.
		_, key, _ := strings.Cut(pg.Detail, "(")
		key, _, _ = strings.Cut(key, ")=(")
		return pg.TableName, strings.Split(key, ", ")
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		// The text is "constraint failed: UNIQUE constraint failed: labels.namespace_id, labels.title (2067)".
		text := lite.Error()
		key, _, _ := strings.Cut(text[strings.LastIndex(text, ": ")+1:], " (")
		for name := range strings.SplitSeq(strings.TrimSpace(key), ", ") {
			var column string
			if table, column, ok = strings.Cut(name, "."); !ok {
				table, column = "", name
			}
			columns = append(columns, column)
		}
	}
	return table, columns
}
