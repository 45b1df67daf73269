package rest

import (
	"context"
	"net/http"
	"reflect"
	"slices"

	"tenon/internal/base/page"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/webhook"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("hooks", (*Server).hookRoutes)

func (s *Server) hookRoutes() []*api.Route {
	hooks := core.Part[*webhook.Service](s.Services)
	places := s.onPlaces("hooks", func(m mount) []*api.Route {
		h := hookHandlers{hooks, m.place}
		read, admin := m.ability(authz.ReadHooks, authz.ReadGroupHooks), m.ability(authz.AdminHooks, authz.AdminGroupHooks)
		test := api.Post(m.path+"/:hook_id/test/:trigger", h.testProjectHook).Doc("Test a hook of a project").Needs(admin, authz.ReadCode)
		if m.group {
			test = api.Post(m.path+"/:hook_id/test/:trigger", h.testGroupHook).Doc("Test a hook of a group").Needs(admin, authz.ReadCode)
		}
		routes := append(hookItemRoutes[hookItemPath, setHookItemParams](h, m.path, "a "+m.noun, admin),
			hookEventRoutes[listHookEventsParams, hookEventPath](h, m.path, "a "+m.noun, read, admin)...)
		routes = append(routes, test)
		if m.group {
			return append(hookCRUD[listHooksParams, hookPath, createGroupHookParams, updateGroupHookParams](h, m.path, "a "+m.noun, read, admin, newGroupHook), routes...)
		}
		return append(hookCRUD[listHooksParams, hookPath, createProjectHookParams, updateProjectHookParams](h, m.path, "a "+m.noun, read, admin, newProjectHook), routes...)
	})
	h := hookHandlers{hooks, func(context.Context, authz.Actor, string) (authz.Place, error) { return authz.Place{}, nil }}
	const path = "/hooks"
	read, admin := authz.ReadSystemHooks, authz.AdminSystemHooks
	instance := slices.Concat(
		hookCRUD[listSystemHooksParams, systemHookPath, createSystemHookParams, updateSystemHookParams](h, path, "the instance", read, admin, newSystemHook),
		hookItemRoutes[systemHookItemPath, setSystemHookItemParams](h, path, "the instance", admin),
		hookEventRoutes[listSystemHookEventsParams, systemHookEventPath](h, path, "the instance", read, admin),
		[]*api.Route{api.Post(path+"/:hook_id", h.testSystemHook).Doc("Test a hook of the instance").Needs(admin)},
	)
	return api.Scoped(nil, slices.Concat(places, instance)...)
}

// hookHandlers answer for the hooks of one sort of places.
type hookHandlers struct {
	hooks *webhook.Service
	at    placeFinder
}

// The parameters of the three sorts of places.
type (
	placeRef interface{ place() string }

	pageRef interface {
		placeRef
		Range() page.Range
	}

	hookRef interface {
		placeRef
		hook() webhook.ID
	}

	createHook interface {
		placeRef
		changes() webhook.Changes
	}

	updateHook interface {
		hookRef
		changes() webhook.Changes
	}
)

// noPlace is the instance.
type noPlace struct{}

func (noPlace) place() string     { return "" }
func (p placePath) place() string { return p.ID }

type hookPath struct {
	placePath
	HookID webhook.ID `param:"hook_id" doc:"ID of the hook"`
}

func (p hookPath) hook() webhook.ID { return p.HookID }

type systemHookPath struct {
	noPlace
	HookID webhook.ID `param:"hook_id" doc:"ID of the hook"`
}

func (p systemHookPath) hook() webhook.ID { return p.HookID }

type (
	listHooksParams struct {
		placePath
		api.Page
	}

	listSystemHooksParams struct {
		noPlace
		api.Page
	}
)

// hookCRUD are the endpoints that list, get, create, update and delete hooks.
func hookCRUD[L pageRef, H hookRef, C createHook, U updateHook, E any](
	h hookHandlers, path, of string, read, admin authz.Ability, entity func(authz.Place, *webhook.Hook) E,
) []*api.Route {
	one := path + "/:hook_id"
	answer := func(at authz.Place, found *webhook.Hook, err error) (E, error) {
		if err != nil {
			var none E
			return none, err
		}
		return entity(at, found), nil
	}
	find := func(ctx context.Context, as authz.Actor, ref placeRef) (authz.Place, error) {
		return h.at(ctx, as, ref.place())
	}
	return []*api.Route{
		api.Get(path, func(ctx context.Context, as authz.Actor, p L) (api.List[E], error) {
			at, err := find(ctx, as, p)
			if err != nil {
				return api.List[E]{}, err
			}
			list, err := h.hooks.List(ctx, as, at, p.Range())
			if err != nil {
				return api.List[E]{}, err
			}
			return api.ListOf(list, func(found *webhook.Hook) E { return entity(at, found) }), nil
		}).Doc("List the hooks of " + of).Needs(read),
		api.Get(one, func(ctx context.Context, as authz.Actor, p H) (E, error) {
			at, err := find(ctx, as, p)
			if err != nil {
				return answer(at, nil, err)
			}
			found, err := h.hooks.Find(ctx, as, at, p.hook())
			return answer(at, found, err)
		}).Doc("Get a hook of " + of).Needs(read),
		api.Post(path, func(ctx context.Context, as authz.Actor, p C) (E, error) {
			at, err := find(ctx, as, p)
			if err != nil {
				return answer(at, nil, err)
			}
			made, err := h.hooks.Create(ctx, as, at, p.changes())
			return answer(at, made, err)
		}).Doc("Create a hook of " + of).Needs(admin),
		api.Put(one, func(ctx context.Context, as authz.Actor, p U) (E, error) {
			at, err := find(ctx, as, p)
			if err != nil {
				return answer(at, nil, err)
			}
			c := p.changes()
			if reflect.ValueOf(c).IsZero() {
				if _, err := h.hooks.Find(ctx, as, at, p.hook()); err != nil {
					return answer(at, nil, err)
				}
				return answer(at, nil, api.BadParam("No parameters provided"))
			}
			changed, err := h.hooks.Update(ctx, as, at, p.hook(), c)
			return answer(at, changed, err)
		}).Timed().Doc("Update a hook of " + of).Needs(admin),
		api.Delete(one, func(ctx context.Context, as authz.Actor, p H) (api.None, error) {
			at, err := find(ctx, as, p)
			if err != nil {
				return api.None{}, err
			}
			return api.None{}, h.hooks.Delete(ctx, as, at, p.hook())
		}).Timed().Doc("Delete a hook of " + of).Needs(admin),
	}
}

// The parameters of URL variables and custom headers.
type (
	hookItemPath struct {
		hookPath
		Key string `param:"key" doc:"Name of the URL variable or header"`
	}

	systemHookItemPath struct {
		systemHookPath
		Key string `param:"key" doc:"Name of the URL variable or header"`
	}

	setHookItemParams struct {
		hookItemPath
		Value string `param:"value,required" doc:"Value, which is never returned"`
	}

	setSystemHookItemParams struct {
		systemHookItemPath
		Value string `param:"value,required" doc:"Value, which is never returned"`
	}

	keyRef interface {
		hookRef
		key() string
	}

	itemRef interface {
		hookRef
		item() webhook.Item
	}
)

func (p hookItemPath) key() string             { return p.Key }
func (p systemHookItemPath) key() string       { return p.Key }
func (p setHookItemParams) item() webhook.Item { return webhook.Item{Key: p.Key, Value: p.Value} }

func (p setSystemHookItemParams) item() webhook.Item { return webhook.Item{Key: p.Key, Value: p.Value} }

// hookItemRoutes are the endpoints of URL variables and custom headers.
func hookItemRoutes[K keyRef, I itemRef](h hookHandlers, path, of string, admin authz.Ability) []*api.Route {
	type (
		setter   func(ctx context.Context, as authz.Actor, at authz.Place, id webhook.ID, v webhook.Item) error
		unsetter func(ctx context.Context, as authz.Actor, at authz.Place, id webhook.ID, key string) error
	)
	both := func(segment, noun string, set setter, unset unsetter) []*api.Route {
		one := path + "/:hook_id/" + segment + "/:key"
		return []*api.Route{
			api.Put(one, func(ctx context.Context, as authz.Actor, p I) (api.None, error) {
				at, err := h.at(ctx, as, p.place())
				if err != nil {
					return api.None{}, err
				}
				return api.None{}, set(ctx, as, at, p.hook(), p.item())
			}).Timed().Status(http.StatusNoContent).Doc("Set a " + noun + " of a hook of " + of).Needs(admin),
			api.Delete(one, func(ctx context.Context, as authz.Actor, p K) (api.None, error) {
				at, err := h.at(ctx, as, p.place())
				if err != nil {
					return api.None{}, err
				}
				return api.None{}, unset(ctx, as, at, p.hook(), p.key())
			}).Timed().Doc("Delete a " + noun + " of a hook of " + of).Needs(admin),
		}
	}
	return append(both("url_variables", "URL variable", h.hooks.SetVariable, h.hooks.UnsetVariable), both("custom_headers", "custom header", h.hooks.SetHeader, h.hooks.UnsetHeader)...)
}
