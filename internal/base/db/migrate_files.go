package db

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// migration is one step of the schema, from one file.
type migration struct {
	number   int
	name     string
	checksum string // of the file, words and blocks included
	sql      string // for this engine
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

// choose leaves out the blocks for the other engine and refuses unknown words.
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
