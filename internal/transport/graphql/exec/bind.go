package exec

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"tenon/internal/core/authz"
)

// None is the arguments of a field without any.
type None struct{}

// Call is one field of one request, for all its parents at once.
type Call[A any] struct {
	As   authz.Actor
	Args A

	*query
}

// query is one field of a request on its way.
type query struct {
	run    *run
	node   *node
	places []place // of the parents
	failed []bool
}

// Operation returns the operation that the field is of.
func (q *query) Operation() *Operation { return q.run.op }

// GivenBeside reports whether the request gives another argument than these; null counts as none.
func (q *query) GivenBeside(names ...string) bool {
	for name, v := range q.node.args {
		if v != nil && !slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// Fail makes the field null for one parent, with an error.
func (q *query) Fail(parent int, err error) {
	q.run.fail(q.node, q.places[parent], err)
	q.failed[parent] = true
}

// Wants reports whether the request asks for a field below this one, such as "count" or
// "pageInfo". A path through "nodes" is one through "edges" and "node" too.
func (q *query) Wants(path ...string) bool {
	var sets []ast.SelectionSet
	for _, f := range q.node.fields {
		sets = append(sets, f.SelectionSet)
	}
	return q.run.wants(sets, path)
}

// Option says what else there is to know of a field.
type Option func(*binding)

// Costly makes a field count as one that is looked up: it costs one more than its parts.
func Costly(b *binding) { b.cost = resolved }

// ReadsGit makes a field count as one that reads the repository: it costs one more.
func ReadsGit(b *binding) { b.cost = git }

// Value answers a field from its parent alone.
func Value[P, R any](s *Schema, field string, f func(parent P) R, options ...Option) {
	b := binding{gives: reflect.TypeFor[R](), value: func(parent any) any { return f(parent.(P)) }}
	s.with(field, reflect.TypeFor[P](), b, options)
}

// ValueWith answers a field from its parent and its arguments.
func ValueWith[P, A, R any](s *Schema, field string, f func(parent P, args A) R, options ...Option) {
	Batch(s, field, func(_ context.Context, c *Call[A], parents []P) ([]R, error) {
		out := make([]R, len(parents))
		for i, p := range parents {
			out[i] = f(p, c.Args)
		}
		return out, nil
	}, options...)
}

// Batch answers a field for all parents: f gives as many values as there are parents.
func Batch[P, A, R any](s *Schema, field string, f func(ctx context.Context, c *Call[A], parents []P) ([]R, error), options ...Option) {
	b := binding{gives: reflect.TypeFor[R](), args: argumentsOf[A](), batch: func(ctx context.Context, q *query, parents []any) ([]any, error) {
		c, err := newCall[A](q)
		if err != nil {
			return nil, err
		}
		in := make([]P, len(parents))
		for i, p := range parents {
			in[i] = p.(P)
		}
		values, err := f(ctx, c, in)
		if err != nil {
			return nil, err
		}
		if len(values) != len(in) {
			return nil, fmt.Errorf("%s gave %d values for %d parents", field, len(values), len(in))
		}
		out := make([]any, len(values))
		for i, v := range values {
			out[i] = v
		}
		return out, nil
	}}
	s.with(field, reflect.TypeFor[P](), b, options)
}

// RootValue is the parent of the fields of a root.
type RootValue struct{}

// Root answers a field of the type Query. Such a field counts as looked up.
func Root[A, R any](s *Schema, field string, f func(ctx context.Context, c *Call[A]) (R, error), options ...Option) {
	Batch(s, "Query."+field, func(ctx context.Context, c *Call[A], _ []RootValue) ([]R, error) {
		v, err := f(ctx, c)
		return []R{v}, err
	}, append([]Option{Costly}, options...)...)
}

func (s *Schema) with(field string, parent reflect.Type, b binding, options []Option) {
	for _, o := range options {
		o(&b)
	}
	s.bind(field, parent, b)
}

// Struct takes fields of a type from the exported fields that a Go struct has under the same
// name, those that are bound otherwise apart. P is the struct or a pointer to it.
func Struct[P any](s *Schema, typ string) {
	t := reflect.TypeFor[P]()
	under := t
	if under.Kind() == reflect.Pointer {
		under = under.Elem()
	}
	for _, o := range s.of(typ) {
		through := o.under.from(t)
		if through == nil && !s.adopt(o, t) {
			s.problem("%s is %s, not %s", typ, o.goType, t)
			continue
		}
		for _, def := range o.def.Fields {
			if o.fields[def.Name] != nil || len(def.Arguments) > 0 {
				continue
			}
			f, ok := under.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, def.Name) })
			if !ok || !f.IsExported() {
				continue
			}
			index := f.Index
			own := binding{name: o.def.Name + "." + def.Name, gives: f.Type, value: func(parent any) any {
				v := reflect.Indirect(reflect.ValueOf(parent))
				return v.FieldByIndex(index).Interface()
			}}.through(through)
			s.fits(o, def, &own)
			o.fields[def.Name] = &own
		}
	}
}

// As returns a value for a field with an interface or a union, where its Go type alone does not
// tell its type.
func As(typ string, value any) any { return typed{typ, value} }

type typed struct {
	name  string
	value any
}

// Opt is an argument that may be left out or null; it distinguishes both.
type Opt[T any] struct {
	Set   bool // was given, perhaps as null
	Value *T   // nil where it was null or not given
}

// UnmarshalJSON reads what was given.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	o.Set = true
	return json.Unmarshal(b, &o.Value)
}

func argumentsOf[A any]() reflect.Type {
	t := reflect.TypeFor[A]()
	if t == reflect.TypeFor[None]() {
		return nil
	}
	return t
}

// takes returns the names of the arguments that a struct has fields for, in lower case: case does not matter. Those that a place may
// lack are false: they are in an embedded struct with the tag exec:"some", which serves several places, and stay zero there.
func takes(t reflect.Type) map[string]bool {
	out := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		needed := true
		for depth := 1; depth < len(f.Index); depth++ {
			needed = needed && t.FieldByIndex(f.Index[:depth]).Tag.Get("exec") != "some"
		}
		out[strings.ToLower(cmp.Or(name, f.Name))] = needed
	}
	return out
}

// newCall reads the arguments of a field into their struct.
func newCall[A any](q *query) (*Call[A], error) {
	c := &Call[A]{As: q.run.as, query: q}
	if len(q.node.args) == 0 {
		return c, nil
	}
	return c, fill(q.node.args, &c.Args)
}

// fill puts values that were read from a request into a struct.
func fill(values map[string]any, into any) error {
	raw, err := json.Marshal(values)
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(raw)).Decode(into)
	}
	if err != nil {
		return fmt.Errorf("read arguments: %w", err)
	}
	return nil
}
