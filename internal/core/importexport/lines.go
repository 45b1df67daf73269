package importexport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"tenon/internal/core/tree"
)

// maxDocument bounds a line, and the file of one object, in bytes.
const maxDocument = 50 << 20

// linesAtOnce bounds the lines that are written together.
const linesAtOnce = 50

// hasTree reports whether the archive has the layout of files for relations.
func hasTree(root *os.Root) bool {
	_, err := root.Stat("tree/project.json")
	return err == nil
}

// batches hands the lines of a relation to fn, as many at a time as one transaction takes. One that is too large for that is alone. A line that is too
// long has no text.
func batches(ctx context.Context, root *os.Root, name string, single bool, fn func(lines []tree.Line) error) (err error) {
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return failure{invalidFile}
	}
	if single {
		text := tooLong
		if info.Size() <= maxDocument {
			text = make([]byte, info.Size())
			if _, err := io.ReadFull(f, text); err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
		}
		if text = bytes.TrimSpace(text); string(text) == "null" || len(text) == 0 {
			return nil
		}
		return fn([]tree.Line{{Number: 1, Text: text}})
	}
	in := &lineReader{from: f, in: bufio.NewReaderSize(f, 64<<10)}
	var batch []tree.Line
	weight := 0.0
	for number := 1; ; number++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text, err := in.read()
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			more := tree.Weight(text)
			if len(batch) > 0 && weight+more > 1 {
				if err := fn(batch); err != nil {
					return err
				}
				batch, weight = nil, 0
			}
			batch, weight = append(batch, tree.Line{Number: number, Text: text}), weight+more
		}
		end := err != nil
		if len(batch) > 0 && (end || len(batch) == linesAtOnce || weight >= 1) {
			if err := fn(batch); err != nil {
				return err
			}
			batch, weight = nil, 0
		}
		if end {
			return nil
		}
	}
}

// tooLong stands for a line that is too long; it is no JSON.
var tooLong = []byte("-")

// lineReader reads lines, each into as much memory as it needs.
type lineReader struct {
	from io.ReaderAt
	in   *bufio.Reader // of the same
	at   int64         // where the next line begins
}

// read reads a line; one that is too long is read past.
func (l *lineReader) read() ([]byte, error) {
	size := int64(0)
	for {
		part, err := l.in.ReadSlice('\n')
		size += int64(len(part))
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		begin := l.at
		l.at += size
		if size > maxDocument {
			return tooLong, err
		}
		out := make([]byte, size)
		if size == int64(len(part)) {
			copy(out, part)
			return out, err
		}
		if _, more := l.from.ReadAt(out, begin); more != nil && !errors.Is(more, io.EOF) {
			return nil, more
		}
		return out, err
	}
}

// capped fails where more than a number of bytes are read without more being allowed.
type capped struct {
	from io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, failure{"project.json has a part that is too large."}
	}
	n, err := c.from.Read(p)
	c.left -= int64(n)
	return n, err
}

// splitOld makes files of relations from the layout before 12.10, which has all of them in one object.
func splitOld(ctx context.Context, root *os.Root) (err error) {
	f, err := root.Open("project.json")
	if errors.Is(err, fs.ErrNotExist) {
		return failure{"The archive has no project.json."}
	}
	if err != nil {
		return fmt.Errorf("read project.json: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := root.MkdirAll("tree/project", 0o700); err != nil {
		return fmt.Errorf("split project.json: %w", err)
	}
	in := &capped{from: f, left: maxDocument}
	dec := json.NewDecoder(bufio.NewReaderSize(in, 64<<10))
	if at, err := dec.Token(); err != nil || at != json.Delim('{') {
		return failure{invalidFile}
	}
	known := map[string]file{}
	for _, one := range files {
		known[one.name] = one
	}
	own := map[string]json.RawMessage{}
	size := 0
	for dec.More() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		in.left = maxDocument
		at, err := dec.Token()
		name, ok := at.(string)
		if err != nil || !ok {
			return failure{invalidFile}
		}
		one, relation := known[name]
		if relation && !one.single {
			if err := splitList(ctx, root, dec, in, name); err != nil {
				return err
			}
			delete(known, name) // one that comes twice is read past
			continue
		}
		var text json.RawMessage
		if err := dec.Decode(&text); err != nil {
			return unreadable(ctx, err)
		}
		if relation {
			if err := root.WriteFile(projectLayout.folder+name+".ndjson", text, 0o600); err != nil {
				return fmt.Errorf("split project.json: %w", err)
			}
			continue
		}
		if size += len(text); size > maxDocument {
			return failure{"project.json has a part that is too large."}
		}
		own[name] = text
	}
	text, err := json.Marshal(own)
	if err == nil {
		err = root.WriteFile("tree/project.json", text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("split project.json: %w", err)
	}
	return nil
}

// splitList writes the objects of a list, a line each.
func splitList(ctx context.Context, root *os.Root, dec *json.Decoder, in *capped, name string) (err error) {
	at, err := dec.Token()
	if err != nil {
		return unreadable(ctx, err)
	}
	if at == nil {
		return nil
	}
	if at != json.Delim('[') {
		return failure{invalidFile}
	}
	f, err := root.OpenFile(projectLayout.folder+name+".ndjson", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("split project.json: %w", err)
	}
	out := bufio.NewWriterSize(f, 64<<10)
	defer func() { err = errors.Join(err, out.Flush(), f.Close()) }()
	for dec.More() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		in.left = maxDocument
		var text json.RawMessage
		if err := dec.Decode(&text); err != nil {
			return unreadable(ctx, err)
		}
		var line bytes.Buffer
		if err := json.Compact(&line, text); err != nil {
			return unreadable(ctx, err)
		}
		line.WriteByte('\n')
		if _, err := out.Write(line.Bytes()); err != nil {
			return fmt.Errorf("split project.json: %w", err)
		}
	}
	_, err = dec.Token()
	return unreadable(ctx, err)
}
