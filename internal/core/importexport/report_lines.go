package importexport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"tenon/internal/base/blob"
	"tenon/internal/core/tree"
)

// keptFile has lines that were lost.
type keptFile struct {
	ID     int64  `db:"id"`
	Object string `db:"object"`
	Size   int64  `db:"size"`
}

const keptColumns = "i.id, i.object, i.size"

// reportLine is a row that was not written as it is, as it is kept and as clients get it.
type reportLine struct {
	Relation string          `json:"relation"`
	Line     int64           `json:"line"` // from 1, 0 for a file
	Action   tree.Action     `json:"action"`
	Reason   string          `json:"reason"`
	Title    string          `json:"title"`
	Row      json.RawMessage `json:"row,omitempty"`  // the row itself, one that was lost
	Text     string          `json:"text,omitempty"` // the same where it is no JSON
}

func (l *reportLine) write(to io.Writer) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return enc.Encode(l)
}

// Lines are the rows of a report, an object of JSON a line: relation, line, action, reason, title, and row or text of those that were lost, as
// far as they are kept.
type Lines struct {
	Size int64 // in bytes

	s    *Service
	ctx  context.Context // of the reading
	kept []keptFile
	open io.ReadCloser // the first of them
	rest bytes.Buffer
}

// Lines opens the rows of the report.
func (r *Report) Lines(ctx context.Context) (*Lines, error) {
	out := &Lines{s: r.s, ctx: ctx}
	have := map[int64]bool{}
	for _, k := range r.kept {
		info, err := r.s.Objects.Stat(ctx, k.Object)
		if errors.Is(err, blob.ErrNotFound) || err == nil && info.Size != k.Size {
			continue // restored from a backup
		}
		if err != nil {
			return nil, fmt.Errorf("lines of report: %w", err)
		}
		if out.Size += k.Size; out.Size > maxKept {
			out.Size -= k.Size
			break
		}
		out.kept, have[k.ID] = append(out.kept, k), true
	}
	for _, item := range r.Items {
		if item.KeptIn != nil && have[*item.KeptIn] {
			continue
		}
		line := reportLine{Relation: item.Relation, Line: item.Line, Action: item.Action, Reason: item.Reason, Title: item.Title}
		if err := line.write(&out.rest); err != nil {
			return nil, fmt.Errorf("lines of report: %w", err)
		}
	}
	out.Size += int64(out.rest.Len())
	return out, nil
}

// Read reads the rows, those with their text first.
func (l *Lines) Read(p []byte) (int, error) {
	for len(l.kept) > 0 {
		if l.open == nil {
			object, err := l.s.Objects.Open(l.ctx, l.kept[0].Object)
			if err != nil {
				return 0, fmt.Errorf("lines of report: %w", err)
			}
			l.open = object
		}
		n, err := l.open.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				err = nil // the next call finds it again
			}
			return n, err
		}
		if err := l.Close(); err != nil {
			return 0, err
		}
		l.kept = slices.Delete(l.kept, 0, 1)
	}
	return l.rest.Read(p)
}

// Close ends the reading.
func (l *Lines) Close() error {
	if l.open == nil {
		return nil
	}
	err := l.open.Close()
	l.open = nil
	return err
}
