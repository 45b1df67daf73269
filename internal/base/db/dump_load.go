package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// errNotEmpty reports a database with rows.
var errNotEmpty = errors.New("the database is not empty")

// Vacant fails where a table of the schema has rows, or where there are tables but no list
// of migrations: what is there is another program's. No schema at all is vacant.
func (d *DB) Vacant(ctx context.Context) error {
	there, err := d.HasTable(ctx, "schema_migrations")
	if err != nil {
		return err
	}
	if !there {
		query := "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'river\\_%' ESCAPE '\\'"
		if d.dialect == Postgres {
			query = `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT LIKE 'river\_%'`
		}
		n, err := Get[int](ctx, d, query)
		if err == nil && n > 0 {
			err = fmt.Errorf("%w: it has %d tables of another program", errNotEmpty, n)
		}
		return err
	}
	tables, err := d.DumpTables(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		some, err := Get[bool](ctx, d, "SELECT EXISTS (SELECT 1 FROM "+quoted(t.Name)+")")
		if err != nil {
			return fmt.Errorf("look for rows: %w", err)
		}
		if some {
			return fmt.Errorf("%w: the table %s has rows", errNotEmpty, t.Name)
		}
	}
	return nil
}

// Loader fills the tables of a schema.
type Loader struct {
	d      *DB
	tables []DumpTable
}

// Load runs fn in one transaction that fills the tables with what a dump holds. SQLite does
// not enforce foreign keys meanwhile; rows that refer to nothing in the end are an error, and
// nothing is kept. Unlike other transactions it is never repeated.
func (d *DB) Load(ctx context.Context, fn func(ctx context.Context, l *Loader) error) error {
	begun := false
	return d.inMigration(ctx, func(ctx context.Context) error {
		if begun {
			return errors.New("something else used the database while it was loaded")
		}
		begun = true
		tables, err := d.DumpTables(ctx)
		if err != nil {
			return err
		}
		if err := fn(ctx, &Loader{d, tables}); err != nil {
			return err
		}
		return d.checkReferences(ctx)
	})
}

// Rows fills a table. next gives the lines of [DB.DumpRows] one after the other, then
// io.EOF. A table that is not one of the schema is an error.
func (l *Loader) Rows(ctx context.Context, t DumpTable, next func() ([]byte, error)) (int64, error) {
	i := slices.IndexFunc(l.tables, func(k DumpTable) bool { return k.Name == t.Name })
	if i < 0 {
		return 0, fmt.Errorf("the schema has no table %q", t.Name)
	}
	if !slices.Equal(l.tables[i].Columns, t.Columns) {
		return 0, fmt.Errorf("the columns of table %s are not those of the schema", t.Name)
	}
	source := &lines{ctx: ctx, columns: t.Columns, next: next}
	err := l.d.Native(ctx, func(_ context.Context, lite *sql.Tx, pg pgx.Tx) error {
		if lite != nil {
			return source.insert(t, lite)
		}
		names := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			names[i] = c.Name
		}
		_, err := pg.CopyFrom(ctx, pgx.Identifier{t.Name}, names, source)
		return err
	})
	if source.err != nil { // the engine says only that copying was given up
		err = source.err
	}
	if err != nil {
		return 0, fmt.Errorf("load table %s: row %d: %w", t.Name, source.count, err)
	}
	return source.count, nil
}

// lines are rows on their way into a table, as pgx wants them for COPY.
type lines struct {
	ctx     context.Context // lives as long as one call
	columns []DumpColumn
	next    func() ([]byte, error)
	row     []any
	err     error
	count   int64
}

// Next reads a row.
func (l *lines) Next() bool {
	line, err := l.next()
	if err == nil {
		err = l.ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		return false
	}
	l.count++
	if err == nil {
		l.row, err = parseRow(line, l.columns)
	}
	l.err = err
	return err == nil
}

// Values returns it.
func (l *lines) Values() ([]any, error) { return l.row, nil }

// Err says why there are no more.
func (l *lines) Err() error { return l.err }

// insert is COPY for SQLite.
func (l *lines) insert(t DumpTable, lite *sql.Tx) error {
	ctx := context.WithoutCancel(l.ctx)
	s, err := lite.PrepareContext(ctx, "INSERT INTO "+quoted(t.Name)+" ("+t.names()+") VALUES ("+strings.Repeat("?, ", len(t.Columns)-1)+"?)")
	if err != nil {
		return err
	}
	defer s.Close()
	for l.Next() {
		if _, err := s.ExecContext(ctx, l.row...); err != nil {
			return err
		}
	}
	return l.err
}

// LastIDs makes tables go on with their ids where [DB.LastIDs] says.
func (l *Loader) LastIDs(ctx context.Context, last map[string]int64) error {
	var known []sequence
	for _, t := range l.tables {
		if n := last[t.Name]; n > 0 {
			known = append(known, sequence{t.Name, n})
		}
	}
	if len(known) != len(last) {
		return errors.New("last ids of tables that the schema does not have")
	}
	if l.d.dialect == SQLite {
		return l.d.keepSequences(ctx, known)
	}
	for _, s := range known {
		if _, err := Get[int64](ctx, l.d, "SELECT setval(pg_get_serial_sequence(CAST(? AS TEXT), 'id'), CAST(? AS BIGINT))", s.Table, s.Last); err != nil {
			return fmt.Errorf("keep ids: %w", err)
		}
	}
	return nil
}
