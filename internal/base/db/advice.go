package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"modernc.org/sqlite"
)

// openError says which database cannot be opened, why, and what to do. It is one line.
type openError struct {
	text string
	err  error
}

func (e *openError) Error() string { return e.text }
func (e *openError) Unwrap() error { return e.err }

// unopened describes the failure to open a database. The place has no password.
func unopened(place string, err error, advice string) error {
	text := fmt.Sprintf("open %s: %s", place, oneLine(err))
	if advice != "" {
		text += " (" + advice + ")"
	}
	return &openError{text: text, err: err}
}

// oneLine is the text of an error without the repetitions of drivers that try several addresses.
func oneLine(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Error()
	}
	var out []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if line == "" || strings.Contains(line, "failed to connect to") && strings.HasSuffix(line, ":") || len(out) > 0 && out[len(out)-1] == line {
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

// postgresPlace names a database of PostgreSQL.
func postgresPlace(c *pgx.ConnConfig) string {
	at := c.Host
	if !strings.HasPrefix(at, "/") {
		at = fmt.Sprintf("%s:%d", c.Host, c.Port)
	}
	return fmt.Sprintf("PostgreSQL database %q on %s as user %q", c.Database, at, c.User)
}

// createAdvice is how a database is made that has what the program needs.
func createAdvice(c *pgx.ConnConfig) string {
	return fmt.Sprintf("CREATE DATABASE %s OWNER %s TEMPLATE template0 ENCODING 'UTF8'",
		pgx.Identifier{c.Database}.Sanitize(), pgx.Identifier{c.User}.Sanitize())
}

// postgresAdvice says what an operator does about an error of PostgreSQL, "" where that is
// not known.
func postgresAdvice(c *pgx.ConnConfig, err error) string {
	user := pgx.Identifier{c.User}.Sanitize()
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if _, failed := errors.AsType[*pgconn.ConnectError](err); failed {
			return "start PostgreSQL there, or name its address in the URL of the database"
		}
		return ""
	}
	switch pg.Code {
	case "3D000":
		return "make it: " + createAdvice(c)
	case "28000", "28P01":
		return "check the user and the password in the URL and the server's pg_hba.conf; a user is made by CREATE ROLE " + user + " LOGIN PASSWORD '...'"
	case "42501":
		return fmt.Sprintf("give the user the database: ALTER DATABASE %s OWNER TO %s; or the rights: GRANT CONNECT, CREATE ON DATABASE %s TO %s, "+
			"and in that database GRANT USAGE, CREATE ON SCHEMA public TO %s",
			pgx.Identifier{c.Database}.Sanitize(), user, pgx.Identifier{c.Database}.Sanitize(), user, user)
	case "53300":
		return "end other programs that use it, or raise max_connections of PostgreSQL"
	case "57P03":
		return "wait until PostgreSQL has started"
	case "25006":
		return "name the primary server: this one only reads"
	}
	return ""
}

// sqliteAdvice says what an operator does about an error of SQLite, "" where that is not known.
func sqliteAdvice(path string, err error) string {
	code := 0
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		code = lite.Code() & 0xff
	}
	switch {
	case code == 26 || code == 11:
		return "it is not a database of SQLite, or damaged: name another file, or restore it from a backup"
	case errors.Is(err, fs.ErrPermission) || code == 8 || code == 3 || errors.Is(err, syscall.EROFS):
		return "the user that the server runs as must be able to write the file and its folder: see chown and chmod"
	case code == 5 || code == 6:
		return "another program has locked it: end that one"
	case errors.Is(err, fs.ErrNotExist):
		return "make the folder " + filepath.Dir(path) + ", or name another file"
	case code == 14:
		return "name a file that the server may make and write"
	}
	return ""
}

// Explain adds to an error of an open database what an operator does about it, where that is
// known: rights that are missing, for example.
func (d *DB) Explain(err error) error {
	advice := ""
	if _, known := errors.AsType[*openError](err); err == nil || known {
		return err
	}
	if d.pool != nil {
		if _, ok := errors.AsType[*pgconn.PgError](err); ok {
			advice = postgresAdvice(d.pool.Config().ConnConfig, err)
		}
	} else if _, ok := errors.AsType[*sqlite.Error](err); ok {
		advice = sqliteAdvice(d.path, err)
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%w (%s: %s)", err, d.Place(), advice)
}

// Place names the database for people: a file, or a database on a server, without a password.
func (d *DB) Place() string {
	if d.pool == nil {
		return "SQLite database " + d.path
	}
	return postgresPlace(d.pool.Config().ConnConfig)
}

// checkEncoding refuses a database of PostgreSQL that cannot hold every text.
func checkEncoding(ctx context.Context, pool *pgxpool.Pool) error {
	var encoding string
	if err := pool.QueryRow(ctx, "SELECT current_setting('server_encoding')").Scan(&encoding); err != nil {
		return err
	}
	if encoding == "UTF8" {
		return nil
	}
	c := pool.Config().ConnConfig
	text := fmt.Sprintf("%s has the encoding %s, and UTF8 is needed (make another one and name it: %s)", postgresPlace(c), encoding, createAdvice(c))
	return &openError{text: text}
}
