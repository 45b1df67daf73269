package rest

import (
	"context"

	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/featureflag"
	"tenon/internal/core/project"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("feature_flags", (*Server).featureFlagRoutes)

func (s *Server) featureFlagRoutes() []*api.Route {
	h := flagHandlers{s, core.Part[*featureflag.Service](s.Services)}
	const flags, lists, client = "/projects/:id/feature_flags", "/projects/:id/feature_flags_user_lists", "/projects/:id/feature_flags_client"
	return api.Scoped(nil,
		api.Get(flags, h.list).Doc("List the feature flags of a project").Needs(authz.ReadFeatureFlag),
		api.Post(flags, h.create).Doc("Create a feature flag").Needs(authz.AdminFeatureFlag),
		api.Get(flags+"/:feature_flag_name", h.get).Doc("Get a feature flag").Needs(authz.ReadFeatureFlag),
		api.Put(flags+"/:feature_flag_name", h.update).Timed().Doc("Update a feature flag").Needs(authz.AdminFeatureFlag),
		api.Delete(flags+"/:feature_flag_name", h.delete).Timed().Doc("Delete a feature flag").Needs(authz.AdminFeatureFlag),
		api.Get(lists, h.lists).InMessage().Doc("List the user lists of feature flags").Needs(authz.ReadFeatureFlag),
		api.Post(lists, h.createList).InMessage().Doc("Create a user list of feature flags").Needs(authz.AdminFeatureFlag),
		api.Get(lists+"/:iid", h.getList).InMessage().Doc("Get a user list of feature flags").Needs(authz.ReadFeatureFlag),
		api.Put(lists+"/:iid", h.updateList).InMessage().Timed().Doc("Update a user list of feature flags").Needs(authz.AdminFeatureFlag),
		api.Delete(lists+"/:iid", h.deleteList).InMessage().Timed().Doc("Delete a user list of feature flags").Needs(authz.AdminFeatureFlag),
		api.Get(client, h.client).Doc("Get the settings for clients of feature flags").Needs(authz.ReadFeatureFlagsClient),
		api.Post(client, h.renewClient).Doc("Create or renew the instance ID for clients of feature flags").Needs(authz.AdminFeatureFlagsClient),
		api.Delete(client, h.deleteClient).Timed().Doc("Delete the instance ID for clients of feature flags").Needs(authz.AdminFeatureFlagsClient),
	)
}

type flagHandlers struct {
	server *Server
	flags  *featureflag.Service
}

func (h flagHandlers) project(ctx context.Context, as authz.Actor, id string) (*project.Project, error) {
	return h.server.Projects.Find(ctx, as, id)
}

type flagScope struct {
	ID          featureflag.ScopeID `json:"id"`
	Environment string              `json:"environment_scope"`
}

type flagUserList struct {
	ID       featureflag.ListID `json:"id"`
	IID      int64              `json:"iid"`
	Name     string             `json:"name"`
	UserXIDs string             `json:"user_xids"`
}

type flagStrategy struct {
	ID         featureflag.StrategyID `json:"id"`
	Name       string                 `json:"name"`
	Parameters map[string]string      `json:"parameters"`
	Scopes     []flagScope            `json:"scopes"`
	UserList   *flagUserList          `json:"user_list"`
}

type flagEntity struct {
	Name        string         `json:"name"`
	Description *string        `json:"description"`
	Active      bool           `json:"active"`
	Version     string         `json:"version"`
	CreatedAt   api.Time       `json:"created_at"`
	UpdatedAt   api.Time       `json:"updated_at"`
	Scopes      []flagScope    `json:"scopes"` // of a form of flags before this one
	Strategies  []flagStrategy `json:"strategies"`
}

func flagOf(f *featureflag.Flag) flagEntity {
	out := flagEntity{
		Name: f.Name, Description: f.Description, Active: f.Active, Version: featureflag.Version, CreatedAt: api.Time(f.CreatedAt.Time), UpdatedAt: api.Time(f.UpdatedAt.Time),
		Scopes: []flagScope{}, Strategies: []flagStrategy{},
	}
	for i := range f.Strategies {
		t := &f.Strategies[i]
		shown := flagStrategy{ID: t.ID, Name: t.Name, Parameters: t.Values(), Scopes: []flagScope{}}
		for _, c := range t.Scopes {
			shown.Scopes = append(shown.Scopes, flagScope{c.ID, c.Environment})
		}
		if l := t.UserList; l != nil {
			shown.UserList = &flagUserList{l.ID, l.IID, l.Name, l.UserXIDs}
		}
		out.Strategies = append(out.Strategies, shown)
	}
	return out
}

func flagFound(f *featureflag.Flag, err error) (flagEntity, error) {
	if err != nil {
		return flagEntity{}, err
	}
	return flagOf(f), nil
}

type listFlagsParams struct {
	projectPath
	api.Page
	Scope string `param:"scope" values:"enabled,disabled" doc:"Only enabled or disabled feature flags"`
}

func (h flagHandlers) list(ctx context.Context, as authz.Actor, in listFlagsParams) (api.List[flagEntity], error) {
	none := api.List[flagEntity]{}
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	list, err := h.flags.List(ctx, as, p, featureflag.Filter{Scope: in.Scope, Range: in.Range()})
	if err != nil {
		return none, err
	}
	return api.ListOf(list, flagOf), nil
}

type flagPath struct {
	projectPath
	Name string `param:"feature_flag_name" doc:"Name of the feature flag"`
}

func (h flagHandlers) get(ctx context.Context, as authz.Actor, in flagPath) (flagEntity, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return flagEntity{}, err
	}
	return flagFound(h.flags.Find(ctx, as, p, in.Name))
}

