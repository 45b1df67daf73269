package importexport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Bounds of the lines that are kept, in bytes.
const (
	maxKept    = 100 << 20 // of a report
	maxKeptRow = 8 << 20   // of one row
)

// spool is the file that lines are gathered in before they are stored. Archives have none of its name.
const spool = "kept.ndjson"

// keeping stores the lines of an import that were lost. It reads them from the archive again once everything is written, so that nothing of them
// is in a transaction, and an attempt that the end of the process interrupts does it again.
type keeping struct {
	f *filling

	out   *bufio.Writer
	size  int64
	left  int64
	items []int64  // that have their row in the spool
	whole []string // files that are in it
}

// keepAround runs fn, and keeps what was lost also where it fails.
func (f *filling) keepAround(ctx context.Context, fn func(ctx context.Context) error) error {
	err := fn(ctx)
	if ctx.Err() != nil || errors.Is(err, tree.ErrStop) || errors.Is(err, errs.ErrAway) {
		return err
	}
	return errors.Join(err, f.keepLines(ctx))
}

// itemsIn are the table of the items, and its column with the number of the project or group.
func (f *filling) itemsIn() (table, column string) {
	if f.At.Group {
		return "imported_group_items", "namespace_id"
	}
	return "file_import_items", "project_id"
}

// lostRow is an item whose row is not kept yet.
type lostRow struct {
	ID       int64  `db:"id"`
	Relation string `db:"relation"`
	Line     int64  `db:"line"`
	Reason   string `db:"reason"`
	Title    string `db:"title"`
	File     string `db:"file"`
	Place    string `db:"place"`
}

