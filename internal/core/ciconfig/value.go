package ciconfig

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

type kind uint8

const (
	null kind = iota
	boolean
	integer
	float
	str
	sequence
	mapping
	referenced // a !reference with its path in items
)

// source is a file that values stand in.
type source struct {
	place Location
	name  string // in problems
}

// position is where a value stands.
type position struct {
	file      *source
	line, col int32
}

// value is a value of a configuration. It never changes, so that aliases, extends and references share what they have in common.
type value struct {
	kind  kind
	depth int32  // of mappings and lists in it
	size  int    // values in it and the length of their texts, those that are shared counted each time
	text  string // of a scalar, as written
	items []*value
	keys  []key          // of a mapping, for items
	index map[string]int // of a mapping with many keys
	at    position
}

type key struct {
	name string
	at   position
}

// fewKeys is how many keys a mapping may have without an index.
const fewKeys = 8

// get returns the value of a key, nil where v is no mapping that has it.
func (v *value) get(name string) *value {
	if v == nil || v.kind != mapping {
		return nil
	}
	if i := v.find(name); i >= 0 {
		return v.items[i]
	}
	return nil
}

// has tells whether a mapping has a key, be it with null.
func (v *value) has(name string) bool { return v.get(name) != nil }

// isNull tells whether a value is missing or null.
func (v *value) isNull() bool { return v == nil || v.kind == null }

// isScalar tells whether a value is a text, number or boolean.
func (v *value) isScalar() bool { return v != nil && v.kind >= boolean && v.kind <= str }

// mapBuilder makes a mapping. A key that comes again replaces the value of the first.
type mapBuilder struct{ v *value }

func newMap(at position, n int) *mapBuilder {
	return &mapBuilder{&value{kind: mapping, at: at, keys: make([]key, 0, n), items: make([]*value, 0, n)}}
}

// find returns the number of a key, -1 where there is none.
func (v *value) find(name string) int {
	if v.index != nil {
		if i, ok := v.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range v.keys {
		if v.keys[i].name == name {
			return i
		}
	}
	return -1
}

func (b *mapBuilder) set(k key, item *value) {
	v := b.v
	if i := v.find(k.name); i >= 0 {
		v.items[i], v.keys[i] = item, k
		return
	}
	v.keys, v.items = append(v.keys, k), append(v.items, item)
	switch n := len(v.keys); {
	case v.index != nil:
		v.index[k.name] = n - 1
	case n > fewKeys:
		v.index = make(map[string]int, n)
		for i, k := range v.keys {
			v.index[k.name] = i
		}
	}
}

func (b *mapBuilder) has(name string) bool { return b.v.find(name) >= 0 }

func (b *mapBuilder) done() *value {
	b.v.measure()
	return b.v
}

// newList makes a list, or a value of another kind with items.
func newList(k kind, at position, items []*value) *value {
	v := &value{kind: k, at: at, items: items}
	v.measure()
	return v
}

// tooLarge tells whether a value exceeds the bounds of a configuration of so many levels, with all aliases followed.
func (v *value) tooLarge(levels int) bool { return v.size > maxSize || int(v.depth) > levels }

func newText(at position, text string) *value {
	return &value{kind: str, text: text, at: at, size: 1 + len(text)/bytesOfSize}
}

// maxSize bounds the size of a configuration.
const maxSize = 300_000

// bytesOfSize is how many bytes of a text count as one value more.
const bytesOfSize = 64

// measure computes size and depth from the items.
func (v *value) measure() {
	v.size, v.depth = 1, 1
	for _, i := range v.items {
		v.size = min(v.size+i.size, maxSize+1)
		v.depth = max(v.depth, i.depth+1)
	}
	for _, k := range v.keys {
		v.size = min(v.size+len(k.name)/bytesOfSize, maxSize+1)
	}
}

// Texts of problems of a whole file.
const (
	textFormat = "Invalid configuration format"
	textTooBig = "The parsed YAML is too big"
	textSyntax = "(<unknown>): "
	textEmpty  = "Please provide content of .gitlab-ci.yml"
)

// maxMarks bounds the values of all files of a configuration together, estimated before they are parsed.
const maxMarks = 120_000

// marks estimates how many values a text has: it counts what begins or ends one.
func marks(text []byte) int {
	n := 0
	for i, c := range text {
		switch c {
		case '\n', ',', '[', '{':
			n++
		case ':', '-', '?':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' || text[i+1] == '\t' || i > 0 && text[i-1] == '"' {
				n++
			}
		}
	}
	return n
}

