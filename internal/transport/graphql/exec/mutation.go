package exec

import (
	"context"
	"reflect"
	"strings"

	"tenon/internal/core/authz"
)

// payload is what every mutation gives, with the fields of its own.
type payload struct {
	clientMutationID *string
	errors           []string
	result           any
}

// Mutation answers a field of the type Mutation, whose one argument is "input": I is the struct
// of the input, R the struct of the payload. What breaks a rule becomes the errors of the
// payload, as [Config.Broken] says; the other errors stand at the top, that of a token whose
// scopes let it only read among them.
func Mutation[I, R any](s *Schema, field string, f func(ctx context.Context, c *Call[I]) (R, error)) {
	type input struct {
		Input I `json:"input"`
	}
	root := s.objects["Mutation"]
	if root == nil || root.def.Fields.ForName(field) == nil {
		s.problem("Mutation.%s: there is no such field", field)
		return
	}
	s.payload(root.def.Fields.ForName(field).Type.Name(), reflect.TypeFor[R]())
	s.input(field, reflect.TypeFor[I]())
	Batch(s, "Mutation."+field, func(ctx context.Context, c *Call[input], _ []RootValue) ([]*payload, error) {
		inner := &Call[I]{As: c.As, Args: c.Args.Input, query: c.query}
		p := &payload{errors: []string{}}
		if in, ok := c.node.args["input"].(map[string]any); ok {
			if id, ok := in["clientMutationId"].(string); ok {
				p.clientMutationID = &id
			}
		}
		if !c.As.Scopes.Permit(nil, false) {
			return nil, &authz.ScopeError{Scopes: authz.Scopes{authz.ScopeAPI}}
		}
		result, err := f(ctx, inner)
		if err != nil {
			broken := c.run.config.Broken(err)
			if broken == nil {
				return nil, err
			}
			p.errors = broken
		}
		p.result = result
		return []*payload{p}, nil
	}, Costly)
}

// payload binds the fields of a payload type to those of a struct.
func (s *Schema) payload(typ string, t reflect.Type) {
	o := s.objects[typ]
	if o == nil {
		s.problem("%s: there is no such type", typ)
		return
	}
	if o.goType != nil {
		return // two mutations may give the same payload
	}
	for _, def := range o.def.Fields {
		var value func(p *payload) any
		gives := reflect.TypeFor[any]()
		switch def.Name {
		case "clientMutationId":
			value = func(p *payload) any { return p.clientMutationID }
		case "errors":
			value = func(p *payload) any { return p.errors }
		default:
			f, ok := t.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, def.Name) })
			if !ok {
				continue
			}
			gives = f.Type
			value = func(p *payload) any { return reflect.ValueOf(p.result).FieldByIndex(f.Index).Interface() }
		}
		s.bind(typ+"."+def.Name, reflect.TypeFor[*payload](), binding{gives: gives, value: func(parent any) any { return value(parent.(*payload)) }})
	}
	delete(s.names, reflect.TypeFor[*payload]())
}

// input looks whether the struct of an input has every field of its type.
func (s *Schema) input(field string, t reflect.Type) {
	args := s.types.Mutation.Fields.ForName(field).Arguments
	if len(args) != 1 || args[0].Name != "input" {
		s.problem("Mutation.%s does not take input", field)
		return
	}
	names := takes(t)
	names["clientmutationid"] = true
	def := s.types.Types[args[0].Type.Name()]
	for _, f := range def.Fields {
		if _, ok := names[strings.ToLower(f.Name)]; !ok {
			s.problem("Mutation.%s: nothing reads %s of its input", field, f.Name)
		}
	}
}
