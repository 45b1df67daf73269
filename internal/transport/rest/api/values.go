package api

import "strings"

// A parameter value, before it is coerced to a declared type, is one of: nil,
// bool, number, string, *object, *list, *File.

// number is the text of a JSON number.
type number string

// list is an array of parameter values.
type list struct{ items []any }

// object is a map of parameter values that keeps the order in which its keys came.
type object struct {
	keys  []string
	vals  []any
	index map[string]int // only for objects with many keys
}

// indexFrom is the number of keys from which an object keeps an index.
const indexFrom = 12

func (o *object) at(key string) int {
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range o.keys {
		if k == key {
			return i
		}
	}
	return -1
}

func (o *object) get(key string) (any, bool) {
	if i := o.at(key); i >= 0 {
		return o.vals[i], true
	}
	return nil, false
}

// set gives a key its value; an earlier value is replaced in its place.
func (o *object) set(key string, v any) {
	if i := o.at(key); i >= 0 {
		o.vals[i] = v
		return
	}
	o.keys = append(o.keys, key)
	o.vals = append(o.vals, v)
	switch {
	case o.index != nil:
		o.index[key] = len(o.keys) - 1
	case len(o.keys) >= indexFrom:
		o.index = make(map[string]int, 2*len(o.keys))
		for i, k := range o.keys {
			o.index[k] = i
		}
	}
}

// merge takes over the other object's entries; its values win.
func (o *object) merge(other *object) {
	if other == nil {
		return
	}
	for i, k := range other.keys {
		o.set(k, other.vals[i])
	}
}

// reset empties the object for the next request, and lets go of what a large one held.
func (o *object) reset() {
	if cap(o.keys) > 4*indexFrom {
		*o = object{}
		return
	}
	clear(o.keys)
	clear(o.vals)
	o.keys, o.vals, o.index = o.keys[:0], o.vals[:0], nil
}

// asList returns the values of an object whose keys are all numbers, the form
// a[0]=x&a[1]=y, in the order they came.
func (o *object) asList() (*list, bool) {
	for _, k := range o.keys {
		if k == "" || strings.Trim(k, "0123456789") != "" {
			return nil, false
		}
	}
	return &list{items: o.vals}, len(o.vals) > 0
}

// text returns the string form of a scalar, as a declared string sees it.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case number:
		return string(v), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	}
	return "", false
}

// plain returns a value in the types of encoding/json, for parameters of any shape.
// Numbers become int64 where they fit, float64 otherwise.
func plain(v any) any {
	switch v := v.(type) {
	case number:
		return v.plain()
	case *list:
		out := make([]any, len(v.items))
		for i, item := range v.items {
			out[i] = plain(item)
		}
		return out
	case *object:
		out := make(map[string]any, len(v.keys))
		for i, k := range v.keys {
			out[k] = plain(v.vals[i])
		}
		return out
	case *File:
		return nil
	}
	return v
}
