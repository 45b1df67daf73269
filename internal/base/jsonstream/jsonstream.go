// Package jsonstream writes JSON in pieces. What it writes is what encoding/json writes without
// escapes for HTML, but neither a long text nor the whole is ever in memory.
package jsonstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"strconv"
	"unicode/utf8"
)

// piece is how many bytes go to the writer below at once, about.
const piece = 32 << 10

// Writer collects what is written and passes it on in pieces.
type Writer struct {
	to      io.Writer
	buf     []byte
	written int64 // to the writer below
	err     error
	scratch bytes.Buffer
	enc     *json.Encoder
}

// NewWriter returns a Writer above another one. Flush it at the end.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to, buf: make([]byte, 0, piece+piece/8)} }

// Reset has the Writer begin again above another one.
func (w *Writer) Reset(to io.Writer) { w.to, w.buf, w.written, w.err = to, w.buf[:0], 0, nil }

// Len is how many bytes were written so far.
func (w *Writer) Len() int64 { return w.written + int64(len(w.buf)) }

// Flush passes on what is left. It returns the first error of all writes.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.buf) > 0 {
		n, err := w.to.Write(w.buf)
		w.written += int64(n)
		w.err = err
	}
	w.buf = w.buf[:0]
	return w.err
}

// Err is the first error of all writes: nothing is written after it.
func (w *Writer) Err() error { return w.err }

// Fail ends the writing with an error, unless another one has ended it.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Raw writes JSON as it is.
func (w *Writer) Raw(text string) {
	for len(text) > piece {
		w.buf = append(w.buf, text[:piece]...)
		text = text[piece:]
		w.full()
	}
	w.buf = append(w.buf, text...)
	w.full()
}

// Base64 writes a string with what is read, in base64.
func (w *Writer) Base64(from io.Reader) {
	w.Raw(`"`)
	enc := base64.NewEncoder(base64.StdEncoding, piecewise{w})
	if _, err := io.Copy(enc, from); err != nil {
		w.Fail(err)
	}
	_ = enc.Close() // an error of the writer is kept in err
	w.Raw(`"`)
}

// piecewise writes JSON as it is.
type piecewise struct{ w *Writer }

func (p piecewise) Write(b []byte) (int, error) {
	p.w.buf = append(p.w.buf, b...)
	p.w.full()
	return len(b), p.w.err
}

// Int writes a whole number.
func (w *Writer) Int(n int64) { w.buf = strconv.AppendInt(w.buf, n, 10) }

// full passes the buffer on where it is full.
func (w *Writer) full() {
	if len(w.buf) >= piece {
		_ = w.Flush() // kept in err
	}
}

const hex = "0123456789abcdef"

// plain are the bytes of ASCII that are in a string as they are.
var plain = func() (set [utf8.RuneSelf]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// String writes a string.
func (w *Writer) String(s string) {
	w.buf = append(w.buf, '"')
	for w.err == nil {
		cut := cutAt(s)
		w.buf = appendEscaped(w.buf, s[:cut])
		if s = s[cut:]; s == "" {
			break
		}
		w.full()
	}
	w.buf = append(w.buf, '"')
	w.full()
}

// cutAt is where a part of a string ends that is written at once: between two characters.
func cutAt(s string) int {
	const most = piece / 8 // an escape has up to six bytes
	if len(s) <= most {
		return len(s)
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return end
}

func appendEscaped(to []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plain[c] {
				i++
				continue
			}
			to = append(to, s[from:i]...)
			switch c {
			case '"', '\\':
				to = append(to, '\\', c)
			case '\b':
				to = append(to, '\\', 'b')
			case '\f':
				to = append(to, '\\', 'f')
			case '\n':
				to = append(to, '\\', 'n')
			case '\r':
				to = append(to, '\\', 'r')
			case '\t':
				to = append(to, '\\', 't')
			default:
				to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
			}
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			to = append(append(to, s[from:i]...), `\ufffd`...)
		case r == '\u2028' || r == '\u2029': // which end a line in scripts
			to = append(append(to, s[from:i]...), '\\', 'u', '2', '0', '2', hex[r&0xf])
		default:
			i += size
			continue
		}
		i += size
		from = i
	}
	return append(to, s[from:]...)
}

// any writes what encoding/json makes of a small value.
func (w *Writer) any(v any) {
	if w.enc == nil {
		w.enc = json.NewEncoder(&w.scratch)
		w.enc.SetEscapeHTML(false)
	}
	w.scratch.Reset()
	if err := w.enc.Encode(v); err != nil {
		w.Fail(err)
		return
	}
	out := w.scratch.Bytes()
	w.raw(out[:len(out)-1]) // the encoder ends with a newline
}

// raw is Raw for what is in scratch.
func (w *Writer) raw(out []byte) {
	w.buf = append(w.buf, out...)
	w.full()
	if max(w.scratch.Cap(), cap(w.buf)) > 4*piece { // a rare large value shall not stay in memory
		w.scratch, w.enc = bytes.Buffer{}, nil
		w.buf = append(make([]byte, 0, piece+piece/8), w.buf...)
	}
}
