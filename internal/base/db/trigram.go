package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
)

// Trigrams names a table with an id whose folded text columns are searched for parts of
// words. SQLite keeps the trigrams in the FTS5 table <Table>_trigrams, which triggers of
// the schema fill. PostgreSQL has an index of that name, see [DB.IndexTrigrams].
type Trigrams struct {
	Table   string
	Columns []string // PostgreSQL: expressions on the columns

	// Short is a condition: only rows that meet it are indexed. A text of a million
	// characters may have as many trigrams, which takes seconds to write. Long is its
	// contrary, which an index of the schema serves. Both are "" where all rows are.
	Short, Long string
	length      string // the expression that both compare

	// Late says that SQLite writes the trigrams of a row a while after the row, with those of others: until then its id is
	// in <Table>_pending_trigrams, and searches look into it.
	Late bool
}

// maxIndexed is the length in characters of the longest text that has trigrams where a table
// bounds it. Searches look into longer ones. The migrations that make the indexes have the same number.
const maxIndexed = 16384

// Bounded leaves rows out of the index in which an expression is longer than 16,384 characters,
// and those for which a condition does not hold; "" is no condition.
func (t Trigrams) Bounded(text, cond string) Trigrams {
	if cond != "" {
		cond += " AND "
	}
	bound := strconv.Itoa(maxIndexed)
	t.length = "length(" + text + ")"
	t.Short, t.Long = cond+t.length+" <= "+bound, cond+t.length+" > "+bound
	return t
}

func (t Trigrams) name() string { return t.Table + "_trigrams" }

// pendingSuffix ends the names of tables with the ids of rows that have no trigrams yet.
const pendingSuffix = "_pending_trigrams"

func (t Trigrams) pending() string { return t.Table + pendingSuffix }

func (t Trigrams) where() string {
	if t.Short == "" {
		return ""
	}
	return " WHERE " + t.Short
}

// withLong adds the rows that are not indexed to a query for those that are.
func (t Trigrams) withLong(query string) string {
	if t.Long == "" {
		return query
	}
	return query + " UNION ALL SELECT id FROM " + t.Table + " WHERE " + t.Long
}

const (
	trigram     = 3
	maxTrigrams = 16 // of one search; more of them find hardly fewer rows
)

// IndexTrigrams makes the indexes for [DB.Holding] on PostgreSQL where they are missing.
// They need the extension pg_trgm, which the owner of a database may create. Where that is
// refused it logs a warning: searches then read all rows, and the next start tries again.
// On SQLite it indexes the rows that wait for it, and from then on those that are written, until the
// database is closed.
func (d *DB) IndexTrigrams(ctx context.Context, tables []Trigrams) error {
	if d.dialect == SQLite {
		return d.startIndexer(ctx, tables)
	}
	err := d.InTx(ctx, func(ctx context.Context) error {
		if err := d.Lock(ctx, "trigrams"); err != nil {
			return err
		}
		if _, err := d.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_trgm"); err != nil {
			return err
		}
		for _, t := range tables {
			columns := make([]string, len(t.Columns))
			for i, column := range t.Columns {
				columns[i] = column + " gin_trgm_ops"
			}
			if _, err := d.Exec(ctx, "CREATE INDEX IF NOT EXISTS "+t.name()+" ON "+t.Table+" USING gin ("+strings.Join(columns, ", ")+")"+t.where()); err != nil {
				return err
			}
			if err := d.countLengths(ctx, t); err != nil {
				return err
			}
		}
		return nil
	})
	d.unindexed.Store(err != nil)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && slices.Contains([]string{"42501", "58P01", "0A000", "42704"}, refused.Code) {
		d.log.WarnContext(ctx, "searches read all rows: PostgreSQL refuses the extension pg_trgm; an administrator of the server may run"+
			" CREATE EXTENSION pg_trgm in the database", slog.String("error", refused.Message))
		return nil
	}
	if err != nil {
		return fmt.Errorf("index texts: %w", err)
	}
	return nil
}

// countLengths has PostgreSQL keep statistics of the lengths of texts, which it can since version 14. Without them it takes
// a third of the rows for long ones, and reads the whole table to find a rare word.
func (d *DB) countLengths(ctx context.Context, t Trigrams) error {
	if t.length == "" {
		return nil
	}
	name := t.Table + "_lengths"
	missing, err := Get[bool](ctx, d, `SELECT CAST(current_setting('server_version_num') AS INTEGER) >= 140000
		AND NOT EXISTS (SELECT 1 FROM pg_statistic_ext WHERE stxname = ? AND stxnamespace = CAST(current_schema() AS regnamespace))`, name)
	if err != nil || !missing {
		return err
	}
	if _, err := d.Exec(ctx, "CREATE STATISTICS "+name+" ON ("+t.length+") FROM "+t.Table); err != nil {
		return err
	}
	filled, err := Get[bool](ctx, d, "SELECT EXISTS (SELECT 1 FROM "+t.Table+")")
	if err == nil && filled {
		_, err = d.Exec(ctx, "ANALYZE "+t.Table)
	}
	return err
}

// Partial reports whether a folded term is long enough to be looked for within texts. In lists of
// projects and users a shorter one is compared with whole texts.
func Partial(term string) bool { return utf8.RuneCountInString(term) >= trigram }

// Holding selects the ids of the rows whose texts may hold all the folded words, each
// once: all that do, and perhaps others. Not ok means that no index tells: there is none,
// or each word is shorter than three characters.
func (d *DB) Holding(t Trigrams, words []string) (query string, args []any, ok bool) {
	if d.unindexed.Load() {
		return "", nil, false
	}
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return !Partial(word) || strings.ContainsRune(word, 0)
	})
	if len(words) == 0 {
		return "", nil, false
	}
	if d.dialect == SQLite {
		query := "SELECT rowid AS id FROM " + t.name() + " WHERE " + t.name() + " MATCH ?"
		if t.Late {
			query += " UNION ALL SELECT id FROM " + t.pending()
		}
		return t.withLong(query), []any{trigramsOf(words)}, true
	}
	var w Where
	if t.Short != "" {
		w.And(t.Short)
	}
	for _, word := range words {
		pattern := "%" + LikePattern(word) + "%"
		conds := make([]string, len(t.Columns))
		args := make([]any, len(t.Columns))
		for i, column := range t.Columns {
			conds[i], args[i] = column+` LIKE ? ESCAPE '\'`, pattern
		}
		w.And("("+strings.Join(conds, " OR ")+")", args...)
	}
	return t.withLong("SELECT id FROM " + t.Table + w.SQL()), w.Args(), true
}

// trigramsOf asks FTS5 for rows with the trigrams of words, spread over each word where
// there are many.
func trigramsOf(words []string) string {
	each := max(1, maxTrigrams/len(words))
	var out []string
	for _, word := range words {
		runes := []rune(word)
		n := len(runes) - trigram + 1
		taken := min(n, each)
		for i := range taken {
			at := 0
			if taken > 1 {
				at = i * (n - 1) / (taken - 1)
			}
			out = append(out, `"`+strings.ReplaceAll(string(runes[at:at+trigram]), `"`, `""`)+`"`)
		}
		if len(out) >= 2*maxTrigrams {
			break
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " AND ")
}