// keepLines keeps the lines of items that have none yet, and of files for which there is no relation.
func (f *filling) keepLines(ctx context.Context) (err error) {
	table, column := f.itemsIn()
	lost, err := db.Select[lostRow](ctx, f.s.DB, "SELECT id, relation, line, reason, title, file, place FROM "+table+" WHERE "+column+
		" = ? AND place IS NOT NULL AND kept_in IS NULL ORDER BY file, line, id LIMIT ?", f.At.ID, maxItems)
	if err != nil {
		return fmt.Errorf("lines that were lost: %w", err)
	}
	k, files := &keeping{f: f}, f.strange()
	if len(lost)+len(files) == 0 {
		return nil
	}
	if err := k.before(ctx, files); err != nil || len(lost)+len(files) == 0 {
		return err
	}
	to, err := f.from.OpenFile(spool, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("keep lines: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close(), f.from.Remove(spool)) }()
	k.out = bufio.NewWriterSize(to, 64<<10)
	for name, of := range chunked(lost, func(l lostRow) string { return l.File }) {
		if err := k.ofItems(ctx, name, of); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := k.ofFile(ctx, name, files[name]); err != nil {
			return err
		}
	}
	if err := k.out.Flush(); err != nil {
		return fmt.Errorf("keep lines: %w", err)
	}
	if k.size == 0 {
		return nil
	}
	if _, err := to.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("keep lines: %w", err)
	}
	key := Uploaded + "/" + blob.Random()
	if _, err := f.s.Objects.Put(ctx, key, to, blob.Wanted{}); err != nil {
		return fmt.Errorf("keep lines: %w", err)
	}
	if err := k.store(ctx, key); err != nil {
		f.s.remove(ctx, key)
		return err
	}
	return nil
}

// chunked yields runs of a sorted slice that have one key.
func chunked[T any](of []T, key func(T) string) func(yield func(string, []T) bool) {
	return func(yield func(string, []T) bool) {
		for len(of) > 0 {
			n := 1
			for n < len(of) && key(of[n]) == key(of[0]) {
				n++
			}
			if !yield(key(of[0]), of[:n]) {
				return
			}
			of = of[n:]
		}
	}
}

// strange are the files of relations that this server does not have, with what is said of their lines.
func (f *filling) strange() map[string]reportLine {
	out := map[string]reportLine{}
	for _, one := range f.tree.all() {
		if f.All.Find(one.name) != nil {
			continue
		}
		name := f.tree.of(one)
		if info, err := f.from.Stat(name); err == nil && info.Size() > 0 && (!one.single || info.Size() > int64(len("null\n"))) {
			out[name] = reportLine{Relation: one.name, Reason: noArea(one.name)}
		}
	}
	return out
}

// before takes the files out that are kept already, and counts how many bytes may be kept.
func (k *keeping) before(ctx context.Context, files map[string]reportLine) error {
	type kept struct {
		Size  int64           `db:"size"`
		Files db.List[string] `db:"files"`
	}
	of, args := "project_id = ?", []any{k.f.At.ID}
	if k.f.At.Group { // the groups of an archive have one report
		of = `(namespace_id = ? OR namespace_id IN (SELECT g.namespace_id FROM imported_groups g JOIN imported_groups o ON o.import_id = g.import_id WHERE o.namespace_id = ?))`
		args = append(args, k.f.At.ID)
	}
	before, err := db.Select[kept](ctx, k.f.s.DB, "SELECT size, files FROM import_lines WHERE "+of+" ORDER BY id LIMIT ?", append(args, maxGroups)...)
	if err != nil {
		return fmt.Errorf("lines that are kept: %w", err)
	}
	k.left = maxKept
	for _, b := range before {
		k.left -= b.Size
		for _, name := range b.Files {
			delete(files, name)
		}
	}
	return nil
}

// ofItems gathers the rows of the items of a file.
func (k *keeping) ofItems(ctx context.Context, name string, items []lostRow) error {
	return k.each(ctx, name, func(line tree.Line) (bool, error) {
		for len(items) > 0 && items[0].Line < int64(line.Number) {
			items = items[1:]
		}
		var text *tree.LineText
		for ; len(items) > 0 && items[0].Line == int64(line.Number); items = items[1:] {
			if text == nil {
				text = tree.NewLineText(line.Text)
			}
			one := &items[0]
			fits, err := k.put(reportLine{Relation: one.Relation, Line: one.Line, Action: tree.Lost, Reason: one.Reason, Title: one.Title}, text.At(one.Place))
			if err != nil {
				return false, err
			}
			if fits {
				k.items = append(k.items, one.ID)
			}
		}
		return len(items) > 0, nil
	})
}

// ofFile gathers all lines of a file.
func (k *keeping) ofFile(ctx context.Context, name string, as reportLine) error {
	k.whole = append(k.whole, name)
	return k.each(ctx, name, func(line tree.Line) (bool, error) {
		as.Line, as.Action, as.Title = int64(line.Number), tree.Lost, tree.TitleOf(line.Text)
		_, err := k.put(as, line.Text)
		return k.left > 0, err
	})
}

var errEnough = errors.New("no more lines are wanted")

// each hands the lines of a file to fn as long as it wants more.
func (k *keeping) each(ctx context.Context, name string, fn func(line tree.Line) (bool, error)) error {
	single := name == k.f.tree.path || !bytes.HasSuffix([]byte(name), []byte(".ndjson"))
	for _, one := range k.f.tree.all() {
		single = single || one.single && k.f.tree.of(one) == name
	}
	err := batches(ctx, k.f.from, name, single, func(lines []tree.Line) error {
		for _, line := range lines {
			more, err := fn(line)
			if err != nil {
				return err
			}
			if !more {
				return errEnough
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// put gathers one row, and reports whether there was room for it.
func (k *keeping) put(line reportLine, text []byte) (bool, error) {
	if len(text) == 0 || len(text) > maxKeptRow || bytes.Equal(text, tooLong) {
		return false, nil
	}
	if line.Row, line.Text = withoutSecrets(text); line.Row == nil && line.Text == "" {
		return false, nil
	}
	var out bytes.Buffer
	if err := line.write(&out); err != nil {
		return false, fmt.Errorf("keep lines: %w", err)
	}
	if int64(out.Len()) > k.left {
		return false, nil
	}
	k.left, k.size = k.left-int64(out.Len()), k.size+int64(out.Len())
	if _, err := k.out.Write(out.Bytes()); err != nil {
		return false, fmt.Errorf("keep lines: %w", err)
	}
	return true, nil
}

// importLines is a file of lines.
type importLines struct {
	ID          int64           `db:"id"`
	ProjectID   *project.ID     `db:"project_id"`
	NamespaceID *namespace.ID   `db:"namespace_id"`
	Object      string          `db:"object"`
	Size        int64           `db:"size"`
	Files       db.List[string] `db:"files"`
	CreatedAt   db.Time         `db:"created_at"`
}

// store notes the file of lines, and which items it has.
func (k *keeping) store(ctx context.Context, key string) error {
	row := importLines{Object: key, Size: k.size, Files: k.whole, CreatedAt: db.At(k.f.s.Now())}
	if k.f.At.Group {
		row.NamespaceID = new(namespace.ID(k.f.At.ID))
	} else {
		row.ProjectID = new(project.ID(k.f.At.ID))
	}
	table, column := k.f.itemsIn()
	err := k.f.s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, k.f.s.DB, "import_lines", &row); err != nil {
			return err
		}
		for part := range slices.Chunk(k.items, 500) {
			marks, args := db.Marks(part)
			if _, err := k.f.s.DB.Exec(ctx, "UPDATE "+table+" SET kept_in = ? WHERE id IN ("+marks+")", append([]any{row.ID}, args...)...); err != nil {
				return err
			}
		}
		for _, name := range k.whole {
			if _, err := k.f.s.DB.Exec(ctx, "UPDATE "+table+" SET kept_in = ? WHERE "+column+" = ? AND file = ? AND kept_in IS NULL", row.ID, k.f.At.ID, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep lines: %w", err)
	}
	return nil
}

// secretKey is a key of the format, or of an old one, whose value may be a secret.
var secretKey = regexp.MustCompile(`^(.+_)?(token|secret|password)(_encrypted|_digest)?$|^encrypted_|^(options|yaml_variables|variables|private_key)$`)

// secretIn finds such keys in a text.
var secretIn = regexp.MustCompile(`"(?:encrypted_[^"]*|[^"]*(?:token|secret|password|variables|options|private_key)[^"]*)"\s*:`)

// withoutSecrets is a row without the values that may be secrets: an object, or a text where it is no JSON. A text with such a key is left out.
func withoutSecrets(text []byte) (json.RawMessage, string) {
	suspect := secretIn.Match(text)
	switch {
	case !json.Valid(text) && suspect:
		return nil, ""
	case !json.Valid(text):
		return nil, string(text)
	case !suspect:
		return text, ""
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var value any
	if in.Decode(&value) != nil {
		return nil, ""
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(withoutKeys(value)) != nil {
		return nil, ""
	}
	return bytes.TrimSpace(out.Bytes()), ""
}

func withoutKeys(value any) any {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(key string, _ any) bool { return secretKey.MatchString(key) })
		for key, v := range value {
			value[key] = withoutKeys(v)
		}
	case []any:
		for i, v := range value {
			value[i] = withoutKeys(v)
		}
	}
	return value
}
