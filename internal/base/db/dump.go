package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// DumpKind says what the values of a column are, whatever the engine.
type DumpKind string

// The kinds.
const (
	DumpInt   DumpKind = "int"   // 64 bits
	DumpFloat DumpKind = "float" // 64 bits
	DumpBool  DumpKind = "bool"
	DumpText  DumpKind = "text"
	DumpBytes DumpKind = "bytes"
	DumpTime  DumpKind = "time" // UTC, microseconds
)

// DumpColumn is a column of a dumped table.
type DumpColumn struct {
	Name string   `json:"name"`
	Kind DumpKind `json:"kind"`
}

// DumpTable is a table as a dump has it. Its values are NULL or of the kinds of the columns.
type DumpTable struct {
	Name    string       `json:"table"`
	Columns []DumpColumn `json:"columns"` // by name

	key     []string // primary key: the order of the rows
	parents []string // tables that its rows refer to
}

// Migration is a step of the schema that was applied.
type Migration struct {
	Name     string `json:"name" db:"name"`
	Checksum string `json:"checksum" db:"checksum"`
}

// Migrations lists the steps that were applied, in order; none where there is no schema.
func (d *DB) Migrations(ctx context.Context) ([]Migration, error) {
	if there, err := d.HasTable(ctx, "schema_migrations"); err != nil || !there {
		return nil, err
	}
	return Select[Migration](ctx, d, "SELECT name, checksum FROM schema_migrations ORDER BY version")
}

// Steps lists the migrations of a folder, in order.
func Steps(files fs.FS) ([]Migration, error) {
	steps, err := (&DB{dialect: SQLite}).migrations(files)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	out := make([]Migration, len(steps))
	for i, s := range steps {
		out[i] = Migration{s.name, s.checksum}
	}
	return out, nil
}

