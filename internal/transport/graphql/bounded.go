package graphql

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// The bounds of JSON before it is decoded.
const (
	maxNesting  = 32
	maxEntries  = 50_000  // of one array or object
	maxElements = 100_000 // of all of them
)

// container is an array or an object that a walk through JSON is in.
type container struct {
	object bool
	tokens int // keys and values so far
}

// next counts a token. It returns the number of the entry that the token is of, and whether it is a
// value rather than a key.
func (c *container) next() (entry int, value bool) {
	c.tokens++
	if c.object {
		return (c.tokens + 1) / 2, c.tokens%2 == 0
	}
	return c.tokens, true
}

// bounded refuses JSON that is too deep or has too many parts.
func bounded(raw []byte) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if !utf8.Valid(raw) {
		return errSyntax
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	in, all := []container{{}}, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errSyntax
		}
		delim, opens := token.(json.Delim)
		if delim == '}' || delim == ']' {
			in = in[:len(in)-1]
			continue
		}
		entry, value := in[len(in)-1].next()
		if value && len(in) > 1 {
			all++
		}
		if entry > maxEntries || all > maxElements {
			return unprocessable("The body has too many elements")
		}
		if opens {
			if in = append(in, container{object: delim == '{'}); len(in) > maxNesting+1 {
				return unprocessable("The body is nested too deeply")
			}
		}
	}
}
