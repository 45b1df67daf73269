package highlight

import (
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// maxStates is how many states may be entered and not left.
	maxStates = 100
	// maxNested is how many languages may be within each other.
	maxNested = 4
	// perRule is how many steps it takes to try the smallest pattern, and perRune how many each
	// character takes that it looks at.
	perRule = 8
	perRune = 4
)

// run marks a text from a state of a language on.
func (m *marker) run(l *language, state, text string, nested int) error {
	stack := []string{state}
	for pos := 0; pos < len(text); {
		if m.left <= 0 {
			return errCostly
		}
		m.left--
		r, groups := m.match(l, stack[len(stack)-1], text, pos)
		if m.left <= 0 {
			return errCostly
		}
		if r == nil {
			// As chroma does, a line that fits nowhere ends what was begun.
			if text[pos] == '\n' && len(stack) > 1 {
				stack = []string{state}
				m.left -= perRule
				continue
			}
			_, size := utf8.DecodeRuneInString(text[pos:])
			m.write("", text[pos:pos+size])
			pos += size
			continue
		}
		if err := m.show(l, r, text[pos:], groups, nested); err != nil {
			return err
		}
		pos += groups[1]
		if stack = r.follow(stack); len(stack) > maxStates {
			return errCostly
		}
	}
	return nil
}

// match returns the first rule of a state that matches at a position, with its groups from there.
func (m *marker) match(l *language, state, text string, pos int) (*rule, []int) {
	for _, i := range l.States[state] {
		r := l.Rules[i]
		if c := text[pos]; c < utf8.RuneSelf && !r.Any && !r.begins(c) || c >= utf8.RuneSelf && !r.Any {
			continue
		}
		if r.Before != nil && m.looks(r.Before, text, pos, true) == r.Before.Not {
			continue
		}
		groups := m.find(r.compiled(), text, pos)
		if groups != nil && r.Ahead {
			groups = groups[2:]
		}
		if groups == nil || groups[1] == 0 && len(r.Next) == 0 {
			continue
		}
		if r.After != nil && m.looks(r.After, text, pos+groups[1], false) == r.After.Not {
			continue
		}
		return r, groups
	}
	return nil, nil
}

// find matches a pattern at a position.
func (m *marker) find(p *pattern, text string, pos int) []int {
	m.left -= p.cost
	groups := p.FindReaderSubmatchIndex(&reader{marker: m, text: text, pos: pos})
	if groups == nil {
		return nil
	}
	for i := range groups {
		if groups[i] > 0 {
			groups[i]-- // the character before
		}
	}
	groups[0] = 0
	return groups
}

// looks reports whether the text before or after a position matches.
func (m *marker) looks(l *look, text string, pos int, before bool) bool {
	if !before {
		return m.find(l.compiled(), text, pos) != nil
	}
	from := max(0, pos-maxBefore)
	m.left -= perRule + pos - from
	return l.behind().MatchString(text[from:pos])
}

// maxBefore is how many bytes before a match are looked at.
const maxBefore = 16

// show writes a match.
func (m *marker) show(l *language, r *rule, text string, groups []int, nested int) error {
	if !r.Groups {
		for _, p := range r.Parts[:min(1, len(r.Parts))] {
			return m.part(l, p, text[:groups[1]], nested)
		}
		m.write("", text[:groups[1]])
		return nil
	}
	at := 0
	for i, p := range r.Parts {
		start, end := groups[2*i+2], groups[2*i+3]
		if start < at || end <= start {
			continue
		}
		m.write("", text[at:start]) // chroma leaves out what is in no group; code stays whole here
		if err := m.part(l, p, text[start:end], nested); err != nil {
			return err
		}
		at = end
	}
	m.write("", text[at:groups[1]])
	return nil
}

// part writes a match or a group.
func (m *marker) part(l *language, p *part, text string, nested int) error {
	switch {
	case p == nil:
		m.write("", text)
	case p.Language == "":
		m.write(p.Class, text)
	default:
		other := l
		if p.Language != "." {
			other = find(p.Language)
		}
		if other == nil || nested == maxNested {
			m.write("", text)
			return nil
		}
		return m.run(other, p.State, text, nested+1)
	}
	return nil
}

// reader gives a pattern the character before a position and those from there on, and counts them.
type reader struct {
	marker *marker
	text   string
	pos    int
	begun  bool
}

func (r *reader) ReadRune() (rune, int, error) {
	if !r.begun {
		r.begun = true
		if r.pos == 0 {
			return '\n', 1, nil
		}
		before, _ := utf8.DecodeLastRuneInString(r.text[:r.pos])
		return before, 1, nil
	}
	if r.marker.left -= perRune; r.pos == len(r.text) || r.marker.left <= 0 {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRuneInString(r.text[r.pos:])
	r.pos += size
	return c, size, nil
}

// follow returns the states after a match.
func (r *rule) follow(stack []string) []string {
	for _, next := range r.Next {
		switch {
		case next == "#push":
			stack = append(stack, stack[len(stack)-1])
		case strings.HasPrefix(next, "#pop"):
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
		default:
			stack = append(stack, next)
		}
	}
	return stack
}
