package main

import (
	"encoding/xml"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/chroma/v2"
)

// The file of a language, as base/highlight reads it.
type (
	language struct {
		Rules  []rule           `json:"rules"`
		States map[string][]int `json:"states"` // the rules of each, in their order
	}
	rule struct {
		Pattern string   `json:"p"`
		First   string   `json:"f"`           // the ASCII characters that it begins with, as 32 hexadecimal digits
		Any     bool     `json:"u,omitempty"` // it may begin with other characters too, or match nothing
		Before  *look    `json:"b,omitempty"`
		After   *look    `json:"a,omitempty"` // what must not come after it
		Ahead   bool     `json:"h,omitempty"` // its first group is the match
		Groups  bool     `json:"g,omitempty"` // each group has its part, not the whole match one
		Parts   []*part  `json:"t,omitempty"`
		Next    []string `json:"n,omitempty"`
	}
	// look is a pattern that the text before or after a match has to match, or must not.
	look struct {
		Pattern string `json:"p"`
		Not     bool   `json:"n,omitempty"`
	}
	// part says how a match or a group is shown: with a class, or as a text of a language.
	part struct {
		Class    string `json:"c,omitempty"`
		Language string `json:"l,omitempty"` // "." for the same
		State    string `json:"s,omitempty"`
	}
)

// node is an element of chroma's XML.
type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []*node    `xml:",any"`
	Text     string     `xml:",chardata"`
}

func (n *node) child(name string) *node {
	for _, c := range n.Children {
		if c.XMLName.Local == name {
			return c
		}
	}
	return nil
}

func (n *node) attribute(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// attributes returns all attributes of a name.
func (n *node) attributes(name string) []string {
	var out []string
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			out = append(out, a.Value)
		}
	}
	return out
}

// convert returns the rules of a lexer, and the patterns that package regexp cannot have.
func convert(lexer *chroma.RegexLexer) (*language, []string, error) {
	if err := plainStrings(lexer); err != nil {
		return nil, nil, err
	}
	data, err := chroma.Marshal(lexer)
	if err != nil {
		return nil, nil, err
	}
	var root node
	if err := xml.Unmarshal(data, &root); err != nil {
		return nil, nil, err
	}
	flags := ""
	if !lexer.Config().NotMultiline {
		flags += "m"
	}
	if lexer.Config().CaseInsensitive {
		flags += "i"
	}
	if lexer.Config().DotAll {
		flags += "s"
	}
	states := map[string][]*node{}
	for _, state := range root.child("rules").Children {
		states[state.attribute("name")] = state.Children
	}
	c := converter{states: states, flags: flags, made: &language{States: map[string][]int{}}, seen: map[*node][]int{}}
	if err := c.need("root"); err != nil {
		return nil, nil, err
	}
	return c.made, c.dropped, nil
}

type converter struct {
	states  map[string][]*node
	flags   string
	made    *language
	seen    map[*node][]int // the rules that a rule of chroma became
	dropped []string
}

// need converts a state and those that it leads to. The name of a combined one has its parts.
func (c *converter) need(name string) error {
	if _, done := c.made.States[name]; done || strings.HasPrefix(name, "#") {
		return nil
	}
	c.made.States[name] = nil
	var nodes []*node
	for _, part := range strings.Split(name, "\x00") {
		if c.states[part] == nil {
			return fmt.Errorf("no state %q", part)
		}
		nodes = append(nodes, expand(c.states, part)...)
	}
	for _, n := range nodes {
		if _, done := c.seen[n]; !done {
			if err := c.rule(n); err != nil {
				return err
			}
		}
		c.made.States[name] = append(c.made.States[name], c.seen[n]...)
	}
	return nil
}

// rule converts one rule; one whose alternatives look ahead becomes a rule for each.
func (c *converter) rule(n *node) error {
	c.seen[n] = nil
	var r rule
	for _, child := range n.Children {
		if err := c.element(&r, child); err != nil {
			return err
		}
	}
	pattern := n.attribute("pattern")
	made, ok := split(r, pattern, c.flags)
	if !ok {
		c.dropped = append(c.dropped, pattern)
		return nil
	}
	for _, one := range made {
		c.seen[n] = append(c.seen[n], len(c.made.Rules))
		c.made.Rules = append(c.made.Rules, one)
	}
	for _, next := range r.Next {
		if err := c.need(next); err != nil {
			return err
		}
	}
	for _, p := range r.Parts {
		if p != nil && p.Language == "." {
			if err := c.need(p.State); err != nil {
				return err
			}
		}
	}
	return nil
}

// element converts what a rule shows or does.
func (c *converter) element(r *rule, n *node) error {
	switch n.XMLName.Local {
	case "bygroups", "usingbygroup":
		r.Groups = true
		list := n.Children
		if emitters := n.child("emitters"); emitters != nil {
			list = emitters.Children
		}
		for _, child := range list {
			p, err := partOf(child)
			if err != nil {
				return err
			}
			r.Parts = append(r.Parts, p)
		}
	case "push":
		if r.Next = append(r.Next, n.attributes("state")...); len(n.attributes("state")) == 0 {
			r.Next = append(r.Next, "#push")
		}
	case "pop":
		depth, err := strconv.Atoi(n.attribute("depth"))
		if err != nil {
			return err
		}
		r.Next = append(r.Next, slices.Repeat([]string{"#pop"}, depth)...)
	case "combined":
		r.Next = append(r.Next, strings.Join(n.attributes("state"), "\x00"))
	case "mutators":
		for _, child := range n.Children {
			if err := c.element(r, child); err != nil {
				return err
			}
		}
	default:
		p, err := partOf(n)
		if err != nil {
			return err
		}
		r.Parts = append(r.Parts, p)
	}
	return nil
}

func partOf(n *node) (*part, error) {
	switch n.XMLName.Local {
	case "token":
		kind, err := chroma.TokenTypeString(n.attribute("type"))
		if err != nil {
			return nil, err
		}
		return &part{Class: class(kind)}, nil
	case "usingself":
		return &part{Language: ".", State: n.attribute("state")}, nil
	case "using":
		return &part{Language: strings.ToLower(n.attribute("lexer")), State: "root"}, nil
	case "nil":
		return nil, nil
	}
	return nil, fmt.Errorf("unknown element %q", n.XMLName.Local)
}

// class is the class of a kind of token. Text, white space and errors have none.
func class(kind chroma.TokenType) string {
	for _, k := range []chroma.TokenType{kind, kind.SubCategory(), kind.Category()} {
		if k == chroma.TextWhitespace || k == chroma.Text || k == chroma.Error {
			return ""
		}
		if name := chroma.StandardTypes[k]; name != "" {
			return name
		}
	}
	return ""
}

// plainStrings takes templates within strings of Go for what they are there: strings. Chroma has a
// function for them, which XML cannot have.
func plainStrings(lexer *chroma.RegexLexer) error {
	rules, err := lexer.Rules()
	if err != nil {
		return err
	}
	for _, list := range rules {
		for _, r := range list {
			value := reflect.ValueOf(r.Type)
			if value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
				continue
			}
			field := value.Elem().FieldByName("Emitters")
			if !field.IsValid() {
				continue
			}
			emitters, _ := field.Interface().(chroma.Emitters)
			for i := range emitters {
				if _, function := emitters[i].(chroma.EmitterFunc); function {
					emitters[i] = chroma.LiteralString
				}
			}
		}
	}
	return nil
}
