package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tenon/internal/base/budget"
)

// session runs statements: a pool or a transaction of one of the engines.
type session interface {
	exec(ctx context.Context, query string, args []any) (int64, error)
	query(ctx context.Context, query string, args []any) (resultRows, error)
}

// sqlSession is a *sql.DB or *sql.Tx.
type sqlSession struct {
	q interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

func (s sqlSession) exec(ctx context.Context, query string, args []any) (int64, error) {
	res, err := s.q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (s sqlSession) query(ctx context.Context, query string, args []any) (resultRows, error) {
	return s.q.QueryContext(ctx, query, args...) //nolint:rowserrcheck // Get and Select check and close what they get
}

// pgSession is a *pgxpool.Pool or pgx.Tx.
type pgSession struct {
	q interface {
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

func (s pgSession) exec(ctx context.Context, query string, args []any) (int64, error) {
	tag, err := s.q.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (s pgSession) query(ctx context.Context, query string, args []any) (resultRows, error) {
	if len(query) >= longQuery {
		args = append([]any{pgx.QueryExecModeDescribeExec}, args...)
	}
	rows, err := s.q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgRows{rows}, nil
}

// Exec runs a statement that returns no rows and says how many rows it touched.
// Outside a transaction it is one of its own.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	err := d.statement(ctx, query, args, true, func(ctx context.Context, s session, query string, args []any) error {
		var err error
		n, err = s.exec(ctx, query, args)
		if t := d.current(ctx); t != nil {
			t.rows += n
		}
		return err
	})
	return n, err
}

// Get reads exactly one row into a T: a struct whose fields carry `db:"column"`
// tags, or one value. No row is ErrNotFound; two rows, or a column without a field,
// are errors. INSERT ... RETURNING may be read as well.
func Get[T any](ctx context.Context, d *DB, query string, args ...any) (T, error) {
	var out T
	err := d.statement(ctx, query, args, false, func(ctx context.Context, from session, query string, args []any) error {
		rows, err := from.query(ctx, query, args)
		if err != nil {
			return err
		}
		return d.scanOne(rows, reflect.TypeFor[T](), &out)
	})
	return out, err
}

// Select reads all rows, as Get reads one. The result is never nil where err is nil.
func Select[T any](ctx context.Context, d *DB, query string, args ...any) ([]T, error) {
	out, _, err := SelectWith[T](ctx, d, nil, query, args...)
	return out, err
}

// SelectWith is Select for rows whose last columns are no part of T. Fresh makes the
// values that these columns of one row are read into, as pointers, always as many; they
// are the second result, row by row. A nil fresh stands for no such columns.
func SelectWith[T any](ctx context.Context, d *DB, fresh func() []any, query string, args ...any) ([]T, [][]any, error) {
	var out []T
	var apart [][]any
	err := d.weighed(ctx, func(most int64) (bytes int64, err error) {
		err = d.statement(ctx, query, args, false, func(ctx context.Context, from session, query string, args []any) error {
			rows, err := from.query(ctx, query, args)
			if err != nil {
				return err
			}
			bytes = 0
			out, apart, err = scanAll[T](d, rows, fresh, func(weight func() int64) (bool, error) {
				if most == math.MaxInt64 {
					return true, nil
				}
				if bytes += weight(); bytes > most {
					return false, errHeavy
				}
				return true, nil
			})
			return err
		})
		return bytes, err
	})
	if err != nil {
		return nil, nil, err
	}
	return out, apart, nil
}

// errHeavy ends a read that returns more text than it may.
var errHeavy = errors.New("rows have too much text")

// weighed reads rows for an answer, at most as many bytes of text as read is given, and counts them. Where they are many it waits
// for room first, with no connection in its hands, and reads again. Reads in a transaction are not counted: others would wait for them.
func (d *DB) weighed(ctx context.Context, read func(most int64) (int64, error)) error {
	share := budget.Of(ctx)
	if share == nil || d.current(ctx) != nil {
		_, err := read(math.MaxInt64)
		return err
	}
	bytes, err := read(share.Spare())
	if err == nil {
		err = share.Use(bytes)
	}
	if !errors.Is(err, errHeavy) {
		return err
	}
	most, settle, err := share.Reserve(ctx, budget.MaxList)
	if err != nil {
		return err
	}
	bytes, err = read(most)
	if errors.Is(err, errHeavy) {
		err, bytes = budget.ErrList, 0
		if most < budget.MaxList {
			err = budget.ErrRequest
		}
	}
	settle(bytes)
	return err
}

// statement binds, picks the session and runs one statement in it.
func (d *DB) statement(ctx context.Context, query string, args []any, exec bool,
	run func(ctx context.Context, s session, query string, args []any) error,
) (failure error) {
	text := d.text(query)
	t := d.current(ctx)
	if t == nil && d.dialect == SQLite && (exec || text.writes) {
		return d.InTx(ctx, func(ctx context.Context) error { return d.statement(ctx, query, args, exec, run) })
	}
	if g := gatheringOf(ctx); g != nil && t == nil && !exec && !text.writes {
		return g.statement(query, args, run)
	}
	bound, err := bind(args)
	sql := text.sql
	if text.pieces != nil && err == nil {
		sql, bound = shareQueries(text.pieces, bound)
	}
	if show := d.trace.Load(); show != nil {
		(*show)(sql, bound)
	}
	if observe := d.observe.Load(); observe != nil {
		began := time.Now()
		defer func() {
			(*observe)(ctx, Statement{Query: sql, Write: exec || text.writes, Began: began, Err: failure})
		}()
	}
	if t == nil { // a read, or on PostgreSQL a statement that is a transaction of its own
		if err == nil {
			d.statements.Add(1)
			if exec || text.writes {
				began := time.Now()
				defer func() { d.ended(ctx, began, Transaction{Statements: 1, Err: failure}) }()
			}
			err = d.lost(translate(d.apart(ctx, text, exec, func(ctx context.Context, s session) error { return run(ctx, s, sql, bound) })))
		}
		return err
	}
	return t.guard(ctx, func(ctx context.Context) error {
		if err != nil {
			return err
		}
		return run(ctx, t.session, sql, bound)
	})
}

// insert writes one row from a struct with `db:"column"` tags and returns its id. A
// field tagged db:"id" that is zero is left out, so that the database numbers the
// row; fields without a tag, or tagged db:"column,readonly", are left out as well. The text
// of a field tagged fold:"other" goes into that column, too, as [Fold] makes it, and with
// fold:"other,sparse" only where [Folded] needs it there.
func insert(ctx context.Context, d *DB, table string, row any) (int64, error) {
	query, args, err := d.insertion(table, row)
	if err != nil {
		return 0, err
	}
	return Get[int64](ctx, d, query+" RETURNING id", args...)
}

// Values are those of a row by column, for rows that no type is worth while for. A value may be an [Expression].
type Values map[string]any

// Expression is a value that the database computes as it inserts a row.
type Expression struct {
	SQL  string
	Args []any
}

// InsertRow is [Create] for rows without a number, or whose number is of no interest: links and what is
// written with an ON CONFLICT clause, which is the suffix. The number of rows written is the result.
// The row may be [Values]. Bounds are asked for room as Create does.
func InsertRow(ctx context.Context, d *DB, table string, row any, suffix string, bounds ...Bound) (int64, error) {
	if err := d.room(ctx, bounds); err != nil {
		return 0, err
	}
	query, args, err := d.insertion(table, row)
	if err != nil {
		return 0, err
	}
	return d.Exec(ctx, query+" "+suffix, args...)
}

// Columns lists the columns of the row type T for a SELECT, "n.id, n.body" for the
// alias "n", "id, body" for "". Readonly columns are left out: name them yourself.
func Columns[T any](alias string) string {
	key := listKey{reflect.TypeFor[T](), alias}
	if known, ok := columnLists.Load(key); ok {
		return known.(string)
	}
	if alias != "" {
		alias += "."
	}
	cols := columnsOf(key.row)
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = alias + c.name
	}
	out := strings.Join(names, ", ")
	columnLists.Store(key, out)
	return out
}

// columnLists remembers what Columns gives, by listKey.
var columnLists sync.Map

type listKey struct {
	row   reflect.Type
	alias string
}

func (d *DB) insertion(table string, row any) (string, []any, error) {
	if values, ok := row.(Values); ok {
		names := slices.Sorted(maps.Keys(values))
		args, marks := make([]any, 0, len(names)), make([]string, len(names))
		for i, name := range names {
			if e, ok := values[name].(Expression); ok {
				marks[i], args = e.SQL, append(args, e.Args...)
				continue
			}
			marks[i], args = "?", append(args, values[name])
		}
		return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")", args, nil
	}
	v := reflect.Indirect(reflect.ValueOf(row))
	if v.Kind() != reflect.Struct {
		return "", nil, fmt.Errorf("insert into %s: %T is no struct", table, row)
	}
	cols := d.columnsFor(v.Type())
	names, args := make([]string, 0, len(cols)), d.rowValues(v)
	for _, c := range cols {
		if c.name == "id" && v.FieldByIndex(c.index).IsZero() {
			continue
		}
		names = append(names, c.name)
		if c.fold != "" {
			names = append(names, c.fold)
		}
	}
	return statement(table, names), args, nil
}

func statement(table string, names []string) string {
	if len(names) == 0 {
		return "INSERT INTO " + table + " DEFAULT VALUES"
	}
	return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Repeat("?, ", len(names)-1) + "?)"
}

// rowValues are the values of a row that is inserted, in the order of the columns that insertion names.
func (d *DB) rowValues(v reflect.Value) []any {
	cols := d.columnsFor(v.Type())
	args := make([]any, 0, len(cols))
	for _, c := range cols {
		field := v.FieldByIndex(c.index)
		if c.name == "id" && field.IsZero() {
			continue
		}
		args = append(args, field.Interface())
		if c.fold != "" {
			args = append(args, c.folded(field))
		}
	}
	return args
}

type column struct {
	name   string
	fold   string // column that holds the folded text of this one, "" for none
	sparse bool   // which is NULL where the text is of ASCII alone, see Folded
	index  []int
}

// folded returns the folded text of a field that is a string or points to one; a nil pointer
// is "". Of a sparse column it may be nil.
func (c *column) folded(field reflect.Value) any {
	text := ""
	if field.Kind() != reflect.Pointer {
		text = field.String()
	} else if !field.IsNil() {
		text = field.Elem().String()
	}
	if c.sparse && ascii(text) {
		return nil
	}
	return Fold(text)
}

// columnsFor returns the columns of a row type, which are looked up once per type.
func (d *DB) columnsFor(t reflect.Type) []column {
	cached, ok := d.columns.Load(t)
	if !ok {
		cached, _ = d.columns.LoadOrStore(t, columnsOf(t))
	}
	return cached.([]column)
}

func columnsOf(t reflect.Type) []column {
	var cols []column
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("db"), ",")
		if name != "" && name != "-" && f.IsExported() && options != "readonly" {
			fold, sparse, _ := strings.Cut(f.Tag.Get("fold"), ",")
			cols = append(cols, column{name, fold, sparse == "sparse", f.Index})
		}
	}
	return cols
}
