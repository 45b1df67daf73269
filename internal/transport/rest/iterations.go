package rest

import (
	"context"
	"time"

	"tenon/internal/core/authz"
	"tenon/internal/core/iteration"
	"tenon/internal/transport/rest/api"
)

// iterationEntity is an iteration of a group.
type iterationEntity struct {
	ID          iteration.ID      `json:"id"`
	IID         iteration.IID     `json:"iid"`
	Sequence    int64             `json:"sequence"`
	GroupID     authz.NamespaceID `json:"group_id"`
	Title       *string           `json:"title"`
	Description *string           `json:"description"`
	State       int               `json:"state"` // 1 upcoming, 2 current, 3 closed
	CreatedAt   api.Time          `json:"created_at"`
	UpdatedAt   api.Time          `json:"updated_at"`
	StartDate   string            `json:"start_date"`
	DueDate     string            `json:"due_date"`
	WebURL      string            `json:"web_url"`
}

// iterationStates are the numbers of the states.
var iterationStates = map[iteration.State]int{iteration.Upcoming: 1, iteration.Current: 2, iteration.Closed: 3}

// iterationOf renders an iteration, nil for nil.
func (s *Server) iterationOf(i *iteration.Iteration) *iterationEntity {
	if i == nil {
		return nil
	}
	return &iterationEntity{
		ID: i.ID, IID: i.IID, Sequence: i.Sequence, GroupID: i.NamespaceID, Title: i.Title, Description: i.Description,
		State: iterationStates[i.StateAt(s.Now())], CreatedAt: api.Time(i.CreatedAt.Time), UpdatedAt: api.Time(i.UpdatedAt.Time),
		StartDate: i.StartDate, DueDate: i.DueDate, WebURL: s.URLs.Iteration(i.Path, int64(i.IID)),
	}
}

// iterationsOf renders the iterations with these ids, nil ones left out, in one look.
func (s *Server) iterationsOf(ctx context.Context, as authz.Actor, ids ...*iteration.ID) (map[iteration.ID]*iterationEntity, error) {
	var wanted []iteration.ID
	for _, id := range ids {
		if id != nil {
			wanted = append(wanted, *id)
		}
	}
	found, err := s.Iterations.ByIDs(ctx, as, wanted)
	if err != nil {
		return nil, err
	}
	out := make(map[iteration.ID]*iterationEntity, len(found))
	for id, i := range found {
		out[id] = s.iterationOf(i)
	}
	return out, nil
}

var _ = Resource("iterations", (*Server).iterationRoutes)

func (s *Server) iterationRoutes() []*api.Route {
	return api.Scoped(nil, s.onPlanningPlaces("iterations", func(m mount) []*api.Route {
		return []*api.Route{api.Get(m.path, m.iterations).Doc("List the iterations of a " + m.noun).Public().Needs(authz.ReadIteration)}
	})...)
}

type listIterationsParams struct {
	planOwner
	State         string      `param:"state" values:"opened,upcoming,started,current,closed,all" default:"all" doc:"State; started is deprecated for current"`
	Search        string      `param:"search" doc:"Search in the fields of in"`
	In            api.Strings `param:"in" doc:"Search scope: title, cadence_title, or both; defaults to title"`
	Ancestors     bool        `param:"include_ancestors" default:"true" doc:"Include iterations of ancestor groups"`
	UpdatedBefore *time.Time  `param:"updated_before" doc:"Return iterations updated on or before this time"`
	UpdatedAfter  *time.Time  `param:"updated_after" doc:"Return iterations updated on or after this time"`
	api.Page
}

func (m mount) iterations(ctx context.Context, as authz.Actor, in listIterationsParams) (api.List[iterationEntity], error) {
	at, err := m.place(ctx, as, in.ID)
	if err != nil {
		return api.List[iterationEntity]{}, err
	}
	f := iteration.Filter{
		Search: in.Search, In: in.In, Ancestors: in.Ancestors, UpdatedAfter: in.UpdatedAfter, UpdatedBefore: in.UpdatedBefore, Range: in.Range(),
	}
	switch in.State {
	case "all":
	case "started":
		f.State = iteration.Current
	default:
		f.State = iteration.State(in.State)
	}
	list, err := m.s.Iterations.List(ctx, as, at, f)
	if err != nil {
		return api.List[iterationEntity]{}, err
	}
	return api.ListOf(list, func(i *iteration.Iteration) iterationEntity { return *m.s.iterationOf(i) }), nil
}
