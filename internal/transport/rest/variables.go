package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/variable"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("variables", (*Server).variableRoutes)

func (s *Server) variableRoutes() []*api.Route {
	out := s.onPlaces("variables", func(m mount) []*api.Route {
		read, admin := m.ability(authz.ReadProjectVariables, authz.ReadGroupVariables), m.ability(authz.AdminProjectVariables, authz.AdminGroupVariables)
		return []*api.Route{
			api.Get(m.path, m.listVariables).Doc("List the CI/CD variables of a " + m.noun).Needs(read),
			api.Post(m.path, m.createVariable).Doc("Create a CI/CD variable of a " + m.noun).Needs(admin),
			api.Get(m.path+"/:key", m.getVariable).Doc("Get a CI/CD variable of a " + m.noun).Needs(read),
			api.Put(m.path+"/:key", m.updateVariable).Timed().Doc("Update a CI/CD variable of a " + m.noun).Needs(admin),
			api.Delete(m.path+"/:key", m.deleteVariable).Timed().Doc("Delete a CI/CD variable of a " + m.noun).Needs(admin),
		}
	})
	const instance = "/admin/ci/variables"
	out = append(out,
		api.Get(instance, s.listInstanceVariables).Doc("List the CI/CD variables of the instance").Needs(authz.ReadInstanceVariables),
		api.Post(instance, s.createInstanceVariable).Doc("Create a CI/CD variable of the instance").Needs(authz.AdminInstanceVariables),
		api.Get(instance+"/:key", s.getInstanceVariable).Doc("Get a CI/CD variable of the instance").Needs(authz.ReadInstanceVariables),
		api.Put(instance+"/:key", s.updateInstanceVariable).Timed().Doc("Update a CI/CD variable of the instance").Needs(authz.AdminInstanceVariables),
		api.Delete(instance+"/:key", s.deleteInstanceVariable).Timed().Doc("Delete a CI/CD variable of the instance").Needs(authz.AdminInstanceVariables),
	)
	return api.Scoped(nil, out...)
}

// instanceVariable is a variable of the instance.
type instanceVariable struct {
	Type        variable.Type `json:"variable_type"`
	Key         string        `json:"key"`
	Value       *string       `json:"value"` // null where it is hidden
	Protected   bool          `json:"protected"`
	Masked      bool          `json:"masked"`
	Raw         bool          `json:"raw"`
	Description *string       `json:"description"`
}

// placeVariable is a variable of a project or group.
type placeVariable struct {
	instanceVariable
	Hidden bool   `json:"hidden"`
	Scope  string `json:"environment_scope"`
}

func instanceVariableOf(v *variable.Variable) instanceVariable {
	return instanceVariable{v.Type, v.Key, v.Value, v.Protected, v.Masked, v.Raw, v.Description}
}

func placeVariableOf(v *variable.Variable) placeVariable {
	return placeVariable{instanceVariableOf(v), v.Hidden, v.Scope}
}

type listVariablesParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	api.Page
}

func (m mount) listVariables(ctx context.Context, as authz.Actor, p listVariablesParams) (api.List[placeVariable], error) {
	none := api.List[placeVariable]{}
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return none, err
	}
	list, err := m.s.Variables.List(ctx, as, at, variable.ListFilter{Range: p.Range()})
	if err != nil {
		return none, err
	}
	return api.ListOf(list, placeVariableOf), nil
}

// variableAttributes are what is set of every variable.
type variableAttributes struct {
	Type        *string `param:"variable_type" values:"env_var,file" doc:"Type of the variable"`
	Protected   *bool   `param:"protected" doc:"Whether the variable is for protected refs only"`
	Masked      *bool   `param:"masked" doc:"Whether the value is masked in job logs"`
	Raw         *bool   `param:"raw" doc:"Whether the value names no other variables"`
	Description *string `param:"description" doc:"Description, at most 255 characters"`
}

func (p variableAttributes) input(key, value string) variable.Input {
	in := variable.Input{Key: key, Value: value, Description: p.Description}
	if p.Type != nil {
		in.Type = variable.Type(*p.Type)
	}
	in.Protected, in.Masked, in.Raw = yes(p.Protected), yes(p.Masked), yes(p.Raw)
	return in
}

func yes(b *bool) bool { return b != nil && *b }

func (p variableAttributes) changes(value *string) variable.Changes {
	c := variable.Changes{Value: value, Description: p.Description, Protected: p.Protected, Masked: p.Masked, Raw: p.Raw}
	if p.Type != nil {
		kind := variable.Type(*p.Type)
		c.Type = &kind
	}
	return c
}

