package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// maxProblems is how many wrong variables are reported.
const maxProblems = 5

const tooManyProblems = "Too many errors processing variables, max validation error limit reached. Execution aborted"

// problem is what is wrong with a value, and where in it.
type problem struct {
	Path        []any  `json:"path"`
	Explanation string `json:"explanation"`
}

// variables reads the variables of an operation.
func (s *Schema) variables(op *ast.OperationDefinition, given map[string]any) (map[string]any, []Error) {
	out := map[string]any{}
	var errs []Error
	for _, def := range op.VariableDefinitions {
		v, ok := given[def.Variable]
		switch {
		case !ok && def.DefaultValue != nil:
			v, _ = def.DefaultValue.Value(nil)
		case !ok && !def.Type.NonNull:
			continue
		}
		read, problems := s.coerce(def.Type, v, nil)
		if len(problems) == 0 {
			out[def.Variable] = read
			continue
		}
		if len(errs) == maxProblems {
			return nil, append(errs, Error{Message: tooManyProblems})
		}
		errs = append(errs, wrongVariable(def, v, problems))
	}
	return out, errs
}

func wrongVariable(def *ast.VariableDefinition, v any, problems []problem) Error {
	message := fmt.Sprintf("Variable $%s of type %s was provided invalid value", def.Variable, def.Type)
	var whys []string
	for _, p := range problems {
		if len(p.Path) > 0 {
			names := make([]string, len(p.Path))
			for i, e := range p.Path {
				names[i] = fmt.Sprint(e)
			}
			whys = append(whys, strings.Join(names, ".")+" ("+p.Explanation+")")
		}
	}
	if len(whys) > 0 {
		message += " for " + strings.Join(whys, ", ")
	}
	return Error{Message: message, Locations: locations(def.Position), Extensions: map[string]any{"value": v, "problems": problems}}
}

// coerce reads a value as JSON has it for a type.
func (s *Schema) coerce(t *ast.Type, v any, path []any) (any, []problem) {
	bad := func(format string, args ...any) (any, []problem) {
		return nil, []problem{{Path: append([]any{}, path...), Explanation: fmt.Sprintf(format, args...)}}
	}
	if v == nil {
		if t.NonNull {
			return bad("Expected value to not be null")
		}
		return nil, nil
	}
	if t.Elem != nil {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		out := make([]any, len(list))
		var problems []problem
		for i, e := range list {
			read, wrong := s.coerce(t.Elem, e, append(slices.Clip(path), i))
			out[i], problems = read, append(problems, wrong...)
		}
		return out, problems
	}
	def := s.types.Types[t.NamedType]
	switch def.Kind {
	case ast.Enum:
		name, ok := v.(string)
		if !ok || def.EnumValues.ForName(name) == nil {
			names := make([]string, len(def.EnumValues))
			for i, e := range def.EnumValues {
				names[i] = e.Name
			}
			return bad("Expected %s to be one of: %s", quoted(v), strings.Join(names, ", "))
		}
		return name, nil
	case ast.InputObject:
		return s.coerceObject(def, v, path)
	}
	read, err := s.scalar(def.Name, v)
	if err != nil {
		return bad("%s", err)
	}
	return read, nil
}

func (s *Schema) coerceObject(def *ast.Definition, v any, path []any) (any, []problem) {
	in, ok := v.(map[string]any)
	if !ok {
		return nil, []problem{{Path: append([]any{}, path...), Explanation: fmt.Sprintf("Expected %s to be a key-value object responding to `to_h` or `to_unsafe_h`.", quoted(v))}}
	}
	var problems []problem
	for name := range in {
		if def.Fields.ForName(name) == nil {
			problems = append(problems, problem{Path: append(append([]any{}, path...), name), Explanation: "Field is not defined on " + def.Name})
		}
	}
	slices.SortFunc(problems, func(a, b problem) int { return strings.Compare(fmt.Sprint(a.Path...), fmt.Sprint(b.Path...)) })
	out := map[string]any{}
	for _, f := range def.Fields {
		e, given := in[f.Name]
		if !given {
			if f.DefaultValue != nil {
				out[f.Name], _ = f.DefaultValue.Value(nil)
				continue
			}
			if !f.Type.NonNull {
				continue
			}
		}
		read, wrong := s.coerce(f.Type, e, append(slices.Clip(path), f.Name))
		out[f.Name], problems = read, append(problems, wrong...)
	}
	return out, problems
}

