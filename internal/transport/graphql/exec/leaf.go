package exec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
)

// leaf gives a scalar or an enum value the form in which it is written: a string, a boolean, a
// number, or what JSON makes of the value.
func (r *run) leaf(n *node, def *ast.Definition, v any, at place) any {
	if null(v) {
		return nil
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer {
		v = rv.Elem().Interface()
	}
	if how := r.schema.scalars[def.Name]; how.Write != nil {
		if v = how.Write(v); v == nil {
			return nil
		}
	}
	if def.Kind == ast.Enum {
		name := fmt.Sprint(v)
		for _, name := range []string{name, strings.ToUpper(name)} {
			if def.EnumValues.ForName(name) != nil {
				return name
			}
		}
		if name != "" {
			r.failAt(n, at, fmt.Errorf("%q is no value of %s", name, def.Name))
		}
		return nil
	}
	switch v := v.(type) {
	case string, bool, int, int64, float64, json.RawMessage:
		return v
	case interface{ UTC() time.Time }: // a time, or a struct around one
		return v.UTC().Format(time.RFC3339)
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.String:
		return rv.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if def.Name == "String" || def.Name == "ID" {
			return fmt.Sprint(rv.Int())
		}
		return rv.Int()
	case reflect.Bool:
		return rv.Bool()
	}
	raw, err := json.Marshal(v)
	if err != nil {
		r.failAt(n, at, fmt.Errorf("write %T as %s: %w", v, def.Name, err))
		return nil
	}
	return json.RawMessage(raw)
}
