package note

import (
	"context"
	"crypto/sha1"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/project"
)

// diffNote is the type of a note on a line of a diff.
const diffNote = "DiffNote"

// Line is a changed line of a file: one that was added, or one that was taken away.
type Line struct {
	Path   string
	Number int  // from 1, in the file before the change where Old
	Old    bool // it was taken away
}

// PositionType says what of a file a note on a diff is about.
type PositionType string

// The types of positions.
const (
	TextPosition  PositionType = "text"
	ImagePosition PositionType = "image"
	FilePosition  PositionType = "file"
)

// Position says what in a diff a note is about. Of a text it is a line: an added one has no
// old number, and a removed one has no new number. Of an image it is a point.
type Position struct {
	BaseSHA  string       `json:"base_sha"`
	StartSHA string       `json:"start_sha"`
	HeadSHA  string       `json:"head_sha"`
	OldPath  string       `json:"old_path"`
	NewPath  string       `json:"new_path"`
	Type     PositionType `json:"position_type"`
	OldLine  *int         `json:"old_line"`
	NewLine  *int         `json:"new_line"`

	Range *LineRange `json:"line_range,omitempty"` // of a text, where it is more than one line; it ends with the line

	// Of an image: its size and the point, in pixels.
	Width  *int     `json:"width,omitempty"`
	Height *int     `json:"height,omitempty"`
	X      *float64 `json:"x,omitempty"`
	Y      *float64 `json:"y,omitempty"`
}

// LineRange is the lines that a note is about.
type LineRange struct {
	Start RangeEnd `json:"start"`
	End   RangeEnd `json:"end"`
}

// RangeEnd is the first or the last line of a range.
type RangeEnd struct {
	LineCode string  `json:"line_code"`
	Type     *string `json:"type"` // new, old, expanded; nil for a line that is the same in both files
	OldLine  *int    `json:"old_line"`
	NewLine  *int    `json:"new_line"`
}

// Scan reads what Value wrote.
func (p *Position) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return json.Unmarshal([]byte(v), p)
	case []byte:
		return json.Unmarshal(v, p)
	}
	return fmt.Errorf("no position: %T", src)
}

// Value binds the position as JSON.
func (p *Position) Value() (driver.Value, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode position: %w", err)
	}
	return string(text), nil
}

// Line returns the number and whether the line was taken away.
func (p *Position) Line() (number int, old bool) {
	if p.NewLine != nil {
		return *p.NewLine, false
	}
	if p.OldLine != nil {
		return *p.OldLine, true
	}
	return 0, false
}

func newPosition(base, head gitstore.ObjectID, f *gitcmd.FileDiff, line gitcmd.ChangedLine) *Position {
	p := &Position{
		BaseSHA: base.String(), StartSHA: base.String(), HeadSHA: head.String(), OldPath: f.OldPath, NewPath: f.NewPath, Type: TextPosition,
	}
	if line.Old {
		p.OldLine = &line.OldNumber
	} else {
		p.NewLine = &line.NewNumber
	}
	return p
}

// lineCode names a line by the hash of its file's path and both numbers. The number of a side
// without lines is 0, see [gitcmd.FileDiff.Numbered].
func lineCode(path string, line gitcmd.ChangedLine) string {
	sum := sha1.Sum([]byte(path))
	return fmt.Sprintf("%s_%d_%d", hex.EncodeToString(sum[:]), line.OldNumber, line.NewNumber)
}

// keeper is implemented by things that must be kept because they are commented on.
type keeper interface {
	Keep(ctx context.Context, p *project.Project, on noteable.Ref) error
}

// placer is implemented by things whose changed lines are named by path and number alone.
type placer interface {
	Place(ctx context.Context, as authz.Actor, p *project.Project, on noteable.Ref, line Line) (at *Position, lineCode string, err error)
}

// prepare does what a new note needs of git.
func (s *Service) prepare(ctx context.Context, as authz.Actor, on On, t noteable.Target, in *Input, n *Note) error {
	kind := diffNote
	if in.Position != nil {
		position, code, err := s.CheckPosition(ctx, on, t, *in.Position, in.CommitID)
		if err != nil {
			return err
		}
		n.Type, n.Position, n.LineCode = &kind, position, code
		if t.Kind == noteable.MergeRequest && in.CommitID != "" {
			n.CommitID = &position.HeadSHA
		}
	}
	if source, ok := things[placer](s, t.Kind); ok && in.Line != nil {
		position, code, err := source.Place(ctx, as, project.Of(on.Place), t.Ref, *in.Line)
		if err != nil {
			return err
		}
		if position != nil {
			n.Type, n.Position, n.LineCode = &kind, position, &code
		}
	}
	var err error
	if n.Suggested, err = s.SuggestionsIn(ctx, on, n.Position, n.Body); err != nil {
		return err
	}
	if source, ok := things[keeper](s, t.Kind); ok {
		return source.Keep(ctx, project.Of(on.Place), t.Ref)
	}
	return nil
}
