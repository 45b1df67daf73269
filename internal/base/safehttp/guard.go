package safehttp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Limits bound an answer that is read as a whole. A field that is 0 bounds nothing.
type Limits struct {
	Size         int64 // bytes as they come
	Decompressed int64 // bytes after decompression

	JSONDepth      int // of values inside of each other
	JSONStructural int // brackets, braces, commas and colons outside of strings
	XMLStructural  int // tags and attributes
	CSVStructural  int // commas, semicolons, tabs and line breaks
}

// ErrTooComplex says that an answer has more structure than the limits allow.
var ErrTooComplex = errors.New("the answer is too complex")

// askFor prepares a request whose answer Guard reads: compression is then visible.
func askFor(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }

// Guard reads the body of an answer within the limits of the dialer. It returns ErrTooLarge or ErrTooComplex beyond them.
func (d *Dialer) Guard(answer *http.Response) (io.Reader, error) {
	var l Limits
	if d.Limits != nil {
		l = d.Limits()
	}
	var body io.Reader = answer.Body
	if l.Size > 0 {
		body = &bounded{body, l.Size}
	}
	if strings.EqualFold(answer.Header.Get("Content-Encoding"), "gzip") && !answer.Uncompressed {
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, fmt.Errorf("decompress answer: %w", err)
		}
		body = z
	}
	if l.Decompressed > 0 {
		body = &bounded{body, l.Decompressed}
	}
	if scan := l.scanner(answer.Header.Get("Content-Type")); scan != nil {
		body = &scanned{body, scan}
	}
	return body, nil
}

// bounded returns ErrTooLarge where more than left bytes come.
type bounded struct {
	io.Reader
	left int64
}

// Read reads on.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, ErrTooLarge
	}
	return n, err
}

// scanned returns ErrTooComplex as soon as scan refuses what was read.
type scanned struct {
	io.Reader
	scan func(part []byte) bool
}

// Read reads on.
func (s *scanned) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if !s.scan(p[:n]) {
		return n, ErrTooComplex
	}
	return n, err
}

// scanner returns what checks the parts of an answer of a type, one after the other; nil where nothing is bounded.
func (l *Limits) scanner(contentType string) func(part []byte) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	switch {
	case strings.Contains(kind, "json") && (l.JSONDepth > 0 || l.JSONStructural > 0):
		s := jsonScan{depth: l.JSONDepth, structural: l.JSONStructural}
		return s.within
	case strings.Contains(kind, "xml") && l.XMLStructural > 0:
		return atMost("<=", l.XMLStructural)
	case strings.Contains(kind, "csv") && l.CSVStructural > 0:
		return atMost(",;\t\n", l.CSVStructural)
	}
	return nil
}

// atMost refuses more than most of some characters.
func atMost(chars string, most int) func(part []byte) bool {
	return func(part []byte) bool {
		for _, c := range []byte(chars) {
			most -= bytes.Count(part, []byte{c})
		}
		return most >= 0
	}
}

// jsonScan counts the structure of JSON that comes in parts.
type jsonScan struct {
	depth, structural int // 0 is any
	level, count      int
	text, escaped     bool // inside of a string, after a backslash
}

func (s *jsonScan) within(part []byte) bool {
	for _, c := range part {
		switch {
		case s.escaped:
			s.escaped = false
		case s.text:
			s.escaped, s.text = c == '\\', c != '"'
		case c == '"':
			s.text = true
		case c == '{' || c == '[':
			s.level++
			s.count++
		case c == '}' || c == ']':
			s.level--
			s.count++
		case c == ',' || c == ':':
			s.count++
		}
		if s.depth > 0 && s.level > s.depth || s.structural > 0 && s.count > s.structural {
			return false
		}
	}
	return true
}
