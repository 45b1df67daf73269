package api

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"
)

// The bounds of the parameters of an endpoint that reads. Each value is a condition of a
// query, so that many of them cost the database more than they cost the caller.
const (
	maxValues = 100      // of a list, and entries of a hash
	maxLength = 4096     // characters of one text
	maxWords  = 20       // of a parameter named search
	maxCursor = 16 << 10 // characters of a cursor, which holds whole paths and titles
)

// bound is how much one parameter may carry; zero is no bound.
type bound struct {
	values int
	length int
	words  int
}

// boundReads gives every parameter of an endpoint that reads its bounds.
func (r *Route) boundReads() {
	if r.method == http.MethodGet || r.method == http.MethodHead {
		r.plan.boundAll()
	}
}

func (p *plan) boundAll() {
	for i := range p.fields {
		f := &p.fields[i]
		if f.rule != nil || f.typ == rawBodyType {
			continue
		}
		f.bound.length = maxLength
		if isList(f.typ) {
			f.bound.values = maxValues
		}
		switch f.name {
		case "search":
			f.bound.words = maxWords
		case "cursor", "page_token":
			f.bound.length = maxCursor
		}
		if f.nested != nil {
			f.nested.boundAll()
		}
	}
}

// isList reports whether a parameter holds many values, below Opt and pointers.
func isList(t reflect.Type) bool {
	switch {
	case t.Implements(optType):
		return isList(t.Field(0).Type)
	case t.Kind() == reflect.Pointer:
		return isList(t.Elem())
	}
	return t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Interface
}

// text says what is wrong with a value before it is coerced, "" for nothing. The bound
// of a list is for each of its items: see value.
func (b bound) text(raw any) string {
	s, ok := raw.(string)
	switch {
	case !ok || b.values > 0:
		return ""
	case b.tooLong(s):
		return b.longText()
	case b.words > 0 && len(strings.Fields(s)) > b.words:
		return fmt.Sprintf("has too many words (maximum is %d)", b.words)
	}
	return ""
}

// value says what is wrong with a list or hash that was coerced, "" for nothing.
func (b bound) value(v reflect.Value) string {
	if b.values == 0 {
		return ""
	}
	v = inner(v)
	switch v.Kind() {
	case reflect.Interface:
		return b.value(v.Elem())
	case reflect.String:
		if b.tooLong(v.String()) {
			return b.longText()
		}
	case reflect.Slice:
		if v.Len() > b.values {
			return b.manyValues()
		}
		for i := range v.Len() {
			if s := b.value(v.Index(i)); s != "" {
				return s
			}
		}
	case reflect.Map:
		if v.Len() > b.values {
			return b.manyValues()
		}
		for it := v.MapRange(); it.Next(); {
			if s := b.value(it.Key()) + b.value(it.Value()); s != "" {
				return s
			}
		}
	}
	return ""
}

func (b bound) tooLong(s string) bool {
	return b.length > 0 && len(s) > b.length && utf8.RuneCountInString(s) > b.length
}

func (b bound) longText() string {
	return fmt.Sprintf("is too long (maximum is %d characters)", b.length)
}

func (b bound) manyValues() string {
	return fmt.Sprintf("has too many values (maximum is %d)", b.values)
}

// describe puts the bounds into the JSON schema of the parameter.
func (b bound) describe(schema dict, plain bool) {
	of := func(kind string) bool {
		switch t := schema["type"].(type) {
		case string:
			return t == kind
		case []string:
			return len(t) > 0 && t[0] == kind
		}
		return false
	}
	text := func(d dict) {
		if d["type"] == "string" && d["format"] == nil && d["enum"] == nil {
			d["maxLength"] = b.length
		}
	}
	switch {
	case b.length == 0:
	case of("array"):
		schema["maxItems"] = b.values
		if items, ok := schema["items"].(dict); ok {
			text(items)
		}
	case of("object") && schema["additionalProperties"] != nil:
		schema["maxProperties"] = b.values
		if entries, ok := schema["additionalProperties"].(dict); ok {
			text(entries)
		}
	case of("string") && plain && schema["format"] == nil:
		schema["maxLength"] = b.length
	}
	if b.words > 0 {
		schema["x-maxWords"] = b.words
	}
}
