package filter_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/core/filter"
	"tenon/migrations"
)

// TestTrigrams_migration compares the bound of indexed texts with that of the triggers and
// indexes in the schema: rows between two bounds would be found twice or not at all.
func TestTrigrams_migration(t *testing.T) {
	t.Parallel()
	var text []byte
	for _, name := range []string{"0007_search_and_list_indexes.sql", "0058_pending_trigrams.sql"} {
		part, err := migrations.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	bounds := regexp.MustCompile(`length\((?:new\.|old\.)?description_fold\) (?:<=|>) (\d+)`).FindAllStringSubmatch(string(text), -1)
	if len(bounds) < 20 {
		t.Fatalf("found %d bounds in the migration, want those of two tables", len(bounds))
	}
	for _, table := range []string{"issues", "merge_requests"} {
		texts := filter.Trigrams(table)
		for _, m := range bounds {
			if !strings.HasSuffix(texts.Short, "<= "+m[1]) || !strings.HasSuffix(texts.Long, "> "+m[1]) {
				t.Errorf("%s: %q and %q, and the migration has %q", table, texts.Short, texts.Long, m[0])
			}
		}
	}
}

// Indexes that are written often merge many segments at a time: each merge writes all their trigrams again.
func TestTrigrams_merges(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if d.Dialect() != db.SQLite {
			t.Skip("PostgreSQL has indexes of its own")
		}
		for _, table := range []string{"issues", "merge_requests", "notes"} {
			for name, want := range map[string]int64{"automerge": 8, "crisismerge": 32} {
				got, err := db.Get[int64](t.Context(), d, "SELECT v FROM "+table+"_trigrams_config WHERE k = ?", name)
				if err != nil || got != want {
					t.Errorf("%s of the trigrams of %s: got %d, %v; want %d", name, table, got, err, want)
				}
			}
		}
	})
}

// PostgreSQL knows that few texts are long: it looks a rare word up instead of reading all rows.
func TestTrigrams_lengths(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if d.Dialect() != db.Postgres {
			t.Skip("SQLite plans without statistics")
		}
		for range 2 { // the second time all of it is there
			if err := d.IndexTrigrams(t.Context(), []db.Trigrams{filter.Trigrams("issues"), filter.Trigrams("merge_requests")}); err != nil {
				t.Fatal(err)
			}
		}
		names, err := db.Select[string](t.Context(), d, "SELECT stxname FROM pg_statistic_ext ORDER BY stxname")
		if err != nil || !slices.Equal(names, []string{"issues_lengths", "merge_requests_lengths"}) {
			t.Errorf("got %v, %v; want statistics of both tables", names, err)
		}
	})
}