// scalar reads a value of a scalar type.
func (s *Schema) scalar(name string, v any) (any, error) {
	if how := s.scalars[name]; how.Read != nil {
		return how.Read(v)
	}
	wrong := fmt.Errorf("Could not coerce value %s to %s", quoted(v), name) //nolint:staticcheck // the words of the interface
	switch name {
	case "Int":
		if n, ok := integer(v); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
			return n, nil
		}
		return nil, wrong
	case "Float":
		switch v := v.(type) {
		case float64:
			return v, nil
		case int64:
			return float64(v), nil
		case json.Number:
			return v.Float64()
		}
		return nil, wrong
	case "Boolean":
		if b, ok := v.(bool); ok {
			return b, nil
		}
		return nil, wrong
	case "String":
		if text, ok := v.(string); ok {
			return text, nil
		}
		return nil, wrong
	case "ID":
		if text, ok := v.(string); ok {
			return text, nil
		}
		if n, ok := integer(v); ok {
			return strconv.FormatInt(n, 10), nil
		}
		return nil, wrong
	}
	return v, nil
}

// integer returns a whole number as JSON and documents have it.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	return 0, false
}

func quoted(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(raw)
}

// literal reads a value of a document for a type. Variables in it have been read before.
func (s *Schema) literal(t *ast.Type, v *ast.Value, variables map[string]any) (value any, ok bool, err error) {
	switch {
	case v.Kind == ast.Variable:
		value, ok = variables[v.Raw]
		if value, isList := value, t.Elem != nil; isList && ok && value != nil {
			if _, already := value.([]any); !already {
				return []any{value}, true, nil
			}
		}
		return value, ok, nil
	case v.Kind == ast.NullValue:
		if t.NonNull {
			return nil, false, errors.New("null")
		}
		return nil, true, nil
	case t.Elem != nil:
		if v.Kind != ast.ListValue {
			one, ok, err := s.literal(t.Elem, v, variables)
			return []any{one}, ok, err
		}
		out := make([]any, 0, len(v.Children))
		for _, c := range v.Children {
			e, _, err := s.literal(t.Elem, c.Value, variables)
			if err != nil {
				return nil, false, err
			}
			out = append(out, e)
		}
		return out, true, nil
	}
	def := s.types.Types[t.NamedType]
	if def.Kind == ast.InputObject {
		value, err = s.literalObject(def, v, variables)
		return value, err == nil, err
	}
	value, err = s.literalLeaf(def, v)
	return value, err == nil, err
}

func (s *Schema) literalObject(def *ast.Definition, v *ast.Value, variables map[string]any) (any, error) {
	if v.Kind != ast.ObjectValue {
		return nil, errors.New("no object")
	}
	out := map[string]any{}
	for _, f := range def.Fields {
		if c := v.Children.ForName(f.Name); c != nil {
			e, ok, err := s.literal(f.Type, c, variables)
			if err != nil {
				return nil, err
			}
			if ok {
				out[f.Name] = e
			}
		} else if f.DefaultValue != nil {
			out[f.Name], _ = f.DefaultValue.Value(nil)
		}
	}
	return out, nil
}

func (s *Schema) literalLeaf(def *ast.Definition, v *ast.Value) (any, error) {
	if def.Kind == ast.Enum {
		if v.Kind != ast.EnumValue || def.EnumValues.ForName(v.Raw) == nil {
			return nil, errors.New("no value of the enum")
		}
		return v.Raw, nil
	}
	if v.Kind == ast.EnumValue {
		return nil, errors.New("no scalar")
	}
	raw, err := v.Value(nil)
	if err != nil {
		return nil, err
	}
	return s.scalar(def.Name, raw)
}

// arguments returns the arguments of a field with their defaults. They have been validated.
func (s *Schema) arguments(f *ast.Field, variables map[string]any) map[string]any {
	if f.Definition == nil || len(f.Definition.Arguments) == 0 {
		return nil
	}
	out := map[string]any{}
	for _, def := range f.Definition.Arguments {
		if v, ok := s.given(f, def, variables); ok {
			out[def.Name] = v
		}
	}
	return out
}

// argument reads one argument of a field, nil for none.
func (s *Schema) argument(f *ast.Field, name string, variables map[string]any) any {
	def := f.Definition.Arguments.ForName(name)
	if def == nil {
		return nil
	}
	v, _ := s.given(f, def, variables)
	return v
}

// given reads the value that a field has for an argument, its default otherwise.
func (s *Schema) given(f *ast.Field, def *ast.ArgumentDefinition, variables map[string]any) (any, bool) {
	if arg := f.Arguments.ForName(def.Name); arg != nil {
		if v, ok, err := s.literal(def.Type, arg.Value, variables); ok && err == nil {
			return v, true
		}
	}
	if def.DefaultValue == nil {
		return nil, false
	}
	v, _ := def.DefaultValue.Value(nil)
	return v, true
}
