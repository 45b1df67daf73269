package ciconfig

import (
	"errors"
	"strings"
)

// Bounds of an expression.
const (
	maxExpression = 64 << 10 // bytes
	maxParens     = 100      // in one another
)

// ErrExpression is the error of an expression that cannot be parsed.
var ErrExpression = errors.New("invalid expression syntax")

// Expression is a condition of rules, such as $CI_COMMIT_BRANCH == "main" && $DEPLOY. It is not changed once parsed, and safe for concurrent use.
type Expression struct {
	text string
	root *term
}

// String returns the expression as it was written.
func (e *Expression) String() string { return e.text }

// ParseExpression parses a condition. The error is ErrExpression.
func ParseExpression(text string) (*Expression, error) {
	p := parser{rest: text}
	if len(text) > maxExpression || !p.next() {
		return nil, ErrExpression
	}
	root, ok := p.either()
	if !ok || p.token.kind != tokenEnd {
		return nil, ErrExpression
	}
	return &Expression{text, root}, nil
}

// Holds tells whether the condition is true. Regular expressions that take too long do not match.
func (e *Expression) Holds(l Lookup) bool {
	return e.holds(l, &budget{left: maxSteps})
}

func (e *Expression) holds(l Lookup, b *budget) bool { return e.root.value(l, b).true() }

// operator is what a term does with its parts.
type operator uint8

const (
	constant operator = iota
	variable
	either
	both
	equal
	unequal
	matches
	differs
)

// term is a part of an expression.
type term struct {
	op    operator
	parts []*term
	is    operand // of a constant
	name  string  // of a variable
}

// operand is the value of a term: null, a text, or a truth.
type operand struct {
	text    string
	set     bool // not null
	truth   bool // a comparison that holds; text is then "true"
	pattern *regex
}

func truth(holds bool) operand {
	if holds {
		return operand{text: "true", set: true, truth: true}
	}
	return operand{}
}

// true tells whether an operand counts as true by itself: null and blank texts do not.
func (o operand) true() bool { return o.set && (o.truth || strings.TrimSpace(o.text) != "") }

func (t *term) value(l Lookup, b *budget) operand {
	switch t.op {
	case variable:
		text, ok := l.get(t.name)
		return operand{text: text, set: ok}
	case either, both:
		for _, p := range t.parts {
			if p.value(l, b).true() == (t.op == either) {
				return truth(t.op == either)
			}
		}
		return truth(t.op == both)
	case equal, unequal:
		x, y := t.parts[0].value(l, b), t.parts[1].value(l, b)
		return truth((x.set == y.set && x.text == y.text) == (t.op == equal))
	case matches, differs:
		x, y := t.parts[0].value(l, b), t.parts[1].value(l, b)
		return truth(x.set && y.regex().match(x.text, b) == (t.op == matches) || !x.set && t.op == differs)
	}
	return t.is
}

// regex returns the regular expression of an operand, nil where it has none.
func (o operand) regex() *regex {
	if o.pattern != nil || !o.set {
		return o.pattern
	}
	r, rest, ok := cutRegex(o.text)
	if !ok || rest != "" {
		return nil
	}
	return r
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenTerm
	tokenOpen
	tokenClose
	tokenOr
	tokenAnd
	tokenCompare
)

type token struct {
	kind tokenKind
	op   operator // of tokenCompare
	term *term    // of tokenTerm
}

// parser reads an expression from left to right, one token ahead.
type parser struct {
	rest  string
	token token
	open  int
}

// next reads a token; it is false where there is none.
func (p *parser) next() bool {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	for _, fixed := range []struct {
		text string
		t    token
	}{
		{"(", token{kind: tokenOpen}},
		{")", token{kind: tokenClose}},
		{"||", token{kind: tokenOr}},
		{"&&", token{kind: tokenAnd}},
		{"==", token{kind: tokenCompare, op: equal}},
		{"!=", token{kind: tokenCompare, op: unequal}},
		{"=~", token{kind: tokenCompare, op: matches}},
		{"!~", token{kind: tokenCompare, op: differs}},
	} {
		if rest, ok := strings.CutPrefix(p.rest, fixed.text); ok {
			p.rest, p.token = rest, fixed.t
			return true
		}
	}
	if p.rest == "" {
		p.token = token{}
		return true
	}
	t, ok := p.constant()
	p.token = token{kind: tokenTerm, term: t}
	return ok
}

func (p *parser) constant() (*term, bool) {
	switch c := p.rest[0]; c {
	case '$':
		n := 1
		for n < len(p.rest) && isWord(p.rest[n]) {
			n++
		}
		name := p.rest[1:n]
		p.rest = p.rest[n:]
		return &term{op: variable, name: name}, name != "" && (name[0] < '0' || name[0] > '9')
	case '"', '\'':
		text, rest, ok := strings.Cut(p.rest[1:], string(c))
		p.rest = rest
		return &term{is: operand{text: text, set: true}}, ok
	case '/':
		r, rest, ok := cutRegex(p.rest)
		text := p.rest[:len(p.rest)-len(rest)]
		p.rest = rest
		return &term{is: operand{text: text, set: true, pattern: r}}, ok
	}
	rest, ok := strings.CutPrefix(p.rest, "null")
	p.rest = rest
	return &term{}, ok && (rest == "" || !isWord(rest[0]))
}

// either reads what stands between the ends of an expression or parentheses.
func (p *parser) either() (*term, bool) {
	return p.chain(tokenOr, either, func() (*term, bool) {
		return p.chain(tokenAnd, both, p.comparison)
	})
}

// chain reads parts with one operator between.
func (p *parser) chain(between tokenKind, op operator, part func() (*term, bool)) (*term, bool) {
	first, ok := part()
	if !ok || p.token.kind != between {
		return first, ok
	}
	all := &term{op: op, parts: []*term{first}}
	for p.token.kind == between {
		if !p.next() {
			return nil, false
		}
		next, ok := part()
		if !ok {
			return nil, false
		}
		all.parts = append(all.parts, next)
	}
	return all, true
}

func (p *parser) comparison() (*term, bool) {
	left, ok := p.operand()
	if !ok || p.token.kind != tokenCompare {
		return left, ok
	}
	t := &term{op: p.token.op}
	if !p.next() {
		return nil, false
	}
	right, ok := p.operand()
	t.parts = []*term{left, right}
	return t, ok && p.token.kind != tokenCompare
}

func (p *parser) operand() (*term, bool) {
	switch p.token.kind {
	case tokenTerm:
		t := p.token.term
		return t, p.next()
	case tokenOpen:
		if p.open++; p.open > maxParens || !p.next() {
			return nil, false
		}
		t, ok := p.either()
		if !ok || p.token.kind != tokenClose {
			return nil, false
		}
		p.open--
		return t, p.next()
	}
	return nil, false
}
