package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// Schema is the types of an interface and what answers their fields.
type Schema struct {
	types    *ast.Schema
	objects  map[string]*object
	names    map[reflect.Type]string // the object type of a Go type, where a field has an interface or a union
	scalars  map[string]Scalar
	problems []string
	rules    ruleSet
}

// object is what answers the fields of one object type.
type object struct {
	def    *ast.Definition
	goType reflect.Type // of its parents; nil as long as nothing is bound
	under  *under       // of a type that extends another one
	fields map[string]*binding
}

// binding answers one field.
type binding struct {
	name  string       // Type.field
	args  reflect.Type // the struct of its arguments; nil for none
	gives reflect.Type
	cost  costClass
	value func(parent any) any                                              // from the parent alone
	batch func(ctx context.Context, q *query, parents []any) ([]any, error) // for all parents
	open  func(ctx context.Context, q *query) (any, error)                  // of a subscription
}

// Scalar says how the values of a scalar type are read and written; a nil function leaves them as
// they are. Read gets what JSON can hold; the text of its error explains what is wrong.
type Scalar struct {
	Read  func(v any) (any, error)
	Write func(v any) any
}

// New reads types from sources, each with its name.
func New(sources ...*ast.Source) (*Schema, error) {
	types, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	// The parser knows more directives than are obeyed here.
	for name := range types.Directives {
		if !slices.Contains([]string{"include", "skip", "deprecated", "specifiedBy"}, name) {
			delete(types.Directives, name)
		}
	}
	addPlaces(types)
	s := &Schema{types: types, objects: map[string]*object{}, names: map[reflect.Type]string{}, scalars: map[string]Scalar{}}
	for name, def := range types.Types {
		if def.Kind == ast.Object {
			s.objects[name] = &object{def: def, fields: map[string]*binding{}}
		}
	}
	s.rules = newRules()
	s.introspection()
	return s, nil
}

// Types returns the types as they were read.
func (s *Schema) Types() *ast.Schema { return s.types }

// Scalar says how a scalar type is read and written.
func (s *Schema) Scalar(name string, how Scalar) {
	if def := s.types.Types[name]; def == nil || def.Kind != ast.Scalar {
		s.problem("%s is no scalar", name)
	}
	s.scalars[name] = how
}

func (s *Schema) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// of returns the object types that a name stands for: one, or all that implement an interface.
func (s *Schema) of(name string) []*object {
	if o := s.objects[name]; o != nil {
		return []*object{o}
	}
	var out []*object
	if def := s.types.Types[name]; def != nil && def.IsAbstractType() {
		for _, t := range s.types.GetPossibleTypes(def) {
			out = append(out, s.objects[t.Name])
		}
	}
	return out
}

// bind adds what answers a field, "Type.field". A field of an interface is that of every type
// that implements it and has none of its own.
func (s *Schema) bind(field string, parent reflect.Type, b binding) {
	typ, name, _ := strings.Cut(field, ".")
	objects := s.of(typ)
	if len(objects) == 0 {
		s.problem("%s: there is no such type", field)
		return
	}
	abstract := s.objects[typ] == nil
	for _, o := range objects {
		def := o.def.Fields.ForName(name)
		switch {
		case def == nil:
			s.problem("%s.%s: there is no such field", o.def.Name, name)
			continue
		case o.fields[name] != nil && abstract:
			continue
		case o.fields[name] != nil && o.fields[name].name == o.def.Name+"."+name && !abstract:
			s.problem("%s is bound twice", field)
			continue
		}
		through := o.under.from(parent)
		if through == nil && !s.adopt(o, parent) {
			s.problem("%s takes %s, other fields of the type take %s", field, parent, o.goType)
			continue
		}
		own := b.through(through)
		own.name = o.def.Name + "." + name
		if abstract {
			own.name = field
		}
		if own.cost == plain && strings.HasSuffix(def.Type.Name(), "Connection") {
			own.cost = resolved
		}
		s.check(o, def, &own)
		o.fields[name] = &own
	}
}

// adopt makes the Go type of an object type known.
func (s *Schema) adopt(o *object, t reflect.Type) bool {
	if o.goType == nil {
		o.goType = t
		if _, taken := s.names[t]; taken {
			s.names[t] = "" // several types: a value has to say which one it is, with As
		} else {
			s.names[t] = o.def.Name
		}
	}
	return o.goType == t
}

// fits looks that no bare number is given for a text, as which it would not be written.
func (s *Schema) fits(o *object, def *ast.FieldDefinition, b *binding) {
	t := b.gives
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	if name := def.Type.Name(); name != "String" && name != "ID" || t == nil {
		return
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		if t.PkgPath() == "" {
			s.problem("%s.%s is a text, and is given %s", o.def.Name, def.Name, b.gives)
		}
	}
}

// check looks whether arguments and values of a field fit the types.
func (s *Schema) check(o *object, def *ast.FieldDefinition, b *binding) {
	s.fits(o, def, b)
	if b.args == nil {
		for _, a := range def.Arguments {
			s.problem("%s.%s: nothing reads the argument %s", o.def.Name, def.Name, a.Name)
		}
		return
	}
	names := takes(b.args)
	for _, a := range def.Arguments {
		if _, ok := names[strings.ToLower(a.Name)]; !ok {
			s.problem("%s.%s: nothing reads the argument %s", o.def.Name, def.Name, a.Name)
		}
		delete(names, strings.ToLower(a.Name))
	}
	maps.DeleteFunc(names, func(_ string, needed bool) bool { return !needed })
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s.problem("%s.%s has no argument %s", o.def.Name, def.Name, name)
	}
}

// Problems says which fields nothing answers, and what else does not fit together.
func (s *Schema) Problems() error {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		o := s.objects[name]
		for _, f := range o.def.Fields {
			if o.fields[f.Name] == nil && !strings.HasPrefix(f.Name, "__") {
				out = append(out, name+"."+f.Name+": nothing answers it")
			}
		}
	}
	return joined(out, s.Wrong())
}

// Wrong says what does not fit together among the fields that are answered.
func (s *Schema) Wrong() error {
	out := slices.Clone(s.problems)
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		o := s.objects[name]
		for _, f := range slices.Sorted(maps.Keys(o.fields)) {
			if def := o.def.Fields.ForName(f); def != nil { // it may have been taken out
				out = append(out, s.misfit(def.Type, o.fields[f])...)
			}
		}
	}
	return joined(out, nil)
}

func joined(problems []string, also error) error {
	if also != nil {
		problems = append(problems, also.Error())
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "\n"))
}

// misfit compares the Go type that a field gives with that of its object type.
func (s *Schema) misfit(t *ast.Type, b *binding) []string {
	to := s.objects[t.Name()]
	if to == nil || b.gives == nil || to.goType == nil {
		return nil
	}
	gives := b.gives
	for t := t; t.Elem != nil; t = t.Elem {
		if gives.Kind() == reflect.Pointer {
			gives = gives.Elem()
		}
		if gives.Kind() == reflect.Slice {
			gives = gives.Elem()
		}
	}
	if gives != to.goType && gives.Kind() != reflect.Interface {
		return []string{fmt.Sprintf("%s gives %s, and %s is %s", b.name, gives, to.def.Name, to.goType)}
	}
	return nil
}
