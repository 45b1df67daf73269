package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/db"
)

// shape is how rows of a type are written.
type shape struct {
	attributes []Attribute
	keys       map[string][]int // fields with the keys of nested relations
}

var timeType = reflect.TypeFor[db.Time]()

// shapeOf reads the tags of a row type. It panics for tags that it does not know: the catalogue is built at the start.
func shapeOf(t reflect.Type) *shape {
	s := &shape{keys: map[string][]int{}}
	for _, f := range reflect.VisibleFields(t) {
		if child, ok := f.Tag.Lookup("child"); ok {
			s.keys[child] = f.Index
		}
		if tag, ok := f.Tag.Lookup("tree"); ok {
			s.attributes = append(s.attributes, attributeOf(t, f, tag))
		}
	}
	return s
}

func attributeOf(t reflect.Type, f reflect.StructField, tag string) Attribute {
	name, options, _ := strings.Cut(tag, ",")
	of := f.Type
	a := Attribute{Name: name, index: f.Index, Null: of.Kind() == reflect.Pointer}
	if a.Null {
		of = of.Elem()
	}
	switch {
	case of == timeType:
		a.Type = Time
	case of == reflect.TypeFor[json.RawMessage]():
		a.Type, a.Null = Object, true
	default:
		a.Type = map[reflect.Kind]Type{
			reflect.String: Text, reflect.Int64: Integer, reflect.Int: Integer, reflect.Bool: Boolean, reflect.Float64: Number,
			reflect.Slice: Object, reflect.Struct: Object, reflect.Map: Object,
		}[of.Kind()]
	}
	for option := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "":
		case "user", "project", "group", "date":
			a.Type = Type(key)
		case "markdown":
			a.Markdown = true
		case "max":
			a.Max, _ = strconv.Atoi(value)
		case "names":
			a.Type, a.Names = Name, strings.Split(value, "|")
		default:
			panic(fmt.Sprintf("tree: unknown option %q of %s.%s", option, t, f.Name))
		}
	}
	if a.Type == "" {
		panic(fmt.Sprintf("tree: no type for %s.%s", t, f.Name))
	}
	return a
}

// key is the number by which nested rows of a relation find a row.
func (s *shape) key(row *row, child string) (int64, bool) {
	index, ok := s.keys[child]
	if !ok {
		return row.id, true
	}
	v := row.value.FieldByIndex(index)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return 0, false
		}
		v = v.Elem()
	}
	return v.Int(), true
}

// timeLayout is how times are written.
const timeLayout = "2006-01-02T15:04:05.000Z"

// writer makes JSON.
type writer struct {
	buf  bytes.Buffer
	enc  *json.Encoder
	more bool // the object has a key
}

func newWriter() *writer {
	w := &writer{}
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false)
	return w
}

func (w *writer) open() {
	w.buf.WriteByte('{')
	w.more = false
}

func (w *writer) name(name string) {
	if w.more {
		w.buf.WriteByte(',')
	}
	w.more = true
	w.buf.WriteByte('"')
	w.buf.WriteString(name) // names of the format need no escapes
	w.buf.WriteString(`":`)
}

func (w *writer) value(v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			w.buf.WriteString("null")
			return nil
		}
		v = v.Elem()
	}
	if v.Type() == timeType {
		t := v.Interface().(db.Time)
		w.buf.WriteByte('"')
		w.buf.WriteString(t.UTC().Format(timeLayout))
		w.buf.WriteByte('"')
		return nil
	}
	switch v.Kind() {
	case reflect.Int64, reflect.Int:
		w.buf.WriteString(strconv.FormatInt(v.Int(), 10))
		return nil
	case reflect.Bool:
		w.buf.WriteString(strconv.FormatBool(v.Bool()))
		return nil
	case reflect.Slice:
		if v.IsNil() {
			w.buf.WriteString("null")
			return nil
		}
	}
	if err := w.enc.Encode(v.Interface()); err != nil {
		return fmt.Errorf("write attribute: %w", err)
	}
	w.buf.Truncate(w.buf.Len() - 1) // the encoder ends with a new line
	return nil
}

// nested writes the rows of a child.
func (w *writer) nested(child *Relation, rows [][]byte) {
	w.name(child.key())
	if child.Single {
		if len(rows) == 0 {
			w.buf.WriteString("null")
			return
		}
		w.buf.Write(rows[0])
		return
	}
	w.buf.WriteByte('[')
	for i, one := range rows {
		if i > 0 {
			w.buf.WriteByte(',')
		}
		w.buf.Write(one)
	}
	w.buf.WriteByte(']')
}

// isAttribute reports whether a field is an attribute of the format as well as a key.
func (s *shape) isAttribute(index []int) bool {
	return slices.ContainsFunc(s.attributes, func(a Attribute) bool { return slices.Equal(a.index, index) })
}
