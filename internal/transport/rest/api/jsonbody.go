package api

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// parseJSON reads a JSON body into nested parameters. Only a top-level object has
// parameters; any other valid value has none. Compared with encoding/json it
// keeps the order of keys, keeps numbers as text, refuses NUL and invalid UTF-8,
// and bounds depth and size while it reads.
func parseJSON(into *object, body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if !utf8.Valid(body) {
		return errMalformed
	}
	p := jsonParser{in: body}
	v, err := p.value(0)
	if err != nil {
		return err
	}
	p.space()
	if p.pos != len(p.in) {
		return errMalformed
	}
	if o, ok := v.(*object); ok {
		into.merge(o)
	}
	return nil
}

type jsonParser struct {
	in       []byte
	pos      int
	elements int
}

func (p *jsonParser) space() {
	for p.pos < len(p.in) {
		switch p.in[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the next byte, 0 at the end.
func (p *jsonParser) next() byte {
	p.space()
	if p.pos < len(p.in) {
		return p.in[p.pos]
	}
	return 0
}

func (p *jsonParser) value(depth int) (any, error) {
	if p.elements++; p.elements > maxElements || depth > maxDepth {
		return nil, errMalformed
	}
	switch c := p.next(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.str()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case p.word("true"):
		return true, nil
	case p.word("false"):
		return false, nil
	case p.word("null"):
		return nil, nil
	}
	return nil, errMalformed
}

func (p *jsonParser) word(w string) bool {
	if bytes.HasPrefix(p.in[p.pos:], []byte(w)) {
		p.pos += len(w)
		return true
	}
	return false
}

func (p *jsonParser) object(depth int) (any, error) {
	p.pos++
	o := &object{}
	if p.next() == '}' {
		p.pos++
		return o, nil
	}
	for {
		if p.next() != '"' {
			return nil, errMalformed
		}
		key, err := p.str()
		if err != nil {
			return nil, err
		}
		if p.next() != ':' {
			return nil, errMalformed
		}
		p.pos++
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		o.set(key, v)
		if len(o.keys) > maxEntries {
			return nil, errMalformed
		}
		switch p.next() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return o, nil
		default:
			return nil, errMalformed
		}
	}
}

func (p *jsonParser) array(depth int) (any, error) {
	p.pos++
	l := &list{}
	if p.next() == ']' {
		p.pos++
		return l, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if l.items = append(l.items, v); len(l.items) > maxEntries {
			return nil, errMalformed
		}
		switch p.next() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return l, nil
		default:
			return nil, errMalformed
		}
	}
}

// number takes a number of RFC 8259, without a leading zero or plus.
func (p *jsonParser) number() (any, error) {
	start := p.pos
	digits := func() bool {
		from := p.pos
		for p.pos < len(p.in) && '0' <= p.in[p.pos] && p.in[p.pos] <= '9' {
			p.pos++
		}
		return p.pos > from
	}
	at := func(c byte) bool { return p.pos < len(p.in) && p.in[p.pos] == c }
	if at('-') {
		p.pos++
	}
	if at('0') {
		p.pos++
	} else if !digits() {
		return nil, errMalformed
	}
	if at('.') {
		p.pos++
		if !digits() {
			return nil, errMalformed
		}
	}
	if at('e') || at('E') {
		p.pos++
		if at('+') || at('-') {
			p.pos++
		}
		if !digits() {
			return nil, errMalformed
		}
	}
	return number(p.in[start:p.pos]), nil
}

func (p *jsonParser) str() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.in) {
		switch c := p.in[p.pos]; {
		case c == '"':
			s := string(p.in[start:p.pos])
			p.pos++
			return s, nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", errMalformed
		}
		p.pos++
	}
	return "", errMalformed
}

// escaped goes on with a string at its first backslash.
func (p *jsonParser) escaped(start int) (string, error) {
	out := append(make([]byte, 0, p.pos-start+64), p.in[start:p.pos]...)
	for p.pos < len(p.in) {
		c := p.in[p.pos]
		p.pos++
		switch {
		case c == '"':
			return string(out), nil
		case c < 0x20:
			return "", errMalformed
		case c != '\\':
			out = append(out, c)
			continue
		}
		if p.pos >= len(p.in) {
			return "", errMalformed
		}
		c = p.in[p.pos]
		p.pos++
		switch c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := p.codePoint()
			if !ok || r == 0 {
				return "", errMalformed
			}
			out = utf8.AppendRune(out, r)
		default:
			return "", errMalformed
		}
	}
	return "", errMalformed
}

// codePoint reads the digits after \u, and the second half of a surrogate pair.
// Half a pair becomes the replacement character.
func (p *jsonParser) codePoint() (rune, bool) {
	r, ok := p.hex4()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if bytes.HasPrefix(p.in[p.pos:], []byte(`\u`)) {
		back := p.pos
		p.pos += 2
		second, ok := p.hex4()
		if !ok {
			return 0, false
		}
		if pair := utf16.DecodeRune(r, second); pair != utf8.RuneError {
			return pair, true
		}
		p.pos = back
	}
	return utf8.RuneError, true
}

func (p *jsonParser) hex4() (rune, bool) {
	if p.pos+4 > len(p.in) {
		return 0, false
	}
	var r rune
	for _, c := range p.in[p.pos : p.pos+4] {
		d, ok := unhex(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	p.pos += 4
	return r, true
}

// plain returns the number as int64 where it is a whole number that fits, as float64 otherwise.
func (n number) plain() any {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i
	}
	f, _ := strconv.ParseFloat(string(n), 64) // out of range gives an infinity of the right sign
	return f
}
