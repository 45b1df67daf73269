package rest

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"tenon/internal/core/authz"
	"tenon/internal/core/planlimit"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("plan_limits", (*Server).planLimitRoutes)

func (s *Server) planLimitRoutes() []*api.Route {
	const path = "/application/plan_limits"
	return api.Scoped(nil,
		api.Get(path, s.planLimits).Doc("Get the limits of a plan").Needs(authz.ReadPlanLimits),
		api.Put(path, s.updatePlanLimits).Timed().Doc("Update the limits of a plan").Needs(authz.AdminPlanLimits),
	)
}

// planLimitsEntity are the limits of a plan. Its fields are the table of core.
type planLimitsEntity struct{ planlimit.Limits }

// MarshalJSON writes the limits in the order of their table.
func (e planLimitsEntity) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	next := byte('{')
	for _, entry := range planlimit.Table() {
		b.WriteByte(next)
		next = ','
		fmt.Fprintf(&b, "%q:%d", entry.Name, entry.Value(&e.Limits))
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// Shape is for the documentation.
func (planLimitsEntity) Shape() reflect.Type { return reflect.TypeFor[planlimit.Limits]() }

type planLimitsParams struct {
	Plan string `param:"plan_name" default:"default" values:"default,free,bronze,silver,premium,gold,ultimate,ultimate_trial,premium_trial,opensource" doc:"Name of the plan"`
}

func (s *Server) planLimits(ctx context.Context, as authz.Actor, in planLimitsParams) (planLimitsEntity, error) {
	p, err := s.Plans.Find(ctx, as, in.Plan)
	if err != nil {
		return planLimitsEntity{}, err
	}
	return planLimitsEntity{p.Limits}, nil
}

// updatePlanLimitsParams are the limits that a request sends.
type updatePlanLimitsParams struct {
	plan   string
	values map[string]int64 // by name
}

// planLimitsShape declares a parameter for each limit.
var planLimitsShape = sync.OnceValue(func() reflect.Type {
	add := func(typ reflect.Type, tag string) reflect.StructField {
		return reflect.StructField{Name: "F", Type: typ, Tag: reflect.StructTag(tag)}
	}
	fields := []reflect.StructField{add(reflect.TypeFor[string](), fmt.Sprintf(`param:"plan_name,required" values:%q doc:"Name of the plan"`, strings.Join(planlimit.Names, ",")))}
	for _, entry := range planlimit.Table() {
		fields = append(fields, add(reflect.TypeFor[*int64](), fmt.Sprintf("param:%q doc:%q", entry.Name, entry.Doc+"; 0 is no limit")))
	}
	for i := range fields {
		fields[i].Name = fmt.Sprint("F", i)
	}
	return reflect.StructOf(fields)
})

// Declare returns the type that declares the parameters.
func (*updatePlanLimitsParams) Declare() reflect.Type { return planLimitsShape() }

// Take keeps what was sent.
func (p *updatePlanLimitsParams) Take(v reflect.Value) {
	p.plan, p.values = v.Field(0).String(), map[string]int64{}
	for i, entry := range planlimit.Table() {
		if sent := v.Field(i + 1).Interface().(*int64); sent != nil {
			p.values[entry.Name] = *sent
		}
	}
}

func (s *Server) updatePlanLimits(ctx context.Context, as authz.Actor, p updatePlanLimitsParams) (planLimitsEntity, error) {
	updated, err := s.Plans.Update(ctx, as, p.plan, p.values)
	if err != nil {
		return planLimitsEntity{}, err
	}
	return planLimitsEntity{updated.Limits}, nil
}
