package api

import (
	"strconv"
	"strings"
)

// Opt is a parameter of an update: it tells apart what was not sent, what was sent
// as null, and what was sent with a value. An empty string is null for every type
// but strings and lists.
type Opt[T any] struct {
	Value T
	Set   bool // the parameter was sent
	Null  bool // it was sent as null
}

// Ptr returns the value, or nil where none was sent or it was null.
func (o Opt[T]) Ptr() *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}

// OrZero returns a pointer to the value, to the zero value where null was sent, and
// nil where nothing was sent: the form of a core package's Changes.
func (o Opt[T]) OrZero() *T {
	if !o.Set {
		return nil
	}
	return &o.Value
}

func (Opt[T]) optional() {}

// Ints is a list of whole numbers, sent as an array or as one string with commas.
// What is no number counts as 0. It is nil only where nothing was sent.
type Ints []int64

// Strings is a list of texts, sent as an array, as one string with commas, or both
// at once. Items are trimmed. It is nil only where nothing was sent.
type Strings []string

// IDOrWord is a filter that takes an id or one of the words none and any.
type IDOrWord struct {
	ID   int64
	None bool
	Any  bool
}

// IsZero reports whether nothing was sent.
func (i IDOrWord) IsZero() bool { return i == IDOrWord{} }

// NumericID reports whether the :id of a project, group or user is a number, and
// which. Everything else is a path or name. A number beyond int64 is no id of
// anything and comes back as 0, true.
func NumericID(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, true
	}
	return n, true
}

// Misshapen is a field that is no parameter: it holds the words of the misshapen tag of a
// parameter whose value had the wrong type, "" where none had. The endpoint refuses it then,
// after what comes before that.
type Misshapen string
