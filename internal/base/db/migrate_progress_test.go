package db_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
)

// A migration that takes long says which of how many it is while it runs. A new database has one line in the
// end, one that is there already a line for each migration.
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
		first := log.String()
		log.Reset()
		if err == nil {
			steps["0003_three.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE c (id {{id}});")}
			err = d.Migrate(t.Context(), steps)
			delete(steps, "0003_three.sql")
		}
		if cerr := d.Close(); err != nil || cerr != nil {
			t.Fatalf("%s: %v, %v", d.Dialect().Name(), err, cerr)
		}
		while, end, found := strings.Cut(first, `msg="schema created" migrations=2 took=`)
		if !found || !strings.Contains(while, `msg="schema is being migrated" migration=0002_count.sql step="2 of 2" for=`) {
			t.Errorf("%s: no line while the migration ran:\n%s", d.Dialect().Name(), first)
		}
		if strings.Contains(first, "schema migrated") || strings.Count(end, "\n") != 1 {
			t.Errorf("%s: a new database:\n%s", d.Dialect().Name(), first)
		}
		if second := log.String(); !strings.Contains(second, `msg="schema migrated" migration=0003_three.sql took=`) || strings.Contains(second, "schema created") {
			t.Errorf("%s: another migration:\n%s", d.Dialect().Name(), second)
		}
	}
}
