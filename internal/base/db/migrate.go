package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// step of the schema, from one file.
type migration struct {
	number   int
	name     string
	checksum string // of the file, words and blocks included
	sql      string // for this engine
}

type applied struct {
	Version  int    `db:"version"`
	Name     string `db:"name"`
	Checksum string `db:"checksum"`
	Applied  Time   `db:"applied_at"`
}

// Migrate brings the schema to the last of the files NNNN_name.sql at the root of
// files, each in a transaction of its own, forward only. Several processes may call
// it at once.
//
// A file is written once for both engines. Where they differ it says {{id}} (a
// numbered primary key, never used twice), {{time}}, {{bytes}} or {{text}} (text that
// sorts by bytes), and lines between "-- only: sqlite" or "-- only: postgres" and
// "-- end" are for one engine. It is an error when a file was changed after it was
// applied, when the database has steps that files does not know, and, on
// PostgreSQL, when a column of text was declared without {{text}}.
func (d *DB) Migrate(ctx context.Context, files fs.FS) error {
	steps, err := d.migrations(files)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if err := d.InTx(ctx, func(ctx context.Context) error {
		if err := d.Lock(ctx, "schema_migrations"); err != nil {
			return err
		}
		_, err := d.Exec(ctx, d.dialect.words().Replace(`CREATE TABLE IF NOT EXISTS schema_migrations (
			version BIGINT NOT NULL PRIMARY KEY, name {{text}} NOT NULL, checksum {{text}} NOT NULL, applied_at {{time}} NOT NULL)`))
		return err
	}); err != nil {
		return fmt.Errorf("create table of migrations: %w", err)
	}
	for _, step := range steps {
		if err := d.InTx(ctx, func(ctx context.Context) error { return d.apply(ctx, step) }); err != nil {
			return fmt.Errorf("migration %s: %w", step.name, err)
		}
	}
	last := 0
	if len(steps) > 0 {
		last = steps[len(steps)-1].number
	}
	newer, err := Select[string](ctx, d, "SELECT name FROM schema_migrations WHERE version > ? ORDER BY version", last)
	if err == nil && len(newer) > 0 {
		err = fmt.Errorf("the database is newer than this program: it has %s", strings.Join(newer, ", "))
	}
	if err != nil {
		return err
	}
	return d.checkCollation(ctx)
}

// checkCollation refuses text columns that sort otherwise than on SQLite, whatever
// the locale of the database is. The job queue's tables are its own affair.
func (d *DB) checkCollation(ctx context.Context) error {
	if d.dialect != Postgres {
		return nil
	}
	wrong, err := Select[string](ctx, d, `SELECT c.relname || '.' || a.attname
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_collation o ON o.oid = a.attcollation
		WHERE c.relnamespace = CAST(current_schema() AS REGNAMESPACE) AND c.relkind = 'r' AND a.attnum > 0
			AND NOT a.attisdropped AND o.collname <> 'C' AND c.relname NOT LIKE 'river\_%' ORDER BY 1`)
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("these columns must be declared {{text}}: %s", strings.Join(wrong, ", "))
	}
	return err
}

// apply runs one step, unless it was run already.
func (d *DB) apply(ctx context.Context, step migration) error {
	if err := d.Lock(ctx, "schema_migrations"); err != nil {
		return err
	}
	was, err := Get[applied](ctx, d, "SELECT "+Columns[applied]("")+" FROM schema_migrations WHERE version = ?", step.number)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	case was.Checksum != step.checksum || was.Name != step.name:
		return fmt.Errorf("the file has changed since %s was applied on %s", was.Name, was.Applied.Format(time.DateOnly))
	default:
		return nil
	}
	t := d.current(ctx)
	if d.dialect == Postgres { // several statements in one text need the simple protocol
		if _, err := t.pg.Conn().PgConn().Exec(ctx, step.sql).ReadAll(); err != nil {
			return err
		}
	} else if _, err := t.sql.ExecContext(ctx, step.sql); err != nil {
		return err
	}
	_, err = InsertRow(ctx, d, "schema_migrations", applied{step.number, step.name, step.checksum, At(time.Now())}, "")
	return err
}

// migrations reads the files in order and makes them this engine's SQL.
func (d *DB) migrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql") // sorted
	if err != nil {
		return nil, err
	}
	shape := regexp.MustCompile(`^(\d{4})_[a-z0-9_]+\.sql$`)
	words := d.dialect.words()
	var steps []migration
	for _, name := range names {
		match := shape.FindStringSubmatch(path.Base(name))
		if match == nil {
			return nil, fmt.Errorf("%q is not named NNNN_name.sql", name)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		number, _ := strconv.Atoi(match[1])
		if len(steps) > 0 && steps[len(steps)-1].number == number {
			return nil, fmt.Errorf("%q and %q have the same number", steps[len(steps)-1].name, name)
		}
		sql, err := d.dialect.choose(words.Replace(string(text)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sum := sha256.Sum256(text)
		steps = append(steps, migration{number, name, hex.EncodeToString(sum[:]), sql})
	}
	return steps, nil
}

// choose leaves out the blocks for the other engine and words nobody knows.
func (d Dialect) choose(text string) (string, error) {
	if i := strings.Index(text, "{{"); i >= 0 {
		return "", fmt.Errorf("unknown word %.20q", text[i:])
	}
	var out strings.Builder
	only := Dialect("") // the engine of the block we are in
	for n, line := range strings.SplitAfter(text, "\n") {
		mark := strings.TrimSpace(line)
		name, opens := strings.CutPrefix(mark, "-- only:")
		switch {
		case opens && only == "":
			only = Dialect(strings.TrimSpace(name))
			if only != SQLite && only != Postgres {
				return "", fmt.Errorf("line %d: no engine is called %q", n+1, only)
			}
		case opens:
			return "", fmt.Errorf("line %d: a block within a block", n+1)
		case mark == "-- end" && only == "":
			return "", fmt.Errorf("line %d: end without a block", n+1)
		case mark == "-- end":
			only = ""
		case only == "" || only == d:
			out.WriteString(line)
		}
	}
	if only != "" {
		return "", fmt.Errorf("the last block does not end")
	}
	return out.String(), nil
}
