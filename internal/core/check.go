package core

import (
	"errors"
	"fmt"
	"reflect"
)

// check collects the dependencies that are missing.
type check struct {
	missing []error
	above   map[any]bool // services whose Connect was called
}

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
		case reflect.Pointer, reflect.Interface, reflect.Func, reflect.Map, reflect.Slice:
			if v.Field(i).IsNil() {
				c.missing = append(c.missing, fmt.Errorf("%T: %s is missing", deps, field.Name))
			}
		}
	}
	return deps
}

// connect passes a service its dependencies of higher packages, all of them required.
func connect[A any](c *check, service interface{ Connect(above A) }, above A) {
	if c.above == nil {
		c.above = map[any]bool{}
	}
	c.above[service] = true
	service.Connect(need(c, above))
}

// connected records each service whose Connect was not called.
func (c *check) connected(s *Services) {
	for _, p := range parts[any](s) {
		if _, takes := reflect.TypeOf(p).MethodByName("Connect"); takes && !c.above[p] {
			c.missing = append(c.missing, fmt.Errorf("%T was not given what stands above it", p))
		}
	}
}
