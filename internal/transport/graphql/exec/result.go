package exec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
)

// Location is a place in the document, both counted from 1.
type Location struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Error is one entry of the errors of an answer.
type Error struct {
	Message    string         `json:"message"`
	Locations  []Location     `json:"locations,omitzero"`
	Path       []any          `json:"path,omitempty"`
	Extensions map[string]any `json:"extensions,omitempty"`
}

func locations(at ...*ast.Position) []Location {
	out := make([]Location, 0, len(at))
	for _, p := range at {
		if p != nil {
			out = append(out, Location{p.Line, p.Column})
		}
	}
	return out
}

// Result is the answer to one request. Without data it was not executed.
type Result struct {
	Errors     []Error
	Extensions map[string]any

	executed bool
	data     *row
}

// Refused is the answer to a request that is not executed.
func Refused(errors ...Error) *Result { return &Result{Errors: errors} }

// Data reports whether the answer has data.
func (r *Result) Data() bool { return r.data != nil }

// maxAnswer is how many bytes the answers of one request have together: a long text under many
// aliases would make one without end.
const maxAnswer = 64 << 20

// ErrLarge is the error of an answer with too many bytes.
var ErrLarge = errors.New("answer is too large")

// Append writes the answer as JSON. It gives ErrLarge where b gets too large.
func (r *Result) Append(b *bytes.Buffer) error {
	w := writer{Buffer: b}
	w.enc = json.NewEncoder(b)
	w.enc.SetEscapeHTML(false)
	b.WriteByte('{')
	comma := ""
	if r.executed {
		b.WriteString(`"data":`)
		if r.data == nil {
			b.WriteString("null")
		} else {
			w.value(r.data)
		}
		comma = ","
	}
	if len(r.Errors) > 0 {
		b.WriteString(comma + `"errors":`)
		w.any(r.Errors)
		comma = ","
	}
	if len(r.Extensions) > 0 {
		b.WriteString(comma + `"extensions":`)
		w.any(r.Extensions)
	}
	b.WriteByte('}')
	return w.err
}

type writer struct {
	*bytes.Buffer
	enc *json.Encoder
	err error
}

func (w *writer) value(v any) {
	if w.Len() > maxAnswer {
		w.err = ErrLarge
		return
	}
	switch v := v.(type) {
	case nil:
		w.WriteString("null")
	case *row:
		w.WriteByte('{')
		for i, key := range v.keys {
			if i > 0 {
				w.WriteByte(',')
			}
			w.WriteByte('"')
			w.WriteString(key)
			w.WriteString(`":`)
			w.value(v.values[i])
		}
		w.WriteByte('}')
	case []any:
		w.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				w.WriteByte(',')
			}
			w.value(e)
		}
		w.WriteByte(']')
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case int:
		w.WriteString(strconv.Itoa(v))
	case int64:
		w.WriteString(strconv.FormatInt(v, 10))
	case json.RawMessage:
		w.Write(v)
	default:
		w.any(v)
	}
}

// any writes what encoding/json makes of a value.
func (w *writer) any(v any) {
	if err := w.enc.Encode(v); err != nil {
		if w.err == nil {
			w.err = fmt.Errorf("write the answer: %w", err)
		}
		w.WriteString("null")
		return
	}
	if w.Len() > maxAnswer {
		w.err = ErrLarge
	}
	w.Truncate(w.Len() - 1) // the encoder ends a value with a line break
}
