package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

type applied struct {
	Version  int    `db:"version"`
	Name     string `db:"name"`
	Checksum string `db:"checksum"`
	Applied  Time   `db:"applied_at"`
}

// ErrNewer reports a database with migrations that this program does not know.
var ErrNewer = errors.New("the database is newer than this program")

// Migrate applies the files NNNN_name.sql at the root of files that were not applied
// yet, in order, forward only. All of them are one transaction: where one fails, the
// database is as it was before. Several processes may call it at once; do so while no
// other transaction runs. While a file runs that takes long, the log says so every few
// seconds.
//
// A file is written once for both engines. Where they differ it says {{id}} (a
// numbered primary key, never used twice), {{time}}, {{bytes}} or {{text}} (text that
// sorts by bytes), and lines between "-- only: sqlite" or "-- only: postgres" and
// "-- end" are for one engine.
//
// SQLite does not enforce foreign keys while it migrates, so that a table can be
// rebuilt: create its successor, copy the rows, drop the table, rename the successor,
// create the indexes. DELETE and UPDATE do not cascade there, so a file changes
// referring rows itself; rows that refer to nothing in the end are an error. Ids of a
// rebuilt table are not used twice either.
//
// It is an error when a file was changed after it was applied, when a file precedes
// the last one applied, when the database is newer ([ErrNewer]), and, on PostgreSQL,
// when a column of text was declared without {{text}}.
//
// The log has a line for each migration of a database that is there already, and one line in all for a new one.
func (d *DB) Migrate(ctx context.Context, files fs.FS) error {
	steps, err := d.migrations(files)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	var log []func()
	began := time.Now()
	err = d.inMigration(ctx, func(ctx context.Context) error {
		log = nil
		if err := d.Lock(ctx, "schema_migrations"); err != nil {
			return err
		}
		if _, err := d.Exec(ctx, d.dialect.words().Replace(`CREATE TABLE IF NOT EXISTS schema_migrations (
			version BIGINT NOT NULL PRIMARY KEY, name {{text}} NOT NULL, checksum {{text}} NOT NULL, applied_at {{time}} NOT NULL)`)); err != nil {
			return fmt.Errorf("create table of migrations: %w", err)
		}
		pending, before, err := d.pending(ctx, steps)
		if err != nil || len(pending) == 0 {
			return err
		}
		numbers, err := d.sequences(ctx)
		if err != nil {
			return err
		}
		for i, step := range pending {
			began := time.Now()
			stop := d.report(step.name, i+1, len(pending))
			err := d.apply(ctx, step)
			stop()
			if err != nil {
				return undone(step.name, before, err)
			}
			took := time.Since(began)
			level := slog.LevelInfo
			if before == "" {
				level = slog.LevelDebug
			}
			log = append(log, func() {
				d.log.Log(ctx, level, "schema migrated", slog.String("migration", step.name), slog.Duration("took", took))
			})
		}
		if before == "" {
			log = append(log, func() {
				d.log.Info("schema created", slog.Int("migrations", len(pending)), slog.Duration("took", time.Since(began)))
			})
		}
		if err := errors.Join(d.keepSequences(ctx, numbers), d.checkReferences(ctx), d.checkCollation(ctx)); err != nil {
			return undone(pending[len(pending)-1].name, before, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, line := range log {
		line()
	}
	return nil
}

// Pending names the migrations that Migrate would apply, and fails where Migrate
// would refuse before it changes anything. It writes nothing.
func (d *DB) Pending(ctx context.Context, files fs.FS) ([]string, error) {
	steps, err := d.migrations(files)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	there, err := d.HasTable(ctx, "schema_migrations")
	if err != nil {
		return nil, err
	}
	if there {
		if steps, _, err = d.pending(ctx, steps); err != nil {
			return nil, err
		}
	}
	names := make([]string, len(steps))
	for i, step := range steps {
		names[i] = step.name
	}
	return names, nil
}

// HasTable reports whether there is a table of a name.
func (d *DB) HasTable(ctx context.Context, name string) (bool, error) {
	query := "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"
	if d.dialect == Postgres {
		query = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?"
	}
	n, err := Get[int](ctx, d, query, name)
	if err != nil {
		return false, fmt.Errorf("look for table %s: %w", name, err)
	}
	return n > 0, nil
}

// pending returns the steps that were not applied, and the name of the last one that was,
// "" where there is none.
func (d *DB) pending(ctx context.Context, steps []migration) (out []migration, last string, err error) {
	rows, err := Select[applied](ctx, d, "SELECT "+Columns[applied]("")+" FROM schema_migrations ORDER BY version")
	if err != nil {
		return nil, "", err
	}
	known := make(map[int]migration, len(steps))
	for _, step := range steps {
		known[step.number] = step
	}
	var unknown []string
	done, highest := make(map[int]bool, len(rows)), 0
	for _, row := range rows {
		step, ok := known[row.Version]
		switch {
		case !ok:
			unknown = append(unknown, row.Name)
		case step.checksum != row.Checksum || step.name != row.Name:
			return nil, "", fmt.Errorf("migration %s is not the one that was applied to this database on %s as %s: "+
				"a released migration never changes, so one of the two programs is not a release (use the program that made this database)",
				step.name, row.Applied.Format(time.DateOnly), row.Name)
		}
		done[row.Version], highest, last = true, row.Version, row.Name
	}
	if len(unknown) > 0 {
		return nil, "", fmt.Errorf("%w: it has %s (start the program that was used last, or restore a backup made before that)",
			ErrNewer, strings.Join(unknown, ", "))
	}
	for _, step := range steps {
		if done[step.number] {
			continue
		}
		if step.number < highest {
			return nil, "", fmt.Errorf("migration %s precedes %s, which was applied to this database already: give it the next free number", step.name, last)
		}
		out = append(out, step)
	}
	return out, last, nil
}

// undone says what a failed migration means for the operator.
func undone(name, before string, err error) error {
	state := "nothing of it was kept"
	if before != "" {
		state = "the database is unchanged at " + before + ", and the program that was used last still opens it"
	}
	return fmt.Errorf("migration %s: %w (%s)", name, err, state)
}

// apply runs one step. Deferred constraints are checked after it.
func (d *DB) apply(ctx context.Context, step migration) error {
	if err := d.Native(ctx, func(_ context.Context, lite *sql.Tx, pg pgx.Tx) error { // it may take long, so that it ends with ctx
		if lite != nil {
			_, err := lite.ExecContext(ctx, step.sql)
			return err
		}
		// Several statements in one text need the simple protocol.
		_, err := pg.Conn().PgConn().Exec(ctx, step.sql+"\n;SET CONSTRAINTS ALL IMMEDIATE").ReadAll()
		return err
	}); err != nil {
		return err
	}
	_, err := InsertRow(ctx, d, "schema_migrations", applied{step.number, step.name, step.checksum, At(time.Now())}, "")
	return err
}

// inMigration runs fn in a transaction that may take long. On SQLite it has the writer
// for itself, with foreign keys off.
func (d *DB) inMigration(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	if d.dialect == Postgres {
		_, err := d.inPostgres(ctx, fn)
		return err
	}
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "PRAGMA foreign_keys = 0"); err != nil { // does nothing inside a transaction
		return translate(err)
	}
	defer func() {
		_, on := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA foreign_keys = 1")
		err = errors.Join(err, on)
	}()
	lite, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return translate(err)
	}
	defer lite.Rollback() //nolint:errcheck // does nothing after a commit; also runs when fn panics
	if err := (&tx{d: d, session: sqlSession{lite}, sql: lite}).run(ctx, fn); err != nil {
		return err
	}
	return translate(lite.Commit())
}

// sequence is the last id that SQLite gave out for a table.
type sequence struct {
	Table string `db:"name"`
	Last  int64  `db:"seq"`
}

// sequences reads what keepSequences restores.
func (d *DB) sequences(ctx context.Context) ([]sequence, error) {
	if d.dialect != SQLite {
		return nil, nil
	}
	if tables, err := Get[int](ctx, d, "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'"); err != nil || tables == 0 {
		return nil, err
	}
	return Select[sequence](ctx, d, "SELECT name, seq FROM sqlite_sequence ORDER BY name")
}

// keepSequences lets a rebuilt table go on with its ids where the dropped one ended: the
// rows with the highest ids may have been deleted before they could be copied.
func (d *DB) keepSequences(ctx context.Context, before []sequence) error {
	for _, s := range before {
		n, err := d.Exec(ctx, "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", s.Last, s.Table)
		if err != nil {
			return fmt.Errorf("keep ids: %w", err)
		}
		if n > 0 {
			continue
		}
		if _, err := d.Exec(ctx, `INSERT INTO sqlite_sequence (name, seq) SELECT name, ? FROM sqlite_schema
			WHERE type = 'table' AND name = ? AND sql LIKE '%AUTOINCREMENT%'`, s.Last, s.Table); err != nil {
			return fmt.Errorf("keep ids: %w", err)
		}
	}
	return nil
}

// checkReferences refuses rows of SQLite that refer to nothing.
func (d *DB) checkReferences(ctx context.Context) error {
	if d.dialect != SQLite {
		return nil
	}
	wrong, err := d.looseRows(ctx)
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%d or more rows refer to nothing: %s", len(wrong), strings.Join(wrong[:min(3, len(wrong))], "; "))
	}
	return err
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
