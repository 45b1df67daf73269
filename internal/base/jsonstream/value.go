package jsonstream

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Streamer is a value that writes itself, the same each time.
type Streamer interface{ StreamJSON(w *Writer) }

// encoder writes values of one type.
type encoder func(w *Writer, v reflect.Value)

var encoders sync.Map // encoder by reflect.Type

// Value writes a value as encoding/json does. An error ends the writing: see [Writer.Flush].
func (w *Writer) Value(v any) {
	if v == nil {
		w.Raw("null")
		return
	}
	rv := reflect.ValueOf(v)
	encoderOf(rv.Type())(w, rv)
}

func encoderOf(t reflect.Type) encoder {
	if known, ok := encoders.Load(t); ok {
		return known.(encoder)
	}
	// A type that contains itself finds this one.
	var ready sync.WaitGroup
	var made encoder
	ready.Add(1)
	later, loaded := encoders.LoadOrStore(t, encoder(func(w *Writer, v reflect.Value) {
		ready.Wait()
		made(w, v)
	}))
	if loaded {
		return later.(encoder)
	}
	made = newEncoder(t)
	ready.Done()
	encoders.Store(t, made)
	return made
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	numberType    = reflect.TypeFor[json.Number]()
	streamer      = reflect.TypeFor[Streamer]()
)

func marshals(t reflect.Type) bool { return t.Implements(jsonMarshaler) || t.Implements(textMarshaler) }

func newEncoder(t reflect.Type) encoder {
	switch {
	case t.Implements(streamer):
		return func(w *Writer, v reflect.Value) { v.Interface().(Streamer).StreamJSON(w) }
	case t == numberType:
		return other
	case t.Implements(jsonMarshaler):
		return marshaled
	case t.Implements(textMarshaler):
		return other
	}
	if pointer := reflect.PointerTo(t); t.Kind() != reflect.Pointer && marshals(pointer) { // where there is a pointer to it
		inner := encoderOfKind(t)
		return func(w *Writer, v reflect.Value) {
			if v.CanAddr() {
				w.any(v.Addr().Interface())
			} else {
				inner(w, v)
			}
		}
	}
	return encoderOfKind(t)
}

// marshaled writes what a value makes of itself.
func marshaled(w *Writer, v reflect.Value) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		w.Raw("null")
		return
	}
	out, err := v.Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		w.any(v.Interface()) // which has words for the error
		return
	}
	w.scratch.Reset()
	if err := json.Compact(&w.scratch, out); err != nil {
		w.Fail(err)
		return
	}
	w.raw(w.scratch.Bytes())
}

// other leaves a value to encoding/json.
func other(w *Writer, v reflect.Value) { w.any(v.Interface()) }

