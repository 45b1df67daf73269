package db

import (
	"context"
	"fmt"
	"slices"
)

// Dependent is a table with an id, and the column of it that names the row its rows go with.
type Dependent struct {
	Table  string `db:"table_name"`
	Column string `db:"column_name"`
}

// Dependents lists, from the schema itself, the tables whose rows the database deletes with a row of
// the parent, those that others refer to last: emptied in this order, the rows of one take few of another
// along. Tables without a column id, which have a row or few for each parent, are left out. The schema is
// read once: it is migrated before a server begins.
func (d *DB) Dependents(ctx context.Context, parent string) ([]Dependent, error) {
	if known, ok := d.dependents.Load(parent); ok {
		return known.([]Dependent), nil
	}
	out, err := d.readDependents(ctx, parent)
	if err == nil {
		d.dependents.Store(parent, out)
	}
	return out, err
}

func (d *DB) readDependents(ctx context.Context, parent string) ([]Dependent, error) {
	query := `SELECT s.name AS table_name, f."from" AS column_name FROM sqlite_schema s, pragma_foreign_key_list(s.name) f
		WHERE s.type = 'table' AND f."table" = ? AND f.on_delete = 'CASCADE'`
	if d.dialect == Postgres {
		query = `SELECT c.relname AS table_name, a.attname AS column_name
			FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class p ON p.oid = f.confrelid
			JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = f.conkey[1]
			WHERE f.contype = 'f' AND f.confdeltype = 'c' AND c.relnamespace = CAST(current_schema() AS REGNAMESPACE) AND p.relname = ?`
	}
	all, err := Select[Dependent](ctx, d, query, parent)
	if err != nil {
		return nil, fmt.Errorf("read references to %s: %w", parent, err)
	}
	tables, err := d.DumpTables(ctx)
	if err != nil {
		return nil, err
	}
	var out []Dependent
	for _, t := range slices.Backward(tables) {
		if !slices.ContainsFunc(t.Columns, func(c DumpColumn) bool { return c.Name == "id" }) {
			continue
		}
		for _, r := range all {
			if r.Table == t.Name {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// FirstIDs returns the ids of the first rows, at most n, that go with a row of the parent.
func (t Dependent) FirstIDs(ctx context.Context, d *DB, parent int64, n int) ([]int64, error) {
	ids, err := Select[int64](ctx, d, "SELECT id FROM "+quoted(t.Table)+" WHERE "+quoted(t.Column)+" = ? ORDER BY id LIMIT ?", parent, n)
	if err != nil {
		return nil, fmt.Errorf("rows of %s: %w", t.Table, err)
	}
	return ids, nil
}

// Delete deletes rows by their ids.
func (t Dependent) Delete(ctx context.Context, d *DB, ids []int64) error {
	marks, args := Marks(ids)
	if _, err := d.Exec(ctx, "DELETE FROM "+quoted(t.Table)+" WHERE id IN ("+marks+")", args...); err != nil {
		return fmt.Errorf("delete rows of %s: %w", t.Table, err)
	}
	return nil
}
