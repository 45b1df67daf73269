package filter_test

import (
	"regexp"
	"strings"
	"testing"

	"tenon/internal/core/filter"
	"tenon/migrations"
)

// TestTrigrams_migration compares the bound of indexed texts with that of the triggers and
// indexes in the schema: rows between two bounds would be found twice or not at all.
func TestTrigrams_migration(t *testing.T) {
	t.Parallel()
	text, err := migrations.FS.ReadFile("0007_search_and_list_indexes.sql")
	if err != nil {
		t.Fatal(err)
	}
	bounds := regexp.MustCompile(`length\((?:new\.|old\.)?description_fold\) (?:<=|>) (\d+)`).FindAllStringSubmatch(string(text), -1)
	if len(bounds) < 10 {
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
