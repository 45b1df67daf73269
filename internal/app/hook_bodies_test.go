package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/payload"
)

// bodyKey is a key of a body as the reference has it.
type bodyKey struct {
	name, kind               string
	list, nullable, optional bool
}

// bodyBlock is a block or body as the reference has it.
type bodyBlock struct {
	keys      []bodyKey
	unordered bool
	ours      []string // keys of ours that the reference lacks
}

var bodyKeyForm = regexp.MustCompile(`^(\w+)(?: (\[\])?(\w+)(\?)?(~)?)?(?: \((.+)\))?$`)

// bodiesOfReference reads the table of bodies.
func bodiesOfReference(t *testing.T) map[string]*bodyBlock {
	t.Helper()
	text, err := os.ReadFile("testdata/hook_bodies.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*bodyBlock{}
	for line := range strings.SplitSeq(string(text), "\n") {
		head, rest, ok := strings.Cut(line, ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		sign := strings.IndexAny(head[:1], "+-")
		name := strings.TrimLeft(head, "%+- ")
		if sign < 0 {
			out[name] = &bodyBlock{unordered: strings.HasPrefix(head, "%")}
		}
		b := out[name]
		for part := range strings.SplitSeq(rest, ", ") {
			m := bodyKeyForm.FindStringSubmatch(part)
			if m == nil || sign == 0 && m[6] == "" {
				t.Fatalf("%s: %q is no key with a type, or no difference with its reason", name, part)
			}
			switch {
			case head[0] == '-':
				b.keys = slices.DeleteFunc(b.keys, func(k bodyKey) bool { return k.name == m[1] })
				continue
			case head[0] == '+':
				b.ours = append(b.ours, m[1])
			}
			b.keys = append(b.keys, bodyKey{m[1], m[3], m[2] != "", m[4] != "", m[5] != ""})
		}
	}
	return out
}

var bodyTexts = map[string]*regexp.Regexp{
	"t": regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$`), "i": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`),
	"d": regexp.MustCompile(`^\d{4}-\d\d-\d\d$`), "s": regexp.MustCompile(``),
}

// bodyCheck compares bodies with the reference.
type bodyCheck struct {
	*testing.T

	blocks map[string]*bodyBlock
	seen   map[string]bool // keys, by block, that some body has with a value
}

// message compares one body, and its Go type, with the reference.
func (c *bodyCheck) message(m *payload.Message) {
	c.Helper()
	of := indirect(reflect.TypeOf(m.Body))
	name := strings.TrimSuffix(of.Name(), "Body")
	if c.blocks[name] == nil {
		c.Errorf("%s: the reference lacks the body", name)
		return
	}
	c.kinds(name, name, of)
	c.object(name, name, json.RawMessage(m.JSON))
}

// kinds compares which keys may be null or absent by the Go type.
func (c *bodyCheck) kinds(path, name string, of reflect.Type) {
	for f := range of.Fields() {
		key, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && key == "" {
			c.kinds(path, name, indirect(f.Type))
			continue
		}
		i := slices.IndexFunc(c.blocks[name].keys, func(k bodyKey) bool { return k.name == key })
		if i < 0 {
			c.Errorf("%s.%s: the reference lacks it", path, key)
			continue
		}
		k := c.blocks[name].keys[i]
		if null := f.Type.Kind() == reflect.Pointer; null != k.nullable && k.kind != "any" {
			c.Errorf("%s.%s: may be null: %v, want %v", path, key, null, k.nullable)
		}
		if absent := strings.Contains(option, "omit"); absent != k.optional && !strings.HasPrefix(key, "escalation_") {
			c.Errorf("%s.%s: may be absent: %v, want %v", path, key, absent, k.optional)
		}
	}
}

// object compares the keys of an object, their order and their values.
func (c *bodyCheck) object(path, name string, text json.RawMessage) {
	b := c.blocks[name]
	if b == nil {
		c.Errorf("%s: the reference lacks the block %s", path, name)
		return
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		c.Errorf("%s: %s is no object", path, text)
		return
	}
	found := map[string]bool{}
	last := -1
	for d.More() {
		token, err := d.Token()
		if err != nil {
			c.Fatal(err)
		}
		key := token.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			c.Fatal(err)
		}
		found[key] = true
		at := slices.IndexFunc(b.keys, func(k bodyKey) bool { return k.name == key })
		if at < 0 {
			c.Errorf("%s.%s: the reference lacks it", path, key)
			continue
		}
		if !b.unordered && !slices.Contains(b.ours, key) {
			if at < last {
				c.Errorf("%s.%s: in another order", path, key)
			}
			last = at
		}
		c.value(path+"."+key, name, &b.keys[at], value)
	}
	for _, k := range b.keys {
		if !found[k.name] && !k.optional {
			c.Errorf("%s.%s is missing", path, k.name)
		}
	}
}

func (c *bodyCheck) value(path, in string, k *bodyKey, text json.RawMessage) {
	if string(text) == "null" {
		if !k.nullable {
			c.Errorf("%s is null", path)
		}
		return
	}
	c.seen[in+"."+k.name] = true
	if !k.list {
		c.one(path, k.kind, text)
		return
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		c.Errorf("%s: %s is no list", path, text)
	}
	for _, one := range list {
		c.one(path+"[]", k.kind, one)
	}
}

func (c *bodyCheck) one(path, kind string, text json.RawMessage) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		c.Fatal(err)
	}
	ok := true
	switch kind {
	case "any":
	case "n":
		_, ok = v.(float64)
	case "b":
		_, ok = v.(bool)
	case "s", "t", "i", "d":
		var s string
		s, ok = v.(string)
		ok = ok && bodyTexts[kind].MatchString(s)
	default:
		c.object(path, kind, text)
	}
	if !ok {
		c.Errorf("%s: %s is no %s", path, text, kind)
	}
}

// whole tells which keys no body has a value for, so that a body that lacks what it could have is seen.
func (c *bodyCheck) whole() string {
	var out []string
	for name, b := range c.blocks {
		for _, k := range b.keys {
			if id := fmt.Sprint(name, ".", k.name); !c.seen[id] {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n") + "\n"
}