type flagScopeParams struct {
	ID          *featureflag.ScopeID `param:"id" doc:"ID of the scope to update"`
	Destroy     bool                 `param:"_destroy" doc:"Remove the scope with this ID"`
	Environment *string              `param:"environment_scope" doc:"Environments of the scope, with wildcards"`
}

type newFlagScopeParams struct {
	Environment *string `param:"environment_scope,required" doc:"Environments of the scope, with wildcards"`
}

// newFlagStrategyParams are those of a strategy of a new flag.
type newFlagStrategyParams struct {
	Name       *string              `param:"name,required" doc:"Name of the strategy: default, gradualRolloutUserId, userWithId, flexibleRollout or gitlabUserList"`
	Parameters map[string]any       `param:"parameters,required" doc:"Parameters of the strategy"`
	UserListID *featureflag.ListID  `param:"user_list_id" doc:"ID of the user list, of the strategy gitlabUserList"`
	Scopes     []newFlagScopeParams `param:"scopes" doc:"Scopes of the strategy; everywhere by default"`
}

func newStrategyInputs(list []newFlagStrategyParams) []featureflag.StrategyInput {
	out := make([]featureflag.StrategyInput, len(list))
	for i, t := range list {
		out[i] = featureflag.StrategyInput{Name: t.Name, Parameters: t.Parameters, UserListID: t.UserListID}
		for _, c := range t.Scopes {
			out[i].Scopes = append(out[i].Scopes, featureflag.ScopeInput{Environment: c.Environment})
		}
	}
	return out
}

type flagStrategyParams struct {
	ID         *featureflag.StrategyID `param:"id" doc:"ID of the strategy to update"`
	Destroy    bool                    `param:"_destroy" doc:"Remove the strategy with this ID"`
	Name       *string                 `param:"name" doc:"Name of the strategy: default, gradualRolloutUserId, userWithId, flexibleRollout or gitlabUserList"`
	Parameters map[string]any          `param:"parameters" doc:"Parameters of the strategy"`
	UserListID *featureflag.ListID     `param:"user_list_id" doc:"ID of the user list, of the strategy gitlabUserList"`
	Scopes     []flagScopeParams       `param:"scopes" doc:"Scopes of the strategy"`
}

func strategyInputs(list []flagStrategyParams) []featureflag.StrategyInput {
	out := make([]featureflag.StrategyInput, len(list))
	for i, t := range list {
		out[i] = featureflag.StrategyInput{ID: t.ID, Destroy: t.Destroy, Name: t.Name, Parameters: t.Parameters, UserListID: t.UserListID}
		for _, c := range t.Scopes {
			out[i].Scopes = append(out[i].Scopes, featureflag.ScopeInput(c))
		}
	}
	return out
}

type createFlagParams struct {
	projectPath
	Name        string                  `param:"name,required" doc:"Name of the feature flag"`
	Description *string                 `param:"description" doc:"Description of the feature flag"`
	Active      *bool                   `param:"active" doc:"Whether the feature flag is enabled; defaults to true"`
	Version     *string                 `param:"version" doc:"Version of the feature flag; new_version_flag"`
	Strategies  []newFlagStrategyParams `param:"strategies" doc:"Strategies of the feature flag"`
}

func (h flagHandlers) create(ctx context.Context, as authz.Actor, in createFlagParams) (flagEntity, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return flagEntity{}, err
	}
	c := featureflag.Changes{Name: &in.Name, Description: in.Description, Active: in.Active, Version: in.Version, Strategies: newStrategyInputs(in.Strategies)}
	return flagFound(h.flags.Create(ctx, as, p, c))
}

type updateFlagParams struct {
	flagPath
	NewName     *string              `param:"name" doc:"New name of the feature flag"`
	Description *string              `param:"description" doc:"Description of the feature flag"`
	Active      *bool                `param:"active" doc:"Whether the feature flag is enabled"`
	Strategies  []flagStrategyParams `param:"strategies" doc:"Strategies to add, or to update or remove by their IDs"`
}

func (h flagHandlers) update(ctx context.Context, as authz.Actor, in updateFlagParams) (flagEntity, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return flagEntity{}, err
	}
	c := featureflag.Changes{Name: in.NewName, Description: in.Description, Active: in.Active, Strategies: strategyInputs(in.Strategies)}
	return flagFound(h.flags.Update(ctx, as, p, in.Name, c))
}

func (h flagHandlers) delete(ctx context.Context, as authz.Actor, in flagPath) (flagEntity, error) {
	p, err := h.project(ctx, as, in.ID)
	if err != nil {
		return flagEntity{}, err
	}
	return flagFound(h.flags.Delete(ctx, as, p, in.Name))
}
