package api

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// schemas collects the JSON schemas of the types that a document names.
type schemas struct {
	named map[string]any
	names map[reflect.Type]string
}

type dict = map[string]any

// field of an entity, as encoding/json sees it.
type jsonField struct {
	name     string
	typ      reflect.Type
	optional bool // omitted when empty
	later    string
	doc      string
}

// jsonFields lists what encoding/json writes for a struct, embedded ones included.
func jsonFields(t reflect.Type) []jsonField {
	var out []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" && options == "" {
			continue
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			for _, embedded := range jsonFields(inner) {
				embedded.optional = embedded.optional || f.Type.Kind() == reflect.Pointer // nil leaves all of them out
				out = slices.DeleteFunc(out, func(o jsonField) bool { return o.name == embedded.name })
				out = append(out, embedded)
			}
			continue
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		out = slices.DeleteFunc(out, func(o jsonField) bool { return o.name == name })
		out = append(out, jsonField{
			name: name, typ: f.Type, later: f.Tag.Get("later"), doc: f.Tag.Get("doc"),
			optional: strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"),
		})
	}
	return out
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	ownTimeType  = reflect.TypeFor[Time]()
	nullTimeType = reflect.TypeFor[NullTime]()
	commitType   = reflect.TypeFor[CommitTime]()
	dateType     = reflect.TypeFor[Date]()
)

// of returns the schema of a type; structs become components of their own.
func (s *schemas) of(t reflect.Type) any {
	switch t {
	case timeType, ownTimeType, commitType:
		return dict{"type": "string", "format": "date-time"}
	case nullTimeType:
		return dict{"type": []string{"string", "null"}, "format": "date-time"}
	case dateType:
		return dict{"type": []string{"string", "null"}, "format": "date"}
	case reflect.TypeFor[Ints]():
		return dict{"type": "array", "items": dict{"type": "integer"}}
	case reflect.TypeFor[Strings]():
		return dict{"type": "array", "items": dict{"type": "string"}}
	case reflect.TypeFor[IDOrWord]():
		return dict{"anyOf": []any{dict{"type": "integer"}, dict{"enum": []string{"None", "Any"}}}}
	case reflect.TypeFor[File]():
		return dict{"type": "string", "format": "binary"}
	}
	if t.Implements(optType) {
		return nullable(s.of(t.Field(0).Type))
	}
	if t.Kind() == reflect.Pointer {
		return nullable(s.of(t.Elem()))
	}
	if t.Implements(shaper) {
		return s.of(reflect.Zero(t).Interface().(Shaper).Shape())
	}
	if forms := formsOf(t); forms != nil {
		return s.oneOf(forms)
	}
	if t.Implements(marshaler) {
		return dict{}
	}
	switch t.Kind() {
	case reflect.String:
		return dict{"type": "string"}
	case reflect.Bool:
		return dict{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return dict{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return dict{"type": "number"}
	case reflect.Slice, reflect.Array:
		return dict{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return dict{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	}
	return dict{}
}

// Shaper is a type that encodes itself as JSON: Shape gives a type that is encoded alike.
type Shaper interface{ Shape() reflect.Type }

var shaper = reflect.TypeFor[Shaper]()

// formsOf returns the types of a value that takes one of several forms: an interface whose one
// method OneOf has them as its parameters. It is nil for all other types.
func formsOf(t reflect.Type) []reflect.Type {
	if t.Kind() != reflect.Interface || t.NumMethod() != 1 || t.Method(0).Name != "OneOf" {
		return nil
	}
	method := t.Method(0).Type
	forms := make([]reflect.Type, method.NumIn())
	for i := range forms {
		forms[i] = method.In(i)
		if forms[i].Kind() == reflect.Pointer {
			forms[i] = forms[i].Elem()
		}
	}
	return forms
}

// oneOf says anyOf: a form with more fields than another is valid as both.
func (s *schemas) oneOf(forms []reflect.Type) dict {
	schemas := make([]any, len(forms))
	for i, form := range forms {
		schemas[i] = s.of(form)
	}
	return dict{"anyOf": schemas}
}

func nullable(schema any) any {
	if d, ok := schema.(dict); ok {
		if kind, ok := d["type"].(string); ok {
			d["type"] = []string{kind, "null"}
			return d
		}
		if _, ok := d["type"]; ok {
			return d
		}
	}
	return dict{"anyOf": []any{schema, dict{"type": "null"}}}
}

func (s *schemas) structure(t reflect.Type) any {
	if t.Name() == "" || strings.Contains(t.Name(), "[") {
		return s.body(t)
	}
	name, ok := s.names[t]
	if !ok {
		name = entityName(t)
		if s.named[name] != nil {
			panic("api: two types are called " + name + " in the document: rename " + t.String())
		}
		s.names[t] = name
		s.named[name] = dict{} // a type may contain itself
		s.named[name] = s.body(t)
	}
	return dict{"$ref": "#/components/schemas/" + name}
}

func (s *schemas) body(t reflect.Type) any {
	properties := dict{}
	required := []string{}
	for _, f := range jsonFields(t) {
		schema := s.of(f.typ)
		if d, ok := schema.(dict); ok && (f.doc != "" || f.later != "") {
			if f.doc != "" {
				d["description"] = f.doc
			}
			if f.later != "" {
				d["x-later"] = f.later
			}
		}
		properties[f.name] = schema
		if !f.optional {
			required = append(required, f.name)
		}
	}
	out := dict{"type": "object", "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	return out
}

// entityName is the public name of a response type: noteEntity is Note.
func entityName(t reflect.Type) string {
	name := strings.TrimSuffix(t.Name(), "Entity")
	if name == "" {
		name = t.Name()
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// resultOf returns the JSON type behind the result of an endpoint, and whether it is
// a list; nil for answers that are no JSON.
func resultOf(t reflect.Type) (body reflect.Type, isList bool) {
	switch t {
	case reflect.TypeFor[None](), reflect.TypeFor[Raw](), reflect.TypeFor[RawOrContent](), reflect.TypeFor[Content](), reflect.TypeFor[Text]():
		return nil, false
	}
	if t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[None]().PkgPath() {
		switch {
		case strings.HasPrefix(t.Name(), "List["):
			items, _ := t.FieldByName("Items")
			return items.Type, true
		case strings.HasPrefix(t.Name(), "Reply["):
			field, _ := t.FieldByName("Body")
			return field.Type, field.Type.Kind() == reflect.Slice
		}
	}
	return t, t.Kind() == reflect.Slice
}
