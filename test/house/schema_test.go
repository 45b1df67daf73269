package house

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	tablePattern = regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\);`)
	indexPattern = regexp.MustCompile(`CREATE (?:UNIQUE )?INDEX \w+ ON (\w+) \((\w+)`)
	keyPattern   = regexp.MustCompile(`(?:PRIMARY KEY|UNIQUE) \((\w+)`)
	refPattern   = regexp.MustCompile(`^\s+(\w+)\s.*REFERENCES \w+`)
)

// short are tables of few rows at any time, which need no index for what they refer to.
var short = map[string]bool{"ref_intents": true}

// TestForeignKeys looks for the index behind every reference: without one, a statement that
// deletes the row that it names reads the whole table.
func TestForeignKeys(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root(t), "migrations", "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	tables := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		leads := map[string]bool{}
		for _, m := range indexPattern.FindAllStringSubmatch(string(text), -1) {
			leads[m[1]+"."+m[2]] = true
		}
		for _, table := range tablePattern.FindAllStringSubmatch(string(text), -1) {
			tables++
			for _, m := range keyPattern.FindAllStringSubmatch(table[2], -1) {
				leads[table[1]+"."+m[1]] = true
			}
			for line := range strings.SplitSeq(table[2], "\n") {
				m := refPattern.FindStringSubmatch(line)
				if m == nil || strings.Contains(line, "PRIMARY KEY") || short[table[1]] {
					continue
				}
				if !leads[table[1]+"."+m[1]] {
					t.Errorf("%s.%s refers to another table and no index begins with it", table[1], m[1])
				}
			}
		}
	}
	if tables < 20 {
		t.Errorf("found %d tables only", tables)
	}
}

var (
	droppedPattern = regexp.MustCompile(`DROP TABLE (\w+)`)
	renamedPattern = regexp.MustCompile(`ALTER TABLE (\w+) RENAME TO (\w+)`)
)

// TestTables_documented compares the tables of the schema with those that docs/architecture.md gives an owner.
func TestTables_documented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Who owns which table\n")
	section, _, _ = strings.Cut(section, "\n## ")
	owned := map[string]bool{}
	for line := range strings.SplitSeq(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, name := range strings.FieldsFunc(cells[2], func(c rune) bool { return c == ',' || c == ';' }) {
			if name = strings.TrimSpace(name); !strings.Contains(name, " ") {
				owned[name] = true
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(root(t), "migrations", "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d migrations, %v", len(files), err)
	}
	schema := map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range droppedPattern.FindAllStringSubmatch(string(text), -1) {
			delete(schema, m[1])
		}
		for _, m := range renamedPattern.FindAllStringSubmatch(string(text), -1) {
			delete(schema, m[1])
			schema[m[2]] = true
		}
		for _, m := range tablePattern.FindAllStringSubmatch(string(text), -1) {
			schema[m[1]] = true
		}
	}
	for name := range schema {
		if !owned[name] {
			t.Errorf("docs/architecture.md names no owner of table %s", name)
		}
	}
	for name := range owned {
		if !schema[name] && name != "tables" && strings.Trim(name, "-") != "" {
			t.Errorf("docs/architecture.md names an owner of table %s, which the schema does not have", name)
		}
	}
}

// TestMigrations_released keeps what data folders have been migrated with: a released file
// never changes, so a change of the schema is a new file.
func TestMigrations_released(t *testing.T) {
	t.Parallel()
	states, err := filepath.Glob(filepath.Join(root(t), "test", "fixtures", "testdata", "*", "state.json"))
	if err != nil || len(states) == 0 {
		t.Fatalf("%d released states, %v", len(states), err)
	}
	for _, state := range states {
		text, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		var sums map[string]string
		if err := json.Unmarshal(text, &sums); err != nil {
			t.Fatalf("%s: %v", state, err)
		}
		if sums["0001_schema.sql"] == "" {
			t.Errorf("%s does not name the first migration", state)
		}
		for name, want := range sums {
			file, err := os.ReadFile(filepath.Join(root(t), "migrations", name))
			if err != nil {
				t.Errorf("a released migration is gone: %v", err)
				continue
			}
			if got := fmt.Sprintf("%x", sha256.Sum256(file)); got != want {
				t.Errorf("%s was changed after its release (checksum %s, want %s): undo that, and make the change in a new migration", name, got, want)
			}
		}
	}
}
