package api

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// outcome says what became of a value that was sent.
type outcome int

const (
	taken   outcome = iota
	null            // null, or the empty string where that means null
	refused         // of the wrong type
)

// setter puts a sent value into a field of its type. Problems inside nested
// structs are reported to the decoding under the given name.
type setter func(to reflect.Value, raw any, d *decoding, name string) outcome

var (
	optType     = reflect.TypeFor[interface{ optional() }]()
	unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	rawBodyType = reflect.TypeFor[RawBody]()

	misshapenType = reflect.TypeFor[Misshapen]()
	special       = map[reflect.Type]setter{
		reflect.TypeFor[time.Time](): setTime,
		reflect.TypeFor[Time]():      setTime,
		reflect.TypeFor[NullTime]():  setTime,
		reflect.TypeFor[Date]():      setDate,
		reflect.TypeFor[Ints]():      setInts,
		reflect.TypeFor[Strings]():   setStrings,
		reflect.TypeFor[IDOrWord]():  setIDOrWord,
		reflect.TypeFor[File]():      setFile,
	}
)

// setterOf finds the coercion for a type, and the plan of a nested struct.
func setterOf(t reflect.Type) (set setter, nested *plan, many bool, err error) {
	if set, ok := special[t]; ok {
		return set, nil, false, nil
	}
	switch {
	case t.Implements(optType):
		set, nested, many, err := setterOf(t.Field(0).Type)
		return setOpt(set), nested, many, err
	case t.Kind() == reflect.Pointer:
		set, nested, many, err := setterOf(t.Elem())
		return setPointer(set), nested, many, err
	case reflect.PointerTo(t).Implements(unmarshaler):
		return setText, nil, false, nil
	}
	switch t.Kind() {
	case reflect.String:
		return setString, nil, false, nil
	case reflect.Bool:
		return setBool, nil, false, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return setInt, nil, false, nil
	case reflect.Float64:
		return setFloat, nil, false, nil
	case reflect.Interface:
		return setAny, nil, false, nil
	case reflect.Struct:
		nested := planOf(t)
		return setStruct(nested), nested, false, nil
	case reflect.Slice:
		set, nested, _, err := setterOf(t.Elem())
		return setSlice(set), nested, true, err
	case reflect.Map:
		set, _, _, err := setterOf(t.Elem())
		if t.Key().Kind() != reflect.String {
			err = fmt.Errorf("a map parameter has string keys, not %s", t.Key())
		}
		return setMap(set), nil, false, err
	}
	return nil, nil, false, fmt.Errorf("no parameter can have the type %s", t)
}

func setOpt(set setter) setter {
	return func(to reflect.Value, raw any, d *decoding, name string) outcome {
		out := set(to.Field(0), raw, d, name)
		if out != refused {
			to.Field(1).SetBool(true)
			to.Field(2).SetBool(out == null || raw == nil)
		}
		return out
	}
}

func setPointer(set setter) setter {
	return func(to reflect.Value, raw any, d *decoding, name string) outcome {
		v := reflect.New(to.Type().Elem())
		out := set(v.Elem(), raw, d, name)
		if out == taken {
			to.Set(v)
		}
		return out
	}
}

func setString(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	if raw == nil {
		return null
	}
	s, ok := text(raw)
	if !ok {
		return refused
	}
	to.SetString(s)
	return taken
}

func setText(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	if raw == nil || raw == "" {
		return null
	}
	s, ok := text(raw)
	if !ok || to.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)) != nil {
		return refused
	}
	return taken
}

func setBool(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	var word string
	switch raw := raw.(type) {
	case nil:
		return null
	case bool:
		to.SetBool(raw)
		return taken
	case number:
		word = string(raw)
		if word != "1" && word != "0" {
			return refused
		}
	case string:
		word = raw
	default:
		return refused
	}
	switch word {
	case "":
		return null
	case "1", "on", "On", "ON", "t", "true", "True", "TRUE", "T", "y", "yes", "Yes", "YES", "Y":
		to.SetBool(true)
	case "0", "off", "Off", "OFF", "f", "false", "False", "FALSE", "F", "n", "no", "No", "NO", "N":
		to.SetBool(false)
	default:
		return refused
	}
	return taken
}

func setInt(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	var s string
	switch raw := raw.(type) {
	case nil:
		return null
	case number:
		s = string(raw)
	case string:
		if raw == "" {
			return null
		}
		s = raw
	default:
		return refused
	}
	n, ok := parseInt(s)
	if !ok || to.OverflowInt(n) {
		return refused
	}
	to.SetInt(n)
	return taken
}

