package api

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A plan is how a parameter struct is filled. It is made once for each route, from
// the struct's tags; a request only walks it.
type plan struct {
	typ        reflect.Type
	fields     []field
	misshapen  []int   // where the endpoint finds a value of the wrong shape
	undeclared []int   // where it finds parameters that it does not declare
	sent       []int   // where it gets all that was sent
	settlers   [][]int // embedded structs that put their own values right afterwards
	rawBody    bool    // the body is handed over unread
}

// field is one parameter, or a rule between several.
type field struct {
	name     string
	aliases  []string // older or alternative names, used where the name is absent
	header   string   // read from this header, not from the parameters
	index    []int
	typ      reflect.Type
	set      setter
	required bool
	nonempty bool
	fallback any // of the tag default
	values   []string
	not      []string
	min, max *int64
	chars    int // that a long text has at most; 0 for all others
	bound    bound
	doc      string
	free     bool
	nested   *plan // of a struct or an array of structs
	many     bool  // nested is for each element of an array
	rule     *rule

	misshapen string // what a value of the wrong shape is refused with; "" for the usual words
}

// settler is an embedded group of parameters with rules of its own, such as Page.
type settler interface{ settle() }

var settlerType = reflect.TypeFor[settler]()

// below puts the noun of what a path begins with, group or project, where the documentation of a parameter has {place}.
func (p *plan) below(path string) *plan {
	noun := "project"
	if strings.HasPrefix(path, "/groups/") {
		noun = "group"
	}
	for i := range p.fields {
		p.fields[i].doc = strings.ReplaceAll(p.fields[i].doc, "{place}", noun)
	}
	return p
}

// planOf compiles a parameter struct. It panics on a declaration that cannot work:
// that is a mistake in the program, found when it starts.
func planOf(t reflect.Type) *plan {
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("api: parameters must be a struct, not %s", t))
	}
	p := &plan{typ: t}
	p.add(t, nil)
	seen := map[string]bool{}
	for _, f := range p.fields {
		if f.misshapen != "" && p.misshapen == nil {
			panic(fmt.Sprintf("api: %s has words for a misshapen %q and no Misshapen to put them", t, f.name))
		}
		for _, name := range append([]string{f.name}, f.aliases...) {
			if name != "" && seen[name] {
				panic(fmt.Sprintf("api: %s declares the parameter %q twice", t, name))
			}
			seen[name] = true
		}
	}
	for _, f := range p.fields {
		for _, name := range f.ruleNames() {
			if !seen[name] {
				panic(fmt.Sprintf("api: a rule of %s names %q, which is no parameter", t, name))
			}
		}
	}
	return p
}

func (p *plan) add(t reflect.Type, index []int) {
	first := len(p.fields)
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(append([]int(nil), index...), i)
		_, isParam := sf.Tag.Lookup("param")
		switch {
		case sf.Type == rawBodyType:
			p.rawBody = true
			p.fields = append(p.fields, field{index: at, typ: sf.Type})
		case sf.Anonymous && !isParam && sf.Type.Kind() == reflect.Struct:
			p.add(sf.Type, at)
			// An unexported one has the method from what it embeds,
			// which is settled itself.
			if sf.IsExported() && reflect.PointerTo(sf.Type).Implements(settlerType) {
				p.settlers = append(p.settlers, at)
			}
		case sf.Type == misshapenType:
			p.misshapen = at
		case sf.Type == undeclaredType:
			p.undeclared = at
		case sf.Type == sentType:
			p.sent = at
		case sf.Name == "_":
			p.fields = append(p.fields, field{rule: ruleOf(t, sf, p.fields[first:])})
		case isParam || sf.Tag.Get("header") != "":
			p.fields = append(p.fields, fieldOf(t, sf, at))
		default:
			panic(fmt.Sprintf("api: %s.%s has neither a param nor a header tag", t, sf.Name))
		}
	}
}

func fieldOf(t reflect.Type, sf reflect.StructField, index []int) field {
	bad := func(format string, args ...any) {
		panic(fmt.Sprintf("api: %s.%s: ", t, sf.Name) + fmt.Sprintf(format, args...))
	}
	if !sf.IsExported() {
		bad("is not exported")
	}
	f := field{index: index, typ: sf.Type, header: sf.Tag.Get("header"), doc: sf.Tag.Get("doc"), misshapen: sf.Tag.Get("misshapen")}
	name, options, _ := strings.Cut(sf.Tag.Get("param"), ",")
	f.name = name
	if name == "" && f.header == "" {
		bad("has no name")
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "required":
			f.required = true
		case "nonempty":
			f.nonempty = true
		case "free":
			f.free = true
		default:
			bad("unknown option %q", option)
		}
	}
	f.aliases = tagList(sf, "alias")
	f.values, f.not = tagList(sf, "values"), tagList(sf, "not")
	var err error
	if f.set, f.nested, f.many, err = setterOf(sf.Type); err != nil {
		bad("%v", err)
	}
	if f.values == nil {
		f.values = ownValues(sf.Type)
	}
	for tag, to := range map[string]**int64{"min": &f.min, "max": &f.max} {
		if s, ok := sf.Tag.Lookup(tag); ok {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				bad("%s: %v", tag, err)
			}
			*to = &n
		}
	}
	if s, ok := sf.Tag.Lookup("chars"); ok {
		if f.chars, err = strconv.Atoi(s); err != nil {
			bad("chars: %v", err)
		}
	}
	if s, ok := sf.Tag.Lookup("default"); ok {
		f.fallback = s
		scratch := reflect.New(sf.Type).Elem()
		if f.set(scratch, s, &decoding{}, "") != taken || !f.allows(scratch) {
			bad("its default %q is not one of its values", s)
		}
		if f.required {
			bad("is required and has a default")
		}
	}
	return f
}

// valued is a parameter type that knows its own values.
type valued interface{ Values() []string }

var valuedType = reflect.TypeFor[valued]()

// ownValues returns the values of an enumerated type, below Opt, pointers and slices.
func ownValues(t reflect.Type) []string {
	switch {
	case t.Implements(valuedType):
		return reflect.Zero(t).Interface().(valued).Values()
	case t.Implements(optType):
		return ownValues(t.Field(0).Type)
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice:
		return ownValues(t.Elem())
	}
	return nil
}

func tagList(sf reflect.StructField, tag string) []string {
	s, ok := sf.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	return strings.Split(s, ",")
}

// find returns the declaration of a parameter at the top level, or nil.
func (p *plan) find(name string) *field {
	for i := range p.fields {
		if p.fields[i].name == name {
			return &p.fields[i]
		}
	}
	return nil
}
