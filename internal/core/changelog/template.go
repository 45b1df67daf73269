package changelog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The bounds of templates, which come from users who may write to a repository.
const (
	maxTemplate = 64 << 10 // bytes of source
	maxNesting  = 64       // statements inside each other
	maxLoops    = 4        // loops inside each other
	maxSteps    = 1_000_000
	maxOutput   = 4 << 20
)

// What a template may be refused for.
var (
	errTooManyLoops = errors.New("You can only nest up to 4 loops")                                     //nolint:staticcheck // shown as it stands
	errTooLong      = errors.New("Template parser timeout. Consider reducing the size of the template") //nolint:staticcheck // shown as it stands
)

// node is a part of a template.
type node interface {
	render(e *evaluation, scope any) error
}

type (
	text   string
	output path // {{ a.b.0 }}
	branch struct {
		cond        path
		then, other []node
	}
	loop struct {
		over path
		body []node
	}
)

// path leads from the current value to another one; a lone "it" is the current value.
type path []string

// parser reads a template from front to back.
type parser struct {
	rest  string
	depth int
	loops int
}

// parse reads a template: text, {{ outputs }}, and the statements if, else, each and
// end in {% %}. A statement swallows the line end behind it, a backslash the one it
// stands before.
func parse(source string) ([]node, error) {
	if len(source) > maxTemplate {
		return nil, errTooLong
	}
	p := &parser{rest: strings.ReplaceAll(source, "\r\n", "\n")}
	nodes, stop, err := p.block()
	switch {
	case errors.Is(err, errTooManyLoops):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("Failed to parse the template: %w", err) //nolint:staticcheck // shown as it stands
	case stop != "":
		return nil, fmt.Errorf("Failed to parse the template: unexpected %q", stop) //nolint:staticcheck // shown as it stands
	}
	return nodes, nil
}

// block reads up to the statement that ends it: "else", "end", or "" for the end of the
// template.
func (p *parser) block() (nodes []node, stop string, err error) {
	for p.rest != "" {
		at := strings.Index(p.rest, "{")
		for at >= 0 && !strings.HasPrefix(p.rest[at:], "{{") && !strings.HasPrefix(p.rest[at:], "{%") {
			next := strings.Index(p.rest[at+1:], "{")
			if next < 0 {
				at = -1
				break
			}
			at += 1 + next
		}
		if at < 0 {
			return append(nodes, plain(p.rest)), p.end(), nil
		}
		if at > 0 {
			nodes = append(nodes, plain(p.rest[:at]))
			p.rest = p.rest[at:]
		}
		if strings.HasPrefix(p.rest, "{{") {
			words, err := p.tag("{{", "}}")
			if err != nil {
				return nil, "", err
			}
			name, err := parsePath(words)
			if err != nil {
				return nil, "", err
			}
			nodes = append(nodes, output(name))
			continue
		}
		words, err := p.tag("{%", "%}")
		if err != nil {
			return nil, "", err
		}
		p.rest = strings.TrimPrefix(p.rest, "\n")
		if words == "else" || words == "end" {
			return nodes, words, nil
		}
		n, err := p.statement(words)
		if err != nil {
			return nil, "", err
		}
		nodes = append(nodes, n)
	}
	return nodes, "", nil
}

func (p *parser) end() string { p.rest = ""; return "" }

// plain is text without the line ends behind backslashes.
func plain(s string) text { return text(strings.ReplaceAll(s, "\\\n", "")) }

// tag takes what stands between two marks.
func (p *parser) tag(before, after string) (string, error) {
	end := strings.Index(p.rest, after)
	if end < 0 {
		return "", fmt.Errorf("%q without %q", before, after)
	}
	words := strings.TrimSpace(p.rest[len(before):end])
	p.rest = p.rest[end+len(after):]
	return words, nil
}

func (p *parser) statement(words string) (node, error) {
	keyword, rest, _ := strings.Cut(words, " ")
	if keyword != "if" && keyword != "each" {
		return nil, fmt.Errorf("unknown statement %q", clip(words))
	}
	name, err := parsePath(rest)
	if err != nil {
		return nil, err
	}
	if p.depth++; p.depth > maxNesting {
		return nil, errors.New("statements are nested too deep")
	}
	defer func() { p.depth-- }()
	if keyword == "each" {
		if p.loops++; p.loops > maxLoops {
			return nil, errTooManyLoops
		}
		defer func() { p.loops-- }()
	}
	body, stop, err := p.block()
	if err != nil {
		return nil, err
	}
	if keyword == "each" {
		if stop != "end" {
			return nil, errors.New("each without end")
		}
		return loop{name, body}, nil
	}
	out := branch{cond: name, then: body}
	if stop == "else" {
		if out.other, stop, err = p.block(); err != nil {
			return nil, err
		}
	}
	if stop != "end" {
		return nil, errors.New("if without end")
	}
	return out, nil
}

func clip(s string) string { return s[:min(len(s), 40)] }

// parsePath reads names of letters and underscores, and numbers, joined by dots.
func parsePath(s string) (path, error) {
	s = strings.TrimSpace(s)
	parts := strings.Split(s, ".")
	for _, part := range parts {
		digits, letters := 0, 0
		for i := range len(part) {
			switch c := part[i]; {
			case c >= '0' && c <= '9':
				digits++
			case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
				letters++
			}
		}
		if part == "" || digits != len(part) && letters != len(part) || digits > 9 {
			return nil, fmt.Errorf("%q is no name", clip(s))
		}
	}
	return parts, nil
}

// evaluation is one run of a template over its data: maps, slices, strings, numbers and
// booleans.
type evaluation struct {
	out   strings.Builder
	steps int
}

// render runs a template.
func render(nodes []node, data any) (string, error) {
	var e evaluation
	if err := e.all(nodes, data); err != nil {
		return "", err
	}
	return e.out.String(), nil
}

func (e *evaluation) all(nodes []node, scope any) error {
	for _, n := range nodes {
		if e.steps++; e.steps > maxSteps {
			return errTooLong
		}
		if err := n.render(e, scope); err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluation) write(s string) error {
	if e.out.Len()+len(s) > maxOutput {
		return errTooLong
	}
	e.out.WriteString(s)
	return nil
}

func (t text) render(e *evaluation, _ any) error { return e.write(string(t)) }

func (o output) render(e *evaluation, scope any) error {
	switch v := path(o).find(scope).(type) {
	case string:
		return e.write(v)
	case int:
		return e.write(strconv.Itoa(v))
	case bool:
		return e.write(strconv.FormatBool(v))
	}
	return nil
}

func (b branch) render(e *evaluation, scope any) error {
	if truthy(b.cond.find(scope)) {
		return e.all(b.then, scope)
	}
	return e.all(b.other, scope)
}

func (l loop) render(e *evaluation, scope any) error {
	list, ok := l.over.find(scope).([]any)
	if !ok {
		return nil
	}
	for _, item := range list {
		if e.steps++; e.steps > maxSteps {
			return errTooLong
		}
		if err := e.all(l.body, item); err != nil {
			return err
		}
	}
	return nil
}

// find follows the path; what is not there is nil.
func (p path) find(v any) any {
	if len(p) == 1 && p[0] == "it" {
		return v
	}
	for i, part := range p {
		if i == 0 && part == "it" {
			continue
		}
		switch in := v.(type) {
		case map[string]any:
			v = in[part]
		case []any:
			n, err := strconv.Atoi(part)
			if err != nil || n >= len(in) {
				return nil
			}
			v = in[n]
		default:
			return nil
		}
	}
	return v
}

// truthy tells whether there is something: false, nil and what is empty is not.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}
