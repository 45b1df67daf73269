package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/token"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("users", (*Server).impersonationTokenRoutes)

func (s *Server) impersonationTokenRoutes() []*api.Route {
	const path = "/users/:user_id/impersonation_tokens"
	return api.Scoped([]authz.Scope{authz.ScopeReadUser},
		api.Get(path, s.impersonationTokens).Doc("List the impersonation tokens of a user").Needs(authz.AdminUsers),
		api.Post(path, s.createImpersonationToken).Doc("Create an impersonation token of a user").Needs(authz.AdminUsers),
		api.Get(path+"/:impersonation_token_id", s.impersonationToken).Doc("Get an impersonation token of a user").Needs(authz.AdminUsers),
		api.Delete(path+"/:impersonation_token_id", s.revokeImpersonationToken).Timed().Doc("Revoke an impersonation token of a user").Needs(authz.AdminUsers),
	)
}

// impersonationTokenEntity is a token with which administrators act as a user.
type impersonationTokenEntity struct {
	tokenEntity
	Impersonation bool `json:"impersonation"`
}

func (s *Server) impersonation(t *token.Token, key string) impersonationTokenEntity {
	return impersonationTokenEntity{s.token(t, key), t.Kind == token.Impersonation}
}

type impersonationTokensParams struct {
	UserID string `param:"user_id" doc:"ID of the user"`
	State  string `param:"state" default:"all" values:"all,active,inactive" doc:"active, inactive or all"`
	api.Page
}

func (s *Server) impersonationTokens(ctx context.Context, as authz.Actor, p impersonationTokensParams) (api.List[impersonationTokenEntity], error) {
	none := api.List[impersonationTokenEntity]{}
	user, err := userNumber(p.UserID)
	if err != nil {
		return none, err
	}
	list, err := s.Tokens.ListImpersonations(ctx, as, user, token.Filter{
		Active: p.State == "active", Inactive: p.State == "inactive", Range: p.Range(),
	})
	if err != nil {
		return none, err
	}
	return api.ListOf(list, func(t **token.Token) impersonationTokenEntity { return s.impersonation(*t, "") }), nil
}

type createImpersonationTokenParams struct {
	UserID      string      `param:"user_id" doc:"ID of the user"`
	Name        string      `param:"name,required" doc:"Name of the token"`
	Description *string     `param:"description" doc:"Description"`
	Scopes      api.Strings `param:"scopes,required" doc:"Scopes of the token"`
	ExpiresAt   api.Date    `param:"expires_at" doc:"Expiry date, YYYY-MM-DD; defaults to one year from now"`
}

func (s *Server) createImpersonationToken(ctx context.Context, as authz.Actor, p createImpersonationTokenParams) (impersonationTokenEntity, error) {
	user, err := userNumber(p.UserID)
	if err != nil {
		return impersonationTokenEntity{}, err
	}
	in := token.Input{Name: p.Name, Description: p.Description, ExpiresOn: dayOf(p.ExpiresAt)}
	for _, name := range p.Scopes {
		in.Scopes = append(in.Scopes, authz.Scope(name))
	}
	t, key, err := s.Tokens.CreateImpersonation(ctx, as, user, in)
	if err != nil {
		return impersonationTokenEntity{}, err
	}
	return s.impersonation(t, key), nil
}

type impersonationTokenPath struct {
	UserID  string   `param:"user_id" doc:"ID of the user"`
	TokenID token.ID `param:"impersonation_token_id" doc:"ID of the token"`
}

func (s *Server) impersonationToken(ctx context.Context, as authz.Actor, p impersonationTokenPath) (impersonationTokenEntity, error) {
	user, err := userNumber(p.UserID)
	if err != nil {
		return impersonationTokenEntity{}, err
	}
	t, err := s.Tokens.FindImpersonation(ctx, as, user, p.TokenID)
	if err != nil {
		return impersonationTokenEntity{}, err
	}
	return s.impersonation(t, ""), nil
}

func (s *Server) revokeImpersonationToken(ctx context.Context, as authz.Actor, p impersonationTokenPath) (api.None, error) {
	user, err := userNumber(p.UserID)
	if err != nil {
		return api.None{}, err
	}
	return api.None{}, s.Tokens.RevokeImpersonation(ctx, as, user, p.TokenID)
}
