package db

import (
	"context"
	"fmt"
)

// Check looks for damage in the database and for rows that name others which are not
// there, and says what it found in sentences. PostgreSQL keeps both true by itself, so
// that there is nothing to look for.
func (d *DB) Check(ctx context.Context) ([]string, error) {
	if d.dialect != SQLite {
		return nil, nil
	}
	lines, err := Select[string](ctx, d, "PRAGMA integrity_check(100)")
	if err != nil {
		return nil, fmt.Errorf("check database: %w", err)
	}
	var out []string
	for _, line := range lines {
		if line != "ok" {
			out = append(out, "database: "+line)
		}
	}
	rows, err := d.looseRows(ctx)
	return append(out, rows...), err
}

// looseRows describes rows of SQLite that refer to a row that is not there, 100 at most.
func (d *DB) looseRows(ctx context.Context) ([]string, error) {
	type loose struct {
		Table  string `db:"from_table"`
		Row    *int64 `db:"row_id"`
		Parent string `db:"parent"`
	}
	rows, err := Select[loose](ctx, d, `SELECT "table" AS from_table, rowid AS row_id, parent FROM pragma_foreign_key_check() LIMIT 100`)
	if err != nil {
		return nil, fmt.Errorf("check foreign keys: %w", err)
	}
	var out []string
	for _, r := range rows {
		id := int64(0)
		if r.Row != nil {
			id = *r.Row
		}
		out = append(out, fmt.Sprintf("database: row %d of %s names a row of %s that is not there", id, r.Table, r.Parent))
	}
	return out, nil
}
