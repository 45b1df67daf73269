package core

import (
	"errors"
	"fmt"
	"reflect"
)

// check collects the dependencies that are missing.
type check struct{ missing []error }

func (c *check) err() error { return errors.Join(c.missing...) }

// need notes each exported field of deps that can be nil and is, unless its tag says
// wire:"optional", and returns deps as they are.
func need[D any](c *check, deps D) D {
	v := reflect.ValueOf(deps)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() || field.Tag.Get("wire") == "optional" {
			continue
		}
		switch field.Type.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Func, reflect.Map:
			if v.Field(i).IsNil() {
				c.missing = append(c.missing, fmt.Errorf("%T: %s is missing", deps, field.Name))
			}
		}
	}
	return deps
}