// DumpTables lists the tables that a dump has, from the schema itself: all but the list of
// migrations, those of the job queue and what is made from other tables (trigrams). A table
// comes after those that its rows refer to. A column of a type that has no kind, and tables
// that refer to each other in a circle, are errors.
func (d *DB) DumpTables(ctx context.Context) ([]DumpTable, error) {
	read := d.liteTables
	if d.dialect == Postgres {
		read = d.postgresTables
	}
	tables, err := read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	tables = slices.DeleteFunc(tables, func(t DumpTable) bool {
		return t.Name == "schema_migrations" || strings.HasPrefix(t.Name, "river_") || strings.HasSuffix(t.Name, pendingSuffix)
	})
	for i := range tables {
		slices.SortFunc(tables[i].Columns, func(a, b DumpColumn) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(tables, func(a, b DumpTable) int { return strings.Compare(a.Name, b.Name) })
	return parentsFirst(tables)
}

// parentsFirst sorts tables that are sorted by name.
func parentsFirst(tables []DumpTable) ([]DumpTable, error) {
	var out []DumpTable
	done := map[string]bool{}
	for len(out) < len(tables) {
		before := len(out)
		for _, t := range tables {
			ready := !done[t.Name] && !slices.ContainsFunc(t.parents, func(p string) bool { return p != t.Name && !done[p] })
			if ready {
				out, done[t.Name] = append(out, t), true
			}
		}
		if len(out) == before {
			return nil, errors.New("tables refer to each other in a circle")
		}
	}
	return out, nil
}

func (d *DB) liteTables(ctx context.Context) ([]DumpTable, error) {
	names, err := Select[string](ctx, d, `SELECT name FROM pragma_table_list
		WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	var out []DumpTable
	for _, name := range names {
		type column struct {
			Name string `db:"name"`
			Type string `db:"type"`
			Key  int    `db:"pk"`
		}
		columns, err := Select[column](ctx, d, "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY pk, name", name)
		if err != nil {
			return nil, err
		}
		t := DumpTable{Name: name}
		for _, c := range columns {
			if strings.HasPrefix(name, "river_") {
				break
			}
			kind, ok := liteKinds[c.Type]
			if !ok {
				return nil, fmt.Errorf("column %s of %s: no kind for the type %q", c.Name, name, c.Type)
			}
			t.Columns = append(t.Columns, DumpColumn{c.Name, kind})
			if c.Key > 0 {
				t.key = append(t.key, c.Name)
			}
		}
		if t.parents, err = Select[string](ctx, d, `SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)`, name); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// liteKinds are the types that migrations write.
var liteKinds = map[string]DumpKind{
	"INTEGER": DumpInt, "BIGINT": DumpInt, "DOUBLE PRECISION": DumpFloat, "BOOLEAN": DumpBool, "TEXT": DumpText,
	"BLOB": DumpBytes, "TIMESTAMP": DumpTime,
}

// postgresKinds are the same by PostgreSQL's names.
var postgresKinds = map[string]DumpKind{
	"int8": DumpInt, "float8": DumpFloat, "bool": DumpBool, "text": DumpText, "bytea": DumpBytes, "timestamptz": DumpTime,
}

func (d *DB) postgresTables(ctx context.Context) ([]DumpTable, error) {
	type column struct {
		Table string `db:"table_name"`
		Name  string `db:"name"`
		Type  string `db:"type"`
		Key   *int64 `db:"place"` // in the primary key
	}
	columns, err := Select[column](ctx, d, `SELECT c.relname AS table_name, a.attname AS name, t.typname AS type,
			(SELECT CAST(array_position(CAST(x.indkey AS SMALLINT[]), a.attnum) AS BIGINT) FROM pg_index x WHERE x.indrelid = c.oid AND x.indisprimary) AS place
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
		WHERE c.relnamespace = CAST(current_schema() AS REGNAMESPACE) AND c.relkind IN ('r', 'p') AND a.attnum > 0
			AND NOT a.attisdropped AND a.attgenerated = '' AND c.relname NOT LIKE 'river\_%'
		ORDER BY c.relname, place NULLS LAST, a.attname`)
	if err != nil {
		return nil, err
	}
	type reference struct {
		Table  string `db:"table_name"`
		Parent string `db:"parent"`
	}
	references, err := Select[reference](ctx, d, `SELECT DISTINCT c.relname AS table_name, p.relname AS parent
		FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class p ON p.oid = f.confrelid
		WHERE f.contype = 'f' AND c.relnamespace = CAST(current_schema() AS REGNAMESPACE)`)
	if err != nil {
		return nil, err
	}
	var out []DumpTable
	for _, c := range columns {
		if len(out) == 0 || out[len(out)-1].Name != c.Table {
			out = append(out, DumpTable{Name: c.Table})
		}
		t := &out[len(out)-1]
		kind, ok := postgresKinds[c.Type]
		if !ok {
			return nil, fmt.Errorf("column %s of %s: no kind for the type %q", c.Name, c.Table, c.Type)
		}
		t.Columns = append(t.Columns, DumpColumn{c.Name, kind})
		if c.Key != nil {
			t.key = append(t.key, c.Name)
		}
	}
	for i := range out {
		for _, r := range references {
			if r.Table == out[i].Name {
				out[i].parents = append(out[i].parents, r.Parent)
			}
		}
	}
	return out, nil
}

// DumpRows hands each row of a table to fn as a line of JSON with its newline, in the order
// of the primary key. The line is used again for the next row.
func (d *DB) DumpRows(ctx context.Context, t DumpTable, fn func(line []byte) error) error {
	query := "SELECT " + t.names() + " FROM " + quoted(t.Name)
	if len(t.key) > 0 {
		key := make([]string, len(t.key))
		for i, name := range t.key {
			key[i] = quoted(name)
		}
		query += " ORDER BY " + strings.Join(key, ", ")
	}
	var line []byte
	err := d.rows(ctx, query, nil, func(row []any) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if line, err = appendRow(line[:0], t.Columns, row); err != nil {
			return err
		}
		return fn(line)
	})
	if err != nil {
		return fmt.Errorf("dump table %s: %w", t.Name, err)
	}
	return nil
}

func (t *DumpTable) names() string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = quoted(c.Name)
	}
	return strings.Join(names, ", ")
}

// quoted writes a name of the schema as SQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// LastIDs returns the highest id that each table has given out, also to rows that are gone.
// Tables that have given out none are left out.
func (d *DB) LastIDs(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	if d.dialect == SQLite {
		all, err := d.sequences(ctx)
		if err != nil {
			return nil, fmt.Errorf("read last ids: %w", err)
		}
		for _, s := range all {
			if !strings.HasPrefix(s.Table, "river_") && s.Last > 0 {
				out[s.Table] = s.Last
			}
		}
		return out, nil
	}
	type identity struct {
		Table    string `db:"table_name"`
		Sequence string `db:"sequence"`
	}
	all, err := Select[identity](ctx, d, `SELECT c.relname AS table_name, pg_get_serial_sequence(quote_ident(c.relname), a.attname) AS sequence
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relnamespace = CAST(current_schema() AS REGNAMESPACE) AND c.relkind = 'r' AND a.attnum > 0 AND a.attidentity <> ''
			AND c.relname NOT LIKE 'river\_%' ORDER BY c.relname`)
	if err != nil {
		return nil, fmt.Errorf("read last ids: %w", err)
	}
	for _, s := range all {
		last, err := Get[int64](ctx, d, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM "+s.Sequence)
		if err != nil {
			return nil, fmt.Errorf("read last ids: %w", err)
		}
		if last > 0 {
			out[s.Table] = last
		}
	}
	return out, nil
}