// refusal is a Problem on its way to Config.Problems.
type refusal struct {
	Problem
	input bool // about the inputs of a file
}

func (r *refusal) Error() string { return r.Text }

func problem(at position, text string) Problem {
	p := Problem{Text: text, Line: int(at.line), Column: int(at.col)}
	if at.file != nil {
		p.File = at.file.name
	}
	return p
}

func refuse(at position, text string) error { return &refusal{Problem: problem(at, text)} }

// parse reads the first two documents of a text. Errors are refusals.
func parse(text []byte, file *source) ([]*value, error) {
	at := position{file: file}
	var out []*value
	d := yaml.NewDecoder(bytes.NewReader(text))
	for len(out) < 2 {
		var n yaml.Node
		if err := d.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, syntaxError(err, file)
		}
		l := loader{file: file, seen: map[*yaml.Node]*value{}}
		v, err := l.load(&n, 0)
		if err != nil {
			return nil, err
		}
		if v.tooLarge(MaxDepth) {
			return nil, refuse(at, textTooBig)
		}
		out = append(out, v)
	}
	return out, nil
}

// syntaxError makes the Problem of an error of the parser.
func syntaxError(err error, file *source) error {
	at := position{file: file}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, what, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			at.line, text = int32(min(max(n, 0), 1<<30)), what
		}
	}
	return refuse(at, textSyntax+text)
}

// loader makes values of nodes.
type loader struct {
	file *source
	seen map[*yaml.Node]*value // nil while a node is read, for anchors alone
	work int                   // keys that << has copied
}

func (l *loader) at(n *yaml.Node) position {
	return position{l.file, int32(n.Line), int32(n.Column)}
}

func (l *loader) load(n *yaml.Node, depth int) (*value, error) {
	at := l.at(n)
	if depth > 2*MaxDepth {
		return nil, refuse(at, textTooBig)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return l.load(n.Content[0], depth)
	case yaml.AliasNode:
		v, ok := l.seen[n.Alias]
		if !ok || v == nil {
			return nil, refuse(at, textFormat)
		}
		return v, nil
	}
	if n.Anchor != "" {
		l.seen[n] = nil
	}
	v, err := l.loadContent(n, at, depth)
	if n.Anchor != "" {
		l.seen[n] = v
	}
	return v, err
}

func (l *loader) loadContent(n *yaml.Node, at position, depth int) (*value, error) {
	switch n.Kind {
	case yaml.SequenceNode:
		items := make([]*value, len(n.Content))
		for i, c := range n.Content {
			v, err := l.load(c, depth+1)
			if err != nil {
				return nil, err
			}
			items[i] = v
		}
		if n.Tag == "!reference" {
			return newList(referenced, at, items), nil
		}
		return newList(sequence, at, items), nil
	case yaml.MappingNode:
		return l.loadMapping(n, at, depth)
	}
	return scalar(n, at), nil
}

func (l *loader) loadMapping(n *yaml.Node, at position, depth int) (*value, error) {
	b := newMap(at, len(n.Content)/2)
	var merged []*value
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		v, err := l.load(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		switch {
		case k.Kind != yaml.ScalarNode:
			return nil, refuse(l.at(k), textFormat)
		case k.Tag == "!!merge":
			if v.kind == sequence {
				merged = append(merged, v.items...)
			} else {
				merged = append(merged, v)
			}
			continue
		}
		b.set(key{keyName(k), l.at(n.Content[i])}, v)
	}
	for _, m := range merged {
		if m.kind != mapping {
			return nil, refuse(m.at, textFormat)
		}
		if l.work += len(m.keys); l.work > maxSize {
			return nil, refuse(m.at, textTooBig)
		}
		for i, k := range m.keys {
			if !b.has(k.name) {
				b.set(k, m.items[i])
			}
		}
	}
	return b.done(), nil
}

// keyName is the name that a key stands for. One that is written as a symbol of Ruby, :name or :"name", is that name.
func keyName(n *yaml.Node) string {
	name, symbol := strings.CutPrefix(n.Value, ":")
	if !symbol || name == "" || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		return n.Value
	}
	if last := len(name) - 1; last > 0 && (name[0] == '"' || name[0] == '\'') && name[last] == name[0] {
		name = name[1:last]
	}
	return name
}

func scalar(n *yaml.Node, at position) *value {
	v := newText(at, n.Value)
	switch n.Tag {
	case "!!null":
		v.kind = null
	case "!!bool":
		v.kind = boolean
		v.text = strings.ToLower(n.Value)
	case "!!int":
		v.kind = integer
	case "!!float":
		v.kind = float
	}
	return v
}
