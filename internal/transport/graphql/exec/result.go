package exec

import (
	"encoding/json"
	"errors"

	"github.com/vektah/gqlparser/v2/ast"

	"tenon/internal/base/jsonstream"
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

// MaxAnswer is how many bytes the answers of one request have together: a long text under many
// aliases would make one without end.
const MaxAnswer = 64 << 20

// ErrLarge is the error of an answer with too many bytes.
var ErrLarge = errors.New("answer is too large")

// Write writes the answer as JSON, the same each time. It ends the writing with ErrLarge where there is too much of it.
func (r *Result) Write(to *jsonstream.Writer) {
	w := writer{to}
	w.Raw("{")
	comma := ""
	if r.executed {
		w.Raw(`"data":`)
		if r.data == nil {
			w.Raw("null")
		} else {
			w.value(r.data)
		}
		comma = ","
	}
	if len(r.Errors) > 0 {
		w.Raw(comma + `"errors":`)
		w.Value(r.Errors)
		comma = ","
	}
	if len(r.Extensions) > 0 {
		w.Raw(comma + `"extensions":`)
		w.Value(r.Extensions)
	}
	w.Raw("}")
}

type writer struct{ *jsonstream.Writer }

func (w *writer) value(v any) {
	if w.Len() > MaxAnswer {
		w.Fail(ErrLarge)
	}
	if w.Err() != nil {
		return
	}
	switch v := v.(type) {
	case nil:
		w.Raw("null")
	case *row:
		w.Raw("{")
		for i, key := range v.keys {
			if i > 0 {
				w.Raw(",")
			}
			w.Raw(`"`)
			w.Raw(key)
			w.Raw(`":`)
			w.value(v.values[i])
		}
		w.Raw("}")
	case []any:
		w.Raw("[")
		for i, e := range v {
			if i > 0 {
				w.Raw(",")
			}
			w.value(e)
		}
		w.Raw("]")
	case string:
		w.String(v)
	case json.RawMessage:
		w.Raw(string(v))
	default:
		w.Value(v)
	}
}