type createInstanceVariableParams struct {
	Key   string `param:"key,required" doc:"Key of the variable"`
	Value string `param:"value,required" doc:"Value of the variable"`
	variableAttributes
}

type createVariableParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	createInstanceVariableParams
	Hidden bool   `param:"masked_and_hidden" doc:"Whether the value is masked and shown no more"`
	Scope  string `param:"environment_scope" doc:"Environment scope of the variable; * by default"`
}

func (m mount) createVariable(ctx context.Context, as authz.Actor, p createVariableParams) (placeVariable, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return placeVariable{}, err
	}
	in := p.input(p.Key, p.Value)
	in.Hidden, in.Scope = p.Hidden, p.Scope
	v, err := m.s.Variables.Create(ctx, as, at, in)
	if err != nil {
		return placeVariable{}, err
	}
	return placeVariableOf(v), nil
}

// variableFilter tells variables with one key apart.
type variableFilter struct {
	Scope *string `param:"environment_scope" doc:"Environment scope of the variable"`
}

type variablePath struct {
	ID     string          `param:"id" doc:"ID or URL-encoded path"`
	Key    string          `param:"key" doc:"Key of the variable"`
	Filter *variableFilter `param:"filter" doc:"Selects one of the variables with the key"`
}

func (p variablePath) filter() variable.Filter {
	if p.Filter == nil {
		return variable.Filter{}
	}
	return variable.Filter{Scope: p.Filter.Scope}
}

func (m mount) getVariable(ctx context.Context, as authz.Actor, p variablePath) (placeVariable, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return placeVariable{}, err
	}
	v, err := m.s.Variables.Find(ctx, as, at, p.Key, p.filter())
	if err != nil {
		return placeVariable{}, err
	}
	return placeVariableOf(v), nil
}

type updateVariableParams struct {
	variablePath
	Value *string `param:"value" doc:"Value of the variable"`
	variableAttributes
	Scope *string `param:"environment_scope" doc:"Environment scope of the variable"`
}

func (m mount) updateVariable(ctx context.Context, as authz.Actor, p updateVariableParams) (placeVariable, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return placeVariable{}, err
	}
	c := p.changes(p.Value)
	c.Scope = p.Scope
	v, err := m.s.Variables.Update(ctx, as, at, p.Key, p.filter(), c)
	if err != nil {
		return placeVariable{}, err
	}
	return placeVariableOf(v), nil
}

func (m mount) deleteVariable(ctx context.Context, as authz.Actor, p variablePath) (api.None, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, m.s.Variables.Delete(ctx, as, at, p.Key, p.filter())
}

type listInstanceVariablesParams struct{ api.Page }

func (s *Server) listInstanceVariables(ctx context.Context, as authz.Actor, p listInstanceVariablesParams) (api.List[instanceVariable], error) {
	list, err := s.Variables.List(ctx, as, authz.Place{}, variable.ListFilter{Range: p.Range()})
	if err != nil {
		return api.List[instanceVariable]{}, err
	}
	return api.ListOf(list, instanceVariableOf), nil
}

func (s *Server) createInstanceVariable(ctx context.Context, as authz.Actor, p createInstanceVariableParams) (instanceVariable, error) {
	v, err := s.Variables.Create(ctx, as, authz.Place{}, p.input(p.Key, p.Value))
	if err != nil {
		return instanceVariable{}, err
	}
	return instanceVariableOf(v), nil
}

type instanceVariablePath struct {
	Key string `param:"key" doc:"Key of the variable"`
}

func (s *Server) getInstanceVariable(ctx context.Context, as authz.Actor, p instanceVariablePath) (instanceVariable, error) {
	v, err := s.Variables.Find(ctx, as, authz.Place{}, p.Key, variable.Filter{})
	if err != nil {
		return instanceVariable{}, err
	}
	return instanceVariableOf(v), nil
}

type updateInstanceVariableParams struct {
	instanceVariablePath
	Value *string `param:"value" doc:"Value of the variable"`
	variableAttributes
}

func (s *Server) updateInstanceVariable(ctx context.Context, as authz.Actor, p updateInstanceVariableParams) (instanceVariable, error) {
	v, err := s.Variables.Update(ctx, as, authz.Place{}, p.Key, variable.Filter{}, p.changes(p.Value))
	if err != nil {
		return instanceVariable{}, err
	}
	return instanceVariableOf(v), nil
}

func (s *Server) deleteInstanceVariable(ctx context.Context, as authz.Actor, p instanceVariablePath) (api.None, error) {
	return api.None{}, s.Variables.Delete(ctx, as, authz.Place{}, p.Key, variable.Filter{})
}
