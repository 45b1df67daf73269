package setting

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"tenon/internal/base/errs"
)

// set stores a value of the setting in settings; nil is null. A value of the wrong type is Invalid.
func (e *Entry) set(in *Settings, value any) error {
	if value == nil && !e.nullable {
		switch e.Type.Kind() {
		case reflect.Bool:
			return wrong(e.Name, "must be a boolean value")
		case reflect.Int, reflect.Int64, reflect.Float64:
			return wrong(e.Name, "is not a number")
		default:
			value = reflect.Zero(e.Type).Interface()
			if e.Type.Kind() != reflect.String {
				value = json.RawMessage(e.fallback)
			}
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode setting %s: %w", e.Name, err)
	}
	fresh := reflect.New(e.Type) // a list that is shared is not written into
	if err := json.Unmarshal(text, fresh.Interface()); err != nil {
		return errs.Plain(e.Name + " is invalid")
	}
	e.in(in).Set(fresh.Elem())
	return nil
}

func wrong(name, message string) error {
	return &errs.Error{Kind: errs.Invalid, Fields: errs.Fields{{Name: name, Messages: []string{message}}}}
}

// normalize returns what the setting holds for a value that a request sends.
func (e *Entry) normalize(value any) any {
	switch v := value.(type) {
	case string:
		switch {
		case v == "" && e.nullable && e.Type.Kind() == reflect.Pointer:
			return nil
		case e.Name == "enabled_git_access_protocol" && v == "all":
			return ""
		}
	case int64:
		if e.megabytes {
			return min(v, *e.max>>20+1) << 20 // what is too large stays so
		}
	case []string:
		switch {
		case e.nullable && len(v) == 0:
			return nil
		case e.split:
			return strings.FieldsFunc(strings.Join(v, ","), func(r rune) bool { return strings.ContainsRune(" \t\r\n,;", r) })
		}
	}
	return value
}

// blank reports whether the setting has no value.
func (e *Entry) blank(s *Settings) bool {
	v := e.in(s)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return strings.TrimSpace(v.String()) == ""
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return false
}

// Parse reads a value from a command line: a text as it is, a list with commas or as JSON, and
// everything else as JSON; null is null.
func (e *Entry) Parse(text string) (any, error) {
	kind := e.Type
	if kind.Kind() == reflect.Pointer {
		if text == "null" {
			return nil, nil
		}
		kind = kind.Elem()
	}
	if kind.Kind() == reflect.String {
		return text, nil
	}
	if kind == reflect.TypeFor[[]string]() && !strings.HasPrefix(text, "[") && text != "null" {
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' }), nil
	}
	value := reflect.New(kind)
	switch {
	case text == "null":
		return nil, nil
	case json.Unmarshal([]byte(text), value.Interface()) != nil:
		return nil, errs.Plain(e.Name + " is invalid")
	}
	if n := value.Elem(); n.CanInt() {
		return n.Int(), nil
	}
	return value.Elem().Interface(), nil
}

// Shown returns the value of the setting as events have it: a secret only says whether it is set.
func (e *Entry) Shown(s *Settings) any {
	if e.Secret && !e.in(s).IsNil() {
		masked := "[MASKED]"
		return &masked
	}
	return e.Value(s)
}

// differences lists the settings whose values in next are others, in the order of the table.
func (s *Settings) differences(next *Settings) []*Entry {
	var all []*Entry
	for _, e := range Table() {
		if !reflect.DeepEqual(e.Value(s), e.Value(next)) {
			all = append(all, e)
		}
	}
	return all
}

// Unheeded lists the switches that were turned on and are not in force, in the order of the table.
func (s *Settings) Unheeded() []string {
	var out []string
	fresh := Defaults()
	for _, e := range Table() {
		if e.Effect == "" && e.Type.Kind() == reflect.Bool && e.in(s).Bool() && !e.in(&fresh).Bool() {
			out = append(out, e.Name)
		}
	}
	return out
}
