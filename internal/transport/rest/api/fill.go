package api

import (
	"encoding/json"
	"reflect"
)

// filler replaces nil slices inside a response by empty ones, so that clients read
// [] and never null. It reaches through structs, pointers and slices, not through
// maps and interfaces.
type filler func(v reflect.Value)

var marshaler = reflect.TypeFor[json.Marshaler]()

// fillerOf compiles the filler of a type; it is nil where nothing is to be done.
func fillerOf(t reflect.Type) filler {
	return fillers{}.of(t)
}

// fillers are the fillers under construction, for types that contain themselves.
type fillers map[reflect.Type]*filler

func (m fillers) of(t reflect.Type) filler {
	if slot, ok := m[t]; ok {
		return func(v reflect.Value) {
			if *slot != nil {
				(*slot)(v)
			}
		}
	}
	slot := new(filler)
	m[t] = slot
	*slot = m.make(t)
	delete(m, t)
	return *slot
}

func (m fillers) make(t reflect.Type) filler {
	if t.Kind() != reflect.Slice && (t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.pointer(t)
	case reflect.Slice:
		return m.slice(t)
	case reflect.Struct:
		return m.structure(t)
	}
	return nil
}

func (m fillers) pointer(t reflect.Type) filler {
	fill := m.of(t.Elem())
	if fill == nil {
		return nil
	}
	return func(v reflect.Value) {
		if !v.IsNil() {
			fill(v.Elem())
		}
	}
}

func (m fillers) slice(t reflect.Type) filler {
	if t.Elem().Kind() == reflect.Uint8 || t.Implements(marshaler) {
		return nil
	}
	fill := m.of(t.Elem())
	return func(v reflect.Value) {
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			return
		}
		if fill != nil {
			for i := range v.Len() {
				fill(v.Index(i))
			}
		}
	}
}

func (m fillers) structure(t reflect.Type) filler {
	type part struct {
		index int
		fill  filler
	}
	var parts []part
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct) {
			continue
		}
		if f.Tag.Get("json") == "-" {
			continue
		}
		if fill := m.of(f.Type); fill != nil {
			parts = append(parts, part{i, fill})
		}
	}
	if parts == nil {
		return nil
	}
	return func(v reflect.Value) {
		for _, p := range parts {
			p.fill(v.Field(p.index))
		}
	}
}
