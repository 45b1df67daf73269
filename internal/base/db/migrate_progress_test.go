package db_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// A migration that takes long says which of how many it is while it runs, and each says in the
// end how long it took itself.
func TestDB_Migrate_progress(t *testing.T) {
	t.Parallel()
	count := `CREATE TABLE b (n BIGINT); WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 300000) INSERT INTO b SELECT n FROM c;`
	steps := files("0001_one.sql", "CREATE TABLE a (id {{id}});", "0002_count.sql", count)
	for _, url := range []string{t.TempDir() + "/x.db", dbtest.PostgresEncoded(t, "UTF8")} {
		var log bytes.Buffer
		d, err := db.Open(t.Context(), db.Config{URL: url, Logger: slog.New(slog.NewTextHandler(&log, nil)), Reporting: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		err = d.Migrate(t.Context(), steps)
		if cerr := d.Close(); err != nil || cerr != nil {
			t.Fatalf("%s: %v, %v", d.Dialect().Name(), err, cerr)
		}
		text := log.String()
		while, end, found := strings.Cut(text, `msg="schema migrated" migration=0001_one.sql`)
		if !found || !strings.Contains(while, `msg="schema is being migrated" migration=0002_count.sql step="2 of 2" for=`) {
			t.Errorf("%s: no line while the migration ran:\n%s", d.Dialect().Name(), text)
		}
		if strings.Contains(end, "is being migrated") || !strings.Contains(end, `msg="schema migrated" migration=0002_count.sql took=`) {
			t.Errorf("%s: got at the end:\n%s", d.Dialect().Name(), end)
		}
	}
}
