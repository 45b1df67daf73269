package rest

import (
	"context"
	"time"

	"tenon/internal/base/page"
	"tenon/internal/core/accesstoken"
	"tenon/internal/core/authz"
	"tenon/internal/core/token"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("deploy_tokens", (*Server).deployTokenRoutes)

func (s *Server) deployTokenRoutes() []*api.Route {
	out := []*api.Route{
		api.Get("/deploy_tokens", s.allDeployTokens).Doc("List all deploy tokens").Needs(authz.ListDeployTokens),
	}
	out = append(out, s.onPlaces("deploy_tokens", func(m mount) []*api.Route {
		read, admin := m.ability(authz.ReadProjectDeployTokens, authz.ReadGroupDeployTokens), m.ability(authz.AdminProjectDeployTokens, authz.AdminGroupDeployTokens)
		return []*api.Route{
			api.Get(m.path, m.deployTokens).Doc("List the deploy tokens of a " + m.noun).Needs(read),
			api.Post(m.path, m.createDeployToken).Doc("Create a deploy token of a " + m.noun).Needs(admin),
			api.Get(m.path+"/:token_id", m.deployToken).Doc("Get a deploy token of a " + m.noun).Needs(read),
			api.Delete(m.path+"/:token_id", m.deleteDeployToken).Timed().Doc("Delete a deploy token of a " + m.noun).Needs(admin),
		}
	})...)
	return api.Scoped(nil, out...)
}

type deployTokenEntity struct {
	ID        token.ID      `json:"id"`
	Name      string        `json:"name"`
	Username  string        `json:"username"`
	ExpiresAt *api.Time     `json:"expires_at"`
	Scopes    []authz.Scope `json:"scopes"`
	Revoked   bool          `json:"revoked"`
	Expired   bool          `json:"expired"`
	Token     string        `json:"token,omitempty"` // the secret, in the answer that made it only
}

func (s *Server) deployTokenOf(t *token.DeployToken, key string) deployTokenEntity {
	return deployTokenEntity{
		ID: t.ID, Name: t.Name, Username: t.Username, ExpiresAt: api.TimePtr(t.ExpiresAt.Ptr()), Scopes: t.Scopes(),
		Revoked: t.Revoked, Expired: t.Expired(s.Now()), Token: key,
	}
}

func (s *Server) deployTokenList(list page.Page[token.DeployToken], err error) (api.List[deployTokenEntity], error) {
	if err != nil {
		return api.List[deployTokenEntity]{}, err
	}
	return api.ListOf(list, func(t *token.DeployToken) deployTokenEntity { return s.deployTokenOf(t, "") }), nil
}

type deployTokenFilterParams struct {
	Active *bool `param:"active" doc:"Filter by active tokens"`
	api.Page
}

func (p deployTokenFilterParams) filter() accesstoken.DeployFilter {
	return accesstoken.DeployFilter{Active: p.Active, Range: p.Range()}
}

func (s *Server) allDeployTokens(ctx context.Context, as authz.Actor, in deployTokenFilterParams) (api.List[deployTokenEntity], error) {
	return s.deployTokenList(s.BotTokens.ListAllDeploy(ctx, as, in.filter()))
}

type deployTokensParams struct {
	ID string `param:"id" doc:"ID or URL-encoded path"`
	deployTokenFilterParams
}

func (m mount) deployTokens(ctx context.Context, as authz.Actor, in deployTokensParams) (api.List[deployTokenEntity], error) {
	at, err := m.place(ctx, as, in.ID)
	if err != nil {
		return api.List[deployTokenEntity]{}, err
	}
	return m.s.deployTokenList(m.s.BotTokens.ListDeploy(ctx, as, at, in.filter()))
}

type createDeployTokenParams struct {
	ID        string      `param:"id" doc:"ID or URL-encoded path"`
	Name      string      `param:"name,required" doc:"Name of the token"`
	Scopes    api.Strings `param:"scopes,required" values:"read_repository,read_registry,write_registry,read_package_registry,write_package_registry,read_virtual_registry,write_virtual_registry" doc:"Scopes of the token"`
	ExpiresAt *time.Time  `param:"expires_at" doc:"Expiry time; a date is its start in UTC; unset never expires"`
	Username  string      `param:"username" doc:"Username; generated if not given"`
}

func (m mount) createDeployToken(ctx context.Context, as authz.Actor, p createDeployTokenParams) (deployTokenEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return deployTokenEntity{}, err
	}
	in := accesstoken.DeployInput{Name: p.Name, Username: p.Username, ExpiresAt: p.ExpiresAt}
	for _, name := range p.Scopes {
		in.Scopes = append(in.Scopes, authz.Scope(name))
	}
	t, key, err := m.s.BotTokens.CreateDeploy(ctx, as, at, in)
	if err != nil {
		return deployTokenEntity{}, err
	}
	return m.s.deployTokenOf(t, key), nil
}

func (m mount) deployToken(ctx context.Context, as authz.Actor, p placeTokenPath) (deployTokenEntity, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return deployTokenEntity{}, err
	}
	t, err := m.s.BotTokens.FindDeploy(ctx, as, at, p.TokenID)
	if err != nil {
		return deployTokenEntity{}, err
	}
	return m.s.deployTokenOf(t, ""), nil
}

func (m mount) deleteDeployToken(ctx context.Context, as authz.Actor, p placeTokenPath) (api.None, error) {
	at, err := m.place(ctx, as, p.ID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, m.s.BotTokens.DeleteDeploy(ctx, as, at, p.TokenID)
}
