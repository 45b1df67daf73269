package npm

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"tenon/internal/base/errs"
)

const (
	maxDocument = 10 << 20 // bytes of a package document, beside its attachment
	maxDepth    = 64       // of objects and arrays in it
)

var (
	errJSON     = errs.Plain("Package document is not valid JSON")
	errLarge    = errs.Plain("Package document is too large")
	errKey      = errs.Plain("Package document has a key that is not allowed")
	errBase64   = errs.Plain("Attachment is not valid base64")
	errAttached = errs.Plain("Package document has more than one attachment")
)

// document reads the JSON of a package as it arrives. The data of its attachment is no part of the text: it is read as a stream. Keys that change
// the prototype of objects, in programs that copy them, are refused.
type document struct {
	in   *bufio.Reader
	text []byte // the document with "" in place of the data
	open []level
	data bool // the data of the attachment was met
}

// level is an object or array that is not closed yet.
type level struct {
	object bool
	naming bool   // the next string is a key
	key    string // of the value that follows
}

func newDocument(from io.Reader) *document {
	return &document{in: bufio.NewReaderSize(from, 64<<10)}
}

// next reads on to the data of the attachment, and returns false at the end of the document.
func (d *document) next() (attached bool, err error) {
	for {
		c, err := d.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if c == '"' && d.atData() {
			if d.data {
				return false, errAttached
			}
			d.data = true
			return true, d.append('"', '"')
		}
		if err := d.append(c); err != nil {
			return false, err
		}
		if err := d.step(c); err != nil {
			return false, err
		}
	}
}

// step follows the structure of the document after a byte outside of strings.
func (d *document) step(c byte) error {
	top := d.top()
	switch c {
	case '{', '[':
		if c == '{' && top != nil && top.object && (top.key == "constructor" || top.key == "prototype") {
			return errKey
		}
		if len(d.open) == maxDepth {
			return errJSON
		}
		d.open = append(d.open, level{object: c == '{', naming: c == '{'})
	case '}', ']':
		if top == nil {
			return errJSON
		}
		d.open = d.open[:len(d.open)-1]
	case ',':
		if top != nil {
			top.naming = top.object
		}
	case '"':
		return d.string(top)
	}
	return nil
}

func (d *document) top() *level {
	if len(d.open) == 0 {
		return nil
	}
	return &d.open[len(d.open)-1]
}

// atData reports whether the string that begins is the data of an attachment.
func (d *document) atData() bool {
	return len(d.open) == 3 && !d.open[2].naming && d.open[2].key == "data" && d.open[2].object && d.open[0].key == "_attachments"
}

// string reads on to the end of a string, and notes it where it is a key.
func (d *document) string(in *level) error {
	begin := len(d.text) - 1
	for escaped := false; ; {
		c, err := d.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return errJSON
		}
		if err != nil {
			return err
		}
		if err := d.append(c); err != nil {
			return err
		}
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			if in == nil || !in.naming {
				return nil
			}
			in.naming = false
			if json.Unmarshal(d.text[begin:], &in.key) != nil {
				return errJSON
			}
			if in.key == "__proto__" {
				return errKey
			}
			return nil
		}
	}
}

func (d *document) append(c ...byte) error {
	if len(d.text)+len(c) > maxDocument {
		return errLarge
	}
	d.text = append(d.text, c...)
	return nil
}

// parse decodes the document once it is read to its end.
func (d *document) parse(into any) error {
	if !utf8.Valid(d.text) || json.Unmarshal(d.text, into) != nil {
		return errJSON
	}
	return nil
}

// attachment is what the data of the attachment decodes to. At its end it reads the rest of the document and calls done, whose error is that of
// reading.
type attachment struct {
	decoded io.Reader
	limit   int64 // bytes; 0 is none
	size    int64
	rest    func() error
	err     error
}

// attachment returns the data that next has come to.
func (d *document) attachment(limit int64, done func() error) *attachment {
	a := &attachment{decoded: base64.NewDecoder(base64.StdEncoding, (*encoded)(d)), limit: limit}
	a.rest = func() error {
		if _, err := d.next(); err != nil {
			return err
		}
		return done()
	}
	return a
}

// Read returns what is decoded.
func (a *attachment) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.decoded.Read(p)
	if a.size += int64(n); a.limit > 0 && a.size > a.limit {
		err = errTooLarge
	}
	_, corrupt := errors.AsType[base64.CorruptInputError](err)
	switch {
	case corrupt, errors.Is(err, io.ErrUnexpectedEOF):
		err = errBase64
	case errors.Is(err, io.EOF):
		if failed := a.rest(); failed != nil {
			err = failed
		}
	}
	a.err = err
	return n, err
}

// encoded reads the string that the data is, to its closing quotation mark.
type encoded document

// Read returns what stands in the string.
func (e *encoded) Read(p []byte) (int, error) {
	if e.ended() {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	if _, err := e.in.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			err = errJSON // the document ends within the string
		}
		return 0, err
	}
	have, err := e.in.Peek(min(e.in.Buffered(), len(p)))
	if err != nil {
		return 0, err
	}
	n := len(have)
	if i := bytes.IndexByte(have, '"'); i >= 0 {
		n = i
	}
	if i := bytes.IndexByte(have[:n], '\\'); i >= 0 {
		n = i
	}
	if n > 0 {
		copy(p, have[:n])
		_, err = e.in.Discard(n)
		return n, err
	}
	if have[0] == '"' {
		e.open[2].key = "" // which ends the data
		if _, err := e.in.Discard(1); err != nil {
			return 0, err
		}
		return 0, io.EOF
	}
	two, err := e.in.Peek(2)
	if err != nil || !slices.Contains([]byte("/nr"), two[1]) {
		return 0, errJSON
	}
	p[0] = two[1]
	if two[1] != '/' {
		p[0] = '\n' // which base64 passes over
	}
	_, err = e.in.Discard(2)
	return 1, err
}

func (e *encoded) ended() bool { return e.open[2].key != "data" }