// parseInt reads a decimal number with an optional sign, spaces around it and
// single underscores between its digits.
func parseInt(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	if strings.IndexByte(s, '_') >= 0 {
		digits := strings.TrimLeft(s, "+-")
		if strings.HasPrefix(digits, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
			return 0, false
		}
		s = strings.ReplaceAll(s, "_", "")
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func setFloat(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	if raw == nil || raw == "" {
		return null
	}
	s, ok := text(raw)
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if _, isBool := raw.(bool); !ok || isBool || err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return refused
	}
	to.SetFloat(f)
	return taken
}

func setAny(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	if raw == nil {
		return null
	}
	if v := plain(raw); v != nil {
		to.Set(reflect.ValueOf(v))
	}
	return taken
}

func setStruct(p *plan) setter {
	return func(to reflect.Value, raw any, d *decoding, name string) outcome {
		switch raw := raw.(type) {
		case nil:
			return null
		case *object:
			p.decode(d, raw, to, name)
			return taken
		case string:
			if raw == "" {
				return null
			}
		}
		return refused
	}
}

func setSlice(set setter) setter {
	return func(to reflect.Value, raw any, d *decoding, name string) outcome {
		var items []any
		switch raw := raw.(type) {
		case nil:
		case *list:
			items = raw.items
		case *object:
			l, ok := raw.asList()
			if !ok {
				return refused
			}
			items = l.items
		case string:
			if raw != "" {
				return refused
			}
		default:
			return refused
		}
		out := reflect.MakeSlice(to.Type(), len(items), len(items))
		for i, item := range items {
			if set(out.Index(i), item, d, name+"["+strconv.Itoa(i)+"]") == refused {
				return refused
			}
		}
		to.Set(out)
		return taken
	}
}

func setMap(set setter) setter {
	return func(to reflect.Value, raw any, d *decoding, name string) outcome {
		switch raw := raw.(type) {
		case nil:
			return null
		case *object:
			out := reflect.MakeMapWithSize(to.Type(), len(raw.keys))
			for i, k := range raw.keys {
				v := reflect.New(to.Type().Elem()).Elem()
				if set(v, raw.vals[i], d, fullName(name, k)) == refused {
					return refused
				}
				out.SetMapIndex(reflect.ValueOf(k).Convert(to.Type().Key()), v)
			}
			to.Set(out)
			return taken
		case string:
			if raw == "" {
				return null
			}
		}
		return refused
	}
}

// commaItems returns the items of a list that may come as an array, as one string
// with commas, or as an object with numbers for keys. The last empty items of a
// string do not count.
func commaItems(raw any, split func(string) []string) []string {
	out := []string{}
	switch raw := raw.(type) {
	case *object:
		if l, ok := raw.asList(); ok {
			return commaItems(l, split)
		}
	case *list:
		for _, item := range raw.items {
			if s, ok := text(item); ok {
				out = append(out, split(s)...)
			}
		}
	default:
		if s, ok := text(raw); ok {
			out = append(out, splitCommas(s)...)
		}
	}
	return out
}

func splitCommas(s string) []string {
	parts := strings.Split(s, ",")
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

func setStrings(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	items := commaItems(raw, splitCommas)
	if len(items) > maxEntries {
		return refused
	}
	to.Set(reflect.ValueOf(Strings(items)))
	return taken
}

func setInts(to reflect.Value, raw any, _ *decoding, _ string) outcome {
	items := commaItems(raw, func(s string) []string { return []string{s} })
	if len(items) > maxEntries {
		return refused
	}
	out := make(Ints, len(items))
	for i, item := range items {
		out[i] = leadingInt(item)
	}
	to.Set(reflect.ValueOf(out))
	return taken
}

// leadingInt returns the number a text starts with, 0 where it starts with none. A
// number too large for any id is the largest one.
func leadingInt(s string) int64 {
	s = strings.TrimSpace(s)
	end := 0
	if end < len(s) && (s[0] == '-' || s[0] == '+') {
		end++
	}
	for end < len(s) && '0' <= s[end] && s[end] <= '9' {
		end++
	}
	n, _ := strconv.ParseInt(s[:end], 10, 64) // 0 for no digits, the nearest bound when out of range
	return n
}

func setIDOrWord(to reflect.Value, raw any, d *decoding, name string) outcome {
	if raw == nil || raw == "" {
		return null
	}
	s, ok := text(raw)
	if !ok {
		return refused
	}
	var v IDOrWord
	switch strings.ToLower(s) {
	case "none":
		v.None = true
	case "any":
		v.Any = true
	default:
		n, ok := parseInt(s)
		if !ok {
			d.report(name + " should be an integer, none, or any, however got " + s)
			return taken
		}
		v.ID = n
	}
	to.Set(reflect.ValueOf(v))
	return taken
}
