package ciconfig

import (
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
	list
	mapping
	referenced // a !reference with its path in items
)

// source is a file that values stand in.
type source struct {
	place Place
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
	size  int    // values in it, those that are shared counted each time
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

func (v *value) get(name string) *value {
	if v == nil || v.kind != mapping {
		return nil
	}
	if v.index != nil {
		if i, ok := v.index[name]; ok {
			return v.items[i]
		}
		return nil
	}
	for i, k := range v.keys {
		if k.name == name {
			return v.items[i]
		}
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
type mapBuilder struct {
	v     *value
	index map[string]int
}

func newMap(at position, n int) *mapBuilder {
	return &mapBuilder{&value{kind: mapping, at: at, keys: make([]key, 0, n), items: make([]*value, 0, n)}, make(map[string]int, n)}
}

func (b *mapBuilder) set(k key, v *value) {
	if i, ok := b.index[k.name]; ok {
		b.v.items[i] = v
		b.v.keys[i].at = k.at
		return
	}
	b.index[k.name] = len(b.v.keys)
	b.v.keys = append(b.v.keys, k)
	b.v.items = append(b.v.items, v)
}

func (b *mapBuilder) has(name string) bool {
	_, ok := b.index[name]
	return ok
}

func (b *mapBuilder) done() *value {
	if len(b.v.keys) > fewKeys {
		b.v.index = b.index
	}
	b.v.measure()
	return b.v
}

// newList makes a list, or a value of another kind with items.
func newList(k kind, at position, items []*value) *value {
	v := &value{kind: k, at: at, items: items}
	v.measure()
	return v
}

func newText(at position, text string) *value { return &value{kind: str, text: text, at: at, size: 1} }

// maxSize bounds the values of a configuration, those that are shared counted each time.
const maxSize = 200_000

// measure computes size and depth from the items.
func (v *value) measure() {
	v.size = 1
	for _, i := range v.items {
		v.size = min(v.size+i.size, maxSize+1)
		v.depth = max(v.depth, i.depth+1)
	}
	if len(v.items) == 0 {
		v.depth = 1
	}
}

// Texts of problems of a whole file.
const (
	textFormat = "Invalid configuration format"
	textTooBig = "The parsed YAML is too big"
	textEmpty  = "Please provide content of .gitlab-ci.yml"
)

// maxMarks bounds the bytes that begin values in a text, before it is parsed.
const maxMarks = 150_000

// refusal is a Problem on its way to Config.Problems.
type refusal struct{ Problem }

func (r *refusal) Error() string { return r.Text }

func refuse(at position, text string) error {
	p := Problem{Text: text, Line: int(at.line), Column: int(at.col)}
	if at.file != nil {
		p.File = at.file.name
	}
	return &refusal{p}
}

// parse reads the documents of a text. Errors are refusals.
func parse(text []byte, file *source) ([]*value, error) {
	at := position{file: file}
	marks := 0
	for _, c := range text {
		switch c {
		case '\n', ',', ':', '[', '{', '-':
			marks++
		}
	}
	if marks > maxMarks*2 {
		return nil, refuse(at, textTooBig)
	}
	var out []*value
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	for {
		var n yaml.Node
		err := d.Decode(&n)
		if err != nil && err.Error() == "EOF" {
			return out, nil
		}
		if err != nil {
			return nil, syntaxError(err, file)
		}
		l := loader{file: file, seen: map[*yaml.Node]*value{}}
		v, err := l.load(&n, 0)
		if err != nil {
			return nil, err
		}
		if v.size > maxSize || v.depth > MaxDepth {
			return nil, refuse(at, textTooBig)
		}
		if out = append(out, v); len(out) > 2 {
			return out, nil
		}
	}
}

// syntaxError makes the Problem of an error of the parser.
func syntaxError(err error, file *source) error {
	at := position{file: file}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, what, _ := strings.Cut(rest, ": ")
		n, _ := strconv.Atoi(number)
		at.line, text = int32(min(n, 1<<30)), what
	}
	return refuse(at, "(<unknown>): "+text)
}

// loader makes values of nodes.
type loader struct {
	file *source
	seen map[*yaml.Node]*value // nil while a node is read, for anchors alone
}

func (l *loader) load(n *yaml.Node, depth int) (*value, error) {
	at := position{l.file, int32(n.Line), int32(n.Column)}
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
		return newList(list, at, items), nil
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
			return nil, refuse(position{l.file, int32(k.Line), int32(k.Column)}, textFormat)
		case k.Tag == "!!merge":
			if v.kind == list {
				merged = append(merged, v.items...)
			} else {
				merged = append(merged, v)
			}
			continue
		}
		name := k.Value
		b.set(key{name, position{l.file, int32(n.Content[i].Line), int32(n.Content[i].Column)}}, v)
	}
	for _, m := range merged {
		if m.kind != mapping {
			return nil, refuse(m.at, textFormat)
		}
		for i, k := range m.keys {
			if !b.has(k.name) {
				b.set(k, m.items[i])
			}
		}
	}
	return b.done(), nil
}

func scalar(n *yaml.Node, at position) *value {
	v := &value{kind: str, text: n.Value, at: at, size: 1}
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