func encoderOfKind(t reflect.Type) encoder {
	switch t.Kind() {
	case reflect.Bool:
		return func(w *Writer, v reflect.Value) {
			if v.Bool() {
				w.Raw("true")
			} else {
				w.Raw("false")
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(w *Writer, v reflect.Value) { w.Int(v.Int()) }
	case reflect.String:
		return func(w *Writer, v reflect.Value) { w.String(v.String()) }
	case reflect.Interface:
		return func(w *Writer, v reflect.Value) {
			if v.IsNil() {
				w.Raw("null")
				return
			}
			v = v.Elem()
			encoderOf(v.Type())(w, v)
		}
	case reflect.Pointer:
		elem := encoderOf(t.Elem())
		return func(w *Writer, v reflect.Value) {
			if v.IsNil() {
				w.Raw("null")
				return
			}
			elem(w, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		return encoderOfList(t)
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !t.Key().Implements(textMarshaler) {
			return encoderOfMap(t)
		}
	case reflect.Struct:
		return encoderOfStruct(t)
	}
	return other
}

func encoderOfList(t reflect.Type) encoder {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 { // base64
		return other
	}
	elem := encoderOf(t.Elem())
	return func(w *Writer, v reflect.Value) {
		if v.Kind() == reflect.Slice && v.IsNil() {
			w.Raw("null")
			return
		}
		w.Raw("[")
		for i := 0; i < v.Len() && w.err == nil; i++ {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			elem(w, v.Index(i))
		}
		w.Raw("]")
	}
}

func encoderOfMap(t reflect.Type) encoder {
	elem := encoderOf(t.Elem())
	return func(w *Writer, v reflect.Value) {
		if v.IsNil() {
			w.Raw("null")
			return
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		w.Raw("{")
		for i, key := range keys {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			w.String(key.String())
			w.buf = append(w.buf, ':')
			elem(w, v.MapIndex(key))
		}
		w.Raw("}")
	}
}

// field is a field of an object.
type field struct {
	name   string
	tagged bool
	index  []int
	key    string // the name as it is written, with quotes and colon
	omit   func(v reflect.Value) bool
	encode encoder
}

func encoderOfStruct(t reflect.Type) encoder {
	fields, ok := fieldsOf(t)
	if !ok {
		return other
	}
	for i := range fields {
		var key Writer
		key.String(fields[i].name)
		fields[i].key = string(key.buf) + ":"
		fields[i].encode = encoderOf(t.FieldByIndex(fields[i].index).Type)
	}
	return func(w *Writer, v reflect.Value) {
		next := byte('{')
	fields:
		for i := range fields {
			f := &fields[i]
			at := v
			for n, index := range f.index {
				if n > 0 && at.Kind() == reflect.Pointer {
					if at.IsNil() {
						continue fields
					}
					at = at.Elem()
				}
				at = at.Field(index)
			}
			if f.omit != nil && f.omit(at) {
				continue
			}
			w.buf = append(append(w.buf, next), f.key...)
			next = ','
			f.encode(w, at)
		}
		if next == '{' {
			w.buf = append(w.buf, next)
		}
		w.Raw("}")
	}
}

// fieldsOf lists the fields of an object in their order, by the rules of encoding/json: of two of one name the outer one counts,
// then the one with a tag, else neither. It is not ok for tags that are left to encoding/json.
func fieldsOf(t reflect.Type) (out []field, ok bool) {
	type level struct {
		t     reflect.Type
		index []int
	}
	seen := map[reflect.Type]bool{}
	settled := map[string]bool{}
	for levels := []level{{t: t}}; len(levels) > 0; {
		var next []level
		var found []field
		many := map[reflect.Type]int{}
		for _, l := range levels {
			many[l.t]++
		}
		for _, l := range levels {
			if seen[l.t] {
				continue
			}
			seen[l.t] = true
			for i := range l.t.NumField() {
				f := l.t.Field(i)
				tag := f.Tag.Get("json")
				name, options, _ := strings.Cut(tag, ",")
				inner := f.Type
				if inner.Kind() == reflect.Pointer {
					inner = inner.Elem()
				}
				switch {
				case tag == "-", !f.IsExported() && !(f.Anonymous && inner.Kind() == reflect.Struct):
					continue
				case strings.Contains(options, "string"), strings.ContainsAny(name, `"\`):
					return nil, false
				}
				index := append(slices.Clone(l.index), i)
				if f.Anonymous && name == "" && inner.Kind() == reflect.Struct {
					next = append(next, level{inner, index})
					continue
				}
				if !f.IsExported() {
					continue
				}
				made := field{name: cmp.Or(name, f.Name), tagged: name != "", index: index, omit: omitted(f.Type, options)}
				for range many[l.t] { // of a type that is embedded twice neither field counts
					found = append(found, made)
				}
			}
		}
		byName := map[string][]field{}
		for _, f := range found {
			byName[f.name] = append(byName[f.name], f)
		}
		for name, same := range byName {
			if settled[name] {
				continue
			}
			settled[name] = true
			if tagged := slices.DeleteFunc(slices.Clone(same), func(f field) bool { return !f.tagged }); len(tagged) > 0 {
				same = tagged
			}
			if len(same) == 1 {
				out = append(out, same[0])
			}
		}
		levels = next
	}
	slices.SortFunc(out, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return out, true
}

// omitted returns what says that a field is left out; nil where it never is.
func omitted(t reflect.Type, options string) func(v reflect.Value) bool {
	list := strings.Split(options, ",")
	empty, zero := slices.Contains(list, "omitempty"), slices.Contains(list, "omitzero")
	isZero := reflect.Value.IsZero
	if asks := reflect.TypeFor[interface{ IsZero() bool }](); zero && t.Implements(asks) {
		isZero = func(v reflect.Value) bool {
			if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
				return true
			}
			return v.Interface().(interface{ IsZero() bool }).IsZero()
		}
	}
	switch {
	case empty && zero:
		return func(v reflect.Value) bool { return isEmpty(v) || isZero(v) }
	case empty:
		return isEmpty
	case zero:
		return isZero
	}
	return nil
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}
